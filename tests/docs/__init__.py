"""What the documents and the notebook tell a reader to type."""
