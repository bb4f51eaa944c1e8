"""Designs to try: spaces, the needs of an answer, and a design in words."""
