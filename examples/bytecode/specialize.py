#!/usr/bin/env python3
"""Off-board specializer: turns a jar into an image that an interpreter on a sensor runs in place.

    specialize.py PROGRAM.jar RECORDED.trace -o FOLDER

Like the converters of Java Card and JITS, it resolves names: each operand is replaced in place by
a number, so that the interpreter looks nothing up. Methods lie where the recorder placed them, and
no instruction changes its length, so that the recorded trace fits this image, too.

FOLDER/image.bin is the bytecode for flash. FOLDER/program.h has the tables of the interpreter:
classes with their methods, all methods, and constants.
"""

import argparse
import re
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from class_file import (
    ACC_ABSTRACT,
    ACC_FINAL,
    ACC_INTERFACE,
    ACC_PRIVATE,
    ACC_STATIC,
    ClassFile,
    Member,
    Method,
    slots,
    written,
)

from flashpager import FlashpagerError, Trace

#: Native methods by number. They are not in the image, and were not recorded.
NATIVES = (
    Member("java/lang/Object", "<init>", "()V"),
    Member("platform/Machine", "now", "()I"),
    Member("platform/Machine", "waitForInterrupt", "(I)I"),
    Member("platform/Machine", "startConversion", "(I)V"),
    Member("platform/Machine", "conversion", "()I"),
    Member("platform/Machine", "channelClear", "()Z"),
    Member("platform/Machine", "transmit", "([BI)Z"),
    Member("platform/Machine", "receive", "([B)I"),
)
#: Offsets that stand for native methods, and for methods that are not in the image.
_NATIVE, _NOWHERE = 0xFF00, 0xFFFF

#: Kinds of fields, as interpreter.h has them, and their bytes.
_KINDS = {"Z": 0, "B": 0, "C": 1, "S": 2, "I": 3, "L": 4, "[": 4}
_BYTES = (1, 2, 2, 4, 2)

_LDC, _GETSTATIC, _GETFIELD, _PUTFIELD = 18, 178, 180, 181
_INVOKEVIRTUAL, _INVOKESPECIAL, _INVOKESTATIC, _INVOKEINTERFACE = 182, 183, 184, 185
_NEW, _NEWARRAY, _ANEWARRAY, _CHECKCAST = 187, 188, 189, 192
#: An opcode of the specializer's own: NEW of a class that has an initialiser. As in the trace, the
#: initialiser runs after the instruction's bytes have been read.
_NEW_INITIALISED = 203
#: Bytes of each instruction that the interpreter knows.
_LENGTHS = {
    **dict.fromkeys((*range(1, 9), *range(26, 30), *range(42, 47), *range(50, 54)), 1),
    **dict.fromkeys((*range(59, 63), *range(75, 80), *range(83, 88), *range(89, 93)), 1),
    **dict.fromkeys((96, 100, 104, 105, 108, 112, 120, 122, 123, 126, 128, 130), 1),
    **dict.fromkeys((133, 136, 145, 147, 172, 176, 177, 190), 1),
    **dict.fromkeys((16, _LDC, 21, 25, 54, 58, _NEWARRAY), 2),
    **dict.fromkeys((17, 132, *range(153, 168), *range(178, 185)), 3),
    **dict.fromkeys((_NEW, _ANEWARRAY, _CHECKCAST, 198, 199), 3),
    _INVOKEINTERFACE: 5,
}


@dataclass
class Class:
    """A class of the program, or an interface."""

    file: ClassFile
    number: int
    superclass: "Class | None" = None
    #: Bytes of an object, with its header.
    object_bytes: int = 2
    #: Offsets of the class's own fields, by name and descriptor.
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Virtual methods, which are called by their index in this table.
    table: list["Placed"] = field(default_factory=list)

    @property
    def above(self) -> Iterator["Class"]:
        """The class, followed by its superclasses."""
        at: Class | None = self
        while at is not None:
            yield at
            at = at.superclass


@dataclass(frozen=True)
class Placed:
    """A method, with its number and its place in the image."""

    owner: str
    method: Method
    number: int
    offset: int

    @property
    def key(self) -> tuple[str, str]:
        """Name and descriptor, which an overriding method shares."""
        return self.method.name, self.method.descriptor

    @property
    def arguments(self) -> int:
        """Number of slots that a caller pushes."""
        return slots(self.method.descriptor) + (0 if self.method.flags & ACC_STATIC else 1)

    @property
    def title(self) -> str:
        """The method's name in a trace."""
        return written(self.owner, self.method.name, self.method.descriptor)


def refuse(message: str) -> NoReturn:
    """Raise an error that the user sees as one line."""
    raise ValueError(message)


def _package(name: str) -> str:
    return name.rpartition("/")[0]


class Program:
    """All classes of a program whose bytecode was recorded."""

    def __init__(self, files: Sequence[ClassFile], offsets: dict[str, tuple[int, int]]) -> None:
        """Number classes and methods, and lay out objects.

        Args:
            files: the classes, in the order of their names.
            offsets: offset and length of each method, by its name in the trace.

        """
        self.classes: dict[str, Class] = {}
        self.methods: dict[Member, Placed] = {}
        self.by_number: list[Placed] = []
        self.constants: dict[int, int] = {}
        self.selectors: dict[tuple[str, str], int] = {}
        self.statics: dict[Member, int] = {}
        self.static_bytes = 0
        for number, each in enumerate(files):
            self.classes[each.name] = Class(each, number)
        if len(files) > 127:
            refuse(f"{len(files)} classes: the interpreter numbers at most 127")
        for one in self.classes.values():
            self._place_methods(one, offsets)
        done: set[str] = set()
        for one in self.classes.values():
            self._arrange(one, done)
        placed = {each.title for each in self.by_number if each.offset < _NATIVE}
        for title in offsets.keys() - placed:
            refuse(f"the trace has {title}, and no class that was given does")

    def _place_methods(self, one: Class, offsets: dict[str, tuple[int, int]]) -> None:
        for method in one.file.methods:
            if method.code is None:
                continue
            title = written(one.file.name, method.name, method.descriptor)
            offset, size = offsets.get(title, (_NOWHERE, len(method.code)))
            if size != len(method.code):
                refuse(
                    f"{title} has {len(method.code)} bytes, and {size} in the trace: "
                    "record the trace of this jar"
                )
            if offset != _NOWHERE and offset + size > _NATIVE:
                refuse(f"{title} lies at {offset}: the interpreter's images end at {_NATIVE}")
            placed = Placed(one.file.name, method, len(self.by_number), offset)
            if placed.arguments > 127 or method.max_locals + method.max_stack > 250:
                refuse(f"{title} has too many locals for the interpreter's frames")
            self.by_number.append(placed)
            self.methods[Member(one.file.name, method.name, method.descriptor)] = placed

    def _arrange(self, one: Class, done: set[str]) -> None:
        """Lay out a class's objects and its table of methods, those above it first."""
        if one.file.name in done:
            return
        done.add(one.file.name)
        above = one.file.superclass
        if above in self.classes:
            one.superclass = self.classes[above]
            self._arrange(one.superclass, done)
            if self.initialiser(above):
                refuse(f"{above} has an initialiser and subclasses, which would call it, too")
            one.object_bytes = one.superclass.object_bytes
            one.table = list(one.superclass.table)
        elif above != "java/lang/Object":
            refuse(f"{one.file.name}: its superclass {above} was not given")
        for each in one.file.fields:
            if each.flags & ACC_STATIC and each.is_constant:
                continue
            kind = self._kind(each.descriptor, f"{one.file.name}.{each.name}")
            if each.flags & ACC_STATIC:
                member = Member(one.file.name, each.name, each.descriptor)
                self.statics[member] = self.static_bytes
                self.static_bytes += _BYTES[kind]
            else:
                one.places[each.name, each.descriptor] = one.object_bytes
                one.object_bytes += _BYTES[kind]
        if max(one.object_bytes, self.static_bytes) > 255:
            refuse(f"{one.file.name}: the interpreter's objects have at most 255 bytes")
        self._arrange_table(one)

    def _arrange_table(self, one: Class) -> None:
        for method in one.file.methods:
            if method.flags & (ACC_STATIC | ACC_PRIVATE) or method.name[0] == "<":
                continue
            member = Member(one.file.name, method.name, method.descriptor)
            placed = self.methods.get(member) or Placed(member.owner, method, _NOWHERE, _NOWHERE)
            at = [i for i, each in enumerate(one.table) if each.key == placed.key]
            if not at:
                one.table.append(placed)
                continue
            over = one.table[at[0]]
            if not over.method.flags & 5 and _package(over.owner) != _package(placed.owner):
                refuse(f"{placed.title} does not override {over.title}, of another package")
            one.table[at[0]] = placed

    @staticmethod
    def _kind(descriptor: str, what: str) -> int:
        if descriptor[0] not in _KINDS:
            refuse(f"{what}: the interpreter has no fields of long, float or double")
        return _KINDS[descriptor[0]]

    def field_operand(self, member: Member) -> int:
        """Return a field's kind and offset, as an operand."""
        static = self.statics.get(member)
        if static is not None:
            return _KINDS[member.descriptor[0]] << 8 | static
        if member.owner in self.classes:
            for one in self.classes[member.owner].above:
                place = one.places.get((member.name, member.descriptor))
                if place is not None:
                    return _KINDS[member.descriptor[0]] << 8 | place
        refuse(f"there is no field {member.owner}.{member.name}")

    def method_of(self, member: Member) -> int:
        """Return the number of a method that is called directly."""
        if member in NATIVES:
            return len(self.by_number) + NATIVES.index(member)
        if member.owner in self.classes:
            for one in self.classes[member.owner].above:
                method = self.methods.get(Member(one.file.name, member.name, member.descriptor))
                if method:
                    return method.number
        what = written(member.owner, member.name, member.descriptor)
        refuse(f"there is no method {what}, and the interpreter has none of its own")

    def virtual_operand(self, member: Member) -> tuple[int, int]:
        """Return opcode and operand of a virtual call; direct if only one method is possible."""
        one = self.classes.get(member.owner)
        if one is None:
            return _INVOKESPECIAL, self.method_of(member)
        places = [
            i for i, each in enumerate(one.table) if each.key == (member.name, member.descriptor)
        ]
        if not places:
            for each in one.above:
                for method in each.file.methods:
                    if (method.name, method.descriptor) != (member.name, member.descriptor):
                        continue
                    if method.flags & ACC_PRIVATE:
                        return _INVOKESPECIAL, self.method_of(member)
            refuse(f"{one.file.name} has no method {member.name} of its own to be called")
        of_class = one.table[places[0]]
        if (of_class.method.flags | one.file.flags) & ACC_FINAL:
            return _INVOKESPECIAL, of_class.number
        return _INVOKEVIRTUAL, of_class.arguments << 8 | places[0]

    def selector(self, name: str, descriptor: str) -> int:
        """Return the number of a method of interfaces."""
        return self.selectors.setdefault((name, descriptor), len(self.selectors))

    def constant(self, value: int | None, location: str) -> int:
        """Return the index of a constant in the table of constants."""
        if value is None:
            refuse(f"{location}: the interpreter's constants are ints")
        place = self.constants.setdefault(value, len(self.constants))
        if place > 255:
            refuse(f"{location}: the interpreter has at most 256 constants")
        return place

    def initialiser(self, name: str) -> Placed | None:
        """Return the initialiser of a class, if it has one."""
        return self.methods.get(Member(name, "<clinit>", "()V"))

    def specialize(self, placed: Placed, file: ClassFile) -> bytes:
        """Rewrite a method's operands."""
        code = bytearray(placed.method.code or b"")
        at = 0
        if placed.method.handlers:
            refuse(f"{placed.title}: the interpreter has no exceptions")
        while at < len(code):
            opcode = code[at]
            if opcode not in _LENGTHS:
                refuse(f"{placed.title}, offset {at}: the interpreter has no opcode {opcode}")
            self._rewrite(code, at, file, placed)
            at += _LENGTHS[opcode]
        return bytes(code)

    def _rewrite(  # noqa: C901  (a case for each kind of operand)
        self, code: bytearray, at: int, file: ClassFile, placed: Placed
    ) -> None:
        """Rewrite an instruction."""
        opcode, index = code[at], int.from_bytes(code[at + 1 : at + 3], "big")
        location = f"{placed.title}, offset {at}"
        operand = None
        if opcode == _LDC:
            code[at + 1] = self.constant(file.integer(code[at + 1]), location)
        elif _GETSTATIC <= opcode <= _PUTFIELD:
            member = file.member(index)
            operand = self.field_operand(member)
            if opcode < _GETFIELD:
                self._refuse_first_use(member.owner, placed, location)
        elif opcode == _INVOKEVIRTUAL:
            code[at], operand = self.virtual_operand(file.member(index))
        elif opcode in (_INVOKESPECIAL, _INVOKESTATIC):
            member = file.member(index)
            operand = self.method_of(member)
            if opcode == _INVOKESTATIC:
                self._refuse_first_use(member.owner, placed, location)
        elif opcode == _INVOKEINTERFACE:
            member = file.member(index)
            operand = self.selector(member.name, member.descriptor)
        elif opcode in (_NEW, _CHECKCAST):
            one = self._class_of(file.class_name(index), location)
            operand = one.number
            if opcode == _NEW and one.file.name != placed.owner and self.initialiser(one.file.name):
                code[at] = _NEW_INITIALISED
        elif opcode == _ANEWARRAY:
            operand = 0
        if operand is not None:
            code[at + 1 : at + 3] = operand.to_bytes(2, "big")

    def _class_of(self, name: str, location: str) -> Class:
        one = self.classes.get(name)
        if one is None or one.file.flags & ACC_INTERFACE:
            refuse(f"{location}: {name} is no class that was given")
        return one

    def _refuse_first_use(self, owner: str, placed: Placed, location: str) -> None:
        """Refuse an access that may initialise a class without making an object of it."""
        if owner != placed.owner and self.initialiser(owner):
            refuse(
                f"{location}: {owner} has an initialiser, which the interpreter runs where an "
                "object of the class is made"
            )

    def image(self, size: int) -> bytes:
        """Return the bytecode of all methods that have a place."""
        data = bytearray(b"\xff" * size)
        for each in self.by_number:
            if each.offset != _NOWHERE:
                code = self.specialize(each, self.classes[each.owner].file)
                data[each.offset : each.offset + len(code)] = code
        return bytes(data)

    def method(self, one: Class, key: tuple[str, str]) -> Placed | None:
        """Return the method that a class's objects have under a name."""
        return next((each for each in one.table if each.key == key), None)

    def header(self, image_bytes: int) -> str:
        """Write program.h. The image must be made before, as it numbers selectors and constants."""
        vtables: list[int] = []
        itable: list[tuple[int, int]] = []
        classes = []
        for one in self.classes.values():
            selected = [
                (number, method.number)
                for key, number in self.selectors.items()
                if (method := self.method(one, key))
                and not one.file.flags & (ACC_ABSTRACT | ACC_INTERFACE)
            ]
            above = one.superclass.number if one.superclass else 255
            initialiser = self.initialiser(one.file.name)
            first = initialiser.number if initialiser else 0xFFFF
            classes.append(
                f"{{{above}, {one.object_bytes}, {len(selected)}, {len(vtables)}, {len(itable)}, "
                f"{first}}}, /* {one.file.name} */"
            )
            vtables += [each.number for each in one.table]
            itable += selected
        methods = []
        for each in self.by_number:
            room = each.method.max_locals - each.arguments + 1 + each.method.max_stack
            methods.append(
                f"{{{each.offset}, {each.arguments}, {each.method.max_locals}, {room}}}, "
                f"/* {each.title} */"
            )
        for number, native in enumerate(NATIVES):
            arguments = slots(native.descriptor) + (native.name == "<init>")
            title = written(native.owner, native.name, native.descriptor)
            methods.append(f"{{{_NATIVE + number}, {arguments}, {arguments}, 0}}, /* {title} */")
        selectors = [slots(key[1]) + 1 for key in self.selectors]
        lines = [
            "/* What specialize.py made: the program's tables. Do not edit. */",
            f"#define PROGRAM_IMAGE_BYTES {image_bytes}",
            f"#define PROGRAM_CLASSES {len(self.classes)}",
            f"#define PROGRAM_METHODS {len(methods)}",
            f"#define PROGRAM_STATIC_BYTES {max(1, self.static_bytes)}",
            *self._names(),
            "#ifdef PROGRAM_TABLES",
            *_table("struct program_class", "program_classes", classes),
            *_table("struct program_method", "program_methods", methods),
            *_table("uint16_t", "program_vtables", [f"{each}," for each in vtables]),
            *_table(
                "struct program_selected", "program_selected", [f"{{{s}, {m}}}," for s, m in itable]
            ),
            *_table("uint8_t", "program_selector_arguments", [f"{each}," for each in selectors]),
            *_table("int32_t", "program_constants", [f"INT32_C({v})," for v in self.constants]),
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def _names(self) -> Iterator[str]:
        """Yield macros for the classes, fields and methods that the C program names."""
        for one in self.classes.values():
            yield f"#define CLASS_{_identifier(one.file.name)} {one.number}"
            for (name, _), place in one.places.items():
                yield f"#define FIELD_{_identifier(one.file.name)}_{_identifier(name)} {place}"
        for each in self.by_number:
            title = _identifier(each.title.replace("<", "").replace(">", "")).rstrip("_")
            yield f"#define METHOD_{title} {each.number}"


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name)


def _table(kind: str, name: str, rows: Sequence[str]) -> list[str]:
    """Write an array in C; an empty one has a row of zeros, which is never read."""
    body = rows or ["{0},"] if kind.startswith("struct") else rows or ["0,"]
    return [f"static const {kind} {name}[] PROGRAM_MEMORY = {{", *(f"    {r}" for r in body), "};"]


def specialize(jar: Path, recorded: Path, folder: Path) -> None:
    """Write image.bin and program.h.

    Raises:
        ValueError: for what the interpreter has not, and a trace of another program.

    """
    info = Trace.open(recorded).info
    if info.architecture != "jvm" or len(info.images) != 1:
        refuse(f"{recorded}: is no trace of Java bytecode")
    [image] = info.images
    offsets = {each.name: (each.offset, each.bytes) for each in image.symbols}
    packages = {name.partition("(")[0].split(".")[0] for name in offsets}
    with zipfile.ZipFile(jar) as archive:
        names = sorted(
            name
            for name in archive.namelist()
            if name.endswith(".class") and name.removesuffix(".class").split("/")[0] in packages
        )
        files = [ClassFile(archive.read(name), name) for name in names]
    program = Program(files, offsets)
    data = program.image(image.bytes)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "image.bin").write_bytes(data)
    (folder / "program.h").write_text(program.header(image.bytes), encoding="utf-8")


def main() -> None:
    """Answer the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jar", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    given = parser.parse_args()
    try:
        specialize(given.jar, given.trace, given.output)
    except (ValueError, OSError, zipfile.BadZipFile, FlashpagerError) as error:
        sys.stderr.write(f"specialize.py: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
