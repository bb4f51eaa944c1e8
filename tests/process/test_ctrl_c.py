"""Tests of Ctrl-C at each moment at which a result could be lost.

The signal is raised by the code under test itself, at a step that the test chooses, or while the
command waits for the test. So no test depends on time.
"""

import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl
import pytest

import flashpager as flashpager_api
from flashpager import _engine
from flashpager.choose import layout as layouts
from flashpager.choose import luck as lucks
from flashpager.choose import pin as pins
from flashpager.cli import homes, ordering
from flashpager.cli import pin as pinning
from flashpager.record import recording, signals
from flashpager.replay import exploration
from flashpager.replay import table as results_table
from tests.conftest import ROOT, flashpager, import_csv
from tests.face.test_explore import noise

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
#: Bytes of the pipe that stops a command in the middle of its imports.
_PIPE_BYTES = 4096


def signal_in(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, *, times: int = 1) -> None:
    """Let a function receive Ctrl-C when its first call begins."""
    function = getattr(owner, name)
    left = [times]

    def with_signal(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        while left[0] > 0:
            left[0] -= 1
            signal.raise_signal(signal.SIGINT)
        return function(*given, **named)

    monkeypatch.setattr(owner, name, with_signal)


@pytest.mark.parametrize("pages", [1, 4, 9])
def test_while_modules_are_imported(tmp_path: Path, pages: int) -> None:
    """A command that is interrupted at its start ends in one line, wherever it is."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
    # Python prints a line for each import, and waits while the pipe is full.
    child = subprocess.Popen(
        [
            *(sys.executable, "-X", "importtime", "-m", "flashpager", "explore", str(CARD)),
            *("-o", str(tmp_path / "table.csv")),
        ],
        stderr=writer,
        stdout=subprocess.PIPE,
    )
    os.close(writer)
    begun = b""
    with os.fdopen(reader, "rb", buffering=0) as lines:
        while b"flashpager.cli" not in begun:
            begun += lines.read(_PIPE_BYTES)
        for _ in range(pages):
            begun += lines.read(_PIPE_BYTES)
        child.send_signal(signal.SIGINT)
        rest = b"".join(iter(lambda: lines.read(_PIPE_BYTES), b""))
    assert child.communicate()[0] == b""
    text = (begun + rest).decode()
    # The line may follow an unfinished one of Python's own.
    assert text.count("flashpager: interrupted") == 1
    assert "Traceback" not in text
    assert "Exception ignored" not in text
    assert child.returncode == 130
    assert list(tmp_path.iterdir()) == []


class TestExplore:
    """Explorations that are interrupted keep each pass that was finished."""

    @pytest.fixture(name="trace")
    def _trace(self, tmp_path: Path) -> flashpager_api.Trace:
        return flashpager_api.Trace.open(import_csv(tmp_path, noise(4000, 12_000)))

    @staticmethod
    def kept(trace: flashpager_api.Trace, keep: Path) -> int:
        """Explore until the interruption; return the number of passes that are kept."""
        space = flashpager_api.Space(policy="lru,fifo,clock")
        with pytest.raises(KeyboardInterrupt):
            flashpager_api.explore(trace, space, keep=keep)
        for path in keep.iterdir():
            assert pl.read_parquet(path).schema == pl.Schema(results_table.SCHEMA)
        return len(list(keep.iterdir()))

    @pytest.mark.parametrize("name", ["to_frame", "write_parquet"])
    def test_while_a_pass_is_stored(
        self,
        trace: flashpager_api.Trace,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
    ) -> None:
        """A pass whose rows are being stored is kept."""
        signal_in(monkeypatch, results_table, name)
        assert self.kept(trace, tmp_path / "cells") >= 1

    def test_twice(
        self, trace: flashpager_api.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The second Ctrl-C loses the pass in hand, and keeps the others that have finished."""
        passes = []

        def counted(*given: Any) -> pl.DataFrame:  # noqa: ANN401
            passes.append(given)
            return made(*given)

        made = results_table.to_frame
        monkeypatch.setattr(results_table, "to_frame", counted)
        signal_in(monkeypatch, results_table, "to_frame", times=2)
        keep = tmp_path / "cells"
        keep.mkdir()
        assert self.kept(trace, keep) == len(passes)

    def test_before_a_pass_is_finished(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The command says that nothing is kept, if no pass was finished."""
        signal_in(monkeypatch, exploration, "_run_here")
        monkeypatch.setattr(exploration.CellStore, "add", lambda *_given: None)
        done = flashpager("explore", CARD, "--policy", "lru", "-o", tmp_path / "t.csv", code=130)
        assert "no pass was finished yet, so none is kept" in done.err
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("owner", "name"), [(layouts, "layout"), (ordering, "_write")], ids=["search", "write"]
)
def test_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: ModuleType, name: str
) -> None:
    """An order that was found is written, if Ctrl-C comes in the search or as it is written."""
    signal_in(monkeypatch, owner, name)
    order = tmp_path / "order"
    limit = ("--pages", "16", "--evaluations", "64")
    done = flashpager("layout", CARD, "--part", "W25N01GV", *limit, "-o", order)
    assert ("interrupted: the best so far is kept" in done.err) == (name == "layout")
    assert order.read_text().split()


@pytest.mark.parametrize(
    ("owner", "name"), [(pins, "pin"), (pinning, "_write")], ids=["search", "write"]
)
def test_pin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, owner: ModuleType, name: str) -> None:
    """A choice that was found is written, if Ctrl-C comes in the search or as it is written."""
    signal_in(monkeypatch, owner, name)
    chosen = tmp_path / "pinned"
    done = flashpager("pin", CARD, "--board", "rp2040", "--ram", "2K", "-o", chosen)
    assert ("interrupted: the best so far is kept" in done.err) == (name == "pin")
    assert chosen.exists()


def test_homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A training that is ended writes no file, and says so."""
    signal_in(monkeypatch, homes.HomesFlags, "trained")
    classes = tmp_path / "classes"
    flags = ("--policy", "gclock", "--train-classes", classes)
    done = flashpager("homes", CARD, "--part", "W25N01GV", *flags, code=130)
    assert "no homes were trained yet, so nothing is written" in done.err
    assert not classes.exists()


def test_luck(monkeypatch: pytest.MonkeyPatch) -> None:
    """The links that were replayed give the answer, which states their number."""
    signal_in(monkeypatch, lucks, "link_luck")
    done = flashpager("luck", CARD, "--board", "rp2040", "--draws", "100000", "--json")
    drawn = done.json["draws"]
    assert 1 <= drawn < 100_000
    assert len(done.json["designs"][0]["drawn_ns"]) == drawn
    assert f"interrupted: the answer is that of {drawn:,} of 100,000 links" in done.err


def test_luck_of_fewer_links_is_that_of_the_first() -> None:
    """A stopped search has the same links as one that asks for so many."""
    trace = flashpager_api.Trace.open(CARD)
    design = flashpager_api.Design.from_board("rp2040")
    stopped = lucks.link_luck(trace, [design], draws=100_000, should_continue=lambda: False)
    drawn = stopped.designs[0].drawn_ns
    whole = lucks.link_luck(trace, [design], draws=len(drawn))
    assert whole.designs[0].drawn_ns == drawn


class TestRecord:
    """Recordings that are interrupted while the program starts, and while the trace is finished."""

    def test_while_the_program_starts(self) -> None:
        """A signal that comes before the program is there is passed on to it."""
        with signals.forwarded_signals(system=False) as forward:
            signal.raise_signal(signal.SIGINT)
            with subprocess.Popen(["sleep", "600"]) as child:
                forward.attach(child)
                assert child.wait() == -signal.SIGINT
        assert forward.count == 1

    def test_while_the_trace_is_finished(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A signal after the program's end does not lose its trace."""
        signal_in(monkeypatch, recording, "_ending")
        trace = tmp_path / "true.trace"
        flashpager("record", "-o", trace, "--", "/bin/true")
        assert _engine.trace_info(trace).ending.name == "complete"
