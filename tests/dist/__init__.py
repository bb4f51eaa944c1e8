"""What is released, installed as a stranger would: `make test-dist`."""
