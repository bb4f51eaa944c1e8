"""Tests of tuning without a compiler: configurations, saved files, sentences of a report."""

import json
import random
import re
import shutil
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from flashpager._engine import FlashpagerError
from flashpager.cli.tune import sentences
from flashpager.tune import tuning
from flashpager.tune.choice import Choice, EditTimes, PredictedRun
from flashpager.tune.configuration import TuneConfiguration
from flashpager.tune.tree import BuildTree
from flashpager.tune.tuning import TuneReport, VerifiedRun
from flashpager.tune.workload import RecordedRun, check_same_output
from tests.conftest import fails
from tests.tuned_firmware import replaced, write_firmware

REFUSED = {
    "unknown table": ("[build]", "[made]", ["unknown field 'made'"]),
    "unknown field": ("elf =", "program =", ["[build]: unknown field 'program'"]),
    "no command": ('command = "make -s"\n', "", ["[build] command is missing"]),
    "no order": ('order = "order.ld"\n', "", ["[build] order is missing"]),
    "RAM without a file": ('pinned = "pinned.ld"\n', "", ["ram = 256 bytes", "[build] pinned"]),
    "no size": ('"256"', '"much"', ["[choose] ram", "'much'"]),
    "slots": ("evaluations = 400", "slots = 5000", ["[choose] slots = 5000: must be 1 to 4096"]),
    "evaluations": ("400", "-4", ["[choose] evaluations = -4", "a whole number above 0"]),
    "quote": ("reads = false", 'arguments = "it\'s"', ["[run] arguments", "no closing quotation"]),
    "no number": ("reads = false", "max_seconds = nan", ["[run] max_seconds = nan: must be"]),
    "no end": ("reads = false", "max_seconds = inf", ["[run] max_seconds = inf: must be"]),
    "too many": ("reads = false", "max_seconds = 10000001", ["max_seconds = 10000001: must be"]),
    "seconds": ("evaluations = 400", "seconds = inf", ["[choose] seconds = inf: must be"]),
    "reads": ("reads = false", 'reads = "no"', ["[run] reads = 'no'", "true nor false"]),
    "sections": ("reads = false", 'sections = ".text"', ["[run] sections", "list of texts"]),
    "board": ('board = "rp2040"\ncache_bytes = "1K"\n', "", ["[design] board is missing"]),
    "designs": ('"1K"', '"1K,2K"', ["[design] describes 2 designs"]),
    "pattern": (
        "[run]",
        '[verify]\nignore_output = ["("]\n[run]',
        ["ignore_output has no pattern"],
    ),
    "share": ("[run]", '[verify]\nmisses_within = "x"\n[run]', ["[verify] misses_within"]),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_configurations_that_are_refused(tmp_path: Path, fault: str) -> None:
    """A wrong field is named, with its file, and nothing is built."""
    configuration = write_firmware(tmp_path)
    old, new, words = REFUSED[fault]
    replaced(configuration, old, new)
    fails("tune", configuration, words=[str(configuration), *words])
    assert not (tmp_path / ".flashpager-tune").exists()


def test_a_missing_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file the message says how to make one."""
    monkeypatch.chdir(tmp_path)
    fails("tune", words=["flashpager.toml: no such file", "tune --init"])
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    fails("tune", "--init", "text", words=["text"])
    assert not (tmp_path / "flashpager.toml").exists()


def built(folder: Path) -> tuple[TuneConfiguration, BuildTree, list[str]]:
    """Return a configuration whose build copies files, its tree, and the lines that it says."""
    path = write_firmware(folder)
    replaced(path, '"make -s"', '"cp order.ld fw.elf; cp pinned.ld fw.map"')
    configuration = TuneConfiguration.read(path)
    notes: list[str] = []
    return configuration, BuildTree(configuration, notes.append), notes


def test_a_killed_call_is_undone_by_the_next(tmp_path: Path) -> None:
    """Files that a killed call left changed are restored, and those that it made are removed."""
    configuration, tree, _ = built(tmp_path)
    configuration.elf.write_text("old program", encoding="utf-8")
    configuration.order.write_text("old order", encoding="utf-8")
    with tree.locked():
        # The context is entered and not left before the next call, as if the process were killed.
        context = tree.restored_on_failure()
        context.__enter__()
        tree.build({"order": "new", "pinned": "new"}, "log")
        assert configuration.elf.read_text(encoding="utf-8") == "new"
    notes: list[str] = []
    later = BuildTree(configuration, notes.append)
    later.recover()
    assert len(notes) == 1
    assert "killed" in notes[0]
    assert configuration.elf.read_text(encoding="utf-8") == "old program"
    assert configuration.order.read_text(encoding="utf-8") == "old order"
    assert not (tmp_path / "pinned.ld").exists()
    assert not configuration.map_.exists()
    # The fragments are newer than the program, so that a build links it again.
    assert configuration.order.stat().st_mtime_ns >= configuration.elf.stat().st_mtime_ns
    later.recover()
    assert len(notes) == 1
    del context


def killed(configuration: TuneConfiguration, tree: BuildTree) -> AbstractContextManager[None]:
    """Build within a context that is not left, as if the process were killed."""
    with tree.locked():
        context = tree.restored_on_failure()
        context.__enter__()
        tree.build(dict.fromkeys(tree.fragments, "new"), "log")
    assert configuration.elf.read_text(encoding="utf-8") == "new"
    return context


def test_only_files_of_the_journal_are_restored(tmp_path: Path) -> None:
    """If the configuration names other files now, these files of the user stay as they are."""
    configuration, tree, _ = built(tmp_path)
    configuration.order.write_text("old order", encoding="utf-8")
    context = killed(configuration, tree)
    for field, old, new in (
        ("order", "order.ld", "mine.ld"),
        ("pinned", "pinned.ld", "hand.ld"),
        ("elf", "fw.elf", "my.elf"),
    ):
        replaced(configuration.path, f'{field} = "{old}"', f'{field} = "{new}"')
    names = ("mine.ld", "hand.ld", "my.elf")
    for name in names:
        (tmp_path / name).write_text(f"the user's {name}", encoding="utf-8")
    edited = TuneConfiguration.read(configuration.path)
    assert {edited.order.name, edited.elf.name} == {"mine.ld", "my.elf"}
    notes: list[str] = []
    BuildTree(edited, notes.append).recover()
    for name in names:
        assert (tmp_path / name).read_text(encoding="utf-8") == f"the user's {name}"
    assert configuration.order.read_text(encoding="utf-8") == "old order"
    assert not configuration.elf.exists()
    del context


def test_another_configuration_undoes_a_killed_call(tmp_path: Path) -> None:
    """Configurations of a folder keep recordings apart, and restore each other's files."""
    configuration, tree, _ = built(tmp_path)
    configuration.order.write_text("old order", encoding="utf-8")
    other = tmp_path / "other.toml"
    shutil.copy(configuration.path, other)
    replaced(other, 'pinned = "pinned.ld"', 'pinned = "hand.ld"')
    (tmp_path / "hand.ld").write_text("by hand", encoding="utf-8")
    context = killed(configuration, tree)
    notes: list[str] = []
    read = TuneConfiguration.read(other)
    assert read.work not in (configuration.work, read.shared_work)
    later = BuildTree(read, notes.append)
    with later.locked(), later.restored_on_failure():
        assert configuration.order.read_text(encoding="utf-8") == "old order"
        assert not (tmp_path / "pinned.ld").exists()
    assert (tmp_path / "hand.ld").read_text(encoding="utf-8") == "by hand"
    assert "killed" in notes[0]
    # The first configuration has nothing left to undo.
    BuildTree(configuration, notes.append).recover()
    assert len(notes) == 1
    with later.locked():
        fails("tune", configuration.path, words=["another 'flashpager tune' is at work here"])
    del context


def test_a_journal_without_paths_is_refused(tmp_path: Path) -> None:
    """A journal that does not name files restores none of them."""
    configuration, tree, _ = built(tmp_path)
    configuration.order.write_text("mine", encoding="utf-8")
    with tree.locked():
        pass
    (configuration.shared_work / "saved.json").write_text('["elf", "order"]', encoding="utf-8")
    with pytest.raises(FlashpagerError, match="does not say which files"):
        tree.recover()
    assert configuration.order.read_text(encoding="utf-8") == "mine"


def test_files_stay_on_success_and_return_on_interruption(tmp_path: Path) -> None:
    """A block that ends well keeps its files; Ctrl-C restores them."""
    configuration, tree, _ = built(tmp_path)
    with tree.locked(), tree.restored_on_failure():
        tree.build({"order": "one", "pinned": "p"}, "log")
    assert configuration.elf.read_text(encoding="utf-8") == "one"

    def interrupted() -> None:
        with tree.locked(), tree.restored_on_failure():
            tree.build({"order": "two", "pinned": "p"}, "log")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert configuration.elf.read_text(encoding="utf-8") == "one"
    assert configuration.order.read_text(encoding="utf-8") == "one"


def test_two_calls_at_once_are_refused(tmp_path: Path) -> None:
    """A second call for the same folder says that another one is at work."""
    configuration, tree, _ = built(tmp_path)
    with tree.locked():
        fails("tune", configuration.path, words=["another 'flashpager tune' is at work here"])


def test_a_step_depends_on_contents_of_files(tmp_path: Path) -> None:
    """A changed input, or a changed file that an argument names, is another run."""
    configuration, tree, notes = built(tmp_path)
    files = [tmp_path / name for name in ("input.bin", "a.bin", "b.bin", "card.img")]
    given = """reads = false
input = "input.bin"
arguments = "a.bin --table=b.bin word"
"""
    replaced(configuration.path, "reads = false\n", given)
    replaced(configuration.path, "-semihosting", "-semihosting -drive file=card.img,if=sd")
    configuration = TuneConfiguration.read(configuration.path)
    for path in (configuration.elf, *files):
        path.write_text("one", encoding="utf-8")
    assert set(configuration.run.files(tmp_path)) == set(files)
    steps = tuning._Tuning(configuration, tree, notes.append)  # noqa: SLF001

    def key() -> str:
        return steps._key([configuration.run], "part")  # noqa: SLF001

    for path in files:
        before = key()
        assert key() == before
        path.write_text("two", encoding="utf-8")
        assert key() != before


def test_outputs_are_compared_by_line(tmp_path: Path) -> None:
    """The first line that differs is named; patterns leave lines out."""

    def run(name: str, text: str) -> RecordedRun:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return RecordedRun(path, path, 1.0, is_limited=False)

    before, after = run("a", "one\ntime 7\nend\n"), run("b", "one\ntime 8\nend\n")
    check_same_output(before, after, [re.compile("^time")])
    with pytest.raises(FlashpagerError, match="from line 2 on: 'time 8' instead of 'time 7'"):
        check_same_output(before, after, [])
    with pytest.raises(FlashpagerError, match="from line 3 on: nothing instead of 'end'"):
        check_same_output(before, run("c", "one\ntime 7\n"), [])


def drawn(generator: random.Random) -> TuneReport:
    """Return a report with numbers drawn at random."""

    def times(commits: int) -> EditTimes:
        ordered = sorted(generator.uniform(1e6, 4e6) for _ in range(4))
        return EditTimes(commits, 48, *ordered)

    predicted = generator.randrange(1, 2000)
    recorded = max(0, predicted + generator.choice((0, 0, 1, 7, -5)))
    choice = Choice(
        pinned=["f"],
        ram_bytes=generator.randrange(4, 100),
        copied_before="main",
        slots=["g"],
        slack_bytes=32,
        units=2,
        image_bytes_before=1000,
        image_bytes_after=generator.randrange(900, 1200),
        texts={},
        run=PredictedRun(
            predicted * 2, predicted, generator.uniform(1e6, 4e6), generator.uniform(1e6, 4e6)
        ),
        held_out=None,
        untouched=times(1),
        tuned=[times(1), times(10)],
        notes=[],
    )
    verified = VerifiedRun(recorded, generator.choice((0, 3, 50)))
    return TuneReport(choice, verified if choice.is_gain else None, None)


def test_sentences_are_true() -> None:
    """Each number and comparison in the sentences is that of the report."""
    generator = random.Random(37)  # noqa: S311  (no secret)
    seen = set()
    for _ in range(400):
        report = drawn(generator)
        choice, text = report.choice, " ".join(sentences(report))
        if report.run is None:
            assert choice.tuned[0].p90_ns >= choice.untouched.p50_ns
            assert "Nothing is linked" in text
            seen.add("nothing")
            continue
        run_ratio, median_ratio, later_ratio = (
            float(ratio) for ratio in re.findall(r"([\d.]+) times", text)[:3]
        )
        run, untouched = choice.run, choice.untouched.p50_ns
        assert abs(run_ratio - run.before_ns / run.after_ns) <= 0.0051
        assert abs(median_ratio - untouched / run.after_ns) <= 0.0051
        assert abs(later_ratio - untouched / choice.tuned[1].p90_ns) <= 0.0051
        grown = choice.image_bytes_after + choice.ram_bytes - 1000
        assert ("grows by" in text) == (grown > 0)
        assert ("shrinks by" in text) == (grown < 0)
        assert grown == 0 or f"{abs(grown):,} byte" in text
        difference = report.run.misses - run.misses_after
        assert ("as predicted" in text) == (difference == 0)
        if difference:
            way = "more" if difference > 0 else "fewer"
            assert f"{abs(difference)} {way} than predicted" in text
        is_startup = 0 < difference <= report.run.startup_misses
        assert ("start-up code" in text) == is_startup
        seen |= {"startup"} if is_startup else {"equal"} if not difference else {"differs"}
    assert seen == {"nothing", "startup", "equal", "differs"}


def test_a_choice_is_kept_as_json() -> None:
    """A choice survives the file that an interrupted call reads again."""
    choice = drawn(random.Random(1)).choice  # noqa: S311  (no secret)
    assert Choice.from_dict(json.loads(json.dumps(choice.as_dict()))) == choice


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_quantiles_of_draws(share: float) -> None:
    """A share of the draws lies at or below a quantile, and the rest at or above it."""
    times = [float(time) for time in random.Random(2).sample(range(1000), 101)]  # noqa: S311
    drawn_times = EditTimes.drawn(1, times)
    at = {0.1: drawn_times.p10_ns, 0.5: drawn_times.p50_ns, 0.9: drawn_times.p90_ns}[share]
    assert sum(time <= at for time in times) >= share * len(times)
    assert sum(time >= at for time in times) >= (1 - share) * len(times)
    assert drawn_times.worst_ns == max(times)


@pytest.mark.parametrize(
    ("after", "is_limited", "is_same"),
    [
        ("one\ntwo\nthree\n", False, True),
        ("one\n", False, False),
        ("one\n", True, True),
        ("one\ntw", True, True),
        ("one\ntoo\n", True, False),
        ("another\n", True, False),
        ("", True, True),
    ],
)
def test_output_of_a_limited_run(
    after: str,
    is_limited: bool,  # noqa: FBT001
    is_same: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """Output of a run that a limit ends is compared up to its end; other output must be equal."""
    runs: list[RecordedRun] = []
    for name, text in (("before", "one\ntwo\nthree\n"), ("after", after)):
        output = tmp_path / name
        output.write_text(text, encoding="utf-8")
        runs.append(RecordedRun(tmp_path / "trace", output, 1.0, is_limited))
    if is_same:
        check_same_output(runs[0], runs[1], [])
    else:
        with pytest.raises(FlashpagerError, match="the output differs from line"):
            check_same_output(runs[0], runs[1], [])
