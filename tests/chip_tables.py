"""Tables that chips keep of themselves, and another reader's account of them.

The SFDP dumps and the modes are those that patches on the Linux MTD list print: ``xxd -p sfdp``
and the driver's own ``capabilities``, which counts mode and dummy clocks apart.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class SfdpDump:
    """A dump of SFDP, and the account of Linux' driver."""

    digits: str
    #: Mode and dummy clocks of each read mode but the plain read, by its lines.
    modes: dict[str, tuple[int, int]]
    program_modes: tuple[str, ...]
    address_bytes: int
    erase_bytes: int
    page_bytes: int = 256

    @property
    def data(self) -> bytes:
        """The bytes of the dump."""
        return bytes.fromhex(self.digits.replace("\n", ""))


SFDP_DUMPS = {
    "W25H01NW": SfdpDump(
        """53464450060101ff00060110800000ff84000102d00000ffffffffffffff
ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
ffffffffffffffffe520fbffffffff3f44eb086b083b42bbfeffffffffff
0000ffff40eb0c200f5210d800003652b50082ea14e2e96376337a757a75
f7bdd55c19f75dffe970f9a5ffffffffffffffffffffffffffffffffff0a
f0ff21ffdcff
""",
        modes={
            "1-1-2": (0, 8),
            "1-2-2": (2, 2),
            "1-1-4": (0, 8),
            "1-4-4": (2, 4),
            "4-4-4": (2, 0),
        },
        program_modes=("1-1-1", "1-1-4"),
        address_bytes=4,
        erase_bytes=4096,
    ),
    "MT25QU01G": SfdpDump(
        """53464450060101ff00060110300000ff84000102800000ffffffffffffff
ffffffffffffffffffffffffffffffffffffe520fbffffffff3f29eb276b
273b27bbffffffffffff27bbffff29eb0c2010d80f520000244a99008b8e
03e1ac0127387a757a75fbbdd55c4a0f82ff81bd3d36ffffffffffffffff
ffffffffffffffffffe7ffff21dcffff
""",
        modes={
            "1-1-2": (1, 7),
            "1-2-2": (1, 7),
            "2-2-2": (1, 7),
            "1-1-4": (1, 7),
            "1-4-4": (1, 9),
            "4-4-4": (1, 9),
        },
        program_modes=("1-1-1", "1-1-4", "1-4-4"),
        address_bytes=4,
        erase_bytes=4096,
    ),
    "GD25LB512ME": SfdpDump(
        """53464450060102ff00060110300000ffc8000103900000ff84000102c000
00ffffffffffffffffffffffffffffffffffe520eaffffffff1f44eb086b
003b00bbfeffffffffff00ffffff44eb0c200f5210d800ffd531b1fe83d6
1458ec6006337a757a7504bdd55c2906740008500001ffffffffffffffff
ffffffffffffffffffffffffffffffffffffffffffffffff002050169df9
8156d9c8ffffffffffffffffffffffffffffffffffffffffffffffffffff
fffffffffffffffffffffffff38ff0ff215cdcff
""",
        modes={"1-1-4": (0, 8), "1-4-4": (2, 4), "4-4-4": (2, 4)},
        program_modes=("1-1-1", "1-1-4", "1-4-4"),
        address_bytes=4,
        erase_bytes=4096,
    ),
    "MX66UW1G345G": SfdpDump(
        """53464450080104fd00070114400000ff8701011c900000ff0a0001080001
00ff05000105200100ff84000102340100ff0000000000000000ffffffff
ffffffffe5208affffffff3f00ff00ff00ff00ffeeffffffffff00ffffff
00ff0c2010d800ff00ff8b7901008f1200e2cc04674630b030b0f4bdd55c
000000ff101000200000147c00007c234800000000008888000000000000
00400fd1fff30fd1fff300050090060500b1002b0095002b0096727103b8
727103b80000000090a3188200c069960000000000000000000000000000
0000000000000000000072710098727100f872710099727100f900000000
00000000011501d0727106d8000086500000060100000000020001030002
00000000060100000000000072060002000000eec0697272717100d8f7f6
000a00001445988043061f0021dcffff
""",
        modes={"1-1-8": (0, 20), "8-8-8": (0, 20)},
        program_modes=("1-1-1", "8-8-8"),
        address_bytes=4,
        erase_bytes=4096,
    ),
    "MX66UW2G345G": SfdpDump(
        """53464450080104fd00070114400000ff8701011c900000ff0a0001080001
00ff05000105200100ff84000102340100ff0000000000000000ffffffff
ffffffffe5208affffffff7f00ff00ff00ff00ffeeffffffffff00ffffff
00ff0c2010d800ff00ff87790100841200e2cc04674630b030b0f4bdd55c
000000ff101000200000147c00007c234800000000007777000000000000
00400fd1fff30fd1fff300050090000500b1002b0095002b0096727103b8
727103b80000000090a3188200c069960000000000000000727100987271
00b8727100990000000072710098727100f872710099727100f900000000
00000000011501d0727106d8000086500000060100000000020001030002
00000000060100000000000072060002000000eec0697272717100d8f7f6
000000001445988043061f0021dcffff
""",
        modes={"1-1-8": (0, 20), "8-8-8": (0, 16)},
        program_modes=("1-1-1", "8-8-8"),
        address_bytes=4,
        erase_bytes=4096,
    ),
    "MX66UW1G45G": SfdpDump(
        """53464450080104fd00070114400000ff8701011c900000ff0a0001080001
00ff05000105200100ff84000102340100ff0000000000000000ffffffff
ffffffffe5208affffffff3f00ff00ff00ff00ffeeffffffffff00ffffff
00ff0c2010d800ff00ff8b7901008f1200e2cc04674630b030b0f4bdd55c
000000ff101000200000000000007ca34800000000008888000000000000
00400fd1fff30fd1fff300050090000500b1002b0095002b0096727103b8
727103b80000000090a3188200c069960000000000000000727100987271
00b8727100990000000072710098727100f872710099727100f900000000
00000000011501d0727106d8000086500000060100000000020001030002
00000000060100000000000072060002000000eec0697272717100d8f7f6
000a00001445988043060f0021dcffff
""",
        modes={"8-8-8": (0, 20)},
        program_modes=("1-1-1", "8-8-8"),
        address_bytes=4,
        erase_bytes=4096,
    ),
}

#: The parameter page of a W25N01GV without its CRC, as its datasheet prints it: one number a
#: nonzero byte or text.
_W25N01GV = {
    0: b"ONFI",
    8: b"\x02",
    32: b"WINBOND     ",
    44: b"W25N01GV            ",
    64: b"\xef",
    80: b"\x00\x08",
    84: b"\x40",
    92: b"\x40",
    97: b"\x04",
    100: b"\x01",
    102: b"\x01\x14\x00\x01\x05\x01\x00\x00\x04",
    128: b"\x08",
    133: b"\xbc\x02\x10\x27\x32",
}


def parameter_page(numbers: dict[int, bytes] | None = None) -> bytes:
    """Return a parameter page with its CRC: that of a W25N01GV, with other numbers in places."""
    page = bytearray(256)
    for offset, content in {**_W25N01GV, **(numbers or {})}.items():
        page[offset : offset + len(content)] = content
    page[254:] = _crc(bytes(page[:254])).to_bytes(2, "little")
    return bytes(page)


def _crc(data: bytes) -> int:
    """Return the CRC of ONFI by a division of polynomials, the start value in front."""
    remainder = int.from_bytes(data, "big") << 16
    remainder ^= 0x4F4E << 8 * len(data)
    for bit in range(8 * len(data) + 15, 15, -1):
        if remainder >> bit & 1:
            remainder ^= 0x18005 << (bit - 16)
    return remainder
