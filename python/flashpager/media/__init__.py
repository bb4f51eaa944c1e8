"""The speed of a flash medium, by itself and on a host."""
