"""Tests of files and standard output that are full, or whose reader leaves early."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import COMMAND, import_csv


def test_full_standard_output(tmp_path: Path) -> None:
    """Answers to a full standard output are reported as errors."""
    trace = import_csv(tmp_path, "0,12\n100,40\n")
    for flags in ((), ("--json",)):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [COMMAND, "simulate", trace, *flags],
                stdout=full,
                stderr=subprocess.PIPE,
                check=False,
            )
        assert b"Traceback" not in done.stderr
        assert b"Exception ignored" not in done.stderr
        assert done.returncode == 2
        assert b"No space left" in done.stderr


@pytest.mark.parametrize(
    ("closed", "arguments", "message"),
    [(">&-", "t.trace", b"standard output is closed"), ("<&-", "-", b"standard input is closed")],
)
def test_closed_streams(tmp_path: Path, closed: str, arguments: str, message: bytes) -> None:
    """The error is one line, and its exit code is not that of an unmet need."""
    import_csv(tmp_path, "0,12\n100,40\n", "t.trace")
    command = f'"$1" simulate {arguments} {closed}'
    shell = ["sh", "-c", command, "sh", str(COMMAND)]
    done = subprocess.run(shell, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def on_a_small_disk(folder: Path, size: str, *arguments: str | Path) -> tuple[int, str, list[str]]:
    """Run the command with a small disk of its own; return its outcome and the files left there."""
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    options, _, remount = size.partition(",")
    script = (
        'mount -t tmpfs -o size="$1" none "$2" || exit 77; [ -z "$3" ] || mount -o remount,$3 "$2";'
        'd="$2"; shift 3; "$@" >&2; code=$?; ls -A "$d"; exit $code'
    )
    done = subprocess.run(
        [*namespace, "sh", "-c", script, "sh", options, str(folder), remount, COMMAND, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip("no disk can be mounted here")
    return done.returncode, done.stderr, done.stdout.splitlines()


MANY = ("--cache", ",".join(str(64 * n) for n in range(2, 40)), "--cache-page", "16,32,64")


@pytest.mark.parametrize(
    ("name", "size"),
    [("t.parquet", "4K"), ("t.parquet", "64K"), ("t.csv", "64K"), ("t.csv", "96K")],
)
def test_a_full_disk(tmp_path: Path, name: str, size: str) -> None:
    """The error is one line with the requested file, wherever the space runs out."""
    trace = import_csv(tmp_path, "0,12\n100,40\n" * 50)
    disk = tmp_path / "disk"
    disk.mkdir()
    code, message, left = on_a_small_disk(disk, size, "explore", trace, *MANY, "-o", disk / name)
    assert code == 2, message
    # The line follows a table of files that remain if the disk is full at the last moment.
    line = message.splitlines()[-1]
    assert line.startswith(f"flashpager: {disk / name}: No space left on device"), message
    for internal in ("cells", "hrift", "partial"):
        assert internal not in message
    assert set(left) <= {f".{name}.cells"}


@pytest.mark.parametrize(
    "arguments",
    [
        ("explore", "{trace}", "-o", "{disk}/t.parquet"),
        ("explore", "{trace}", "-o", "{disk}/t.csv"),
        ("report", "{trace}", "-o", "{disk}/t.html"),
        ("handler", "--plot", "{disk}/t.svg"),
        ("attribute", "{trace}", "-o", "{disk}/t.csv"),
        ("trace", "check", "{trace}", "-o", "{disk}/t.trace"),
    ],
    ids=" ".join,
)
def test_a_disk_without_space(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """The error names the requested file, not the temporary one."""
    trace = import_csv(tmp_path, "0,12\n100,40\n")
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [word.format(trace=trace, disk=disk) for word in arguments]
    code, message, left = on_a_small_disk(disk, "64K,ro", *words)
    assert code == 2, message
    assert f"flashpager: {words[-1]}: Read-only file system" in message
    assert left == []


def read_for_a_moment(*arguments: str | Path) -> tuple[int, str]:
    """Return the exit status and messages of a command whose reader leaves at once."""
    with subprocess.Popen(
        [COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        complaint = running.stderr.read().decode()
    return running.returncode, complaint


@pytest.mark.parametrize(
    "arguments",
    [
        ("trace", "export", "{trace}", "-o", "-"),
        ("explore", "{trace}", "--limit", "0"),
        ("explore", "{trace}", "--json"),
        ("simulate", "{trace}"),
        ("parts", "list"),
        ("explore", "--help"),
        ("--version",),
    ],
    ids=" ".join,
)
def test_a_reader_who_leaves(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """A closed pipe is not a failure of any command."""
    trace = import_csv(tmp_path, "0,12\n16,12\n" * 20_000)
    code, complaint = read_for_a_moment(*(word.format(trace=trace) for word in arguments))
    assert code == 0, complaint
    for word in ("Traceback", "Broken pipe", "Exception"):
        assert word not in complaint
