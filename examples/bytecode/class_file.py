"""Reader of the parts of Java class files that the specializer needs (JVMS 17, chapter 4)."""

import struct
from dataclasses import dataclass

#: Flags of classes, fields and methods.
ACC_PUBLIC, ACC_PRIVATE, ACC_PROTECTED, ACC_STATIC, ACC_FINAL = 0x1, 0x2, 0x4, 0x8, 0x10
ACC_INTERFACE, ACC_ABSTRACT = 0x200, 0x400
_MAGIC = 0xCAFEBABE
_UTF8, _INTEGER, _LONG, _DOUBLE, _CLASS, _NAME_AND_TYPE = 1, 3, 5, 6, 7, 12
_MEMBERS = (9, 10, 11)
#: Sizes in bytes of the other constants, by tag.
_SIZES = {3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4}


@dataclass(frozen=True)
class Member:
    """The full name of a field or method."""

    #: The class, with slashes between packages.
    owner: str
    name: str
    descriptor: str


@dataclass(frozen=True)
class Field:
    """A field that a class declares."""

    name: str
    descriptor: str
    flags: int
    #: True if the class file gives its value, which compilers then put in place of the field.
    is_constant: bool


@dataclass(frozen=True)
class Method:
    """A method that a class declares."""

    name: str
    descriptor: str
    flags: int
    #: None for a native or abstract method.
    code: bytes | None
    #: Size of the operand stack, in slots.
    max_stack: int
    #: Size of the locals, with the arguments, in slots.
    max_locals: int
    #: Number of exception handlers.
    handlers: int


class ClassFile:
    """A class file, parsed."""

    def __init__(self, data: bytes, name: str) -> None:
        """Parse a class file.

        Args:
            data: the content of the file.
            name: the file's name, for the error.

        Raises:
            ValueError: if the data are not those of a class file.

        """
        self._data, self._at = data, 0
        try:
            self._read()
        except (struct.error, IndexError, KeyError, TypeError) as error:
            message = f"{name} is not a class file, or is damaged"
            raise ValueError(message) from error

    def _take(self, form: str) -> int:
        """Read an unsigned number: I has 4 bytes, H 2, B 1."""
        value: int
        (value,) = struct.unpack_from(">" + form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def _bytes(self, count: int) -> bytes:
        if self._at + count > len(self._data):
            raise IndexError
        self._at += count
        return self._data[self._at - count : self._at]

    def _read(self) -> None:
        if self._take("I") != _MAGIC:
            raise KeyError
        self._take("I")
        self._read_constants()
        self.flags = self._take("H")
        self.name = self.class_name(self._take("H"))
        superclass = self._take("H")
        self.superclass = self.class_name(superclass) if superclass else None
        self.interfaces = [self.class_name(self._take("H")) for _ in range(self._take("H"))]
        self.fields = [self._field() for _ in range(self._take("H"))]
        self.methods = [self._method() for _ in range(self._take("H"))]

    def _read_constants(self) -> None:
        self._constants: dict[int, tuple[int, bytes]] = {}
        count, index = self._take("H"), 1
        while index < count:
            tag = self._take("B")
            size = self._take("H") if tag == _UTF8 else _SIZES[tag]
            self._constants[index] = (tag, self._bytes(size))
            index += 2 if tag in (_LONG, _DOUBLE) else 1

    def _numbers(self, index: int, *tags: int) -> tuple[int, ...]:
        """Return the numbers of 16 bits in a constant that has one of these tags."""
        tag, data = self._constants[index]
        if tag not in tags:
            raise KeyError(index)
        return struct.unpack(">" + "H" * (len(data) // 2), data)

    def _text(self, index: int) -> str:
        tag, data = self._constants[index]
        if tag != _UTF8:
            raise KeyError(index)
        return data.decode("utf-8", "surrogateescape")

    def class_name(self, index: int) -> str:
        """Return the name of the class in a constant, with slashes."""
        return self._text(self._numbers(index, _CLASS)[0])

    def member(self, index: int) -> Member:
        """Return the field or method that a constant refers to."""
        owner, pair = self._numbers(index, *_MEMBERS)
        name, descriptor = self._numbers(pair, _NAME_AND_TYPE)
        return Member(self.class_name(owner), self._text(name), self._text(descriptor))

    def integer(self, index: int) -> int | None:
        """Return the value of a constant, or None if it is not an int."""
        tag, data = self._constants[index]
        return int.from_bytes(data, "big", signed=True) if tag == _INTEGER else None

    def _attributes(self) -> dict[str, bytes]:
        contents = {}
        for _ in range(self._take("H")):
            name = self._text(self._take("H"))
            contents[name] = self._bytes(self._take("I"))
        return contents

    def _field(self) -> Field:
        flags, name, descriptor = (self._take("H") for _ in range(3))
        constant = "ConstantValue" in self._attributes()
        return Field(self._text(name), self._text(descriptor), flags, constant)

    def _method(self) -> Method:
        flags, name, descriptor = (self._take("H") for _ in range(3))
        code = self._attributes().get("Code")
        if code is None:
            return Method(self._text(name), self._text(descriptor), flags, None, 0, 0, 0)
        stack, local, size = struct.unpack_from(">HHI", code)
        (handlers,) = struct.unpack_from(">H", code, 8 + size)
        body = code[8 : 8 + size]
        return Method(self._text(name), self._text(descriptor), flags, body, stack, local, handlers)


#: Names of Java's primitive types, by their letter in descriptors.
_PRIMITIVES = {
    "B": "byte",
    "C": "char",
    "D": "double",
    "F": "float",
    "I": "int",
    "J": "long",
    "S": "short",
    "V": "void",
    "Z": "boolean",
}


def parameters(descriptor: str) -> list[str]:
    """Return the parameter types of a method's descriptor, each as a descriptor."""
    types, at = [], 1
    while descriptor[at] != ")":
        start = at
        while descriptor[at] == "[":
            at += 1
        at = descriptor.index(";", at) + 1 if descriptor[at] == "L" else at + 1
        types.append(descriptor[start:at])
    return types


def slots(descriptor: str) -> int:
    """Count the slots that a method's parameters take."""
    return sum(2 if parameter in ("J", "D") else 1 for parameter in parameters(descriptor))


def trace_name(owner: str, name: str, descriptor: str) -> str:
    """Return a method's name in a trace: ``com.acme.Foo.bar(int,byte[])``."""

    def type_name(descriptor_part: str) -> str:
        element = descriptor_part.lstrip("[")
        text = _PRIMITIVES.get(element) or element[1:-1].replace("/", ".")
        return text + "[]" * (len(descriptor_part) - len(element))

    types = ",".join(type_name(parameter) for parameter in parameters(descriptor))
    return f"{owner.replace('/', '.')}.{name}({types})"
