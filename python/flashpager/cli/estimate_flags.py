"""The options of ``flashpager estimate``, and the host and queries that they describe."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from flashpager import _engine
from flashpager._engine import (
    Dma,
    Driver,
    FlashpagerError,
    Host,
    Measurement,
    Memory,
    Peripheral,
    Processor,
    Software,
)
from flashpager.base.files import refuse_overwriting
from flashpager.base.quantities import parse_clock, parse_duration, parse_size, split_list
from flashpager.cli import options
from flashpager.cli.console import note
from flashpager.media.sweep import EstimateQuery


@dataclass(frozen=True, kw_only=True)
class EstimateFlags:
    """Options of the command, as typed."""

    part: options.Part = None
    board: Annotated[
        str | None,
        typer.Option(
            "--board", metavar=options.BOARD, help="A board: part, bus, RAM, driver … (see boards)."
        ),
    ] = None
    operation: Annotated[
        str | None,
        typer.Option("--operation", metavar="LIST", help=" | ".join(_engine.all_operations())),
    ] = None
    mode: Annotated[
        str | None,
        typer.Option(
            "--mode",
            "--read-mode",
            metavar="MODE",
            help="Mode of the transfer: 1-1-4, burst, async …",
        ),
    ] = None
    size: Annotated[
        str | None,
        typer.Option(
            "--bytes", metavar="SIZE", help="Bytes moved; by default a whole page or line."
        ),
    ] = None
    bus: Annotated[
        str | None,
        typer.Option(
            "--bus",
            metavar="BUS",
            help="Bus, as 33MHz-x8, or 120MHz/8-x8 for a transfer every 8 cycles.",
        ),
    ] = None
    peripheral: Annotated[
        str | None,
        typer.Option(
            "--peripheral", metavar="CLOCK", help="Clock that a port divides: 40MHz, 40MHz-x1."
        ),
    ] = None
    divider: Annotated[
        str | None, typer.Option("--divider", metavar="KIND", help=" | ".join(_engine.dividers()))
    ] = None
    controller: Annotated[
        str | None,
        typer.Option(
            "--controller",
            metavar="NAME",
            help="The port's controller: " + ", ".join(name for name, _ in _engine.controllers()),
        ),
    ] = None
    asked_clock: Annotated[
        str | None,
        typer.Option("--asked", metavar="CLOCK", help="The clock that the driver requests."),
    ] = None
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="BUS", help="RAM that holds the data: 100MHz/5-x32."),
    ] = None
    processor: Annotated[
        str | None,
        typer.Option("--processor", metavar="CLOCK", help="The processor's clock, as 200MHz."),
    ] = None
    driver: Annotated[
        Path | None,
        typer.Option("--driver", metavar="OBJECT", help="Object file with the driver's code."),
    ] = None
    function: Annotated[
        str | None,
        typer.Option("--function", metavar="NAME", help="The driver's function that moves a page."),
    ] = None
    port: Annotated[
        str | None,
        typer.Option(
            "--port", metavar="ADDRESS", help="Data port, if it does not follow from the code."
        ),
    ] = None
    instructions: Annotated[
        float | None,
        typer.Option(
            "--instructions", metavar="N", help="Instructions per access, counted by hand."
        ),
    ] = None
    dma: Annotated[
        bool, typer.Option("--dma", help="DMA moves the data, with half the software time.")
    ] = False
    no_dma: Annotated[bool, typer.Option("--no-dma", help="The processor moves the data.")] = False
    system: Annotated[
        str | None,
        typer.Option("--system", metavar="SYSTEM", help=" | ".join(_engine.systems())),
    ] = None
    like: Annotated[
        str | None,
        typer.Option(
            "--like",
            metavar="HOST",
            help="A measured host: " + ", ".join(host.name for host in _engine.measured_hosts()),
        ),
    ] = None
    operation_time: Annotated[
        str | None,
        typer.Option(
            "--operation-time",
            metavar="TIME",
            help="Time of the driver for an operation, without its loop, as 60us.",
        ),
    ] = None
    measured: Annotated[
        str | None,
        typer.Option(
            "--measured",
            metavar="RATE[@SIZE]",
            help="A rate measured on your board, and the bytes of a transaction: 8.81MB/s@4096; "
            "kB of 1,000 and MB of 10^6 bytes, KiB and MiB of 2^10 and 2^20.",
        ),
    ] = None
    array_share: Annotated[
        float | None,
        typer.Option(
            "--array-share",
            metavar="X",
            help="The chip's measured share of its datasheet's t_R, t_PROG or t_BERS.",
        ),
    ] = None
    waits: Annotated[
        bool, typer.Option("--waits", help="Count t_WB and t_ADL, which the article leaves out.")
    ] = False
    cache_page: Annotated[
        str | None,
        typer.Option(
            "--cache-page", metavar="SIZE", help="Page size for the energy of a page fault."
        ),
    ] = None
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="AXIS=LIST",
            help="Vary page=512,2K, width=8,16 or clock=20,40 (MHz); repeatable.",
        ),
    ] = None
    plot: options.Plot = None

    def host(self) -> tuple[Host, str]:
        """Combine the options with the board; options have priority.

        Returns:
            The host, and the name of the part.

        Raises:
            FlashpagerError: if options exclude one another, or no part is named.

        """
        if self.dma and self.no_dma:
            message = "--dma or --no-dma, not both: DMA moves the data, or the processor does"
            raise FlashpagerError(message)
        board, of_board = Host.from_board(self.board) if self.board else (Host(), None)
        bus, port = self._bus(board)
        software, driver = self._loop(board)
        host = Host(
            bus,
            peripheral=port,
            memory=self._memory(board),
            processor=self._processor(board),
            software=software,
            driver=driver,
            operation_ns=self._operation_ns(board),
            dma=self._dma(board),
            copied=self.no_dma or (board.copied and not self.dma),
            system=self.system or board.system,
            like=self.like or board.like,
            array_share=board.array_share if self.array_share is None else self.array_share,
            layers=board.layers,
            measured=self._measured(board, of_board),
        )
        name = self.part or of_board
        if name is None:
            message = (
                "no part is named: give --part NAME (see 'flashpager parts list') or --board FILE"
            )
            raise FlashpagerError(message)
        return host, name

    def queries(self, part: str) -> list[EstimateQuery]:
        """Return the estimates to make of a part, one for each operation."""
        known = _engine.find_part(part).operations() if not self.operation else []
        operations = known[:1] if self.operation is None else split_list(self.operation)
        if not operations:
            message = f"--operation: name one or several of {', '.join(known)}"
            raise FlashpagerError(message)
        if self.measured is not None and (len(operations) > 1 or self.sweep):
            message = "--measured is of one operation, on the part as it is: leave out the others"
            raise FlashpagerError(message)
        return [
            EstimateQuery(
                operation=operation,
                mode=self.mode,
                size=None if self.size is None else parse_size(self.size),
                waits=self.waits,
                cache_page_bytes=None if self.cache_page is None else parse_size(self.cache_page),
                measured=None if self.measured is None else parse_measured(self.measured),
            )
            for operation in operations
        ]

    def check_plot(self) -> None:
        """Refuse a picture that cannot be written, or that would overwrite an input."""
        if self.plot is None:
            return
        from flashpager.plots import picture  # noqa: PLC0415  (Altair starts slowly)

        refuse_overwriting(self.plot, *(Path(path) for path in (self.board, self.driver) if path))
        picture.check_output(self.plot)

    def _bus(self, board: Host) -> tuple[str | None, Peripheral | None]:
        """Combine options with a board's bus, and with the port that makes its clock."""
        self._check_bus(board)
        if self.bus is not None:
            # A named bus is not divided from the board's clock.
            return self.bus, None
        own = board.peripheral
        if self.peripheral is None and (own is None or self._port_flag() is None):
            return board.bus, own
        text, _, lines = (self.peripheral or "").partition("-x")
        clock = own.clock_mhz if own is not None and not text else parse_clock(text)
        inherits = own is not None and not text
        port = Peripheral(
            clock,
            self.divider,
            controller=self.controller
            or (own.controller if own and not (text or self.divider) else None),
            asked_mhz=parse_clock(self.asked_clock)
            if self.asked_clock is not None
            else (own.asked_mhz if own and inherits else None),
        )
        # Only the number of lines of this bus counts.
        return f"{clock}MHz-x{lines}" if lines else board.bus if not text else None, port

    def _measured(self, board: Host, of_board: str | None) -> list[Measurement]:
        """Return the rates measured on the board if they hold, and note why they do not.

        They hold for the board's own part on its host: an option that changes one leaves them out.
        """
        flag = self._changed(of_board)
        if flag is None or not board.measured:
            return board.measured
        note(f"note: {flag} changes the board, so the rates measured on it are left out")
        return []

    def kept_rate(self, part: str, operation: str) -> str | None:
        """Return how a board's file keeps the measured rate; None if it does not hold there.

        Args:
            part: the estimated part.
            operation: the estimated operation.

        """
        if self.measured is None or self.board is None or self._changed(part) is not None:
            return None
        bytes_per_s, size = parse_measured(self.measured)
        size = size or (None if self.size is None else parse_size(self.size))
        fields = [
            f"kb_s = {bytes_per_s / 1e3:g}",
            f'operation = "{operation}"',
            *([f"bytes = {size}"] if size else []),
            *([f'mode = "{self.mode}"'] if self.mode else []),
        ]
        if Host.from_board(self.board)[0].measured:
            return f"give its [[measured]] in {self.board} the fields {', '.join(fields)}"
        own = Path(self.board).is_file()
        file = self.board if own else f"a copy of the file of board {self.board}"
        return f"write above the tables of {file}: measured = [{{ {', '.join(fields)} }}]"

    def _changed(self, of_board: str | None) -> str | None:
        """Return the first option that takes another part or host than the board's."""
        changed = {
            "--part": None if self.part == of_board else self.part,
            "--bus": self.bus,
            "--peripheral": self.peripheral,
            self._port_flag() or "--divider": self._port_flag(),
            "--memory": self.memory,
            "--processor": self.processor,
            "--driver": self.driver,
            "--instructions": self.instructions,
            "--dma": self.dma or None,
            "--no-dma": self.no_dma or None,
            "--system": self.system,
            "--like": self.like,
            "--operation-time": self.operation_time,
            "--array-share": self.array_share,
        }
        return next((flag for flag, value in changed.items() if value is not None), None)

    def _port_flag(self) -> str | None:
        """Return the first given option that determines the divider of a port's clock."""
        given = {
            "--divider": self.divider,
            "--controller": self.controller,
            "--asked": self.asked_clock,
        }
        return next((flag for flag, value in given.items() if value is not None), None)

    def _check_bus(self, board: Host) -> None:
        """Refuse options of a bus that exclude one another."""
        if self.bus is not None and self.peripheral is not None:
            message = "--bus or --peripheral, not both; lines go with the clock, as 40MHz-x1"
            raise FlashpagerError(message)
        flag = self._port_flag()
        if self.bus is not None and flag is not None:
            message = f"--bus or {flag}, not both: a named bus is not divided; give --peripheral"
            raise FlashpagerError(message)
        if flag is not None and self.peripheral is None and board.peripheral is None:
            message = f"{flag} needs a clock: give --peripheral CLOCK, or a board with [peripheral]"
            raise FlashpagerError(message)
        if self.divider is not None and self.divider not in _engine.dividers():
            message = f"--divider {self.divider}: known are {', '.join(_engine.dividers())}"
            raise FlashpagerError(message)

    def _memory(self, board: Host) -> Memory | None:
        if self.memory is None:
            return board.memory
        return board.memory.on(self.memory) if board.memory else Memory(self.memory)

    def _processor(self, board: Host) -> Processor | None:
        if self.processor is None:
            return board.processor
        clock_mhz = parse_clock(self.processor)
        return board.processor.at(clock_mhz) if board.processor else Processor(clock_mhz)

    def _operation_ns(self, board: Host) -> float | None:
        if self.operation_time is None:
            return board.operation_ns
        is_zero = self.operation_time.strip() in ("0", "0ns")
        return 0.0 if is_zero else parse_duration(self.operation_time)

    def _dma(self, board: Host) -> Dma | None:
        if self.dma:
            return board.dma or Dma()
        return None if self.no_dma else board.dma

    def _loop(self, board: Host) -> tuple[Software | None, Driver | None]:
        """Combine options with a board's loop, or with the code in which to count it."""
        if (self.driver is None) != (self.function is None):
            message = "--driver and --function go together: an object file and a function in it"
            raise FlashpagerError(message)
        if self.driver is not None and self.instructions is not None:
            message = "--driver counts instructions itself; leave --instructions out"
            raise FlashpagerError(message)
        if self.driver is not None and self.function is not None:
            return None, Driver(self.driver, self.function, self.port)
        if self.port is not None:
            message = "--port needs --driver"
            raise FlashpagerError(message)
        if self.instructions is not None:
            return Software(self.instructions, 1), None
        return board.software, board.driver


#: Bytes a second of each unit of a measured rate.
_RATES = {"B": 1.0, "KB": 1e3, "MB": 1e6, "KIB": 1024.0, "MIB": 1024.0**2}


def parse_measured(text: str) -> tuple[float, int | None]:
    """Read a measured rate, such as ``8.81MB/s@4096``: bytes a second, and bytes if given."""
    rate, at, size = text.partition("@")
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([KM]?i?B)/s\s*", rate, re.IGNORECASE)
    unit = match[2].upper() if match else ""
    if match is None or unit not in _RATES:
        message = f"--measured {text}: write it as 8.81MB/s, or 8.81MB/s@4096 with a size"
        raise FlashpagerError(message)
    return float(match[1]) * _RATES[unit], parse_size(size) if at else None
