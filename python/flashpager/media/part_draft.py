"""A part made from a dump of the chip's own tables, and its TOML file."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

#: The clock at which each serial chip answers, in MHz: tables of chips state no other one.
ASSUMED_CLOCK_MHZ = 50
#: The start of a source that nobody has checked.
UNVERIFIED = "unverified"
#: Makers by the byte that a chip reports, from the first bank of JEDEC's codes.
_MAKERS = {
    0x01: "Infineon",
    0x0B: "XTX",
    0x1F: "Renesas",
    0x20: "Micron",
    0x2C: "Micron",
    0x34: "Infineon",
    0x46: "XMC",
    0x68: "Boya",
    0x85: "Puya",
    0x98: "Kioxia",
    0x9D: "ISSI",
    0xA1: "Fudan",
    0xBF: "Microchip",
    0xC2: "Macronix",
    0xC8: "GigaDevice",
    0xEC: "Samsung",
    0xEF: "Winbond",
}


@dataclass(frozen=True)
class SourcedNumber:
    """A number of a part, and the place where it was read."""

    value: float
    source: str


@dataclass(frozen=True)
class DraftMode:
    """A read mode: its name, the clocks between address and data, and the edges."""

    name: str
    dummy_clocks: SourcedNumber
    double_rate: bool = False
    #: The fastest clock of this mode in MHz; that of the part if None.
    clock_mhz: SourcedNumber | None = None


@dataclass
class PartDraft:
    """A part as far as a dump describes it.

    ``unknown`` has a text for each fact that the dump lacks.
    """

    name: str
    maker: str
    kind: str
    numbers: dict[str, SourcedNumber] = field(default_factory=dict)
    #: The place, codeword and bits of an error-correcting code, and their source.
    ecc: dict[str, str | int] | None = None
    #: The name of the interface's table.
    table: str = "spi"
    table_numbers: dict[str, SourcedNumber] = field(default_factory=dict)
    modes: list[DraftMode] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def take_clock(self, clock_mhz: float | None) -> None:
        """Take the fastest clock of a serial chip; without one, assume a clock and note it."""
        if clock_mhz is None:
            clock = SourcedNumber(ASSUMED_CLOCK_MHZ, f"{UNVERIFIED}: assumed; not in the dump")
            self.unknown.append(
                f"the fastest clock: {ASSUMED_CLOCK_MHZ} MHz are assumed; give --clock from the "
                "datasheet"
            )
        else:
            clock = SourcedNumber(clock_mhz, "given as --clock")
        self.table_numbers["clock_mhz"] = clock

    def to_toml(self) -> str:
        """Write the part as a file of the catalog's form."""
        lines = [
            f"name = {_text(self.name)}",
            f"maker = {_text(self.maker)}",
            f"kind = {_text(self.kind)}",
            *_numbers(self.numbers),
        ]
        if self.ecc:
            pairs = ", ".join(
                f"{key} = {_text(value) if isinstance(value, str) else value}"
                for key, value in self.ecc.items()
            )
            lines.append(f"ecc = {{ {pairs} }}")
        lines += ["", f"[{self.table}]", *_numbers(self.table_numbers)]
        for mode in self.modes:
            lines += ["", f"[[{self.table}.modes]]", f"name = {_text(mode.name)}"]
            lines += _numbers({"dummy_clocks": mode.dummy_clocks})
            if mode.clock_mhz:
                lines += _numbers({"clock_mhz": mode.clock_mhz})
            if mode.double_rate:
                lines.append("double_rate = true")
        return "\n".join(lines) + "\n"


def maker_name(code: int) -> str | None:
    """Return the maker with a JEDEC code; None if the code is not known here."""
    return _MAKERS.get(code)


def _numbers(numbers: Mapping[str, SourcedNumber]) -> list[str]:
    return [
        f"{key} = {{ value = {number.value:.12g}, source = {_text(number.source)} }}"
        for key, number in numbers.items()
    ]


def _text(text: str) -> str:
    """Write a string of TOML: a string of JSON in which DEL is escaped, too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
