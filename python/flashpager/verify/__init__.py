"""Designs on emulated and real machines, compared with their simulation."""
