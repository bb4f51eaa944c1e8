"""Tests of commands as a user types them, called in this process."""
