"""Results judged: the best designs, their losses, their faults, and two tables compared."""
