"""Tests of explorations on a Dask cluster, which give the same rows even if a worker dies."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from distributed import LocalCluster
from polars.testing import assert_frame_equal

from flashpager import Design, FlashpagerError, Space, Trace, explore
from flashpager.replay.cells import cells_of
from flashpager.replay.cluster import run_on_cluster
from tests.conftest import COMMAND, ROOT, fails, flashpager, import_csv, process, refusal

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
BZIP2 = ROOT / "examples" / "traces" / "bzip2.trace"
LISTS = (
    *("--cache", "1K,2K,4K", "--cache-page", "32,64,128,256", "--policy", "lru,clock,min"),
    *("--part", "K9F1208Q0B,MT29F2G08AAC"),
)
#: A space whose cells take tenths of a second or more each.
LONG = Space(
    cache_bytes="1K,2K,3K,4K,6K,8K", cache_page_bytes="16,32,64", policy="lru,clock,min,fifo"
)


@pytest.fixture(name="cluster", scope="module")
def _cluster() -> Iterator[LocalCluster]:
    """Return two worker processes, each watched by a nanny."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        memory_limit=0,
        env={"RAYON_NUM_THREADS": "1"},
    ) as cluster:
        yield cluster


def test_a_worker_is_killed_midway(cluster: LocalCluster) -> None:
    """Other workers replay the cells of a killed one, and the rows equal the local ones."""
    trace = Trace.open(BZIP2)
    expected = explore(trace, LONG)
    killed: list[int] = []
    lost: list[Any] = []

    def kill(finished: float, _all: int) -> None:
        # The first call comes before a cell is finished.
        if finished == 0 or killed:
            return
        nannies = {nanny.worker_address: nanny for nanny in cluster.workers.values()}
        for address, state in cluster.scheduler.workers.items():
            if state.processing:
                lost.extend(task.key for task in state.processing)
                killed.append(nannies[address].pid)
                os.kill(killed[0], signal.SIGKILL)
                return

    table = explore(trace, LONG, progress=kill, cluster=cluster.scheduler_address)
    assert len(killed) == 1
    assert lost
    assert killed[0] not in [nanny.pid for nanny in cluster.workers.values()]
    assert_frame_equal(table, expected, check_exact=True)


def test_the_command(cluster: LocalCluster, tmp_path: Path) -> None:
    """The command writes the same table with a cluster; relative paths are the caller's."""
    here, on_cluster = tmp_path / "here.parquet", tmp_path / "there.parquet"
    shutil.copy(CARD, tmp_path / "own.trace")
    quiet = flashpager("explore", "own.trace", *LISTS, "-o", here, cwd=tmp_path)
    flags = ("--cluster", cluster.scheduler_address)
    done = flashpager("explore", "own.trace", *LISTS, *flags, "-o", on_cluster.name, cwd=tmp_path)
    assert done.out == quiet.out
    assert done.err.replace(on_cluster.name, str(here)) == quiet.err
    assert_frame_equal(pl.read_parquet(on_cluster), pl.read_parquet(here), check_exact=True)
    assert len(pl.read_parquet(on_cluster)) == 72
    assert {path.name for path in tmp_path.iterdir()} == {"own.trace", here.name, on_cluster.name}


def _without_progress(printed: str) -> list[str]:
    """Return the lines that do not depend on how long a command takes."""
    return [line for line in printed.splitlines() if not line.startswith("passes: ")]


def test_local() -> None:
    """``--cluster local`` starts a cluster on this machine for one call."""
    done = flashpager("explore", CARD, *LISTS, "--json", "--cluster", "local")
    here = flashpager("explore", CARD, *LISTS, "--json")
    assert done.json == here.json
    assert _without_progress(done.err) == _without_progress(here.err)


def test_several_traces_and_part_files(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Part files are sent to the workers, and the rows name them as the user did."""
    catalog = (ROOT / "parts" / "K9F1208Q0B.toml").read_text(encoding="utf-8")
    (tmp_path / "own.toml").write_text(catalog.replace("K9F1208Q0B", "MY-NAND"), encoding="utf-8")
    shutil.copy(ROOT / "parts" / "NOR-CARDIS.toml", tmp_path / "nor.toml")
    other = import_csv(tmp_path, "0,64\n512,64\n" * 100, "other.trace")
    # The workers have another current directory.
    monkeypatch.chdir(tmp_path)
    traces = [Trace.open(CARD), Trace.open(other.name)]
    space = Space(
        Design(nor="nor.toml", processor="none"), part="own.toml,W25N01GV", policy="lru,clock"
    )
    here = explore(traces, space)
    on_cluster = explore(traces, space, cluster=cluster.scheduler_address)
    assert_frame_equal(on_cluster, here, check_exact=True)
    assert set(on_cluster["part"]) == {"own.toml", "W25N01GV"}
    assert set(on_cluster["nor"]) == {"nor.toml"}
    assert "MY-NAND" in on_cluster["warnings"][0]


def test_an_error_of_a_worker(cluster: LocalCluster, tmp_path: Path) -> None:
    """An error of a worker has the same message as a local one, with the user's file names."""
    good = import_csv(tmp_path, "0,64\n512,64\n" * 1000, "good.trace")
    trace = Trace.open(good)
    designs = Space(policy="lru").possible_designs().possible
    good.write_bytes(good.read_bytes()[:-40])
    with pytest.raises(FlashpagerError, match=r"good\.trace") as here:
        explore([trace], Space(policy="lru"))
    with pytest.raises(FlashpagerError) as on_cluster:
        run_on_cluster(
            cluster.scheduler_address, cells_of(trace, designs), lambda _cell, _rows: None
        )
    assert str(on_cluster.value) == str(here.value)
    good.unlink()
    with pytest.raises(FlashpagerError, match=r"good\.trace: No such file"):
        run_on_cluster(
            cluster.scheduler_address, cells_of(trace, designs), lambda _cell, _rows: None
        )


def test_another_version(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker with another version of flashpager is refused."""
    monkeypatch.setattr("flashpager._engine.version", lambda: "0.0.7")
    with pytest.raises(FlashpagerError, match=r"has flashpager .*, not 0\.0\.7 as here"):
        explore(Trace.open(CARD), Space(), cluster=cluster.scheduler_address)


def test_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong or unreachable address gives one line at the end of the wait."""
    monkeypatch.setattr("flashpager.replay.cluster._CONNECT_SECONDS", 1)
    for address, words in (
        ("tcp://127.0.0.1:9", ["tcp://127.0.0.1:9: no Dask scheduler"]),
        ("tcp://127.0.0.1", ["missing port"]),
        ("elsewhere", ["'elsewhere'", "local", "tcp://host:8786"]),
        ("", ["tcp://host:8786"]),
    ):
        fails("explore", CARD, "--cluster", address, words=words)


def test_without_dask(tmp_path: Path) -> None:
    """Without Dask, the message shows how to install it."""
    (tmp_path / "distributed.py").write_text("raise ImportError('not there')", encoding="ascii")
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    done = process("explore", CARD, "--cluster", "local", env={"PYTHONPATH": path}, code=2)
    refusal(done, ["pip install 'flashpager[cluster]'"])


def test_dask_is_not_imported_without_the_flag() -> None:
    """Without --cluster, Dask is not imported."""
    program = (
        "import sys\n"
        "from flashpager.cli import main\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "explore", CARD, "--cache", "1K"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "polars" in loaded
    assert not loaded & {"dask", "distributed", "tornado"}


def test_interrupted(cluster: LocalCluster, tmp_path: Path) -> None:
    """Ctrl-C, which a terminal sends to all processes of a command, prints one line.

    The next call continues with the finished cells.
    """
    table = tmp_path / "table.parquet"
    kept = tmp_path / ".table.parquet.cells"
    sizes = ",".join(str(64 * n) for n in range(1, 20))
    flags = ("--cache", sizes, "--cache-page", "16,32,64,128", "--policy", "lru,min,fifo")
    for address in (cluster.scheduler_address, "local"):
        child = subprocess.Popen(
            [COMMAND, "explore", BZIP2, *flags, "-o", table, "--cluster", address],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        before = len(list(kept.glob("*.parquet")))
        while child.poll() is None and len(list(kept.glob("*.parquet"))) == before:
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGINT)
        out, err = child.communicate()
        assert (child.returncode, out) == (130, b""), err
        assert err.decode().splitlines()[-1] == "flashpager: interrupted"
        assert "Traceback" not in err.decode()
        assert not table.exists()
    assert len(list(kept.glob("*.parquet"))) >= 2
