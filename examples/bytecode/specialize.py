#!/usr/bin/env python3
"""Off-board specializer: turns a jar into an image that a sensor's interpreter runs in place.

    specialize.py PROGRAM.jar RECORDED.trace -o FOLDER

Like the converters of Java Card and JITS, it resolves names: each operand that refers to a name is
replaced by a number, so that the interpreter need not look up names. Methods lie where the recorder
placed them, and no instruction changes its length. So the recorded trace is also valid for this
image.

It writes FOLDER/image.bin, the bytecode for flash, and FOLDER/program.h, the interpreter's tables
of classes, methods and constants.
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
    ACC_PROTECTED,
    ACC_PUBLIC,
    ACC_STATIC,
    ClassFile,
    Member,
    Method,
    slots,
    trace_name,
)

from flashpager import FlashpagerError, Trace

#: Native methods; the index is the number of the method. They are not in the image or the trace.
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
#: The offset of the first native method, and of methods that are not in the image.
_NATIVE, _NOWHERE = 0xFF00, 0xFFFF

#: Kinds of fields, numbered as in interpreter.c, by the first letter of the descriptor.
_KINDS = {"Z": 0, "B": 0, "C": 1, "S": 2, "I": 3, "L": 4, "[": 4}
#: Size of a field in bytes, by kind.
_BYTES = (1, 2, 2, 4, 2)

_LDC, _GETSTATIC, _GETFIELD, _PUTFIELD = 18, 178, 180, 181
_INVOKEVIRTUAL, _INVOKESPECIAL, _INVOKESTATIC, _INVOKEINTERFACE = 182, 183, 184, 185
_NEW, _NEWARRAY, _ANEWARRAY, _CHECKCAST = 187, 188, 189, 192
#: An opcode that the specializer adds: NEW of a class that has an initialiser. As in the trace, the
#: initialiser runs after the instruction's bytes have been read.
_NEW_INITIALISED = 203
#: Length in bytes of each instruction that the interpreter supports, by opcode.
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
    #: Size of an object in bytes, with its header.
    object_bytes: int = 2
    #: Offsets in an object of the fields that this class declares, by name and descriptor.
    field_offsets: dict[tuple[str, str], int] = field(default_factory=dict)
    #: Virtual methods, which are called by their index in this table.
    vtable: list["PlacedMethod"] = field(default_factory=list)

    @property
    def ancestors(self) -> Iterator["Class"]:
        """The class itself, followed by its superclasses."""
        at: Class | None = self
        while at is not None:
            yield at
            at = at.superclass


@dataclass(frozen=True)
class PlacedMethod:
    """A method, with its number and its offset in the image."""

    owner: str
    method: Method
    number: int
    #: `_NOWHERE` if the trace does not have the method.
    offset: int

    @property
    def key(self) -> tuple[str, str]:
        """Name and descriptor, which are those of the overridden method, too."""
        return self.method.name, self.method.descriptor

    @property
    def arguments(self) -> int:
        """Number of slots that a caller pushes."""
        return slots(self.method.descriptor) + (0 if self.method.flags & ACC_STATIC else 1)

    @property
    def title(self) -> str:
        """The method's name in a trace."""
        return trace_name(self.owner, self.method.name, self.method.descriptor)


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
            offsets: offset and length in bytes of each method, by its name in the trace.

        Raises:
            ValueError: if the interpreter does not support the program, or the trace is of another.

        """
        self.classes: dict[str, Class] = {}
        self.methods: dict[Member, PlacedMethod] = {}
        self.by_number: list[PlacedMethod] = []
        self.constants: dict[int, int] = {}
        self.selectors: dict[tuple[str, str], int] = {}
        self.statics: dict[Member, int] = {}
        self.static_bytes = 0
        for number, file in enumerate(files):
            self.classes[file.name] = Class(file, number)
        if len(files) > 127:
            refuse(f"the program has {len(files)} classes, and the interpreter at most 127")
        for java_class in self.classes.values():
            self._place_methods(java_class, offsets)
        done: set[str] = set()
        for java_class in self.classes.values():
            self._arrange(java_class, done)
        placed = {method.title for method in self.by_number if method.offset < _NATIVE}
        for title in offsets.keys() - placed:
            refuse(f"the trace has {title}, which no class of the jar has")

    def _place_methods(self, java_class: Class, offsets: dict[str, tuple[int, int]]) -> None:
        for method in java_class.file.methods:
            if method.code is None:
                continue
            title = trace_name(java_class.file.name, method.name, method.descriptor)
            offset, size = offsets.get(title, (_NOWHERE, len(method.code)))
            if size != len(method.code):
                refuse(
                    f"{title} has {len(method.code)} bytes in the jar and {size} in the trace: "
                    "record a trace of this jar"
                )
            if offset != _NOWHERE and offset + size > _NATIVE:
                refuse(f"{title} lies at {offset}: the interpreter's images end at {_NATIVE}")
            placed = PlacedMethod(java_class.file.name, method, len(self.by_number), offset)
            if placed.arguments > 127 or method.max_locals + method.max_stack > 250:
                refuse(f"{title} has too many locals for the interpreter's frames")
            self.by_number.append(placed)
            self.methods[Member(java_class.file.name, method.name, method.descriptor)] = placed

    def _arrange(self, java_class: Class, done: set[str]) -> None:
        """Lay out a class's objects and its table of methods, after those of its superclass."""
        if java_class.file.name in done:
            return
        done.add(java_class.file.name)
        superclass = java_class.file.superclass
        if superclass in self.classes:
            java_class.superclass = self.classes[superclass]
            self._arrange(java_class.superclass, done)
            if self.initialiser(superclass):
                refuse(f"{superclass} has an initialiser and subclasses, which would call it, too")
            java_class.object_bytes = java_class.superclass.object_bytes
            java_class.vtable = list(java_class.superclass.vtable)
        elif superclass != "java/lang/Object":
            refuse(f"{java_class.file.name}: its superclass {superclass} is not in the jar")
        for java_field in java_class.file.fields:
            if java_field.flags & ACC_STATIC and java_field.is_constant:
                continue
            kind = self._kind(java_field.descriptor, f"{java_class.file.name}.{java_field.name}")
            if java_field.flags & ACC_STATIC:
                member = Member(java_class.file.name, java_field.name, java_field.descriptor)
                self.statics[member] = self.static_bytes
                self.static_bytes += _BYTES[kind]
            else:
                java_class.field_offsets[java_field.name, java_field.descriptor] = (
                    java_class.object_bytes
                )
                java_class.object_bytes += _BYTES[kind]
        if max(java_class.object_bytes, self.static_bytes) > 255:
            refuse(
                f"{java_class.file.name}: an object, and all static fields, have at most 255 bytes "
                "in the interpreter"
            )
        self._arrange_vtable(java_class)

    def _arrange_vtable(self, java_class: Class) -> None:
        for method in java_class.file.methods:
            if method.flags & (ACC_STATIC | ACC_PRIVATE) or method.name[0] == "<":
                continue
            member = Member(java_class.file.name, method.name, method.descriptor)
            placed = self.methods.get(member)
            if placed is None:
                placed = PlacedMethod(member.owner, method, _NOWHERE, _NOWHERE)
            indices = [i for i, each in enumerate(java_class.vtable) if each.key == placed.key]
            if not indices:
                java_class.vtable.append(placed)
                continue
            overridden = java_class.vtable[indices[0]]
            is_visible = overridden.method.flags & (ACC_PUBLIC | ACC_PROTECTED)
            if not is_visible and _package(overridden.owner) != _package(placed.owner):
                refuse(f"{placed.title} does not override {overridden.title} of another package")
            java_class.vtable[indices[0]] = placed

    @staticmethod
    def _kind(descriptor: str, title: str) -> int:
        if descriptor[0] not in _KINDS:
            refuse(f"{title}: the interpreter has no fields of type long, float or double")
        return _KINDS[descriptor[0]]

    def field_operand(self, member: Member) -> int:
        """Return a field's kind, times 256, plus its offset."""
        static = self.statics.get(member)
        if static is not None:
            return _KINDS[member.descriptor[0]] << 8 | static
        if member.owner in self.classes:
            for ancestor in self.classes[member.owner].ancestors:
                offset = ancestor.field_offsets.get((member.name, member.descriptor))
                if offset is not None:
                    return _KINDS[member.descriptor[0]] << 8 | offset
        refuse(f"there is no field {member.owner}.{member.name}")

    def method_of(self, member: Member) -> int:
        """Return the number of a method that is called directly."""
        if member in NATIVES:
            return len(self.by_number) + NATIVES.index(member)
        if member.owner in self.classes:
            for ancestor in self.classes[member.owner].ancestors:
                method = self.methods.get(
                    Member(ancestor.file.name, member.name, member.descriptor)
                )
                if method:
                    return method.number
        title = trace_name(member.owner, member.name, member.descriptor)
        refuse(f"the method {title} is neither in the jar nor native in the interpreter")

    def virtual_operand(self, member: Member) -> tuple[int, int]:
        """Return opcode and operand of a virtual call.

        The call becomes a direct one if only one method is possible.
        """
        java_class = self.classes.get(member.owner)
        if java_class is None:
            return _INVOKESPECIAL, self.method_of(member)
        indices = [
            i
            for i, each in enumerate(java_class.vtable)
            if each.key == (member.name, member.descriptor)
        ]
        if not indices:
            for each in java_class.ancestors:
                for method in each.file.methods:
                    if (method.name, method.descriptor) != (member.name, member.descriptor):
                        continue
                    if method.flags & ACC_PRIVATE:
                        return _INVOKESPECIAL, self.method_of(member)
            refuse(f"{java_class.file.name} has no method {member.name} that can be called")
        placed = java_class.vtable[indices[0]]
        if (placed.method.flags | java_class.file.flags) & ACC_FINAL:
            return _INVOKESPECIAL, placed.number
        return _INVOKEVIRTUAL, placed.arguments << 8 | indices[0]

    def selector(self, name: str, descriptor: str) -> int:
        """Return the number of a method of interfaces, its selector."""
        return self.selectors.setdefault((name, descriptor), len(self.selectors))

    def constant(self, value: int | None, location: str) -> int:
        """Return the index of a constant in the table of constants."""
        if value is None:
            refuse(f"{location}: the interpreter's constants are ints")
        index = self.constants.setdefault(value, len(self.constants))
        if index > 255:
            refuse(f"{location}: the interpreter has at most 256 constants")
        return index

    def initialiser(self, name: str) -> PlacedMethod | None:
        """Return the initialiser of a class, if it has one."""
        return self.methods.get(Member(name, "<clinit>", "()V"))

    def specialize(self, placed: PlacedMethod, file: ClassFile) -> bytes:
        """Return a method's code, with rewritten operands."""
        code = bytearray(placed.method.code or b"")
        at = 0
        if placed.method.handlers:
            refuse(f"{placed.title}: the interpreter does not support exceptions")
        while at < len(code):
            opcode = code[at]
            if opcode not in _LENGTHS:
                refuse(f"{placed.title}, offset {at}: the interpreter has no opcode {opcode}")
            self._rewrite(code, at, file, placed)
            at += _LENGTHS[opcode]
        return bytes(code)

    def _rewrite(  # noqa: C901  (a case for each kind of operand)
        self, code: bytearray, at: int, file: ClassFile, placed: PlacedMethod
    ) -> None:
        """Rewrite the operand of the instruction at an offset in the code."""
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
            java_class = self._class_of(file.class_name(index), location)
            operand = java_class.number
            if (
                opcode == _NEW
                and java_class.file.name != placed.owner
                and self.initialiser(java_class.file.name)
            ):
                code[at] = _NEW_INITIALISED
        elif opcode == _ANEWARRAY:
            operand = 0
        if operand is not None:
            code[at + 1 : at + 3] = operand.to_bytes(2, "big")

    def _class_of(self, name: str, location: str) -> Class:
        java_class = self.classes.get(name)
        if java_class is None or java_class.file.flags & ACC_INTERFACE:
            refuse(f"{location}: {name} is not a class of the jar")
        return java_class

    def _refuse_first_use(self, owner: str, placed: PlacedMethod, location: str) -> None:
        """Refuse a static access that may be the first use of a class with an initialiser."""
        if owner != placed.owner and self.initialiser(owner):
            refuse(
                f"{location}: {owner} has an initialiser, which the interpreter runs only where an "
                "object of the class is created"
            )

    def image(self, size: int) -> bytes:
        """Return the image: the bytecode of the recorded methods, padded with 0xFF to `size`."""
        data = bytearray(b"\xff" * size)
        for method in self.by_number:
            if method.offset != _NOWHERE:
                code = self.specialize(method, self.classes[method.owner].file)
                data[method.offset : method.offset + len(code)] = code
        return bytes(data)

    def method(self, java_class: Class, key: tuple[str, str]) -> PlacedMethod | None:
        """Return the virtual method with this key that is called on a class's objects."""
        return next((method for method in java_class.vtable if method.key == key), None)

    def header(self, image_bytes: int) -> str:
        """Return program.h. Call `image` before, because it numbers selectors and constants."""
        vtables: list[int] = []
        itable: list[tuple[int, int]] = []
        classes = []
        for java_class in self.classes.values():
            interface_methods = [
                (number, method.number)
                for key, number in self.selectors.items()
                if (method := self.method(java_class, key))
                and not java_class.file.flags & (ACC_ABSTRACT | ACC_INTERFACE)
            ]
            superclass = java_class.superclass.number if java_class.superclass else 255
            initialiser = self.initialiser(java_class.file.name)
            run_first = initialiser.number if initialiser else 0xFFFF
            classes.append(
                f"{{{superclass}, {java_class.object_bytes}, {len(interface_methods)}, "
                f"{len(vtables)}, {len(itable)}, {run_first}}}, /* {java_class.file.name} */"
            )
            vtables += [each.number for each in java_class.vtable]
            itable += interface_methods
        methods = []
        for each in self.by_number:
            room = each.method.max_locals - each.arguments + 1 + each.method.max_stack
            methods.append(
                f"{{{each.offset}, {each.arguments}, {each.method.max_locals}, {room}}}, "
                f"/* {each.title} */"
            )
        for number, native in enumerate(NATIVES):
            arguments = slots(native.descriptor) + (native.name == "<init>")
            title = trace_name(native.owner, native.name, native.descriptor)
            methods.append(f"{{{_NATIVE + number}, {arguments}, {arguments}, 0}}, /* {title} */")
        selectors = [slots(key[1]) + 1 for key in self.selectors]
        lines = [
            "/* The program's tables, generated by specialize.py. Do not edit. */",
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
                "struct program_interface_method",
                "program_interface_methods",
                [f"{{{selector}, {method}}}," for selector, method in itable],
            ),
            *_table(
                "uint8_t", "program_selector_arguments", [f"{selector}," for selector in selectors]
            ),
            *_table("int32_t", "program_constants", [f"INT32_C({v})," for v in self.constants]),
            "#endif",
        ]
        return "\n".join(lines) + "\n"

    def _names(self) -> Iterator[str]:
        """Yield macros with the numbers of classes and methods and the offsets of fields."""
        for java_class in self.classes.values():
            class_name = _identifier(java_class.file.name)
            yield f"#define CLASS_{class_name} {java_class.number}"
            for (name, _), offset in java_class.field_offsets.items():
                yield f"#define FIELD_{class_name}_{_identifier(name)} {offset}"
        for method in self.by_number:
            title = _identifier(method.title.replace("<", "").replace(">", "")).rstrip("_")
            yield f"#define METHOD_{title} {method.number}"


def _identifier(name: str) -> str:
    return re.sub(r"\W+", "_", name)


def _table(kind: str, name: str, rows: Sequence[str]) -> list[str]:
    """Return the lines of an array in C. If there are no rows, it has a row of zeros."""
    body = rows or ["{0},"] if kind.startswith("struct") else rows or ["0,"]
    return [f"static const {kind} {name}[] PROGRAM_MEMORY = {{", *(f"    {r}" for r in body), "};"]


def specialize(jar: Path, recorded: Path, folder: Path) -> None:
    """Write image.bin and program.h.

    Args:
        jar: the program.
        recorded: its trace.
        folder: the folder to write to, created if it does not exist.

    Raises:
        ValueError: if the interpreter does not support the program, or the trace is of another.

    """
    info = Trace.open(recorded).info
    if info.architecture != "jvm" or len(info.images) != 1:
        refuse(f"{recorded} is not a trace of Java bytecode")
    [image] = info.images
    offsets = {symbol.name: (symbol.offset, symbol.bytes) for symbol in image.symbols}
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
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("jar", type=Path)
    parser.add_argument("trace", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    arguments = parser.parse_args()
    try:
        specialize(arguments.jar, arguments.trace, arguments.output)
    except (ValueError, OSError, zipfile.BadZipFile, FlashpagerError) as error:
        sys.stderr.write(f"specialize.py: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
