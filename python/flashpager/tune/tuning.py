"""Tuning: build, record, choose, link, record again, verify."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from flashpager import _engine
from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole
from flashpager.base.quantities import counted, percent
from flashpager.record.trace import Trace
from flashpager.replay.simulation import simulate
from flashpager.tune.choice import Choice, PredictedRun, choose, veneers
from flashpager.tune.configuration import TuneConfiguration, Workload
from flashpager.tune.tree import BuildTree
from flashpager.tune.workload import RecordedRun, check_same_output, record_run

#: Veneers that a message names.
_LISTED = 3


@dataclass(frozen=True)
class VerifiedRun:
    """A run of the program linked anew, which ended as before and printed the same."""

    misses: int
    #: Misses of start-up code, which executes more than before if it copies functions to RAM.
    startup_misses: int


@dataclass(frozen=True)
class TuneReport:
    """What was chosen, and what the program linked so was recorded to do."""

    choice: Choice
    #: The new recordings of the run and of the held-out one; None if nothing was linked.
    run: VerifiedRun | None
    held_out: VerifiedRun | None

    @property
    def is_linked(self) -> bool:
        """True if the program is linked in the chosen way."""
        return self.run is not None

    def as_dict(self) -> dict[str, Any]:
        """Return plain dictionaries and lists."""
        return {"version": _engine.version(), "linked": self.is_linked, **asdict(self)}


def tune(configuration: TuneConfiguration, say: Callable[[str], None]) -> TuneReport:
    """Tune a program, and leave its build linked in the chosen way.

    On failure the fragments, the ELF file and its map are as they were. Steps that an earlier call
    finished for the same program are not repeated.

    Args:
        configuration: the configuration.
        say: prints one line about the step under way.

    Raises:
        FlashpagerError: if a step fails, or the new program does not do what was predicted.

    """
    tree = BuildTree(configuration, say)
    with tree.locked(), tree.restored_on_failure():
        report = _Tuning(configuration, tree, say).report()
        if not report.is_linked:
            tree.restore()
        with appearing_whole(configuration.work / "report.json") as path:
            path.write_text(json.dumps(report.as_dict(), indent=2), encoding="utf-8")
    return report


class _Tuning:
    """The steps of one call."""

    def __init__(
        self, configuration: TuneConfiguration, tree: BuildTree, say: Callable[[str], None]
    ) -> None:
        self._configuration = configuration
        self._tree = tree
        self._say = say

    def report(self) -> TuneReport:
        """Go through all steps."""
        configuration, tree = self._configuration, self._tree
        tree.build(tree.without_choice(), "build-before.log")
        tree.check_marks()
        run = self._before("run", configuration.run)
        held_out = (
            None
            if configuration.held_out is None
            else self._before("held-out", configuration.held_out)
        )
        choice = self._choice(run, held_out)
        if not choice.is_gain:
            return TuneReport(choice, None, None)
        tree.build(choice.texts, "build-after.log")
        self._check_link(choice)
        verified = self._verified(configuration.run, "run", run, choice, choice.run)
        kept_back = None
        if configuration.held_out is not None and held_out is not None and choice.held_out:
            kept_back = self._verified(
                configuration.held_out, "held-out", held_out, choice, choice.held_out
            )
        return TuneReport(choice, verified, kept_back)

    def _key(self, workloads: Sequence[Workload], *parts: object) -> str:
        """Return a digest of the program, of files that runs read, and of other parts of a step."""
        configuration = self._configuration
        known = hashlib.sha256(configuration.elf.read_bytes())
        for part in (_engine.version(), *workloads, *parts):
            known.update(repr(part).encode())
        for workload in workloads:
            for path in workload.files(configuration.folder):
                with path.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                known.update(repr((str(path), digest)).encode())
        return known.hexdigest()

    def _before(self, name: str, workload: Workload) -> RecordedRun:
        """Record the program as it was linked before, or return the earlier recording of it."""
        configuration = self._configuration
        key = self._key([workload], configuration.design.as_dict())
        kept = configuration.work / f"{name}-before.json"
        trace, output = (
            configuration.work / f"{name}-before{suffix}" for suffix in (".trace", ".output")
        )
        known = _read(kept)
        if known.get("key") == key and trace.is_file() and output.is_file():
            self._say(f"kept from an earlier call: {trace}")
            return RecordedRun(trace, output, known["seconds"], known["is_limited"])
        kept.unlink(missing_ok=True)
        self._say(f"recording: {configuration.elf}{'' if name == 'run' else ', held out'}")
        run = record_run(configuration, workload, f"{name}-before", self._say)
        _write(kept, {"key": key, "seconds": run.seconds, "is_limited": run.is_limited})
        return run

    def _choice(self, run: RecordedRun, held_out: RecordedRun | None) -> Choice:
        """Search, or return the choice of an earlier call for the same program."""
        configuration = self._configuration
        runs = (configuration.run, configuration.held_out)
        key = self._key(
            [run for run in runs if run is not None],
            configuration.held_out is None,
            configuration.design.as_dict(),
            (configuration.ram_bytes, configuration.slots_bytes),
            (configuration.seconds, configuration.evaluations),
            (configuration.always, configuration.never, configuration.copied_before),
        )
        kept = configuration.work / "choice.json"
        known = _read(kept)
        if known.get("key") == key:
            self._say(f"kept from an earlier call: {kept}")
            return Choice.from_dict(known["choice"])
        other = None if held_out is None else held_out.opened()
        # The recording names the program by its path from the folder in which it ran.
        with chdir(configuration.folder):
            choice = choose(configuration, run.opened(), other, self._say)
        _write(kept, {"key": key, "choice": choice.as_dict()})
        return choice

    def _check_link(self, choice: Choice) -> None:
        """Check that the linker obeyed the fragments.

        Raises:
            FlashpagerError: if a function lies elsewhere.

        """
        configuration = self._configuration
        elf, map_ = configuration.elf, configuration.map_
        order = choice.texts["order"]
        checked = _engine.check_link(elf, order, map_)
        slipped = _engine.check_slots(elf, order, map_)
        wrong = [each.name for each in checked.disobeyed] + [each.name for each in slipped]
        where = configuration.order
        if not wrong and configuration.pinned is not None and choice.pinned:
            pins = _engine.check_pinned(elf, choice.texts["pinned"], map_)
            wrong = [each.name for each in pins.unpinned]
            where = configuration.pinned
            if pins.stored_ahead and not wrong:
                message = (
                    f"{elf}: {pins.stored_ahead[0]} is stored right before the code, so functions "
                    "pinned there move the code; store it after the code, with AT > and a memory "
                    "region of its own"
                )
                raise FlashpagerError(message)
        if wrong:
            instead = f"; include {where.name} before all other lines that take code"
            message = (
                f"{elf}: {counted(len(wrong), 'unit')} of {where} do not lie there, {wrong[0]} "
                f"first{self._reason() or instead}"
            )
            raise FlashpagerError(message)

    def _verified(
        self,
        workload: Workload,
        name: str,
        before: RecordedRun,
        choice: Choice,
        predicted: PredictedRun,
    ) -> VerifiedRun:
        """Record the program linked anew, and check it.

        Raises:
            FlashpagerError: if it does not end as before, prints something else, or misses more or
                less often than predicted.

        """
        configuration = self._configuration
        self._say(f"recording again: {configuration.elf}{'' if name == 'run' else ', held out'}")
        after = record_run(configuration, workload, f"{name}-after", self._say, first=before)
        is_cut = workload.max_instructions is not None
        check_same_output(before, after, configuration.ignored, is_cut=is_cut)
        misses = simulate(after.opened(), configuration.design).counts.misses
        startup = self._startup_misses(after, choice, misses)
        difference = misses - predicted.misses_after
        is_startup = 0 <= difference <= startup
        if is_startup or abs(difference) <= configuration.misses_within * predicted.misses_after:
            return VerifiedRun(misses, startup)
        share = percent(abs(difference) / max(predicted.misses_after, 1), 2)
        message = (
            f"{configuration.elf}: {misses:,} misses recorded, and {predicted.misses_after:,} "
            f"predicted: {abs(difference):,} {'more' if difference > 0 else 'fewer'} ({share})"
            f"{self._reason()}; [verify] misses_within permits a difference"
        )
        raise FlashpagerError(message)

    def _startup_misses(self, after: RecordedRun, choice: Choice, misses: int) -> int:
        """Return the misses of start-up code that copies functions to RAM; 0 if none are copied."""
        function = choice.copied_before
        if not choice.pinned or not function:
            return 0
        later = simulate(Trace.open(after.trace, function), self._configuration.design)
        return misses - later.counts.misses

    def _reason(self) -> str:
        """Name what the link added for calls between flash and RAM, if it did."""
        inserted = veneers(self._configuration.elf)
        if not inserted:
            return ""
        named = ", ".join(inserted[:_LISTED]) + (" …" if len(inserted) > _LISTED else "")
        return (
            f"; the linker inserted {counted(len(inserted), 'veneer')} for calls between flash and "
            f"RAM ({named}): compile with -mlong-calls, or keep these functions in flash "
            "([choose] never)"
        )


def _read(path: Path) -> dict[str, Any]:
    """Return what a file of ours has; nothing if it is missing or damaged."""
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}


def _write(path: Path, value: dict[str, Any]) -> None:
    with appearing_whole(path) as temporary:
        temporary.write_text(json.dumps(value, indent=1), encoding="utf-8")
