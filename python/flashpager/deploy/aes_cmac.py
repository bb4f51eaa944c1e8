"""AES-CMAC with a key of 128 bits (RFC 4493, NIST SP 800-38B), for tags that deploy writes.

It is written by itself, from FIPS 197: ``verify`` holds it against the C that the device runs. It
looks tables up, so its time depends on the key: keep it to a machine that is trusted with that.
"""

import struct

KEY_BYTES = 16
#: Of a block, and of the longest tag.
BLOCK_BYTES = 16
_ROUNDS = 10
_BYTE = 0xFF


def _double(byte: int) -> int:
    """Give a byte times x in GF(2**8)."""
    return byte << 1 & _BYTE ^ (0x1B if byte & 0x80 else 0)


def _substitutions() -> bytes:
    """Make the S-box: the inverse in GF(2**8), then the affine map."""
    powers = [1]
    while len(powers) < _BYTE:
        powers.append(powers[-1] ^ _double(powers[-1]))  # times 3, which generates all
    logs = {power: log for log, power in enumerate(powers)}
    box = bytearray()
    for byte in range(256):
        inverse = powers[-logs[byte] % _BYTE] if byte else 0
        mapped = 0x63
        for turn in range(5):
            mapped ^= (inverse << turn | inverse >> 8 - turn) & _BYTE
        box.append(mapped)
    return bytes(box)


_BOX = _substitutions()


def _columns() -> list[list[int]]:
    """Make the tables of a round: substitution and mixing of a column, for each of its rows."""
    tables: list[list[int]] = [[], [], [], []]
    for byte in _BOX:
        twice = _double(byte)
        column = twice << 24 | byte << 16 | byte << 8 | (twice ^ byte)
        for row, table in enumerate(tables):
            table.append((column >> 8 * row | column << 32 - 8 * row) & 0xFFFFFFFF)
    return tables


_T0, _T1, _T2, _T3 = _columns()


def _expand(key: bytes) -> list[int]:
    """Give the words of all round keys."""
    words = list(struct.unpack(">4I", key))
    constant = 1
    while len(words) < 4 * (_ROUNDS + 1):
        word = words[-1]
        if len(words) % 4 == 0:
            word = (word << 8 | word >> 24) & 0xFFFFFFFF
            word = int.from_bytes(word.to_bytes(4, "big").translate(_BOX), "big")
            word ^= constant << 24
            constant = _double(constant)
        words.append(words[-4] ^ word)
    return words


def _twice(block: bytes) -> bytes:
    """Give a block times x in GF(2**128)."""
    number = int.from_bytes(block, "big") << 1
    if number >> 128:
        number ^= 1 << 128 | 0x87
    return number.to_bytes(BLOCK_BYTES, "big")


class AesCmac:
    """A key, ready for use."""

    def __init__(self, key: bytes) -> None:
        """Expand a key of 16 bytes.

        Raises:
            ValueError: for one of another length.

        """
        if len(key) != KEY_BYTES:
            message = f"a key of {len(key)} bytes; AES-128 takes {KEY_BYTES}"
            raise ValueError(message)
        self._words = _expand(key)
        self._whole = _twice(self.encrypt(bytes(BLOCK_BYTES)))
        self._padded = _twice(self._whole)

    def encrypt(self, block: bytes) -> bytes:
        """Encrypt a block."""
        key = self._words
        s0, s1, s2, s3 = (
            word ^ of_key for word, of_key in zip(struct.unpack(">4I", block), key, strict=False)
        )
        for at in range(4, 4 * _ROUNDS, 4):
            s0, s1, s2, s3 = (
                _T0[a >> 24] ^ _T1[b >> 16 & _BYTE] ^ _T2[c >> 8 & _BYTE] ^ _T3[d & _BYTE] ^ of_key
                for a, b, c, d, of_key in (
                    (s0, s1, s2, s3, key[at]),
                    (s1, s2, s3, s0, key[at + 1]),
                    (s2, s3, s0, s1, key[at + 2]),
                    (s3, s0, s1, s2, key[at + 3]),
                )
            )
        shifted = bytes(
            byte
            for a, b, c, d in (
                (s0, s1, s2, s3),
                (s1, s2, s3, s0),
                (s2, s3, s0, s1),
                (s3, s0, s1, s2),
            )
            for byte in (a >> 24, b >> 16 & _BYTE, c >> 8 & _BYTE, d & _BYTE)
        ).translate(_BOX)
        last = struct.pack(">4I", *key[-4:])
        return bytes(byte ^ of_key for byte, of_key in zip(shifted, last, strict=True))

    def tag(self, message: bytes, size: int = BLOCK_BYTES) -> bytes:
        """Give the first ``size`` bytes of the MAC of a message."""
        begun = max(1, -(-len(message) // BLOCK_BYTES))
        last = message[(begun - 1) * BLOCK_BYTES :]
        if len(last) == BLOCK_BYTES:
            subkey = self._whole
        else:
            last, subkey = (last + b"\x80").ljust(BLOCK_BYTES, b"\0"), self._padded
        chained = 0
        for at in range(0, (begun - 1) * BLOCK_BYTES, BLOCK_BYTES):
            chained ^= int.from_bytes(message[at : at + BLOCK_BYTES], "big")
            chained = int.from_bytes(self.encrypt(chained.to_bytes(BLOCK_BYTES, "big")), "big")
        chained ^= int.from_bytes(last, "big") ^ int.from_bytes(subkey, "big")
        return self.encrypt(chained.to_bytes(BLOCK_BYTES, "big"))[:size]
