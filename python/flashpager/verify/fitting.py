"""Prices of a board, fitted to part of a program on an emulated device."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Handler, Host
from flashpager.deploy.pager_design import PagerDesign
from flashpager.deploy.store import SimulatedStore
from flashpager.record.trace import Trace
from flashpager.verify.cycles import MeasuredPart, fit, fit_checks
from flashpager.verify.emulated import (
    AuthenticatedFlash,
    ComparedCount,
    EmulatedDevice,
    Verification,
)
from flashpager.verify.fitted_board import FittedBoard, bus_of
from flashpager.verify.nand import NandChip
from flashpager.verify.runs import DeviceRuns
from flashpager.verify.timing import ComparedTime, compared_times

#: Number of first runs that prices are fitted to by default.
FIT_RUNS = 20_000
#: Number of first runs that is enough for a constant cost, the check of a tag.
_CHECK_RUNS = 500
#: Default clock of an AVR.
_CLOCK_HZ = 16_000_000
#: The fastest that an ATmega1284P takes.
_FASTEST_HZ = 20_000_000


def clock_of(board: str | None) -> int:
    """Return the clock of an AVR on a board: that of its processor, else 16 MHz.

    Raises:
        FlashpagerError: if an ATmega1284P cannot run at this clock.

    """
    processor = Host.from_board(Path(board))[0].processor if board else None
    if processor is None:
        return _CLOCK_HZ
    clock_hz = round(processor.clock_mhz * 1e6)
    if not 0 < clock_hz <= _FASTEST_HZ:
        message = (
            f"{board}: [processor] clock_mhz = {processor.clock_mhz:g}, but an ATmega1284P runs at "
            f"{_FASTEST_HZ / 1e6:g} MHz at most"
        )
        raise FlashpagerError(message)
    return clock_hz


@dataclass(frozen=True)
class FittedPrices:
    """Prices that were fitted."""

    #: The board's file.
    text: str
    #: The part of the program that prices were fitted to, and the rest.
    parts: list[MeasuredPart]
    #: Counts of the device that are not those simulated.
    differ: list[ComparedCount]


@dataclass(frozen=True)
class FitErrors:
    """Errors of fitted prices on a part of a program."""

    title: str
    runs: int
    times: list[ComparedTime]


class PriceFitting:
    """Fits prices to the cycles of a design on a device."""

    def __init__(
        self,
        trace: Trace,
        runs: DeviceRuns,
        image: bytes,
        store: SimulatedStore,
        pager: PagerDesign,
        chip: NandChip,
        device: EmulatedDevice,
        fit_runs: int,
        deployed: AuthenticatedFlash | None = None,
    ) -> None:
        """Store the inputs of a verification.

        Raises:
            FlashpagerError: if ``fit_runs`` leaves no runs, or the design has no prices to fit.

        """
        if fit_runs >= runs.count:
            message = (
                f"--fit-runs {fit_runs}: the trace has {runs.count} runs, and some must be left to "
                "see how well the prices tell them"
            )
            raise FlashpagerError(message)
        if pager.codeword_bytes:
            message = "--fit: the device fetches codewords, but computes no ECC; leave them away"
            raise FlashpagerError(message)
        self._trace, self._runs, self._image = trace, runs, image
        self._row, self._store, self._pager, self._chip = store.row, store, pager, chip
        self._device, self._fit_runs = device, fit_runs
        self._deployed = deployed
        self._parts: list[MeasuredPart] = []

    def run(self) -> FittedPrices:
        """Run all runs on the device, and fit prices to its cycles."""
        first = self._runs.first(self._fit_runs)
        others = self._others(first)
        if self._has_homes:
            self._train(first, others)
        verified = self._measure()
        self._parts = verified.parts
        homes = self._pager.homes
        prices = fit(
            self._parts[0],
            first.bytes_read,
            self._chip.t_r,
            others,
            homes.header_bytes if homes else 0,
        )
        if self._deployed:
            tag_check, mac_block = self._checks()
            prices = replace(prices, tag_check=tag_check, mac_block=mac_block)
        board = FittedBoard(
            design=self._row.design,
            lookup=self._pager.lookup,
            clock_hz=self._chip.clock_hz,
            prices=prices,
            column_bus_ns=None,
            trace=self._trace.path.name,
            runs=self._fit_runs,
        )
        if prices.column_change is not None:
            board = replace(board, column_bus_ns=self._column_bus_ns(board.bus))
        return FittedPrices(board.text(), self._parts, verified.differ)

    @property
    def _has_homes(self) -> bool:
        return self._row.design.store != "plain"

    def _measure(self) -> Verification:
        """Run all runs on the device."""
        secret = self._deployed.secret if self._deployed else None
        return self._device.verify(
            self._pager,
            self._runs,
            self._image,
            self._store.counts,
            chip=self._chip,
            fit_runs=self._fit_runs,
            deployed=self._deployed,
            flash=self._store.flash(self._image, self._pager, secret),
        )

    def _train(self, first: DeviceRuns, plain: Sequence[MeasuredPart]) -> None:
        """Train the homes on the first runs, at the pace of the device's bus.

        The slots that start-column may skip depend on that.

        Args:
            first: the runs.
            plain: measurements of the plain store, with the design's register first.

        """
        bus_byte = fit(plain[0], first.bytes_read, self._chip.t_r, plain[1:]).bus_byte
        bus = bus_of(self._chip.clock_hz, bus_byte)
        self._take(self._row.design.replace(bus=bus), first)

    def _take(self, design: Design, first: DeviceRuns) -> bool:
        """Take the homes that a design trains on the first runs. Return True if they are others."""
        old = self._store.trained
        self._store = SimulatedStore.of(self._trace.path, design, str(first.bytes_read))
        self._row = self._store.row
        self._pager = self._store.pager(self._pager.image_bytes, self._pager.lookup)
        self._chip = replace(self._chip, pages=self._pager.flash_pages)
        new = self._store.trained
        return old is None or new is None or old.slots != new.slots

    def _column_bus_ns(self, bus: str) -> float | None:
        """Return the time of a column change on a bus, without software, in ns."""
        design = self._row.design.replace(
            register="random-column", bus=bus, store="plain", handler=Handler()
        )
        return _engine.simulate(self._trace.path, [design])[0].prices.t_column_change_ns

    def _checks(self) -> tuple[float, float]:
        """Measure checks of pages of half the size, too, to separate base and slope.

        The chip has a larger spare area then, so that twice as many tags fit.
        """
        own = self._pager
        half = replace(own, page_bytes=own.page_bytes // 2, spare_bytes=2 * own.spare_bytes)
        chip = replace(self._chip, spare_bytes=half.spare_bytes)
        few = self._runs.first(min(self._fit_runs, _CHECK_RUNS))
        parts = self._device.verify(
            half, few, self._image, self._row.counts, chip=chip, deployed=self._deployed
        ).parts
        return fit_checks([(own.unit_bytes, self._parts[0]), (half.unit_bytes, parts[0])])

    def _others(self, first: DeviceRuns) -> list[MeasuredPart]:
        """Measure other designs on the first runs, for operations that the design lacks.

        They are the other register, for a column change or a skip, and before it, if the design has
        homes, its own register with the plain store. A design that skips has no tags, as tags need
        a register with column changes.
        """
        own = self._pager.register
        registers = ["start-column" if own == "random-column" else "random-column"]
        if self._has_homes:
            registers.insert(0, own)
        measured = []
        for register in registers:
            plain = self._row.design.replace(register=register, store="plain", tag_bytes=None)
            try:
                row = _engine.simulate(self._trace.path, [plain.resolved()])[0]
            except FlashpagerError:
                continue
            pager = replace(
                self._pager, register=register, tag_bytes=None, spare_bytes=0, homes=None
            )
            chip = replace(self._chip, spare_bytes=0, pages=pager.flash_pages)
            done = self._device.verify(pager, first, self._image, row.counts, chip=chip)
            measured += done.parts
        return measured

    def errors(self, board: Path) -> list[FitErrors]:
        """Return the errors of a board with these prices on both parts of the program."""
        prices = Design.from_board(board)
        same = self._row.design
        design = same.replace(
            bus=prices.bus,
            ram=prices.ram,
            handler=prices.handler,
            schedule=prices.schedule,
            processor=None,
        )
        before, behind = self._compared(design)
        return [
            FitErrors("fitted to", self._fit_runs, before),
            FitErrors("the rest", self._runs.count - self._fit_runs, behind),
        ]

    def _compared(self, design: Design) -> tuple[list[ComparedTime], list[ComparedTime]]:
        """Compare the times of both parts of the program with those of a design."""
        path, clock_hz = self._trace.path, self._chip.clock_hz
        first = str(self._runs.first(self._fit_runs).bytes_read)
        if self._has_homes:
            # The homes that the fitted prices train serve both parts.
            if self._take(design, self._runs.first(self._fit_runs)):
                self._parts = self._measure().parts
            before, behind = (
                compared_times([row], [part], clock_hz)
                for row, part in zip(self._store.rows, self._parts, strict=True)
            )
            return before, behind
        warm = Trace.open(path, first).info.warm_up
        whole = _engine.simulate(path, [design])[0]
        rest = _engine.simulate(path, [design], warm_up=warm)[0]
        behind = compared_times([rest], self._parts[1:], clock_hz)
        everything = compared_times([whole], self._parts, clock_hz)
        before = [
            ComparedTime(
                each.name,
                each.simulated_ns - other.simulated_ns,
                each.device_ns - other.device_ns,
            )
            for each, other in zip(everything, behind, strict=True)
        ]
        return before, behind
