"""What a choice of units for RAM still reaches in flash: units and functions by their addresses."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, Linked, Pinning, Symbol, TraceInfo
from flashpager.base.quantities import counted
from flashpager.judge import reach as judging
from flashpager.record.addresses import linked_address, recorded_offset

#: Largest number of units that a line names.
_LISTED_UNITS = 3
#: Names that begin so are written otherwise once they are demangled.
_MANGLED = ("_Z", "_R")


def lines_of_choice(
    file: Path, pinning: Pinning, info: TraceInfo, linked: Linked | None, map_: Path | None
) -> list[str]:
    """Describe in a few lines what pinned units still reach in flash.

    The search is finished by then, so that nothing fails here: a line says what is not known.

    Args:
        file: the recorded program, an ELF file.
        pinning: the choice.
        info: the description of the recording.
        linked: the input sections of the link, if they are the units.
        map_: the map of the link.

    """
    try:
        addresses = (
            _recorded(pinning.pinned, info)
            if linked is None
            else _mapped(file, pinning.pinned, linked, map_)
        )
        lengths = {step.name: step.bytes for step in pinning.curve}
        ranges = {
            unit: f"{address:#x}+{max(lengths.get(unit, 1), 1)}"
            for unit, address in addresses.items()
        }
        if not ranges:
            return [_unknown(pinning.pinned)]
        report = judging.reached(file, [], pinned=list(ranges.values()))
    except FlashpagerError as error:
        return [f"what they reach in flash is not known: {error}"]
    root_names = {name.partition("@0x")[0] for name in report.roots}
    if linked is None:
        for unit in ranges:
            name = unit.partition("@0x")[0]
            if name and name not in root_names and not name.startswith(_MANGLED):
                message = (
                    f"what they reach in flash is not known: {name} lies elsewhere in {file} than "
                    "in the recording; name the recorded program (--elf)"
                )
                return [message]
    notes = " ".join(report.notes)
    nameless = {unit for unit, range_text in ranges.items() if f"begins in {range_text}," in notes}
    known = ranges.keys() - nameless
    lines = judging.choice_lines(report) if known else []
    lacking = [unit for unit in pinning.pinned if unit not in known]
    return [*lines, _unknown(lacking)] if lacking else lines


def _unknown(units: Sequence[str]) -> str:
    """Say that it is not known what some units reach."""
    named = ", ".join(units[:_LISTED_UNITS]) + (" …" if len(units) > _LISTED_UNITS else "")
    verb = "reaches" if len(units) == 1 else "reach"
    return f"what {counted(len(units), 'unit')} {verb} in flash is not known: {named}"


def _symbols(info: TraceInfo) -> list[Symbol]:
    return [symbol for image in info.images for symbol in image.symbols]


def _recorded(units: Sequence[str], info: TraceInfo) -> dict[str, int]:
    """Return the linked addresses of functions, as far as the recording has them."""
    by_name: dict[str, list[int]] = {}
    at: dict[int, int] = {}
    for symbol in _symbols(info):
        by_name.setdefault(symbol.name, []).append(symbol.offset)
        at[symbol.offset] = at.get(symbol.offset, 0) + 1
    addresses = {}
    for unit in units:
        _, is_placed, digits = unit.rpartition("@0x")
        if is_placed:
            offset = int(digits, 16)
        else:
            offsets = sorted(by_name.get(unit, []))
            # The first function of a name has it without an offset, unless another name is meant.
            if not offsets or (len(offsets) > 1 and at[offsets[0]] > 1):
                continue
            offset = offsets[0]
        address = linked_address(info.images, offset)
        if address is not None:
            addresses[unit] = address
    return addresses


def _mapped(file: Path, units: Sequence[str], linked: Linked, map_: Path | None) -> dict[str, int]:
    """Return the linked addresses of input sections that no other section can be taken for."""
    lines = {unit: linked.pin_text([unit], "names").text.splitlines()[-1] for unit in units}
    text = linked.pin_text(units, "names").text
    addresses: dict[str, list[int]] = {}
    for function in _engine.check_pinned(file, text, map_).unpinned:
        if function.address is not None:
            addresses.setdefault(function.name, []).append(function.address)
    return {
        unit: addresses[line][0]
        for unit, line in lines.items()
        if len(addresses.get(line, [])) == 1
    }


def recorded_names(called: Mapping[int, str], info: TraceInfo) -> tuple[list[str], list[str]]:
    """Return functions by names that ``pin`` takes, and names of those that are not recorded.

    Args:
        called: names of functions by their linked addresses.
        info: the description of the recording.

    """
    count: dict[str, int] = {}
    at: dict[int, str] = {}
    for symbol in _symbols(info):
        count[symbol.name] = count.get(symbol.name, 0) + 1
        at.setdefault(symbol.offset, symbol.name)
    names, lacking = [], []
    for address, shown in called.items():
        offset = recorded_offset(info.images, address)
        if offset is None or offset not in at:
            lacking.append(shown)
            continue
        name = at[offset]
        names.append(name if count[name] == 1 else f"{name}@{offset:#x}")
    return names, lacking
