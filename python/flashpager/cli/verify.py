"""``flashpager verify``: compare the counts of an emulated device with the simulated ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Row
from flashpager.base.files import appearing_whole
from flashpager.base.quantities import counted, duration, format_size, parse_share, percent
from flashpager.cli import options
from flashpager.cli.console import EXIT_UNMET, counting, note, out, print_json, print_whole
from flashpager.cli.paged import verify_paged
from flashpager.deploy.authentication import (
    MACS,
    Authentication,
    authentication,
    check_version,
    short_tag_warning,
)
from flashpager.deploy.image import (
    FIRST_VERSION,
    ImageIdentity,
    image_of,
    pattern,
    read_flash,
    read_image,
)
from flashpager.deploy.pager_design import LOOKUPS, PagerDesign
from flashpager.deploy.store import SimulatedStore
from flashpager.record.trace import Trace, how_it_ended
from flashpager.verify import hardware_counters
from flashpager.verify.cycles import JOBS, MeasuredPart
from flashpager.verify.emulated import (
    DEVICES,
    AuthenticatedFlash,
    ComparedCount,
    EmulatedDevice,
    RefusedImageError,
    Verification,
)
from flashpager.verify.fitting import FIT_RUNS, PriceFitting, clock_of
from flashpager.verify.mmu_machine import MACHINES
from flashpager.verify.nand import NandChip
from flashpager.verify.runs import DeviceRuns
from flashpager.verify.timing import TOLERANCE, ComparedTime, compared_times, untimed
from flashpager.verify.user_counts import compare as counted_on_device

#: The difference that is accepted by default.
_WITHIN = "5%"

Lookup = Annotated[
    str,
    typer.Option(
        "--lookup",
        metavar="NAME",
        help=f"How the pager finds a frame: {' | '.join(LOOKUPS)}. It changes no count.",
    ),
]
Image = Annotated[
    Path | None,
    typer.Option(
        "--image",
        metavar="FILE",
        help="The image's bytes, in the order of the flash, or the recorded ELF file.",
    ),
]
Mac = Annotated[
    str | None,
    typer.Option("--mac", metavar="NAME", help=f"With --tag: its MAC, {' | '.join(MACS)}."),
]
Key = Annotated[
    Path | None,
    typer.Option("--key", metavar="HEXFILE", help="With --tag: the key, hexadecimal digits."),
]
ImageVersion = Annotated[
    int | None,
    typer.Option(
        "--image-version",
        metavar="N",
        help="With --tag or --header: the image's version, in its header and part of the tags.",
    ),
]


Header = Annotated[
    bool,
    typer.Option(
        "--header",
        help="A header in flash has the image's length, version and id; always so with --tag.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class VerifyFlags:
    """Options of the command, as typed, except those of the design."""

    lookup: Lookup = LOOKUPS[0]
    image: Image = None
    mac: Mac = None
    key: Key = None
    image_version: ImageVersion = None
    header: Header = False
    flash: Annotated[
        Path | None,
        typer.Option(
            "--flash", metavar="FILE", help="The content of flash instead: flash.bin of deploy."
        ),
    ] = None
    oldest: Annotated[
        int | None,
        typer.Option(
            "--oldest",
            metavar="N",
            help="With --tag: the device's rollback counter; by default the image's version.",
        ),
    ] = None
    device: Annotated[
        str,
        typer.Option(
            "--device",
            metavar="NAME",
            help=f"Device to run on: {' | '.join([*DEVICES, *MACHINES])}. By default the "
            f"board if it is a device, or {next(iter(DEVICES))}.",
        ),
    ] = ""
    program: Annotated[
        Path | None,
        typer.Option(
            "--program", metavar="FILE", help="The recorded program, for a machine with an MMU."
        ),
    ] = None
    counts: Annotated[
        Path | None,
        typer.Option(
            "--counts",
            metavar="FILE",
            help="Compare the counts of your own device instead: a file with lines of name and "
            "value.",
        ),
    ] = None
    counters: Annotated[
        Path | None,
        typer.Option(
            "--counters",
            metavar="FILE",
            help="Compare the counters of a board's cache instead: a file with lines of register "
            f"and value, of {', '.join(each.name for each in hardware_counters.REGISTERS)}.",
        ),
    ] = None
    within: Annotated[
        str | None,
        typer.Option(
            "--within",
            metavar="SHARE",
            help="With --counters: the difference that is accepted.",
            show_default=_WITHIN,
        ),
    ] = None
    with_times: Annotated[
        bool,
        typer.Option("--times", help="With versatilepb: also compare the time of each job."),
    ] = False
    fit: Annotated[
        Path | None,
        typer.Option(
            "--fit",
            metavar="FILE",
            help="Fit the board's prices to the device, and write a board with them.",
        ),
    ] = None
    train: options.Train = None
    fit_runs: Annotated[
        int,
        typer.Option(
            "--fit-runs", metavar="N", min=1, help="With --fit: number of first runs to fit to."
        ),
    ] = FIT_RUNS

    def device_name(self, board: str | None) -> str:
        """Return the device: the one given, or the board if it is a machine, or the default."""
        name = Path(board or "").stem
        default = name if name in MACHINES else next(iter(DEVICES))
        return self.device or default

    def check_microcontroller(self, device: str) -> None:
        """Refuse options of machines with an MMU for a microcontroller."""
        if self.with_times:
            message = (
                f"--times: {device} has no times of jobs; versatilepb has, as a board or a device"
            )
            raise FlashpagerError(message)
        if self.program:
            message = f"--program: {device} replays the trace; versatilepb runs a program"
            raise FlashpagerError(message)
        if device not in DEVICES:
            message = f"--device {device}: it is {', '.join([*DEVICES, *MACHINES])}"
            raise FlashpagerError(message)

    def check_plain_image(self, reason: str) -> None:
        """Refuse options of an image with a header where no such image is read."""
        given = {
            "--header": self.header or None,
            "--image-version": self.image_version,
            "--oldest": self.oldest,
        }
        for flag, value in given.items():
            if value is not None:
                message = f"{flag}: {reason}: leave it out"
                raise FlashpagerError(message)

    def check_version(self, *, has_tags: bool) -> None:
        """Refuse a version for the content of flash, whose header has one. Tags need it still."""
        if self.flash and self.image_version is not None and not has_tags:
            message = f"--image-version: the header in {self.flash} has the version: leave it out"
            raise FlashpagerError(message)

    def check_within(self) -> None:
        """Refuse a tolerance of counters without counters."""
        if self.within is not None and self.counters is None:
            message = "--within is the tolerance of --counters: give that, too"
            raise FlashpagerError(message)

    def check_train(self, board: str | None) -> None:
        """Refuse a training of homes where there are none, or another one is done."""
        if self.train is None:
            return
        reason = ""
        if self.counters:
            reason = "a cache in hardware has no homes"
        elif self.fit:
            reason = "--fit trains homes on the runs that it fits to: take --fit-runs"
        elif not self.counts and self.device_name(board) in MACHINES:
            reason = f"{self.device_name(board)} reads the plain store"
        if reason:
            message = f"--train {self.train}: {reason}"
            raise FlashpagerError(message)

    def check_no_run(self, option: str) -> None:
        """Refuse options of a run together with an option that runs no device."""
        if self.counts and self.counters:
            message = "--counts compares a pager in software, --counters a cache: give one"
            raise FlashpagerError(message)
        given = (self.device, self.program, self.image, self.mac, self.key, self.flash)
        if any(given):
            message = (
                f"{option}: leave out --device, --program, --image, --flash, --mac and --key: "
                "nothing runs"
            )
            raise FlashpagerError(message)
        self.check_plain_image(f"{option} runs no image")


@options.takes(VerifyFlags)
@options.takes_designs()
def verify(
    trace: options.Trace,
    *,
    design_flags: options.DesignFlags,
    flags: VerifyFlags,
    json: options.Json = False,
) -> None:
    """Run the pager on an emulated device, and compare its counts with those of simulate.

    The pager in C is compiled for the design and for a microcontroller that is emulated: a
    Cortex-M3 (LM3S6965) by QEMU, or an ATmega1284P by simavr. There it reads all bytes of the trace
    from an emulated flash chip that refuses illegal use.

    With versatilepb, an ARM926EJ-S with an MMU, the recorded program itself runs: its code comes in
    by page faults. Its output must be the same as without a pager. n800 has a OneNAND besides,
    which interrupts after a load; n800-polled polls it. With --times versatilepb runs it twice
    more, sequential and parallel, and compares the jobs of its faults with the board's prices, to 2
    %.

    With --counts nothing runs: the fp_pager_stat() of your own firmware is compared. With
    --counters nothing runs, either: the counters of a board's cache, read after the recorded
    stretch, are compared with the prediction.

    The ATmega1284P has a NAND chip on its pins, and a clock: its cycles are compared with the
    board's prices, to 1 %. --fit measures such prices on a part of the trace, and prints how well
    they predict the rest.

    With --store homes the device reads a store of homes, trained on the trace, or with --train on
    its first runs.

    With --tag the device checks the AES-CMAC tags, which deploy wrote to --flash, of all it
    fetches. It refuses altered or moved pages, and an image of an older version.

    The exit code is 1 if a count differs, or a time by more than that, or the device refuses the
    image.
    """
    flags.check_within()
    flags.check_train(design_flags.board)
    if flags.counters:
        flags.check_no_run("--counters")
        _compare_counters(trace, design_flags, flags, json=json)
        return
    if flags.counts:
        flags.check_no_run("--counts")
        _compare(trace, design_flags, flags.counts, flags.train, json=json)
        return
    device = flags.device_name(design_flags.board)
    if device in MACHINES:
        flags.check_plain_image(f"{device} has an MMU, and reads an image without a header")
        verify_paged(
            trace,
            design_flags,
            flags.program,
            device,
            times=flags.with_times,
            fit=flags.fit,
            json=json,
        )
        return
    _verify_microcontroller(trace, design_flags, flags, device, json=json)


def _verify_microcontroller(
    trace: Path, design_flags: options.DesignFlags, flags: VerifyFlags, device: str, *, json: bool
) -> None:
    """Compare the counts of an emulated microcontroller, or fit prices to it."""
    flags.check_microcontroller(device)
    setup = _setup(trace, design_flags, flags, device)
    if flags.fit:
        if flags.flash:
            message = "--fit: leave out --flash: other pages are measured, too"
            raise FlashpagerError(message)
        _fit(setup.fitting(flags.fit_runs), flags.fit, json=json)
        return
    try:
        verified = setup.run()
    except RefusedImageError as refused:
        _print_refusal(refused, setup.trace, setup.row, device, json=json)
        raise typer.Exit(EXIT_UNMET) from None
    times, untold = setup.times(verified)
    if json:
        print_json(_as_json(setup, verified, times, untold, flags))
    else:
        _print_setup(setup, design_flags)
        _print_answer(verified, times, setup.chip, untold)
        if not flags.image and not flags.flash:
            note(
                "note: the image is a pattern, since a trace does not hold its bytes; --image "
                "gives them"
            )
    if verified.differ or any(not each.is_within for each in times):
        raise typer.Exit(EXIT_UNMET)


@dataclass(frozen=True, kw_only=True)
class _Setup:
    """A trace and a design on an emulated microcontroller, ready to run."""

    trace: Trace
    #: The design as requested.
    design: Design
    #: The design's simulation, which the device is compared with.
    store: SimulatedStore
    pager: PagerDesign
    runs: DeviceRuns
    #: The image's bytes, and the content of flash if it was given.
    data: bytes
    flash: bytes | None
    authenticated: AuthenticatedFlash | None
    #: The version and id that the header has, if the content of flash was not given.
    identity: ImageIdentity
    name: str
    #: The NAND chip on the device's pins; None without one, with the reason why.
    chip: NandChip | None
    without_chip: str

    @property
    def row(self) -> Row:
        """The result of the simulation, or of its first part if homes were trained on that."""
        return self.store.row

    @property
    def device(self) -> EmulatedDevice:
        """The emulated device."""
        return DEVICES[self.name]

    def run(self) -> Verification:
        """Run the pager on the device.

        Raises:
            RefusedImageError: if the device refuses the content of flash.

        """
        return self.device.verify(
            self.pager,
            self.runs,
            self.data,
            self.store.counts,
            chip=self.chip,
            deployed=self.authenticated,
            flash=self.flash
            or self.store.flash(self.data, self.pager, self._secret, self.identity),
        )

    @property
    def _secret(self) -> Authentication | None:
        return self.authenticated.secret if self.authenticated else None

    def fitting(self, runs: int) -> PriceFitting:
        """Return the fitting of prices to this many first runs."""
        return PriceFitting(
            self.trace,
            self.runs,
            self.data,
            self.store,
            self.pager,
            _known(self.chip, self.without_chip),
            self.device,
            runs,
            self.authenticated,
        )

    def times(self, verified: Verification) -> tuple[list[ComparedTime], str]:
        """Return compared times; without them, the reason why."""
        if self.chip is None:
            return [], self.without_chip
        reason = untimed(self.row) or ""
        if reason:
            return [], reason
        return compared_times(self.store.rows, verified.parts, self.chip.clock_hz), ""


def _setup(
    trace: Path, design_flags: options.DesignFlags, flags: VerifyFlags, device: str
) -> _Setup:
    """Simulate the design, and read the inputs of the device."""
    design = design_flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    with counting("replays") as progress:
        store = SimulatedStore.of(trace, design, flags.train, progress)
    row = store.row
    pager = store.pager(opened.info.image_bytes, flags.lookup)
    if flags.header:
        pager = pager.with_header()
    secret = authentication(
        pager.tag_bytes, flags.mac, flags.key, flags.image_version, has_header=pager.has_header
    )
    if warning := short_tag_warning(pager.tag_bytes):
        note(warning)
    authenticated = _authenticated(secret, flags.oldest)
    flags.check_version(has_tags=secret is not None)
    flash = _flash(flags.flash, flags.image, pager)
    data = _data(flash, flags.image, opened, pager)
    if flash is not None and pager.homes and flash != store.flash(data, pager):
        message = (
            f"{flags.flash}: its homes are not those that this trace trains: take flash.bin that "
            "'flashpager deploy' writes of the same trace and design"
        )
        raise FlashpagerError(message)
    version = FIRST_VERSION if flags.image_version is None else flags.image_version
    runs = DeviceRuns.of(opened)
    chip, without_chip = _chip_of(DEVICES[device], row, pager, design_flags.board)
    return _Setup(
        trace=opened,
        design=design,
        store=store,
        pager=pager,
        runs=runs,
        data=data,
        flash=flash,
        authenticated=authenticated,
        identity=ImageIdentity.of(data, version),
        name=device,
        chip=chip,
        without_chip=without_chip,
    )


def _as_json(
    setup: _Setup,
    verified: Verification,
    times: list[ComparedTime],
    untold: str,
    flags: VerifyFlags,
) -> dict[str, object]:
    """Return the result as ``--json`` prints it."""
    return {
        "version": _engine.version(),
        "trace": setup.trace.described(),
        "design": setup.row.design.as_dict(),
        "lookup": flags.lookup,
        "device": setup.name,
        "image": str(flags.image) if flags.image else None,
        "flash": str(flags.flash) if flags.flash else None,
        "refused": None,
        "cycles": verified.cycles,
        "clock_hz": setup.chip.clock_hz if setup.chip else None,
        "equal": not verified.differ,
        "counts": _counts_as_json(verified.counts),
        "jobs": [_jobs_of(part) for part in verified.parts],
        "times": [_time_of(each) for each in times],
        "untimed": untold or None,
    }


def _counts_as_json(counts: Sequence[ComparedCount]) -> list[dict[str, object]]:
    return [
        {"count": each.name, "simulated": each.simulated, "device": each.device} for each in counts
    ]


def _print_setup(setup: _Setup, design_flags: options.DesignFlags) -> None:
    pager = setup.pager
    out.print(
        f"{escape(setup.trace.info.program or setup.trace.name)} on {setup.device.title}: "
        f"{counted(pager.frames, 'frame')} of {format_size(pager.page_bytes)}, "
        f"{escape(setup.row.design.policy)}, {pager.lookup}, register {pager.register} of "
        f"{format_size(pager.flash_page_bytes)}"
    )
    out.print(escape(design_flags.origins(setup.design)))


def _authenticated(secret: Authentication | None, oldest: int | None) -> AuthenticatedFlash | None:
    """Return the authentication of the device's flash; None for a design without tags."""
    if oldest is not None:
        check_version("--oldest", oldest)
        if secret is None:
            message = "--oldest: the design has no tags; give their bytes with --tag"
            raise FlashpagerError(message)
    if secret is None:
        return None
    return AuthenticatedFlash(secret, secret.image_version if oldest is None else oldest)


def _flash(flash: Path | None, image: Path | None, pager: PagerDesign) -> bytes | None:
    if flash is None:
        return None
    if image:
        message = "--flash has the image already: leave out --image"
        raise FlashpagerError(message)
    return read_flash(flash, pager)


def _data(flash: bytes | None, image: Path | None, opened: Trace, pager: PagerDesign) -> bytes:
    """Return the image's bytes: from the flash, from a file, or a pattern."""
    if flash is not None:
        return image_of(flash, pager)
    return read_image(image, opened.info) if image else pattern(opened.info)


def _print_refusal(
    refused: RefusedImageError, opened: Trace, row: Row, device: str, *, json: bool
) -> None:
    if not json:
        out.print(escape(str(refused)), soft_wrap=True)
        return
    print_json(
        {
            "version": _engine.version(),
            "trace": opened.described(),
            "design": row.design.as_dict(),
            "device": device,
            "equal": False,
            "refused": str(refused),
        }
    )


def _compare(
    trace: Path, flags: options.DesignFlags, path: Path, train: str | None, *, json: bool
) -> None:
    """Compare the counts of a device, read from a file."""
    design = flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    with counting("replays") as progress:
        store = SimulatedStore.of(trace, design, train, progress)
    row = store.row
    compared = counted_on_device(path, store.counts)
    differ = [each for each in compared if not each.is_equal]
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": opened.described(),
                "design": row.design.as_dict(),
                "file": str(path),
                "equal": not differ,
                "counts": _counts_as_json(compared),
            }
        )
    else:
        out.print(
            f"{escape(opened.info.program or opened.name)}: {counted(row.frames, 'frame')} of "
            f"{format_size(row.design.cache_page_bytes)}, {escape(row.design.policy)}, register "
            f"{row.design.register} of {format_size(row.flash_page_bytes)}; counts of {path}"
        )
        out.print(escape(flags.origins(design)))
        _print_table(compared)
        _print_end(compared, differ)
    if differ:
        raise typer.Exit(EXIT_UNMET)


def _compare_counters(
    trace: Path, design_flags: options.DesignFlags, flags: VerifyFlags, *, json: bool
) -> None:
    """Compare what a board's cache counted with the simulation."""
    path = cast("Path", flags.counters)
    within = options.parsed("--within", flags.within or _WITHIN, parse_share)
    design = design_flags.one_design("verify takes one design; 'flashpager explore' takes lists")
    opened = Trace.open(trace, "none")
    with counting("replays") as progress:
        row = _engine.simulate(trace, [design], progress)[0]
    compared = hardware_counters.compare(path, row)
    ending = opened.info.ending
    if not ending.is_complete:
        note(f"note: {how_it_ended(ending)}; the counters must be of exactly what the trace has")
    differ = [each for each in compared if abs(each.difference) > within]
    if json:
        print_json(
            {
                "version": _engine.version(),
                "trace": opened.described(),
                "design": row.design.as_dict(),
                "file": str(path),
                "within": within,
                "equal": not differ,
                "causes": hardware_counters.causes(differ, has_reads=opened.info.reads_recorded)
                if differ
                else [],
                "counters": [
                    {
                        "counter": each.name,
                        "simulated": each.simulated,
                        "board": each.board,
                        "difference": each.difference,
                    }
                    for each in compared
                ],
            }
        )
    else:
        out.print(escape(design_flags.origins(design)))
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column("counter", no_wrap=True)
        for title in ("simulated", "board"):
            table.add_column(title, justify="right", no_wrap=True)
        for each in compared:
            table.add_row(each.name, f"{each.simulated:,}", f"{each.board:,}")
        print_whole(table)
        for each in compared:
            out.print(escape(each.verdict(within)), soft_wrap=True)
    if differ:
        texts = hardware_counters.causes(differ, has_reads=opened.info.reads_recorded)
        note(f"note: possible causes: {'; '.join(texts)}")
        raise typer.Exit(EXIT_UNMET)


def _print_end(compared: list[ComparedCount], differ: list[ComparedCount]) -> None:
    if differ:
        out.print(f"{len(differ)} of {counted(len(compared), 'count')} differ")
    else:
        out.print(f"all {len(compared)} are equal")


def _chip_of(
    device: EmulatedDevice, row: Row, pager: PagerDesign, board: str | None
) -> tuple[NandChip | None, str]:
    """Return the chip on the device's pins, or the reason for having none."""
    if not device.compile_on_pins:
        return None, ""
    refusal = NandChip.refusal(row, pager)
    if refusal:
        return None, refusal
    return NandChip.of(row, pager, clock_of(board)), ""


def _known(chip: NandChip | None, refusal: str) -> NandChip:
    if chip is None:
        message = f"--fit: {refusal or 'this device has no clock'}; --device atmega1284p has one"
        raise FlashpagerError(message)
    return chip


def _print_answer(
    verified: Verification, times: list[ComparedTime], chip: NandChip | None, untold: str
) -> None:
    """Print counts and times."""
    compared, differ = verified.counts, verified.differ
    _print_table(compared)
    _print_end(compared, differ)
    if chip:
        out.print(f"\ncycles of {chip.clock_hz / 1e6:g} MHz:")
    for part in verified.parts:
        _print_jobs(part)
    if times:
        out.print()
        _print_times(times)
    if untold:
        note(f"note: time is not compared: {untold}")
    if verified.cycles is not None and chip is None:
        note(f"note: {verified.cycles:,} cycles in all, its emulated chip among them")


def _print_table(compared: list[ComparedCount]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("count", no_wrap=True)
    for title in ("simulated", "device", ""):
        table.add_column(title, justify="right", no_wrap=True)
    for each in compared:
        differs = "" if each.is_equal else "differs"
        table.add_row(each.name, f"{each.simulated:,}", f"{each.device:,}", differs)
    print_whole(table)


def _fit(fitting: PriceFitting, path: Path, *, json: bool) -> None:
    """Fit prices, write the board, and print how well they predict the other runs."""
    fitted = fitting.run()
    with appearing_whole(path) as whole:
        whole.write_text(fitted.text, encoding="utf-8")
    errors = fitting.errors(path)
    late = [each for part in errors for each in part.times if not each.is_within]
    if json:
        print_json(
            {
                "version": _engine.version(),
                "board": str(path),
                "equal": not fitted.differ,
                "jobs": [_jobs_of(part) for part in fitted.parts],
                "parts": [
                    {"runs": part.runs, "times": [_time_of(each) for each in part.times]}
                    for part in errors
                ],
            }
        )
    else:
        for part in fitted.parts:
            _print_jobs(part)
            out.print()
        for part_errors in errors:
            out.print(f"{part_errors.title}, {counted(part_errors.runs, 'run')}:")
            _print_times(part_errors.times)
        note(f"{path}: a board with these prices")
    if fitted.differ:
        _print_table(fitted.differ)
    if fitted.differ or late:
        raise typer.Exit(EXIT_UNMET)


def _jobs_of(part: MeasuredPart) -> dict[str, int]:
    jobs = {"references": part.hits + part.misses, "misses": part.misses, "read": part.read}
    return jobs | {name: getattr(part.cycles, name) for name in JOBS}


def _time_of(time: ComparedTime) -> dict[str, object]:
    return {
        "time": time.name,
        "simulated_ns": time.simulated_ns,
        "device_ns": time.device_ns,
        "error": time.error,
    }


#: The occasions of each job, and their number.
_EACH: dict[str, tuple[str, Callable[[MeasuredPart], int]]] = {
    "lookup": ("reference", lambda part: part.hits + part.misses),
    "fault": ("fault", lambda part: part.misses),
    "search": ("fault", lambda part: part.misses),
    "command": ("load", lambda part: part.total("loads")),
    "wait": ("load", lambda part: part.total("loads")),
    "column": ("column change", lambda part: part.total("column_changes")),
    "skip": ("byte skipped", lambda part: part.total("bytes_skipped")),
    "fetch": (
        "byte fetched",
        lambda part: part.total("bytes_fetched") - part.total("bytes_skipped"),
    ),
    "check": ("tag", lambda part: part.misses),
}


def _print_jobs(part: MeasuredPart) -> None:
    """Print the cycles of each job."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("job", no_wrap=True)
    for title in ("cycles", "share", "each", ""):
        table.add_column(title, justify="left" if not title else "right", no_wrap=True)
    paging = part.cycles.together
    for name, (noun, count) in _EACH.items():
        cycles, times = getattr(part.cycles, name), count(part)
        if cycles:
            each = f"{cycles / times:.1f}" if times else "-"
            table.add_row(name, f"{cycles:,}", percent(cycles / paging, 1), each, f"a {noun}")
    table.add_row("paging", f"{paging:,}", percent(1, 1), "", "")
    print_whole(table)


def _print_times(times: list[ComparedTime]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("time", no_wrap=True)
    for title in ("simulated", "device", "error", ""):
        table.add_column(title, justify="right", no_wrap=True)
    for each in times:
        late = "" if each.is_within else f"over {percent(TOLERANCE)}"
        simulated, device = duration(each.simulated_ns, 6), duration(each.device_ns, 6)
        table.add_row(each.name, simulated, device, f"{100 * each.error:+.3f} %", late)
    print_whole(table)
