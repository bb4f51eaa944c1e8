"""Published results, reproduced: claims of papers beside our figures."""
