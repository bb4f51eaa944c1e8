"""Tests of explorations that are interrupted and resumed."""

import shutil
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

import flashpager as flashpager_api
from flashpager.replay import table as results_table
from tests.conftest import COMMAND, ROOT, flashpager, import_csv
from tests.face.test_explore import noise
from tests.face.test_simulate import GOOD_PART


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_csv(tmp_path_factory.mktemp("noise"), noise(4000, 12_000))


#: A long trace and enough passes over it for an interruption between them.
LONG = ROOT / "examples" / "traces" / "bzip2.trace"
LONG_SPACE = {
    "cache_page_bytes": "16,32,64,128",
    "cache_bytes": "1K,2K,4K,8K",
    "policy": "lru,min,fifo,clock,sieve",
}
LONG_LISTS = (
    *("--cache-page", LONG_SPACE["cache_page_bytes"], "--cache", LONG_SPACE["cache_bytes"]),
    *("--policy", LONG_SPACE["policy"]),
)


def interrupted(trace: Path, table: Path, *flags: str | Path) -> Path:
    """Interrupt an exploration after some cells were stored; return their folder."""
    cells = table.with_name(f".{table.name}.cells")
    child = subprocess.Popen(
        [COMMAND, "explore", trace, *flags, "-o", table],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 600
    while len(list(cells.glob("*.parquet"))) < 2:
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=600)
    assert (child.returncode, out) == (130, b"")
    kept = "finished passes are kept: the same command continues from there"
    # A slow machine also has lines of progress.
    lines = [line for line in err.decode().splitlines() if not line.startswith("passes: ")]
    assert lines == [kept, "flashpager: interrupted"]
    return cells


class TestInterrupted:
    """Explorations that are ended by Ctrl-C and resumed."""

    @pytest.mark.parametrize("suffix", ["parquet", "csv"])
    def test_an_older_table_stays(self, tmp_path: Path, suffix: str) -> None:
        """Ctrl-C ends at once, and leaves an older table as it was."""
        table = tmp_path / f"table.{suffix}"
        table.write_bytes(b"older")
        cells = interrupted(LONG, table, *LONG_LISTS)
        assert table.read_bytes() == b"older"
        assert {path.name for path in tmp_path.iterdir()} == {table.name, cells.name}
        assert all(path.suffix == ".parquet" for path in cells.iterdir())

    def test_nothing_stays_of_a_half_written_cell(
        self, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Ctrl-C while a cell is written leaves no part of it."""
        keep = tmp_path / "cells"

        def interrupted_after_writing(piece: pl.DataFrame, path: Path) -> None:
            piece.write_parquet(path)
            raise KeyboardInterrupt

        monkeypatch.setattr(results_table, "write_parquet", interrupted_after_writing)
        space = flashpager_api.Space(policy="lru,fifo")
        with pytest.raises(KeyboardInterrupt):
            flashpager_api.explore(flashpager_api.Trace.open(trace), space, keep=keep)
        assert list(keep.iterdir()) == []

    def test_resumed(self, tmp_path: Path) -> None:
        """Intact cells are used again, damaged ones are not, and the result is the usual one."""
        table = tmp_path / "table.parquet"
        cells = interrupted(LONG, table, *LONG_LISTS)
        kept = len(list(cells.iterdir()))
        damaged, wrong, *_ = sorted(cells.iterdir())
        damaged.write_bytes(damaged.read_bytes()[:-20])
        progress: list[tuple[int, int]] = []
        opened = flashpager_api.Trace.open(LONG)
        space = flashpager_api.Space(**LONG_SPACE)  # type: ignore[arg-type]
        copied = tmp_path / "copied"
        shutil.copytree(cells, copied)
        resumed = flashpager_api.explore(
            opened, space, keep=copied, progress=lambda *now: progress.append(now)
        )
        assert progress[0][0] == kept - 1
        assert progress[-1][0] == progress[-1][1]
        assert sorted(progress) == progress
        assert not copied.exists()
        whole = flashpager_api.explore(opened, space)
        assert resumed.equals(whole)
        # The command resumes, too: a mark in a kept cell appears in its result.
        marked = pl.read_parquet(wrong).with_columns(walk=pl.lit(4711, pl.UInt64))
        marked.write_parquet(wrong)
        flashpager("explore", LONG, *LONG_LISTS, "-o", table)
        result = pl.read_parquet(table)
        assert len(result.filter(pl.col("walk") == 4711)) == len(marked)
        assert result.drop("walk").equals(whole.drop("walk"))
        assert [path.name for path in tmp_path.iterdir()] == [table.name]
        flashpager("explore", LONG, *LONG_LISTS, "-o", table)
        assert pl.read_parquet(table).equals(whole)

    def test_another_part_or_trace_is_computed_again(self, trace: Path, tmp_path: Path) -> None:
        """A kept cell is not used for another trace, or after numbers in a part's file changed."""
        part, keep = tmp_path / "mine.toml", tmp_path / "cells"
        part.write_text(GOOD_PART, encoding="ascii")
        space = flashpager_api.Space(
            flashpager_api.Design(part=str(part), nor=None), policy="lru,fifo,clock"
        )
        opened = flashpager_api.Trace.open(trace)

        def stop(finished: float, _all: int) -> None:
            if finished:
                raise KeyboardInterrupt

        def progress_at_start(traced: flashpager_api.Trace) -> tuple[int, int]:
            """Return the finished cells and all cells at the start, given a copy of the folder."""
            progress: list[tuple[int, int]] = []
            copied = tmp_path / "copied"
            shutil.copytree(keep, copied)
            flashpager_api.explore(
                traced, space, keep=copied, progress=lambda *now: progress.append(now)
            )
            return progress[0]

        with pytest.raises(KeyboardInterrupt):
            flashpager_api.explore(opened, space, keep=keep, progress=stop)
        kept = len(list(keep.iterdir()))
        assert kept >= 1
        assert progress_at_start(opened) == (kept, 3)
        other = import_csv(tmp_path, noise(100, 12_000), trace.name)
        assert progress_at_start(flashpager_api.Trace.open(other)) == (0, 3)
        part.write_text(GOOD_PART.replace("value = 1000", "value = 2000"), encoding="ascii")
        assert progress_at_start(opened) == (0, 3)
        slower = flashpager_api.explore(opened, space)
        part.write_text(GOOD_PART, encoding="ascii")
        assert progress_at_start(opened) == (kept, 3)
        assert (slower["load_ns"] == 2 * flashpager_api.explore(opened, space)["load_ns"]).all()
