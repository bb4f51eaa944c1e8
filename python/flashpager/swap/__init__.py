"""Compressed swap: benchmark runs and their results."""
