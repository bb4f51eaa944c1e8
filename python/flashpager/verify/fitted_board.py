"""A board with prices fitted to a device."""

import json
import subprocess
import textwrap
from dataclasses import dataclass

from flashpager._engine import Design
from flashpager.base.quantities import counted, format_size
from flashpager.verify.cycles import JobPrices
from flashpager.verify.emulated import AVR_COMPILER, AVR_RAM_BYTES

#: Digits of a time, in ns, behind the point.
_DIGITS = 2


def compiler_version() -> str:
    """Return the version line of the compiler that makes the firmware."""
    command = [AVR_COMPILER[0], "-dumpfullversion", "-dumpversion"]
    words = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return f"{AVR_COMPILER[0]} {words[0]}" if words else AVR_COMPILER[0]


def bus_of(clock_hz: int, byte_cycles: int) -> str:
    """Return the bus of a device whose strobe takes a number of cycles a byte."""
    return f"{clock_hz / 1e6:g}MHz/{byte_cycles}-x8"


@dataclass(frozen=True)
class FittedBoard:
    """The content of a board's file with fitted prices."""

    design: Design
    lookup: str
    clock_hz: int
    prices: JobPrices
    #: Time of a column change on the bus, as the engine composes it; None if the part has
    #: none.
    column_bus_ns: float | None
    trace: str
    runs: int

    @property
    def bus(self) -> str:
        """The bus: as many cycles a byte as its strobe takes."""
        return bus_of(self.clock_hz, self.prices.bus_byte)

    def text(self) -> str:
        """Return the file, a TOML text."""
        design, prices = self.design, self.prices
        compiler = " ".join([compiler_version(), *AVR_COMPILER[1:]])
        clock = f"{self.clock_hz / 1e6:g} MHz"
        sentences = (
            f"An ATmega1284P at {clock} with the NAND {design.part} on its pins, as nand_pins.h of "
            "runtime/pager/verify has them. Its prices are those of the pager in C, in cycles that "
            "simavr told. They were fitted by flashpager verify --fit to the first "
            f"{counted(self.runs, 'run')} of {self.trace}, with {design.policy}, the lookup "
            f"{self.lookup}, pages of {format_size(design.cache_page_bytes)} and "
            f"{design.register}, compiled by {compiler}. Another policy or lookup has other prices."
        )
        lines = [
            'description = """',
            *textwrap.wrap(sentences, 98),
            '"""',
            f"part = {json.dumps(design.part)}",
            'nor = "none" # an AVR with these pins has none',
            f"bus = {json.dumps(self.bus)} # a strobe of RE#, by nand_pins.c",
            f"cache_bytes = {design.cache_bytes}",
            f"cache_page_bytes = {design.cache_page_bytes}",
            f"register = {json.dumps(design.register)}",
            *([f"store = {json.dumps(design.store)}"] if design.store != "plain" else []),
            *([f"tag_bytes = {design.tag_bytes}"] if design.tag_bytes else []),
            f"policy = {json.dumps(design.policy)}",
            'schedule = "parallel" # the pager searches while the flash loads',
            f"ram_bytes = {json.dumps(format_size(AVR_RAM_BYTES))}",
            "",
            "[processor]",
            'core = "none" # the prices are those of an interpreter, which reads bytes from frames',
            f"clock_mhz = {self.clock_hz / 1e6:g}",
            "",
            "[ram]",
            self._time("t_read_ns", prices.read_byte, "fp_cursor_byte()"),
            self._time("t_write_ns", prices.store_byte, "looking at a byte and storing it"),
            "",
            "[handler]",
            self._time("lookup_ns", prices.lookup, f"fp_cursor_turn() that hits, {self.lookup}"),
            self._time("pre_process_ns", prices.fault, "all of a fault but what follows"),
            self._time("get_freeframe_ns", prices.search, "a search, whatever its walk"),
            self._time("walk_step_ns", prices.walk_step, f"a frame looked at, {design.policy}"),
            self._time("load_command_ns", prices.load_command, "fp_flash_load(), polling R/B#"),
        ]
        if prices.column_change is not None:
            beside = (self.column_bus_ns or 0.0) * self.clock_hz / 1e9
            own = max(0.0, prices.column_change - beside)
            source = f"fp_flash_column(): {prices.column_change:.1f} less {beside:.1f} of its bus"
            lines.append(self._time("column_command_ns", own, source))
        if prices.tag_check is not None and prices.mac_block is not None:
            lines.append(self._time("tag_check_ns", prices.tag_check, "a tag, but for its MAC"))
            lines.append(self._time("mac_block_ns", prices.mac_block, "AES-CMAC, each 16 bytes"))
        return "\n".join(lines) + "\n"

    def _time(self, name: str, cycles: float, source: str) -> str:
        ns = round(cycles * 1e9 / self.clock_hz, _DIGITS)
        return f"{name} = {ns:g} # {cycles:.1f} cycles: {source}"
