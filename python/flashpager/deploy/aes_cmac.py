"""AES-CMAC with a key of 128 bits (RFC 4493, NIST SP 800-38B), for the tags that deploy writes.

``cryptography`` computes it. ``verify`` compares the tags with those of the C code on the device.
"""

#: Length of a key.
KEY_BYTES = 16
#: Length of a cipher block, and of the longest tag.
BLOCK_BYTES = 16


class AesCmac:
    """A key, ready for use."""

    def __init__(self, key: bytes) -> None:
        """Prepare a key.

        Args:
            key: the key, of 16 bytes.

        Raises:
            ValueError: if the key has another length.

        """
        # Only designs with tags need the library.
        from cryptography.hazmat.primitives.ciphers.algorithms import AES  # noqa: PLC0415
        from cryptography.hazmat.primitives.cmac import CMAC  # noqa: PLC0415

        if len(key) != KEY_BYTES:
            message = f"a key of {len(key)} bytes; AES-128 takes {KEY_BYTES}"
            raise ValueError(message)
        self._empty = CMAC(AES(key))

    def tag(self, message: bytes, size: int = BLOCK_BYTES) -> bytes:
        """Return the first ``size`` bytes of the MAC of a message."""
        mac = self._empty.copy()
        mac.update(message)
        return mac.finalize()[:size]
