"""Tests that run the commands in the documents and the notebook."""
