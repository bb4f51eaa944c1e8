"""Many designs at once: what varies, on this machine or a cluster."""

from flashpager.space.space import Space

__all__ = ["Space"]
