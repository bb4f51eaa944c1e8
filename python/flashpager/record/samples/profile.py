"""A profile: samples of a program counter, as a reader returns them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


class SampleError(ValueError):
    """An error in the content of a file of samples; the message has no name of the file."""


@dataclass(frozen=True)
class RoundedSamples:
    """A number of samples of which a file has a rounded share."""

    least: int
    estimate: float
    most: int


@dataclass(frozen=True)
class SampleProfile:
    """Samples of a program counter."""

    #: Samples by the range of addresses from the first byte up to the end. A sample of one address
    #: has a range of one byte; a bin of a histogram may be longer.
    ranges: Mapping[tuple[int, int], int]
    #: Samples of a processor that slept.
    asleep: int = 0
    #: Samples by the name of the function, for files without addresses.
    named: Mapping[str, RoundedSamples] = field(default_factory=dict)
    #: Samples by the range of addresses, for files that round their numbers.
    rounded: Mapping[tuple[int, int], RoundedSamples] = field(default_factory=dict)
    #: Samples that the file counts and does not list; None if it lists all.
    unlisted: RoundedSamples | None = None
    #: All samples, where the file states their number.
    stated: int | None = None
    #: Samples a second; None if the file does not state it.
    rate_hz: float | None = None
    #: Sentences on what was left out or assumed.
    notes: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """All samples, those of a sleeping processor included."""
        if self.stated is not None:
            return self.stated
        rounded = [*self.named.values(), *self.rounded.values()]
        rounded += [self.unlisted] if self.unlisted else []
        counted = sum(self.ranges.values()) + self.asleep
        return counted + round(sum(one.estimate for one in rounded))


@dataclass(frozen=True)
class SampleFormat:
    """A format of samples."""

    #: The name that ``--format`` takes.
    name: str
    #: The format in words, as in ``samples of gprof's gmon.out``.
    title: str
    #: Returns True for the first bytes of such a file.
    recognises: Callable[[bytes], bool]
    #: Reads the content of a file.
    #:
    #: Raises:
    #:     SampleError: if it is damaged or has no samples.
    read: Callable[[bytes], SampleProfile]
