"""Compressed swap: benchmark runs, and what they come to."""
