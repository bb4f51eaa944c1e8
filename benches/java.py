"""Compare the time of recording a Java program with that of the program alone.

    .venv/bin/python benches/java.py

The shipped programs run alone and under `flashpager record --java`. The time is that of the whole
command: start of the virtual machine, agent, decoding, and writing the trace. Each program runs
with the input of its shipped trace, and with a longer one.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from flashpager import Trace

ROOT = Path(__file__).resolve().parent.parent
FLASHPAGER = Path(sys.executable).with_name("flashpager")
_JAVA = ROOT / "examples" / "java"
_CARDS = "cards.*,javacard.*,javacardx.*"
#: Project, classes, and arguments: those of the shipped trace, and longer ones.
_RUNS = (
    ("sensors", "sensors.*", ()),
    ("sensors", "sensors.*", ("100000",)),
    ("cards", _CARDS, ("purse",)),
    ("cards", _CARDS, ("purse", "1000")),
    ("cards", _CARDS, ("pki",)),
    ("cards", _CARDS, ("pki", "400")),
)
_ROUNDS = 3


def _seconds(command: list[str | Path]) -> float:
    times = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Print the best time of some rounds, one row for each program."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            sys.exit(f"benches/java.py: {tool} is not installed")
    for project in dict.fromkeys(project for project, *_ in _RUNS):
        pom = _JAVA / project / "pom.xml"
        subprocess.run(["mvn", "--quiet", "--batch-mode", "-f", pom, "package"], check=True)
    print("| program | bytecodes | alone, s | recorded, s | times | M bytecodes/s |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        trace = Path(name) / "bench.trace"
        for project, classes, arguments in _RUNS:
            run = ("java", "-jar", _JAVA / project / "target" / f"{project}.jar", *arguments)
            record = (FLASHPAGER, "record", "--java", "--include", classes, "-o", trace, "--")
            alone = _seconds([*run])
            recorded = _seconds([*record, *run])
            bytecodes = Trace.open(trace).info.instructions or 0
            shown = " ".join((project, *arguments)).removeprefix("cards ")
            print(
                f"| {shown} | {bytecodes:,} | {alone:.2f} | {recorded:.2f} "
                f"| {recorded / alone:.1f} | {bytecodes / recorded / 1e6:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
