"""A small converter from class files to CAP files, which tests use to know where everything lies.

The usual converter is Oracle's, whose licence forbids to distribute it. A free one, JavaCard
Express, requires JDK 25 and was in no package registry when this was written. This converter
supports what the tests' classes need: bytes, shorts, booleans and references, but no int. It
writes only those components of a CAP file that are read. Like Oracle's, it folds and drops
instructions (getfield_a_this, i2s), and uses wide branches where they are needed. Section numbers
are those of the Java Card Virtual Machine Specification 2.2.2.

The reader was also tried by hand on code from Oracle's converter: the 20 methods of two
published packages, and class files compiled again from their sources. All agreed.
"""

import re
import struct
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

#: Class-file opcodes that become one Java Card opcode with the same operand bytes.
_SAME = {
    **{n: n for n in range(9)},
    **{26 + n: 0x1C + n for n in range(4)},
    **{42 + n: 0x18 + n for n in range(4)},
    **{59 + n: 0x2F + n for n in range(4)},
    **{75 + n: 0x2B + n for n in range(4)},
}
_SAME.update(
    zip(
        bytes.fromhex("10 11 15 19 32 33 35 36 3a 53 54 56 57 59 5c 60 64 68 6c 70 74 78"),
        bytes.fromhex("10 11 16 15 24 25 26 29 28 37 38 39 3b 3d 3e 41 43 45 47 49 4b 4d"),
        strict=True,
    )
)
_SAME.update(
    zip(
        bytes.fromhex("7a 7c 7e 80 82 84 91 ac b0 b1 b6 b7 b8 bb bc bd be bf c0 c1"),
        bytes.fromhex("4f 51 53 55 57 59 5b 78 77 7a 8b 8c 8d 8f 90 91 92 93 94 95"),
        strict=True,
    )
)
_JUMPS = {
    **{153 + n: 0x60 + n for n in range(6)},
    **{159 + n: 0x6A + n for n in range(6)},
    **dict(zip((198, 199, 165, 166), range(0x66, 0x6A), strict=True)),
    167: 0x70,
}
_DROPPED = (0, 147)  # nop, i2s
_FIELDS = {178: 0x7B, 179: 0x7F, 180: 0x83, 181: 0x87}
_STATIC = (178, 179)
_CHECKS = (192, 193)
_TABLES = _TABLE, _LOOKUP = 170, 171
_INTERFACE = 185
_TWO = (16, 21, 25, 54, 58, 188)
_THREE = (17, 132, *range(153, 169), *range(178, 185), 187, 189, 192, 193, 198, 199)
_MARKS = (*_JUMPS, *_TABLES, 172, 176, 177, 178, 179, 182, 183, 184, _INTERFACE, 187, 191)
_RETURNS = (172, 176, 177)
_NIBBLES = {"V": 1, "Z": 2, "B": 3, "S": 4, "I": 5, "L": 6}
_TYPE = re.compile(r"\[*(?:L[^;]*;|[A-Z])")
_SHORT_LIMIT = 128
_FOUR_BITS = 15


def u1(*numbers: int) -> bytes:
    """Return numbers of one byte."""
    return bytes(n & 0xFF for n in numbers)


def u2(*numbers: int) -> bytes:
    """Return numbers of two bytes."""
    return b"".join(struct.pack(">H", n & 0xFFFF) for n in numbers)


@dataclass
class Member:
    """A field or a method of a class file, and where the converter put it."""

    flags: int
    name: str
    descriptor: str
    code: bytes = b""
    limits: tuple[int, int] = (0, 0)
    handlers: list[tuple[int, int, int, int]] = field(default_factory=list)
    constant: bool = False
    #: In the CAP file: header and code, counterparts of offsets, starts of instructions.
    header: bytes = b""
    converted: bytes = b""
    place: dict[int, int] = field(default_factory=dict)
    starts: list[int] = field(default_factory=list)
    #: Offsets in the class file at which a block may begin or end.
    borders: set[int] = field(default_factory=set)
    #: Bytes of the header in the Method component's info item.
    offset: int = 0

    def counterpart(self, offset: int) -> int:
        """Return the counterpart in the CAP file of an offset in the class file's code."""
        return self.offset + len(self.header) + self.place[offset]

    def instructions(self, start: int, end: int) -> int:
        """Count the instructions that the CAP file has between two offsets in the class file."""
        return sum(self.place[start] <= at < self.place[end] for at in self.starts)


class ClassFile:
    """A class file, converted method by method."""

    def __init__(self, file: Path) -> None:
        """Read and convert a file."""
        self._data = file.read_bytes()
        self._at = 8
        self._constants: dict[int, tuple[int, int]] = {}
        number, count = 1, self._u(2)
        while number < count:
            tag = self._u(1)
            self._constants[number] = tag, self._at
            sizes = {5: 8, 6: 8, 7: 2, 8: 2, 15: 3, 16: 2}
            size = self._u(2) if tag == 1 else sizes.get(tag, 4)
            self._at += size
            number += 2 if tag in (5, 6) else 1
        self.flags = self._u(2)
        self.name = self._text(self._peek(self._u(2), 0))
        self._u(2)
        self.interfaces = [self._u(2) for _ in range(self._u(2))]
        self.fields = [self._member() for _ in range(self._u(2))]
        self.methods = [self._member() for _ in range(self._u(2))]
        for method in self.methods:
            if method.code and method.name != "<clinit>":
                self._convert(method)

    def _u(self, size: int) -> int:
        self._at += size
        return int.from_bytes(self._data[self._at - size : self._at])

    def _peek(self, constant: int, skip: int) -> int:
        at = self._constants[constant][1] + skip
        return int.from_bytes(self._data[at : at + 2])

    def _text(self, constant: int) -> str:
        at = self._constants[constant][1]
        size = int.from_bytes(self._data[at : at + 2])
        return self._data[at + 2 : at + 2 + size].decode()

    def _member(self) -> Member:
        member = Member(self._u(2), self._text(self._u(2)), self._text(self._u(2)))
        for _ in range(self._u(2)):
            kind = self._text(self._u(2))
            end = self._u(4) + self._at
            member.constant |= kind == "ConstantValue"
            if kind == "Code":
                member.limits = self._u(2), self._u(2)
                size = self._u(4)
                member.code = self._data[self._at : self._at + size]
                self._at += size
                member.handlers = [
                    (self._u(2), self._u(2), self._u(2), self._u(2)) for _ in range(self._u(2))
                ]
            self._at = end
        return member

    def _letter(self, constant: int) -> int:
        """Return 0 to 2 for the type of a field: reference, byte, short."""
        descriptor = self._text(self._peek(self._peek(constant, 2), 2))
        return {"B": 1, "Z": 1, "S": 2}.get(descriptor, 0)

    def _convert(self, method: Member) -> None:
        steps = _decode(method.code)
        targets = {handler[2] for handler in method.handlers}
        for at, size in steps:
            targets.update(_targets(method.code, at))
            if method.code[at] in _MARKS:
                method.borders.add(at + size)
                if method.code[at] in _RETURNS:
                    method.borders.add(at)
        method.borders |= targets | {0, len(method.code)}
        wide: set[int] = set()
        while True:
            count = len(wide)
            converted = self._assemble(method, steps, targets, wide)
            if len(wide) == count:
                break
        method.converted = converted
        stack, local = method.limits
        words = len(_TYPE.findall(method.descriptor)) - 1 + (not method.flags & 8)
        if max(stack, local - words, words) > _FOUR_BITS:
            method.header = u1(0x80, stack, words, local - words)
        else:
            method.header = u1(stack, words << 4 | local - words)

    def _assemble(
        self, method: Member, steps: list[tuple[int, int]], targets: set[int], wide: set[int]
    ) -> bytes:
        """Convert the code once. Jumps that are too short for their targets are wide next time."""
        code, place = method.code, {}
        pieces: list[tuple[int, int, bytes]] = []
        at = folded = 0
        for index, (old, size) in enumerate(steps):
            place[old] = at
            following = steps[index + 1][0] if index + 1 < len(steps) else 0
            if code[old] in _DROPPED:
                continue
            if code[old] == 42 and code[following] == 180 and following not in targets:
                folded = following
                continue
            piece = self._piece(code, old, size, folded=old == folded > 0, wide=old in wide)
            pieces.append((old, at, piece))
            at += len(piece)
        place[len(code)] = at
        result = b""
        for old, new, piece in pieces:
            for target in _targets(code, old):
                if old not in wide and not -_SHORT_LIMIT <= place[target] - new < _SHORT_LIMIT:
                    wide.add(old)
            result += _resolve(code, old, piece, {t: place[t] - new for t in _targets(code, old)})
        method.place, method.starts = place, [new for _, new, _ in pieces]
        return result

    def _piece(self, code: bytes, at: int, size: int, *, folded: bool, wide: bool) -> bytes:
        op, operands = code[at], code[at + 1 : at + size]
        if op in _FIELDS:
            return self._access(op, int.from_bytes(operands), folded=folded)
        if op in _TABLES:
            low, cases = _cases(code, at)
            if op == _TABLE:
                return u1(0x73) + u2(0, low, low + len(cases) - 1) + bytes(2 * len(cases))
            return u1(0x75) + u2(0, len(cases)) + bytes(4 * len(cases))
        if op in _JUMPS:
            return u1(_JUMPS[op] + 0x38, 0, 0) if wide else u1(_JUMPS[op], 0)
        if op == _INTERFACE:
            return u1(0x8E) + operands[2:3] + operands[:2] + u1(0)
        return u1(_SAME[op]) + (u1(0) if op in _CHECKS else b"") + operands

    def _access(self, op: int, constant: int, *, folded: bool) -> bytes:
        letter = self._letter(constant)
        if op in _STATIC:
            return u1(_FIELDS[op] + letter) + u2(constant)
        return u1(0xAD + letter if folded else _FIELDS[op] + letter, constant)


def _decode(code: bytes) -> list[tuple[int, int]]:
    """Return offset and size of each instruction of a class file's code."""
    steps, at = [], 0
    while at < len(code):
        op = code[at]
        if op in _TABLES:
            start = (at + 4) & ~3
            size = start - at + (12 if op == _TABLE else 8)
            size += len(_cases(code, at)[1]) * (4 if op == _TABLE else 8)
        else:
            size = 5 if op == _INTERFACE else 3 if op in _THREE else 2 if op in _TWO else 1
        steps.append((at, size))
        at += size
    return steps


def _cases(code: bytes, at: int) -> tuple[int, list[tuple[int, int]]]:
    """Return a switch's lowest number, and its numbers with their targets."""
    start = (at + 4) & ~3
    if code[at] == _TABLE:
        _, low, high = struct.unpack_from(">3i", code, start)
        jumps = struct.unpack_from(f">{high - low + 1}i", code, start + 12)
        return low, [(low + n, at + jump) for n, jump in enumerate(jumps)]
    count = struct.unpack_from(">i", code, start + 4)[0]
    pairs = struct.iter_unpack(">2i", code[start + 8 : start + 8 + 8 * count])
    return 0, [(value, at + jump) for value, jump in pairs]


def _targets(code: bytes, at: int) -> list[int]:
    """Return where an instruction may jump, a switch to its default first."""
    if code[at] in _JUMPS:
        return [at + int(struct.unpack_from(">h", code, at + 1)[0])]
    if code[at] in _TABLES:
        usual = at + int(struct.unpack_from(">i", code, (at + 4) & ~3)[0])
        return [usual, *(target for _, target in _cases(code, at)[1])]
    return []


def _resolve(code: bytes, at: int, piece: bytes, distance: dict[int, int]) -> bytes:
    """Write the jump distances into a converted instruction."""
    targets = _targets(code, at)
    if code[at] in _JUMPS:
        near = distance[targets[0]]
        return piece[:1] + (u1(near) if len(piece) == 2 else u2(near))
    if code[at] == _TABLE:
        return (
            piece[:1] + u2(distance[targets[0]]) + piece[3:7] + u2(*map(distance.get, targets[1:]))  # type: ignore[arg-type]
        )
    if code[at] == _LOOKUP:
        pairs = b"".join(u2(value, distance[target]) for value, target in _cases(code, at)[1])
        return piece[:1] + u2(distance[targets[0]]) + piece[3:5] + pairs
    return piece


def _type(descriptor: str) -> list[int]:
    """Return the nibbles of a type (6.13.4). All classes have the same place here."""
    if descriptor.startswith("["):
        return [_type(descriptor[1:])[0] + 8, *([0x8, 0, 0, 1] if "L" in descriptor else [])]
    return [_NIBBLES[descriptor[0]], *([0x8, 0, 0, 1] if descriptor[0] == "L" else [])]


def _signature(descriptor: str) -> bytes:
    return _packed([nibble for name in _TYPE.findall(descriptor) for nibble in _type(name)])


def _packed(nibbles: list[int]) -> bytes:
    pairs = [*nibbles, 0][: len(nibbles) + len(nibbles) % 2]
    return u1(len(nibbles)) + bytes(
        high << 4 | low for high, low in zip(pairs[::2], pairs[1::2], strict=True)
    )


def _flags(member: Member) -> int:
    flags = member.flags & 0x1F | (64 if member.flags & 0x400 else 0)
    return flags | (128 if member.name == "<init>" else 0)


def method_component(classes: list[ClassFile]) -> bytes:
    """Return the method component (6.9) of all methods, and its info item."""
    methods = [m for c in classes for m in c.methods if m.converted]
    offset = 1 + 8 * sum(len(m.handlers) for m in methods)
    table, body = b"", b""
    for method in methods:
        method.offset = offset + len(body)
        code = method.offset + len(method.header)
        for start, end, handler, kind in sorted(method.handlers, key=lambda h: h[2]):
            first = method.place[start]
            length = method.place[end] - first
            table += u2(code + first, 0x8000 | length, code + method.place[handler], kind)
        body += method.header + method.converted
    return u1(len(table) // 8) + table + body


def descriptor_component(classes: list[ClassFile], *, reverse: bool = False) -> bytes:
    """Return the info item with shapes and places (6.13), with methods backwards if ``reverse``."""
    types, body = u2(0), u1(len(classes))
    for number, java_class in enumerate(classes):
        methods = [m for m in java_class.methods if m.name != "<clinit>"]
        fields = [f for f in java_class.fields if not f.constant]
        flags = java_class.flags & 0x11 | (64 if java_class.flags & 0x200 else 0)
        flags |= 128 if java_class.flags & 0x400 else 0
        body += u1(number, flags) + u2(number) + u1(len(java_class.interfaces))
        body += u2(len(fields), len(methods)) + bytes(2 * len(java_class.interfaces))
        for member in fields:
            body += u1(0, member.flags & 0x1F, 0, 0, 0)
            if len(member.descriptor) == 1:
                body += u2(0x8000 | _NIBBLES[member.descriptor])
            else:
                body += u2(len(types))
                types += _packed(_type(member.descriptor))
        for member in reversed(methods) if reverse else methods:
            body += u1(0, _flags(member))
            body += u2(member.offset, len(types), len(member.converted), len(member.handlers), 0)
            types += _signature(member.descriptor)
    return body + types


def debug_component(classes: list[ClassFile]) -> bytes:
    """Return the info item with names (6.14)."""
    strings: list[str] = []

    def index(text: str) -> bytes:
        if text not in strings:
            strings.append(text)
        return u2(strings.index(text))

    body = index("package") + u2(len(classes))
    for java_class in classes:
        methods = [m for m in java_class.methods if m.name != "<clinit>"]
        body += index(java_class.name) + u2(java_class.flags, 0) + index("super") + index("file")
        body += u1(len(java_class.interfaces)) + u2(len(java_class.fields), len(methods))
        body += bytes(2 * len(java_class.interfaces) + 10 * len(java_class.fields))
        for member in methods:
            body += index(member.name) + index(member.descriptor) + u2(member.flags, member.offset)
            body += u1(len(member.header)) + u2(len(member.converted), 1, 2) + bytes(9 + 12)
    table = b"".join(u2(len(text.encode())) + text.encode() for text in strings)
    return u2(len(strings)) + table + body


def components(
    classes: list[ClassFile], *, debug: bool = False, reverse: bool = False
) -> dict[str, bytes]:
    """Return the components that are read, each with its tag and size."""
    method = method_component(classes)
    infos = {
        "Header": (1, bytes.fromhex("decaffed") + u1(1, 2, 0)),
        "Method": (7, method),
        "Descriptor": (11, descriptor_component(classes, reverse=reverse)),
    }
    if debug:
        infos["Debug"] = 12, debug_component(classes)
    infos["Directory"] = 2, bytes(12) + u2(len(method)) + bytes(17)
    return {name: u1(tag) + u2(len(info)) + info for name, (tag, info) in infos.items()}


def write(file: Path, package: str, parts: dict[str, bytes]) -> Path:
    """Write components as a CAP file."""
    with zipfile.ZipFile(file, "w") as cap:
        for name, data in parts.items():
            cap.writestr(f"{package}/javacard/{name}.cap", data)
    return file
