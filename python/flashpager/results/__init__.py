"""What came out: tables of designs, answers to somebody's needs, comparisons."""
