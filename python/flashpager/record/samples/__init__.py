"""Samples of a program counter: readers of the files that profilers write, one file a format."""
