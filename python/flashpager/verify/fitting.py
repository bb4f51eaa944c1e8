"""Prices of a board, fitted to part of a program on an emulated device."""

from dataclasses import dataclass, replace
from pathlib import Path

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Handler, Host, Row
from flashpager.deploy.pager_design import PagerDesign
from flashpager.record.trace import Trace
from flashpager.verify.cycles import MeasuredPart, fit, fit_checks
from flashpager.verify.emulated import AuthenticatedFlash, ComparedCount, EmulatedDevice
from flashpager.verify.fitted_board import FittedBoard
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
        row: Row,
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
        self._row, self._pager, self._chip = row, pager, chip
        self._device, self._fit_runs = device, fit_runs
        self._deployed = deployed
        self._parts: list[MeasuredPart] = []

    def run(self) -> FittedPrices:
        """Run all runs on the device, and fit prices to its cycles."""
        verified = self._device.verify(
            self._pager,
            self._runs,
            self._image,
            self._row.counts,
            chip=self._chip,
            fit_runs=self._fit_runs,
            deployed=self._deployed,
        )
        self._parts = verified.parts
        first = self._runs.first(self._fit_runs)
        prices = fit(self._parts[0], first.bytes_read, self._chip.t_r, self._other(first))
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

    def _column_bus_ns(self, bus: str) -> float | None:
        """Return the time of a column change on a bus, without software, in ns."""
        design = self._row.design.replace(register="random-column", bus=bus, handler=Handler())
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

    def _other(self, first: DeviceRuns) -> list[MeasuredPart]:
        """Measure the operation that the design's register lacks: a column change, or a skip.

        A design that skips has no tags, as tags need a register with column changes.
        """
        is_random = self._pager.register == "random-column"
        register = "start-column" if is_random else "random-column"
        try:
            design = self._row.design.replace(register=register, tag_bytes=None).resolved()
            row = _engine.simulate(self._trace.path, [design])[0]
        except FlashpagerError:
            return []
        pager = replace(self._pager, register=register, tag_bytes=None, spare_bytes=0)
        chip = replace(self._chip, spare_bytes=0)
        return self._device.verify(pager, first, self._image, row.counts, chip=chip).parts

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
        first = self._runs.first(self._fit_runs)
        path = self._trace.path
        warm = Trace.open(path, str(first.bytes_read)).info.warm_up
        whole = _engine.simulate(path, [design])[0]
        rest = _engine.simulate(path, [design], warm_up=warm)[0]
        clock_hz = self._chip.clock_hz
        behind = compared_times(rest, self._parts[1:], clock_hz)
        everything = compared_times(whole, self._parts, clock_hz)
        before = [
            ComparedTime(
                each.name,
                each.simulated_ns - other.simulated_ns,
                each.device_ns - other.device_ns,
            )
            for each, other in zip(everything, behind, strict=True)
        ]
        return [
            FitErrors("fitted to", self._fit_runs, before),
            FitErrors("the rest", self._runs.count - self._fit_runs, behind),
        ]
