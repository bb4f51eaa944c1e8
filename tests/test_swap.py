"""``flashpager swap``, driven as a user would."""

import hashlib
import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import ROOT, fails, flashpager

PAGE = os.sysconf("SC_PAGE_SIZE")
#: A program with pages of its own making, which has started another one like it.
HOLDER = """
import hashlib, mmap, subprocess, sys
name, *rest = sys.argv[1:]
held = mmap.mmap(-1, 32 * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range(32):
    first = page * mmap.PAGESIZE
    held[first : first + 64] = hashlib.sha512(f"{name} {page}".encode()).digest()
child = subprocess.Popen([sys.executable, "-c", rest[0], "child"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) if rest else None
if child:
    child.stdout.readline()
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def running() -> Iterator[subprocess.Popen[str]]:
    """Run a program that holds known pages, and a child that holds others."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, "parent", HOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "ready\n"
        yield holder


def marks(name: str) -> set[bytes]:
    """Give how the pages of a program begin."""
    return {hashlib.sha512(f"{name} {page}".encode()).digest() for page in range(32)}


def beginnings(pages: Path) -> list[bytes]:
    """Give how all pages of a file begin, as another reader of Parquet sees them."""
    return [page[:64] for page in pl.read_parquet(pages)["bytes"].to_list()]


class TestCapture:
    """``swap capture``."""

    def test_pages_of_a_program(self, running: subprocess.Popen[str], tmp_path: Path) -> None:
        """All its pages are there, none of its child, and it says so."""
        pages = tmp_path / "held.pages"
        done = flashpager("swap", "capture", "--pid", str(running.pid), "-o", pages)
        begin = beginnings(pages)
        assert marks("parent") <= set(begin)
        assert not marks("child") & set(begin)
        assert f"{len(begin):,} pages of {PAGE:,} bytes" in done.err
        assert running.poll() is None

    def test_children_and_limit(self, running: subprocess.Popen[str], tmp_path: Path) -> None:
        """Children come along when asked for; a limit takes evenly of all."""
        pages = tmp_path / "all.pages"
        pid = str(running.pid)
        flashpager("swap", "capture", "--pid", pid, "--all-children", "-o", pages)
        assert marks("parent") | marks("child") <= set(beginnings(pages))
        flashpager(
            *("swap", "capture", "--pid", pid, "--all-children", "--limit", "500", "-o", pages)
        )
        begin = beginnings(pages)
        assert len(begin) == 500
        assert marks("parent") & set(begin)
        assert marks("child") & set(begin)
        assert len(pl.read_parquet(pages)["process"].unique()) == 2

    def test_what_cannot_be(self, running: subprocess.Popen[str], tmp_path: Path) -> None:
        """No such process, no place to write to, a full disk, nothing asked for."""
        pages = tmp_path / "none.pages"
        free = next(pid for pid in itertools.count(1 << 21) if not Path(f"/proc/{pid}").exists())
        fails("swap", "capture", "--pid", str(free), "-o", pages, words=[f"no process {free}"])
        pid = str(running.pid)
        fails("swap", "capture", "--pid", pid, "--limit", "0", "-o", pages, words=["--limit"])
        nowhere = tmp_path / "no" / "where.pages"
        fails("swap", "capture", "--pid", pid, "-o", nowhere, words=[str(nowhere)])
        fails("swap", "capture", "--pid", pid, "-o", "/dev/full", words=["/dev/full", "No space"])
        assert list(tmp_path.iterdir()) == []
