"""``flashpager reproduce``."""
def reproduce(paper: str) -> None:
    """x"""
