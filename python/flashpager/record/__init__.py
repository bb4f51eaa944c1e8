"""Traces, and the recorders that write them."""
