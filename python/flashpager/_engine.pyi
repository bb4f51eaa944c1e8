"""The Rust engine. Generated: .venv/bin/python -m tests.stub."""

import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, TypedDict, Unpack, final

#: A value as plain dictionaries and lists, as ``--json`` prints it.
Json: TypeAlias = dict[str, object]

class FlashpagerError(Exception):
    """An error of the engine: what is wrong, where, and what to do."""

class DiskFullError(FlashpagerError):
    """An error of the engine: no space is left for a file."""

class DesignFields(TypedDict, total=False):
    """The parameters of a design; sizes may be text, as ``2K``."""

    part: str
    bus: str
    read_mode: str | None
    cache_bytes: int | str
    cache_page_bytes: int | str
    flash_page_bytes: int | str | None
    register: str
    codeword_bytes: int | str | None
    tag_bytes: int | str | None
    store: str
    policy: str
    classes: str | None
    ways: int | str | None
    prefetch_lines: int | str | None
    line_fetch: str
    schedule: str
    reference_bit: str
    critical_block_bytes: int | str | None
    processor: str | None
    nor: str | None
    ram: Ram | None
    handler: Handler | None
    count_commands: bool
    clip_bus: bool
    icache: ICache | None
    tlb: Tlb | None

@final
class Attribution:
    """The faults of a design, attributed to code."""

    @property
    def counts(self) -> Counts:
        """The counts of the whole replay."""
    @property
    def design(self) -> Design:
        """The design, with the fields that follow from its part filled in."""
    @property
    def fault_ns(self) -> float:
        """Time of all faults."""
    @property
    def flash_page_bytes(self) -> int:
        """Bytes of a flash page; the part's own if the design names none."""
    @property
    def frames(self) -> int:
        """Frames of the design's cache."""
    @property
    def notes(self) -> list[str]:
        """Code that could not be attributed, and what to do about it."""
    @property
    def owners(self) -> list[Owner]:
        """All executed code, the owner with the longest fault time first."""
    @property
    def time(self) -> Time:
        """The time of the whole replay."""
    @property
    def warnings(self) -> list[str]:
        """Reasons why the design may disappoint."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Owner:
    """A piece of code, and the faults that executing it caused."""

    @property
    def backward(self) -> int:
        """Misses in the register's page, before its next column."""
    @property
    def bytes_executed(self) -> int:
        """Bytes executed, once for each time."""
    @property
    def bytes_fetched(self) -> int:
        """Bytes over the bus, skipped ones included."""
    @property
    def bytes_read(self) -> int:
        """Bytes read as data, once for each time."""
    @property
    def bytes_skipped(self) -> int:
        """Bytes over the bus that were thrown away."""
    @property
    def code_bytes(self) -> int:
        """Bytes of code, executed or not."""
    @property
    def column_changes(self) -> int:
        """Column changes without a load."""
    @property
    def fault_error(self) -> float | None:
        """The confidence interval of `fault_ns`, as a share of it. None if the whole trace was
        replayed, or if the windows of the sample allow no estimate.
        """
    @property
    def fault_ns(self) -> float:
        """Time of the owner's faults: load, column change, fetch, write and handler."""
    @property
    def file(self) -> str | None:
        """The source file, if the owner is a line of it."""
    @property
    def forward(self) -> int:
        """Misses in the register's page, at its next column or after it."""
    @property
    def function(self) -> str | None:
        """The function that holds the line, the innermost one if calls were inlined. None if the
        owner is no line.
        """
    @property
    def image(self) -> str:
        """The file that the code comes from; empty if the trace does not name it."""
    @property
    def line(self) -> int | None:
        """The number of the line, from 1, if the owner is a line."""
    @property
    def loads(self) -> int:
        """True faults that loaded a flash page into the register."""
    @property
    def misses(self) -> int:
        """True faults."""
    @property
    def name(self) -> str:
        """The symbol as its language writes it, ``file:line``, or the image."""
    @property
    def offset(self) -> int:
        """Flash offset of the code's first byte."""
    @property
    def other_buffer(self) -> int:
        """Misses in the flash page of the buffer that was not used last."""
    @property
    def other_page(self) -> int:
        """Misses in a flash page that no buffer holds."""
    @property
    def read_misses(self) -> int:
        """True faults that a data read caused."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def attribute(
    trace: str | os.PathLike[str],
    design: Design,
    by: str,
    elfs: Sequence[str | os.PathLike[str]],
    sample: SamplePlan | None = None,
    *,
    warm_up: WarmUp | None = None,
) -> Attribution:
    """Replay a trace, or a sample of it, for one design, and sum its faults by one of
    ``attributions()``. Symbols and lines are read from ``elfs``. Faults in a warm-up are not counted;
    a sample cannot have one.
    """

def attributions() -> list[str]:
    """The units that faults can be attributed to."""

@final
class CallBound:
    """The misses of one call of a function at most."""

    @property
    def calls(self) -> int:
        """The number of recorded calls that were followed."""
    @property
    def first_call_misses(self) -> int | None:
        """The most misses of a recorded call if the cache is empty before it; None without calls."""
    @property
    def function(self) -> str:
        """The function, as the caller named it."""
    @property
    def functions(self) -> int:
        """The number of functions in the code of a call."""
    @property
    def has_recorded_loops(self) -> bool:
        """True if the limits on loops are the trace's."""
    @property
    def in_ram(self) -> list[str]:
        """The functions in RAM, whose code needs no line."""
    @property
    def lines(self) -> int:
        """The number of cache lines with code of a call."""
    @property
    def loops(self) -> list[LoopBound]:
        """The loops."""
    @property
    def misses(self) -> int:
        """An upper bound of the misses of a call, from any state of the cache."""
    @property
    def overfull(self) -> list[OverfullSet]:
        """The sets with more lines than ways, the fullest first."""
    @property
    def unfollowed_calls(self) -> int:
        """The number of recorded calls that were not followed to their end: an interrupt came, they ran
        code in RAM that calls code in flash, or the trace ended.
        """
    @property
    def ways(self) -> int:
        """The number of ways of a set."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LoopBound:
    """A loop in the code of a call."""

    @property
    def address(self) -> int:
        """The linked address of the first head."""
    @property
    def in_call(self) -> int | None:
        """The most executions of the heads in one call, if the bound is limited by it."""
    @property
    def iterations(self) -> int:
        """The most executions of the heads for each entry of the loop."""
    @property
    def place(self) -> str:
        """The function and the offset of the loop's first head in it, as ``crc+0x12``."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class OverfullSet:
    """A cache set to which the code of a call has more lines than ways."""

    @property
    def functions(self) -> list[str]:
        """The names of functions with code in these lines."""
    @property
    def lines(self) -> int:
        """The number of lines in it."""
    @property
    def set(self) -> int:
        """The number of the set."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def call_bound(
    trace: str | os.PathLike[str],
    design: Design,
    function: str,
    *,
    elfs: Sequence[str | os.PathLike[str]] = ...,
    targets: Sequence[tuple[str, Sequence[str]]] = ...,
    loops: Sequence[tuple[str, int]] | None = None,
    has_totals: bool = False,
) -> CallBound:
    """Bound the misses of one call of a function, from any state of the cache.

    Args:
        trace: the trace, which tells where the code lies and how often loops run.
        design: the design with the cache.
        function: the name of the function.
        elfs: ELF files of the recorded program.
        targets: targets of indirect calls, by the address of a call or the function that holds it.
        loops: the most executions of the heads of loops, by places such as ``crc+0x12``; None takes
            those of the trace.
        has_totals: True to take the trace's most executions of each loop in a call, too.

    Raises:
        FlashpagerError: if the analysis does not cover the design, the trace has data reads, or the
            code is not known completely, calls itself or has a loop without a limit.
    """

@final
class Ceiling:
    """A bound that no design of its kind passes."""

    @property
    def bytes_fetched(self) -> int:
        """The fewest bytes over the bus."""
    @property
    def loads(self) -> int:
        """The fewest flash pages loaded."""
    @property
    def misses(self) -> int:
        """The fewest misses."""
    @property
    def nor(self) -> NorComparison | None:
        """The comparison with NOR; None without a NOR part."""
    @property
    def time(self) -> Time:
        """The least time."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Ceilings:
    """The ceilings of a design for a trace."""

    @property
    def of_any_order(self) -> Ceiling:
        """The ceiling of any order, replica, page size and policy, in as much RAM."""
    @property
    def of_order(self) -> Ceiling:
        """The ceiling of this order of the code and this cache page, in as many frames."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of RAM that the second ceiling takes for code."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def ceilings(
    trace: str | os.PathLike[str],
    design: Design,
    ram_bytes: int,
    *,
    warm_up: WarmUp | None = None,
) -> Ceilings:
    """The ceilings of a design for the runs of a trace behind its warm-up: the least time with this
    order of the code and this cache page, and with any order, replica, page size and policy in
    ``ram_bytes`` of RAM.
    """

@final
class Assumption:
    """A parameter of a design that the user left open."""

    @property
    def field(self) -> str:
        """The field of the design."""
    @property
    def reason(self) -> str:
        """The rule that chose the value, in a few words."""
    @property
    def value(self) -> str:
        """The value that was taken."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Board:
    """A board, read from its file."""

    @property
    def design(self) -> Design:
        """The design on the board. Fields that the board does not state are left open."""
    @property
    def firmware(self) -> BoardFirmware | None:
        """The firmware that runs on the board; None if the board does not state it."""
    @property
    def needs(self) -> Json:
        """The requirements of the board, as its file has them."""
    @property
    def policies(self) -> list[str]:
        """The policies that its cache may have, if its maker did not publish the policy."""
    @property
    def ram_bytes(self) -> int | None:
        """All RAM of the microcontroller, in bytes; None if the board does not state it."""
    @property
    def unknown(self) -> list[str]:
        """Facts of the board that nobody published, in words."""
    @staticmethod
    def read(board: str | os.PathLike[str]) -> Board:
        """Read a board: a shipped one by its name, any other from its file."""

@final
class BoardFirmware:
    """The firmware that runs on a board, described by the facts that an ELF file states."""

    @property
    def architecture(self) -> str:
        """The instruction set, by its name in a trace, as ``arm``."""
    @property
    def flash(self) -> tuple[int, int] | None:
        """The address of the flash's first byte, and the address behind its last byte; None if code
        may be linked for any address.
        """
    @property
    def instruction_sets(self) -> list[str]:
        """The versions of the instruction set that the processor executes, as ``ARMv6-M``, the newest
        first; empty if it executes all.
        """
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Design:
    """A design: a part, a bus, a cache and the settings of their use. If bus, register and NOR are not
    given, they follow from the part; `assumed` lists them.

    >>> Design(part="W25N01GV", cache_bytes="4K", handler=Handler(pre_process_ns=500)).cache_bytes
    4096
    """

    def __new__(cls, **fields: Unpack[DesignFields]) -> Design: ...
    @property
    def assumed(self) -> list[Assumption]:
        """Parameters that the user left open, with the value taken and its reason."""
    @property
    def bus(self) -> str:
        """Clock and data lines of the bus, as `33MHz-x8`."""
    @property
    def cache_bytes(self) -> int:
        """RAM for frames, in bytes."""
    @property
    def cache_page_bytes(self) -> int:
        """A cache page in bytes, a power of two."""
    @property
    def classes(self) -> str | None:
        """The file of trained reuse classes, for a policy that has classes, in a store of homes.
        Classes are untrained without one.
        """
    @property
    def clip_bus(self) -> bool:
        """True if a bus may be faster or wider than the part, which is then read at its own
        pace, as in the tables of CARDIS 2010.
        """
    @property
    def codeword_bytes(self) -> int | None:
        """With host ECC: bytes that are fetched and checked together, a power of two."""
    @property
    def count_commands(self) -> bool:
        """True if a load costs its command, address and status cycles, too; the papers leave
        them out.
        """
    @property
    def critical_block_bytes(self) -> int | None:
        """Bytes of a page that are transferred before the program goes on, a power of two;
        None for the whole page.
        """
    @property
    def flash_page_bytes(self) -> int | None:
        """A flash page in bytes, a power of two; None for the part's own."""
    @property
    def frames(self) -> int:
        """The number of frames in the cache."""
    @property
    def handler(self) -> Handler:
        """Times of the software. If None, those of the processor's fault path; without a
        processor all are 0.
        """
    @property
    def icache(self) -> ICache | None:
        """The instruction cache in front of the page cache; None without one."""
    @property
    def is_executed(self) -> bool:
        """True if flash or bus work while the program runs. A fault's time then depends on the faults
        before it, and the design is replayed fault by fault.
        """
    @property
    def is_in_hardware(self) -> bool:
        """True if a cache in hardware stands before a part that is read in place.

        Raises:
            FlashpagerError: for an unknown part.
        """
    @property
    def is_in_place(self) -> bool:
        """True if the part is read in place, without loading a page.

        Raises:
            FlashpagerError: for an unknown part.
        """
    @property
    def line_fetch(self) -> str:
        """When the program goes on after a miss of a cache in hardware: `whole`,
        `early-restart` or `critical-word-first`.
        """
    @property
    def nor(self) -> str | None:
        """The NOR part to compare with; `none` for no comparison."""
    @property
    def part(self) -> str:
        """The flash part: a name of the catalog, or a part's TOML file."""
    @property
    def policy(self) -> str:
        """The replacement policy, with its parameters."""
    @property
    def prefetch_lines(self) -> int | None:
        """Lines that a prefetch buffer behind a cache in hardware reads ahead; None without
        one.
        """
    @property
    def processor(self) -> str | None:
        """The processor, as `cortex-m3@64MHz`; `none` for the times of the memories alone. If
        open, it follows from the architecture of the trace.
        """
    @property
    def ram(self) -> Ram:
        """Times of the RAM. If None, those of the processor that copies; without one, 0."""
    @property
    def read_mode(self) -> str | None:
        """Lines of command, address and data with which a part is read in place, as `1-4-4`;
        None for the fastest way.
        """
    @property
    def reference_bit(self) -> str:
        """How a reference bit is set: by `hardware`, or `emulated` by the valid bit, which
        costs false faults.
        """
    @property
    def register(self) -> str:
        """The model by which the data register is read."""
    @property
    def schedule(self) -> str:
        """The schedule of a fault's jobs: `sequential`, `parallel` and others."""
    @property
    def store(self) -> str:
        """The arrangement of the cache pages in flash: `plain`, one behind the other, or
        `homes`, a flash page for each, with the pages that are likely to miss next.
        """
    @property
    def tag_bytes(self) -> int | None:
        """With authentication: bytes of the tag of a cache page, or of a codeword that is
        larger, 1 to 16; None without tags.
        """
    @property
    def tlb(self) -> Tlb | None:
        """The TLB between both; None without one."""
    @property
    def ways(self) -> int | None:
        """Ways of a set of a cache in hardware, whose lines are cache pages; None for frames
        in software.
        """
    def as_dict(self) -> Json:
        """All fields as plain dictionaries, with those that follow from the part filled in."""
    def fault_times(self, walks: Sequence[int], downgrades: int) -> list[FaultTimes]:
        """The times of faults by every schedule, one for each of `walks`, the numbers of frames that a
        search examines. Each fault loads its flash page, and moves `downgrades` pages from valid to
        invalid.
        """
    def for_trace(self, info: TraceInfo) -> Design:
        """The design for a trace. A processor that the user left open is the usual one of the trace's
        architecture.
        """
    @staticmethod
    def from_board(board: str | os.PathLike[str]) -> Design:
        """Read a board: a shipped one by its name, any other from its file."""
    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> Design:
        """Make a design from the fields that `as_dict` returns; for pickles."""
    def on_part(self, part: str) -> Design:
        """The same design on another part, without the measured load time."""
    def refusal(self) -> str | None:
        """The reason why the design is impossible; None if it is possible."""
    def replace(self, **fields: Unpack[DesignFields]) -> Design:
        """The same design with other values of some fields."""
    def resolved(self) -> Design:
        """The same design with the parameters of its policy: PA-Clock's budget comes from the
        handler's times. An impossible design stays as it is.
        """
    def unverified(self) -> list[str]:
        """Paths of the unchecked numbers that the prices depend on. Those of the NOR part begin with
        `nor.`.
        """
    def vary(self, values: dict[str, str | int | None]) -> Design:
        """The same design with other values of axes. A change of the part drops the measured load time."""
    def warm_up_refusal(self) -> str | None:
        """The reason why the design can have no warm-up; None if it can."""

@final
class Handler:
    """Times of the software, in ns: the jobs of a fault as the SWL paper names them, and lookups."""

    def __new__(
        cls,
        lookup_ns: float = 0.0,
        pre_process_ns: float = 0.0,
        get_freeframe_ns: float = 0.0,
        walk_step_ns: float = 0.0,
        downgrade_ns: float = 0.0,
        update_mmu_ns: float = 0.0,
        post_process_ns: float = 0.0,
        false_fault_ns: float = 0.0,
        load_stopover_ns: float | None = None,
        load_command_ns: float = 0.0,
        column_command_ns: float = 0.0,
        tag_check_ns: float = 0.0,
        mac_block_ns: float = 0.0,
    ) -> Handler: ...
    @property
    def column_command_ns(self) -> float:
        """Time to command a column change, without the time of the bus."""
    @property
    def downgrade_ns(self) -> float:
        """Time of each page that the search moves from valid to invalid."""
    @property
    def false_fault_ns(self) -> float:
        """Time of each false fault, without the pages that it moves from valid to invalid."""
    @property
    def fixed_fault_ns(self) -> float:
        """The host's time at every true fault, without the search and without the pages that it
        moves from valid to invalid.
        """
    @property
    def get_freeframe_ns(self) -> float:
        """Time at each true fault to find a frame, without the search."""
    @property
    def load_command_ns(self) -> float:
        """Time to command a load, unless the page is loaded ahead."""
    @property
    def load_stopover_ns(self) -> float | None:
        """Measured time to load a flash page into its buffer; None to use the part's t_R."""
    @property
    def lookup_ns(self) -> float:
        """Time of the lookup at each reference to the page cache."""
    @property
    def mac_block_ns(self) -> float:
        """Time of each 16 bytes that a MAC covers."""
    @property
    def post_process_ns(self) -> float:
        """Time to restore registers."""
    @property
    def pre_process_ns(self) -> float:
        """Time at each true fault to save registers and find the page in flash."""
    @property
    def tag_check_ns(self) -> float:
        """Time to check a tag, without the times of the bus and of the MAC's blocks."""
    @property
    def update_mmu_ns(self) -> float:
        """Time to update page table and TLB."""
    @property
    def walk_step_ns(self) -> float:
        """Time of each frame that the search examines."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    def times(self) -> list[tuple[str, float]]:
        """All times by name, 0 where nothing was measured."""
    def with_load_stopover(self, load_stopover_ns: float | None) -> Handler:
        """The same times with a measured LoadStopover; None to use the part's t_R."""

@final
class ICache:
    """The instruction cache of the processor, with its times."""

    def __new__(
        cls,
        size_bytes: int | str,
        line_bytes: int | str,
        ways: int,
        fetch_ns: float,
        refill_ns: float,
    ) -> ICache: ...
    @property
    def fetch_ns(self) -> float:
        """Nanoseconds to fetch a word from the cache."""
    @property
    def line_bytes(self) -> int:
        """Bytes of a line."""
    @property
    def refill_ns(self) -> float:
        """Nanoseconds to refill a line."""
    @property
    def size_bytes(self) -> int:
        """Bytes of all lines of the cache."""
    @property
    def ways(self) -> int:
        """Number of lines in a set."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Ram:
    """Times of the RAM that holds the frames, on the processor's bus; 0 by default."""

    def __new__(cls, t_read_ns: float | None = None, t_write_ns: float | None = None) -> Ram: ...
    @property
    def t_read_ns(self) -> float:
        """Nanoseconds per byte that the processor reads."""
    @property
    def t_write_ns(self) -> float:
        """Nanoseconds per byte that is written into a frame."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Tlb:
    """The TLB behind the instruction cache, with its times."""

    def __new__(cls, sets: int, ways: int, lookup_ns: float, page_walk_ns: float) -> Tlb: ...
    @property
    def lookup_ns(self) -> float:
        """Nanoseconds of a lookup in the TLB."""
    @property
    def page_walk_ns(self) -> float:
        """Nanoseconds to walk the page table if the TLB does not have the page."""
    @property
    def sets(self) -> int:
        """Number of sets."""
    @property
    def ways(self) -> int:
        """Number of entries in a set."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def board_text(name: str) -> str:
    """The text of the file of a shipped board."""

def boards() -> list[tuple[str, str, str]]:
    """The shipped boards: name, summary and kind, which is `board`, `chip` or `model`."""

def cells(designs: Sequence[Design]) -> list[list[int]]:
    """Group designs into cells, which are replayed together. Each cell is a list of indices."""

def design_fields() -> list[str]:
    """The fields of a design, which are the keyword arguments of `Design`."""

def parse_size(size: int | str) -> int:
    """The bytes of a size: a number, or text with an optional K, M or G (powers of 1024)."""

def read_toml(path: str | os.PathLike[str]) -> Json:
    """A TOML file as plain dictionaries and lists."""

@final
class CopyLoop:
    """The instructions of one iteration of a copy loop."""

    @property
    def architecture(self) -> str:
        """`arm`, `thumb`, `aarch64`, `riscv32`, `riscv64`, `i386`, `x86_64` or `avr`."""
    @property
    def bytes(self) -> int:
        """Bytes of data that pass through the port, without those that are thrown away."""
    @property
    def calls(self) -> list[str]:
        """Functions that the loop calls. Their instructions are not counted."""
    @property
    def direction(self) -> str:
        """The direction of the data: `read` or `write`."""
    @property
    def first_address(self) -> int:
        """Address of the loop's first instruction."""
    @property
    def function(self) -> str:
        """Name of the function that holds the loop."""
    @property
    def instructions(self) -> int:
        """Instructions on the longest path through the loop."""
    @property
    def last_address(self) -> int:
        """Address of the loop's last instruction."""
    @property
    def listing(self) -> list[ListedInstruction]:
        """The counted instructions, by address."""
    @property
    def literal_accesses(self) -> int:
        """Loads of constants that lie beside the code."""
    @property
    def memory_accesses(self) -> int:
        """Accesses to RAM: at moving addresses, on the stack, and to variables."""
    @property
    def other_device_accesses(self) -> int:
        """Accesses to other devices."""
    @property
    def port(self) -> int | None:
        """Address of the data port; None if it is unknown."""
    @property
    def port_accesses(self) -> int:
        """Accesses to the data port."""
    @property
    def shortest_instructions(self) -> int:
        """Instructions on the shortest path with as many port accesses."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ListedInstruction:
    """An instruction of a loop."""

    @property
    def access(self) -> str | None:
        """The target of its access: `port`, `memory`, `literal` or `device`; None without one."""
    @property
    def address(self) -> int:
        """Address of the instruction in the file."""
    @property
    def text(self) -> str:
        """The instruction, as the disassembler writes it."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class AssumedValue:
    """A value assumed for a parameter of the host that the user left open."""

    @property
    def narrows(self) -> float:
        """How much the range of the estimate narrows if the value is known: the ratio of its ends
        now, over the same with the likely value.
        """
    @property
    def options(self) -> str:
        """The options that state the value."""
    @property
    def parameter(self) -> str:
        """The parameter: `clock`, `lines`, `operation`, `mover` or `array`."""
    @property
    def source(self) -> str:
        """Source of the range."""
    @property
    def span(self) -> ValueRange:
        """Range of the value."""
    @property
    def unit(self) -> str:
        """Unit of the value."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ByteTime:
    """Time of a byte in the driver's loop, without the array and the commands."""

    @property
    def bus_ns(self) -> float:
        """Time on the host's bus."""
    @property
    def memory_ns(self) -> float:
        """Time of the accesses to RAM."""
    @property
    def ns(self) -> float:
        """The time of a byte: the sum of bus, memory and software. The bus's time contains the
        part's.
        """
    @property
    def part_ns(self) -> float:
        """Time at the part's own cycles."""
    @property
    def software_ns(self) -> float:
        """Time of the loop's instructions."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Energy:
    """Energy of an operation."""

    @property
    def array_uj(self) -> float:
        """Energy of the array."""
    @property
    def fault_uj(self) -> float | None:
        """Energy of a page fault, a read of a cache page; None if no cache page was given."""
    @property
    def io_uj(self) -> float:
        """Energy of commands and data on the bus."""
    @property
    def operation_uj(self) -> float:
        """Sum of both."""
    @property
    def uj_per_kb(self) -> float | None:
        """Sum of both for 1024 bytes; None if no byte moves."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Estimate:
    """The estimated speed of an operation on a host."""

    @property
    def bus(self) -> str | None:
        """The bus with its clock after the divider; None if the part's own bus is used."""
    @property
    def byte(self) -> ByteTime:
        """Time of each byte."""
    @property
    def bytes(self) -> int:
        """Bytes over the bus."""
    @property
    def composed(self) -> list[Stage]:
        """The stages below the layers: those that are composed of cycles and instructions."""
    @property
    def energy(self) -> Energy | None:
        """Energy of the operation; None if the part's file has no currents."""
    @property
    def kind(self) -> str:
        """Kind of memory, as `nand`."""
    @property
    def likely_shares(self) -> list[tuple[str, float]]:
        """Shares of the likely time by cause, with the assumptions on the host; `controller` is the
        time that the controller adds to the bus. The verdict describes these shares.
        """
    @property
    def longest_ns(self) -> float | None:
        """Time of the operation through the driver with the slowest times measured of the medium;
        None if its times do not vary.
        """
    @property
    def loop(self) -> CopyLoop | None:
        """The loop of the driver's code; None if it was not counted."""
    @property
    def name(self) -> str:
        """Name of the part, as on the package."""
    @property
    def notes(self) -> list[str]:
        """Notes for the reader."""
    @property
    def on_bus(self) -> Operation:
        """The operation on the host's bus."""
    @property
    def operation(self) -> Operation:
        """The operation at the part's own speed."""
    @property
    def operation_kind(self) -> str:
        """The operation."""
    @property
    def part(self) -> str:
        """The part, as the caller named it."""
    @property
    def range(self) -> Range:
        """The range of the operation's time, with the unknowns of the host."""
    @property
    def remedies(self) -> list[Remedy]:
        """Changes that would make it faster, the best first."""
    @property
    def shares(self) -> list[tuple[str, float]]:
        """The time of the operation through the host, in ns, split into `array`, `commands`,
        `transfer`, `bus`, `memory` and `software`.
        """
    @property
    def spec(self) -> EstimateSpec:
        """The inputs."""
    @property
    def stages(self) -> list[Stage]:
        """The stages from the physical limit to the application, as far as they are known."""
    @property
    def through_host(self) -> Stage:
        """The last composed stage: the operation through all that is known of the host."""
    @property
    def unverified(self) -> list[str]:
        """Unchecked fields of the part."""
    @property
    def verdict(self) -> str:
        """Where most of the time goes, and which change would help, in words."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class EstimateSpec:
    """The inputs of an estimate."""

    @property
    def bytes(self) -> int | None:
        """Bytes over the bus; None for as many as the operation usually moves."""
    @property
    def cache_page_bytes(self) -> int | None:
        """Bytes of a cache page, for the energy of a page fault."""
    @property
    def host(self) -> PricedHost:
        """The host."""
    @property
    def mode(self) -> str | None:
        """The mode in which data comes over the bus; None for the part's usual one."""
    @property
    def operation(self) -> str | None:
        """The operation."""
    @property
    def page_bytes(self) -> int | None:
        """Bytes of a page, if other than the part's."""
    @property
    def part(self) -> str:
        """A part of the catalog, or a TOML file."""
    @property
    def waits(self) -> bool:
        """True if the waits t_WB and t_ADL are counted."""
    @property
    def width_bits(self) -> int | None:
        """Data lines of part and bus, if other than the part's."""
    @property
    def without(self) -> str | None:
        """A source of measured hosts that was left out of the assumptions."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Operation:
    """An operation, composed of steps."""

    @property
    def bus_ns(self) -> float:
        """Time in which the bus is in use."""
    @property
    def bytes(self) -> int:
        """Bytes over the bus."""
    @property
    def command_ns(self) -> float:
        """Time of command, address and status cycles."""
    @property
    def data_bytes(self) -> int:
        """Bytes of user data among those moved."""
    @property
    def kind(self) -> str:
        """Name of the operation."""
    @property
    def left_out(self) -> list[OperationStep]:
        """Waits that the flash-media article leaves out."""
    @property
    def mode(self) -> str | None:
        """The mode in which data came over the bus; None if the part has one mode only."""
    @property
    def ns(self) -> float:
        """Time of all steps."""
    @property
    def steps(self) -> list[OperationStep]:
        """The steps, in order."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class OperationStep:
    """A step of an operation."""

    @property
    def bytes(self) -> int:
        """Bytes that it moves."""
    @property
    def formula(self) -> str:
        """Composition of its time, in the datasheet's names."""
    @property
    def kind(self) -> str:
        """Kind of the step: `command`, `wait`, `busy`, `transfer` or `hidden`."""
    @property
    def longest_ns(self) -> float | None:
        """The longest time measured; None if the time does not vary."""
    @property
    def name(self) -> str:
        """Name of the step, as `command 30h`."""
    @property
    def ns(self) -> float:
        """Time of the step."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PricedHost:
    """A host as an operation was priced on it: in one direction, the driver's loop counted."""

    @property
    def array_share(self) -> float | None:
        """The chip's array time as a share of its datasheet's."""
    @property
    def bus(self) -> str | None:
        """The bus to the medium."""
    @property
    def copied(self) -> bool:
        """True if the processor moves the data by a loop whose code is unknown."""
    @property
    def dma(self) -> Dma | None:
        """The DMA that moves the data; None if the processor moves it."""
    @property
    def layers(self) -> list[PricedLayer]:
        """The layers above the driver, the lowest first."""
    @property
    def like(self) -> str | None:
        """Name of a measured host that resembles this one."""
    @property
    def memory(self) -> Memory | None:
        """The RAM."""
    @property
    def operation_ns(self) -> float | None:
        """Time of the driver for an operation, outside of its loop; None if unknown."""
    @property
    def peripheral(self) -> Peripheral | None:
        """A port that divides its clock."""
    @property
    def processor(self) -> Processor | None:
        """The processor."""
    @property
    def software(self) -> Software | None:
        """The driver's loop."""
    @property
    def system(self) -> str | None:
        """The system that drives the medium."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PricedLayer:
    """A layer of software above the driver, in the direction of the operation."""

    @property
    def bytes_per_s(self) -> float | None:
        """Rate measured through the layer; None if it was not measured."""
    @property
    def name(self) -> str:
        """Name of the layer."""
    @property
    def share(self) -> float | None:
        """Share of the driver's rate that remains above the layer; None if it is unknown."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Range:
    """Time of an operation through the driver, from best to worst values of the unknowns."""

    @property
    def assumed(self) -> list[AssumedValue]:
        """The unknowns, the one first that would narrow the range most."""
    @property
    def high_bytes_per_s(self) -> float:
        """Bytes a second with the best values."""
    @property
    def high_ns(self) -> float:
        """Time with the worst values."""
    @property
    def likely_bytes_per_s(self) -> float:
        """Bytes a second with the likely values."""
    @property
    def likely_ns(self) -> float:
        """Time with the likely values."""
    @property
    def low_bytes_per_s(self) -> float:
        """Bytes a second with the worst values."""
    @property
    def low_ns(self) -> float:
        """Time with the best values."""
    @property
    def width(self) -> float:
        """The longest time over the shortest; 1 if every value is known."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Remedy:
    """A change of the host, and how much faster the driver gets."""

    @property
    def change(self) -> str:
        """Name of the change."""
    @property
    def mode(self) -> str | None:
        """The new mode; None if the change keeps the mode."""
    @property
    def speedup(self) -> float:
        """Time of the operation now over that with the change; 1 if nothing is gained."""
    @property
    def to(self) -> float | None:
        """Number of data lines, or MHz; None for other changes."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Stage:
    """The rate that remains after one more stage on the way from the medium to the application."""

    @property
    def bytes_per_s(self) -> float:
        """Bytes a second at this stage."""
    @property
    def kind(self) -> str:
        """Kind of the stage: `part`, `bus`, `memory`, `software` or `layer`."""
    @property
    def measured(self) -> bool:
        """True if the time was measured; else it is composed."""
    @property
    def name(self) -> str:
        """Name of the layer; for other stages, the name of their kind."""
    @property
    def ns(self) -> float:
        """Time of the operation so far."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ValueRange:
    """The range of an unknown value."""

    @property
    def best(self) -> float:
        """The value with which the operation is fastest."""
    @property
    def likely(self) -> float:
        """The median of measured values."""
    @property
    def worst(self) -> float:
        """The value with which the operation is slowest."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def all_operations() -> list[str]:
    """All operations by name."""

def estimate(
    part: str,
    host: Host | None = None,
    *,
    operation: str | None = None,
    size: int | None = None,
    mode: str | None = None,
    waits: bool = False,
    cache_page_bytes: int | None = None,
    page_bytes: int | None = None,
    width_bits: int | None = None,
    loop: CopyLoop | None = None,
    without: str | None = None,
    measured: tuple[float, int | None] | None = None,
) -> Estimate:
    """Estimate one operation of a part on a host.

    >>> estimate("MT29F8G08", operation="read").stages[0].ns
    77982.0

    Args:
        part: a part of the catalog, or a TOML file.
        host: the host between the part and the application.
        operation: an operation that `flashpager estimate --help` lists; the part's first if None.
        size: bytes over the bus; a page with its spare, a cache line or a block if None.
        mode: the read mode, such as `1-1-4` or `burst`.
        waits: True to count t_WB and t_ADL, which the article leaves out.
        cache_page_bytes: bytes of a cache page, for the energy of a page fault.
        page_bytes: bytes of a page that the part is assumed to have.
        width_bits: bits that part, bus and driver are assumed to move at once.
        loop: the driver's loop, where it was already counted by `Host.loop`.
        without: a source of `measured_hosts` that is left out of the assumptions on the host.
        measured: a rate of this operation on the caller's board, in bytes a second, and the bytes
            of the measured transaction; those of this one if None.

    Raises:
        FlashpagerError: for what cannot be, with the reason.
    """

@final
class FaultTimes:
    """The times of a fault by every schedule."""

    @property
    def downgrades(self) -> int:
        """Pages that the search moves from valid to invalid."""
    @property
    def jobs(self) -> Jobs:
        """Times of the jobs."""
    @property
    def schedules(self) -> list[ScheduledFault]:
        """The fault by each schedule."""
    @property
    def sum_ns(self) -> float:
        """Time of all jobs, one after another."""
    @property
    def walk(self) -> int:
        """Frames that the search examines."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class JobSpan:
    """A job with its place in time, from the fault on."""

    @property
    def end_ns(self) -> float:
        """End of the job, counted from the fault."""
    @property
    def executor(self) -> str:
        """The executor: `host`, `flash` or `dma`."""
    @property
    def job(self) -> str:
        """The paper's name of the job."""
    @property
    def start_ns(self) -> float:
        """Start of the job, counted from the fault."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Jobs:
    """Times of a fault's jobs, in ns."""

    @property
    def get_freeframe_ns(self) -> float:
        """Time to find a frame, with the search."""
    @property
    def load_stopover_ns(self) -> float:
        """Time to load the flash page into its buffer; 0 if a buffer holds it."""
    @property
    def post_process_ns(self) -> float:
        """Time to restore registers."""
    @property
    def pre_process_ns(self) -> float:
        """Time to save registers and to find the page."""
    @property
    def trans_host_mem_ns(self) -> float:
        """Time to transfer the bytes that the program waits for."""
    @property
    def trans_rest_ns(self) -> float:
        """Time to transfer the rest of the page while the program runs."""
    @property
    def update_mmu_ns(self) -> float:
        """Time to update page table and TLB."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ScheduledFault:
    """The times of a fault by one schedule."""

    @property
    def at_once(self) -> str:
        """The host's work while the flash loads, in words; empty if it waits."""
    @property
    def gain(self) -> float:
        """The share of all jobs that is hidden."""
    @property
    def hidden_ns(self) -> float:
        """Time saved, compared with all jobs one after another."""
    @property
    def latency_ns(self) -> float:
        """Time from the fault until the program goes on."""
    @property
    def longest_hidden_walk(self) -> float | None:
        """The most frames that the search can examine within the load. Infinite if a step takes no
        time; None if the schedule hides nothing.
        """
    @property
    def meanwhile_ns(self) -> float:
        """Time that the host works while the flash loads."""
    @property
    def outlasting_ns(self) -> float:
        """The part of that time by which it exceeds the load."""
    @property
    def schedule(self) -> str:
        """Name of the schedule."""
    @property
    def spans(self) -> list[JobSpan]:
        """The jobs, each with its start and end."""
    @property
    def walk_budget(self) -> int:
        """The number of frames that PA-Clock may examine with this schedule."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def overlaps(schedule: str) -> bool:
    """True if a schedule lets the host work while the flash loads."""

def schedules() -> list[str]:
    """The schedules by name, in the order of the paper."""

@final
class FunctionPrices:
    """Prices of paged functions, in nanoseconds."""

    @property
    def call_ns(self) -> float:
        """A call to a paged function."""
    @property
    def load_command_ns(self) -> float:
        """The host's command for a load."""
    @property
    def load_ns(self) -> float:
        """The software's part of a load."""
    @property
    def return_ns(self) -> float:
        """A return from a paged function, or to one."""
    @property
    def t_byte_ns(self) -> float:
        """A byte over the bus."""
    @property
    def t_column_change_ns(self) -> float | None:
        """A column change; None if the part gives no time for it."""
    @property
    def t_load_ns(self) -> float:
        """A load of a flash page."""
    @property
    def t_write_ns(self) -> float:
        """A byte written into RAM, or moved in it."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FunctionRam:
    """The RAM of a design that pages functions."""

    @property
    def heap_bytes(self) -> int:
        """Bytes left for paged functions."""
    @property
    def outside_bytes(self) -> int:
        """Bytes of executed code in no function, which is resident."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of the RAM in all."""
    @property
    def resident_bytes(self) -> int:
        """Bytes of resident functions."""
    @property
    def table_bytes(self) -> int:
        """Bytes of tables for the paged functions."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FunctionRow:
    """Result of replaying a trace through a design that pages functions."""

    @property
    def added_instructions(self) -> float | None:
        """Instructions added, as a share of the program's own; None without a processor."""
    @property
    def assumed(self) -> list[Assumption]:
        """Parameters that the design left open."""
    @property
    def bus(self) -> str:
        """The bus."""
    @property
    def counts(self) -> UnitCounts:
        """The counts."""
    @property
    def data_bytes(self) -> int:
        """Bytes read as data, which are not paged."""
    @property
    def energy(self) -> FlashEnergy | None:
        """Energy of the flash; None if the part's file has no currents."""
    @property
    def flash_bytes(self) -> int:
        """Bytes of the paged functions in flash."""
    @property
    def flash_page_bytes(self) -> int:
        """Bytes of a flash page."""
    @property
    def functions(self) -> list[FunctionUse]:
        """The paged functions that were executed, those with most misses first."""
    @property
    def latency(self) -> Latency:
        """Latency of loads."""
    @property
    def looks_ahead(self) -> bool:
        """True if no device can run the policy, because it looks ahead."""
    @property
    def nor(self) -> NorComparison | None:
        """The comparison with NOR; None without one."""
    @property
    def nor_part(self) -> str | None:
        """The NOR part to compare with; None without one."""
    @property
    def nor_ratio_free_software(self) -> float | None:
        """Bandwidth over NOR's if the software took no time; None without NOR."""
    @property
    def notes(self) -> list[str]:
        """Names that are those of parts of other functions."""
    @property
    def outside_executed_bytes(self) -> int:
        """Bytes executed in no function."""
    @property
    def paged(self) -> int:
        """Number of paged functions."""
    @property
    def part(self) -> str:
        """The part."""
    @property
    def pinned(self) -> list[str]:
        """Resident functions that replays chose."""
    @property
    def policy(self) -> str:
        """The rule by which functions get their places in RAM."""
    @property
    def prices(self) -> FunctionPrices:
        """The prices."""
    @property
    def processor(self) -> str | None:
        """The processor; None without one."""
    @property
    def ram(self) -> FunctionRam:
        """The division of the RAM."""
    @property
    def read_disturb(self) -> ReadDisturb:
        """Reads of the hottest erase block."""
    @property
    def register(self) -> str:
        """The model of the data register."""
    @property
    def resident(self) -> list[str]:
        """Resident functions, in the order of the image."""
    @property
    def run(self) -> RunTime | None:
        """Run time on the processor; None without one."""
    @property
    def time(self) -> Time:
        """Time, step by step: lookups are calls and returns, the handler is the software of loads,
        and writes include moves.
        """
    @property
    def warnings(self) -> list[str]:
        """Reasons why the design may disappoint."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FunctionUse:
    """A paged function that was executed."""

    @property
    def bytes(self) -> int:
        """Its bytes, rounded up to 4."""
    @property
    def misses(self) -> int:
        """References that load it."""
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def references(self) -> int:
        """References to it."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class UnitCounts:
    """The counts of a replay of functions. `references = calls + returns = hits + misses`."""

    @property
    def bytes_fetched(self) -> int:
        """Bytes over the bus, skipped ones included."""
    @property
    def bytes_moved(self) -> int:
        """Bytes of functions moved in RAM."""
    @property
    def bytes_read(self) -> int:
        """Bytes delivered to the CPU: the lengths of all executed runs. Data reads are not in it."""
    @property
    def bytes_skipped(self) -> int:
        """Bytes over the bus that are thrown away."""
    @property
    def bytes_written(self) -> int:
        """Bytes of functions written into RAM."""
    @property
    def call_misses(self) -> int:
        """Calls that miss."""
    @property
    def calls(self) -> int:
        """References that begin at the function's first byte."""
    @property
    def column_changes(self) -> int:
        """Column changes; a load has none."""
    @property
    def evictions(self) -> int:
        """Functions evicted."""
    @property
    def hits(self) -> int:
        """References that find their function in RAM."""
    @property
    def loads(self) -> int:
        """Flash pages loaded."""
    @property
    def misses(self) -> int:
        """References whose function has to be loaded."""
    @property
    def references(self) -> int:
        """References to functions that are paged."""
    @property
    def resident_returns(self) -> int:
        """Returns from a paged function to resident code, which are no references."""
    @property
    def return_misses(self) -> int:
        """Returns that miss."""
    @property
    def returns(self) -> int:
        """References that begin elsewhere in the function."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def function_instructions() -> tuple[int, int, int]:
    """The instructions of the software that pages functions, if nothing else is known: a call, a
    return, and a load.
    """

def function_policies() -> list[tuple[str, str]]:
    """The policies for functions, each with a few words."""

def simulate_functions(
    trace: str | os.PathLike[str],
    design: Design,
    policy: str,
    ram_bytes: int,
    *,
    resident: Sequence[str] = ...,
    pin_bytes: int = 0,
    table_bytes: int = 0,
    instructions: tuple[int, int, int] | None = None,
) -> FunctionRow:
    """Replay a trace through a design that pages whole functions. ``instructions`` are those of a call,
    a return and a load. Replays choose functions of up to ``pin_bytes`` to be resident, too.
    """

@final
class StoredPart:
    """A part of a trace with both stores."""

    @property
    def homes(self) -> Row:
        """The part with the trained homes, and classes if any were kept; the same as `plain` if
        the plain store is kept.
        """
    @property
    def is_held_out(self) -> bool:
        """True if the part did not train the homes."""
    @property
    def plain(self) -> Row:
        """The part with the plain store."""
    @property
    def trace(self) -> int:
        """The index of its trace."""
    @property
    def without_classes(self) -> Row | None:
        """The part with homes that were trained without classes; None unless classes were trained."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class TrainedHomes:
    """Homes that were trained on one trace or more."""

    @property
    def classes(self) -> list[tuple[int, int]] | None:
        """The reuse classes of each page, of a fill and of a use; None if there are none."""
    @property
    def parts(self) -> list[StoredPart]:
        """By trace, the part that trained, and the part behind it if one is held out."""
    @property
    def passes(self) -> int:
        """The passes over all pages in which classes were trained; 0 if none were."""
    @property
    def slots(self) -> list[list[int]]:
        """The pages in the slots of each home; empty if the plain store is kept."""
    @property
    def summary(self) -> HomesSummary:
        """The homes and their training."""
    def classes_file(self) -> str:
        """The text of a file with the reuse classes, which a design takes as ``classes``.

        Raises:
            FlashpagerError: for a policy without classes.
        """
    def flash_image(self, image: bytes) -> bytes:
        """The flash image of the store, made of the bytes of the program's image.

        Raises:
            FlashpagerError: for an image of another length.
        """

def train_homes(
    traces: Sequence[tuple[str | os.PathLike[str], int]],
    design: Design,
    train: str | None = None,
    *,
    trains_classes: bool = False,
    progress: Callable[[int, int, int], object] | None = None,
) -> TrainedHomes:
    """Train homes for a design on traces of one program, each with its weight. ``train`` describes the
    first runs of each trace that train, as a warm-up is written; the rest is held out. None trains
    on all. With ``trains_classes`` reuse classes are trained, too; ``progress`` then receives the
    passes over all pages that are done, and the pages of this pass, done and in all.
    """

@final
class DividerRange:
    """The range of dividers that a controller has."""

    @property
    def divider(self) -> str:
        """The kind of the dividers."""
    @property
    def least(self) -> float:
        """The smallest divider."""
    @property
    def most(self) -> float:
        """The largest divider."""
    @property
    def source(self) -> str:
        """Source of the values."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Dma:
    """Data moved by DMA instead of by the loop."""

    def __new__(cls, software_share: float | None = None) -> Dma: ...
    @property
    def software_share(self) -> float:
        """Share of the software overhead that remains; a half by default."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Driver:
    """The code of a driver: an object file, and the function whose loop moves the data."""

    def __new__(
        cls,
        object: str | os.PathLike[str],
        function: str,
        port: int | str | None = None,
    ) -> Driver: ...
    @property
    def function(self) -> str:
        """The function whose loop moves the data."""
    @property
    def object(self) -> pathlib.Path:
        """The object file."""
    @property
    def port(self) -> int | None:
        """Address of the data port, if it does not follow from the code."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Host:
    """The host between a medium's pins and the application; an absent component costs nothing.

    >>> Host(bus="120MHz/8-x8", memory=Memory("100MHz/5-x32")).bus
    '120MHz/8-x8'
    """

    def __new__(
        cls,
        bus: str | None = None,
        *,
        peripheral: Peripheral | None = None,
        memory: Memory | None = None,
        processor: Processor | None = None,
        software: Software | None = None,
        driver: Driver | None = None,
        operation_ns: float | None = None,
        dma: Dma | None = None,
        copied: bool = False,
        system: str | None = None,
        like: str | None = None,
        array_share: float | None = None,
        layers: Sequence[Layer] = ...,
        measured: Sequence[Measurement] = ...,
    ) -> Host: ...
    @property
    def array_share(self) -> float | None:
        """The chip's measured array time as a share of its datasheet's; None if it was not
        measured.
        """
    @property
    def bus(self) -> str | None:
        """Clock, cycles of an access and data lines, as `120MHz/8-x8`; None for those of the part."""
    @property
    def copied(self) -> bool:
        """True if the processor moves the data by a loop whose code is unknown."""
    @property
    def dma(self) -> Dma | None:
        """The DMA that moves the data; None if the processor moves it."""
    @property
    def driver(self) -> Driver | None:
        """The driver's code, in which the loop is counted. It replaces `software`."""
    @property
    def layers(self) -> list[Layer]:
        """The layers above the driver, the lowest first."""
    @property
    def like(self) -> str | None:
        """Name of a measured host that resembles this one, as `measured_hosts` lists them."""
    @property
    def measured(self) -> list[Measurement]:
        """The rates measured with the board's own part, at most one for an operation and mode."""
    @property
    def memory(self) -> Memory | None:
        """The RAM that data is read into or written from."""
    @property
    def operation_ns(self) -> float | None:
        """Time of the driver for an operation, outside of its loop; None if unknown."""
    @property
    def peripheral(self) -> Peripheral | None:
        """A port that makes the bus's clock; then `bus` gives its lines alone."""
    @property
    def processor(self) -> Processor | None:
        """The processor."""
    @property
    def software(self) -> Software | None:
        """The driver's loop."""
    @property
    def system(self) -> str | None:
        """The system that drives the medium: `linux`, `firmware` or `in-place`."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    @staticmethod
    def from_board(path: str | os.PathLike[str]) -> tuple[Host, str | None]:
        """The host on the board in a file, and the name of its part."""
    def loop(self) -> CopyLoop | None:
        """The loop of the driver's code, if there is code."""
    def with_clock(self, part: Part, clock_mhz: float) -> Host:
        """The same host with another clock of its bus."""
    def without_measurements(self) -> Host:
        """The same host without measured rates, which hold for one part on one bus."""

@final
class Layer:
    """A layer of software above the driver, described by the rates measured through it or by the
    share of the driver's rate that remains above it.
    """

    def __new__(
        cls,
        name: str,
        *,
        read_kb_s: float | None = None,
        write_kb_s: float | None = None,
        read_share: float | None = None,
        write_share: float | None = None,
    ) -> Layer: ...
    @property
    def name(self) -> str:
        """Name of the layer."""
    @property
    def read_kb_s(self) -> float | None:
        """Measured rate of reading, in 1000 bytes a second; None if unknown."""
    @property
    def read_share(self) -> float | None:
        """Share of the driver's rate of reading that remains above the layer."""
    @property
    def write_kb_s(self) -> float | None:
        """Measured rate of writing, in 1000 bytes a second; None if unknown."""
    @property
    def write_share(self) -> float | None:
        """Share of the driver's rate of writing that remains above the layer."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class MeasuredHost:
    """A measured host: the times that it adds to part and bus."""

    @property
    def byte_ns(self) -> float | None:
        """Nanoseconds per byte at the host's own pace, if an operation's time was measured with
        it. 0 if that time contains the transfer.
        """
    @property
    def card(self) -> bool:
        """True if the medium is an SD card or an eMMC."""
    @property
    def clock_share(self) -> float | None:
        """The bus's clock as a share of the fastest that the part allows."""
    @property
    def controller(self) -> list[float]:
        """Times of a transaction over those of the bus alone, one for each measurement."""
    @property
    def likeness_only(self) -> bool:
        """True if nothing is fitted to this host: it stands only for a host that is like it."""
    @property
    def mover(self) -> tuple[str, list[float]] | None:
        """The mover of the bytes, `dma` or `processor`, and the processor's clocks for a byte, one
        for each measurement; None if unknown.
        """
    @property
    def name(self) -> str:
        """Name by which `like` refers to it."""
    @property
    def operation_us(self) -> list[float]:
        """Times that the host adds to an operation, besides part, bus and mover, in µs, one for
        each measurement.
        """
    @property
    def pages(self) -> bool:
        """True if pages are read through a data register. False if memory is read in place."""
    @property
    def processor_mhz(self) -> float | None:
        """The processor's clock, if the mover's time is stated in clocks."""
    @property
    def serial(self) -> bool:
        """True if the measured medium is serial."""
    @property
    def source(self) -> str:
        """Source of the measurement."""
    @property
    def system(self) -> str:
        """The system that drives the medium."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Measurement:
    """A rate that was measured on the board with its own part."""

    def __new__(
        cls,
        operation: str,
        bytes_per_s: float,
        *,
        bytes: int | None = None,
        mode: str | None = None,
    ) -> Measurement: ...
    @property
    def bytes(self) -> int | None:
        """Bytes of the measured transaction; None for those of the estimated operation."""
    @property
    def bytes_per_s(self) -> float:
        """The rate over the bus, in bytes a second."""
    @property
    def mode(self) -> str | None:
        """The mode of the bus in which it was measured; None for the part's usual one."""
    @property
    def operation(self) -> str:
        """The measured operation."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Memory:
    """The RAM that data is read into or written from."""

    def __new__(cls, bus: str, refresh_share: float | None = None) -> Memory: ...
    @property
    def bus(self) -> str:
        """The RAM's bus, as `100MHz/5-x32`; the cycles are those of a whole access."""
    @property
    def refresh_share(self) -> float:
        """Share of the time that refreshing takes; 0 by default."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    def on(self, bus: str) -> Memory:
        """The same RAM on another bus."""

@final
class Peripheral:
    """A port that divides its own clock to make that of the bus."""

    def __new__(
        cls,
        clock_mhz: float,
        divider: str | None = None,
        *,
        controller: str | None = None,
        asked_mhz: float | None = None,
    ) -> Peripheral: ...
    @property
    def asked_mhz(self) -> float | None:
        """The clock that the driver requests; None for the fastest that the part allows."""
    @property
    def clock_mhz(self) -> float:
        """The clock that is divided."""
    @property
    def controller(self) -> str | None:
        """The controller that divides it, as `controllers` lists them."""
    @property
    def divider(self) -> str:
        """The divider's kind: that of the controller, or `integer` by default."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Processor:
    """The processor that runs the driver."""

    def __new__(
        cls,
        clock_mhz: float,
        cycles_per_instruction: float | None = None,
    ) -> Processor: ...
    @property
    def clock_mhz(self) -> float:
        """The processor's clock."""
    @property
    def cycles_per_instruction(self) -> float:
        """Clocks of an instruction, on average; 1 by default."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    def at(self, clock_mhz: float) -> Processor:
        """The same processor at another clock."""

@final
class Software:
    """The driver's innermost loop, by what an iteration does."""

    def __new__(
        cls,
        instructions: float,
        bytes: int,
        port_accesses: int | None = None,
        memory_accesses: float | None = None,
        other_device_accesses: float | None = None,
    ) -> Software: ...
    @property
    def bytes(self) -> int:
        """Bytes that an iteration moves through the data port."""
    @property
    def instructions(self) -> float:
        """Instructions executed by an iteration."""
    @property
    def memory_accesses(self) -> float:
        """Accesses to RAM; 1 by default."""
    @property
    def other_device_accesses(self) -> float:
        """Accesses to other devices on the same bus, such as pins that strobe."""
    @property
    def port_accesses(self) -> int:
        """Accesses to the data port that move the bytes; 1 by default."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def controllers() -> list[tuple[str, DividerRange]]:
    """All controllers whose divider is known, by name."""

def dividers() -> list[str]:
    """All dividers of a port's clock by name."""

def measured_hosts() -> list[MeasuredHost]:
    """All hosts that were measured."""

def systems() -> list[str]:
    """All systems that drive a medium, by name."""

@final
class CommitTimes:
    """Times of links after commits, each over the time before."""

    @property
    def commits(self) -> int:
        """Number of commits."""
    @property
    def draws(self) -> int:
        """Number of links drawn."""
    @property
    def p10(self) -> float:
        """The time below which a tenth of them lies."""
    @property
    def p50(self) -> float:
        """The median."""
    @property
    def p90(self) -> float:
        """The time below which nine of ten lie."""
    @property
    def worst(self) -> float:
        """The longest."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Layout:
    """A program laid out."""

    @property
    def best(self) -> PageLayout:
        """The layout of the best cache page."""
    @property
    def coverage(self) -> LayoutCoverage:
        """The units found in the program."""
    @property
    def evaluations(self) -> int:
        """Number of orders evaluated."""
    @property
    def executed_pieces(self) -> int:
        """Pieces of code that the traces execute."""
    @property
    def pages(self) -> list[PageLayout]:
        """The layouts, one for each cache page of the request."""
    @property
    def replayed_pieces(self) -> list[int]:
        """Pieces of code that the search replays to evaluate an order; one number for each cache
        page.
        """
    @property
    def resident_bytes(self) -> int:
        """Bytes of the units that lie in RAM, beside the cache."""
    @property
    def slots(self) -> SlotLayout | None:
        """The best order after commits; None without slots."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LayoutCoverage:
    """The units found in the program."""

    @property
    def executed_share(self) -> float:
        """Bytes fetched from movable units, as a share of all bytes fetched."""
    @property
    def movable(self) -> int:
        """Units that can move."""
    @property
    def notes(self) -> list[str]:
        """Notes on assumptions, and on code that remained unknown."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LayoutOutcome:
    """An order of units, and the results of the designs with it."""

    @property
    def cache_page_bytes(self) -> int:
        """The cache page of the first design."""
    @property
    def held_out(self) -> list[Row]:
        """Results of held-out traces."""
    @property
    def held_out_ratio(self) -> float | None:
        """The time ratio of held-out traces; None if there are none."""
    @property
    def rows(self) -> list[Row]:
        """Results, by design, then by trace."""
    @property
    def time_ratio(self) -> float:
        """Time over that of the recorded order with the design's own page; the mean over all
        designs.
        """
    @property
    def what(self) -> str:
        """Name of the order: ``before``, a published algorithm, or ``found``."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PageHeat:
    """A page of an image from which code is executed."""

    @property
    def executed_bytes(self) -> float:
        """Bytes executed, counted at each execution."""
    @property
    def page(self) -> int:
        """The page's number: its offset divided by the size of a page."""
    @property
    def units(self) -> list[int]:
        """The numbers of the units whose code in this page is executed."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PageLayout:
    """The layouts found for a cache page."""

    @property
    def baseline(self) -> LayoutOutcome:
        """The best of the published orders, the recorded one among them."""
    @property
    def before(self) -> LayoutOutcome:
        """The recorded order, with the same units in RAM."""
    @property
    def before_resident(self) -> LayoutOutcome | None:
        """The recorded order with no units in RAM; None if the request names none for RAM."""
    @property
    def cache_page_bytes(self) -> int:
        """The cache page of the first design."""
    @property
    def evaluations(self) -> int:
        """Orders that the search tried with this page; 0 if the search ended before it."""
    @property
    def found(self) -> LayoutOutcome:
        """The best of all."""
    @property
    def gap_bytes(self) -> int:
        """Bytes between units."""
    @property
    def heat_after(self) -> list[PageHeat]:
        """The same pages of the image laid out anew."""
    @property
    def heat_before(self) -> list[PageHeat]:
        """The pages of the recorded image from which code in flash is executed."""
    @property
    def image_bytes(self) -> int:
        """Bytes of the image in the new order."""
    @property
    def order(self) -> list[str]:
        """The names of the movable units in their new order."""
    @property
    def portfolio(self) -> list[tuple[str, float]]:
        """The published orders, each with its time over that before."""
    @property
    def units(self) -> list[PlacedUnit]:
        """All units."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PlacedUnit:
    """A unit of a program, with its offsets before and after."""

    @property
    def after(self) -> int:
        """The unit's offset in the image that is laid out anew."""
    @property
    def before(self) -> int:
        """The unit's offset in the recorded image."""
    @property
    def bytes(self) -> int:
        """The unit's length."""
    @property
    def executed_bytes(self) -> float:
        """Bytes executed, counted at each execution."""
    @property
    def fixed(self) -> bool:
        """True if it stays where it is."""
    @property
    def name(self) -> str:
        """The unit's name."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SlotLayout:
    """An order in slots, and what commits make of it."""

    @property
    def after(self) -> list[CommitTimes]:
        """The program in slots after one commit and more."""
    @property
    def names(self) -> list[str]:
        """The units in slots, in their order."""
    @property
    def recorded(self) -> CommitTimes:
        """The recorded program after one commit, in the order of its link."""
    @property
    def reserve_bytes(self) -> int:
        """Free bytes before the data behind the code."""
    @property
    def slack_bytes(self) -> int:
        """Free bytes behind each unit in a slot."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def lay_out(
    traces: Sequence[tuple[str | os.PathLike[str], float]],
    designs: Sequence[tuple[Design, float]],
    progress: Callable[[int, float, float], float],
    *,
    map: str | os.PathLike[str] | None = None,
    held_out: Sequence[str | os.PathLike[str]] = ...,
    held_out_share: float = 0.0,
    pages: Sequence[int] = ...,
    resident: Sequence[str] = ...,
    slots_bytes: int = 0,
    seed: int = 1,
    evaluations: int | None = None,
) -> Layout:
    """Lay a program out. Each of ``traces`` and ``designs`` has a weight.

    ``progress(cache_page_bytes, time_ratio, evaluated_share)`` is called ten times a second and
    returns the share of the search that is used up. The evaluated share is 0 without
    ``evaluations``. At 1 the search ends, and the best order so far is kept. With
    ``evaluations`` it also ends after about so many orders, and the result is the same each time.
    """

@final
class CheckedLink:
    """The check that a program was linked in an order."""

    @property
    def disobeyed(self) -> list[OrderViolation]:
        """The violations of the order."""
    @property
    def lines(self) -> int:
        """Number of lines in the order."""
    @property
    def repeated(self) -> int:
        """Number of lines that repeat the unit of an earlier line. The earlier line is the one
        that is checked.
        """
    @property
    def several(self) -> int:
        """Number of lines that name several functions."""
    @property
    def unclear(self) -> int:
        """Number of lines that select one of several functions with the same name, as
        ``helper@0x360``.
        """
    @property
    def unseen(self) -> int:
        """Number of lines whose address in the program is unknown."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class CheckedPins:
    """The check that the pinned units of a program lie in RAM."""

    @property
    def in_ram(self) -> int:
        """Units in RAM."""
    @property
    def stored_ahead(self) -> list[str]:
        """Sections with units in RAM that are stored right before the code, which they move."""
    @property
    def unpinned(self) -> list[UnpinnedUnit]:
        """Units that do not lie in RAM."""
    @property
    def unseen(self) -> int:
        """Number of lines whose address in the program is unknown."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LinkOrder:
    """An order of input sections."""

    @property
    def repeated(self) -> list[str]:
        """Lines that name only what a line before them does, which counts."""
    @property
    def slots(self) -> int:
        """The number of units that have a slot."""
    @property
    def units(self) -> int:
        """Units that the order names; the others follow in the recorded order."""
    @property
    def unknown(self) -> list[str]:
        """Lines that name no unit."""

@final
class Linked:
    """The input sections of a program in flash, by the map of its link."""

    def __new__(cls, trace: str | os.PathLike[str], map: str | os.PathLike[str]) -> Linked:
        """Take a trace and the map of the link of what was recorded."""
    @property
    def fixed(self) -> list[str]:
        """Input sections that stay, by name, as they lie."""
    @property
    def is_relaxed(self) -> bool:
        """True if the linker made code shorter, so that lengths depend on the order."""
    @property
    def movable(self) -> list[str]:
        """Input sections that move, by name, as they lie."""
    def arrange(self, output: str | os.PathLike[str], order: LinkOrder) -> TraceInfo:
        """Write the trace of the same execution with the program laid out in ``order``. Returns its
        description.
        """
    def executed(self) -> list[str]:
        """The names of the movable units of which the trace executes something."""
    def in_slots(self, names: Sequence[str], hot: Sequence[str], slack_bytes: int) -> LinkOrder:
        """The order of the units named, in which each unit of ``hot`` has a slot with ``slack_bytes``
        free behind it.
        """
    def order(self, text: str) -> LinkOrder:
        """The order of the lines of a file: names of units, a fragment of a linker script, or
        symbols.
        """
    def pin_text(self, names: Sequence[str], format: str) -> PinText:
        """The units of these names, which are to lie in RAM, in a format of ``pin_formats()``."""
    def refreshed(
        self,
        order: LinkOrder,
        hot: Sequence[str],
        slack_bytes: int,
    ) -> tuple[LinkOrder, int, list[str]]:
        """The order with the slots that still fit, the number of these, and the names of the units that
        got others. Units of ``hot`` without a slot get one.
        """
    def slot_text_beside(
        self,
        pinned: Sequence[str],
        names: Sequence[str],
        hot: Sequence[str],
        slack_bytes: int,
    ) -> OrderText:
        """Lines for a linker script that place the units ``names`` in this order if those named ``pinned``
        leave the flash image. Each unit of ``hot`` has a slot with ``slack_bytes`` free behind it.
        """
    def text(self, order: LinkOrder, format: str) -> OrderText:
        """``order`` in a format of ``order_formats()``."""
    def text_beside(
        self,
        pinned: Sequence[str],
        order: Sequence[str],
        format: str,
    ) -> OrderText:
        """The order of the units that stay in flash if those named ``pinned`` leave it, in a format of
        ``order_formats()``. Units that ``order`` does not name follow in the recorded order.
        """
    def text_with_holes(self, pinned: Sequence[str]) -> OrderText:
        """Lines for a linker script that keep the recorded order, with the places of the units ``pinned``
        empty.
        """

@final
class OrderText:
    """An order for a linker."""

    @property
    def ambiguous(self) -> list[str]:
        """Symbols that several functions have, where the linker lays all of them together."""
    @property
    def nameless(self) -> int:
        """Units without a symbol, for linkers that order symbols: these follow all others."""
    @property
    def text(self) -> str:
        """The contents of the file."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class OrderViolation:
    """A unit that does not lie where an order puts it."""

    @property
    def address(self) -> int | None:
        """The unit's linked address; None if the unit is missing."""
    @property
    def behind(self) -> str:
        """The unit that it follows in the program."""
    @property
    def fault(self) -> str:
        """``missing``, ``elsewhere``, or ``between``: the order does not name it."""
    @property
    def name(self) -> str:
        """Name of the unit in the order or the map."""
    @property
    def wanted_behind(self) -> str:
        """The unit that it follows in the order."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PinText:
    """A list of units to place in RAM."""

    @property
    def ambiguous(self) -> list[str]:
        """Sections of other objects that have the same name, and go to RAM, too."""
    @property
    def left_out(self) -> list[str]:
        """Units that the format cannot express, and so are not in the text."""
    @property
    def text(self) -> str:
        """The contents of the file."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SampleProfile:
    """A profile of a program by line, in the format that LLVM's compilers read."""

    @property
    def functions(self) -> int:
        """Number of functions in the profile."""
    @property
    def left_out(self) -> int:
        """Number of functions that are left out, as they have no sample or no lines."""
    @property
    def text(self) -> str:
        """The contents of the file."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SlippedUnit:
    """A unit that does not lie in its slot."""

    @property
    def address(self) -> int:
        """The unit's linked address."""
    @property
    def behind(self) -> str:
        """The unit in the slot before, which has outgrown it if ``address`` is above ``slot``;
        empty if there is none.
        """
    @property
    def name(self) -> str:
        """Name of the unit in the order or the map."""
    @property
    def slot(self) -> int:
        """The address of its slot."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class UnpinnedUnit:
    """A unit that should lie in RAM, and does not or may not."""

    @property
    def address(self) -> int | None:
        """The unit's linked address; None if the unit is missing."""
    @property
    def fault(self) -> str:
        """``missing``, ``in-flash``, or ``perhaps-loaded``: only a loader could put it into RAM."""
    @property
    def name(self) -> str:
        """Name of the unit in the list or the map."""
    @property
    def section(self) -> str:
        """The section that it lies in; empty if there is none."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def check_link(
    elf: str | os.PathLike[str],
    order: str,
    map: str | os.PathLike[str] | None = None,
) -> CheckedLink:
    """Check whether the ELF file of a program was linked in the order of a text. The map of the link is
    optional; it names units that have no symbol.
    """

def check_pinned(
    elf: str | os.PathLike[str],
    pinned: str,
    map: str | os.PathLike[str] | None = None,
) -> CheckedPins:
    """Check that the units of a text, as ``pin`` writes it, lie in RAM in the ELF file of a program. The
    map of the link is optional; it names units that have no symbol.
    """

def check_slots(
    elf: str | os.PathLike[str],
    order: str,
    map: str | os.PathLike[str] | None = None,
) -> list[SlippedUnit]:
    """The units of a program that do not lie in the slots of an order, as ``layout --slots`` writes it;
    none if the order has no slots. The map of the link is optional; it names units that have no symbol.
    """

def is_for_ram(text: str) -> bool:
    """Return True for a list of pinned units, as ``pin`` writes it for a linker script, and False for
    an order.
    """

def method_profile(trace: str | os.PathLike[str]) -> str:
    """A profile of a Java program by parts of methods. Each line has a method's name, its bytes of code,
    the start and end of a part, and its number of executions.
    """

def order_formats() -> list[str]:
    """The formats of an order; the first is the default."""

def pin_copied_before(format: str) -> str | None:
    """The value of ``copied_before`` that a format of pinned units needs; None if the start-up code of
    the program copies the units to RAM.
    """

def pin_formats() -> list[str]:
    """The formats of a list of pinned units; the first is the default."""

def sample_profile(
    trace: str | os.PathLike[str],
    elf: str | os.PathLike[str] | None = None,
) -> SampleProfile:
    """Profile the program of a trace by the lines of its file, or of ``elf``."""

@final
class CompressorRatios:
    """Compression of a file of pages by one compressor."""

    @property
    def all(self) -> PagesRatio:
        """Compression of all pages."""
    @property
    def compressor(self) -> str:
        """The compressor's name."""
    @property
    def processes(self) -> list[PagesRatio]:
        """Compression of the pages of each process of the file."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LiveCounts:
    """The counts of the live pager."""

    @property
    def dropped(self) -> int:
        """Pages that left RAM without a write."""
    @property
    def faults(self) -> int:
        """Faults at missing pages."""
    @property
    def swap_ins(self) -> int:
        """Faults at pages that the store held."""
    @property
    def swap_outs(self) -> int:
        """Pages that were written to the store."""
    @property
    def write_faults(self) -> int:
        """Faults at the first write to a page that a read brought in."""
    @property
    def zero_fills(self) -> int:
        """Faults at pages that were never written to; they are filled with zeros."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LivePoint:
    """A point of the chart of a live run."""

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the program had allocated."""
    @property
    def counts(self) -> LiveCounts:
        """The counts of the pager."""
    @property
    def mib_s(self) -> float:
        """Speed of the program's reading, in 2²⁰ bytes a second."""
    @property
    def read(self) -> LiveRead:
        """The measured reading."""
    @property
    def share_of_ram(self) -> float:
        """Speed as a share of RAM's."""
    @property
    def time_ns(self) -> int:
        """Wall time of the reading."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LiveRead:
    """The measured reading."""

    @property
    def counts(self) -> LiveReadCounts:
        """The counts of the reading."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LiveReadCounts:
    """The counts that a live run shares with a simulated one."""

    @property
    def bytes_read(self) -> int:
        """Bytes that the program read."""
    @property
    def pages_in(self) -> int:
        """Pages that came from the store."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class LiveStore:
    """The store at the end of a live run."""

    @property
    def counters(self) -> StoreCounters:
        """Operations of medium and compressor."""
    @property
    def statistics(self) -> StoreStatistics:
        """Statistics of the store."""
    @property
    def wear(self) -> Wear:
        """Wear of the medium."""
    @property
    def write_amplification(self) -> float | None:
        """Bytes programmed over compressed bytes written; None if nothing was written."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PagesInfo:
    """The description of a file of pages."""

    @property
    def limit(self) -> int | None:
        """The most pages that the capture allowed; None for no limit."""
    @property
    def page_bytes(self) -> int:
        """Bytes of a page of the kernel that ran the processes."""
    @property
    def pages(self) -> int:
        """Pages in the file."""
    @property
    def processes(self) -> list[PagesProcess]:
        """The processes that the pages come from."""
    @property
    def schema_version(self) -> int:
        """Version of the file's layout."""
    @property
    def stopped(self) -> bool:
        """True if the processes were stopped during the capture."""
    @property
    def with_zero_pages(self) -> bool:
        """True if pages full of zeros are in the file."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PagesProcess:
    """A process whose pages were captured."""

    @property
    def anonymous_pages(self) -> int:
        """The process's anonymous pages, in RAM or swapped out."""
    @property
    def pages(self) -> int:
        """The process's pages in the file."""
    @property
    def program(self) -> str:
        """The program's name."""
    @property
    def swapped_pages(self) -> int:
        """Anonymous pages that are swapped out."""
    @property
    def zero_pages(self) -> int:
        """Pages full of zeros, captured or left out."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PagesRatio:
    """Compression of a set of pages."""

    @property
    def compression_ratio(self) -> float | None:
        """Compressed over original bytes of the pages that are not filled with one word; None if
        there are none.
        """
    @property
    def compression_ratio_of_all(self) -> float | None:
        """The same ratio over all pages. Pages filled with one word take no bytes."""
    @property
    def huge_pages(self) -> int:
        """Incompressible pages, stored as they are."""
    @property
    def pages(self) -> int:
        """Number of pages."""
    @property
    def same_pages(self) -> int:
        """Pages filled with one word, which take no data."""
    @property
    def used_ratio(self) -> float | None:
        """Bytes that a store with layout `fragments` takes of its medium, with headers, over
        original bytes. Pages filled with one word are left out.
        """
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapLive:
    """The result of `swap_live`."""

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the program had filled at the end, and could read back."""
    @property
    def counts(self) -> LiveCounts:
        """The counts of the pager."""
    @property
    def ending(self) -> str:
        """End of the run: `complete` or `out-of-memory`."""
    @property
    def major_faults(self) -> int:
        """Major faults of the program's thread."""
    @property
    def mean_share_of_ram(self) -> float | None:
        """The mean of the points' speeds as shares of RAM's; None without points."""
    @property
    def minor_faults(self) -> int:
        """Minor faults of the program's thread, as getrusage(2) counts them."""
    @property
    def most_resident_pages(self) -> int:
        """The most pages that were in RAM at once."""
    @property
    def notes(self) -> list[str]:
        """Notes for the reader."""
    @property
    def out_of_memory_at_bytes(self) -> int | None:
        """Bytes allocated when the medium was full; None if it never was."""
    @property
    def points(self) -> list[LivePoint]:
        """The points of the chart."""
    @property
    def store(self) -> LiveStore:
        """The store at the end."""
    @property
    def system(self) -> SwapSystem:
        """The system; RAM's speed is that of this machine under these reads."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def capture_pages(
    pid: int,
    path: str | os.PathLike[str],
    *,
    limit: int | None = None,
    children: bool | None = None,
    zero_pages: bool | None = None,
    stop: bool | None = None,
) -> PagesInfo:
    """Capture pages of a process into a file.

    Args:
        limit: the most pages to capture, chosen at even distances.
        children: True to capture pages of child processes, too.
        zero_pages: True to capture pages full of zeros; False to count them only.
        stop: True to stop the processes during the capture.

    An argument that is None has the engine's default.
    """

def pages_info(path: str | os.PathLike[str]) -> PagesInfo:
    """The description of a file of pages."""

def pages_ratios(path: str | os.PathLike[str]) -> list[CompressorRatios]:
    """Compress a file of pages with each compressor: all of it, and the pages of each process."""

def swap_live(spec: SwapSpec, progress: Callable[[int, int], None] | None = None) -> SwapLive:
    """Run the benchmark program in memory that is really paged through the store. An operation of
    the medium takes its priced time; RAM is that of this machine. `progress(allocated_bytes, most_bytes)` is called now
    and then.
    """

@final
class BuildComparison:
    """The comparison of two builds."""

    @property
    def code(self) -> RatioInterval:
        """Ratio of the times at the same places."""
    @property
    def drawn_ns(self) -> list[tuple[float, float]]:
        """Times of A and B in ns in each drawn link."""
    @property
    def functions(self) -> list[FunctionChange]:
        """Functions that differ in length, executed bytes or misses, the largest share first."""
    @property
    def link_ratio(self) -> float:
        """Ratio of the times of the two links: code and luck."""
    @property
    def luck_ratio(self) -> float:
        """Ratio that the links add to that of the code."""
    @property
    def matched(self) -> int:
        """Number of units that both builds have."""
    @property
    def matched_shares(self) -> tuple[float, float]:
        """Share of the bytes that A and B execute in units that both have."""
    @property
    def notes(self) -> list[str]:
        """Assumptions on the units."""
    @property
    def only_a(self) -> int:
        """Number of units of A alone."""
    @property
    def only_b(self) -> int:
        """Number of units of B alone."""
    @property
    def time_a_ns(self) -> float:
        """Time of A as it was linked in ns."""
    @property
    def time_b_ns(self) -> float:
        """Time of B as it was linked in ns."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class DesignLuck:
    """The times of drawn links with a design."""

    @property
    def best_ns(self) -> float:
        """The shortest drawn time in ns."""
    @property
    def better_than(self) -> float:
        """Share of the drawn links that are slower than the recorded one; equal ones count half."""
    @property
    def drawn_ns(self) -> list[float]:
        """Times of the drawn links in ns."""
    @property
    def p5(self) -> Quantile:
        """The time below which 5 % of the drawn ones lie."""
    @property
    def p50(self) -> Quantile:
        """The median."""
    @property
    def p95(self) -> Quantile:
        """The time below which 95 % lie."""
    @property
    def rows(self) -> list[Row]:
        """Results of the recorded link, by trace."""
    @property
    def time_ns(self) -> float:
        """Time of the recorded link in ns, the sum over traces by their weights."""
    @property
    def worst_ns(self) -> float:
        """The longest drawn time in ns."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FunctionChange:
    """A function of two builds."""

    @property
    def bytes_a(self) -> int | None:
        """Its length in A in bytes; None if A does not have it."""
    @property
    def bytes_b(self) -> int | None:
        """Its length in B in bytes; None if B does not have it."""
    @property
    def executed_a(self) -> int:
        """Bytes that A executes of it, once for each time."""
    @property
    def executed_b(self) -> int:
        """Bytes that B executes of it, once for each time."""
    @property
    def misses_a(self) -> float:
        """Its misses in A, the mean of all draws."""
    @property
    def misses_b(self) -> float:
        """Its misses in B, the mean of all draws."""
    @property
    def name(self) -> str:
        """Its name in B, or in A if B does not have it."""
    @property
    def share(self) -> float:
        """The change of its time, as a share of A's time."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Luck:
    """The times of a recorded link among those of drawn links."""

    @property
    def coverage(self) -> LayoutCoverage:
        """The units found in the program."""
    @property
    def designs(self) -> list[DesignLuck]:
        """Results by design."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Quantile:
    """A quantile of drawn times."""

    @property
    def error_ns(self) -> float:
        """Its standard error in ns."""
    @property
    def time_ns(self) -> float:
        """The time in ns."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class RatioInterval:
    """A ratio of times, B's to A's, with its interval."""

    @property
    def high(self) -> float:
        """The upper end."""
    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""
    @property
    def ratio(self) -> float:
        """The geometric mean."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def compare_builds(
    traces: tuple[str | os.PathLike[str], str | os.PathLike[str]],
    design: Design,
    progress: Callable[[int], bool],
    *,
    draws: int,
    maps: tuple[str | os.PathLike[str] | None, str | os.PathLike[str] | None] = ...,
    seed: int = 1,
) -> BuildComparison:
    """Compare two builds of a program at the same places in drawn links.

    Args:
        traces: the traces of A and B.
        design: the design that runs them.
        progress: a function that is called with the number of links replayed. It returns False to
            end with the links so far.
        draws: the number of links.
        maps: the maps of the links of A and B; without them the units are functions.
        seed: the seed of the random numbers.

    Raises:
        FlashpagerError: if a trace or map cannot be read, the builds share no function, or the design
            cannot execute them.
    """

def draw_kinds() -> list[str]:
    """Return the names of the kinds of draw."""

def link_luck(
    traces: Sequence[tuple[str | os.PathLike[str], float]],
    designs: Sequence[Design],
    progress: Callable[[int], bool],
    *,
    kind: str,
    draws: int,
    map: str | os.PathLike[str] | None = None,
    seed: int = 1,
) -> Luck:
    """Draw links of a recorded program that execute the same code, and replay each.

    Args:
        traces: recorded executions of one image, each with its weight.
        designs: the designs that run it.
        progress: a function that is called with the number of links replayed. It returns False to
            end with the links so far.
        kind: ``edits``, ``orders`` or ``shifts``.
        draws: the number of links.
        map: the map of the link of the recorded program; without one the units are functions.
        seed: the seed of the random numbers.

    Raises:
        FlashpagerError: if a trace or the map cannot be read, nothing can move, or a design cannot
            execute the program.
    """

@final
class Complaint:
    """A fault in a part's file."""

    @property
    def line(self) -> int:
        """The line, from 1."""
    @property
    def message(self) -> str:
        """The fault, in words."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Ecc:
    """Error correction of a NAND part."""

    @property
    def codeword_bytes(self) -> int:
        """Bytes checked together."""
    @property
    def correctable_bits(self) -> int:
        """Bits corrected in each codeword."""
    @property
    def place(self) -> str:
        """The place of error correction: `host` or `on-die`."""
    @property
    def source(self) -> str:
        """Source of the values."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Fact:
    """A number of a part: its path in the file, its value and its source."""

    @property
    def field(self) -> str:
        """The number's path, as `sdr.t_wc_ns`."""
    @property
    def source(self) -> str:
        """Source of the number."""
    @property
    def unverified(self) -> bool:
        """True if the number is unchecked."""
    @property
    def value(self) -> object:
        """The value as written: a number, or a table of numbers."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Part:
    """A flash part. Fields that only some media have are found by their path: `number()`, `facts`."""

    @property
    def abilities(self) -> list[tuple[str, bool]]:
        """Abilities by path, as `spi.continuous_read`. Each is True if the part has it."""
    @property
    def bus(self) -> str:
        """The part's bus as datasheets write it: `x8`, `SPI x4`."""
    @property
    def composable(self) -> tuple[list[str], list[tuple[str, str]]]:
        """The operations that can be composed, and the reason for each that cannot."""
    @property
    def ecc(self) -> Ecc | None:
        """Error correction."""
    @property
    def endurance_cycles(self) -> SourcedFloat | None:
        """Cycles of program and erase that a block endures."""
    @property
    def erase_bytes(self) -> SourcedInt | None:
        """Bytes erased together in parts without pages."""
    @property
    def facts(self) -> list[Fact]:
        """Every number of the part, in the order of the file's fields."""
    @property
    def flash_page_bytes(self) -> int:
        """Bytes of a page without spare; 0 for parts without pages."""
    @property
    def is_nonvolatile(self) -> bool:
        """True if the part keeps its data without power."""
    @property
    def is_read_in_place(self) -> bool:
        """True if bytes are read in place, without loading a page."""
    @property
    def kind(self) -> str:
        """Kind of memory, as `nand`."""
    @property
    def maker(self) -> str:
        """The part's maker."""
    @property
    def name(self) -> str:
        """The part's name, as on the package."""
    @property
    def note(self) -> str | None:
        """A note to read before the part's numbers are used."""
    @property
    def pace(self) -> list[tuple[str, float]] | None:
        """The fields of `table` that limit the rate of words on the bus, with their values; None
        if the part has no table.
        """
    @property
    def page_bytes(self) -> SourcedInt | None:
        """Bytes of a page without spare."""
    @property
    def pages_per_block(self) -> SourcedInt | None:
        """Pages of an erase block."""
    @property
    def program_bytes(self) -> SourcedInt | None:
        """Bytes programmed together in parts without pages."""
    @property
    def programs_per_page(self) -> SourcedInt | None:
        """The most programs of a page between two erases."""
    @property
    def reads_before_refresh(self) -> SourcedFloat | None:
        """Reads of a block before it should be refreshed."""
    @property
    def spare_bytes(self) -> SourcedInt | None:
        """Spare bytes of a page."""
    @property
    def t_bers_ns(self) -> SourcedFloat | None:
        """Time to erase a block."""
    @property
    def t_prog_ns(self) -> SourcedFloat | None:
        """Time to program a page, or `program_bytes` in parts without pages."""
    @property
    def t_r_ns(self) -> SourcedFloat | None:
        """Time to load a page from the array into the register."""
    @property
    def table(self) -> str | None:
        """The table that describes the part's interface, as `sdr`; None if its file has none."""
    @property
    def unverified(self) -> list[str]:
        """Fields whose source is marked unverified."""
    @property
    def width_bits(self) -> SourcedInt:
        """Number of data lines."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    def number(self, field: str) -> float:
        """The number at a path, as `sdr.t_wc_ns`."""
    def operations(self) -> list[str]:
        """The operations of the part; the first is the usual one."""

@final
class PartCheck:
    """A part's file, read and checked."""

    @property
    def complaints(self) -> list[Complaint]:
        """All faults, in the order of the lines."""
    @property
    def part(self) -> Part | None:
        """The part, if it could be read."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class RawBandwidth:
    """Bandwidth of a part on a bus without a cache, in 2²⁰ bytes/s (CARDIS 2010, tables 1 and 2)."""

    @property
    def max_mib_s(self) -> float:
        """Bandwidth if pages are read one after another."""
    @property
    def min_mib_s(self) -> float:
        """Bandwidth if every byte needs a load and the transfer of a whole page."""
    @property
    def page_fetch_ns(self) -> float:
        """Time of a whole page over the bus."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SourcedFloat:
    """A number with its source."""

    @property
    def source(self) -> str:
        """The datasheet, paper or table that states the number."""
    @property
    def unverified(self) -> bool:
        """True if the number is unchecked."""
    @property
    def value(self) -> float:
        """The number, in the unit that ends the field's name."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SourcedInt:
    """A whole number with its source."""

    @property
    def source(self) -> str:
        """The datasheet, paper or table that states the number."""
    @property
    def unverified(self) -> bool:
        """True if the number is unchecked."""
    @property
    def value(self) -> int:
        """The number, in the unit that ends the field's name."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def catalog() -> list[Part]:
    """All parts of the catalog, by name."""

def examine_part(path: str | os.PathLike[str]) -> PartCheck:
    """Read and check a part's file."""

def find_part(name: str) -> Part:
    """One part, by name or TOML file."""

def part_kinds() -> list[str]:
    """The kinds of memory, as parts' files name them."""

def part_schema() -> Json:
    """The JSON Schema of a part's file."""

def raw_bandwidth(part: str, bus: str) -> RawBandwidth:
    """Compute the bandwidth of a part on a bus without a cache."""

@final
class ColdCall:
    """Times of a limited function's calls, from an empty cache."""

    @property
    def after_ns(self) -> float:
        """The longest call with the pinned units."""
    @property
    def before_ns(self) -> float:
        """The longest call with nothing pinned."""
    @property
    def calls(self) -> int:
        """Number of calls recorded."""
    @property
    def function(self) -> str:
        """The function, as the caller named it."""
    @property
    def limit_ns(self) -> float:
        """The longest call that is allowed."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class HeldUnit:
    """A unit that has to stay in flash, although pinning it might save time."""

    @property
    def name(self) -> str:
        """The unit's name."""
    @property
    def reason(self) -> str:
        """``entry``, ``reset-handler``, ``vector-table``, ``first``, ``before-copy`` or ``asked``."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class JointLayout:
    """An order of the units that stay, and its result beside the pinned ones."""

    @property
    def gap_bytes(self) -> int:
        """Bytes between units in this order."""
    @property
    def order(self) -> list[str]:
        """Names of movable units that are not pinned, in their new order in flash."""
    @property
    def order_alone_ratio(self) -> float:
        """Time with a new order and only the required units pinned, over that with nothing pinned."""
    @property
    def orders(self) -> int:
        """Number of orders tried."""
    @property
    def pinning_alone_ratio(self) -> float:
        """Time with units pinned and all others in the recorded order, over that with nothing
        pinned.
        """
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PinStep:
    """A pinned unit, and the result with all units up to it."""

    @property
    def bytes(self) -> int:
        """The unit's length."""
    @property
    def copy_ns(self) -> float:
        """Time of the flash to copy all units up to this one to RAM, once. No other time contains
        it.
        """
    @property
    def misses(self) -> int:
        """Misses, summed over all traces."""
    @property
    def name(self) -> str:
        """The unit's name."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of RAM that all units up to this one take."""
    @property
    def time_ratio(self) -> float:
        """Time over that with nothing pinned."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Pinning:
    """The choice of code to pin in RAM."""

    @property
    def after(self) -> list[Row]:
        """Results by trace, with all these units pinned."""
    @property
    def before(self) -> list[Row]:
        """Results by trace, with nothing pinned."""
    @property
    def calls(self) -> list[ColdCall]:
        """Times of the calls of limited functions."""
    @property
    def copied_before(self) -> str:
        """The function at whose first byte pinned code is in RAM; empty if none is known."""
    @property
    def copy_ns(self) -> float:
        """Time of the flash to copy them to RAM, once. No other time contains it."""
    @property
    def coverage(self) -> LayoutCoverage:
        """The units found in the program."""
    @property
    def curve(self) -> list[PinStep]:
        """The pinned units, one more in each step. The last step has the result of `after`."""
    @property
    def edited(self) -> CommitTimes:
        """The program a commit later with the pinned units in RAM; times over the time before."""
    @property
    def evaluations(self) -> int:
        """Number of choices replayed."""
    @property
    def has_holes(self) -> bool:
        """True if the places of pinned units stay empty in flash."""
    @property
    def held(self) -> list[HeldUnit]:
        """Units that were not allowed to be pinned, the most executed one first."""
    @property
    def image_bytes(self) -> int:
        """Bytes of the image that stays in flash."""
    @property
    def is_exchanged(self) -> bool:
        """True if exchanging units improved on the greedy choice in the recorded order."""
    @property
    def is_finished(self) -> bool:
        """True if the search was complete. If it was ended early, there may be a better choice."""
    @property
    def knee(self) -> int | None:
        """The step of the curve after which further RAM saves less. None if no step saves time, if
        a step costs time, or if the search was ended early.
        """
    @property
    def pinned(self) -> list[str]:
        """Names of the units to pin, in the order of the image."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of RAM that the pinned units take."""
    @property
    def sampled_share(self) -> float:
        """The share of the executed pieces that the search replayed."""
    @property
    def time_ratio(self) -> float:
        """Time over that with nothing pinned."""
    @property
    def together(self) -> JointLayout | None:
        """The order of the other units; None if none was requested."""
    @property
    def untouched(self) -> CommitTimes:
        """The program a commit later with nothing pinned; times over the time before."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def pin_in_ram(
    traces: Sequence[tuple[str | os.PathLike[str], float]],
    design: Design,
    ram_bytes: int,
    progress: Callable[[float, int], float],
    *,
    map: str | os.PathLike[str] | None = None,
    always: Sequence[str] = ...,
    never: Sequence[str] = ...,
    copied_before: str | None = None,
    calls: Sequence[tuple[str, float]] = ...,
    order: bool = False,
    holes: bool = False,
    evaluations: int | None = None,
) -> Pinning:
    """Choose the units to pin in RAM, and with ``order`` an order of the others. Each of ``traces`` has a
    weight. Units that run before ``copied_before`` are not pinned. By default this is a function that
    is known to run after start-up code has copied to RAM, such as ``main``. With ``entry`` every unit
    of the program may be pinned. With ``holes`` the place of a pinned unit stays empty in flash, and
    choices are scored by the mean over twelve links that are a commit later.

    ``progress(time_ratio, ram_bytes)`` is called ten times a second, with (1, 0) before the first
    choice, and returns the share of the time that is used up. At 1 the search ends, and the best
    choice so far is kept. With ``evaluations`` about so many orders are tried, and pinning is searched
    to its end. The result is then the same each time, unless ``progress`` returns 1 before.
    """

@final
class CallTimes:
    """Times of the calls of a function, its callees included."""

    @property
    def all_alone_ns(self) -> float:
        """Time of the function and its callees without paging."""
    @property
    def all_ns(self) -> float:
        """Time of all calls. Recursive calls are not counted twice."""
    @property
    def calls(self) -> int:
        """Number of calls."""
    @property
    def function(self) -> str:
        """The function, as the caller named it."""
    @property
    def lost(self) -> Spread:
        """The part of a call's duration that faults, lookups and false faults take."""
    @property
    def mean_faults(self) -> float:
        """Mean true faults of a call."""
    @property
    def most_faults(self) -> int:
        """The most true faults of a call."""
    @property
    def recursive(self) -> int:
        """Calls made before an earlier call of the function had returned."""
    @property
    def time(self) -> Spread:
        """Duration of a call."""
    @property
    def unreturned(self) -> int:
        """Calls that were left without returning, or cut off by the trace's end."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Core:
    """A processor core of the catalog, or of a file."""

    @property
    def architecture(self) -> str | None:
        """The architecture whose instructions it executes, by its name in a trace."""
    @property
    def cycles_per_instruction(self) -> SourcedFloat:
        """Mean clocks of an instruction from memory without wait states."""
    @property
    def fault_path_like(self) -> str | None:
        """The core whose fault path is used where this one's is unknown."""
    @property
    def jobs(self) -> list[FaultPathJob]:
        """Times of the jobs of the fault path."""
    @property
    def maker(self) -> str:
        """The core's designer."""
    @property
    def name(self) -> str:
        """The core's name."""
    @property
    def note(self) -> str | None:
        """A note to read before the core's numbers are used."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FaultPathJob:
    """Time of a job of the fault path on a core."""

    @property
    def cycles(self) -> float:
        """Clocks of the job."""
    @property
    def measured_on(self) -> str:
        """The core on which the job was measured. Other cores are assumed to take as many
        instructions.
        """
    @property
    def name(self) -> str:
        """Name of the job as in a board's ``[handler]``, without the unit, or ``copy_byte``."""
    @property
    def source(self) -> str:
        """Source of the values."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Spread:
    """A distribution of durations."""

    @property
    def mean_ns(self) -> float:
        """The mean duration."""
    @property
    def p99_ns(self) -> float:
        """The duration that 99 of 100 do not exceed."""
    @property
    def worst_ns(self) -> float:
        """The longest duration."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Stall:
    """The stretch of a trace in which misses take most time."""

    @property
    def executed_bytes(self) -> int:
        """Bytes executed before the first miss."""
    @property
    def misses(self) -> int:
        """Misses in the stretch."""
    @property
    def offset(self) -> int:
        """Offset of the first miss in the image."""
    @property
    def stall_ns(self) -> float:
        """Time of these misses."""
    @property
    def window_bytes(self) -> int:
        """The length of the stretch, in bytes executed."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def call_times(
    trace: str | os.PathLike[str],
    design: Design,
    functions: Sequence[str],
    elfs: Sequence[str | os.PathLike[str]] = ...,
    progress: Callable[[float, int], None] | None = None,
    *,
    warm_up: WarmUp | None = None,
) -> list[CallTimes]:
    """Replay a trace through a design and time the calls of functions, in their order. Symbols
    that the trace lacks are read from ``elfs``. Calls that begin in a warm-up are not counted.
    ``progress(finished, all)`` is called with numbers of passes; a running pass counts in part.
    """

def cores() -> list[Core]:
    """All cores of the catalog, by name."""

def find_core(name: str) -> Core:
    """The core of this name, or in the TOML file of this path."""

def worst_stall(
    trace: str | os.PathLike[str],
    design: Design,
    window_bytes: int = ...,
    progress: Callable[[float, int], None] | None = None,
    *,
    warm_up: WarmUp | None = None,
) -> Stall:
    """Replay a trace through a design, and find the stretch of ``window_bytes`` executed in which misses
    take most time. Misses of a warm-up are not counted. ``progress(finished, all)`` is called with
    numbers of passes; a running pass counts in part.
    """

@final
class Reach:
    """All that some functions reach."""

    @property
    def calls(self) -> list[ReachCall]:
        """The calls that were found, each pair of functions once."""
    @property
    def findings(self) -> list[ReachFinding]:
        """The findings: what is certain first."""
    @property
    def functions_in_flash(self) -> int:
        """The number of functions in flash that they call."""
    @property
    def functions_in_ram(self) -> int:
        """The number of functions in RAM that are reached."""
    @property
    def indirect(self) -> int:
        """The number of indirect jumps and calls."""
    @property
    def notes(self) -> list[str]:
        """Assumptions that the answer rests on."""
    @property
    def resolved(self) -> int:
        """The number of indirect jumps and calls whose targets are known."""
    @property
    def roots(self) -> list[str]:
        """The names of the roots."""
    @property
    def verdict(self) -> str:
        """``closed``, ``not-closed`` or ``cannot-tell``."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ReachCall:
    """A function that another one calls, or jumps to."""

    @property
    def callee(self) -> int:
        """The address of the called one."""
    @property
    def caller(self) -> int:
        """The address of the function that calls."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ReachFinding:
    """Something that is reached outside of RAM, or not understood."""

    @property
    def kind(self) -> str:
        """``reaches-code``, ``reaches-data``, ``may-reach`` or ``cannot-tell``."""
    @property
    def path(self) -> list[ReachStep]:
        """The shortest path, from a root on. It ends with what is reached, if that is known."""
    @property
    def site(self) -> int:
        """The address of the first instruction that reaches it."""
    @property
    def sites(self) -> int:
        """The number of instructions with the same finding."""
    @property
    def text(self) -> str:
        """``called``, ``read``, ``written``, or what is not understood."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ReachStep:
    """A function or an object on a path."""

    @property
    def address(self) -> int:
        """The address."""
    @property
    def name(self) -> str:
        """The name, demangled."""
    @property
    def place(self) -> str:
        """``RAM``, ``ROM``, or ``flash`` with the name of a section."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def reached(
    file: str | os.PathLike[str],
    roots: Sequence[str],
    *,
    ram: Sequence[str],
    flash: Sequence[str],
    rom: Sequence[str],
    calls: Sequence[tuple[str, Sequence[str]]],
    pinned: Sequence[str],
) -> Reach:
    """Follow all that functions of a linked program reach, and find what of it lies outside of RAM.

    Args:
        file: the program, an ELF file.
        roots: names of functions, patterns, or ``vectors``.
        ram: patterns of names of sections in RAM, or ranges of addresses.
        flash: patterns of names of sections in flash, or ranges of addresses.
        rom: ranges of addresses of ROM.
        calls: targets of indirect calls, by the address of a call or the function that holds it.
        pinned: functions that are assumed to lie in RAM and are roots, too.

    Raises:
        FlashpagerError: if the file is no linked program or has nothing in RAM, its machine is not
            followed, or it does not have what is named.
    """

@final
class Arrangement:
    """A layout of the methods that a recorder reports."""

    def __new__(cls, *, keep: str | None = None, order: Sequence[str] = ...) -> Arrangement:
        """Arrange the methods that ``keep`` selects, one of ``kept_methods()``. ``order`` lists
        methods, or classes for all their methods, that go to flash before all others; ``*`` stands
        for any characters, and a method may be named without its parameters.
        """
    @property
    def keep(self) -> str:
        """The methods that are kept."""
    @property
    def order(self) -> list[str]:
        """The methods that go to flash first."""

@final
class Origin:
    """The description of a program before it is recorded."""

    def __new__(
        cls,
        program: str,
        *,
        arguments: Sequence[str] = ...,
        architecture: str = ...,
        build_id: str = ...,
        recorder: str = ...,
        recorder_version: str = ...,
    ) -> Origin:
        """Describe a program by its path, or by the path of an imported file. The recorder of an import is
        its format.
        """
    @property
    def program(self) -> str:
        """The path of the program, or of the imported file."""

@final
class Placement:
    """The code of a program that goes to flash: by default the methods that the recorder reports. If it
    reports none, addresses are flash offsets.
    """

    def __new__(cls) -> Placement: ...
    @staticmethod
    def of_files(
        files: Sequence[str | os.PathLike[str]],
        *,
        sections: Sequence[str] = ...,
        with_libraries: bool = False,
        bias: int | None = None,
        as_linked: bool = False,
    ) -> Placement:
        """Place sections of files, ``default_sections()`` if none are named.

        Args:
            with_libraries: True to place libraries as the program loads them.
            bias: the distance of the first file from its linked addresses; None if the
                recorder reports it.
            as_linked: True if sections keep their linked distances.
        """
    @staticmethod
    def of_methods(arrangement: Arrangement) -> Placement:
        """Place the methods that the recorder reports, in this arrangement."""
    @staticmethod
    def of_range(start: int, end: int) -> Placement:
        """Place the addresses from ``start`` up to ``end``, without a file."""

@final
class RecordedTrace:
    """A trace that was written."""

    @property
    def arranged(self) -> bool:
        """True if its methods lie in the requested arrangement. If the disk was full or the run
        was stopped, they lie as the recorder reported them.
        """
    @property
    def info(self) -> TraceInfo:
        """The description of the trace."""
    @property
    def path(self) -> pathlib.Path:
        """The trace file."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Recording:
    """An import or recording under way: `read_*` once, then `finish`."""

    def __new__(
        cls,
        output: str | os.PathLike[str],
        placement: Placement,
        origin: Origin,
        *,
        live: bool,
    ) -> Recording:
        """Begin the file `output`. A ``live`` recording reserves space on the disk, so that it can end in
        order when the disk is full.
        """
    def abandon(self) -> None:
        """Give the recording up, and leave no file behind."""
    def disk_full(self) -> bool:
        """True if the disk ran full."""
    def finish(self, ending: Ending) -> list[RecordedTrace]:
        """Write the rest of a recording with this ending. Returns the trace, followed by those of further
        threads.
        """
    def is_over(self) -> bool:
        """True if the part to record has ended, so that the rest of the input is not needed."""
    def read_file(
        self,
        path: str | os.PathLike[str],
        format: str | None,
        instruction_bytes: int,
        progress: Callable[[int, int], None] | None,
    ) -> tuple[Ending, str]:
        """Read a file or, for `-`, standard input, in one of ``import_formats()``; None detects it.
        Returns the ending and the format.
        """
    def read_pipe(
        self,
        pipe: str | os.PathLike[str],
        format: str,
        pid: int,
        progress: Callable[[int, int], None] | None,
    ) -> Ending:
        """Read text of one of ``import_formats()`` that a foreign tool writes into `pipe`, and load
        addresses from the mappings of its process `pid`.
        """
    def read_stream(
        self,
        pipe: str | os.PathLike[str],
        tail: str | os.PathLike[str],
        progress: Callable[[int, int], None] | None,
    ) -> Ending:
        """Read a running recorder of our own by the paths of its pipe and its tail."""
    def select(self, region: Region) -> None:
        """Record this part of what is executed, before anything is read."""
    def take_reads(self) -> None:
        """Record data reads, too, before anything is read."""

@final
class Region:
    """The part of an execution that is recorded; all of it by default."""

    def __new__(
        cls,
        *,
        begin: str | None = None,
        end: str | None = None,
        call: tuple[str, int] | None = None,
        skip_instructions: int = 0,
        max_instructions: int | None = None,
    ) -> Region:
        """Select a part of the execution.

        Args:
            begin: the function, or address with `0x`, at which recording starts, each time.
            end: the function, or address with `0x`, at which recording stops, each time.
            call: the only call to record: a function, and the number of the call from 1.
            skip_instructions: the number of instructions to leave out at the start of the part.
            max_instructions: the most instructions to record.
        """
    @property
    def is_all(self) -> bool:
        """True if it is the whole execution."""

def arrange_methods(
    trace: str | os.PathLike[str],
    output: str | os.PathLike[str],
    arrangement: Arrangement,
) -> TraceInfo:
    """Write a trace with its methods laid out anew. Returns its description."""

def default_sections() -> list[str]:
    """The sections of a file that are placed if none is named."""

def import_formats() -> list[str]:
    """The formats that can be imported."""

def kept_methods() -> list[str]:
    """The choices of methods that an arrangement keeps; the first is the default."""

def unknown_methods(trace: str | os.PathLike[str], order: Sequence[str]) -> list[str]:
    """Lines of an order of methods that name nothing placed in `trace`."""

@final
class Count:
    """A count of a replay, as the engine states it."""

    @property
    def description(self) -> str:
        """The events that are counted, in words."""
    @property
    def devices(self) -> list[str]:
        """The devices that keep the count themselves, of `firmware`, `tagged-firmware`, `chip`,
        `tagged-chip`, `mmu` and `process`.
        """
    @property
    def is_number(self) -> bool:
        """True if the count is one number, and so a column of a table. If not, it is a distribution."""
    @property
    def is_optional(self) -> bool:
        """True if JSON leaves it out if it is 0 or empty."""
    @property
    def name(self) -> str:
        """The property of `Counts`, which is also the key in JSON and the column of a table."""
    @property
    def unit(self) -> str:
        """The unit of what is counted."""

@final
class Counts:
    """The counts of a replay. `references = hits + misses + false_faults`, and
    `misses = other_page + other_buffer + forward + backward`.
    """

    @property
    def backward(self) -> int:
        """Misses in the register's page, before its next column."""
    @property
    def bytes_fetched(self) -> int:
        """Bytes over the bus, skipped ones, headers of homes and tags included."""
    @property
    def bytes_read(self) -> int:
        """Bytes delivered to the CPU: the lengths of all runs."""
    @property
    def bytes_skipped(self) -> int:
        """Bytes over the bus that are thrown away."""
    @property
    def bytes_written(self) -> int:
        """Bytes written into frames: a cache page at each miss."""
    @property
    def column_changes(self) -> int:
        """Column changes; a load has none."""
    @property
    def distance_histogram(self) -> list[tuple[int, int]]:
        """Distances of misses in the flash page of the miss before, ascending, each with
        its number of misses.
        """
    @property
    def downgrades(self) -> int:
        """Pages moved from valid to invalid."""
    @property
    def false_faults(self) -> int:
        """References to a page that is cached, but marked invalid."""
    @property
    def first_words(self) -> list[tuple[int, int]]:
        """Offsets in the line of the word that is wanted first, ascending, each with its
        number of misses; empty if lines are fetched whole.
        """
    @property
    def forward(self) -> int:
        """Misses in the register's page, at its next column or behind it."""
    @property
    def header_bytes_fetched(self) -> int:
        """Bytes of the headers of homes over the bus; 0 in the plain store."""
    @property
    def hits(self) -> int:
        """References that find their page usable."""
    @property
    def line_refills(self) -> int:
        """Lines refilled into the instruction cache; 0 without one."""
    @property
    def loads(self) -> int:
        """Flash pages loaded because they were asked for."""
    @property
    def mac_bytes(self) -> int:
        """Bytes of which a MAC is taken: at each miss the unit and 8 bytes; 0 without
        authentication.
        """
    @property
    def max_walk(self) -> int:
        """The longest of these searches; 0 without one."""
    @property
    def misses(self) -> int:
        """References whose page has to be fetched: true faults."""
    @property
    def next_block_share(self) -> float:
        """The share of requests in the register's page that ask for the next block; 0
        without any.
        """
    @property
    def other_buffer(self) -> int:
        """Misses in the flash page of the buffer that was not used last, or in a prefetch
        buffer.
        """
    @property
    def other_page(self) -> int:
        """Misses in a flash page that is not held."""
    @property
    def prefetches(self) -> int:
        """Flash pages loaded ahead, or lines read ahead."""
    @property
    def prefetches_in_vain(self) -> int:
        """Lines read ahead and dropped without having been asked for."""
    @property
    def reference_bits_set(self) -> int:
        """References, hits or false faults, at which a page's reference bit is set again
        after the hand cleared it.
        """
    @property
    def references(self) -> int:
        """References to the page cache, after collapsing. With a TLB they equal
        `tlb_misses`.
        """
    @property
    def tag_bytes_fetched(self) -> int:
        """Bytes of tags over the bus; 0 without authentication."""
    @property
    def tlb_misses(self) -> int:
        """References whose page the TLB does not know; 0 without a TLB."""
    @property
    def walk(self) -> int:
        """Frames looked at in search of victims."""
    @property
    def words(self) -> int:
        """Words fetched through the instruction cache; 0 without one."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Fetch:
    """The latency of instruction fetches through an instruction cache."""

    @property
    def fetch_latencies(self) -> list[tuple[float, int]]:
        """Latencies in ns, ascending, each with its number of words."""
    @property
    def icache_hit_ratio(self) -> float:
        """Share of words found in the instruction cache."""
    @property
    def mean_fetch_ns(self) -> float:
        """Mean latency of all words."""
    @property
    def page_miss_ratio(self) -> float:
        """Share of words whose page faulted."""
    @property
    def tlb_hit_ratio(self) -> float | None:
        """Share of refills whose page was in the TLB; None without a TLB."""
    @property
    def worst_fetch_ns(self) -> float:
        """The longest fetch: a refill with the longest fault."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FetchPrices:
    """Prices of the instruction cache and the TLB before the page cache, in ns."""

    @property
    def fetch_ns(self) -> float:
        """Time to fetch a word from the instruction cache."""
    @property
    def page_walk_ns(self) -> float:
        """Time to walk the page table if the TLB does not have the page."""
    @property
    def refill_ns(self) -> float:
        """Time to refill a line of the instruction cache from its frame."""
    @property
    def tlb_lookup_ns(self) -> float:
        """Time of a lookup in the TLB."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class FlashEnergy:
    """Energy of the flash."""

    @property
    def energy_uj(self) -> float:
        """Energy of the whole replay."""
    @property
    def mean_fault_uj(self) -> float:
        """Mean energy of a fault."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class HomesSummary:
    """The homes of a result, and the training that filled them."""

    @property
    def flash_pages(self) -> int:
        """Flash pages of the store: one for each cache page of the image, or those of the image if
        the plain store is kept.
        """
    @property
    def header_bytes(self) -> int:
        """Bytes of RAM for the header of a home; 0 if the plain store is kept."""
    @property
    def is_held_out(self) -> bool:
        """True if no run that trained the homes is counted."""
    @property
    def kept(self) -> str:
        """The kept contents: `plain`, `neighbours`, or `round N`."""
    @property
    def most_skipped(self) -> int:
        """The most slots that start-column skips, because a load is faster than more of them."""
    @property
    def plain_ns(self) -> float:
        """The time of the counted runs with the plain store."""
    @property
    def slots(self) -> int:
        """Slots of a home."""
    @property
    def trained_bytes(self) -> int:
        """Bytes fetched by the runs that trained the homes."""
    @property
    def trained_ns(self) -> float:
        """The time of the runs that trained the homes."""
    @property
    def trained_plain_ns(self) -> float:
        """Their time with the plain store."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Latency:
    """The latency of true faults."""

    @property
    def mean_fault_ns(self) -> float:
        """Mean latency of all faults."""
    @property
    def p99_fault_ns(self) -> float:
        """The latency that 99 of 100 faults do not exceed."""
    @property
    def worst_fault_ns(self) -> float:
        """The longest latency."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class NorComparison:
    """The comparison with the same bytes read in place from NOR."""

    @property
    def nor_bandwidth_mib_s(self) -> float:
        """NOR's bandwidth, in 2²⁰ bytes/s."""
    @property
    def nor_bus(self) -> str:
        """The bus of the NOR part."""
    @property
    def nor_ratio(self) -> float:
        """The design's bandwidth over NOR's."""
    @property
    def nor_time_ns(self) -> float:
        """Time to read all bytes from NOR."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Power:
    """A part's power."""

    @property
    def array_mw(self) -> float:
        """Power while the array is at work."""
    @property
    def io_mw(self) -> float:
        """Power while commands and data go over the bus."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Prices:
    """All prices of a design, in ns."""

    @property
    def emulates_bit(self) -> bool:
        """True if setting a reference bit again is a false fault."""
    @property
    def fetch(self) -> FetchPrices | None:
        """Prices of instruction cache and TLB; None without an instruction cache."""
    @property
    def handler(self) -> Handler:
        """Times of the software."""
    @property
    def power(self) -> Power | None:
        """Power of the part; None if its file has no currents."""
    @property
    def ram(self) -> Ram:
        """Times of the RAM."""
    @property
    def schedule(self) -> str:
        """The schedule of a fault's jobs."""
    @property
    def t_byte_ns(self) -> float:
        """Time of a byte over the bus."""
    @property
    def t_column_change_ns(self) -> float | None:
        """Time of a column change; None if the part states none."""
    @property
    def t_execute_ns(self) -> float | None:
        """Time of the processor to execute a byte of the trace, in place of reading it; None
        without a processor.
        """
    @property
    def t_load_commands_ns(self) -> float | None:
        """Time of the command, address and status cycles of a load; None if unknown."""
    @property
    def t_load_ns(self) -> float:
        """Time to load a page into the register, with its commands."""
    @property
    def t_r_ns(self) -> float:
        """The part's t_R, without commands."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ReadDisturb:
    """Read disturb of the most-read erase block."""

    @property
    def hottest_block_loads(self) -> int:
        """Page loads from the block during the replay."""
    @property
    def hottest_block_loads_per_hour(self) -> float:
        """Page loads from the block per hour of execution."""
    @property
    def hours_to_refresh(self) -> float | None:
        """Hours of execution until the block should be refreshed; None if the part has no limit,
        or if the limit is never reached.
        """
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Row:
    """The result of replaying one trace through one design, with its inputs."""

    @property
    def assumed(self) -> list[Assumption]:
        """Parameters that the user left open, with the value taken and the rule that chose it."""
    @property
    def counts(self) -> Counts:
        """The counts of the replay."""
    @property
    def design(self) -> Design:
        """The design, with flash page and the policy's parameters filled in."""
    @property
    def ecc_unchecked(self) -> bool:
        """True if less than an ECC codeword is fetched, so that errors cannot be corrected."""
    @property
    def energy(self) -> FlashEnergy | None:
        """Energy of the flash; None if the part's file has no currents."""
    @property
    def errors(self) -> SampleErrors | None:
        """Confidence intervals of a sample's figures. None if the whole trace was replayed."""
    @property
    def fault_latencies(self) -> list[tuple[float, int]]:
        """Latencies in ns, ascending, each with its number of faults."""
    @property
    def fetch(self) -> Fetch | None:
        """The latency of instruction fetches; None without an instruction cache."""
    @property
    def flash_page_bytes(self) -> int:
        """Bytes of a flash page; the part's own if the design names none."""
    @property
    def frames(self) -> int:
        """Frames in the cache."""
    @property
    def homes(self) -> HomesSummary | None:
        """The store of homes and its training; None for the plain store."""
    @property
    def is_executed(self) -> bool:
        """True if the design was replayed fault by fault."""
    @property
    def latency(self) -> Latency:
        """The latency of faults."""
    @property
    def metadata_bytes(self) -> int | None:
        """Bytes of RAM that the policy needs beside frames; None if no device can run it."""
    @property
    def nor(self) -> NorComparison | None:
        """The comparison with NOR; None without a NOR part."""
    @property
    def prices(self) -> Prices:
        """The prices that apply."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of RAM for frames, the policy's data, and the header of a home."""
    @property
    def read_disturb(self) -> ReadDisturb:
        """Read disturb of the most-read erase block."""
    @property
    def run(self) -> RunTime | None:
        """Run time on the processor; None if the design has none."""
    @property
    def time(self) -> Time:
        """The time, step by step."""
    @property
    def warnings(self) -> list[str]:
        """Reasons why the design may disappoint."""
    @property
    def worst_wait_ns(self) -> float:
        """The longest wait after a fault for the rest of its page."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class RunTime:
    """Run time of a program on a processor: from RAM, and paged."""

    @property
    def alone_ns(self) -> float:
        """Time from RAM; with an instruction cache, refills included."""
    @property
    def instruction_ns(self) -> float:
        """Time of an instruction, on average."""
    @property
    def instructions(self) -> int:
        """Instructions of the code in flash."""
    @property
    def lost_ns(self) -> float:
        """Time that paging adds: loads, transfers, copies, handler and lookups, minus `hidden_ns`."""
    @property
    def outside_instructions(self) -> int:
        """Instructions of code outside of flash, which run at full speed, paged or not."""
    @property
    def paged_ns(self) -> float:
        """Time paged."""
    @property
    def slowdown(self) -> float:
        """Time paged over time from RAM."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SampleErrors:
    """Confidence intervals of a sample's figures, each as a share of the figure. None if the
    sample allows no estimate.
    """

    @property
    def bytes_fetched(self) -> float | None:
        """Interval of bytes fetched."""
    @property
    def loads(self) -> float | None:
        """Interval of loads."""
    @property
    def mean_fault(self) -> float | None:
        """Interval of the mean fault."""
    @property
    def misses(self) -> float | None:
        """Interval of misses."""
    @property
    def p99_fault(self) -> float | None:
        """Interval of the 99th percentile of faults."""
    @property
    def time(self) -> float | None:
        """Interval of the time, the bandwidths and the ratios to NOR."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SamplePlan:
    """The plan of a sample: 16 times ``windows`` windows of ``window_runs`` runs of a trace."""

    def __new__(
        cls,
        *,
        windows: int | None = None,
        window_runs: int | None = None,
    ) -> SamplePlan: ...
    @property
    def all_windows(self) -> int:
        """Windows in all."""
    @property
    def runs(self) -> int:
        """Runs in all windows."""
    @property
    def window_runs(self) -> int:
        """Runs in a window."""
    @staticmethod
    def for_runs(runs: int) -> SamplePlan | None:
        """The plan with which a trace of so many runs is reported within a minute; None if the whole
        trace can be replayed in that time.
        """

@final
class Time:
    """The time of a whole replay, step by step."""

    @property
    def bandwidth_mib_s(self) -> float:
        """Bytes read over time, in 2²⁰ bytes/s."""
    @property
    def column_change_ns(self) -> float:
        """Time of column changes."""
    @property
    def false_faults_ns(self) -> float:
        """Time of false faults."""
    @property
    def fetch_ns(self) -> float:
        """Time to fetch bytes from the register over the bus."""
    @property
    def handler_ns(self) -> float:
        """Time of the host's work for true faults."""
    @property
    def hidden_ns(self) -> float:
        """Time saved by doing steps at the same time; below 0 if loads ahead cost more than they
        save.
        """
    @property
    def load_ns(self) -> float:
        """Time to load pages from the array into the register."""
    @property
    def lookups_ns(self) -> float:
        """Time of lookups in the page cache."""
    @property
    def read_ns(self) -> float:
        """Reading from frames by the processor, or through instruction cache and TLB; with a
        processor, its execution time.
        """
    @property
    def time_ns(self) -> float:
        """Sum of all steps, minus `hidden_ns`."""
    @property
    def write_ns(self) -> float:
        """Time to write into frames."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def counts() -> list[Count]:
    """The counts of a replay, in the order of a table."""

def explore(
    trace: str | os.PathLike[str],
    designs: Sequence[Design],
    on_pass: Callable[[list[tuple[int, Row]], float, int], None],
    *,
    warm_up: WarmUp | None = None,
) -> None:
    """Replay a trace for the designs of a space, in parallel, and price the counts. `on_pass` is called
    with `[(index, row)]` of each finished pass, and with the numbers of finished and of all passes.
    It is also called ten times a second without rows; then a running pass counts in part. Rows have
    no distance histogram and no fault latencies.
    """

def memory_bytes(
    trace: str | os.PathLike[str],
    designs: Sequence[Design],
    *,
    warm_up: WarmUp | None = None,
) -> int:
    """The most bytes of memory that `explore` takes in the engine."""

def simulate(
    trace: str | os.PathLike[str],
    designs: Sequence[Design],
    progress: Callable[[float, int], None] | None = None,
    *,
    sample: SamplePlan | None = None,
    warm_up: WarmUp | None = None,
) -> list[Row]:
    """Replay a trace, or a sample of it, for all designs, in parallel, and price the counts. A warm-up
    is not counted; a sample cannot have one. `progress(finished, all)` is called with numbers of passes;
    a running pass counts in part.
    """

@final
class Axis:
    """A field of a design that a space may vary."""

    @property
    def all(self) -> list[str] | None:
        """The values that `all` stands for; None if `all` is an ordinary name."""
    @property
    def description(self) -> str:
        """A description of the field's value."""
    @property
    def help(self) -> str:
        """One line of help."""
    @property
    def is_count(self) -> bool:
        """True if its values are counts."""
    @property
    def is_size(self) -> bool:
        """True if its values are numbers, either of bytes or counts."""
    @property
    def may_be_none(self) -> bool:
        """True if a value may be None."""
    @property
    def metavar(self) -> str:
        """The placeholder of a value in a usage line."""
    @property
    def name(self) -> str:
        """The field of a design, which is also the column of a table and the key of a board's file."""
    @property
    def title(self) -> str:
        """The field's name for people. Its flag is the same with dashes."""
    def checked(self, given: str | int | None) -> str | int | None:
        """Check a single value, before it is combined with others. Returns it in its normal spelling.

        Raises:
            FlashpagerError: for a value that no design can have, such as an unknown part.
        """

def axes() -> list[Axis]:
    """The axes of a space, in the order of its product."""

def policies() -> list[tuple[str, int]]:
    """All policies, as pairs of name and number of parameters."""

def policy_metadata(policy: str) -> tuple[float, int] | None:
    """The RAM that a policy needs beside frames, as a pair: bytes for each frame, and fixed bytes.
    None if no device can run the policy.
    """

@final
class MachineCounts:
    """The counts of a machine."""

    @property
    def bytes_read(self) -> int:
        """Bytes that the program read."""
    @property
    def bytes_written(self) -> int:
        """Bytes that the program wrote."""
    @property
    def copies_freed(self) -> int:
        """Copies that were freed, as their page was written to or the medium was too full."""
    @property
    def false_faults(self) -> int:
        """Faults at pages that were in a frame, and that the policy had marked invalid."""
    @property
    def faults(self) -> int:
        """Faults at pages that were in no frame: never touched before, or swapped out."""
    @property
    def first_touches(self) -> int:
        """Faults at pages never touched before."""
    @property
    def pages_dropped(self) -> int:
        """Victims that were not written, as their slot had a copy."""
    @property
    def pages_in(self) -> int:
        """Pages that came from the store."""
    @property
    def pages_out(self) -> int:
        """Victims that were written to the store."""
    @property
    def store(self) -> StoreCounters:
        """Operations of medium and compressor."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class MediumFaults:
    """Faults of an emulated medium; none by default."""

    def __new__(
        cls,
        *,
        factory_bad_blocks: int | None = None,
        endurance_cycles: int | None = None,
        program_fail_ppm: int | None = None,
        erase_fail_ppm: int | None = None,
        corrected_ppm: int | None = None,
    ) -> MediumFaults: ...
    @property
    def corrected_ppm(self) -> int:
        """Reads in a million that need correction."""
    @property
    def endurance_cycles(self) -> int:
        """Erasures after which a block may fail; 0 if it never does."""
    @property
    def erase_fail_ppm(self) -> int:
        """Erasures in a million that fail and make their block bad."""
    @property
    def factory_bad_blocks(self) -> int:
        """Blocks that are bad from the start."""
    @property
    def program_fail_ppm(self) -> int:
        """Programs in a million that fail and make their block bad."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    def replace(
        self,
        *,
        factory_bad_blocks: int | None = None,
        endurance_cycles: int | None = None,
        program_fail_ppm: int | None = None,
        erase_fail_ppm: int | None = None,
        corrected_ppm: int | None = None,
    ) -> MediumFaults:
        """The same settings with other values of some fields. None leaves a field unchanged."""

@final
class MediumGeometry:
    """The shape of a medium."""

    @property
    def block_bytes(self) -> int:
        """Bytes of an erase block. For media that rewrite in place, the unit by which wear is
        counted.
        """
    @property
    def block_count(self) -> int:
        """Number of blocks."""
    @property
    def program_bytes(self) -> int:
        """Bytes of a flash page; 1 where bytes are rewritten in place."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class MediumPrices:
    """Times of the operations of a medium."""

    @property
    def column_ns(self) -> float:
        """Time to change the column in the data register."""
    @property
    def erase_ns(self) -> float:
        """Time of an erasure."""
    @property
    def load_ns(self) -> float:
        """Time to load a flash page into the data register: commands, address and t_R."""
    @property
    def program_byte_ns(self) -> float:
        """Time of each byte that is programmed in place."""
    @property
    def program_ns(self) -> float:
        """Time of a program, without its bytes. For NAND, that of a whole flash page with its
        bytes.
        """
    @property
    def program_unit_bytes(self) -> int:
        """Bytes that are programmed together in place; 0 if each is programmed alone."""
    @property
    def program_unit_ns(self) -> float:
        """Time to program `program_unit_bytes`, with their transfer."""
    @property
    def read_byte_ns(self) -> float:
        """Time of each byte that is read."""
    @property
    def read_ns(self) -> float:
        """Time of a read, without its bytes."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class MediumTime:
    """Time at the medium."""

    @property
    def erase_ns(self) -> float:
        """Time of erasures."""
    @property
    def program_ns(self) -> float:
        """Time of programs."""
    @property
    def read_ns(self) -> float:
        """Time of reads."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class StoreCounters:
    """Numbers of operations of the medium and the compressor."""

    @property
    def columns(self) -> int:
        """Reads that change the column in the data register."""
    @property
    def compressed_pages(self) -> int:
        """Pages compressed."""
    @property
    def decompressed_pages(self) -> int:
        """Pages decompressed."""
    @property
    def erases(self) -> int:
        """Number of erasures."""
    @property
    def loads(self) -> int:
        """Reads that load another flash page into the data register."""
    @property
    def program_bytes(self) -> int:
        """Bytes programmed."""
    @property
    def programs(self) -> int:
        """Number of programs, each of a flash page or of bytes in place."""
    @property
    def read_bytes(self) -> int:
        """Bytes read."""
    @property
    def reads(self) -> int:
        """Number of reads of the medium."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class StoreReport:
    """The store at the end of a run."""

    @property
    def counters(self) -> StoreCounters:
        """Operations of medium and compressor."""
    @property
    def statistics(self) -> StoreStatistics:
        """Statistics of the store."""
    @property
    def wear(self) -> Wear:
        """Wear of the medium."""
    @property
    def wear_max_over_mean(self) -> float | None:
        """`max` over `mean` of the wear; None if nothing is worn."""
    @property
    def write_amplification(self) -> float | None:
        """Bytes programmed over compressed bytes written; None if nothing was written."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class StoreStatistics:
    """Statistics of a store, named after zram's `mm_stat`."""

    @property
    def bad_blocks(self) -> int:
        """Bad blocks of the medium."""
    @property
    def compr_data_size(self) -> int:
        """Bytes of the pages held, after compression."""
    @property
    def compression_ratio(self) -> float | None:
        """Compressed over original bytes of pages not filled with one word; None if there are
        none.
        """
    @property
    def erases(self) -> int:
        """Erasures since the store was formatted or mounted."""
    @property
    def huge_pages(self) -> int:
        """Incompressible pages, stored as they are."""
    @property
    def lost_pages(self) -> int:
        """Slots whose page is lost."""
    @property
    def mem_limit(self) -> int:
        """Bytes of the medium that the pages may take."""
    @property
    def mem_used_max(self) -> int:
        """The most bytes of the medium that the pages took so far."""
    @property
    def mem_used_total(self) -> int:
        """Bytes of the medium that the pages take, with headers."""
    @property
    def moved_size(self) -> int:
        """Bytes that garbage collection moved."""
    @property
    def orig_data_size(self) -> int:
        """Bytes of the pages held, as they were written."""
    @property
    def pages(self) -> int:
        """Slots that hold a page."""
    @property
    def programmed_size(self) -> int:
        """Bytes that the layout programmed."""
    @property
    def same_pages(self) -> int:
        """Pages filled with one word, which take no data."""
    @property
    def used_ratio(self) -> float | None:
        """Bytes taken of the medium over original bytes of the same pages; None if there are none."""
    @property
    def written_size(self) -> int:
        """Bytes of compressed pages that were written."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapBench:
    """The result of `swap_bench`."""

    @property
    def mean_share_of_ram(self) -> float | None:
        """The mean of the points' speeds as shares of RAM's; None without points."""
    @property
    def out_of_memory_at_bytes(self) -> int | None:
        """Bytes allocated when the medium was full; None if it never was."""
    @property
    def points(self) -> list[SwapPoint]:
        """The points of the chart."""
    @property
    def store(self) -> StoreReport:
        """The store at the end."""
    @property
    def system(self) -> SwapSystem:
        """The system."""
    @property
    def total(self) -> SwapPhase:
        """Counts and time from the first byte to the last."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapChurn:
    """The result of `swap_churn`."""

    @property
    def filled_share(self) -> float:
        """Share of the store's room that the filled slots took."""
    @property
    def filled_slots(self) -> int:
        """Slots that were filled first."""
    @property
    def overwriting(self) -> SwapPhase:
        """Counts and time of overwriting alone."""
    @property
    def page_ns(self) -> float:
        """Time of a page written over another."""
    @property
    def pages_written(self) -> int:
        """Pages written over others."""
    @property
    def store(self) -> StoreReport:
        """The store at the end, with the filling."""
    @property
    def system(self) -> SwapSystem:
        """The system."""
    @property
    def turnovers(self) -> float:
        """Number of times that the compressed bytes of `pages_written` would fill the store."""
    @property
    def write_amplification(self) -> float:
        """Bytes programmed over compressed bytes written, in the overwriting alone."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapPhase:
    """The counts and the time of a phase."""

    @property
    def counts(self) -> MachineCounts:
        """The counts of the phase."""
    @property
    def time(self) -> SwapTime:
        """The time of the phase."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapPoint:
    """A point of the chart."""

    @property
    def allocated_bytes(self) -> int:
        """Bytes that the program had allocated."""
    @property
    def fill(self) -> SwapPhase:
        """The phase in which the chunk is allocated and filled."""
    @property
    def mib_s(self) -> float:
        """Speed of the program's reading, in 2²⁰ bytes a second."""
    @property
    def read(self) -> SwapPhase:
        """The phase of the measured reading."""
    @property
    def share_of_ram(self) -> float:
        """Speed as a share of RAM's."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapPrices:
    """Prices of a swap system."""

    @property
    def compress_page_ns(self) -> float:
        """Time to compress a page."""
    @property
    def decompress_page_ns(self) -> float:
        """Time to decompress a page."""
    @property
    def fault_ns(self) -> float:
        """Time of a page fault, without store and medium."""
    @property
    def medium(self) -> MediumPrices:
        """Times of the medium's operations."""
    @property
    def ram_ns_per_byte(self) -> float:
        """Time to read or write a byte of RAM."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapSpec:
    """A swap system, and the program that runs on it. The default is MTDCOMPR's board, with swap on PCM."""

    def __new__(
        cls,
        *,
        ram_bytes: int | None = None,
        reserved_bytes: int | None = None,
        page_bytes: int | None = None,
        medium: str | None = None,
        layout: str | None = None,
        compressor: str | None = None,
        verify: bool | None = None,
        policy: str | None = None,
        keep_copies_percent: int | None = None,
        pages: str | None = None,
        seed: int | None = None,
        reserve_blocks: int | None = None,
        file: str | os.PathLike[str] | None = None,
        faults: MediumFaults | None = None,
        reading: str | None = None,
        chunk_bytes: int | None = None,
        reads: int | None = None,
        random_pages: int | None = None,
        most_bytes: int | None = None,
        fill_percent: int | None = None,
        turnovers: float | None = None,
        bus: str | None = None,
        ram_ns_per_byte: float | None = None,
        fault_ns: float | None = None,
        clock_mhz: float | None = None,
        cycles_per_instruction: float | None = None,
        compress_instructions_per_byte: float | None = None,
        decompress_instructions_per_byte: float | None = None,
    ) -> SwapSpec: ...
    @property
    def bus(self) -> str | None:
        """The medium's bus, as `33MHz-x8`; None for one as fast and wide as the part's."""
    @property
    def chunk_bytes(self) -> int:
        """Bytes of a chunk, which the program allocates at a time."""
    @property
    def clock_mhz(self) -> float:
        """The processor's clock."""
    @property
    def compress_instructions_per_byte(self) -> float | None:
        """Instructions for each byte of a page to be compressed; None for the number counted."""
    @property
    def compressor(self) -> str:
        """The compressor."""
    @property
    def cycles_per_instruction(self) -> float:
        """Mean cycles of the processor for an instruction."""
    @property
    def decompress_instructions_per_byte(self) -> float | None:
        """Instructions for each byte of a page to be decompressed; None for the number counted."""
    @property
    def fault_ns(self) -> float:
        """Time of a page fault, without store and medium."""
    @property
    def faults(self) -> MediumFaults:
        """Faults of the medium."""
    @property
    def file(self) -> pathlib.Path | None:
        """The file that holds the medium; None to hold it in memory."""
    @property
    def fill_percent(self) -> int:
        """Percent of the store's room that `swap_churn` fills first."""
    @property
    def keep_copies_percent(self) -> int:
        """Percent of the medium in use up to which a page that comes back keeps its copy there."""
    @property
    def layout(self) -> str | None:
        """The layout of pages on the medium; None for the medium's usual one."""
    @property
    def medium(self) -> str:
        """The medium, as `pcm:16M`: a kind, a part or its TOML file, and a size."""
    @property
    def most_bytes(self) -> int | None:
        """The most bytes that the program allocates; None for RAM and five times the medium."""
    @property
    def page_bytes(self) -> int:
        """Bytes of a page of memory."""
    @property
    def pages(self) -> str:
        """Contents of pages: `synthetic(25%)`, or a file of captured pages."""
    @property
    def policy(self) -> str:
        """The replacement policy."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of RAM."""
    @property
    def ram_ns_per_byte(self) -> float:
        """Time to read or write a byte of RAM, also of RAM that is the medium."""
    @property
    def random_pages(self) -> int:
        """Number of pages that `random` reads after each chunk."""
    @property
    def reading(self) -> str:
        """The reading of the program after each chunk: `random`, `fixed` or `last`."""
    @property
    def reads(self) -> int:
        """Number of times that `fixed` and `last` read their chunk."""
    @property
    def reserve_blocks(self) -> int:
        """Blocks that the log layout leaves free; 0 for as few as possible."""
    @property
    def reserved_bytes(self) -> int:
        """Bytes of RAM that neither the program's pages nor the store may take."""
    @property
    def seed(self) -> int:
        """Seed of all random choices."""
    @property
    def turnovers(self) -> float:
        """Number of times that `swap_churn` then overwrites the store's room."""
    @property
    def verify(self) -> bool:
        """True if each compressed page is decompressed and compared with its original."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    def replace(
        self,
        *,
        ram_bytes: int | None = None,
        reserved_bytes: int | None = None,
        page_bytes: int | None = None,
        medium: str | None = None,
        layout: str | None = None,
        compressor: str | None = None,
        verify: bool | None = None,
        policy: str | None = None,
        keep_copies_percent: int | None = None,
        pages: str | None = None,
        seed: int | None = None,
        reserve_blocks: int | None = None,
        file: str | os.PathLike[str] | None = None,
        faults: MediumFaults | None = None,
        reading: str | None = None,
        chunk_bytes: int | None = None,
        reads: int | None = None,
        random_pages: int | None = None,
        most_bytes: int | None = None,
        fill_percent: int | None = None,
        turnovers: float | None = None,
        bus: str | None = None,
        ram_ns_per_byte: float | None = None,
        fault_ns: float | None = None,
        clock_mhz: float | None = None,
        cycles_per_instruction: float | None = None,
        compress_instructions_per_byte: float | None = None,
        decompress_instructions_per_byte: float | None = None,
    ) -> SwapSpec:
        """The same settings with other values of some fields. None leaves a field unchanged."""

@final
class SwapSystem:
    """The description of a swap system in all results."""

    @property
    def assumed(self) -> list[str]:
        """Assumptions, each with the reason."""
    @property
    def frames(self) -> int:
        """Frames for the program's pages; 0 where none fits, and churn needs none."""
    @property
    def geometry(self) -> MediumGeometry:
        """The medium's shape."""
    @property
    def medium_bytes(self) -> int:
        """Bytes of the medium."""
    @property
    def part(self) -> str | None:
        """The medium's part; None for RAM."""
    @property
    def prices(self) -> SwapPrices:
        """Prices of a swap system."""
    @property
    def ram_bytes(self) -> int:
        """Bytes of RAM."""
    @property
    def ram_mib_s(self) -> float:
        """RAM's own speed, in 2²⁰ bytes a second."""
    @property
    def reserve_blocks(self) -> int:
        """Blocks that the log layout leaves free; 0 for other layouts."""
    @property
    def slot_count(self) -> int:
        """The store's number of slots."""
    @property
    def spec(self) -> SwapSpec:
        """The spec, with all open values filled in."""
    @property
    def store_memory_bytes(self) -> int:
        """Bytes of RAM that the store takes beside its medium."""
    @property
    def taken_bytes(self) -> int:
        """Bytes of RAM that the program's pages cannot take: reserved ones, the store's, and a
        medium in RAM.
        """
    @property
    def unverified(self) -> list[str]:
        """Unchecked fields of the part."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class SwapTime:
    """The time of a swap system, by cause."""

    @property
    def compress_ns(self) -> float:
        """Time to compress pages that are swapped out."""
    @property
    def decompress_ns(self) -> float:
        """Time to decompress pages that are swapped in."""
    @property
    def fault_ns(self) -> float:
        """Time of page faults, without store and medium."""
    @property
    def medium(self) -> MediumTime:
        """Time at the medium."""
    @property
    def ram_ns(self) -> float:
        """Time in which the program reads and writes RAM."""
    @property
    def total_ns(self) -> float:
        """Sum of all these times."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Wear:
    """The spread of a medium's erasures over its good blocks. For media that rewrite in place, the
    number of times that each block's bytes were rewritten.
    """

    @property
    def good_blocks(self) -> int:
        """Blocks that are not bad."""
    @property
    def max(self) -> int:
        """Erasures of the most worn block."""
    @property
    def mean(self) -> float:
        """Mean erasures of a block."""
    @property
    def min(self) -> int:
        """Erasures of the least worn block."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def swap_bench(spec: SwapSpec, progress: Callable[[int, int], None] | None = None) -> SwapBench:
    """Run MTDCOMPR's benchmark program on a simulated machine.
    `progress(allocated_bytes, most_bytes)` is called now and then.
    """

def swap_churn(spec: SwapSpec, progress: Callable[[int, int], None] | None = None) -> SwapChurn:
    """Fill a share of a store, then overwrite random slots, `turnovers` times the store's room in all.
    `progress(written_bytes, bytes_to_write)` is called now and then.
    """

def swap_compressors() -> list[str]:
    """All compressors by name."""

def swap_layouts() -> list[str]:
    """All layouts of pages on a medium, by name."""

def swap_media() -> list[tuple[str, str | None]]:
    """The kinds of media, each with the part of the catalog that is used for it (None for RAM)."""

def swap_readings() -> list[str]:
    """The patterns in which the benchmark program can read after each chunk."""

def swap_system(spec: SwapSpec) -> SwapSystem:
    """Look a swap system up and check it, without running anything."""

@final
class BlockStatistics:
    """Executed basic blocks of a trace: executed bytes, cut wherever a run begins or ends
    (CARDIS 2010, section 6.2).
    """

    @property
    def hottest(self) -> HottestCode | None:
        """The most executed code; None in traces of older recorders."""
    @property
    def mean_executed_block_bytes(self) -> float:
        """Mean size weighted by how often each block was executed."""
    @property
    def mean_run_bytes(self) -> float:
        """Mean length of a run: code between two taken jumps."""
    @property
    def mean_used_block_bytes(self) -> float:
        """Mean size of the distinct blocks."""
    @property
    def pages(self) -> list[PageUse]:
        """Use of pages, by the size of a page."""
    @property
    def predicted_page_bytes(self) -> int:
        """The mean used block aligned up to a power of two: by the paper the best cache page."""
    @property
    def seen_calls(self) -> int | None:
        """Jumps to the first byte of a symbol; None where less than half of the code has one."""
    @property
    def seen_returns(self) -> int | None:
        """Jumps to the address behind a call."""
    @property
    def used_blocks(self) -> int:
        """Distinct blocks executed."""
    @property
    def used_bytes(self) -> int:
        """Bytes of code executed at least once."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class CodePiece:
    """A piece of code in the flash image."""

    @property
    def bytes(self) -> int:
        """The length in bytes."""
    @property
    def offset(self) -> int:
        """Offset of the piece's first byte."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Ending:
    """The ending of a recording. Its ``name`` is ``complete``, ``failed``, ``interrupted`` or
    ``disk-full``.
    """

    @property
    def failure(self) -> str | None:
        """The program's exit status or signal; None if it did not fail."""
    @property
    def is_complete(self) -> bool:
        """True if the program ended by itself with exit status 0, or the file was imported whole."""
    @property
    def name(self) -> str:
        """The kind of the end, as the trace file has it."""
    @staticmethod
    def complete() -> Ending:
        """The program ended by itself with exit status 0, or the file was imported whole."""
    @staticmethod
    def failed(how: str) -> Ending:
        """The program failed with this exit status, or by this signal."""
    @staticmethod
    def interrupted() -> Ending:
        """Somebody stopped the recording."""

@final
class Gap:
    """A place of a trace at which executed code is missing."""

    @property
    def instructions(self) -> int | None:
        """Instructions that are missing; None if nobody counted them."""
    @property
    def reason(self) -> str:
        """The reason, as ``buffer-full``."""
    @property
    def run(self) -> int:
        """Number of runs before the gap."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class HottestCode:
    """The small set of code that a trace executes most."""

    @property
    def executed_bytes(self) -> int:
        """Bytes executed by runs that lie in one of the pieces, counted at each execution."""
    @property
    def pieces(self) -> list[CodePiece]:
        """The pieces by offset. They do not touch."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Image:
    """The placed code of one file."""

    @property
    def build_id(self) -> str:
        """Its GNU build id in hexadecimal; empty if it has none."""
    @property
    def bytes(self) -> int:
        """Bytes up to the end of its last section."""
    @property
    def offset(self) -> int:
        """Offset of the first byte in the flash image."""
    @property
    def path(self) -> str:
        """The file that the code comes from."""
    @property
    def sections(self) -> list[Section]:
        """Its sections in flash."""
    @property
    def symbols(self) -> list[Symbol]:
        """Its symbols, by offset."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class OutsideFile:
    """A file whose code was executed and is not placed."""

    @property
    def instructions(self) -> int:
        """Instructions executed from the file."""
    @property
    def path(self) -> str:
        """The file's path."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class PageUse:
    """Use of the pages of one size in which something was executed."""

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
    @property
    def pages(self) -> int:
        """Pages with at least one executed byte."""
    @property
    def used_share(self) -> float:
        """Share of these pages' bytes that was executed."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ProgramFile:
    """A program file as a whole."""

    @property
    def architecture(self) -> str:
        """The instruction set as QEMU spells it; empty if QEMU has none."""
    @property
    def entry(self) -> int:
        """The address of the program's first instruction."""
    @property
    def functions(self) -> int:
        """The number of its functions with a name."""
    @property
    def has_lines(self) -> bool:
        """True if it states the source line of each instruction."""
    @property
    def instruction_set(self) -> str:
        """The version of the instruction set, as ``ARMv7-M``; empty if the file does not state it."""
    @property
    def kind(self) -> str:
        """The kind of program: ``firmware``, ``hosted``, or ``object`` if it is not linked."""
    @property
    def microcontroller(self) -> str:
        """The microcontroller as GCC names it, as ``atmega328p``; empty if the file does not state it."""
    @property
    def sections(self) -> list[ProgramSection]:
        """The program's sections, by address."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    @staticmethod
    def read(path: str | os.PathLike[str]) -> ProgramFile:
        """Read an ELF file."""

@final
class ProgramSection:
    """A section that has memory when the program runs."""

    @property
    def address(self) -> int:
        """The address at which the program uses it."""
    @property
    def bytes(self) -> int:
        """The length in bytes."""
    @property
    def content(self) -> str:
        """The section's content: ``code``, ``constants``, ``data`` or ``zeroed``."""
    @property
    def is_in_place(self) -> bool:
        """True if the program executes or reads it where it is stored, and never writes it."""
    @property
    def load_address(self) -> int:
        """The address at which the linker stored it."""
    @property
    def name(self) -> str:
        """The section's name, as ``.text``."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Section:
    """A section of an image in flash."""

    @property
    def address(self) -> int:
        """The section's address in the file, before any load bias."""
    @property
    def bytes(self) -> int:
        """The length in bytes."""
    @property
    def name(self) -> str:
        """The section's name, as ``.text``."""
    @property
    def offset(self) -> int:
        """Offset of the first byte in the flash image."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class Symbol:
    """A function, or another named piece of code."""

    @property
    def bytes(self) -> int:
        """The length in bytes; 0 if the file does not state it."""
    @property
    def name(self) -> str:
        """The symbol's name, as the linker knows it."""
    @property
    def offset(self) -> int:
        """Offset of the first byte in the flash image."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class TraceInfo:
    """The description of a trace."""

    @property
    def architecture(self) -> str:
        """Instruction set, as QEMU spells it; empty if unknown."""
    @property
    def arguments(self) -> list[str]:
        """The program's arguments."""
    @property
    def beside_instructions(self) -> int:
        """Instructions executed before this part, or between its parts."""
    @property
    def build_id(self) -> str:
        """The program's GNU build id in hexadecimal; empty if it has none."""
    @property
    def bytes(self) -> int:
        """Bytes of all runs."""
    @property
    def calls(self) -> int | None:
        """Calls of methods; None if the recorder does not report them."""
    @property
    def continued(self) -> int:
        """Executed runs that continue one that a data read interrupted."""
    @property
    def ending(self) -> Ending:
        """The ending of the recording."""
    @property
    def executes_from_ram(self) -> bool:
        """True if the processor of the program can execute code from RAM."""
    @property
    def gaps(self) -> list[Gap]:
        """Places at which executed code is missing, ascending."""
    @property
    def image_bytes(self) -> int:
        """Bytes of the flash image."""
    @property
    def images(self) -> list[Image]:
        """The code in flash, by offset."""
    @property
    def in_doubt(self) -> int | None:
        """Executed blocks that are counted whole, although they may have been cut short; None if
        the recorder does not report them.
        """
    @property
    def instructions(self) -> int | None:
        """Executed instructions of the placed code; None if the format does not state them."""
    @property
    def left_out(self) -> list[str]:
        """Code that ran and could not be recorded, each with the reason."""
    @property
    def outside_bytes(self) -> int:
        """Bytes fetched by `outside_instructions`."""
    @property
    def outside_files(self) -> list[OutsideFile]:
        """Files whose code was executed and is not placed, most instructions first; empty if the
        recorder does not report them.
        """
    @property
    def outside_instructions(self) -> int | None:
        """Instructions executed outside the placed images, not in the runs; None if the recorder
        does not report them.
        """
    @property
    def process(self) -> str:
        """The process that this trace records, if it is not the first one; empty for the first."""
    @property
    def program(self) -> str:
        """The program's path, or the imported file's."""
    @property
    def read_bytes(self) -> int:
        """Bytes of the data reads."""
    @property
    def reads(self) -> int:
        """Runs that are data reads, not executed."""
    @property
    def reads_recorded(self) -> bool:
        """True if the recorder reported data reads, though there may be none."""
    @property
    def recorder(self) -> str:
        """The recorder of the trace: ``qemu``, ``lackey``, or the imported format."""
    @property
    def recorder_version(self) -> str:
        """The recorder's own version; empty if unknown."""
    @property
    def region(self) -> str:
        """The part of the execution that was recorded, in words; empty if it is all."""
    @property
    def returns(self) -> int | None:
        """Returns from methods; None if the recorder does not report them."""
    @property
    def runs(self) -> int:
        """Number of runs in the file."""
    @property
    def schema_version(self) -> int:
        """Version of the file's layout."""
    @property
    def thread(self) -> str:
        """The recorded thread; empty if threads are not recorded separately."""
    @property
    def warm_up(self) -> WarmUp:
        """The first runs, which fill a cache and are not counted."""
    @property
    def windows(self) -> list[tuple[int, int]]:
        """The windows between the gaps, each as the numbers of its first run and of the one behind it."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""
    @classmethod
    def from_dict(cls, fields: Mapping[str, object]) -> TraceInfo:
        """Make a description from the fields that `as_dict` returns; for pickles."""

@final
class WarmUp:
    """The first runs of a trace, which fill a cache and are not counted; 0 runs to count all."""

    def __new__(cls, runs: int, bytes: int) -> WarmUp: ...
    @property
    def bytes(self) -> int:
        """Bytes fetched by these runs."""
    @property
    def runs(self) -> int:
        """Number of runs."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def block_statistics(
    trace: str | os.PathLike[str],
    progress: Callable[[int, int], None] | None = None,
) -> BlockStatistics:
    """The statistics of a trace's executed basic blocks: those that its file holds, or else counted by
    reading it once. `progress(read, all)` is called with numbers of runs.
    """

def check_trace(
    trace: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> TraceInfo:
    """Read a whole trace with its checksums, and check the description of its blocks. With ``output``,
    write the trace anew, with the fields that the description lacks. Returns the description. `progress(read, all)` is
    called with numbers of runs.
    """

def elf_identity(path: str | os.PathLike[str]) -> tuple[str, str]:
    """The instruction set and build id of an ELF file."""

def export_formats() -> list[str]:
    """The formats that a trace can be written as."""

def export_trace(
    trace: str | os.PathLike[str],
    format: str,
    instruction_bytes: int,
    output: str | os.PathLike[str] | None,
    page_bytes: int = 4096,
) -> None:
    """Write a trace in one of ``export_formats()``: ``din`` with an instruction every ``instruction_bytes``,
    ``oracle-general`` with pages of ``page_bytes``. Without ``output``, write to standard output.
    """

def flash_image(info: TraceInfo, elf: str | os.PathLike[str]) -> bytes:
    """The bytes of a trace's flash image, read from the recorded ELF file."""

def linked_ranges(
    path: str | os.PathLike[str],
    sections: Sequence[str],
) -> tuple[list[tuple[int, int]], int | None]:
    """The linked addresses of an ELF file's sections, as pairs of start and end, and the first address
    of its executable segments; None if it has none.
    """

def recorded_blocks(trace: str | os.PathLike[str]) -> BlockStatistics | None:
    """The statistics of executed basic blocks that a trace file holds; None if it holds none."""

def stored_word(path: str | os.PathLike[str], address: int) -> int | None:
    """The word of 32 bits that an ELF file stores at an address of flash; None if it stores none there."""

def trace_info(
    trace: str | os.PathLike[str],
    warm_up: WarmUp | str | None = None,
    *,
    captured: bool = False,
) -> TraceInfo:
    """The description of a trace file, with another warm-up if one is given. Its text is ``80K``,
    ``10%``, a function's name, or ``none``. A trace with gaps is refused unless ``captured`` is True.
    """

def version() -> str:
    """The engine's version."""

@final
class CountBounds:
    """Bounds of a count: the truth is one of them or lies between them."""

    @property
    def high(self) -> int:
        """The largest count that is possible."""
    @property
    def low(self) -> int:
        """The least count that is possible."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class ValueBounds:
    """Bounds of a time in ns, or of a ratio of times."""

    @property
    def high(self) -> float:
        """The largest value that is possible."""
    @property
    def low(self) -> float:
        """The least value that is possible."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

@final
class WindowedResult:
    """The result of replaying each window of a trace with gaps by itself."""

    @property
    def bytes_read(self) -> int:
        """Bytes of all runs."""
    @property
    def hits(self) -> CountBounds | None:
        """Hits; None if they are unknown."""
    @property
    def loads(self) -> CountBounds | None:
        """Loads; None if they are unknown."""
    @property
    def misses(self) -> CountBounds | None:
        """Misses; None if they are unknown."""
    @property
    def references(self) -> CountBounds:
        """References of all windows."""
    @property
    def runs(self) -> int:
        """Runs of all windows."""
    @property
    def slowdown(self) -> ValueBounds | None:
        """Run time paged over run time from RAM; None without a processor or if it is unknown."""
    @property
    def time_ns(self) -> ValueBounds | None:
        """Time of all windows; None if it is unknown."""
    @property
    def unknown(self) -> str:
        """The reason why counts or times are unknown; empty if none is."""
    @property
    def windows(self) -> int:
        """Number of windows."""
    def as_dict(self) -> Json:
        """The value as plain dictionaries and lists, as JSON has it."""

def simulate_windows(
    trace: str | os.PathLike[str],
    design: Design,
    progress: Callable[[float, int], None] | None = None,
) -> WindowedResult:
    """Replay each window of a trace through a design, from an unknown cache. `progress(finished, all)`
    is called with the share that is read, and 1.
    """
