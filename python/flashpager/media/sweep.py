"""Estimates over page sizes, data lines and bus clocks."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flashpager import _engine
from flashpager._engine import CopyLoop, Estimate, FlashpagerError, Host
from flashpager.base.quantities import parse_sizes, split_list

_AXES = ("page", "width", "clock")
_UNITS = {"page": "bytes", "width": "data lines"}


@dataclass(frozen=True)
class EstimateQuery:
    """An operation of a part to estimate, with the parameters of :func:`flashpager.estimate`."""

    operation: str | None = None
    mode: str | None = None
    size: int | None = None
    waits: bool = False
    cache_page_bytes: int | None = None
    #: A rate measured of the operation, in bytes a second, and the bytes of that transaction.
    measured: tuple[float, int | None] | None = None

    def of(
        self,
        part: str,
        host: Host,
        *,
        page_bytes: int | None = None,
        width_bits: int | None = None,
        loop: CopyLoop | None = None,
    ) -> Estimate:
        """Estimate the operation for a part on a host."""
        return _engine.estimate(
            part,
            host,
            operation=self.operation,
            size=self.size,
            mode=self.mode,
            waits=self.waits,
            cache_page_bytes=self.cache_page_bytes,
            page_bytes=page_bytes,
            width_bits=width_bits,
            loop=loop,
            measured=self.measured,
        )


@dataclass(frozen=True)
class SweepPoint:
    """An estimate, with its values of the swept axes."""

    at: Mapping[str, float]
    estimate: Estimate


def read_axes(texts: Sequence[str]) -> dict[str, list[float]]:
    """Read the swept axes with their values: ``page=512,2K``, ``width=8,16``, ``clock=20,40``.

    Raises:
        FlashpagerError: if an axis is unknown or a value is invalid.

    """
    axes: dict[str, list[float]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        if name not in _AXES or not split_list(values):
            message = f"--sweep {text}: write page=512,2K, width=8,16 or clock=20,40 (MHz)"
            raise FlashpagerError(message)
        if name in axes:
            message = f"--sweep {text}: {name} is there already; write all its values in one list"
            raise FlashpagerError(message)
        if name == "page":
            axes[name] = [float(size) for size in parse_sizes(values)]
            continue
        try:
            axes[name] = [float(value.removesuffix("MHz")) for value in split_list(values)]
            if not all(math.isfinite(number) and number > 0 for number in axes[name]):
                raise ValueError  # noqa: TRY301
        except ValueError:
            message = f"--sweep {text}: {values} is no list of numbers above 0"
            raise FlashpagerError(message) from None
    return axes


def sweep(
    part: str, host: Host, axes: Mapping[str, Sequence[float]], query: EstimateQuery
) -> tuple[list[SweepPoint], list[str]]:
    """Estimate all combinations of page sizes, data lines and bus clocks.

    Args:
        part: name or file of a part, as in :func:`flashpager.estimate`.
        host: the host. ``clock`` and ``width`` replace the clock and the data lines of its bus.
        axes: values of ``page`` (bytes), ``width`` (bits) and ``clock`` (MHz).
        query: the operation and its other parameters.

    Returns:
        The estimates with their values of the axes, and the reasons for combinations left out.

    Raises:
        FlashpagerError: if no combination is possible, with the first reason.

    """
    # Layers were measured with one part only.
    host = host.without_measurements()
    loop = host.loop()
    points, left_out = [], []
    for values in itertools.product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        try:
            whole = {axis: _whole(axis, at[axis]) for axis in at if axis != "clock"}
            clocked = host
            if "clock" in at:
                clocked = host.with_clock(_engine.find_part(part), at["clock"])
            estimate = query.of(
                part,
                clocked,
                page_bytes=whole.get("page"),
                width_bits=whole.get("width"),
                loop=loop,
            )
        except FlashpagerError as error:
            left_out.append(str(error))
            continue
        points.append(SweepPoint({**at, **whole}, estimate))
    if not points:
        raise FlashpagerError(left_out[0])
    return points, list(dict.fromkeys(left_out))


def _whole(axis: str, number: float) -> int:
    if not math.isfinite(number) or number != int(number) or not 0 < number < 1 << 32:
        message = f"--sweep {axis}: {number:g} is no whole number of {_UNITS[axis]}"
        raise FlashpagerError(message)
    return int(number)
