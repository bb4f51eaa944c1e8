"""How fast a flash medium is by itself, and on a host."""
