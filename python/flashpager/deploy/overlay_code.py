"""Instructions of Thumb-2 that matter when a function moves: branches, and uses of its address.

The engine in Rust decodes Thumb as well, for the control flow of programs. Here instructions are
judged by what they read, their own address or ``ip``, and some are encoded anew. This needs the
linked program beside them, with its relocations and symbols of constants.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from flashpager.deploy.overlay_elf import LinkedProgram


class _Pattern(NamedTuple):
    """Bits that an instruction has: all that are in the mask."""

    mask: int
    bits: int

    def __contains__(self, code: object) -> bool:
        """Return True if an instruction has the bits."""
        return isinstance(code, int) and code & self.mask == self.bits


# Short instructions: the upper half is 0.
_LONG_ONES = frozenset((0x1D, 0x1E, 0x1F))
_B, _B_IF, _CBZ = (
    _Pattern(0xFFFFF800, 0xE000),
    _Pattern(0xFFFFF000, 0xD000),
    _Pattern(0xFFFFF500, 0xB100),
)
_B_IF_NONE = _Pattern(0xFFFFFE00, 0xDE00)
_BX, _BX_LR = _Pattern(0xFFFFFF07, 0x4700), _Pattern(0xFFFFFFFF, 0x4770)
_MOV_PC = _Pattern(0xFFFFFF87, 0x4687)
_LDR_NEAR, _ADR = _Pattern(0xFFFFF800, 0x4800), _Pattern(0xFFFFF800, 0xA000)
_HIGH_REGISTERS, _MOV_HIGH = _Pattern(0xFFFFFC00, 0x4400), _Pattern(0xFFFFFF00, 0x4600)
_BX_ANY = _Pattern(0xFFFFFF00, 0x4700)
# Long instructions, the first halfword in the upper half.
_BL, _B_W = _Pattern(0xF800D000, 0xF000D000), _Pattern(0xF800D000, 0xF0009000)
_B_IF_W, _B_IF_W_NONE = _Pattern(0xF800D000, 0xF0008000), _Pattern(0x03800000, 0x03800000)
_LDR_PC, _POP_PC = _Pattern(0xFF70F000, 0xF850F000), _Pattern(0xFFFFFFFF, 0xF85DFB04)
_LDR_OWN = _Pattern(0xFE1F0000, 0xF81F0000)
_LDRD_OWN_BEFORE, _LDRD_OWN = _Pattern(0xFF5F0000, 0xE95F0000), _Pattern(0xFF7F0000, 0xE87F0000)
_VLDR_OWN = _Pattern(0xFF3F0000, 0xED1F0000)
_ADD_OWN, _SUB_OWN = _Pattern(0xFBFF8000, 0xF20F0000), _Pattern(0xFBFF8000, 0xF2AF0000)
_ONE, _ONE_BY_REGISTER = _Pattern(0xFE000000, 0xF8000000), _Pattern(0xFE800800, 0xF8000000)
_PAIR, _SHIFTED = _Pattern(0xFE400000, 0xE8400000), _Pattern(0xFE000000, 0xEA000000)
_CONSTANT, _MOVW = _Pattern(0xF8008000, 0xF0000000), _Pattern(0xFB708000, 0xF2400000)
_MOV_CONSTANT = _Pattern(0xFBCF8000, 0xF04F0000)
_LOADS = 1 << 20
# Instructions behind which a function does not run on, and those that only fill.
_ENDS_SHORT = (
    _B,
    _Pattern(0xFFFFFF87, 0x4700),  # bx
    _MOV_PC,
    _Pattern(0xFFFFFF87, 0x4487),  # add pc
    _Pattern(0xFFFFFF00, 0xBD00),  # pop with pc
    _Pattern(0xFFFFFF00, 0xDE00),  # udf
)
_POPS_PC = _Pattern(0xFE508000, 0xE8108000)
_ENDS_LONG = (
    _B_W,
    _LDR_PC,
    _POPS_PC,
    _Pattern(0xFFF0FFE0, 0xE8D0F000),  # tbb and tbh
    _Pattern(0xFFF0F000, 0xF7F0A000),  # udf.w
)
_FILLS = frozenset((0xBF00, 0x46C0, 0xF3AF8000))
_IT, _NO_IT = _Pattern(0xFFFFFF00, 0xBF00), _Pattern(0xFFFFFF0F, 0xBF00)


class BranchKind(Enum):
    """The kinds of branches, by what the engine can do with them."""

    #: ``bl``.
    CALL = auto()
    #: ``b.w`` without a condition.
    JUMP = auto()
    #: Another branch to a fixed address: short, or with a condition.
    SHORT = auto()
    #: A branch to an address in a register or in memory.
    INDIRECT = auto()


@dataclass(frozen=True)
class Branch:
    """A branch instruction."""

    address: int
    kind: BranchKind
    #: The address that it goes to; None for an indirect one.
    target: int | None


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value


def long_target(address: int, first: int, second: int) -> int:
    """Return the target of a ``bl`` or ``b.w``."""
    sign = first >> 10 & 1
    high = (~(second >> 13 ^ sign) & 1) << 23 | (~(second >> 11 ^ sign) & 1) << 22
    value = sign << 24 | high | (first & 0x3FF) << 12 | (second & 0x7FF) << 1
    return address + 4 + _signed(value, 25)


def encoded_branch(address: int, target: int, *, is_call: bool) -> bytes | None:
    """Return a ``bl`` or ``b.w``; None if the target is too far away."""
    distance = target - address - 4
    if not -(1 << 24) <= distance < 1 << 24:
        return None
    sign = distance >> 24 & 1
    first_bit, second_bit = ~(distance >> 23 ^ sign) & 1, ~(distance >> 22 ^ sign) & 1
    first = 0xF000 | sign << 10 | distance >> 12 & 0x3FF
    second = 0x9000 | is_call << 14 | first_bit << 13 | second_bit << 11 | distance >> 1 & 0x7FF
    return first.to_bytes(2, "little") + second.to_bytes(2, "little")


def moved_immediate(code: bytes) -> int:
    """Return the 16 bits of a ``movw`` or ``movt``."""
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
    return (first & 0xF) << 12 | (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF


def with_immediate(code: bytes, value: int) -> bytes:
    """Return a ``movw`` or ``movt`` with other 16 bits."""
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
    first = first & ~0x40F | value >> 12 | (value >> 11 & 1) << 10
    second = second & ~0x70FF | (value >> 8 & 7) << 12 | value & 0xFF
    return first.to_bytes(2, "little") + second.to_bytes(2, "little")


def instructions(program: LinkedProgram, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield address and code of the instructions of a range; a long one has more than 16 bits."""
    at = start
    while at + 2 <= end:
        if not program.is_code(at):
            at += 2
            continue
        first = program.half(at)
        if first >> 11 in _LONG_ONES and at + 4 <= end:
            yield at, first << 16 | program.half(at + 2)
            at += 4
        else:
            yield at, first
            at += 2


def branches(program: LinkedProgram, start: int, end: int) -> Iterator[Branch]:
    """Yield the branches of a range, returns by ``bx lr`` and ``pop`` left out."""
    for address, code in instructions(program, start, end):
        branch = _long_branch(address, code) if code >> 16 else _short_branch(address, code)
        if branch is not None:
            yield branch


def _short_branch(address: int, code: int) -> Branch | None:
    if code in _B:
        target = address + 4 + _signed((code & 0x7FF) << 1, 12)
    elif code in _B_IF and code not in _B_IF_NONE:
        target = address + 4 + _signed((code & 0xFF) << 1, 9)
    elif code in _CBZ:
        target = address + 4 + ((code >> 9 & 1) << 6 | (code >> 3 & 0x1F) << 1)
    elif (code in _BX and code not in _BX_LR) or code in _MOV_PC:
        return Branch(address, BranchKind.INDIRECT, None)
    else:
        return None
    return Branch(address, BranchKind.SHORT, target)


def _long_branch(address: int, code: int) -> Branch | None:
    first, second = code >> 16, code & 0xFFFF
    if code in _BL:
        return Branch(address, BranchKind.CALL, long_target(address, first, second))
    if code in _B_W:
        return Branch(address, BranchKind.JUMP, long_target(address, first, second))
    if code in _B_IF_W and code not in _B_IF_W_NONE:
        bits = (first >> 10 & 1) << 2 | (second >> 11 & 1) << 1 | second >> 13 & 1
        value = bits << 18 | (first & 0x3F) << 12 | (second & 0x7FF) << 1
        return Branch(address, BranchKind.SHORT, address + 4 + _signed(value, 21))
    if code in _LDR_PC and code not in _POP_PC:
        return Branch(address, BranchKind.INDIRECT, None)
    return None


def last_instruction(program: LinkedProgram, start: int, end: int) -> tuple[int, int] | None:
    """Return address and code of the last instruction of a range, if it has no condition."""
    last, conditional = None, 0
    for address, code in instructions(program, start, end):
        if code not in _FILLS:
            last = None if conditional else (address, code)
        conditional = max(0, conditional - 1)
        if code in _IT and code not in _NO_IT:
            # The lowest bit that is set in the mask ends the block.
            conditional = 5 - (code & -code & 0xF).bit_length()
    return last


def called_last(program: LinkedProgram, start: int, end: int) -> int | None:
    """Return the target of a ``bl`` that is the last instruction of a range."""
    last = last_instruction(program, start, end)
    if last is None or last[1] not in _BL:
        return None
    return long_target(last[0], last[1] >> 16, last[1] & 0xFFFF)


def ends(program: LinkedProgram, start: int, end: int) -> bool:
    """Return True if the last instruction of a range never lets the next one run.

    A call as the last instruction is not judged here: see ``called_last()``.
    """
    last = last_instruction(program, start, end)
    if last is None:
        return False
    patterns = _ENDS_LONG if last[1] >> 16 else _ENDS_SHORT
    return any(last[1] in pattern for pattern in patterns)


def returns(program: LinkedProgram, start: int, end: int) -> bool:
    """Return True if a range has an instruction that returns, or goes to an address it computes."""
    short, long = _ENDS_SHORT[1:5], (_LDR_PC, _POPS_PC)
    return any(
        code in pattern
        for _, code in instructions(program, start, end)
        for pattern in (long if code >> 16 else short)
    )


def own_address_uses(program: LinkedProgram, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield address and target of loads and sums that are relative to a multiple of 4 of ``pc``."""
    for address, code in instructions(program, start, end):
        distance = _own_distance(code)
        if distance is not None:
            yield address, (address + 4 & ~3) + distance


def _own_distance(code: int) -> int | None:
    """Return the distance from ``pc`` to what an instruction refers to; None if it does not."""
    sign = 1 if code & 1 << 23 else -1
    if code in _LDR_NEAR or code in _ADR:
        return (code & 0xFF) << 2
    if code in _LDR_OWN:
        return sign * (code & 0xFFF)
    if code in _LDRD_OWN_BEFORE or code in _LDRD_OWN or code in _VLDR_OWN:
        return sign * ((code & 0xFF) << 2)
    distance = (code >> 26 & 1) << 11 | (code >> 12 & 7) << 8 | code & 0xFF
    if code in _ADD_OWN:
        return distance
    return -distance if code in _SUB_OWN else None


#: The register that the engine changes, and the instructions in which a function would save it.
_IP, _PROLOGUE = 12, 12


def reads_ip_first(program: LinkedProgram, start: int, end: int) -> bool:
    """Return True if a function begins by reading ``ip``, as one that is nested in another does."""
    for count, (_, code) in enumerate(instructions(program, start, end)):
        is_branch = code in _BL or code in _B_W or code in _B_IF_W
        if count >= _PROLOGUE or is_branch:
            return False
        read, written = _long_ip(code) if code >> 16 else _short_ip(code)
        if read or written:
            return read
    return False


def _short_ip(code: int) -> tuple[bool, bool]:
    """Return whether a short instruction reads, and whether it writes ``ip``."""
    if code not in _HIGH_REGISTERS:
        return False, False
    source, target = code >> 3 & 0xF, code & 7 | code >> 4 & 8
    is_move, is_branch = code in _MOV_HIGH, code in _BX_ANY
    reads = source == _IP or (target == _IP and not is_move and not is_branch)
    return reads, target == _IP and is_move


def _long_ip(code: int) -> tuple[bool, bool]:
    """Return whether a long instruction reads, and whether it writes ``ip``."""
    base, target, second = code >> 16 & 0xF, code >> 12 & 0xF, code >> 8 & 0xF
    is_load = bool(code & _LOADS)
    if code in _ONE:
        by_register = code in _ONE_BY_REGISTER and code & 0xF == _IP
        reads = base == _IP or by_register or (not is_load and target == _IP)
        return reads, is_load and target == _IP
    if code in _PAIR:
        is_held = _IP in (target, second)
        return base == _IP or (is_held and not is_load), is_held and is_load
    if code in _SHIFTED:
        return base == _IP or code & 0xF == _IP, second == _IP
    if code in _CONSTANT:
        is_move = code in _MOVW or code in _MOV_CONSTANT
        return base == _IP and not is_move, second == _IP
    return False, False
