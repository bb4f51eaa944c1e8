"""Whose cycles: the sensors' bytecode interpreted on an AVR, from NAND and from NOR.

    .venv/bin/python benches/bytecode.py [-o docs/bytecode.svg]

The whole of the sensors, 900 seconds of virtual time, runs on an ATmega1284P at 7.3728 MHz in
simavr, behind the pager with several designs and with the bytecode in the chip's own NOR flash
(examples/bytecode). Each run is held against the JVM and against `simulate`. It prints a table for
benches/measured.md; drawn is what of the time is whose. CPPFLAGS and LDFLAGS say where simavr is,
if it is not where compilers look.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from flashpager import Design, Trace, simulate
from flashpager.plots import picture, style
from flashpager.verify.cycles import JobCycles

_ROOT = Path(__file__).resolve().parent.parent
_TRACE = _ROOT / "examples/traces/java/sensors.trace"
_JAR = _ROOT / "examples/java/sensors/target/sensors.jar"
_LARGE = ("--part", "MT29F1G08ABAEA", "--register", "random-column")
#: What is run: how it is called, and what mote.py takes for it.
_DESIGNS: dict[str, tuple[str, ...]] = {
    "K9F1208Q0B, 30 × 64 B": (),
    "K9F1208Q0B, 120 × 16 B": ("--cache-page-bytes", "16"),
    "K9F1208Q0B, 16 × 64 B": ("--cache-bytes", "1024", "--heap-bytes", "2624"),
    "MT29F1G08ABAEA, 30 × 64 B": _LARGE,
    "MT29F1G08ABAEA, 120 × 16 B": (*_LARGE, "--cache-page-bytes", "16"),
}
_NOR = "NOR, read in place"
#: Who takes the time, as they follow one another: their jobs, their colour.
_TAKERS = {
    "interpretation": (("interpretation",), style.FAINT),
    "radio and sensors": (("link",), style.GREY),
    "bytes and jumps": (("read", "jump"), style.SKY),
    "lookup": (("lookup",), style.BLUE),
    "handler": (("fault", "search"), style.BLACK),
    "load": (("command", "wait"), style.VERMILLION),
    "skip or column change": (("skip", "column"), style.PURPLE),
    "copy": (("fetch",), style.ORANGE),
}
#: What is not of the memory.
_NOT_MEMORY = ("interpretation", "radio and sensors")
_BAR = 30


@dataclass(frozen=True)
class Lived:
    """A run, in cycles by taker."""

    name: str
    cycles: dict[str, int]
    of_bytes: int
    clock_hz: int

    @property
    def all(self) -> int:
        """Of the whole program."""
        return sum(self.cycles.values())

    @property
    def memory(self) -> int:
        """Of what bytes of bytecode take."""
        return sum(cycles for name, cycles in self.cycles.items() if name not in _NOT_MEMORY)

    @property
    def mib_s(self) -> float:
        """Bytes of bytecode in the time of the memory."""
        return self.of_bytes / (self.memory / self.clock_hz) / 2**20


def _run(words: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        command = [sys.executable, str(_ROOT / "examples/bytecode/mote.py"), str(_JAR), str(_TRACE)]
        given = ["--on", "avr", "--policy", "clock", *words, "-o", folder]
        done = subprocess.run([*command, *given], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"benches/bytecode.py: {done.stderr.strip() or done.stdout}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _lived(name: str, measured: dict[str, Any], kind: str) -> Lived:
    jobs: dict[str, int] = measured["cycles"][kind]
    cycles = {taker: sum(jobs[job] for job in of) for taker, (of, _) in _TAKERS.items()}
    return Lived(name, cycles, measured["bytes"], measured["clock_hz"])


def _chart(runs: list[Lived], nor: Lived) -> alt.LayerChart:
    rows = []
    for run in runs:
        start = 0.0
        for name, cycles in run.cycles.items():
            end = start + cycles / run.of_bytes
            rows.append((run.name, name, start, end))
            start = end
    schema = ["design", "who", "start", "end"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    ends = pl.DataFrame(
        [
            (run.name, run.all / run.of_bytes, "" if run is nor else f"{run.all / nor.all:.2f} ×")
            for run in runs
        ],
        schema=["design", "end", "says"],
        orient="row",
    )
    axis = alt.Axis(ticks=False, domain=False, labelLimit=0)
    y = alt.Y("design:N", sort=None, title=None, axis=axis)
    bars = (
        alt.Chart(frame)
        .mark_bar(size=_BAR - 8)
        .encode(
            y=y,
            x=alt.X(
                "start:Q",
                title="cycles per byte of bytecode executed",
                scale=alt.Scale(domain=[0, 1.1 * max(ends["end"])], nice=False),
            ),
            x2="end:Q",
            color=alt.Color(
                "who:N",
                sort=None,
                scale=style.colour_scale({name: colour for name, (_, colour) in _TAKERS.items()}),
                legend=style.legend(columns=4),
            ),
        )
    )
    words = (
        alt.Chart(ends)
        .mark_text(align="left", dx=6, fontSize=style.FONT_SIZE)
        .encode(y=y, x="end:Q", text="says:N")
    )
    first = next(run for run in runs if run is not nor)
    share = 100 * first.cycles["interpretation"] / first.all
    title = (
        f"Code in NAND makes the program {first.all / nor.all:.2f} times as long, though its "
        f"memory has {100 * nor.memory / first.memory:.0f} % of the speed of NOR: "
        f"interpretation takes {share:.0f} % of the time"
    )
    subtitle = (
        "sensors, 1.89 million bytecodes, interpreted in place by an ATmega1284P at 7.3728 MHz "
        "(simavr); CLOCK, lookup by table; numbers: time beside that from NOR"
    )
    return style.finish([bars, words], title, subtitle, _BAR * len(runs), width=style.WIDTH - 220)


def _row(run: Lived, nor: Lived, measured: dict[str, Any] | None) -> str:
    cells = [f"{cycles / run.of_bytes:.1f}" for cycles in run.cycles.values()]
    cells += [f"{run.all / run.clock_hz:.1f} s", f"{run.mib_s:.3f}"]
    share = "" if run is nor else f"{100 * nor.memory / run.memory:.0f} %"
    paper = ram = misses = ""
    if measured:
        ram = f"{sum(measured['ram'].values()):,}"
        misses = f"{next(c['mote'] for c in measured['counts'] if c['count'] == 'misses'):,}"
        row = simulate(Trace.open(_TRACE), Design.from_dict(measured["design"]))
        paper = f"{100 * row.nor.nor_ratio:.0f} %" if row.nor else ""
    return f"| {run.name} | {misses} | {' | '.join(cells)} | {share} | {paper} | {ram} |"


def _prediction(folder: Path) -> str:
    """Compare the paging of the program with prices that were fitted to its trace alone."""
    words = (*_LARGE, "--policy", "clock")
    cache = Design.from_board("micaz").cache_bytes
    board = folder / "fitted.toml"
    command = [str(Path(sys.executable).with_name("flashpager")), "verify", str(_TRACE), *words]
    fitting = ["--cache", str(cache), "--device", "atmega1284p", "--fit", str(board)]
    subprocess.run([*command, *fitting], check=True, capture_output=True)
    time = simulate(Trace.open(_TRACE), Design.from_board(board)).time
    measured = _run((*_LARGE, "--cache-bytes", str(cache), "--clock-hz", "16000000"))
    jobs = measured["cycles"]["deployed"]
    taken_ms = sum(jobs[each.name] for each in fields(JobCycles)) / 16e3
    simulated_ms = (time.time_ns - time.read_ns) / 1e6
    return (
        f"paging on {_LARGE[1]} at 16 MHz: {simulated_ms:.1f} ms simulated with fitted prices, "
        f"{taken_ms:.1f} ms taken by the program: {100 * (simulated_ms / taken_ms - 1):+.2f} %"
    )


def main() -> None:
    """Run all, print the table and draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", type=Path, default=Path("bytecode.svg"))
    given = parser.parse_args()
    given.output.parent.mkdir(parents=True, exist_ok=True)
    pom = _JAR.parent.parent / "pom.xml"
    subprocess.run(["mvn", "--quiet", "--batch-mode", "-f", pom, "package"], check=True)
    measured = {name: _run(words) for name, words in _DESIGNS.items()}
    nor = _lived(_NOR, next(iter(measured.values())), "in_place")
    runs = [nor, *(_lived(name, of, "deployed") for name, of in measured.items())]
    heads = ["bytecode in", "misses", *_TAKERS, "in all", "MB/s", "of NOR", "simulated", "RAM, B"]
    print(f"| {' | '.join(heads)} |")
    print("|---|" + "--:|" * (len(_TAKERS) + 6))
    for run in runs:
        print(_row(run, nor, measured.get(run.name)))
    first = next(iter(measured.values()))
    print(f"{sum(len(of['counts']) for of in measured.values())} counts and CRCs are equal")
    whole = first["cycles"]["deployed"]["all"]
    less = 100 * (1 - first["cycles_unmarked"] / whole)
    print(f"without the labels that tell jobs it takes {less:.1f} % less")
    print(f"the sink, as in the JVM: {first['sink']}")
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        print(_prediction(Path(folder)))
    picture.write(_chart(runs, nor), given.output)


if __name__ == "__main__":
    main()
