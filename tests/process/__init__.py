"""What takes processes: signals, pipes, terminals, disks, recorders."""
