"""Helpers that all tests share: the command, required tools, and traces written by hand."""

import fcntl
import os
import signal
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import pytest

from flashpager import Design, Trace, pin
from flashpager._engine import Pinning
from flashpager.choose import pin as pins

pytest.register_assert_rewrite("tests.command", "tests.recordings")

from tests import tools  # noqa: E402  (its assertions are rewritten first)
from tests.command import (  # noqa: E402
    COMMAND,
    Finished,
    fails,
    flashpager,
    process,
    refusal,
)
from tests.tools import REQUIRE_TOOLS  # noqa: E402

__all__ = [
    "COMMAND",
    "REQUIRE_TOOLS",
    "ROOT",
    "Finished",
    "fails",
    "flashpager",
    "import_csv",
    "info_of",
    "need",
    "once",
    "process",
    "refusal",
    "runs_of",
]

# Restores Ctrl-C: a shell starts background processes with it ignored, and tests would inherit
# that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parent.parent
Test = TypeVar("Test")


def need(*wanted: str) -> None:
    """Skip the test when a tool is missing; fail where all tools are promised."""
    missing = tools.missing(*wanted)
    if not missing:
        for machine in tools.missing_machines(*wanted):
            pytest.skip(f"this qemu-system-arm has no {machine}: {tools.MACHINES[machine]}")
        return
    reason = tools.not_installed(missing)
    if tools.promised():
        pytest.fail(f"{reason}, and {REQUIRE_TOOLS} is set")
    pytest.skip(reason)


def _one_line(reason: str) -> str:
    return " ".join(reason.removeprefix("Skipped: ").split())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep only the tests that an earlier run left out, if such a run is named; order the rest."""
    records = tools.earlier("Python")
    if records is not None:
        left_out, differences = tools.divided(records, [item.nodeid for item in items])
        if differences:
            raise pytest.UsageError("\n".join(differences))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in left_out])
        items[:] = [item for item in items if item.nodeid in left_out]
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = {item.nodeid for item in items if item.get_closest_marker("long")}
    items[:] = long_first(items, [item.nodeid in long for item in items], workers)


def long_first(tests: Sequence[Test], are_long: Sequence[bool], workers: int) -> list[Test]:
    """Return the tests in an order in which each worker begins with its share of the long ones.

    A worker gets a contiguous part of the tests, and takes tests from the others when it has none
    left. With short tests at the end of each part, all workers end at about the same time. Short
    tests keep their order, so that those of one file share its fixtures.

    Args:
        tests: the tests in the order of their files.
        are_long: for each test True if it is long.
        workers: the number of workers.

    """
    long = [test for test, is_long in zip(tests, are_long, strict=True) if is_long]
    short = iter([test for test, is_long in zip(tests, are_long, strict=True) if not is_long])
    order: list[Test] = []
    for worker in range(workers):
        part = (len(tests) - len(order)) // (workers - worker)
        first = long[worker::workers]
        order += [*first, *islice(short, max(0, part - len(first)))]
    return [*order, *short]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Record each test, or print a line for each missing tool and other reason of skips."""
    left_out = [
        tools.TestRecord("Python", _one_line(report.longrepr[2]), report.nodeid)
        for report in terminalreporter.getreports("skipped")
        if isinstance(report.longrepr, tuple)
    ]
    file = tools.record()
    if file is not None:
        passed = terminalreporter.getreports("passed")
        tools.append(file, [tools.TestRecord("Python", "", report.nodeid) for report in passed])
        tools.append(file, left_out)
    elif left_out:
        terminalreporter.section("left out", "-")
        for line in tools.summary(left_out):
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of this session that all its workers have in common."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own


@pytest.fixture
def searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands of one test share the answer to the same request.

    A test that compares the outputs of an answer would else search it for each output.
    """
    answers: dict[str, Pinning] = {}

    def search(
        traces: list[Trace],
        design: Design,
        ram_bytes: int,
        *,
        progress: pins.ProgressFn | None,
        should_continue: Callable[[], bool],
        **request: Any,  # noqa: ANN401  (values of options)
    ) -> Pinning:
        files = [(one.path, one.info.warm_up, one.path.stat().st_mtime_ns) for one in traces]
        key = repr((files, design.as_dict(), ram_bytes, request))
        if key not in answers:
            answers[key] = pin(
                traces,
                design,
                ram_bytes,
                progress=progress,
                should_continue=should_continue,
                **request,
            )
        return answers[key]

    monkeypatch.setattr(pins, "pin", search)


def once(folder: Path, make: Callable[[Path], object]) -> Path:
    """Fill a folder, unless another process of this session did so; return it.

    Args:
        folder: a folder in ``shared`` that may be missing.
        make: writes its files.

    """
    folder.mkdir(parents=True, exist_ok=True)
    made = folder.with_name(f"{folder.name}.made")
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            make(folder)
            made.touch()
    return folder


def import_csv(folder: Path, text: str, name: str = "hand.trace") -> Path:
    """Make a trace of CSV text, ``offset,length`` lines without the header."""
    trace = folder / name
    flashpager("trace", "import", "-", "-o", trace, stdin=f"offset,length\n{text}".encode())
    return trace


def runs_of(trace: Path) -> list[tuple[int, int]]:
    """Return all runs of a trace, exported as a user would."""
    header, *lines = flashpager("trace", "export", trace, "-o", "-").out.splitlines()
    assert header == "offset,length"
    return [(int(offset), int(length)) for offset, length in (line.split(",") for line in lines)]


def info_of(trace: Path) -> dict[str, Any]:
    """Return a trace's description."""
    info: dict[str, Any] = flashpager("trace", "info", trace, "--json").json
    return info
