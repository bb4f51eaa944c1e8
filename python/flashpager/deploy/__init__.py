"""Sources and images that a firmware needs to run a design."""
