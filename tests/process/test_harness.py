"""Tests of the harness: a command called in the tests' process behaves as in its own process."""

import os
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, import_csv, long_first, process
from tests.tools import PACKAGES, TestRecord, append, collected, divided, summary

COMMANDS = (
    ("--version",),
    ("--help",),
    ("explore", "--help"),
    ("parts", "list"),
    ("parts", "list", "--json"),
    ("no-such-command",),
    ("simulate",),
    ("parts", "show", "nothing"),
    (),
)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_both_ways_give_the_same(arguments: tuple[str, ...]) -> None:
    """Both ways give the same exit status and the same bytes of both streams."""
    assert flashpager(*arguments, code=None) == process(*arguments, code=None)


def test_streams_folder_and_environment(tmp_path: Path) -> None:
    """Streams, folder and environment hold for one call alone, even after an error."""
    kept = sys.stdout, sys.stderr, sys.stdin, sys.argv, Path.cwd(), dict(os.environ)
    (tmp_path / "good.csv").write_text("offset,length\n0,4\n", encoding="ascii")
    for _ in range(2):
        fails("trace", "import", "-", "-o", "a.trace", stdin=b"\1" * 100_000, cwd=tmp_path)
        flashpager(
            "trace", "import", "-", "-o", "a.trace", cwd=tmp_path, stdin=tmp_path / "good.csv"
        )
        shown = flashpager("trace", "export", tmp_path / "a.trace", "-o", "-", env={"SOME": "word"})
        assert shown.raw == b"offset,length\n0,4\n"
    assert (sys.stdout, sys.stderr, sys.stdin, sys.argv, Path.cwd(), dict(os.environ)) == kept


def test_a_bug_is_a_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An unexpected exception in a command fails the test."""
    trace = import_csv(tmp_path, "0,4\n")
    monkeypatch.setattr("json.dump", lambda *_all, **_named: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        flashpager("trace", "info", trace, "--json")


def test_summary_of_what_was_left_out(tmp_path: Path) -> None:
    """The summary has a line for each tool with its suites, and for each other reason."""
    file = tmp_path / "left-out"
    assert collected(file) == []
    append(
        file, [TestRecord("Python", "qemu-arm, zstd not installed", f"test_{n}") for n in range(3)]
    )
    append(file, [TestRecord("Rust", "avr-gcc not installed", "one")] * 2)
    append(file, [TestRecord("C", "avr-gcc not installed", "avr")])
    append(file, [TestRecord("Python", "too cold", "x"), TestRecord("Python", "", "ran")])
    assert summary(collected(file)) == [
        "missing tool  tests left out  how to get it (Debian)",
        "avr-gcc       1 C, 1 Rust     apt install gcc-avr avr-libc",
        "qemu-arm      3 Python        apt install qemu-user",
        "zstd          3 Python        apt install zstd",
        "",
        "All of them: apt install avr-libc gcc-avr qemu-user zstd",
        "",
        "Left out for another reason:",
        "  1 Python: too cold",
    ]
    assert summary([]) == []


def test_two_runs_are_all_tests() -> None:
    """A second run executes the tests that the first left out, and refuses unknown tests."""
    records = [TestRecord("Python", "", "ran"), TestRecord("Python", "no zstd", "skipped")]
    assert divided(records, ["ran", "skipped"]) == ({"skipped"}, [])
    _, differences = divided(records, ["skipped", "new"])
    assert differences == [
        "new: not in the record of the earlier run",
        "ran: recorded, but no test today",
    ]


def test_all_tools_have_a_package() -> None:
    """Every Debian package that CI installs can be named in a summary."""
    installed = (ROOT / ".ci" / "run").read_text(encoding="utf-8").split()
    # The first three come with other packages; the last is needed by Spike, which is not installed.
    by_themselves = {"binutils", "g++", "util-linux", "device-tree-compiler"}
    assert set(" ".join(PACKAGES.values()).split()) - by_themselves <= set(installed)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("long", [(), (8,), (0, 1, 2, 9), tuple(range(10))])
def test_each_worker_begins_with_long_tests(workers: int, long: tuple[int, ...]) -> None:
    """No test is lost, each part has its share of the long ones, and these come first in it."""
    tests = list(range(10))
    order = long_first(tests, [test in long for test in tests], workers)
    assert sorted(order) == tests
    assert [test for test in order if test not in long] == [
        test for test in tests if test not in long
    ]
    begin = 0
    for worker in range(workers):
        end = begin + (len(tests) - begin) // (workers - worker)
        are_long = [test in long for test in order[begin:end]]
        assert are_long == sorted(are_long, reverse=True)
        assert abs(sum(are_long) - len(long) / workers) < 1
        begin = end
