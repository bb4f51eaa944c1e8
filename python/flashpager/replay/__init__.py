"""Replays: one design, many designs here or on a cluster, and tables of their results."""
