"""The plan of an overlay: which functions are paged, their slots, and where they are linked."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flashpager._engine import FlashpagerError
from flashpager.deploy.overlay_code import reads_ip_first
from flashpager.deploy.overlay_elf import LinkedProgram
from flashpager.deploy.overlay_program import (
    Function,
    Obstacle,
    OverlayProgram,
    Reference,
    ReferenceKind,
    obstacles,
)

#: The policies of the engine in C.
POLICIES = ("lru-run", "fifo-ring")
#: The section of the second link that holds the paged functions.
PAGED_SECTION = ".overlay_paged"
#: Every so many slots begin with two jumps to the engine: ``HUB_SLOTS`` of overlay.c.
HUB_SLOTS, _HUBS = 250, 2
#: The largest heap: offsets in it are 15 bits, in words.
_MOST_HEAP_BYTES = 131068
#: Names of the engine's functions, which stay resident with all that they call.
ENGINE = "fp_overlay_"
#: The engine's functions in assembly, whose addresses the engine itself needs.
ENGINE_ENTRIES = ("fp_overlay_enter", "fp_overlay_gate", "fp_overlay_return")
#: The engine's function that the program calls before any paged one.
_START = "fp_overlay_start"
#: Slots and veneers that the second link may need beside those of the first one.
_SPARE = 4
#: Distance of a call, and the steps of the address of the paged functions.
_REACH, _STEP = 1 << 24, 1 << 20


@dataclass(frozen=True)
class Slots:
    """The addresses that have slots in RAM: by number, from 2 on."""

    numbers: Mapping[int, int]
    #: Addresses of resident functions that may come to paged code.
    gates: frozenset[int]
    #: Number of slots, hubs and slot 0 included.
    count: int


def usable(program: OverlayProgram, closed: Collection[str]) -> None:
    """Refuse a program that was not linked for an overlay, or cannot have one.

    Args:
        program: the program.
        closed: names of functions whose pointers never lead to paged code.

    Raises:
        FlashpagerError: if relocations or symbols are missing, it has no entry, or its calls do not
            return or may come from handlers.

    """
    path = program.program.path
    if not program.functions:
        message = f"{path}: has no symbols of functions; link without -s"
        raise FlashpagerError(message)
    if not program.program.relocations:
        message = f"{path}: has no relocations; link with -Wl,--emit-relocs"
        raise FlashpagerError(message)
    _refuse_unknown(program)
    for handler, function in program.unclear_handlers():
        if not set(function.names) & set(closed):
            within = "" if function is handler else f" in {function.name}"
            message = (
                f"{path}: the interrupt handler {handler.name} calls through a pointer{within}, "
                f"and a handler must not come to paged code; if it never does, "
                f"--closed {function.name}"
            )
            raise FlashpagerError(message)
    if jumps := program.long_jumps():
        message = (
            f"{path}: calls {' and '.join(jumps)}, which leave functions without a return, and the "
            "engine keeps the returns; do without them"
        )
        raise FlashpagerError(message)
    if program.entry() is None:
        message = f"{path}: no function begins at its entry, {program.program.entry:#x}"
        raise FlashpagerError(message)


def _refuse_unknown(program: OverlayProgram) -> None:
    """Refuse a program of which too little is known.

    Raises:
        FlashpagerError: if code, handlers or registers of calls are not known.

    """
    path = program.program.path
    if not program.program.mapping:
        message = (
            f"{path}: has no mapping symbols ($t, $d), which tell code from constants; link "
            "without -x, and strip later"
        )
        raise FlashpagerError(message)
    if program.program.is_hard_float:
        message = (
            f"{path}: passes numbers in registers for floating point, which the engine does not "
            "keep; compile with -mfloat-abi=soft or softfp"
        )
        raise FlashpagerError(message)
    if program.entry() is not None and program.vectors() is None:
        message = (
            f"{path}: no section begins with a table of vectors whose reset is the entry, "
            f"{program.program.entry:#x}, so interrupt handlers are not known; link with "
            "-Wl,-e,NAME of the reset handler"
        )
        raise FlashpagerError(message)


def must_stay(program: OverlayProgram) -> dict[Function, str]:
    """Return the functions that cannot be paged because of who runs them, each with the reason."""
    entry = program.entry()
    reasons: dict[Function, str] = {} if entry is None else {entry: "the program begins with it"}
    handlers = program.handlers()
    for function, by in program.reached(handlers).items():
        reasons.setdefault(
            function,
            "it is an interrupt handler"
            if by is None
            else f"the interrupt handler's {by.name} calls it",
        )
    for function, by in program.reached(program.constructors()).items():
        reasons.setdefault(
            function,
            "a constructor runs before the engine starts"
            if by is None
            else f"the constructors' {by.name} calls it before the engine starts",
        )
    for function in program.runs_constructors():
        reasons.setdefault(function, "it runs constructors before the engine starts")
    engine = [each for each in program.functions if each.name.startswith(ENGINE)]
    for function, by in program.reached(engine).items():
        reasons.setdefault(
            function, "it is the engine" if by is None else f"the engine's {by.name} calls it"
        )
    return reasons


def choose_paged(
    program: OverlayProgram, resident: Collection[str]
) -> tuple[list[Function], list[Obstacle]]:
    """Return the functions to page, and those that stay though nobody named them.

    Args:
        program: the program as it was linked first.
        resident: names of functions that stay.

    Raises:
        FlashpagerError: if a name is unknown, or nothing is left to be paged.

    """
    for name in resident:
        if not program.named(name):
            message = f"--resident {name}: {program.program.path} has no such function"
            raise FlashpagerError(message)
    stays = must_stay(program)
    entry = program.entry()
    home = entry.section if entry else None
    paged, kept = [], []
    for function in program.functions:
        if function is entry or function.section is not home or set(function.names) & set(resident):
            continue
        reason = stays.get(function)
        found = [Obstacle(function, reason, "")] if reason else obstacles(program, function)
        kept += found[:1]
        if not found:
            paged.append(function)
    if not paged:
        message = f"{program.program.path}: no function is left to be paged"
        raise FlashpagerError(message)
    return paged, kept


def called_early(
    program: OverlayProgram, paged: Collection[Function]
) -> tuple[Function, Function] | None:
    """Return a paged function that runs before the engine starts, and the function that calls it.

    Only direct calls are followed, from the program's entry to ``fp_overlay_start()``.

    Raises:
        FlashpagerError: if there are none that lead there.

    """
    entry = program.entry()
    start = next(iter(program.named(_START)), None)
    callers = {} if entry is None else program.reached([entry])
    if start is None or start not in callers:
        message = (
            f"{program.program.path}: no direct call leads from the entry to fp_overlay_start(), "
            "so what runs before it is not known; call it in the reset handler, or in main"
        )
        raise FlashpagerError(message)
    by = callers[start]
    to = start
    while by is not None:
        if by in paged:
            return by, by
        sites = [site for site in program.calls[by] if site.kind is not ReferenceKind.WORD]
        last = min(site.address for site in sites if site.to is to)
        before = [site.to for site in sites if site.address < last and site.to is not by]
        early = next((each for each in program.reached(before) if each in paged), None)
        if early is not None:
            return early, by
        to, by = by, callers[by]
    return None


def slots_of(program: OverlayProgram, paged: Iterable[Function]) -> Slots:
    """Give slots to the paged functions, and to resident ones that paged code calls.

    Raises:
        FlashpagerError: if one of these would need ``ip``, or its address cannot be redirected.

    """
    ordered = list(paged)
    is_paged = set(ordered)
    may_reach = program.may_reach(lambda function: function in is_paged)
    entry = program.entry()
    others: dict[int, bool] = {}
    kept = kept_words(program)
    for reference in program.references:
        to = reference.to
        if to in is_paged or to.name in ENGINE_ENTRIES:
            continue
        is_call = reference.kind in (ReferenceKind.CALL, ReferenceKind.JUMP)
        if to is entry and not (is_call and reference.by in is_paged):
            continue
        if to in may_reach and reference.by is not to:
            _refuse_other(program, reference)
        is_pointer = (
            reference.kind.is_address
            and reference.is_named
            and to in may_reach
            and reference.address not in kept
        )
        if is_pointer or (is_call and reference.by in is_paged):
            others[reference.target] = to in may_reach
    number, numbers = _HUBS - 1, {}
    for address in [*(function.start for function in ordered), *sorted(others)]:
        number += 1
        if number % HUB_SLOTS == 0:
            number += _HUBS
        numbers[address] = number
    gates = frozenset(address for address, is_gate in others.items() if is_gate)
    for address in gates:
        gated = program.at(address)
        if gated and reads_ip_first(program.program, gated.start, gated.end):
            message = (
                f"{program.program.path}: {gated.name} is nested in another function and may come "
                "to paged code, and the engine needs ip, by which it finds the frame around it; "
                "move it out of that function"
            )
            raise FlashpagerError(message)
    return Slots(numbers, gates, number + 1)


def _refuse_other(program: OverlayProgram, reference: Reference) -> None:
    """Refuse a reference to a function that needs a gate, if it cannot be redirected.

    Raises:
        FlashpagerError: if it is one; tables for unwinding are not, as no code is called by them.

    """
    section = program.program.section_at(reference.address)
    is_unwinding = section is not None and section.name.startswith(".ARM.ex")
    if reference.kind is not ReferenceKind.OTHER or is_unwinding:
        return
    by = reference.by.name if reference.by else "data"
    message = (
        f"{program.program.path}: {by} refers to {reference.to.name} in a way that cannot be "
        f"redirected, at {reference.address:#x}, and {reference.to.name} may come to paged code; "
        "compile its file without -fpic"
    )
    raise FlashpagerError(message)


def kept_words(program: OverlayProgram) -> frozenset[int]:
    """Return the addresses of words that must hold real addresses: of vectors and constructors."""
    constructors = program.constructor_words()
    at = program.vectors()
    if at is None:
        return constructors
    names = set(program.handlers()) | {program.entry()}
    words = (r for r in program.references if r.kind is ReferenceKind.WORD and r.by is None)
    vectors = (r.address for r in words if r.to in names and at <= r.address < at + 4 * 512)
    return constructors.union(vectors)


def veneer_targets(program: OverlayProgram, paged: Collection[Function]) -> list[Function]:
    """Return the paged functions that resident code calls directly."""
    found = {
        reference.to: None
        for reference in program.references
        if reference.to in paged
        and reference.by not in paged
        and reference.kind in (ReferenceKind.CALL, ReferenceKind.JUMP)
    }
    return sorted(found, key=lambda function: function.start)


def too_large(paged: Iterable[Function], heap_bytes: int) -> Function | None:
    """Return the largest function if a heap does not hold it."""
    largest = max(paged, key=lambda function: function.bytes)
    return largest if largest.bytes > heap_bytes else None


@dataclass(frozen=True)
class OverlayDesign:
    """The choices that the engine is compiled with."""

    policy: str
    heap_bytes: int
    slots: int
    veneers: int
    depth: int

    @classmethod
    def of(
        cls, program: OverlayProgram, paged: Sequence[Function], policy: str, heap: int, depth: int
    ) -> "OverlayDesign":
        """Return the design for functions to page.

        Raises:
            FlashpagerError: if one does not fit into the heap.

        """
        heap_bytes = heap & ~3
        if heap_bytes > _MOST_HEAP_BYTES:
            message = f"--ram: the engine has a heap of up to {_MOST_HEAP_BYTES:,} bytes"
            raise FlashpagerError(message)
        if large := too_large(paged, heap_bytes):
            message = (
                f"{large.name} has {large.bytes:,} bytes, and the heap {heap_bytes:,}: take a "
                f"larger --ram, or --resident {large.name}"
            )
            raise FlashpagerError(message)
        slots = slots_of(program, paged).count + _SPARE
        veneers = len(veneer_targets(program, set(paged))) + _SPARE
        return cls(policy, heap_bytes, slots, veneers, depth)

    @property
    def table_bytes(self) -> int:
        """RAM of slots and lists."""
        return 10 * self.slots

    def header(self, sentence: str) -> str:
        """Return ``fp_overlay_design.h``."""
        policy = self.policy.upper().replace("-", "_")
        return (
            f"/* {sentence} */\n"
            f"#define FP_OVERLAY_POLICY FP_OVERLAY_{policy}\n"
            f"#define FP_OVERLAY_HEAP_BYTES {self.heap_bytes}\n"
            f"#define FP_OVERLAY_SLOTS {self.slots}\n"
            f"#define FP_OVERLAY_VENEERS {self.veneers}\n"
            f"#define FP_OVERLAY_DEPTH {self.depth}\n"
        )


def linker_fragment(program: LinkedProgram, paged: Sequence[Function]) -> str:
    """Return the script that links the paged functions away from the memory of the device."""
    home = paged[0].section
    near = [s.end for s in program.sections if home.address <= s.address < home.address + _REACH]
    origin = max(near) + 4 * _STEP & ~(_STEP - 1)
    lines = [
        "/* Functions that are paged: they are linked here, and run in the heap of the overlay. */",
        "EXTERN(fp_overlay_veneers fp_overlay_policy)",
        f"MEMORY {{ FP_OVERLAY (rx) : ORIGIN = {origin:#x}, LENGTH = 8M }}",
        "SECTIONS",
        "{",
        f"    {PAGED_SECTION} : {{",
    ]
    for function in paged:
        sections = " ".join(f".text.{each} .text.*.{each}" for each in function.names)
        lines.append(f"        *({sections})")
    lines += ["    } > FP_OVERLAY", "}", f"INSERT BEFORE {home.name};", ""]
    return "\n".join(lines)
