"""All that a function reaches: whether it stays in RAM, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, Reach, ReachFinding, ReachStep
from flashpager.base.quantities import counted
from flashpager.judge.stated import stated_texts

#: The verdicts as they are printed.
VERDICTS = {"closed": "closed", "not-closed": "not closed", "cannot-tell": "cannot tell"}
_KINDS = {
    "reaches-code": "reaches code",
    "reaches-data": "reaches data",
    "may-reach": "may reach",
    "cannot-tell": "cannot tell",
}
#: Largest number of functions or objects that a line on a choice names.
_LISTED_NAMES = 6
_KIND_WIDTH = max(map(len, _KINDS.values()))


def reached(
    file: Path,
    roots: Sequence[str],
    *,
    ram: Sequence[str] = (),
    flash: Sequence[str] = (),
    rom: Sequence[str] = (),
    calls: Sequence[tuple[str, Sequence[str]]] = (),
    pinned: Sequence[str] = (),
) -> Reach:
    """Follow all that functions of a linked program reach, and find what lies outside of RAM.

    Args:
        file: the program, an ELF file.
        roots: names of functions, patterns, or ``vectors``, the handlers of interrupts.
        ram: patterns of names of sections in RAM, or ranges as ``0x20000000-0x20040000``; by
            default the sections that are zeroed or stored at another address.
        flash: patterns of names of sections in flash, or ranges.
        rom: ranges of ROM, whose code is not followed.
        calls: targets of indirect calls, by the address of a call or the function that holds it.
        pinned: functions that are assumed to lie in RAM and are roots, too: names, or ranges of
            addresses such as ``0x360+0x20`` for the functions that begin there.

    Raises:
        FlashpagerError: if the file is no linked program or has nothing in RAM, its machine is not
            followed, or it does not have what is named.

    """
    return _engine.reached(
        file,
        list(roots),
        ram=list(ram),
        flash=list(flash),
        rom=list(rom),
        calls=[(site, list(names)) for site, names in calls],
        pinned=list(pinned),
    )


def parse_calls(stated: Sequence[str], flag: str = "--calls") -> list[tuple[str, list[str]]]:
    """Parse targets of indirect calls: ``SITE=NAME,NAME``, or a file with such lines.

    Args:
        stated: the texts.
        flag: the option that states them.

    Raises:
        FlashpagerError: if a text is neither, or a line of the file is none of these.

    """
    return [_parse_call(text, place) for text, place in stated_texts(stated, flag, "SITE=NAMES")]


def _parse_call(text: str, place: str) -> tuple[str, list[str]]:
    site, equals, names = text.partition("=")
    targets = [name.strip() for name in names.split(",") if name.strip()]
    if not equals or not site.strip() or not targets:
        message = f"{place}: {text!r} is no SITE=NAME,NAME, as 0x20000376=on_timer,on_packet"
        raise FlashpagerError(message)
    return site.strip(), targets


def verdict_line(report: Reach) -> str:
    """Describe an answer in a line, the verdict first."""
    parts = [f"{counted(report.functions_in_ram, 'function')} in RAM reached"]
    may = sum(finding.kind == "may-reach" for finding in report.findings)
    if report.functions_in_flash or may:
        in_flash = f"{report.functions_in_flash:,} in flash reached"
        parts.append(f"{in_flash}, {may:,} may be" if may else in_flash)
    if report.indirect:
        parts.append(
            f"indirect jumps and calls resolved: {report.resolved:,} of {report.indirect:,}"
        )
    return f"{VERDICTS[report.verdict]}: {'; '.join(parts)}"


def choice_lines(report: Reach) -> list[str]:
    """Describe in a few lines what a choice of functions for RAM still reaches in flash."""
    lines = []
    for kind, verb, nouns in (
        ("reaches-code", "call", ("function", "functions")),
        ("reaches-data", "read", ("object", "objects")),
    ):
        reached = {
            finding.path[-1].address: finding.path[-1].name
            for finding in report.findings
            if finding.kind == kind
        }
        if not reached:
            continue
        names = list(reached.values())
        some = ", ".join(names[:_LISTED_NAMES])
        more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
        noun = nouns[len(names) != 1]
        lines.append(f"they still {verb} {len(names):,} {noun} in flash: {some}{more}")
    sites = {
        finding.site for finding in report.findings if finding.kind in {"cannot-tell", "may-reach"}
    }
    if sites:
        pointers = f"{counted(len(sites), 'place')} where a pointer or a call is not known"
        lines.append(f"{pointers} may lead to flash, too")
    return lines or ["they reach nothing in flash"]


@dataclass(frozen=True)
class Closure:
    """A function with all that it calls in flash, as far as that is known."""

    root: str
    #: Names of the called functions by their addresses.
    called: dict[int, str]
    #: Addresses of called code that no function with a name begins at.
    nameless: list[int]
    #: All that they reach if they lie in RAM.
    report: Reach


def closure(file: Path, root: str) -> Closure:
    """Return a function with all that it calls in flash, and what they reach if all lie in RAM.

    Functions in RAM already are not among them.

    Raises:
        FlashpagerError: if the program does not have the root, or is none that is followed.

    """
    called: dict[int, str] = {}
    while True:
        report = reached(file, [], pinned=[root, *(f"{address:#x}+1" for address in called)])
        steps = [finding.path[-1] for finding in report.findings if finding.kind == "reaches-code"]
        names = {step.address: step.name for step in steps}
        if names.keys() <= called.keys():
            # These addresses are still reached: no function begins there, to be taken for RAM.
            functions = {at: name for at, name in called.items() if at not in names}
            return Closure(root, functions, sorted(names), report)
        called.update(sorted(names.items()))


def finding_line(finding: ReachFinding) -> str:
    """Describe a finding in a line: its kind, the shortest path, the place."""
    kind = _KINDS[finding.kind].ljust(_KIND_WIDTH)
    path = " -> ".join(_step(step) for step in finding.path)
    places = f" ({finding.sites:,} places)" if finding.sites > 1 else ""
    if finding.kind == "cannot-tell":
        return f"{kind}  {path} {finding.text}, at {finding.site:#x}{places}"
    target = finding.path[-1].address
    several = ", one of several targets" if finding.kind == "may-reach" else ""
    return f"{kind}  {path} {target:#x}, {finding.text} at {finding.site:#x}{places}{several}"


def _step(step: ReachStep) -> str:
    return f"{step.name} ({step.place})"
