"""A published time of a whole host, and what the estimate predicts for it."""

from dataclasses import dataclass

from flashpager._engine import Estimate, Host, estimate

IN_PLACE = "in place"
NOR_LINUX = "serial NOR under Linux"
SPI_NAND = "SPI NAND under Linux"
RAW_NAND = "raw NAND"
MICROCONTROLLER = "microcontrollers"
CARD = "SD and eMMC"
#: The classes of measurements, in the order of the tables.
CLASSES = (IN_PLACE, NOR_LINUX, SPI_NAND, RAW_NAND, MICROCONTROLLER, CARD)


@dataclass(frozen=True)
class Observation:
    """A published time, with the published facts of its host."""

    #: The publication; predictions leave out one publication at a time.
    source: str
    what: str
    part: str
    host: Host
    #: Measured time of one operation.
    measured_us: float
    #: The host's name among the engine's, if something was fitted to this.
    name: str = ""
    operation: str = "read"
    mode: str | None = None
    size: int | None = None
    page_bytes: int | None = None
    #: The bus that the fit takes, where the source does not state it.
    fitted_on: str | None = None
    #: The class of the host, one of :data:`CLASSES`.
    kind: str = ""
    #: The source among the engine's that measured the same kind of host, if another did.
    without: str = ""

    @property
    def group(self) -> str:
        """The source that is left out with this one."""
        return self.without or self.source

    @property
    def data_bytes(self) -> int:
        """Bytes of data that one operation moves."""
        return self.size or self.page_bytes or 2048

    def kb_s(self, us: float) -> float:
        """Return the rate, in 1000 bytes a second, of operations that take ``us``."""
        return self.data_bytes * 1e3 / us

    def on(self, host: Host, *, without: str | None = None) -> Estimate:
        """Return the estimate for a host, as if the source ``without`` had not been published."""
        return estimate(
            self.part,
            host,
            operation=self.operation,
            mode=self.mode,
            size=self.size,
            page_bytes=self.page_bytes,
            without=without,
        )


@dataclass(frozen=True)
class LeftOutPrediction:
    """A measurement, and its prediction from the other sources."""

    observation: Observation
    #: The predicted range and its likely value.
    low_us: float
    likely_us: float
    high_us: float

    @property
    def error(self) -> float:
        """The rate predicted over that measured, less 1: promising too much is above 0."""
        return self.observation.measured_us / self.likely_us - 1

    @property
    def is_inside(self) -> bool:
        """True if the measurement lies in the range."""
        return self.low_us <= self.observation.measured_us <= self.high_us

    @property
    def width(self) -> float:
        """The ratio of the range's ends."""
        return self.high_us / self.low_us
