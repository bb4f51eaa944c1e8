"""Tests that need processes: signals, pipes, terminals, disks, recorders."""
