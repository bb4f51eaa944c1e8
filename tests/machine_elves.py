"""Programs of a few instructions for every processor of QEMU, as bytes without an assembler.

Each begins with straight code that ends in a jump over padding, and then executes a loop for ever.
"""

import struct
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class MachineCode:
    """The code of a program, and the lengths of its blocks by the processor's manual."""

    #: The processor as QEMU spells it.
    name: str
    #: ``e_machine`` and ``e_flags`` of its ELF files.
    machine: int
    flags: int
    #: Bits of an address, and the byte order: ``<`` or ``>``.
    bits: int
    order: str
    #: The code in hexadecimal.
    code: str
    #: Bytes of the first block.
    first: int
    #: Offset and bytes of the loop.
    loop: int
    loop_bytes: int
    #: Instructions of the first block and of the loop.
    instructions: tuple[int, int]
    #: 1 if the entry address has the bit of Thumb.
    entry: int = 0

    def write(self, folder: Path, address: int = 0x10000) -> Path:
        """Write the program as an ELF file that is linked at an address."""
        file = folder / f"{self.name}.elf"
        file.write_bytes(_elf(self, address))
        file.chmod(0o755)
        return file


def _elf(program: MachineCode, address: int) -> bytes:
    """Make an ELF file with one segment and the sections ``.text`` and ``.shstrtab``."""
    wide = program.bits == 64
    word = "Q" if wide else "I"
    header, segment, section = (64, 56, 64) if wide else (52, 32, 40)
    code, names = bytes.fromhex(program.code), b"\0.text\0.shstrtab\0"
    at = 0x10000
    sections_at = at + len(code) + len(names)

    def packed(layout: str, *values: int) -> bytes:
        return struct.pack(program.order + layout, *values)

    ident = bytes([0x7F, *b"ELF", 2 if wide else 1, 1 if program.order == "<" else 2, 1])
    head = ident.ljust(16, b"\0") + packed(
        f"HHI{word}{word}{word}IHHHHHH",
        *(2, program.machine, 1, address + program.entry, header, sections_at, program.flags),
        *(header, segment, 1, section, 3, 2),
    )
    size = len(code)
    if wide:
        head += packed("IIQQQQQQ", 1, 5, at, address, address, size, size, 0x10000)
    else:
        head += packed("IIIIIIII", 1, at, address, address, size, size, 5, 0x10000)

    def described(
        name: int, kind: int, flags: int, address: int, offset: int, length: int
    ) -> bytes:
        numbers = (name, kind, flags, address, offset, length, 0, 0, 4, 0)
        return packed(f"II{word}{word}{word}{word}II{word}{word}", *numbers)

    return b"".join(
        [
            head.ljust(at, b"\0"),
            code,
            names,
            described(0, 0, 0, 0, 0, 0),
            described(1, 1, 6, address, at, size),
            described(7, 3, 0, 0, at + size, len(names)),
        ]
    )


#: Straight code without a delay slot: two instructions that do nothing, a jump, padding, the loop.
_ARM = "e1a00000 e1a00000 ea000000 e1a00000 eafffffe"
_ARM_LE = "0000a0e1 0000a0e1 000000ea 0000a0e1 feffffea"
_AARCH64 = "1f2003d5 1f2003d5 02000014 1f2003d5 00000014"
_RISCV = "13000000 0100 11a0 0100 6f000000"
_PPC = "60000000 60000000 48000008 60000000 48000000"
_PPC_LE = "00000060 00000060 08000048 00000060 00000048"
#: Code with a delay slot: each jump executes the instruction after it, too.
_MIPS = "00000000 00000000 10000002 00000000 00000000 1000ffff 00000000"
_MIPS_LE = "00000000 00000000 02000010 00000000 00000000 ffff0010 00000000"
_SPARC = "01000000 01000000 10800003 01000000 01000000 10800000 01000000"

_WORDS = (12, 16, 4, (3, 1))
_DELAYED = (16, 20, 8, (4, 2))

USER = [
    MachineCode("x86_64", 62, 0, 64, "<", "9090eb01 90 ebfe", 4, 5, 2, (3, 1)),
    MachineCode("i386", 3, 0, 32, "<", "9090eb01 90 ebfe", 4, 5, 2, (3, 1)),
    MachineCode("arm", 40, 0x5000000, 32, "<", _ARM_LE, *_WORDS),
    MachineCode("arm", 40, 0x5000000, 32, "<", "00bf00bf00e0 00bf fee7", 6, 8, 2, (3, 1), 1),
    MachineCode("armeb", 40, 0x5000000, 32, ">", _ARM, *_WORDS),
    MachineCode("aarch64", 183, 0, 64, "<", _AARCH64, *_WORDS),
    MachineCode("aarch64_be", 183, 0, 64, ">", _AARCH64, *_WORDS),
    MachineCode("riscv32", 243, 1, 32, "<", _RISCV, 8, 10, 4, (3, 1)),
    MachineCode("riscv64", 243, 1, 64, "<", _RISCV, 8, 10, 4, (3, 1)),
    MachineCode("mips", 8, 0x50001000, 32, ">", _MIPS, *_DELAYED),
    MachineCode("mipsel", 8, 0x50001000, 32, "<", _MIPS_LE, *_DELAYED),
    MachineCode("mipsn32", 8, 0x60000020, 32, ">", _MIPS, *_DELAYED),
    MachineCode("mipsn32el", 8, 0x60000020, 32, "<", _MIPS_LE, *_DELAYED),
    MachineCode("mips64", 8, 0x60000000, 64, ">", _MIPS, *_DELAYED),
    MachineCode("mips64el", 8, 0x60000000, 64, "<", _MIPS_LE, *_DELAYED),
    MachineCode("ppc", 20, 0, 32, ">", _PPC, *_WORDS),
    MachineCode("ppc64", 21, 2, 64, ">", _PPC, *_WORDS),
    MachineCode("ppc64le", 21, 2, 64, "<", _PPC_LE, *_WORDS),
    MachineCode("s390x", 22, 0, 64, ">", "0707 0707 a7f40003 0707 a7f40000", 8, 10, 4, (3, 1)),
    MachineCode("sparc", 2, 0, 32, ">", _SPARC, *_DELAYED),
    MachineCode("sparc32plus", 18, 0x100, 32, ">", _SPARC, *_DELAYED),
    MachineCode("sparc64", 43, 0, 64, ">", _SPARC, *_DELAYED),
    MachineCode("m68k", 4, 0, 32, ">", "4e71 4e71 6002 4e71 60fe", 6, 8, 2, (3, 1)),
    MachineCode("sh4", 42, 9, 32, "<", "0900 0900 01a0 0900 0900 feaf 0900", 8, 10, 4, (4, 2)),
    MachineCode("sh4eb", 42, 9, 32, ">", "0009 0009 a001 0009 0009 affe 0009", 8, 10, 4, (4, 2)),
    MachineCode(
        "alpha", 0x9026, 0, 64, "<", "1f04ff47 1f04ff47 0100e0c3 1f04ff47 ffffffc3", *_WORDS
    ),
    MachineCode(
        *("hppa", 15, 0, 32, ">"),
        "08000240 08000240 e8000008 08000240 08000240 e81f1ff5 08000240",
        *_DELAYED,
    ),
    MachineCode(
        *("or1k", 92, 0, 32, ">"),
        "15000000 15000000 00000003 15000000 15000000 00000000 15000000",
        *_DELAYED,
    ),
    MachineCode("xtensa", 94, 0x300, 32, "<", "f02000 3df0 860000 f02000 06ffff", 8, 11, 3, (3, 1)),
    MachineCode(
        "xtensaeb", 94, 0x300, 32, ">", "0f0200 d30f 600002 0f0200 63fffc", 8, 11, 3, (3, 1)
    ),
    MachineCode(
        "hexagon", 164, 0x66, 32, "<", "00c0007f 00c0007f 04c00058 00c0007f 00c00058", *_WORDS
    ),
    MachineCode(
        "microblaze", 189, 0, 32, ">", "80000000 80000000 b8000008 80000000 b8000000", *_WORDS
    ),
    MachineCode(
        "microblazeel", 189, 0, 32, "<", "00000080 00000080 080000b8 00000080 000000b8", *_WORDS
    ),
    MachineCode("nios2", 113, 0, 32, "<", "3a880100 3a880100 06010000 3a880100 06ff3f00", *_WORDS),
    MachineCode(
        "loongarch64", 258, 3, 64, "<", "00004003 00004003 00080050 00004003 00000050", *_WORDS
    ),
]

#: The processors that QEMU has in machines only, with the machine and the address of its memory.
SYSTEM = [
    (
        MachineCode("avr", 83, 6, 32, "<", "0000 0c940400 0000 ffcf", 6, 8, 2, (2, 1)),
        "qemu-system-avr -M mega2560 -nographic",
        0,
    ),
    (
        MachineCode("avr", 83, 6, 32, "<", "0000 0f92 02c0 0000 0000 0c940500", 6, 10, 4, (3, 1)),
        "qemu-system-avr -M mega2560 -nographic",
        0,
    ),
    (
        MachineCode(
            "tricore", 44, 0, 32, "<", "0000 0d000000 3c02 0000 1d000000", 8, 10, 4, (3, 1)
        ),
        "qemu-system-tricore -M tricore_testboard -nographic",
        0x80000000,
    ),
    (
        MachineCode("tricore", 44, 0, 32, "<", "0d000000 3c02 0000 3c00", 6, 8, 2, (2, 1)),
        "qemu-system-tricore -M tricore_testboard -nographic",
        0x80000000,
    ),
]

#: Processors whose instruction lengths are unknown: QEMU 7.2 does not report them.
REFUSED = [
    MachineCode("cris", 76, 0, 32, "<", "0f05 0f05 ffe0", 0, 0, 0, (0, 0)),
]
