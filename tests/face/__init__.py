"""Commands as a user types them, called in this process."""
