"""Traces with gaps: the commands that take them, and those that refuse."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from flashpager import Design, FlashpagerError, Trace, _engine
from flashpager.cli import _COMMANDS, app
from tests import streams
from tests.conftest import ROOT, fails, flashpager

CARD = ROOT / "examples/traces/card-firmware.trace"

#: Commands with an argument TRACE that take a trace with gaps.
TAKES_GAPS = {"simulate", "trace info", "trace check", "trace export"}

#: Arguments behind the trace for each command that refuses gaps. ``{folder}`` is a folder.
REFUSES_GAPS: dict[str, Sequence[str]] = {
    "attribute": (),
    "deploy": ("-o", "{folder}/out"),
    "explore": (),
    "homes": (),
    "layout order": (),
    "layout export": ("{folder}/order.txt", "--map", "{folder}/a.map", "-o", "{folder}/out"),
    "layout outline": ("{folder}", "-o", "{folder}/out"),
    "layout profile": ("-o", "{folder}/out"),
    "luck": (),
    "pin": ("--ram", "1K"),
    "report": ("-o", "{folder}/out.html"),
    "trace arrange": ("-o", "{folder}/out.trace"),
    "verify": (),
}


@pytest.fixture
def gapped(tmp_path: Path) -> Path:
    """Make a trace of three windows."""
    rows = "0,64,5,\n256,32,2,\n0,64,5,buffer-full\n256,32,2,\n64,64,5,lost-packets\n0,64,5,\n"
    trace = tmp_path / "parts.trace"
    given = f"offset,length,instructions,gap\n{rows}".encode()
    flashpager("trace", "import", "-", "-o", trace, stdin=given)
    return trace


def _commands() -> Iterator[str]:
    """Return the names of all commands with an argument of traces."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    context = typer.Context(root)

    def below(command: object, name: str) -> Iterator[str]:
        for short, inner in getattr(command, "commands", {}).items():
            yield from below(inner, f"{name} {short}")
        for parameter in getattr(command, "params", []):
            if getattr(parameter, "metavar", None) in ("TRACE", "TRACE...") and (
                parameter.param_type_name == "argument"
            ):
                yield name

    for name in _COMMANDS:
        yield from below(root.get_command(context, name), name)


def test_every_command_is_decided() -> None:
    """A command with an argument TRACE either takes gaps, or is tested to refuse them."""
    assert set(_commands()) == TAKES_GAPS | set(REFUSES_GAPS)


@pytest.mark.parametrize("command", REFUSES_GAPS)
def test_gaps_are_refused(gapped: Path, tmp_path: Path, command: str) -> None:
    """A command whose answer needs all that ran says so in one line."""
    (tmp_path / "order.txt").write_text("f\n", encoding="utf-8")
    (tmp_path / "a.map").write_text("", encoding="utf-8")
    words = [word.format(folder=tmp_path) for word in REFUSES_GAPS[command]]
    fails(*command.split(), gapped, *words, words=[str(gapped), "2 gaps (the first: buffer-full)"])
    assert not (tmp_path / "out.trace").exists()


@pytest.mark.parametrize(
    "option",
    [
        ("--calls", "f"),
        ("--luck", "20"),
        ("--warm-up", "10%"),
        ("--max-slowdown", "3"),
        ("--max-fault", "1ms"),
        ("--ram", "4K"),
        ("--checked-ecc",),
    ],
)
def test_simulate_refuses_what_is_of_the_whole(gapped: Path, option: tuple[str, ...]) -> None:
    """The worst call, or the one that does not meet a need, may be missing."""
    fails("simulate", gapped, *option, words=[str(gapped), option[0], "1 buffer full"])


def test_other_ways_to_a_whole_answer_are_refused(gapped: Path) -> None:
    """Functions as units, the best page, samples, other formats, and two builds."""
    fails("simulate", gapped, "--unit", "function", "--ram", "4K", words=["2 gaps"])
    fails("trace", "info", gapped, "--best-page", words=["2 gaps"])
    fails("trace", "export", gapped, "-o", "-", "--format", "din", words=["2 gaps", "csv"])
    fails("compare", CARD, gapped, words=["2 gaps"])
    with pytest.raises(FlashpagerError, match="2 gaps"):
        Trace.open(gapped)
    assert len(Trace.open(gapped, captured=True).info.gaps) == 2


def test_info_shows_windows(gapped: Path) -> None:
    """Windows, reasons, and that nobody knows how much is missing; never "complete"."""
    out = flashpager("trace", "info", gapped).out
    assert re.search(r"ending +as captured\n", out)
    assert re.search(
        r"windows +as captured: 3 windows of 2 runs, gaps: 1 buffer full, 1 lost packets; how much "
        r"is missing is unknown\n",
        out,
    )
    assert "complete" not in out
    info = flashpager("trace", "info", gapped, "--json").json
    assert info["schema_version"] == 3
    assert info["gaps"] == [
        {"run": 2, "reason": "buffer-full"},
        {"run": 4, "reason": "lost-packets"},
    ]
    assert info["blocks"]["seen_calls"] is None
    flashpager("trace", "check", gapped)


def test_the_captured_share_is_shown_if_it_is_known(tmp_path: Path) -> None:
    """A recorder that counts what it loses lets the share be known."""
    trace = tmp_path / "lost.trace"
    blocks = [streams.block(0, 64, 6), streams.block(64, 64, 4)]
    lost = [streams.number(0), streams.gap(1, 30), streams.number(1)]
    given = b"".join([streams.MAGIC, *blocks, *lost, streams.end()])
    flashpager("trace", "import", "-", "--format", "stream", "-o", trace, stdin=given)
    out = flashpager("trace", "info", trace).out
    assert "2 windows of 1 run, gaps: 1 buffer full; 25.0 % of the instructions" in out


def test_csv_keeps_gaps(gapped: Path, tmp_path: Path) -> None:
    """An exported trace that is imported again has the same gaps."""
    text = flashpager("trace", "export", gapped, "-o", "-").out
    head, first, _, third, *_ = text.splitlines()
    assert head == "offset,length,kind,gap"
    assert (first, third) == ("0,64,executed,", "0,64,executed,buffer-full")
    again = tmp_path / "again.trace"
    flashpager("trace", "import", "-", "-o", again, stdin=text.encode())
    gaps = [(gap.run, gap.reason) for gap in Trace.open(again, captured=True).info.gaps]
    assert gaps == [(2, "buffer-full"), (4, "lost-packets")]


def test_bounds_are_printed(gapped: Path) -> None:
    """By hand: windows of pages 0 1 8, 0 1 8 and 2 3 0 1 of 32 bytes, all of them doubtful."""
    flags = ("--cache", "1K", "--cache-page", "32", "--policy", "lru", "--processor", "none")
    done = flashpager("simulate", gapped, *flags)
    assert "misses 0 to 10 (0 to 1,000 of 1,000 references)" in done.out
    assert "as captured: 3 windows of 2 runs" in done.out
    answer = flashpager("simulate", gapped, *flags, "--json").json
    assert answer["misses"] == {"low": 0, "high": 10}
    assert answer["references"] == {"low": 7, "high": 10}
    assert answer["hits"] == {"low": 0, "high": 10}
    assert answer["time_ns"]["low"] < answer["time_ns"]["high"]
    # With one frame nothing but a doubtful page in each window can be a hit.
    small = flashpager("simulate", gapped, "--cache", "32", *flags[2:], "--json").json
    assert small["misses"] == {"low": 7, "high": 10}


def test_unchecked_needs_are_shown(gapped: Path) -> None:
    """The needs of a board, costs that are not counted, and assumptions are in text and JSON."""
    given = ("simulate", gapped, "--board", "micaz")
    done = flashpager(*given)
    answer = flashpager(*given, "--json").json
    assert answer["unchecked"]
    assert f"not checked with gaps: {', '.join(answer['unchecked'])}" in " ".join(done.err.split())
    assert answer["not_counted"]
    assert f"not counted: {'; '.join(answer['not_counted'])}" in " ".join(done.out.split())
    assert answer["said"]["part"] == "board micaz"
    pico = flashpager("simulate", gapped, "--board", "pico", "--json").json
    assert pico["unchecked"] == []
    assert "policy" in [each["field"] for each in pico["assumed"]]


def test_a_processor_has_bounds_of_its_slowdown(gapped: Path) -> None:
    """The slowdown lies between that without and with the doubtful misses."""
    out = flashpager("simulate", gapped, "--board", "nrf5340-qspi").out
    assert re.search(r"1 to [\d.]+ times slower than from RAM", out)


def test_other_policies_are_unknown(gapped: Path) -> None:
    """A policy whose cache never becomes certain has no bounds, and other candidates say so."""
    done = flashpager("simulate", gapped, "--policy", "clock", "--processor", "none")
    assert "misses unknown" in done.out
    assert "unknown: clock in sets of" in done.err
    done = flashpager("simulate", gapped, "--board", "pico")
    assert "not published: the evicted line; with fifo unknown" in done.err
    fails("simulate", gapped, "--board", "omap5912-onenand", words=["instruction cache"])


def cut(trace: Path, window_runs: int, output: Path) -> None:
    """Cut a trace into windows of so many runs."""
    head, *rows = flashpager("trace", "export", trace, "-o", "-").out.splitlines()
    gaps = ("cut" if at and at % window_runs == 0 else "" for at in range(len(rows)))
    lines = [f"{head},gap", *(f"{row},{gap}" for row, gap in zip(rows, gaps, strict=True)), ""]
    flashpager("trace", "import", "-", "-o", output, stdin="\n".join(lines).encode())


def test_windows_of_a_shipped_trace(tmp_path: Path) -> None:
    """The truth lies within the bounds; the table of docs/record.md has them."""
    design = Design(
        part="W25Q128JV", cache_bytes="4K", cache_page_bytes=16, ways=2, policy="lru",
        processor="none",
    )  # fmt: skip
    whole = _engine.simulate(CARD, [design])[0].counts
    rows = []
    for window_runs in (511, 4109, 16384):
        trace = tmp_path / f"{window_runs}.trace"
        cut(CARD, window_runs, trace)
        found = _engine.simulate_windows(trace, design)
        assert found.misses is not None
        assert found.misses.low <= whole.misses <= found.misses.high
        shares = (1000 * n / found.references.high for n in (found.misses.low, found.misses.high))
        rows.append(f"| {window_runs:,} | {' | '.join(f'{share:.3g}' for share in shares)} |")
    text = (ROOT / "docs/record.md").read_text(encoding="utf-8")
    assert "\n".join(rows) in text, "\n".join(rows)
    truth = f"{1000 * whole.misses / whole.references:.3g}"
    assert f"The truth is {truth}." in text, truth
