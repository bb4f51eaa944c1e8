"""Choices about a program: what lies in RAM, in which order, in which pages."""
