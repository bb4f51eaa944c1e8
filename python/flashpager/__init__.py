"""flashpager: run code from flash through a RAM cache far too small for it."""

from flashpager._engine import DiskFullError, FlashpagerError, version

__all__ = ["DiskFullError", "FlashpagerError", "__version__"]
__version__ = version()
