"""Tests of copying the examples to a folder of the reader's choice."""

from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager


def test_they_are_copied(tmp_path: Path) -> None:
    """Every trace is copied and equals the repository's; so does its description."""
    done = flashpager("examples", cwd=tmp_path)
    copied = tmp_path / "examples"
    traces = sorted((ROOT / "examples" / "traces").rglob("*.trace"))
    assert len(traces) > 10
    for trace in traces:
        copy = copied / trace.relative_to(ROOT / "examples")
        assert copy.read_bytes() == trace.read_bytes()
    files = [path for path in copied.rglob("*") if path.is_file()]
    assert f"examples: {len(files)} files" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["examples"]
    # Copies can be changed.
    assert all(path.stat().st_mode & 0o200 for path in files)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    """An existing folder stays unchanged."""
    mine = tmp_path / "mine"
    mine.mkdir()
    fails("examples", mine, words=["mine", "already", "name a folder"])
    assert not list(mine.iterdir())


@pytest.mark.parametrize("name", ["nowhere/examples", "file/examples"])
def test_a_folder_that_cannot_be_written(tmp_path: Path, name: str) -> None:
    """The error is one line, and no file is left."""
    (tmp_path / "file").write_bytes(b"")
    fails("examples", tmp_path / name, words=[name])
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
