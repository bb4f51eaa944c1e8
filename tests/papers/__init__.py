"""The papers that are reproduced."""
