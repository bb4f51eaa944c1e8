"""Cells on a Dask cluster: the same rows as on this machine.

The workers' machines need to share only the package. A trace and the part files of
a cell's designs are sent along; workers store them in their own folders, under a name made from
their content.
"""

import asyncio
import hashlib
import io
import logging
import pkgutil
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, WarmUp
from flashpager.replay.cells import Cell, CellRowsFn, run_cell

if TYPE_CHECKING:
    from distributed import Client, Future

#: The address that means worker processes on this machine, for this call alone.
LOCAL = "local"

#: Timeout of a connection; a scheduler answers in milliseconds, on a busy machine in seconds.
_CONNECT_SECONDS = 10
#: Time for workers that were started with the scheduler, which need a moment longer.
_FIRST_WORKER_SECONDS = 20
#: Seconds after which a worker that has not ended is killed.
_CLOSE_SECONDS = 2
#: Retries of a cell, as failures such as a full disk may be those of one worker only.
_RETRIES = 2

#: Loggers with levels set by Dask, and those that print when it closes.
_LOGGERS = (
    *("distributed", "distributed.client", "distributed.gc", "bokeh", "asyncio"),
    *("tornado", "tornado.application"),
)
_NOTHING = logging.CRITICAL + 1


@dataclass(frozen=True)
class CellTask:
    """A cell in the form that is sent to workers.

    A class of ours, because Dask looks for futures in all lists and dictionaries it is given, and
    a cell may have thousands of designs.
    """

    version: str
    #: The path as the user gave it, for errors.
    trace_path: str
    trace_digest: str
    trace_name: str
    warm_up: WarmUp
    designs: list[Design]
    #: The texts of parts that are files, by the names that designs call them.
    part_files: dict[str, bytes]


@dataclass(frozen=True)
class CellOutcome:
    """The result of a cell: rows as Arrow IPC, or an error message.

    An error is not raised, since Dask would run the task again.
    """

    rows: bytes = b""
    problem: str = ""


def run_on_cluster(address: str, cells: Sequence[Cell], take_rows: CellRowsFn) -> None:
    """Replay cells on a cluster, each as one task.

    The cells of a worker that dies are replayed by others.

    Args:
        address: ``local``, or a Dask scheduler's, such as ``tcp://host:8786``.
        cells: the cells to replay.
        take_rows: callback for each finished cell, with its rows; cells finish in any order.

    Raises:
        FlashpagerError: if Dask is not installed, the cluster cannot be reached or does not have
            this version of flashpager, or a worker finds an error in a cell.

    """
    try:
        import distributed  # noqa: F401, PLC0415  (only this function needs it)
    except ImportError:
        message = "a cluster needs Dask: pip install 'flashpager[cluster]'"
        raise FlashpagerError(message) from None
    with _quiet(), _connected(address, len(cells)) as client:
        _check_versions(client, address)
        _run(client, address, cells, take_rows)


def replay(trace: bytes, work: CellTask) -> CellOutcome:
    """Replay a cell, as a worker.

    Args:
        trace: the trace file's content.
        work: the cell.

    """
    from distributed import get_worker  # noqa: PLC0415

    # A worker may have joined after the others were checked.
    if _engine.version() != work.version:
        return CellOutcome(problem=_other_version("a worker", _engine.version(), work.version))
    folder = Path(get_worker().local_directory) / "flashpager"
    folder.mkdir(exist_ok=True)
    path = _laid_down(folder / f"{work.trace_digest}.trace", trace)
    part_paths = {
        name: str(_laid_down(folder / f"{hashlib.sha256(text).hexdigest()}.toml", text))
        for name, text in work.part_files.items()
    }
    designs = [_with_parts(design, part_paths) for design in work.designs]
    try:
        frame = run_cell(path, work.trace_name, work.warm_up, designs)
    except FlashpagerError as error:
        problem = str(error).replace(str(path), work.trace_path)
        for name, part_path in part_paths.items():
            problem = problem.replace(part_path, name)
        return CellOutcome(problem=problem)
    names = {part_path: name for name, part_path in part_paths.items()}
    frame = frame.with_columns(pl.col("part", "nor").replace(names))
    rows = io.BytesIO()
    frame.write_ipc(rows)
    return CellOutcome(rows.getvalue())


def _with_parts(design: Design, paths: dict[str, str]) -> Design:
    here = design.replace(part=paths.get(design.part, design.part))
    # Defaults follow from the part, which has to be found first.
    return here.replace(nor=here.nor and paths.get(here.nor, here.nor))


def _laid_down(path: Path, content: bytes) -> Path:
    """Return a file of this content; several threads of a worker may request it."""
    if not path.is_file():
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(content)
        Path(file.name).replace(path)
    return path


def _run(client: "Client", address: str, cells: Sequence[Cell], take_rows: CellRowsFn) -> None:
    from distributed import CancelledError, KilledWorker, as_completed  # noqa: PLC0415

    # Traces are results of tasks and no scattered data: when the last worker that has one dies,
    # the scheduler has it made again. Workers get them from each other, each once.
    traces: dict[Path, tuple[str, Future]] = {}
    parts: dict[str, bytes] = {}
    cell_of: dict[str, Cell] = {}
    futures = []
    for cell in cells:
        path = cell.trace.path
        if path not in traces:
            traces[path] = _sent(client, path)
        digest, trace = traces[path]
        names = {name for design in cell.designs for name in (design.part, design.nor)}
        files = [name for name in names if name is not None and name.endswith(".toml")]
        for name in files:
            if name not in parts:
                parts[name] = _read(Path(name))
        work = CellTask(
            version=_engine.version(),
            trace_path=str(path),
            trace_digest=digest,
            trace_name=cell.trace.name,
            warm_up=cell.trace.info.warm_up,
            designs=cell.designs,
            part_files={name: parts[name] for name in files},
        )
        future = client.submit(replay, trace, work, pure=False, retries=_RETRIES)
        cell_of[future.key] = cell
        futures.append(future)
    finished = as_completed(futures, loop=client.loop)
    # From here on only as_completed holds futures, so that finished ones are released.
    del futures
    for future in finished:
        cell = cell_of[future.key]
        cell_name = (
            f"{cell.trace.path}, cache page {cell.designs[0].cache_page_bytes},"
            f" {cell.designs[0].policy}"
        )
        try:
            outcome: CellOutcome = future.result()
        except KilledWorker:
            message = (
                f"{address}: all workers that tried {cell_name} died; have they enough memory?"
            )
            raise FlashpagerError(message) from None
        except CancelledError:
            message = f"{address}: the connection to the scheduler is lost"
            raise FlashpagerError(message) from None
        except Exception as error:
            message = f"{address}: {cell_name}: a worker failed: {type(error).__name__}: {error}"
            raise FlashpagerError(message) from error
        if outcome.problem:
            raise FlashpagerError(outcome.problem)
        take_rows(cell, pl.read_ipc(io.BytesIO(outcome.rows)))


def _sent(client: "Client", trace: Path) -> tuple[str, "Future"]:
    content = _read(trace)
    digest = hashlib.sha256(content).hexdigest()
    # The identity function, from a module that every scheduler and worker has.
    return digest, client.submit(bytes, content, key=f"flashpager-trace-{digest}")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = f"{path}: {error.strerror or error}"
        raise FlashpagerError(message) from None


@contextmanager
def _connected(address: str, tasks: int) -> Iterator["Client"]:
    """Return a client that releases its tasks when it closes, also after an error."""
    from distributed import Client  # noqa: PLC0415

    if address == LOCAL:
        with _local_cluster(tasks) as cluster, Client(cluster, set_as_default=False) as client:
            yield client
        return
    _refuse_unreachable(address)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise FlashpagerError(_unreachable(address, error)) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=_FIRST_WORKER_SECONDS)
        except TimeoutError:
            message = f"{address}: the scheduler has no workers; start some: dask worker {address}"
            raise FlashpagerError(message) from None
        yield client


def _refuse_unreachable(address: str) -> None:
    """Refuse an address where no scheduler answers.

    A client that could not connect does not close properly, and would wait for ever for an
    answer from another service than Dask, such as the dashboard.
    """
    from distributed.comm import connect, get_address_host_port  # noqa: PLC0415
    from distributed.security import Security  # noqa: PLC0415

    try:
        get_address_host_port(address, strict=True)
    except ValueError as error:
        message = f"cluster '{address}': give local or a scheduler as tcp://host:8786 ({error})"
        raise FlashpagerError(message) from None

    async def greet() -> None:
        secured = Security().get_connection_args("client")
        comm = await connect(address, timeout=_CONNECT_SECONDS, **secured)
        await comm.close()

    async def greet_in_time() -> None:
        # A worker that refuses in time can give the reason.
        await asyncio.wait_for(greet(), _CONNECT_SECONDS + 1)

    # This runs in another thread, as a notebook has an event loop running in this one.
    with ThreadPoolExecutor(1) as executor:
        try:
            executor.submit(asyncio.run, greet_in_time()).result()
        except Exception as error:  # noqa: BLE001  (another server may answer there)
            raise FlashpagerError(_unreachable(address, error)) from None


def _unreachable(address: str, error: BaseException) -> str:
    # Dask wraps the system's message in its own.
    while error.__cause__ is not None:
        error = error.__cause__
    reason = str(error) or f"no answer within {_CONNECT_SECONDS} seconds"
    return f"{address}: no Dask scheduler can be reached there ({reason})"


@contextmanager
def _local_cluster(tasks: int) -> Iterator[Any]:
    # A folder of our own goes with the workers, even with those that are killed.
    folder = tempfile.TemporaryDirectory(prefix="flashpager-", ignore_cleanup_errors=True)
    with ExitStack() as stack:
        name = stack.enter_context(folder)
        with _interrupts_deferred():
            cluster = _started(tasks, name)
            stack.callback(_end, cluster)
        yield cluster


def _started(tasks: int, folder: str) -> Any:  # noqa: ANN401  (to mypy, all of Dask is Any)
    from dask.system import CPU_COUNT  # noqa: PLC0415
    from distributed import LocalCluster  # noqa: PLC0415

    try:
        return LocalCluster(
            n_workers=min(CPU_COUNT, tasks),
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            # Memory is not limited, as a cluster uses no more of it than a single process.
            memory_limit=0,
            local_directory=folder,
            silence_logs=_NOTHING,
            # Cells run in parallel; more threads in a worker would slow each other down.
            env={"RAYON_NUM_THREADS": "1"},
        )
    except RuntimeError as error:
        message = f"cannot start workers on this machine: {error}"
        raise FlashpagerError(message) from error


def _end(cluster: Any) -> None:  # noqa: ANN401
    async def end_workers() -> None:
        nannies = list(cluster.workers.values())
        await asyncio.gather(*(nanny.close(timeout=_CLOSE_SECONDS) for nanny in nannies))

    with _interrupts_deferred():
        # The cluster itself would wait longer for workers in the middle of a cell.
        cluster.sync(end_workers)
        cluster.close()


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Defer Ctrl-C while processes start and end, and keep it from the processes started.

    A terminal sends Ctrl-C to all our processes. This process then ends the workers; by themselves
    they would all print errors. A cluster that is only partly started cannot be closed.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    interrupted: list[int] = []
    handler = signal.signal(signal.SIGINT, lambda number, _frame: interrupted.append(number))
    # Starting it unblocks interrupts, so it has to run before.
    resource_tracker.ensure_running()
    # Threads and processes inherit blocked signals.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, handler)
        if interrupted:
            signal.raise_signal(signal.SIGINT)


def _check_versions(client: "Client", address: str) -> None:
    """Refuse a cluster that would compute other rows, or fail.

    Workers look up their code by name, and so does the scheduler that passes it on.
    """
    # The check uses the standard library only, so that every worker can run it.
    variable = "flashpager:__version__"
    with suppress(OSError):
        # A worker that dies during the check need not answer.
        answers: dict[str, Any] = client.run(pkgutil.resolve_name, variable, on_error="return")
        for worker, answer in answers.items():
            if not isinstance(answer, OSError):
                _check_version(f"the worker {worker}", answer)
    try:
        answer = client.run_on_scheduler(pkgutil.resolve_name, variable)
    except Exception as error:  # noqa: BLE001  (an import may raise anything)
        answer = error
    _check_version(f"the scheduler {address}", answer)


def _check_version(machine: str, answer: object) -> None:
    if isinstance(answer, ImportError):
        message = (
            f"{machine} has no flashpager ({answer}): install it there, with the cluster extra"
        )
        raise FlashpagerError(message)
    if isinstance(answer, BaseException):
        message = f"{machine} cannot load flashpager: {type(answer).__name__}: {answer}"
        raise FlashpagerError(message)
    if answer != _engine.version():
        raise FlashpagerError(_other_version(machine, str(answer), _engine.version()))


def _other_version(machine: str, its: str, ours: str) -> str:
    return f"{machine} has flashpager {its}, not {ours} as here: install the same on all"


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the logs of Dask; errors that matter are raised as exceptions."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(_NOTHING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
