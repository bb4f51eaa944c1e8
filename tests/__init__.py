"""Tests of flashpager as its users meet it."""
