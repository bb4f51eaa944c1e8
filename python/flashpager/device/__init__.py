"""The pager on a device: its design as C, and a device that is emulated."""
