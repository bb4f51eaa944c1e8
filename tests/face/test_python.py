"""Tests of the Python library: representations of results, designs and answers."""

import pickle
import random
from pathlib import Path

import pytest

import flashpager
from flashpager import Answer, Design, Handler, ICache, Needs, Ram, Row, Space, Tlb, Trace
from flashpager.judge.comparison import ResultTable
from flashpager.replay import table
from tests.conftest import import_csv

RUNS = "".join(f"{(n * 7919) % 3000},{1 + n % 50}\n" for n in range(500))


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return Trace.open(import_csv(tmp_path_factory.mktemp("trace"), RUNS, "app.trace"))


@pytest.fixture(name="result", scope="module")
def _result(trace: Trace) -> Answer:
    space = Space(cache_bytes="512,1K,2K", cache_page_bytes="32,64", policy="lru,clock")
    return flashpager.answer(flashpager.explore(trace, space), Needs(ram_bytes="1200"))


def typed(text: str) -> object:
    """Evaluate the representation of an object."""
    return eval(text, vars(flashpager).copy())  # noqa: S307  (our own)


def drawn(dice: random.Random) -> Design:
    """Draw a design."""

    def ns() -> float:
        return dice.choice([0.0, 1e-9, 12.5, dice.uniform(0, 1e6)])

    icache = dice.choice([None, ICache("1K", 32, dice.choice([1, 2]), ns(), ns())])
    handler = Handler(lookup_ns=ns(), walk_step_ns=ns(), load_stopover_ns=dice.choice([None, ns()]))
    message = {
        "part": dice.choice(["K9F1208Q0B", "MT29F2G08AAC"]),
        "nor": dice.choice([None, "NOR-CARDIS"]),
        "ram": dice.choice([Ram(), Ram(ns(), ns())]),
        "handler": handler,
        "processor": dice.choice([None, "none", "cortex-m3@64MHz", "picorv32(2.5)@1MHz"]),
    }
    # The other fields are left open.
    for name in dice.sample(sorted(message), dice.randrange(len(message))):
        del message[name]
    return Design(
        cache_bytes=dice.choice([1024, 2048]),
        cache_page_bytes=dice.choice([32, 64]),
        codeword_bytes=dice.choice([None, 512]),
        policy=dice.choice(["lru", "fifo-sc(4)"]),
        count_commands=dice.choice([False, True]),
        icache=icache,
        tlb=dice.choice([None, Tlb(2, 4, ns(), ns())]) if icache else None,
        **message,  # type: ignore[arg-type]  # by name
    )


def test_the_representation_of_a_design_can_be_evaluated() -> None:
    """The representation of a design, evaluated, makes an equal design."""
    dice = random.Random(17)  # noqa: S311
    for _ in range(200):
        design = drawn(dice)
        assert typed(repr(design)) == design
        assert typed(repr(design.handler)) == design.handler


def test_the_representation_of_a_design_is_short() -> None:
    """The representation is short, and has the handler only if it was given."""
    assert repr(Design(cache_bytes="4K")).count("=") < 12
    assert "Handler" not in repr(Design())
    assert "pre_process_ns=500.0" in repr(Design(handler=Handler(pre_process_ns=500)))


def test_the_representation_of_results(trace: Trace) -> None:
    """The representation is one line, however long the lists are."""
    row = flashpager.simulate(trace, Design(part="MT29F2G08AAC", cache_bytes="1K"))
    assert repr(row).startswith("Row(design=Design(")
    assert f"misses={row.counts.misses}," in repr(row.counts)
    assert f"bandwidth_mib_s={row.time.bandwidth_mib_s!r}" in repr(row)
    assert len(repr(row)) < 4000
    assert repr(row.latency) == (
        f"Latency(mean_fault_ns={row.latency.mean_fault_ns!r}, "
        f"p99_fault_ns={row.latency.p99_fault_ns!r}, worst_fault_ns={row.latency.worst_fault_ns!r})"
    )
    assert typed(repr(trace)) == trace
    info = repr(Trace.open("examples/traces/card-firmware.trace").info)
    assert "symbols=[… 102 items]" in info
    assert len(info) < 1000


class TestAnswer:
    """The result of ``answer``."""

    def test_best(self, trace: Trace, result: Answer) -> None:
        """The best design is a typed ``Design`` with its own numbers."""
        best = result.best
        assert best is not None
        row = flashpager.simulate(trace, best.design)
        assert row.design == best.design
        assert (row.ram_bytes, row.frames) == (best.ram_bytes, best.frames)
        assert row.counts.misses == best.misses
        assert row.time.bandwidth_mib_s == pytest.approx(best.bandwidth_mib_s)
        assert best.columns == result.fitting.row(0, named=True)

    def test_words(self, result: Answer) -> None:
        """The representation of an answer is its text."""
        message = repr(result).splitlines()
        assert message[0] == f"{len(result.fitting)} of 12 designs fit"
        assert message[1].startswith("best: ")
        assert typed(message[2]) == result.best.design  # type: ignore[union-attr]
        assert message[3] == f"why: {result.why}"
        assert message[4:] == result.bites

    def test_nothing_fits(self, trace: Trace, result: Answer) -> None:
        """The representation states that no design fits."""
        nothing = flashpager.answer(
            flashpager.explore(trace, Space(cache_bytes="512")),
            Needs(min_bandwidth_mib_s="1000MB/s"),
        )
        assert nothing.best is None
        assert [unmet.said for unmet in nothing.unmet] == ["none of 1 design meets all needs"]
        assert repr(nothing).startswith("0 of 1 design fit")
        assert result.unmet == []

    def test_brief(self, result: Answer) -> None:
        """A short table, which fits into a notebook, has the columns that vary and decide."""
        brief = flashpager.brief(result.designs)
        assert brief.columns[:3] == ["policy", "cache_bytes", "cache_page_bytes"]
        assert "…" not in str(brief).splitlines()[1]
        assert brief["bandwidth_mib_s"].to_list() == [
            float(f"{value:.4g}") for value in result.designs["bandwidth_mib_s"]
        ]


def test_columns_have_names_of_their_own() -> None:
    """The columns of a table have different names."""
    assert len(set(table.COLUMNS)) == len(table.COLUMNS)


def test_rows_of_designs(trace: Trace) -> None:
    """A flat row gives its design again."""
    design = Design(
        part="MT29F2G08AAC",
        cache_bytes="1K",
        icache=ICache(256, 32, 2, 5, 40),
        tlb=Tlb(2, 4, 10, 100),
        handler=Handler(lookup_ns=3),
    )
    for given in (design, Design()):
        row = flashpager.simulate(trace, given)
        assert table.design_of(table.flatten(row)) == row.design


def test_the_best_of_a_file(trace: Trace, tmp_path: Path) -> None:
    """The best design of a result file is a typed ``Design``."""
    frame = flashpager.explore(trace, Space(cache_bytes="512,1K"))
    table.write(frame, tmp_path / "a.parquet", [trace.described()])
    best = ResultTable.read(tmp_path / "a.parquet").best()
    fastest = frame.sort("time_ns").row(0, named=True)
    assert best.design == table.design_of(fastest)
    assert best.columns["bandwidth_mib_s"] == best.bandwidth_mib_s


def simulated(trace: Trace, **fields: str) -> Row:
    """Simulate a design."""
    return flashpager.simulate(trace, Design(**fields))  # type: ignore[arg-type]


class TestNeeds:
    """Unmet needs of a design."""

    def test_each_need(self, trace: Trace) -> None:
        """Each unmet need has its name, the required value and the actual one."""
        row = simulated(trace, cache_bytes="1K")
        needs = Needs("1K", 1000.0, 1.0, checked_ecc=True)
        unmet = {need.need: need for need in needs.unmet(row)}
        assert set(unmet) == {"ram_bytes", "min_bandwidth_mib_s", "max_fault_ns", "checked_ecc"}
        assert unmet["ram_bytes"].said == f"RAM {row.ram_bytes:,} bytes > 1,024 bytes"
        assert unmet["max_fault_ns"].found == row.latency.worst_fault_ns
        assert unmet["min_bandwidth_mib_s"].said.endswith("MB/s < 1000 MB/s")

    def test_just_met(self, trace: Trace) -> None:
        """A need may be met to the last digit; a value just beyond is unmet."""
        row = simulated(trace, cache_bytes="1K")
        worst, speed = row.latency.worst_fault_ns, row.time.bandwidth_mib_s
        assert Needs(row.ram_bytes, speed, worst).unmet(row) == []
        (unmet,) = Needs(max_fault_ns=worst * (1 - 1e-9)).unmet(row)
        stated, limit = unmet.said.removeprefix("worst fault ").split(" > ")
        assert stated != limit

    def test_min_meets_no_need(self, trace: Trace) -> None:
        """MIN meets only the empty need, as no device can run it."""
        row = simulated(trace, policy="min")
        assert Needs().unmet(row) == []
        assert "no device can run min" in Needs(ram_bytes="1M").unmet(row)[0].said


def test_pickling(trace: Trace) -> None:
    """Descriptions and designs can be pickled; the error for a row names them."""
    row = simulated(trace, cache_bytes="1K")
    for value in (trace.info, row.design):
        assert pickle.loads(pickle.dumps(value)) == value  # noqa: S301  (our own)
    with pytest.raises(TypeError, match=r"a Row cannot be pickled: send its as_dict\(\)"):
        pickle.dumps(row)
