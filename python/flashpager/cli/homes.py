"""``flashpager homes``: a store in which every cache page has a flash page of its own."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, StoredPart, TrainedHomes
from flashpager.base.axes import AXES, flag_of
from flashpager.base.files import appearing_whole
from flashpager.base.interrupts import stoppable
from flashpager.base.quantities import counted, duration, format_size, percent, significant
from flashpager.choose import homes as choose
from flashpager.choose import waterfall as waterfalls
from flashpager.choose.layout import write_order
from flashpager.cli import options
from flashpager.cli.console import counting, note, out, print_json, say_uncounted
from flashpager.cli.searching import check_files
from flashpager.cli.verify import Image
from flashpager.cli.waterfall import found_waterfall, show
from flashpager.deploy.image import read_image
from flashpager.judge.homes import HomesGain, describe, overfit_warning, times_as_fast
from flashpager.judge.uncounted import uncounted
from flashpager.record.trace import Trace
from flashpager.space.setting import cache, medium


@dataclass(frozen=True, kw_only=True)
class HomesFlags:
    """Options of the command, as typed, except those of designs."""

    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="File for the flash image."),
    ] = None
    image: Image = None
    train: options.Train = None
    weights: Annotated[
        str | None,
        typer.Option("--weights", metavar="LIST", help="Whole weight of each trace, as 3,1."),
    ] = None
    train_classes: Annotated[
        Path | None,
        typer.Option(
            "--train-classes",
            metavar="FILE",
            help="Train reuse classes for lru-array or gclock, too, and write them to FILE.",
        ),
    ] = None
    search_order: Annotated[
        Path | None,
        typer.Option(
            "--search-order",
            metavar="FILE",
            help="Order the methods of a Java program for fewest misses first, and write the order "
            "to FILE if its homes are faster.",
        ),
    ] = None
    evaluations: Annotated[
        int | None,
        typer.Option(
            "--evaluations",
            metavar="N",
            min=1,
            help="With --search-order or --waterfall: try about N orders.",
            show_default=f"{choose.EVALUATIONS}, or {waterfalls.EVALUATIONS}",
        ),
    ] = None

    waterfall: Annotated[
        bool,
        typer.Option(
            "--waterfall",
            help="Show the steps from the design of CARDIS 2010 to the best one instead, in as "
            "much RAM as --cache, and what each brings.",
        ),
    ] = False

    with_classes: Annotated[
        bool,
        typer.Option(
            "--with-classes",
            help="With --waterfall: train reuse classes as the last step, which takes minutes.",
        ),
    ] = False

    def check(self, traces: Sequence[Path]) -> None:
        """Refuse files that are written and read, and options that exclude each other."""
        if self.waterfall:
            self._check_waterfall(traces)
            return
        if self.with_classes:
            message = "--with-classes: add --waterfall; --train-classes FILE trains those of homes"
            raise FlashpagerError(message)
        written = [path for path in (self.output, self.train_classes, self.search_order) if path]
        read = [*traces, *([self.image] if self.image else [])]
        check_files(written, read, plot=None)
        if self.output is not None and self.image is None:
            message = (
                f"-o {self.output}: the store holds the program's bytes; give them with --image"
            )
            raise FlashpagerError(message)
        if self.evaluations is not None and self.search_order is None:
            message = (
                "--evaluations: only a search of orders tries some; add --search-order or "
                "--waterfall"
            )
            raise FlashpagerError(message)
        if self.output is not None and self.search_order is not None:
            message = (
                f"-o {self.output}: the image of another order is not known; record the program "
                "in the order that --search-order writes, and take that trace and its image"
            )
            raise FlashpagerError(message)

    def _check_waterfall(self, traces: Sequence[Path]) -> None:
        """Refuse what a waterfall chooses itself, or does not write."""
        given = {
            "-o": self.output,
            "--image": self.image,
            "--weights": self.weights,
            "--train-classes": self.train_classes,
            "--search-order": self.search_order,
        }
        refused = next((name for name, value in given.items() if value is not None), None)
        if refused is not None:
            message = f"{refused}: a waterfall writes nothing and has one trace; leave it out"
            raise FlashpagerError(message)
        if len(traces) > 1:
            message = "--waterfall: takes one trace"
            raise FlashpagerError(message)

    def trained(
        self, traces: Sequence[Path], design: Design
    ) -> tuple[TrainedHomes, choose.OrderedHomes | None]:
        """Train homes, of a searched order if one was asked for."""
        weights = _weights(self.weights, len(traces))
        has_classes = self.train_classes is not None

        def train(paths: Sequence[Path]) -> TrainedHomes:
            weighted = list(zip(paths, weights, strict=True))
            with _progress_of_classes(shown=has_classes) as progress:
                return _engine.train_homes(
                    weighted, design, self.train, trains_classes=has_classes, progress=progress
                )

        if self.search_order is None:
            return train(traces), None
        training = [Trace.open(trace, self.train or "none") for trace in traces]
        order = _search(training, weights, design, self.evaluations)
        ordered = choose.homes_of_orders(training, weights, order, train)
        if ordered.is_searched_faster:
            write_order(self.search_order, order)
        else:
            note(f"{self.search_order}: not written, as the recorded order is faster")
        return ordered.best, ordered


@options.takes(HomesFlags)
@options.takes_designs()
def homes(
    traces: options.TracesOfProgram,
    *,
    design_flags: options.DesignFlags,
    flags: HomesFlags,
    json: options.Json = False,
) -> None:
    """Give every cache page a flash page of its own, filled with the pages that miss next.

    One load then serves many misses. The program is not linked again, and its misses stay the
    same. The plain store is kept where it is as fast. With --train the homes are trained on the
    first runs of each trace, and the rest shows what they gain on runs they never saw.

    With --train-classes each page also gets two classes, which tell the policy what a fill and a
    use of the page are worth. simulate and explore take the file with --classes.

    With --search-order the methods of a Java program are ordered first, so that they miss least,
    and the homes are those of this order, or of the recorded one where that is faster on the runs
    that train. Ctrl-C ends the search of orders and takes the best so far.

    With --waterfall the best design of each step is found on the first runs, those of --train or
    70 %, and measured on the rest: page and register, policy, order of the code, homes, classes.

    -o writes the flash image of the store. Its bytes are those of --image: the program's flash
    image, or the recorded ELF file.
    """
    flags.check(traces)
    opened = [Trace.open(trace, "none") for trace in traces]
    design_flags = design_flags.executing(opened[0].info)
    if flags.waterfall:
        _show_waterfall(traces[0], design_flags, flags, json=json)
        return
    if design_flags.axes.get("store", "homes") != "homes":
        message = "--store: homes makes a store of homes; 'flashpager simulate' takes others"
        raise FlashpagerError(message)
    design = design_flags.one_design("homes takes one design; 'flashpager explore' takes lists")
    design = design.replace(store="homes")
    if flags.search_order is not None and design.classes is not None:
        message = "--classes: the classes are of the recorded order; leave out --search-order"
        raise FlashpagerError(message)
    data = read_image(flags.image, opened[0].info) if flags.image else None
    try:
        trained, ordered = flags.trained(traces, design)
    except KeyboardInterrupt:
        note("no homes were trained yet, so nothing is written")
        raise
    if flags.train_classes is not None:
        _write_classes(trained, flags.train_classes)
    if flags.output is not None and data is not None:
        with appearing_whole(flags.output) as path:
            path.write_bytes(trained.flash_image(data))
        pages = counted(trained.summary.flash_pages, "flash page")
        note(f"{flags.output}: {pages} of {format_size(trained.parts[0].plain.flash_page_bytes)}")
    if json:
        answer = _as_json(opened, trained) | {"said": design_flags.sources(design)}
        print_json(answer | (_order_as_json(ordered) if ordered else {}))
        return
    _show(opened, trained, design_flags.origins(design), ordered)
    say_uncounted(uncounted([one.info for one in opened], trained.parts[0].plain.design))


def _show_waterfall(
    trace: Path, design_flags: options.DesignFlags, flags: HomesFlags, *, json: bool
) -> None:
    """Find the steps from the paper's design to the best one, and print them."""
    chosen = next((name for name in waterfalls.CHOSEN if name in design_flags.axes), None)
    if chosen is not None:
        message = (
            f"{flag_of(AXES[chosen])}: a waterfall chooses the {AXES[chosen].title} itself; "
            "leave it out"
        )
        raise FlashpagerError(message)
    design = design_flags.one_design("a waterfall takes one part and one RAM")
    found = found_waterfall(
        trace,
        design,
        train=flags.train,
        evaluations=flags.evaluations,
        trains_classes=flags.with_classes,
    )
    if json:
        head = {"version": _engine.version(), "trace": found.trace.described()}
        print_json(head | found.as_dict() | {"said": design_flags.sources(design)})
        return
    out.print(escape(f"{design.part}, {format_size(design.cache_bytes)} of RAM with all tables"))
    show(found)
    say_uncounted(uncounted([found.trace.info], found.best.design))


@contextmanager
def _progress_of_classes(*, shown: bool) -> Iterator[Callable[[int, int, int], object] | None]:
    """Show the progress of the training of classes while the block runs, if there is one.

    The number of passes is not known before the last one, so no time left is shown.
    """
    if not shown:
        yield None
        return
    with counting("training classes") as report:

        def progress(passes: int, done: int, pages: int) -> None:
            report(0, 0, f"pass {passes + 1}: {done:,} of {counted(pages, 'page')}")

        yield progress


def _search(
    traces: Sequence[Trace], weights: Sequence[int], design: Design, evaluations: int | None
) -> list[str]:
    """Search an order, with a bar, until it is found or Ctrl-C ends the search."""
    with stoppable() as should_continue, counting("search") as show:

        def progress(page: int, ratio: float, share: float) -> None:
            del page
            show(share, 1, f"{percent(ratio, 1)} of the time before so far" if ratio else "")

        return choose.order_for_homes(
            traces,
            weights,
            design,
            evaluations=choose.EVALUATIONS if evaluations is None else evaluations,
            progress=progress,
            should_continue=should_continue,
        )


def _order_as_json(ordered: choose.OrderedHomes) -> dict[str, Any]:
    """Return the search of an order as ``--json`` prints it."""
    return {
        "order": {
            "kept": "searched" if ordered.is_searched_faster else "recorded",
            "recorded_ns": ordered.trained_ns(ordered.recorded),
            "searched_ns": ordered.trained_ns(ordered.searched),
            "names": ordered.order,
        }
    }


def _line_of_order(ordered: choose.OrderedHomes) -> str:
    """Return the line about a searched order."""
    before, after = (
        duration(ordered.trained_ns(homes)) for homes in (ordered.recorded, ordered.searched)
    )
    kept = "it is kept" if ordered.is_searched_faster else "the recorded order is kept"
    return f"order: {after} on the runs that train, {before} in the recorded order; {kept}"


def _weights(text: str | None, traces: int) -> list[int]:
    """Return the weight of each trace.

    Raises:
        FlashpagerError: if they are no whole numbers above 0, one for each trace.

    """
    if text is None:
        return [1] * traces
    words = [word.strip() for word in text.split(",")]
    if len(words) != traces or not all(
        word.isdecimal() and 0 < int(word) < 2**32 for word in words
    ):
        message = f"--weights {text}: give a whole number above 0 for each trace, as 3,1"
        raise FlashpagerError(message)
    return [int(word) for word in words]


def _gain(part: StoredPart) -> float:
    """Return how many times as fast as the plain store the homes are."""
    return times_as_fast(part.plain.time.time_ns, part.homes.time.time_ns)


def _overfits(traces: Sequence[Trace], trained: TrainedHomes) -> list[str]:
    """Return a warning for each trace whose held-out part gains much less than the other."""
    warnings = []
    for part in trained.parts:
        if not part.is_held_out:
            continue
        of_training = next(
            one for one in trained.parts if one.trace == part.trace and not one.is_held_out
        )
        warning = overfit_warning(HomesGain(_gain(of_training), _gain(part)))
        if warning is not None:
            warnings.append(f"{traces[part.trace].name}: {warning}")
    return [*warnings, *_overfit_of_classes(trained)]


def _as_json(traces: Sequence[Trace], trained: TrainedHomes) -> dict[str, Any]:
    """Return the training as ``--json`` prints it."""

    def of_row(row: _engine.Row) -> dict[str, Any]:
        return {
            "time_ns": row.time.time_ns,
            "nor_ratio": row.nor.nor_ratio if row.nor else None,
            "counts": row.counts.as_dict(),
        }

    summary = trained.summary
    return {
        "version": _engine.version(),
        "traces": [trace.described() for trace in traces],
        "design": trained.parts[0].plain.design.as_dict(),
        "homes": {
            "flash_pages": summary.flash_pages,
            "slots": summary.slots,
            "header_bytes": summary.header_bytes,
            "most_skipped": summary.most_skipped,
            "kept": summary.kept,
            "trained_bytes": summary.trained_bytes,
        },
        "parts": [
            {
                "trace": traces[part.trace].name,
                "is_held_out": part.is_held_out,
                "plain": of_row(part.plain),
                "homes": of_row(part.homes),
            }
            | ({"without_classes": of_row(part.without_classes)} if part.without_classes else {})
            for part in trained.parts
        ],
        "overfit": _overfits(traces, trained),
        "slots": trained.slots,
    } | ({"classes": trained.classes} if trained.classes else {})


def _write_classes(trained: TrainedHomes, output: Path) -> None:
    """Write the trained classes, or note that there are none to write."""
    if trained.classes is None:
        note(f"{output}: not written, as classes save no time on the runs that trained them")
        return
    with appearing_whole(output) as path:
        path.write_text(trained.classes_file(), encoding="utf-8")


def _gains_of_classes(trained: TrainedHomes) -> HomesGain | None:
    """Return the time of homes without classes as a multiple of that with them."""

    def gain(*, is_held_out: bool) -> float | None:
        parts = [part for part in trained.parts if part.is_held_out == is_held_out]
        before = sum(part.without_classes.time.time_ns for part in parts if part.without_classes)
        after = sum(part.homes.time.time_ns for part in parts)
        return times_as_fast(before, after) if parts and before else None

    in_training = gain(is_held_out=False)
    return None if in_training is None else HomesGain(in_training, gain(is_held_out=True))


def _lines_of_classes(trained: TrainedHomes) -> list[str]:
    """Return the line about trained classes; none without them."""
    gain = _gains_of_classes(trained)
    if gain is None:
        return []
    places = [(gain.trained, "in training"), (gain.held_out, "held out")]
    times = [f"{significant(times, 4)} times {place}" for times, place in places if times]
    return [f"classes: as fast as homes without them {', '.join(times)}"]


def _overfit_of_classes(trained: TrainedHomes) -> list[str]:
    """Return the warning of classes that gain little on runs they never saw."""
    gain = _gains_of_classes(trained)
    if gain is None or gain.held_out is None or not gain.is_overfit:
        return []
    warning = (
        f"the classes are an overfit: {significant(gain.trained, 4)} times as fast as homes "
        f"without them on the runs that trained them, {significant(gain.held_out, 4)} times on "
        "others; train on more runs, or leave them out"
    )
    return [warning]


def _show(
    traces: Sequence[Trace],
    trained: TrainedHomes,
    origins: str,
    ordered: choose.OrderedHomes | None,
) -> None:
    """Print the store and its gains."""
    row = trained.parts[0].homes
    ram = f", {counted(row.ram_bytes + trained.summary.header_bytes, 'byte')} of RAM in all"
    if row.metadata_bytes is None:
        ram = ""
    out.print(f"{medium(row.design, row.flash_page_bytes)}; {cache(row.design, row.frames)}{ram}")
    out.print(escape(origins))
    out.print(describe(trained.summary, row.design.cache_page_bytes))
    for line in [*_lines_of_classes(trained), *([_line_of_order(ordered)] if ordered else [])]:
        out.print(line)
    table = Table(box=None, pad_edge=False, header_style="dim")
    columns = ("trace", "part", "misses", "loads plain", "homes", "time plain", "homes", "faster")
    has_nor = row.nor is not None
    for name in (*columns, *(("of NOR plain", "homes") if has_nor else ())):
        table.add_column(name, justify="left" if name in ("trace", "part") else "right")
    for part in trained.parts:
        plain, with_homes = part.plain, part.homes
        cells = [
            escape(traces[part.trace].name),
            "held out" if part.is_held_out else "trained",
            f"{plain.counts.misses:,}",
            f"{plain.counts.loads:,}",
            f"{with_homes.counts.loads:,}",
            duration(plain.time.time_ns),
            duration(with_homes.time.time_ns),
            f"{significant(_gain(part), 3)} times",
        ]
        if plain.nor and with_homes.nor:
            cells += [percent(plain.nor.nor_ratio, 1), percent(with_homes.nor.nor_ratio, 1)]
        table.add_row(*cells)
    out.print(table)
    if not trained.summary.is_held_out:
        note("note: other runs may gain less; --train 70% holds out the rest of each trace")
    for warning in [*row.warnings, *_overfits(traces, trained)]:
        note(f"warning: {warning}")
