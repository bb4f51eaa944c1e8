"""Published results, reproduced: claims of papers compared with our figures."""
