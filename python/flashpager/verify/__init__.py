"""Designs on emulated and real machines, held against their simulation."""
