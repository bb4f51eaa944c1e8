"""The interactive HTML page about one design."""
