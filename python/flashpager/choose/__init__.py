"""Choices about a program: functions in RAM, order of functions, and size of cache pages."""
