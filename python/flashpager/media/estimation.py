"""How fast a flash medium is on a host, and who eats the time."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.files import read_toml, refuse_unknown
from flashpager.quantities import parse_sizes, split_list

HOST_FIELDS = ("peripheral", "memory", "processor", "driver", "dma", "layers")
DESIGN_FIELDS = (
    *("description", *(axis.name for axis in _engine.axes()), "nor", "ram", "handler"),
    *("count_commands", "icache", "tlb"),
)

#: What a loop does, as the engine takes it; in a board's ``[driver]``.
_LOOP = (
    "instructions",
    "bytes",
    "port_accesses",
    "memory_accesses",
    "other_device_accesses",
)
#: Where a board names the driver's code instead.
_CODE = ("object", "function", "port")
_LAYER = ("name", "read_kb_s", "write_kb_s", "read_share", "write_share")
_BYTES_PER_KB = 1000
#: A remedy below this helps nobody.
NOTABLE = 1.05


@dataclass(frozen=True)
class Driver:
    """The code of a driver: an object file, and the function whose loop moves the data."""

    object: Path
    function: str
    #: Address of the data port, where it cannot be told from the code.
    port: int | None = None


@dataclass(frozen=True)
class Host:
    """What lies between a medium's pins and the application; what is absent costs nothing.

    >>> Host(bus="120MHz/8-x8", memory={"bus": "100MHz/5-x32"}).bus
    '120MHz/8-x8'

    Attributes:
        bus: clock, cycles of an access and data lines, as ``120MHz/8-x8``; that of the part if
            None.
        peripheral: ``clock_mhz`` and ``divider`` (``integer``, ``even``, ``power-of-two``) of a
            port that makes the bus's clock.
        memory: ``bus`` and ``refresh_share`` of the RAM.
        processor: ``clock_mhz`` and ``cycles_per_instruction``.
        software: ``instructions``, ``bytes``, ``port_accesses``, ``memory_accesses`` and
            ``other_device_accesses`` of an iteration of the driver's loop.
        driver: code from which to count them instead.
        operation_ns: what the driver takes for an operation outside of its loop.
        dma: ``software_share``, what DMA leaves of the software's time; None without DMA.
        layers: ``name`` and ``read_kb_s``, ``write_kb_s`` (measured, 1000 bytes a second) or
            ``read_share``, ``write_share`` (of the driver's rate), from below.

    """

    bus: str | None = None
    peripheral: Mapping[str, Any] | None = None
    memory: Mapping[str, Any] | None = None
    processor: Mapping[str, Any] | None = None
    software: Mapping[str, Any] | None = None
    driver: Driver | None = None
    operation_ns: float = 0.0
    dma: Mapping[str, Any] | None = None
    layers: Sequence[Mapping[str, Any]] = field(default_factory=tuple)

    @classmethod
    def from_board(cls, path: str | PathLike[str]) -> tuple["Host", str | None]:
        """Read a host, and the name of its part, from a board file.

        Raises:
            FlashpagerError: for a file that cannot be read, and unknown fields.

        """
        place = Path(path)
        given = read_toml(place)
        refuse_unknown(given, sorted({*HOST_FIELDS, *DESIGN_FIELDS}), str(place))
        host: dict[str, Any] = {key: given[key] for key in HOST_FIELDS if key in given}
        for name in ("peripheral", "memory", "processor", "driver", "dma"):
            if name in host and not isinstance(host[name], Mapping):
                message = f"{place}: [{name}] must be a table"
                raise FlashpagerError(message)
        if "driver" in host:
            host |= _driver(host.pop("driver"), place)
        host["layers"] = _layers(host.get("layers", []), place)
        for name in ("part", "bus"):
            if name in given and not isinstance(given[name], str):
                message = f"{place}: {name} = {given[name]!r} is not text"
                raise FlashpagerError(message)
        found = cls(bus=given.get("bus"), **host)
        found.check(str(place))
        return found, given.get("part")

    def check(self, place: str) -> None:
        """Check every number, table by table.

        Raises:
            FlashpagerError: for the first that cannot be, with ``place`` and its table.

        """
        tables = {"software": "driver", "operation_ns": "driver"}
        for name, value in self.spec(writes=False, loop=None).items():
            try:
                _engine.check_host({name: value})
            except FlashpagerError as error:
                table = tables.get(name, name)
                message = f"{place}: {table if name == 'bus' else f'[{table}]'}: {error}"
                raise FlashpagerError(message) from None
        self.spec(writes=True, loop=None)

    def loop(self) -> dict[str, Any] | None:
        """Disassemble the driver and give its loop, if there is one.

        Raises:
            FlashpagerError: for a file that is no object, without the function, or without a loop.

        """
        if self.driver is None:
            return None
        return _engine.copy_loop(str(self.driver.object), self.driver.function, self.driver.port)

    def spec(self, *, writes: bool, loop: Mapping[str, Any] | None) -> dict[str, Any]:
        """Give the host as the engine takes it, for reading or writing."""
        direction = "write" if writes else "read"
        spec: dict[str, Any] = {
            "bus": self.bus,
            "peripheral": self.peripheral,
            "memory": self.memory,
            "processor": self.processor,
            "software": self.software,
            "operation_ns": self.operation_ns,
            "dma": self.dma,
            "layers": [],
        }
        if loop is not None:
            _check_direction(loop, direction)
            spec["software"] = _counted(loop)
        for layer in self.layers:
            rate, share = (layer.get(f"{direction}_{kind}") for kind in ("kb_s", "share"))
            if rate is None and share is None:
                continue
            measured = None if rate is None else rate * _BYTES_PER_KB
            spec["layers"].append({"name": layer["name"], "share": share, "bytes_per_s": measured})
        return spec


def _driver(table: Mapping[str, Any], place: Path) -> dict[str, Any]:
    refuse_unknown(table, (*_LOOP, "operation_ns", *_CODE), f"{place}: [driver]")
    software = {key: table[key] for key in _LOOP if key in table}
    found: dict[str, Any] = {}
    if "operation_ns" in table:
        found["operation_ns"] = table["operation_ns"]
    if "object" in table or "function" in table:
        if not all(isinstance(table.get(name), str) for name in ("object", "function")):
            message = f"{place}: [driver] needs both object and function, as text"
            raise FlashpagerError(message)
        if software:
            message = f"{place}: [driver] has code and counts ({min(software)}); give one of them"
            raise FlashpagerError(message)
        code = place.parent / table["object"]
        port = table.get("port")
        found["driver"] = Driver(code, table["function"], None if port is None else address(port))
    if software:
        found["software"] = software
    return found


def address(given: object) -> int:
    """Read the address of a data port, a number or text as ``0x40000000``.

    Raises:
        FlashpagerError: for what is none.

    """
    number = -1
    if isinstance(given, str):
        with suppress(ValueError):
            number = int(given, 0)
    elif isinstance(given, int) and not isinstance(given, bool):
        number = given
    if not 0 <= number < 1 << 64:
        message = f"'{given}' is no address: write it as 0x40000000"
        raise FlashpagerError(message)
    return number


def _layers(tables: object, place: Path) -> list[Mapping[str, Any]]:
    if not isinstance(tables, list) or not all(isinstance(each, Mapping) for each in tables):
        message = f"{place}: layers are written [[layers]]"
        raise FlashpagerError(message)
    for layer in tables:
        refuse_unknown(layer, _LAYER, f"{place}: [[layers]]")
        if not isinstance(layer.get("name"), str):
            message = f"{place}: a layer without a name"
            raise FlashpagerError(message)
        for key, number in layer.items():
            if key != "name" and (isinstance(number, bool) or not isinstance(number, int | float)):
                message = f"{place}: [[layers]] {key} = {number!r} is no number"
                raise FlashpagerError(message)
    return list(tables)


def _counted(loop: Mapping[str, Any]) -> dict[str, Any]:
    """Give a disassembled loop as the engine prices it."""
    # Constants beside the code come from the instruction memory, which is not priced.
    return {key: loop[key] for key in _LOOP}


def _check_direction(loop: Mapping[str, Any], direction: str) -> None:
    if loop["direction"] != direction:
        does, wanted = (
            ("reads from", "writes to") if direction == "write" else ("writes to", "reads from")
        )
        message = (
            f"the loop of {loop['function']} {does} the data port; the operation needs a function"
            f" that {wanted} it"
        )
        raise FlashpagerError(message)


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
    loop: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Estimate one operation of a part on a host.

    >>> estimate("MT29F8G08", operation="read")["stages"][0]["ns"]
    77982.0

    Args:
        part: a part of the catalog, or a TOML file.
        host: what lies between the part and the application.
        operation: as ``flashpager estimate --help`` lists them; the first that the part can do if
            None.
        size: bytes over the bus; a page with its spare, a cache line or a block if None.
        mode: how data comes over the bus, as ``1-1-4`` or ``burst``.
        waits: count t_WB and t_ADL, which the article leaves out.
        cache_page_bytes: for the energy of a page fault.
        page_bytes: what if the part's pages were so large.
        width_bits: what if part, bus and driver moved so many bits at once.
        loop: the driver's loop, where it was already counted by :meth:`Host.loop`.

    Returns:
        the ``verdict`` in words; ``name`` and ``kind`` of the part; ``operation`` (its ``steps``
        with ``ns`` and ``formula``), ``on_bus`` (the same on the host's bus), ``stages``
        (``kind``, ``name``, ``ns``, ``bytes_per_s``, ``measured``), ``longest_ns``, ``byte`` (ns
        of each byte), ``energy``, ``remedies`` (``change`` and ``speedup`` each), ``notes``,
        ``unverified``, ``loop`` (what the driver's code does), and the ``spec`` itself.

    Raises:
        FlashpagerError: for what cannot be, with the reason.

    """
    host = host or Host()
    if operation is None:
        operation = _engine.operations(part)[0][0]
    loop = loop or host.loop()
    spec = {
        "part": part,
        "operation": operation,
        "bytes": size,
        "mode": mode,
        "waits": waits,
        "cache_page_bytes": cache_page_bytes,
        "page_bytes": page_bytes,
        "width_bits": width_bits,
        "host": host.spec(writes="program" in operation, loop=loop),
    }
    named = _engine.find_part(part)
    found = {
        "part": part,
        "name": named["name"],
        "kind": named["kind"],
        "what": operation,
        "spec": spec,
        **_engine.estimate(spec),
        "loop": loop,
    }
    return {"verdict": verdict(found), **found}


def composed(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the stages below the layers: those that are composed of cycles and instructions."""
    return [stage for stage in found["stages"] if stage["kind"] != "layer"]


def blame(found: Mapping[str, Any]) -> dict[str, float]:
    """Give the time of an operation through the driver by who takes it, in ns."""
    steps = found["operation"]["steps"]
    of = {
        kind: sum(step["ns"] for step in steps if step["kind"] == kind)
        for kind in ("command", "wait", "busy", "transfer", "hidden")
    }
    stages = composed(found)
    below = stages[0]["ns"]
    # Of array and transfer at the same time the longer one is waited for.
    hides = of["transfer"] >= of["hidden"]
    shares = {
        "array": of["busy"] + (0.0 if hides else of["hidden"]),
        "commands": of["command"] + of["wait"],
        "transfer": of["transfer"] if hides else 0.0,
    }
    for stage in stages[1:]:
        shares[stage["kind"]] = stage["ns"] - below
        below = stage["ns"]
    return shares


def verdict(found: Mapping[str, Any]) -> str:
    """Name who eats the most time of an operation, and what would change that."""
    shares = blame(found)
    byte = found["byte"]
    if shares.get("bus") and byte["bus_ns"] >= NOTABLE * byte["part_ns"]:
        # A slower bus is all that data waits for.
        shares["bus"] += shares.pop("transfer")
    name, ns = max(shares.items(), key=lambda share: share[1])
    through = composed(found)[-1]
    says = f"{_culprit(name, found)} takes {100 * ns / through['ns']:.0f} % of the time"
    if name == "bus":
        says += f", {byte['bus_ns'] / byte['part_ns']:.1f}x what the part needs for a byte"
    words = [says]
    speedups = {remedy["change"]: remedy["speedup"] for remedy in found["remedies"]}
    useless = speedups.get("dma", NOTABLE) < NOTABLE and bool(found["bytes"])
    if useless:
        words.append("DMA would not help")
    helps = [remedy for remedy in found["remedies"] if remedy["speedup"] >= NOTABLE]
    # Of what helps alike, the easier.
    ease = list(_REMEDIES)
    helps.sort(key=lambda one: (-round(one["speedup"], 1), ease.index(one["change"])))
    gains = [(_REMEDIES[one["change"]](one), f"({one['speedup']:.1f}x)") for one in helps[:2]]
    if gains:
        (first, much), *rest = gains
        would = "would" if useless else "would help"
        words.append(" or ".join([f"{first} {would} {much}", *(" ".join(one) for one in rest)]))
    layers = [stage for stage in found["stages"] if stage["kind"] == "layer"]
    if layers:
        left = layers[-1]["bytes_per_s"] / through["bytes_per_s"]
        above = f"the layers above leave {100 * left:.0f} % of what the driver could do"
        if left > 1:
            above = f"what was measured above is {left:.1f}x what this driver could do"
        words.append(above)
    return "; ".join(words)


#: What could be changed, the easiest first; all that the engine's ``Change`` has.
_REMEDIES: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "dma": lambda _: "DMA",
    "mode": lambda one: f"mode {one['mode']}",
    "lines": lambda one: f"all {one['to']:g} data lines of the part",
    "bus": lambda _: "a bus as fast as the part",
    "cache-read": lambda _: "cache read, in a long sequential read,",
    "processor": lambda one: f"a processor of {one['to']:g} MHz",
    "memory": lambda _: "RAM that costs nothing",
    "wider": lambda one: f"a {one['to']:g}-bit part",
    "part-bus": lambda _: "a part whose bus is twice as fast",
    "array": lambda _: "an array twice as fast",
}


def _culprit(name: str, found: Mapping[str, Any]) -> str:
    match name:
        case "array":
            return "the card itself" if found["kind"] == "card" else "the array"
        case "commands":
            return "commanding the part"
        case "transfer":
            return "the part's own bus"
        case "bus":
            clock, _, rest = found["bus"].partition("MHz")
            cycles = rest.partition("-")[0].lstrip("/")
            return f"the {cycles}-cycle bus" if cycles else f"the bus of {float(clock):g} MHz"
        case "memory":
            return f"RAM on {found['spec']['host']['memory']['bus']}"
        case _:
            return "the driver"


_AXES = ("page", "width", "clock")


def read_axes(texts: Sequence[str]) -> dict[str, list[float]]:
    """Read what is to be swept: ``page=512,2K``, ``width=8,16``, ``clock=20,40``.

    Raises:
        FlashpagerError: for axes and values that are none.

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
    part: str,
    host: Host,
    axes: Mapping[str, Sequence[float]],
    **asked: Any,  # noqa: ANN401  (what estimate() takes)
) -> tuple[list[dict[str, Any]], list[str]]:
    """Estimate all combinations of page sizes, data lines and bus clocks.

    Args:
        part: as :func:`estimate` takes it.
        host: its bus's clock and data lines are what ``clock`` and ``width`` change.
        axes: values of ``page`` (bytes), ``width`` (bits) and ``clock`` (MHz).
        asked: what else :func:`estimate` takes.

    Returns:
        estimates, each with what it is ``at``; and why combinations were left out.

    Raises:
        FlashpagerError: if none can be, with the first reason.

    """
    # What was measured through a layer was measured of one part alone.
    shares = [{k: v for k, v in layer.items() if not k.endswith("kb_s")} for layer in host.layers]
    host = dataclasses.replace(host, layers=shares)
    loop = host.loop()
    found, left_out = [], []
    for values in itertools.product(*axes.values()):
        at = dict(zip(axes, values, strict=True))
        try:
            whole = {axis: _whole(axis, at[axis]) for axis in at if axis != "clock"}
            with_clock = _clocked(part, host, at["clock"]) if "clock" in at else host
            one = estimate(
                part,
                with_clock,
                page_bytes=whole.get("page"),
                width_bits=whole.get("width"),
                loop=loop,
                **asked,
            )
        except FlashpagerError as error:
            left_out.append(str(error))
            continue
        found.append({"at": {**at, **whole}, **one})
    if not found:
        raise FlashpagerError(left_out[0])
    return found, list(dict.fromkeys(left_out))


def _whole(axis: str, number: float) -> int:
    if not math.isfinite(number) or number != int(number) or not 0 < number < 1 << 32:
        message = f"--sweep {axis}: {number:g} is no whole number of {_UNITS[axis]}"
        raise FlashpagerError(message)
    return int(number)


_UNITS = {"page": "bytes", "width": "data lines"}


def _clocked(part: str, host: Host, clock_mhz: float) -> Host:
    """Give a host whose bus has another clock."""
    if host.bus is None:
        lines = _engine.find_part(part)["width_bits"]["value"]
        return dataclasses.replace(host, bus=f"{clock_mhz}MHz-x{lines}", peripheral=None)
    _, _, rest = host.bus.partition("MHz")
    return dataclasses.replace(host, bus=f"{clock_mhz}MHz{rest}", peripheral=None)
