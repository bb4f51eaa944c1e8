"""An x86-64 Linux program whose code, or a library's, is paged by faults, in its own process."""

import ctypes
import mmap
import os
import platform
import re
import shlex
import signal
import socket
import stat
import statistics
import struct
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from flashpager._engine import Design, FlashpagerError, TraceInfo
from flashpager.base import installed
from flashpager.base.counts import counts_of
from flashpager.record import environment
from flashpager.record.machine_code import find_program
from flashpager.record.signals import forwarded_signals
from flashpager.verify.emulated import ComparedCount

LIBRARY = installed.recorder("flashpager-page.so")

#: Bytes of the processor's pages, and the most frames of the pager.
PAGE_BYTES = 4096
MOST_FRAMES = 32_000
#: The policies in the library's order, with the meaning of their parameter.
POLICIES = {
    "fifo": "",
    "clock": "",
    "pa-clock": "budget",
    "random": "seed",
    "fifo-sc": "valid",
    "pa-fifo-sc": "valid",
}
#: An instruction across the end of a page needs two pages.
_LEAST_PAGES = 2
#: Counts of the pager. It does not see hits.
COUNTS = counts_of("process")
#: A chip whose pages can hold a page of memory; it has no effect on counts.
_PART = "MT29F4G01ABAFD"

_VARIABLE = "FLASHPAGER_PAGE"
#: The fields of ``struct page_report`` in runtime/pager/linux/page.h before the reason.
_FIELDS = (
    *("state", "error", "code_bytes"),
    *("misses", "false_faults", "reference_bits_set", "downgrades", "walk", "max_walk"),
    *("data_reads", "straddles", "handler_ns", "outer_ns"),
)
_TOLD = struct.Struct(f"<{len(_FIELDS)}Q256sQ")
_MOST_TIMES = 65_536
_SHARED_BYTES = _TOLD.size + 4 * _MOST_TIMES
_NOT_LOADED, _REFUSED, _PAGED, _STOPPED = range(4)
_ADDR_NO_RANDOMIZE = 0x0040000
_ASK_PERSONALITY = 0xFFFFFFFF

# Types and machine of 64-bit ELF files.
_EXECUTABLE_TYPES = (2, 3)
_X86_64 = 62
_PT_LOAD, _PT_INTERP = 1, 3
_PF_X = 1
_SHF_ALLOC, _SHF_EXECINSTR = 2, 4
_SHT_RELA, _SHT_NOBITS = 4, 8
_SHT_PREINIT_ARRAY = 16
_R_X86_64_IRELATIVE = 37
_MOST_NAME_BYTES = 4096
#: The reason for which a program without a loader is refused.
_STATIC = (
    "is linked statically, and nothing can be loaded into it: link it dynamically, without -static "
    "and -static-pie"
)


@dataclass(frozen=True)
class LinuxPageDesign:
    """Policy and frames of a Linux program's code."""

    policy: str
    #: The budget of ``pa-clock``, the seed of ``random``, the valid pages of ``fifo-sc``; else 0.
    parameter: int
    frames: int

    @classmethod
    def of(cls, text: str, frames: int) -> "LinuxPageDesign":
        """Read a policy as ``simulate`` has it.

        Raises:
            FlashpagerError: if the pager lacks the policy, or there are too few frames for it.

        """
        matched = re.fullmatch(r"([a-z0-9-]+)(?:\((\d+)(%?)\))?", text)
        name = matched[1] if matched else ""
        if matched is None and text.partition("(")[0] in POLICIES:
            message = (
                f"--policy {text}: write a number behind the name, as in pa-clock(8), or a share "
                "of the frames, as in fifo-sc(25%)"
            )
            raise FlashpagerError(message)
        if matched is None or name not in POLICIES:
            message = (
                f"--policy {text}: a handler of page faults does not see hits; it has "
                f"{', '.join(POLICIES)}"
            )
            raise FlashpagerError(message)
        if not _LEAST_PAGES <= frames <= MOST_FRAMES:
            message = (
                f"--frames {frames}: an instruction across the end of a page wants two pages; "
                f"take {_LEAST_PAGES} to {MOST_FRAMES:,}"
            )
            raise FlashpagerError(message)
        parameter_name = POLICIES[name]
        if matched[2] and (not parameter_name or (matched[3] and parameter_name != "valid")):
            message = f"--policy {text}: write {name}" + (
                f"({parameter_name.upper()})" if parameter_name else ""
            )
            raise FlashpagerError(message)
        parameter = int(matched[2] or 0)
        if parameter_name == "budget" and not 0 < parameter < 1 << 32:
            message = (
                f"--policy {text}: no flash chip says its budget here: write how many frames it "
                f"looks at, as {name}(8)"
            )
            raise FlashpagerError(message)
        if parameter_name == "seed" and not 0 < parameter < 1 << 32:
            message = f"--policy {text}: write its seed, below 2^32, as {name}(7)"
            raise FlashpagerError(message)
        if parameter_name == "valid":
            if not matched[2] or matched[3]:
                # Rounded as the model rounds a share.
                parameter = max(1, frames * (parameter if matched[2] else 50) // 100)
            if not _LEAST_PAGES <= parameter < frames:
                message = (
                    f"--policy {text}: of {frames} frames {parameter} would be valid; an "
                    f"instruction across the end of a page wants {_LEAST_PAGES}, and one frame "
                    "must be left"
                )
                raise FlashpagerError(message)
        return cls(name, parameter, frames)

    def __str__(self) -> str:
        """Write the policy as ``simulate`` has it."""
        return f"{self.policy}({self.parameter})" if self.parameter else self.policy

    def simulated(self) -> Design:
        """Return the design whose replay has the same counts."""
        return Design(
            part=_PART,
            cache_page_bytes=PAGE_BYTES,
            cache_bytes=self.frames * PAGE_BYTES,
            policy=str(self),
            reference_bit="emulated",
        )


@dataclass(frozen=True)
class PagedCode:
    """The code of a program, or of a library that it loads when it starts."""

    #: The name as typed, and the resolved file.
    name: str
    file: Path
    is_library: bool
    #: The linked address of its executable segment.
    start: int
    #: Name, address and bytes of its sections of code, by address.
    sections: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, name: str, file: Path, *, is_library: bool = False) -> "PagedCode":
        """Read a file, and check that its code can be paged.

        Raises:
            FlashpagerError: if it cannot be paged; the message gives the reason and the remedy.

        """
        try:
            start, sections = _code_of(_bytes_of(name, file), is_library=is_library)
        except (struct.error, IndexError):
            message = f"{name}: is a damaged ELF file"
            raise FlashpagerError(message) from None
        except ValueError as error:
            message = f"{name}: {error}"
            raise FlashpagerError(message) from None
        return cls(name, file, is_library, start, sections)

    def section_names(self) -> str:
        """Return the value of ``record --section`` for which the image is the segment."""
        return ",".join(name for name, _, _ in self.sections)

    def check(self, info: TraceInfo, build_id: str) -> None:
        """Check that a trace is of this code, and has its pages.

        Raises:
            FlashpagerError: if it does not match; the message says what to record.

        """
        image_flag = f"--image {shlex.quote(str(self.file))} " if self.is_library else ""
        remedy = (
            f"record it with 'flashpager record --no-reads {image_flag}--section "
            f"{self.section_names()} -- PROGRAM'"
        )
        if len(info.images) != 1 or (
            build_id and info.images[0].build_id and build_id != info.images[0].build_id
        ):
            message = f"the trace is not of {self.name} alone: {remedy}"
            raise FlashpagerError(message)
        image = info.images[0]
        recorded = tuple((each.name, each.address, each.bytes) for each in image.sections)
        if recorded != self.sections:
            message = f"the trace does not have the sections that are paged: {remedy}"
            raise FlashpagerError(message)
        if any(each.address - each.offset != self.start for each in image.sections):
            message = (
                f"{self.name}: its sections of code do not lie as they are placed in flash, one "
                "behind another by their alignment: no trace has its pages"
            )
            raise FlashpagerError(message)
        if info.reads:
            message = (
                "the trace holds reads of data, and here they are no references: record it with "
                "--no-reads"
            )
            raise FlashpagerError(message)
        # One that fails by itself has been recorded to its end.
        if info.region or not (info.ending.is_complete or info.ending.failure):
            message = f"the trace holds part of what {self.name} executes: record all of it"
            raise FlashpagerError(message)


@dataclass(frozen=True)
class LinuxProgram:
    """A program to run with its own code paged, or that of one of its libraries."""

    #: The name as typed; then the path to run, and the resolved file.
    name: str
    path: Path
    file: Path
    code: PagedCode

    @classmethod
    def of(cls, name: str, library: Path | None = None) -> "LinuxProgram":
        """Find a program, and check that its code, or that of a library, can be paged.

        Args:
            name: the program, as a shell finds it.
            library: the file of a library whose code is paged; None for the program's own.

        Raises:
            FlashpagerError: if it cannot be paged; the message gives the reason and the remedy.

        """
        path, file = find_program(name)
        if library is None:
            code = PagedCode.of(name, file)
        else:
            _check_loads(name, _bytes_of(name, file))
            code = PagedCode.of(str(library), library.resolve(), is_library=True)
        mode = file.stat()
        others = (mode.st_mode & stat.S_ISUID and mode.st_uid != os.geteuid()) or (
            mode.st_mode & stat.S_ISGID and mode.st_gid != os.getegid()
        )
        if others:
            message = f"{name}: runs with another user's rights, and loads nothing of ours: copy it"
            raise FlashpagerError(message)
        return cls(name, path, file, code)


def _bytes_of(name: str, file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        message = f"{name}: {error.strerror or error}"
        raise FlashpagerError(message) from None


def _check_loads(name: str, data: bytes) -> None:
    """Check that a library can be loaded into a program."""
    try:
        if not _has_loader(_headers_of(data)):
            message = f"{name}: {_STATIC}"
            raise FlashpagerError(message)
    except ValueError as error:
        message = f"{name}: {error}"
        raise FlashpagerError(message) from None
    except struct.error:
        message = f"{name}: is a damaged ELF file"
        raise FlashpagerError(message) from None


def _code_of(data: bytes, *, is_library: bool) -> tuple[int, tuple[tuple[str, int, int], ...]]:
    """Return the start of a file's executable segment, and its sections of code."""
    start, length = _segment_of(data, is_library=is_library)
    segments = []
    for name, type_, flags, address, offset, size in _sections_of(data):
        if type_ == _SHT_PREINIT_ARRAY and size:
            message = "runs code before the pager can begin, by its .preinit_array"
            raise ValueError(message)
        if type_ == _SHT_RELA and flags & _SHF_ALLOC and _has_ifunc(data[offset : offset + size]):
            message = (
                "runs code before the pager can begin, to choose between its functions (IFUNC): "
                "build it without target_clones and ifunc"
            )
            raise ValueError(message)
        if not flags & _SHF_ALLOC or not size or not start <= address < start + length:
            continue
        if type_ == _SHT_NOBITS or not flags & _SHF_EXECINSTR:
            message = (
                "has data and code in one segment, and data is not paged: link it with "
                "-z separate-code"
            )
            raise ValueError(message)
        segments.append((address, name, size))
    segments.sort()
    if not segments or start % PAGE_BYTES or segments[0][0] != start:
        message = (
            "has code that does not begin where a page does: link it with GNU ld and "
            "-z separate-code"
        )
        raise ValueError(message)
    return start, tuple((name, address, size) for address, name, size in segments)


def _headers_of(data: bytes) -> list[tuple[int, int, int, int, int, int]]:
    """Return type, flags, offset, address, another address and bytes of each segment."""
    if data[:4] != b"\x7fELF":
        message = "is no ELF file"
        raise ValueError(message)
    kind, machine = struct.unpack_from("<HH", data, 16)
    if data[4:6] != b"\x02\x01" or machine != _X86_64 or kind not in _EXECUTABLE_TYPES:
        message = "is no program of x86-64, and the pager runs nothing else"
        raise ValueError(message)
    (at,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    return [struct.unpack_from("<IIQQQQ", data, at + size * i) for i in range(count)]


def _has_loader(headers: list[tuple[int, int, int, int, int, int]]) -> bool:
    return any(header[0] == _PT_INTERP for header in headers)


def _segment_of(data: bytes, *, is_library: bool) -> tuple[int, int]:
    """Return address and bytes of the one executable segment."""
    headers = _headers_of(data)
    if not is_library and not _has_loader(headers):
        raise ValueError(_STATIC)
    code = [header for header in headers if header[0] == _PT_LOAD and header[1] & _PF_X]
    if len(code) != 1:
        message = f"has {len(code)} executable segments, and one is paged"
        raise ValueError(message)
    return code[0][3], code[0][5]


def _sections_of(data: bytes) -> list[tuple[str, int, int, int, int, int]]:
    """Return name, type, flags, address, offset and bytes of each section."""
    (at,) = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    if not count:
        message = "has no sections, which say what of it is code: take it as it was linked"
        raise ValueError(message)
    raw = [struct.unpack_from("<IIQQQQ", data, at + size * i) for i in range(count)]
    sections = []
    for name, *rest in raw:
        begin = raw[names][4] + name
        text, zero, _ = data[begin : begin + _MOST_NAME_BYTES].partition(b"\0")
        if not zero:
            message = "is a damaged ELF file"
            raise ValueError(message)
        sections.append((text.decode("utf-8", "replace"), *rest))
    return sections


def _has_ifunc(relocations: bytes) -> bool:
    entries = struct.iter_unpack("<QQq", relocations[: len(relocations) // 24 * 24])
    return any(entry[1] & 0xFFFFFFFF == _R_X86_64_IRELATIVE for entry in entries)


@dataclass(frozen=True)
class PagedRun:
    """The counts of a run, and the end of the program."""

    counts: dict[str, int]
    code_bytes: int
    #: Reads of code as data that faulted, which are no references.
    data_reads: int
    #: Instructions across the end of a page whose first page was lent to them.
    straddles: int
    #: Time of a fault: in the handler, median and mean (None without a fault), and to it and back.
    handler_ns: float | None
    mean_handler_ns: float | None
    outer_ns: int
    #: Time from the start of the program to its end, in seconds.
    seconds: float
    #: Exit code of the program; a signal's number is negative.
    exit_code: int
    #: A signal was sent to us, and passed on.
    interrupted: bool

    @property
    def code_pages(self) -> int:
        """Pages of the program's code."""
        return -(-self.code_bytes // PAGE_BYTES)

    @property
    def microseconds_a_fault(self) -> float | None:
        """Median time of a fault in µs: in the handler, and to it and back; None if unknown."""
        return None if self.handler_ns is None else (self.handler_ns + self.outer_ns) / 1000

    @property
    def failure(self) -> str:
        """Return the signal or exit status with which the program failed; empty if it did not."""
        if self.exit_code < 0:
            with suppress(ValueError):
                return f"signal {signal.Signals(-self.exit_code).name}"
            return f"signal {-self.exit_code}"
        return f"exit status {self.exit_code}" if self.exit_code else ""

    def compare(self, counts: object) -> list[ComparedCount]:
        """Compare the program's counts with the simulated ones."""
        return [ComparedCount(name, getattr(counts, name), self.counts[name]) for name in COUNTS]


def _check_machine() -> None:
    """Check that this machine can page programs.

    Raises:
        FlashpagerError: if it has another architecture or system, or the pager is not installed
            where the loader finds it.

    """
    if platform.machine() != "x86_64" or platform.system() != "Linux":
        message = "page runs programs of x86-64 on such a Linux machine alone"
        raise FlashpagerError(message)
    if not LIBRARY.exists():
        raise FlashpagerError(installed.absence("the pager of Linux programs", LIBRARY))
    if any(character in str(LIBRARY) for character in ": "):
        message = (
            f"{LIBRARY}: the loader preloads no path with a space or a colon: install elsewhere"
        )
        raise FlashpagerError(message)


@dataclass(frozen=True)
class RewindableInput:
    """Standard input, which a second run of a program reads from the same place."""

    #: The place in bytes; None if the input cannot be read twice, as a pipe or a terminal.
    position: int | None

    @classmethod
    def of_now(cls) -> "RewindableInput":
        """Remember the place before a run."""
        try:
            return cls(os.lseek(0, 0, os.SEEK_CUR))
        except OSError:
            return cls(None)

    def rewind(self) -> bool:
        """Return to the place; False if that is impossible."""
        if self.position is None:
            return False
        os.lseek(0, self.position, os.SEEK_SET)
        return True


def page(
    program: LinuxProgram,
    command: list[str],
    design: LinuxPageDesign,
    *,
    quiet: bool,
    silent: bool = False,
) -> PagedRun:
    """Run a program with its code paged.

    Args:
        program: the program.
        command: the name of the program as called, and its arguments.
        design: policy and frames of its code.
        quiet: True to send the program's standard output to standard error.
        silent: True to discard all that it prints.

    Raises:
        FlashpagerError: if userfaultfd is not available, or the program does something that the
            pager cannot follow, such as starting a thread.

    """
    _check_machine()
    shared = os.memfd_create("flashpager-page", 0)
    ours, theirs = socket.socketpair()
    kept: list[int] = []
    try:
        os.ftruncate(shared, _SHARED_BYTES)
        variables = _variables(program.code, design, shared, theirs.fileno())
        start = time.monotonic()
        with (
            forwarded_signals(system=False) as forward,
            _FixedAddresses(),
            subprocess.Popen(
                command,
                executable=program.path,
                env=variables,
                pass_fds=(shared, theirs.fileno()),
                stdout=subprocess.DEVNULL if silent else 2 if quiet else None,
                stderr=subprocess.DEVNULL if silent else None,
            ) as child,
        ):
            forward.attach(child)
            theirs.close()
            # Were the program to close it, pages that are missing would be zeros.
            with suppress(OSError):
                kept = socket.recv_fds(ours, 1, 1)[1]
            code = child.wait()
        seconds = time.monotonic() - start
        with mmap.mmap(shared, _SHARED_BYTES) as memory:
            *values, reason, faults = _TOLD.unpack_from(memory)
            times = struct.unpack_from(f"<{min(faults, _MOST_TIMES)}I", memory, _TOLD.size)
    except OSError as error:
        message = f"{program.name}: cannot be started: {error.strerror or error}"
        raise FlashpagerError(message) from None
    finally:
        ours.close()
        theirs.close()
        for descriptor in (shared, *kept):
            os.close(descriptor)
    numbers = dict(zip(_FIELDS, values, strict=True))
    if numbers["state"] != _PAGED:
        raise FlashpagerError(_refusal(program, numbers, reason.partition(b"\0")[0].decode()))
    return PagedRun(
        counts={name: numbers[name] for name in COUNTS},
        code_bytes=numbers["code_bytes"],
        data_reads=numbers["data_reads"],
        straddles=numbers["straddles"],
        handler_ns=statistics.median(times) if times else None,
        mean_handler_ns=numbers["handler_ns"] / faults if faults else None,
        outer_ns=numbers["outer_ns"],
        seconds=seconds,
        exit_code=code,
        interrupted=forward.count > 0,
    )


def _variables(
    code: PagedCode, design: LinuxPageDesign, shared: int, connection: int
) -> dict[str, str]:
    """Return the environment of a program into which the pager is loaded.

    Args:
        code: what is paged.
        design: policy and frames.
        shared: the descriptor of the memory that the pager reports in.
        connection: the descriptor of the socket to which it sends what must stay open.

    """
    variables = environment.of_the_user()
    given = variables.get("LD_PRELOAD", "")
    number = list(POLICIES).index(design.policy)
    settings = f"{shared} {connection} {number} {design.parameter} {design.frames}"
    return variables | {
        "LD_PRELOAD": f"{LIBRARY}:{given}" if given else str(LIBRARY),
        _VARIABLE: settings + (f" {code.file}" if code.is_library else ""),
    }


class _FixedAddresses:
    """A context in which all programs start at the same addresses, as they do under QEMU."""

    def __enter__(self) -> None:
        self._libc = ctypes.CDLL(None)
        self._before = self._libc.personality(_ASK_PERSONALITY)
        self._libc.personality(self._before | _ADDR_NO_RANDOMIZE)

    def __exit__(self, *_: object) -> None:
        self._libc.personality(self._before)


def _refusal(program: LinuxProgram, numbers: dict[str, int], reason: str) -> str:
    """Explain why a program was not paged to its end."""
    if numbers["state"] == _NOT_LOADED:
        return f"{program.name}: ran without the pager, as its loader takes no LD_PRELOAD"
    error = OSError(numbers["error"], os.strerror(numbers["error"])) if numbers["error"] else None
    if reason == "userfaultfd" and isinstance(error, PermissionError):
        return (
            "userfaultfd: is not permitted here: allow it with 'sudo sysctl "
            "vm.unprivileged_userfaultfd=1' or 'sudo chmod a+rw /dev/userfaultfd'; in a container, "
            "also in its seccomp profile"
        )
    text = f"{reason}: {error.strerror}" if error else reason
    if numbers["state"] == _STOPPED:
        return f"{program.name}: was stopped: {text}"
    return f"{program.name}: is not paged: {text}"
