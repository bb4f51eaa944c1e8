"""Basics for all other packages: files, quantities, axes of a design, and installed files."""
