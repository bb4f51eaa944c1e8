"""Measure how fast programs are recorded with QEMU, with lackey, and by stepping.

    .venv/bin/python benches/recording.py [reads]

The bench has three parts, of which `reads` runs the last alone:

1. QEMU with and without recording, in seconds and in processor seconds. Other load on the machine
   affects the latter less.
2. Each recorder on `bzip2` with its library. The texts come from the same generator; slower
   recorders get shorter ones. The time is that of the whole `flashpager record`: start of the
   emulator, translation, and writing the trace.
3. QEMU with and without data reads, on two programs that gcc compiles. One reads a constant at
   about every eleventh instruction; the other sorts in RAM, and its loop reads no constant.
"""

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FLASHPAGER = Path(sys.executable).with_name("flashpager")
_TINY_WORDS, _SHORT_WORDS, _LONG_WORDS = 20, 4_000, 400_000


def _text(words: int) -> str:
    source = random.Random(1)  # noqa: S311  (a benchmark's input, not a secret)
    vocabulary = [
        "".join(source.choices("etaoinshrdlu", k=source.randint(2, 9))) for _ in range(2000)
    ]
    return " ".join(source.choices(vocabulary, k=words))


def _alone(text: str, folder: Path) -> tuple[float, float]:
    """Return the seconds and processor seconds of QEMU without recording."""
    source = folder / "alone"
    source.write_text(text)
    return _timed(["qemu-x86_64", str(shutil.which("bzip2")), "-kf", str(source)])


def _timed(command: list[str]) -> tuple[float, float]:
    """Run a command; return its seconds and the processor seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _print_ratio(folder: Path) -> None:
    """Print the times of QEMU with recording and without it."""
    text = _text(_LONG_WORDS)
    alone = _alone(text, folder)
    source = folder / "recorded"
    source.write_text(text)
    command = [str(FLASHPAGER), "record", "--recorder", "qemu", "--with-libraries"]
    command += ["-o", str(folder / "ratio.trace"), "--", "bzip2", "-kf", str(source)]
    recorded = _timed(command)
    for unit, without, with_ in zip(("seconds", "processor seconds"), alone, recorded, strict=True):
        print(f"QEMU alone {without:.2f} {unit}, recorded {with_:.2f}: {with_ / without:.1f} times")
    print()


def _record(recorder: str, text: str, folder: Path) -> tuple[float, dict[str, int]]:
    """Record bzip2 on a text; return the seconds and the trace's facts."""
    source, trace = folder / "input", folder / f"{recorder}.trace"
    source.write_text(text)
    command: list[str | Path] = [FLASHPAGER, "record", "--no-reads", "--with-libraries"]
    start = time.perf_counter()
    subprocess.run(
        [*command, "--recorder", recorder, "-o", trace, "--", "bzip2", "-kf", source],
        check=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - start
    printed = subprocess.run(
        [FLASHPAGER, "trace", "info", "--json", trace], check=True, capture_output=True
    ).stdout
    return seconds, json.loads(printed)


_READING = """
static unsigned table[256] __attribute__((section(".rodata"))) = { 1, 2, 3 };
static unsigned numbers[1 << 12];
int main(void)
{
    unsigned sum = 1;
#ifdef TABLE
    for (unsigned i = 0; i < 20000000; i++)
        sum = (sum >> 8) ^ ((volatile unsigned *)table)[(sum ^ i) & 255];
#else
    for (unsigned turn = 0; turn < 4; turn++) {
        for (unsigned i = 0; i < 1 << 12; i++) numbers[i] = sum = sum * 1664525 + 1013904223;
        for (unsigned i = 1; i < 1 << 12; i++)
            for (unsigned j = i; j > 0 && numbers[j - 1] > numbers[j]; j--) {
                unsigned one = numbers[j];
                numbers[j] = numbers[j - 1];
                numbers[j - 1] = one;
            }
    }
#endif
    return sum == 0;
}
"""


def _print_reads(folder: Path) -> None:
    """Print the times of recording with data reads and without them."""
    source = folder / "reading.c"
    source.write_text(_READING)
    print(f"\n{'program':<10}{'recording':>12}{'seconds':>9}{'M instr/s':>11}{'data reads':>12}")
    for name, flags in (("table", ["-DTABLE"]), ("sort", [])):
        program, trace = folder / name, folder / f"{name}.trace"
        build = ["gcc", "-O1", "-w", "-static", "-no-pie", *flags]
        subprocess.run([*build, "-o", program, source], check=True)
        for title, choice in (("plain", ["--no-reads"]), ("with reads", ["--with-reads"])):
            command: list[str | Path] = [FLASHPAGER, "record", *choice]
            command += ["--section", ".text,.rodata", "-o", trace]
            start = time.perf_counter()
            subprocess.run([*command, "--", program], check=True, capture_output=True)
            seconds = time.perf_counter() - start
            printed = subprocess.run(
                [FLASHPAGER, "trace", "info", "--json", trace], check=True, capture_output=True
            ).stdout
            info = json.loads(printed)
            rate = info["instructions"] / seconds / 1e6
            reads = info.get("reads", 0)
            print(f"{name:<10}{title:>12}{seconds:>9.2f}{rate:>11.2f}{reads:>12,}")


def main() -> None:
    """Print one row for each recording."""
    if sys.argv[1:] == ["reads"]:
        with tempfile.TemporaryDirectory() as name:
            _print_reads(Path(name))
        return
    for tool in ("bzip2", "gcc", "qemu-x86_64", "valgrind"):
        if shutil.which(tool) is None:
            sys.exit(f"benches/recording.py: {tool} is not installed")
    with tempfile.TemporaryDirectory() as name:
        _print_ratio(Path(name))
    print(
        f"{'recorder':<10}{'input':>8}{'instructions':>15}{'seconds':>9}"
        f"{'M instr/s':>11}{'bit/instr':>11}"
    )
    rates = {}
    with tempfile.TemporaryDirectory() as name:
        for recorder, size, words in (
            ("qemu", "long", _LONG_WORDS),
            ("qemu", "short", _SHORT_WORDS),
            ("lackey", "short", _SHORT_WORDS),
            ("step", "tiny", _TINY_WORDS),
        ):
            seconds, info = _record(recorder, _text(words), Path(name))
            total = info["instructions"] + info["outside_instructions"]
            rates[recorder, size] = total / seconds
            bits = 8 * info["file_bytes"] / info["instructions"]
            print(
                f"{recorder:<10}{size:>8}{total:>15,}{seconds:>9.2f}"
                f"{total / seconds / 1e6:>11.2f}{bits:>11.3f}"
            )
    for size in ("short", "long"):
        ratio = rates["qemu", size] / rates["lackey", "short"]
        print(f"QEMU on the {size} input records at {ratio:.0f} times lackey's rate")
    ratio = rates["lackey", "short"] / rates["step", "tiny"]
    print(f"lackey records at {ratio:.0f} times the stepper's rate")
    with tempfile.TemporaryDirectory() as name:
        _print_reads(Path(name))


if __name__ == "__main__":
    main()
