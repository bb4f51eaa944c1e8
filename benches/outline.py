"""Measure the gain of moving cold parts of Java methods into methods of their own.

    .venv/bin/python benches/outline.py [--evaluations 30000] [--colder-than 10]

The bench builds and records the programs of examples/workloads/java.sh, outlines them, records them
again, and fails if their output changes. Both recordings are laid out: 2 KB, LRU, K9F1208Q0B read
by start-column on the smart card's board. The search sees the first 70 % of the runs, and the last
30 % judge it. Needs a JDK and Maven.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import flashpager
from flashpager import Design, Trace
from flashpager._engine import PageLayout
from flashpager.choose.outline import outline

ROOT = Path(__file__).resolve().parent.parent
_COMMAND = ROOT / ".venv" / "bin" / "flashpager"
_CARDS = "cards.*,javacard.*,javacardx.*"
#: Project, classes to record, and arguments of each program.
_PROGRAMS = {
    "sensors": ("sensors", "sensors.*", []),
    **{name: ("cards", _CARDS, [name]) for name in ("purse", "oath", "pki")},
}


def _record(jar: Path, classes: str, arguments: list[str], trace: Path) -> str:
    command: list[str | Path] = [_COMMAND, "record", "--java", "--include", classes, "-o", trace]
    command += ["--", "java", "-Xverify:all", "-jar", jar, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def _best_layout(trace: Path, evaluations: int) -> PageLayout:
    board = Design.from_board("smartcard")
    design = board.replace(part="K9F1208Q0B", register="start-column", cache_bytes="2K")
    opened = Trace.open(trace)
    result = flashpager.layout(
        opened, design, evaluations=evaluations, held_out_share=0.3, pages=(64, 128)
    )
    return result.best


def _cells(page: PageLayout) -> tuple[float, float]:
    """Return the share of NOR in percent, and the milliseconds, of the held-out runs."""
    row = page.found.held_out[0]
    return 100 * (row.nor.nor_ratio if row.nor else 0.0), row.time.time_ns / 1e6


def main() -> None:
    """Print one row for each program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=30_000)
    parser.add_argument("--colder-than", type=float, default=10.0, metavar="PERCENT")
    options = parser.parse_args()
    print("| program | parts moved | order alone, % of NOR | with outlining, % of NOR | time, % |")
    print("|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        shutil.copytree(ROOT / "examples" / "java", work / "java")
        for project in ("sensors", "cards"):
            pom = work / "java" / project / "pom.xml"
            subprocess.run(["mvn", "-q", "-B", "-f", pom, "package"], check=True)
        for name, (project, classes, arguments) in _PROGRAMS.items():
            target = work / "java" / project / "target"
            jar, kept = target / f"{project}.jar", target / "kept.jar"
            before, after = work / f"{name}.trace", work / f"{name}-outlined.trace"
            printed = _record(jar, classes, arguments, before)
            shutil.move(jar, kept)
            share = options.colder_than / 100
            libraries = sorted((target / "lib").glob("*.jar"))
            outlining = outline(
                before, kept, jar, cold_share=share, at_least=8, class_path=libraries
            )
            if _record(jar, classes, arguments, after) != printed:
                parser.error(f"{name}: the outlined program prints something else")
            shutil.move(kept, jar)
            (alone, slow), (outlined, fast) = (
                _cells(_best_layout(trace, options.evaluations)) for trace in (before, after)
            )
            print(
                f"| {name} | {len(outlining.moved)} | {alone:.1f} | {outlined:.1f} "
                f"| {100 * (fast / slow - 1):+.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
