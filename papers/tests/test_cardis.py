"""The CARDIS paper: verdicts that follow the programs, replays beside single ones, pictures."""

import random
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checks import sound
from flashpager import _engine
from flashpager._engine import Design, FlashpagerError, Handler, Ram, TraceInfo
from flashpager_papers.cardis import claims as cardis
from flashpager_papers.cardis import judging
from flashpager_papers.cardis import replays as cardis_replays
from flashpager_papers.cardis.plots import pictures
from flashpager_papers.cardis.replays import LARGE, SMALL, CardDesign, ProgramScale, class_of
from flashpager_papers.claim import Claim, Verdict
from tests.conftest import ROOT, Finished, fails, flashpager

MICAZ = ROOT / "boards" / "micaz.toml"
#: Programs of that many KB, native and Java.
NATIVE = {"troff": 40, "madplay": 12}
JAVA = {"sensors": 7, "purse": 20}
FIGURES = tuple(f"figure-{name}" for name in ("4", "5a", "5b", "6a", "6b", "7", "8"))
Runs = list[tuple[int, int]]


def runs_of_a_program(name: str, kib: int) -> Runs:
    """Make runs that call methods here and there, some far more often than others."""
    dice = random.Random(name)  # noqa: S311
    methods = [dice.randrange((kib << 10) - 256) for _ in range(17 * kib)]
    runs = []
    for _ in range(4000):
        start = methods[min(int(dice.expovariate(1 / 25)), len(methods) - 1)]
        runs += [(start + 12 * step, dice.randrange(2, 24)) for step in range(dice.randrange(1, 6))]
    return runs


def write(folder: Path, name: str, runs: Iterable[tuple[int, int]], architecture: str = "") -> None:
    """Write a trace; without an architecture it looks like an imported one."""
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / f"{name}.csv"
    lines = (f"{offset},{length}\n" for offset, length in runs)
    text.write_text("offset,length\n" + "".join(lines), encoding="utf-8")
    origin = _engine.Origin(name, architecture=architecture)
    trace = folder / f"{name}.trace"
    recording = _engine.Recording(trace, _engine.Placement(), origin, live=False)
    ending, _ = recording.read_file(text, "csv", 4, None)
    recording.finish(ending)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make native and Java programs."""
    folder = tmp_path_factory.mktemp("cardis")
    for name, kib in NATIVE.items():
        write(folder, name, runs_of_a_program(name, kib), "arm")
    for name, kib in JAVA.items():
        write(folder / "java", name, runs_of_a_program(name, kib), "jvm")
    return folder


@pytest.fixture(scope="module")
def run(programs: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    """Run the command, with pictures."""
    plots = tmp_path_factory.mktemp("plots") / "new"
    done = flashpager("reproduce", "cardis", "--traces", programs, "--plots", plots, "--json")
    return done, plots


@pytest.fixture(scope="module")
def results(run: tuple[Finished, Path]) -> dict[str, Any]:
    """Return the JSON that the command printed."""
    json: dict[str, Any] = run[0].json
    return json


def reproduce(folder: Path) -> dict[str, Claim]:
    """Check a folder's programs; return the claims by their title: section and sentence."""
    results = cardis.reproduce(folder, lambda _finished, _all: None)
    return {f"{claim.where}: {claim.claim}": claim for claim in results.claims}


def only(claims: dict[str, Claim], words: str) -> Claim:
    """Return the only claim whose title contains ``words``."""
    (claim,) = [claim for title, claim in claims.items() if words in title]
    return claim


def row(results: dict[str, Any], trace: str, cell: CardDesign) -> dict[str, Any]:
    """Return the row of a cell."""
    (one,) = [
        replay
        for replay in results["replays"]
        if (
            replay["trace"],
            replay["cache_page_bytes"],
            replay["part"],
            replay["bus"],
            replay["cache_bytes"],
            replay["policy"],
            replay["register"],
        )
        == (trace, *cell)
    ]
    return dict(one)


def simulated(trace: Path, cell: CardDesign, lookup_ns: float = 0) -> dict[str, Any]:
    """Simulate one cell alone. The figures replay many cells together."""
    design = Design(
        part=cell.part,
        bus=cell.bus,
        clip_bus=True,
        nor=cardis_replays.NOR,
        cache_bytes=cell.cache,
        cache_page_bytes=cell.page,
        policy=cell.policy,
        register=cell.register,
        processor=None,
        ram=Ram(*2 * [cardis_replays.RAM_NS[cell.bus]]),
        handler=Handler(lookup_ns=lookup_ns),
    )
    return _engine.simulate(trace, [design])[0].as_dict()


def test_claims(results: dict[str, Any]) -> None:
    """Every claim has a kind, a rule, a verdict and a reason."""
    assert set(results) == {"version", "claims", "programs", "replays", "distances"}
    claims = results["claims"]
    assert len(claims) > 35
    sound(claims)
    assert {claim["verdict"] for claim in claims} >= {"holds", "does not hold", "no verdict"}


@pytest.mark.parametrize(
    ("trace", "cell"),
    [
        ("sensors", CardDesign(64)),
        ("sensors", CardDesign(16, policy="min")),
        ("purse", CardDesign(2048, LARGE)),
        ("sensors", CardDesign(64, LARGE, cache=4608)),
        ("sensors", CardDesign(64, cache=cardis_replays.LEFT_BYTES)),
        ("sensors", CardDesign(32, LARGE, register="random-column")),
        ("troff", CardDesign(512, SMALL, cache=16384, policy="min")),
    ],
)
def test_replays(programs: Path, results: dict[str, Any], trace: str, cell: CardDesign) -> None:
    """A row equals the simulation of its design alone."""
    folder = programs if trace in NATIVE else programs / "java"
    alone = simulated(folder / f"{trace}.trace", cell)
    ours = row(results, trace, cell)
    for name in ("misses", "loads", "forward", "bytes_skipped", "references"):
        assert ours[name] == alone["counts"][name]
    assert ours["time_ns"] == pytest.approx(alone["time"]["time_ns"])
    assert ours["bandwidth_mib_s"] == pytest.approx(alone["time"]["bandwidth_mib_s"])
    assert ours["nor_ratio"] == pytest.approx(alone["nor"]["nor_ratio"])


def test_replay_as_a_user(programs: Path, results: dict[str, Any]) -> None:
    """The simulate command gives the figures of the paper's cell."""
    alone = flashpager(
        *("simulate", programs / "java" / "sensors.trace", "--json"),
        *("--board", "smartcard", "--part", LARGE),
    ).json
    ours = row(results, "sensors", CardDesign(64, LARGE))
    assert ours["misses"] == alone["counts"]["misses"]
    assert ours["bandwidth_mib_s"] == pytest.approx(alone["time"]["bandwidth_mib_s"])


def test_distances(programs: Path, results: dict[str, Any]) -> None:
    """Figure 8 is the histogram of its design, and the claim its share of +1."""
    counts = simulated(programs / "java" / "sensors.trace", CardDesign(64, LARGE))["counts"]
    spectrum = dict(counts["distance_histogram"])
    ours = {
        one["distance"]: one["requests"]
        for one in results["distances"]
        if one["trace"] == "sensors"
    }
    assert ours == spectrum
    assert max(map(abs, ours)) <= 31
    (claim,) = [c for c in results["claims"] if "ideal next block" in c["claim"]]
    share = 100 * spectrum[1] / sum(spectrum.values())
    assert claim["ours"].startswith(f"sensors {share:.1f} % ")
    assert claim["threshold"] == ["11.5"]
    assert (claim["verdict"] == "holds") is (f"{share:.1f}" == "11.5")


def test_best_pages(results: dict[str, Any]) -> None:
    """The best pages in the claim are those of the rows, of all pages that were tried."""
    best = {}
    for policy in judging.BEST_PAGE:
        speeds = {
            page: row(results, "sensors", CardDesign(page, policy=policy))["bandwidth_mib_s"]
            for page in cardis_replays.PAGES
        }
        best[policy] = max(speeds, key=lambda page: speeds[page])
    (claim,) = [c for c in results["claims"] if "the best cache page of the sample" in c["claim"]]
    assert claim["ours"].startswith(f"sensors LRU {best['lru']} B (")
    assert f", MIN {best['min']} B (" in claim["ours"]
    assert (claim["verdict"] == "holds") is (best == judging.BEST_PAGE)
    (goes_on,) = [c for c in results["claims"] if "MIN goes on to gain" in c["claim"]]
    pages = (*cardis_replays.TINY_PAGES, *cardis_replays.PAGES)
    finest = [
        float(
            max(
                pages,
                key=lambda page: row(results, "sensors", CardDesign(page, policy=policy))[
                    "bandwidth_mib_s"
                ],
            )
        )
        for policy in judging.BEST_PAGE
    ]
    assert goes_on["figures"] == [{"of": "sensors", "values": finest}]
    assert (goes_on["verdict"] == "holds") is (finest[0] > finest[1])
    assert f"from 8 B on sensors {best['lru']} → {best['min']} B" in goes_on["why"]
    (differs,) = [c for c in results["claims"] if "is not unique" in c["claim"]]
    assert f"sensors {best['lru']} / {best['min']} / " in differs["ours"]


def test_hot_code(tmp_path: Path) -> None:
    """Stretches of code without a gap, by what is executed in them."""
    runs = [(0, 16), (8, 16), (64, 8), (64, 8), (64, 8), (200, 4)]
    write(tmp_path, "madplay", runs, "arm")
    (program,) = cardis_replays.replay(tmp_path, lambda _finished, _all: None).native
    assert program.hot.stretches == ((24, 32 / 60), (8, 24 / 60))
    assert program.hot.named_share == 0
    (claim,) = [c for sentence, c in reproduce(tmp_path).items() if "two big functions" in sentence]
    assert claim.ours == (
        "madplay 93 % of the bytes executed in the two hottest stretches of code, of 24 and 8 bytes"
    )
    assert claim.verdict is Verdict.OPEN
    assert "symbols name 0 %" in claim.why


def test_lookups(programs: Path) -> None:
    """The cost of a lookup is that of a handler with its price."""
    results = cardis_replays.replay(programs / "java", lambda _finished, _all: None)
    (program,) = results.named("sensors", results.java)
    alone = simulated(programs / "java" / "sensors.trace", CardDesign(32), 100)
    assert program.with_lookups(100, 32) == pytest.approx(alone["time"]["bandwidth_mib_s"])
    assert program.with_lookups(0, 32) == pytest.approx(program.bandwidth(32))


def jumps(count: int, kib: int) -> Runs:
    """Jump at random among blocks of 64 bytes, of which the second half is executed first."""
    dice = random.Random(count)  # noqa: S311
    starts = (64 * dice.randrange(kib << 4) for _ in range(count))
    return [run for start in starts for run in ((start + 32, 32), (start, 32))]


def blocks(count: int, kib: int) -> Runs:
    """Call blocks of 60 bytes at random."""
    dice = random.Random(count)  # noqa: S311
    return [(64 * dice.randrange(kib << 4), 60) for _ in range(count)]


def aligned(count: int, kib: int) -> Runs:
    """Call blocks of 60 bytes, and others of which the second half comes first: 40 in the mean."""
    dice = random.Random(count)  # noqa: S311
    runs = []
    for _ in range(count):
        place = dice.randrange(kib << 4)
        at = 64 * place
        runs += [(at + 32, 28), (at, 32)] if place % 2 else [(at, 60)]
    return runs


def test_verdicts_follow_the_program(tmp_path: Path) -> None:
    """A loop and programs that jump at random get opposite verdicts: none is written down."""
    write(tmp_path / "loop" / "java", "sensors", [(0, 16384)] * 20)
    write(tmp_path / "jumps" / "java", "sensors", blocks(5000, 14))
    looped, jumped = (reproduce(tmp_path / name) for name in ("loop", "jumps"))
    for words in (
        "comes closer to NOR",
        "outperform conventional paging and make",
        "with smaller cache pages write decreases",
        "reduce the cache dramatically",
        "the mean used basic block of the sample",
    ):
        verdicts = [only(claims, words).verdict for claims in (looped, jumped)]
        assert verdicts == [Verdict.FAILS, Verdict.HOLDS], words
    for words in ("is close to the worst case", "a distance of 0", "keep pages from being"):
        assert only(jumped, words).verdict is Verdict.NONE
    assert only(jumped, "the best cache page of the sample").verdict is Verdict.FAILS
    assert only(jumped, "is not unique").verdict is Verdict.OPEN


def test_rules_are_asked_of_all(tmp_path: Path) -> None:
    """Figures of one program are of sensors; a rule fails if it fails for any program."""
    write(tmp_path / "java", "sensors", aligned(5000, 14))
    write(tmp_path / "java", "loop", [(0, 16384)] * 20)
    write(tmp_path, "troff", aligned(5000, 12), "arm")
    claims = reproduce(tmp_path)
    rule = only(claims, "is the mean used block aligned up")
    assert rule.verdict is Verdict.FAILS
    assert "it holds for sensors, troff, not for loop. asked of all programs" in rule.why
    of_sensors = only(claims, "comes closer to NOR")
    assert of_sensors.verdict is Verdict.HOLDS
    assert "others: it holds for troff, not for loop" in of_sensors.why
    assert "asked of" not in of_sensors.why
    assert only(claims, "is not unique").verdict is Verdict.HOLDS


def test_one_sentence_is_one_claim(results: dict[str, Any]) -> None:
    """A sentence gets one verdict, and no complement of ours is called the paper's figure."""
    of_figure_8 = [c for c in results["claims"] if c["where"] == "section 6.3, Fig. 8"]
    assert [c["direction"] for c in of_figure_8] == ["as printed", "described"]
    assert not [c for c in results["claims"] if "88.5" in c["paper"]]
    assert len([c for c in results["claims"] if "the mean used basic block of" in c["claim"]]) == 1


def test_java_is_recognized_by_the_recording(tmp_path: Path) -> None:
    """A Java program is one wherever its trace lies. Only imports are classed by their folder."""
    runs = jumps(300, 14)
    for folder, name, architecture in (
        ("", "purse", "jvm"),
        ("", "sensors", "jvm"),
        ("", "troff", "arm"),
        ("", "imported", ""),
        ("java", "madplay", "arm"),
        ("java", "imported", ""),
        ("java", "purse", "jvm"),
    ):
        write(tmp_path / folder, name, runs, architecture)
    results = cardis_replays.replay(tmp_path, lambda _finished, _all: None)
    assert [program.name for program in results.java] == [
        "sensors",
        "purse",
        "imported",
        "java/purse",
    ]
    assert [program.name for program in results.native] == ["imported", "troff", "madplay"]
    assert [program.name for program in results.asked] == ["sensors"]
    assert all(program.is_java for program in results.java)
    assert not any(program.is_java for program in results.native)


def test_without_the_typesetter(tmp_path: Path) -> None:
    """Claims about the typesetter get no verdict from another program."""
    write(tmp_path, "madplay", jumps(300, 14), "arm")
    claim = only(reproduce(tmp_path), "(typesetter)")
    assert claim.verdict is Verdict.OPEN
    assert "has no troff.trace" in claim.why
    assert claim.ours.startswith("madplay ")


def test_without_java(programs: Path, tmp_path: Path) -> None:
    """Without Java programs what is said of them cannot be checked, and the rest can."""
    (tmp_path / "troff.trace").symlink_to(programs / "troff.trace")
    results = cardis.reproduce(tmp_path, lambda _finished, _all: None)
    missing = [claim for claim in results.claims if claim.ours == "no Java trace"]
    assert len(missing) > 15
    assert {claim.verdict for claim in missing} == {Verdict.OPEN}
    assert all(f"{tmp_path} has no traces of Java programs" in claim.why for claim in missing)
    verdicts = {claim.where: claim.verdict for claim in reversed(results.claims)}
    assert verdicts["Fig. 4"] is Verdict.HOLDS
    (mad,) = [claim for claim in results.claims if claim.where.endswith("Fig. 7")]
    assert (mad.verdict, "madplay.trace" in mad.why) == (Verdict.OPEN, True)
    assert list(pictures(results)) == ["figure-4"]


def test_with_java_alone(programs: Path, tmp_path: Path) -> None:
    """Without native programs figures 4 and 7 cannot be checked; without sensors others serve."""
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "purse.trace").symlink_to(programs / "java" / "purse.trace")
    claims = reproduce(tmp_path)
    of_native = [claim for claim in claims.values() if claim.ours == "no native trace"]
    assert {claim.where for claim in of_native} == {
        *("Fig. 4", "section 6.2", "section 6.2, Fig. 7")
    }
    assert {claim.verdict for claim in of_native} == {Verdict.OPEN}
    smaller = only(claims, "comes closer to NOR")
    assert smaller.ours.startswith("purse ")
    assert smaller.verdict is Verdict.HOLDS
    assert "asked of all Java programs, as there is no sensors.trace" in smaller.why


def described(
    symbols: Iterable[tuple[str, int, int]],
    instructions: int | None,
    calls: int | None = None,
    returns: int | None = None,
) -> TraceInfo:
    """Describe a trace of 100 bytes of code with these symbols, of which 300 are executed."""
    named = [SimpleNamespace(name=name, offset=at, bytes=size) for name, at, size in symbols]
    info = SimpleNamespace(
        image_bytes=100,
        bytes=300,
        instructions=instructions,
        calls=calls,
        returns=returns,
        images=[SimpleNamespace(symbols=named)],
    )
    return cast("TraceInfo", info)


def test_scale() -> None:
    """Classes, methods, and what an instruction and a call take, by hand."""
    methods = ("a.A.f(int)", "a.A.g()", "a.B$1.f(java.lang.Object)")
    symbols = [*zip(methods, (0, 20, 60), (20, 40, 40), strict=True)]
    info = described(symbols, instructions=150, calls=9, returns=6)
    scale = ProgramScale.of(info, [(0, 10), (4, 16), (70, 2), (72, 8)])
    assert (scale.classes, scale.methods, scale.used_methods) == (2, 3, 2)
    assert scale.mean_used_method_bytes == 30
    assert (scale.transfers, scale.transfer_bytes) == (15, 20)
    assert scale.instruction_bytes == 2
    unknown = ProgramScale.of(described([], instructions=None), [(0, 10)])
    assert (unknown.transfers, unknown.transfer_bytes, unknown.instruction_bytes) == (None,) * 3
    assert (unknown.methods, unknown.mean_used_method_bytes) == (None, None)
    assert class_of("Top.main(java.lang.String[])") == "Top"


def test_scale_of_a_cap_file() -> None:
    """A CAP file's stretch is neither a class nor a method, the methods in it and behind are."""
    symbols = (
        ("com.acme.(Method.cap)", 0, 60),
        ("com.acme.Foo.bar(short)", 4, 20),
        ("com.acme.Foo.<init>()", 24, 10),
        ("lib.Tool.run(Method.cap)", 60, 40),
    )
    info = described(symbols, instructions=25)
    scale = ProgramScale.of(info, [(6, 8), (70, 4)])
    assert (scale.classes, scale.methods, scale.used_methods) == (2, 3, 2)
    assert scale.mean_used_method_bytes == 30
    assert scale.code_bytes == 100


def test_pictures(run: tuple[Finished, Path]) -> None:
    """Each figure is a picture, and said to be."""
    done, plots = run
    names = {path.name for path in plots.iterdir()}
    assert names >= {f"{name}.png" for name in FIGURES}
    for name in names:
        content = (plots / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
        assert name in done.err


def test_shown(programs: Path, tmp_path: Path) -> None:
    """For a reader: claims, and the sum of verdicts."""
    (tmp_path / "java").symlink_to(programs / "java")
    shown = flashpager("reproduce", "cardis", "--traces", tmp_path)
    assert shown.out.splitlines()[0].split()[:4] == ["where", "claim", "paper", "ours"]
    assert "cannot be checked" in shown.err


def test_refused(tmp_path: Path) -> None:
    """A line for folders that hold nothing, or what is no trace."""
    fails("reproduce", "cardis", "--traces", tmp_path, words=["java/*.trace", "--traces"])
    (tmp_path / "java").mkdir()
    (tmp_path / "java" / "sensors.trace").write_bytes(b"no trace")
    with pytest.raises(FlashpagerError, match=r"sensors\.trace"):
        reproduce(tmp_path)


def test_board(programs: Path) -> None:
    """The paper's sensor: 1.9 KB are 30 pages, and the question what fits has an answer."""
    trace = programs / "java" / "sensors.trace"
    design = Design.from_board(MICAZ)
    (results,) = _engine.simulate(trace, [design])
    assert (results.frames, design.cache_bytes) == (30, cardis_replays.LEFT_BYTES)
    flags = ("--board", MICAZ, "--ram", "1.9K", "--cache-page", "64", "--register", "sequential")
    best = flashpager("explore", trace, *flags, "--json").json["answer"]["best"]
    # The policy's metadata takes two of the 30 pages.
    assert (best["frames"], best["ram_bytes"]) == (28, 28 * 64 + 28 * 4 + 2)
