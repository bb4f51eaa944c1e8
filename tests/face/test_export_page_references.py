"""Tests of exported page references: libCacheSim and a reader written from its format agree."""

import re
import struct
import subprocess
import sys
from collections import OrderedDict
from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, import_csv, runs_of

TRACE = ROOT / "examples/traces/card-firmware.trace"
NEVER = -1


def entries(file: Path) -> list[tuple[int, int, int, int]]:
    """Read the entries as the format's authors describe them."""
    return list(struct.iter_unpack("<IQIq", file.read_bytes()))


def misses(pages: list[int], frames: int) -> int:
    """Count the misses of LRU."""
    cache: OrderedDict[int, None] = OrderedDict()
    count = 0
    for page in pages:
        if page in cache:
            cache.move_to_end(page)
            continue
        count += 1
        cache[page] = None
        if len(cache) > frames:
            cache.popitem(last=False)
    return count


def exported(folder: Path, trace: Path, page: str) -> Path:
    """Export the references of a trace, with pages of this size."""
    file = folder / "pages.oracleGeneral"
    flashpager("trace", "export", trace, "-o", file, "--format", "oracle-general", "--page", page)
    return file


def test_small(tmp_path: Path) -> None:
    """Consecutive references to a page become one, and each names the next to its page."""
    trace = import_csv(tmp_path, "0,64\n60,8\n256,200\n0,4\n")
    assert entries(exported(tmp_path, trace, "64")) == [
        (0, 0, 64, 6),
        (1, 1, 64, NEVER),
        (2, 4, 64, NEVER),
        (3, 5, 64, NEVER),
        (4, 6, 64, NEVER),
        (5, 7, 64, NEVER),
        (6, 0, 64, NEVER),
    ]


@pytest.mark.parametrize("page", [256, 1024])
def test_a_recorded_trace(tmp_path: Path, page: int) -> None:
    """Next references are those that follow, and LRU misses as often as in ``simulate``."""
    references = entries(exported(tmp_path, TRACE, str(page)))
    pages = [entry[1] for entry in references]
    wanted: list[int] = []
    for offset, length in runs_of(TRACE):
        for reference in range(offset // page, (offset + length - 1) // page + 1):
            if not wanted or wanted[-1] != reference:
                wanted.append(reference)
    assert pages == wanted
    last: dict[int, int] = {}
    for number in range(len(references) - 1, -1, -1):
        assert references[number][3] == last.get(pages[number], NEVER)
        last[pages[number]] = number
    part = ("--part", "W25N01GV")
    design = (*part, "--policy", "lru", "--cache-page", str(page), "--cache", str(8 * page))
    counts = flashpager("simulate", TRACE, *design, "--json").json["counts"]
    assert counts["references"] == len(pages)
    assert counts["misses"] == misses(pages, 8)


def test_too_little_memory(tmp_path: Path) -> None:
    """More references than memory holds are refused in a line, and leave no file."""
    trace, file = import_csv(tmp_path, "0,16777216\n"), tmp_path / "pages.oracleGeneral"
    script = f"""
import resource
from pathlib import Path
from flashpager._engine import FlashpagerError, export_trace
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20),) * 2)
try:
    export_trace({str(trace)!r}, "oracle-general", 4, {str(file)!r}, 1)
except FlashpagerError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"\d+ page references and more do not fit into memory.*\n", done.stdout)
    assert not file.exists()


def test_libcachesim_counts_the_same(tmp_path: Path) -> None:
    """The library itself reads the file, and its LRU misses as often."""
    library = pytest.importorskip("libcachesim", reason="pip install libcachesim")
    file = exported(tmp_path, TRACE, "256")
    reader = library.TraceReader(trace=str(file), trace_type=library.TraceType.ORACLE_GENERAL_TRACE)
    cache = library.LRU(cache_size=8 * 256)
    ratio, _ = cache.process_trace(reader)
    pages = [entry[1] for entry in entries(file)]
    assert round(ratio * len(pages)) == misses(pages, 8)


def test_refused(tmp_path: Path) -> None:
    """A page size that is not a power of two is refused."""
    export = ("trace", "export", TRACE, "-o", tmp_path / "p", "--format", "oracle-general")
    assert "power of two" in fails(*export, "--page", "100")
