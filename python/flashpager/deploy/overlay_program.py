"""The functions of a program that is to be paged: what refers to what, and what cannot be paged."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto

from flashpager.deploy.overlay_code import (
    BranchKind,
    branches,
    called_last,
    ends,
    long_target,
    own_address_uses,
    reads_ip_first,
    returns,
)
from flashpager.deploy.overlay_elf import LinkedProgram, Relocation, Section

#: Types of relocations.
_NONE, _ABS32, _REL32, _CALL, _TARGET1, _V4BX = 0, 2, 3, 10, 38, 40
_JUMP24, _MOVW, _MOVT = 30, 47, 48
_JUMP19, _JUMP6, _JUMP11, _JUMP8 = 51, 52, 102, 103
#: Functions that save the place to come back to, or go back there.
_LONG_JUMPS = frozenset(
    ("setjmp", "longjmp", "_setjmp", "_longjmp", "sigsetjmp", "siglongjmp", "__sigsetjmp")
)
#: Bytes of the first two vectors: the stack, and the program's entry.
_FIRST_VECTORS = 8
#: Bytes up to which a function is aligned behind another one.
_ALIGNMENT = 16
#: Symbols of a linker's veneers to functions that are too far away.
VENEERS = re.compile(r"__.*_veneer|__Thumb.*Thunk_.*")
#: The functions of C++ exceptions.
_UNWINDERS = frozenset(("_Unwind_RaiseException", "__cxa_throw", "_Unwind_Resume"))


@dataclass(eq=False)
class Function:
    """A function, with all symbols that share bytes with it."""

    names: list[str]
    start: int
    end: int
    section: Section
    #: False if its symbol has no size: then it ends where the next one begins.
    is_sized: bool

    @property
    def name(self) -> str:
        """The name of the longest symbol that begins first."""
        return self.names[0]

    @property
    def bytes(self) -> int:
        """Its bytes, rounded up to 4."""
        return self.end - self.start + 3 & ~3


class ReferenceKind(Enum):
    """The kinds of references to functions."""

    #: ``bl``.
    CALL = auto()
    #: ``b.w``.
    JUMP = auto()
    #: A word that holds the address.
    WORD = auto()
    #: The lower half of the address in an instruction, and the upper half.
    LOW = auto()
    HIGH = auto()
    #: Another branch to a fixed address: it cannot be redirected, and keeps no address.
    SHORT = auto()
    #: Something else, which cannot be redirected.
    OTHER = auto()

    @property
    def is_address(self) -> bool:
        """True if the program gets the address, and may keep it."""
        return self in (ReferenceKind.WORD, ReferenceKind.LOW, ReferenceKind.HIGH)

    @property
    def is_fixed(self) -> bool:
        """True if it cannot be redirected."""
        return self in (ReferenceKind.SHORT, ReferenceKind.OTHER)


@dataclass(frozen=True)
class Reference:
    """A place in the program that refers to a function."""

    address: int
    kind: ReferenceKind
    #: The address that it refers to.
    target: int
    to: Function
    #: The function that holds it; None for data.
    by: Function | None
    #: True if it names a function, and not a place by its address.
    is_named: bool = False


_KINDS = {
    _ABS32: ReferenceKind.WORD,
    _TARGET1: ReferenceKind.WORD,
    _CALL: ReferenceKind.CALL,
    _JUMP24: ReferenceKind.JUMP,
    _MOVW: ReferenceKind.LOW,
    _MOVT: ReferenceKind.HIGH,
    _JUMP19: ReferenceKind.SHORT,
    _JUMP6: ReferenceKind.SHORT,
    _JUMP11: ReferenceKind.SHORT,
    _JUMP8: ReferenceKind.SHORT,
}
#: Sections with pointers to functions that run before ``main``.
_CONSTRUCTOR_SECTIONS = (".preinit_array", ".init_array")
#: Symbols around such pointers, if they lie in another section.
_CONSTRUCTOR_RANGES = (
    ("__preinit_array_start", "__preinit_array_end"),
    ("__init_array_start", "__init_array_end"),
)
_CONSTRUCTORS = "init_array"


class OverlayProgram:
    """A linked program as functions and references between them."""

    def __init__(self, program: LinkedProgram) -> None:
        """Find the functions of a program and all references to them."""
        self.program = program
        self.functions = _functions(program)
        self._starts = [function.start for function in self.functions]
        self.references: list[Reference] = []
        self._related: set[int] = set()
        self._other: list[Relocation] = []
        for relocation in program.relocations:
            self._add(relocation)
        self.branches = {
            function: list(branches(program, function.start, function.end))
            for function in self.functions
        }
        self._add_fixed()
        self._referring = {reference.address for reference in self.references}
        self.calls: dict[Function, list[Reference]] = {}
        for reference in self.references:
            if reference.by is not None:
                self.calls.setdefault(reference.by, []).append(reference)

    def at(self, address: int) -> Function | None:
        """Return the function that holds an address."""
        index = bisect_right(self._starts, address) - 1
        found = self.functions[index] if index >= 0 else None
        return found if found is not None and address < found.end else None

    def long_jumps(self) -> list[str]:
        """Return the names of functions that leave others without a return."""
        names = {name for function in self.functions for name in function.names}
        return sorted(names & (_LONG_JUMPS | _UNWINDERS))

    def named(self, name: str) -> list[Function]:
        """Return the functions of a name."""
        return [function for function in self.functions if name in function.names]

    def entry(self) -> Function | None:
        """Return the function that the program begins with."""
        return self.at(self.program.entry & ~1)

    def handlers(self) -> list[Function]:
        """Return the functions that a table of vectors names, but for the program's entry."""
        program = self.program
        at = self.vectors()
        if at is None:
            return []
        section = program.section_at(at)
        assert section is not None  # noqa: S101  (its first word was read)
        found: dict[Function, None] = {}
        for place in range(at + 8, min(section.end - 3, at + 4 * 512), 4):
            word = program.word(place)
            handler = self.at(word & ~1) if word & 1 else None
            if handler is not None:
                found[handler] = None
            elif self.at(place) is not None:
                break
        entry = self.entry()
        return [function for function in found if function is not entry]

    def is_open(self, function: Function) -> bool:
        """Return True if a function has a branch whose target is not known."""
        branches_ = self.branches[function]
        is_indirect = any(each.kind is BranchKind.INDIRECT for each in branches_)
        return is_indirect or any(True for _ in self.leaves(function))

    def unclear_handlers(self) -> list[tuple[Function, Function]]:
        """Return handlers that may go anywhere, each with the function that has such a branch."""
        return [
            (handler, function)
            for handler in self.handlers()
            for function in self.reached([handler])
            if self.is_open(function)
        ]

    def vectors(self) -> int | None:
        """Return the address of the table of vectors; None if there is none."""
        for section in self.program.sections:
            if section.offset is None or section.size < _FIRST_VECTORS:
                continue
            if self.program.word(section.address + 4) == self.program.entry | 1:
                return section.address
        return None

    def constructor_words(self) -> frozenset[int]:
        """Return the addresses of pointers to functions that run before ``main``."""
        program = self.program
        ranges = [
            (each.address, each.end)
            for each in program.sections
            if each.name.startswith(_CONSTRUCTOR_SECTIONS)
        ]
        for first, last in _CONSTRUCTOR_RANGES:
            start, end = program.symbol(first), program.symbol(last)
            if start is not None and end is not None:
                ranges.append((start.value, end.value))
        return frozenset(
            reference.address
            for reference in self.references
            if reference.kind is ReferenceKind.WORD
            and any(start <= reference.address < end for start, end in ranges)
        )

    def constructors(self) -> list[Function]:
        """Return the functions that run before ``main``, by pointers of the linker."""
        words = self.constructor_words()
        return list(dict.fromkeys(r.to for r in self.references if r.address in words))

    def runs_constructors(self) -> list[Function]:
        """Return the functions that read the pointers to constructors."""
        found = (
            self.at(relocation.address)
            for relocation in self.program.relocations
            if relocation.symbol is not None and _CONSTRUCTORS in relocation.symbol.name
        )
        return list(dict.fromkeys(function for function in found if function is not None))

    def runs_on(self, function: Function) -> bool:
        """Return True if a function may run on behind its end."""
        program, start, end = self.program, function.start, function.end
        if ends(program, start, end):
            return False
        target = called_last(program, start, end)
        called = None if target is None else self.at(target)
        # A compiler ends a function with a call only if that never returns.
        return called is None or self._may_return(called)

    def _may_return(self, function: Function) -> bool:
        """Return True if a function, or one that it jumps to, may return."""
        program, found = self.program, [function]
        for each in found:
            if returns(program, each.start, each.end) or any(True for _ in self.leaves(each)):
                return True
            is_known = ends(program, each.start, each.end)
            if not is_known and called_last(program, each.start, each.end) is None:
                return True
            jumps = (ReferenceKind.JUMP, ReferenceKind.SHORT)
            targets = [r.to for r in self.calls.get(each, ()) if r.kind in jumps]
            found += [to for to in dict.fromkeys(targets) if to not in found]
        return False

    def before(self, function: Function) -> Function | None:
        """Return the function that ends where another one begins, but for what aligns it."""
        index = bisect_right(self._starts, function.start) - 2
        found = self.functions[index] if index >= 0 else None
        if found is None or found.section is not function.section:
            return None
        return found if function.start - found.end < _ALIGNMENT else None

    def leaves(self, function: Function) -> Iterable[int]:
        """Yield the branches of a function to somewhere outside of all functions."""
        for branch in self.branches[function]:
            is_inside = branch.target is None or function.start <= branch.target < function.end
            if not is_inside and branch.address not in self._referring:
                yield branch.address

    def relative(self, function: Function) -> Iterable[Relocation]:
        """Yield the relocations in a function that depend on its own address."""
        return (each for each in self._other if function.start <= each.address < function.end)

    def reached(self, roots: Iterable[Function]) -> dict[Function, Function | None]:
        """Return all that functions reach by direct calls and jumps, each with a caller."""
        found: dict[Function, Function | None] = dict.fromkeys(roots)
        open_ = list(found)
        while open_:
            by = open_.pop()
            for reference in self.calls.get(by, ()):
                if reference.kind is ReferenceKind.WORD or reference.to in found:
                    continue
                found[reference.to] = by
                open_.append(reference.to)
        return found

    def may_reach(self, wanted: Callable[[Function], bool]) -> set[Function]:
        """Return the functions that may come to wanted ones, if any indirect branch may do so."""
        callers: dict[Function, set[Function]] = {}
        for by, references in self.calls.items():
            for reference in references:
                callers.setdefault(reference.to, set()).add(by)
        found = {
            function for function in self.functions if wanted(function) or self.is_open(function)
        }
        open_ = list(found)
        while open_:
            for by in callers.get(open_.pop(), ()):
                if by not in found:
                    found.add(by)
                    open_.append(by)
        return found

    def _add(self, relocation: Relocation) -> None:
        """Add the reference that a relocation stands for, if it is to a function."""
        program, address = self.program, relocation.address
        symbol, kind = relocation.symbol, relocation.type
        if kind in (_NONE, _V4BX) or symbol is None:
            return
        self._related.add(address)
        if _KINDS.get(kind, ReferenceKind.OTHER).is_fixed:
            self._other.append(relocation)
        if kind in (_ABS32, _TARGET1):
            target = program.word(address) & ~1
        elif symbol.is_function:
            target = symbol.address
        elif kind in (_CALL, _JUMP24):
            target = long_target(address, program.half(address), program.half(address + 2))
        elif kind == _REL32:
            target = address + program.word(address) & 0xFFFFFFFF
        else:
            target = symbol.address
        to = self.at(target)
        if to is None:
            return
        usual = ReferenceKind.OTHER
        self.references.append(
            Reference(
                address,
                _KINDS.get(kind, usual),
                target,
                to,
                self.at(address),
                is_named=symbol.is_function and target == symbol.address,
            )
        )

    def _add_fixed(self) -> None:
        """Add what no relocation names: branches to other functions, and calls by itself."""
        kinds = {
            BranchKind.CALL: ReferenceKind.CALL,
            BranchKind.JUMP: ReferenceKind.JUMP,
            BranchKind.SHORT: ReferenceKind.SHORT,
        }
        for function, found in self.branches.items():
            for branch in found:
                if branch.target is None or branch.address in self._related:
                    continue
                to = self.at(branch.target)
                if to is None or (to is function and branch.kind is not BranchKind.CALL):
                    continue
                reference = Reference(
                    branch.address, kinds[branch.kind], branch.target, to, function
                )
                self.references.append(reference)


def _functions(program: LinkedProgram) -> list[Function]:
    """Return the functions in the order of their addresses; symbols that overlap are one."""
    named = [
        symbol
        for symbol in program.symbols
        if symbol.is_function
        and not VENEERS.fullmatch(symbol.name)
        and program.section_at(symbol.address)
    ]
    named.sort(key=lambda symbol: (symbol.address, -symbol.size, symbol.name))
    found: list[Function] = []
    for symbol, following in zip(named, [*named[1:], None], strict=True):
        section = program.section_at(symbol.address)
        assert section is not None  # noqa: S101  (it was selected by that)
        limit = section.end if following is None else min(section.end, following.address)
        end = symbol.address + symbol.size if symbol.size else max(limit, symbol.address + 2)
        last = found[-1] if found else None
        if last is not None and symbol.address < last.end:
            last.end = max(last.end, end) if symbol.size else last.end
            last.names.append(symbol.name)
        elif section.is_code or program.is_code(symbol.address):
            found.append(Function([symbol.name], symbol.address, end, section, bool(symbol.size)))
    return found


@dataclass(frozen=True)
class Obstacle:
    """A reason why a function cannot be paged."""

    function: Function
    reason: str
    remedy: str

    def __str__(self) -> str:
        """Return the line of a message."""
        remedy = self.remedy and f"; to page it, {self.remedy}"
        return f"{self.function.name}: {self.reason}{remedy}"


def obstacles(whole: OverlayProgram, function: Function) -> list[Obstacle]:
    """Return what keeps a function from being paged, apart from who calls it."""
    reasons = [
        *_own_reasons(whole, function),
        *_outer_reasons(whole, function),
        *_code_reasons(whole, function),
    ]
    return [Obstacle(function, *each) for each in dict.fromkeys(reasons)]


def _own_reasons(whole: OverlayProgram, function: Function) -> Iterable[tuple[str, str]]:
    """Yield reasons in what a function is, and in what it refers to."""
    if not function.is_sized:
        yield "its symbol has no size", "give it a .size"
    if function.bytes > _MOST_BYTES:
        yield f"it has {function.bytes:,} bytes, and a function at most {_MOST_BYTES:,}", ""
    if _PART in function.name:
        yield "it is a part of another function", _ONE_PIECE
    for reference in whole.calls.get(function, ()):
        to = reference.to
        if to is function and reference.target != function.start:
            yield f"it holds an address inside itself, at {reference.address:#x}", _TABLES
        elif reference.kind.is_fixed:
            yield f"it refers to {to.name} in a way that cannot be redirected", ""
        if _PART in to.name:
            yield f"{to.name} is a part of it", _ONE_PIECE


def _outer_reasons(whole: OverlayProgram, function: Function) -> Iterable[tuple[str, str]]:
    """Yield reasons in how others refer to a function."""
    for reference in whole.references:
        if reference.to is not function or reference.by is function:
            continue
        by = reference.by.name if reference.by else "data"
        if reference.target != function.start:
            why = _TABLES if reference.by is None else _ONE_PIECE
            yield f"{by} goes into the middle of it, at {reference.address:#x}", why
        elif reference.kind.is_fixed:
            yield f"{by} refers to it in a way that cannot be redirected", ""


def _code_reasons(whole: OverlayProgram, function: Function) -> Iterable[tuple[str, str]]:
    """Yield reasons in the instructions of a function."""
    program, start, end = whole.program, function.start, function.end
    for address, target in own_address_uses(program, start, end):
        if not start <= target < end:
            yield f"the instruction at {address:#x} reads behind its end", ""
        elif start % 4:
            yield f"it reads its own constants, but begins at {start:#x}", "align it to 4"
    if reads_ip_first(program, start, end):
        yield "it is nested in another function: it begins by reading ip", ""
    if whole.runs_on(function):
        yield "it runs on behind its end, into the next function", ""
    before = whole.before(function)
    if before is not None and whole.runs_on(before):
        yield f"{before.name} runs on into it", ""
    for address in whole.leaves(function):
        yield f"the branch at {address:#x} goes to no function", ""
    for relocation in whole.relative(function):
        where = f"{relocation.address:#x} (relocation {relocation.type})"
        yield f"it depends on its own address at {where}", "compile without -fpic"


#: The largest function: offsets in it have 16 bits.
_MOST_BYTES = 65532
#: The mark in the name of a part of a function that is seldom executed.
_PART = ".cold"
_TABLES = "compile its file with -fno-jump-tables and without computed goto"
_ONE_PIECE = "compile its file with -fno-reorder-blocks-and-partition"
