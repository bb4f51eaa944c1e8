"""Tests of the released packages, installed as a stranger would: `make test-dist`."""
