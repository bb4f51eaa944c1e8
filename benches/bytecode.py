"""Break down the cycles of an AVR that interprets the sensors' bytecode, from NAND and from NOR.

    .venv/bin/python benches/bytecode.py [-o bytecode.svg]

The whole sensors program, 900 seconds of virtual time, runs on an ATmega1284P at 7.3728 MHz in
simavr: behind the pager with several designs, and with the bytecode in the chip's own NOR flash
(examples/bytecode). mote.py compares each run with the JVM and with `simulate`. The bench prints a
table for benches/measured.md and draws the cycles of each component. Set CPPFLAGS and LDFLAGS if
simavr is not where compilers look for libraries. Needs a JDK and Maven.
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
#: Title of each design, and its options of mote.py.
_DESIGNS: dict[str, tuple[str, ...]] = {
    "K9F1208Q0B, 30 × 64 B": (),
    "K9F1208Q0B, 120 × 16 B": ("--cache-page-bytes", "16"),
    "K9F1208Q0B, 16 × 64 B": ("--cache-bytes", "1024", "--heap-bytes", "2624"),
    "MT29F1G08ABAEA, 30 × 64 B": _LARGE,
    "MT29F1G08ABAEA, 120 × 16 B": (*_LARGE, "--cache-page-bytes", "16"),
}
_NOR = "NOR, read in place"
#: Components of the time, from left to right in the picture: their jobs, their colour.
_COMPONENTS = {
    "interpretation": (("interpretation",), style.FAINT),
    "radio and sensors": (("link",), style.GREY),
    "bytes and jumps": (("read", "jump"), style.SKY),
    "lookup": (("lookup",), style.BLUE),
    "handler": (("fault", "search"), style.BLACK),
    "load": (("command", "wait"), style.VERMILLION),
    "skip or column change": (("skip", "column"), style.PURPLE),
    "copy": (("fetch",), style.ORANGE),
}
#: Components that do not belong to the memory's time.
_OUTSIDE_MEMORY = ("interpretation", "radio and sensors")
_BAR_PIXELS = 30


@dataclass(frozen=True)
class Run:
    """Cycles of one run, by component."""

    name: str
    cycles: dict[str, int]
    bytecode_bytes: int
    clock_hz: int

    @property
    def total_cycles(self) -> int:
        """Cycles of the whole program."""
        return sum(self.cycles.values())

    @property
    def memory_cycles(self) -> int:
        """Cycles that fetching the bytecode takes."""
        return sum(cycles for name, cycles in self.cycles.items() if name not in _OUTSIDE_MEMORY)

    @property
    def mib_s(self) -> float:
        """MiB of bytecode per second of the memory's time."""
        return self.bytecode_bytes / (self.memory_cycles / self.clock_hz) / 2**20


def _measure(design_flags: tuple[str, ...]) -> dict[str, Any]:
    """Run mote.py with a design, and return its JSON."""
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        command = [sys.executable, str(_ROOT / "examples/bytecode/mote.py"), str(_JAR), str(_TRACE)]
        flags = ["--on", "avr", "--policy", "clock", *design_flags, "-o", folder]
        done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"benches/bytecode.py: {done.stderr.strip() or done.stdout}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def _run(name: str, measured: dict[str, Any], kind: str) -> Run:
    """Return the run of a kind, `deployed` or `in_place`, that mote.py measured."""
    job_cycles: dict[str, int] = measured["cycles"][kind]
    cycles = {
        component: sum(job_cycles[job] for job in jobs)
        for component, (jobs, _) in _COMPONENTS.items()
    }
    return Run(name, cycles, measured["bytes"], measured["clock_hz"])


def _chart(runs: list[Run], nor: Run) -> alt.LayerChart:
    rows = []
    for run in runs:
        start = 0.0
        for name, cycles in run.cycles.items():
            end = start + cycles / run.bytecode_bytes
            rows.append((run.name, name, start, end))
            start = end
    schema = ["design", "component", "start", "end"]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    ends = pl.DataFrame(
        [
            (
                run.name,
                run.total_cycles / run.bytecode_bytes,
                "" if run is nor else f"{run.total_cycles / nor.total_cycles:.2f} ×",
            )
            for run in runs
        ],
        schema=["design", "end", "label"],
        orient="row",
    )
    axis = alt.Axis(ticks=False, domain=False, labelLimit=0)
    y = alt.Y("design:N", sort=None, title=None, axis=axis)
    bars = (
        alt.Chart(frame)
        .mark_bar(size=_BAR_PIXELS - 8)
        .encode(
            y=y,
            x=alt.X(
                "start:Q",
                title="cycles per byte of bytecode executed",
                scale=alt.Scale(domain=[0, 1.1 * max(ends["end"])], nice=False),
            ),
            x2="end:Q",
            color=alt.Color(
                "component:N",
                sort=None,
                scale=style.colour_scale(
                    {name: colour for name, (_, colour) in _COMPONENTS.items()}
                ),
                legend=style.legend(columns=4),
            ),
        )
    )
    labels = (
        alt.Chart(ends)
        .mark_text(align="left", dx=6, fontSize=style.FONT_SIZE)
        .encode(y=y, x="end:Q", text="label:N")
    )
    first = next(run for run in runs if run is not nor)
    share = 100 * first.cycles["interpretation"] / first.total_cycles
    title = (
        f"From NAND the program takes {first.total_cycles / nor.total_cycles:.2f} times as long "
        f"as from NOR, though the memory has {100 * nor.memory_cycles / first.memory_cycles:.0f} % "
        f"of NOR's speed: interpretation takes {share:.0f} % of the time"
    )
    subtitle = (
        "sensors, 1.89 million bytecodes, interpreted in place by an ATmega1284P at 7.3728 MHz "
        "(simavr); CLOCK, lookup by table; numbers: time over that from NOR"
    )
    height = _BAR_PIXELS * len(runs)
    return style.finish([bars, labels], title, subtitle, height, width=style.WIDTH - 220)


def _table_row(run: Run, nor: Run, measured: dict[str, Any] | None) -> str:
    cells = [f"{cycles / run.bytecode_bytes:.1f}" for cycles in run.cycles.values()]
    cells += [f"{run.total_cycles / run.clock_hz:.1f} s", f"{run.mib_s:.3f}"]
    share = "" if run is nor else f"{100 * nor.memory_cycles / run.memory_cycles:.0f} %"
    simulated_share = ram = misses = ""
    if measured:
        ram = f"{sum(measured['ram'].values()):,}"
        misses = f"{next(c['mote'] for c in measured['counts'] if c['count'] == 'misses'):,}"
        row = simulate(Trace.open(_TRACE), Design.from_dict(measured["design"]))
        simulated_share = f"{100 * row.nor.nor_ratio:.0f} %" if row.nor else ""
    cells += [share, simulated_share, ram]
    return f"| {run.name} | {misses} | {' | '.join(cells)} |"


def _prediction(folder: Path) -> str:
    """Compare the program's paging time with one simulated at prices fitted to its trace alone."""
    design_flags = (*_LARGE, "--policy", "clock")
    cache = Design.from_board("micaz").cache_bytes
    board = folder / "fitted.toml"
    verify = [str(Path(sys.executable).with_name("flashpager")), "verify", str(_TRACE)]
    fitting = ["--cache", str(cache), "--device", "atmega1284p", "--fit", str(board)]
    subprocess.run([*verify, *design_flags, *fitting], check=True, capture_output=True)
    time = simulate(Trace.open(_TRACE), Design.from_board(board)).time
    measured = _measure((*_LARGE, "--cache-bytes", str(cache), "--clock-hz", "16000000"))
    job_cycles = measured["cycles"]["deployed"]
    measured_ms = sum(job_cycles[job.name] for job in fields(JobCycles)) / 16e3
    simulated_ms = (time.time_ns - time.read_ns) / 1e6
    return (
        f"paging on {_LARGE[1]} at 16 MHz: {simulated_ms:.1f} ms simulated with fitted prices, "
        f"{measured_ms:.1f} ms measured: {100 * (simulated_ms / measured_ms - 1):+.2f} %"
    )


def main() -> None:
    """Run all designs, print the table, and draw the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("bytecode.svg"))
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    pom = _JAR.parent.parent / "pom.xml"
    subprocess.run(["mvn", "--quiet", "--batch-mode", "-f", pom, "package"], check=True)
    measured = {name: _measure(flags) for name, flags in _DESIGNS.items()}
    first = next(iter(measured.values()))
    nor = _run(_NOR, first, "in_place")
    runs = [nor, *(_run(name, result, "deployed") for name, result in measured.items())]
    heads = ["bytecode in", "misses", *_COMPONENTS, "total"]
    heads += ["MB/s", "of NOR", "simulated", "RAM, B"]
    print(f"| {' | '.join(heads)} |")
    print("|---|" + "--:|" * (len(heads) - 1))
    for run in runs:
        print(_table_row(run, nor, measured.get(run.name)))
    print(f"{sum(len(result['counts']) for result in measured.values())} counts and CRCs are equal")
    saved_share = 1 - first["cycles_unmarked"] / first["cycles"]["deployed"]["all"]
    print(f"without the labels that mark jobs it takes {100 * saved_share:.1f} % less")
    print(f"the sink, as in the JVM: {first['sink']}")
    with tempfile.TemporaryDirectory(prefix="flashpager-") as folder:
        print(_prediction(Path(folder)))
    picture.write(_chart(runs, nor), options.output)


if __name__ == "__main__":
    main()
