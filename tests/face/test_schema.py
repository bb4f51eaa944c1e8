"""Tests that counts and axes in Python equal those stated in the engine."""

from pathlib import Path

import polars as pl
import pytest

import flashpager
from flashpager import Design, Trace, _engine
from flashpager.base.axes import AXES
from flashpager.base.counts import COUNTS, counts_of
from flashpager.judge.comparison import ResultTable
from flashpager.replay import table
from flashpager.verify import linux
from tests import stub
from tests.conftest import import_csv

RUNS = "".join(f"{(n * 7919) % 3000},{1 + n % 50}\n" for n in range(500))
TAGGED = Design(part="W25N01GV", cache_page_bytes=512, tag_bytes=8)


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return Trace.open(import_csv(tmp_path_factory.mktemp("trace"), RUNS, "app.trace"))


def test_the_stub_is_up_to_date() -> None:
    """``python -m tests.stub`` changes nothing."""
    text = stub.STUB.read_text(encoding="utf-8")
    assert text == stub.generated(), "run .venv/bin/python -m tests.stub"


def test_a_table_has_every_count(trace: Trace) -> None:
    """Each number that a replay counts is a column of the table, with its value."""
    row = flashpager.simulate(trace, TAGGED)
    numbers = [name for name, count in COUNTS.items() if count.is_number]
    assert list(table.COUNTS) == numbers
    assert all(table.SCHEMA[name] == pl.UInt64 for name in numbers)
    flat = table.flatten(row)
    assert {name: flat[name] for name in numbers} == {
        name: getattr(row.counts, name) for name in numbers
    }
    assert flat["mac_bytes"]


def test_json_has_every_count(trace: Trace) -> None:
    """A count that JSON may omit is present if it is not 0."""
    row = flashpager.simulate(trace, TAGGED)
    printed = row.counts.as_dict()
    expected = [
        name for name, count in COUNTS.items() if not count.is_optional or getattr(row.counts, name)
    ]
    assert list(printed) == expected
    assert all(count.unit and count.description for count in COUNTS.values())


def test_devices_have_the_counts_of_replays() -> None:
    """The counts of each device are counts of a replay."""
    assert {device for count in COUNTS.values() for device in count.devices} == {
        *("firmware", "tagged-firmware", "chip", "tagged-chip", "mmu", "process")
    }
    assert set(counts_of("process")) <= set(linux._FIELDS)  # noqa: SLF001
    assert set(counts_of("chip")) < set(counts_of("firmware"))


def test_an_older_table_has_mac_bytes(trace: Trace, tmp_path: Path) -> None:
    """The missing column of an older table is replaced by the right values."""
    designs = (TAGGED, TAGGED.replace(tag_bytes=None))
    rows = [flashpager.simulate(trace, design) for design in designs]
    whole = table.to_frame(rows, "app")
    file = tmp_path / "old.jsonl"
    whole.drop("mac_bytes").write_ndjson(file)
    read = ResultTable.read(file).frame.sort("tag_bytes", nulls_last=True)
    assert read["mac_bytes"].to_list() == whole["mac_bytes"].to_list()
    assert read["mac_bytes"][0]


def test_an_axis_is_a_field() -> None:
    """Each axis is a property of a design, and one of its keyword arguments."""
    design = Design()
    for name, axis in AXES.items():
        value = getattr(design, name)
        assert value is not None or axis.may_be_none
        assert design.replace(**{name: value}) == design.replace(**{name: value})
        assert axis.description
        assert name in _engine.design_fields()


@pytest.mark.parametrize(
    ("part", "ways", "in_place", "in_hardware"),
    [
        ("K9F1208Q0B", None, False, False),
        ("W25Q128JV", None, True, False),
        ("W25Q128JV", 2, True, True),
        ("K9F1208Q0B", 2, False, False),
    ],
)
def test_where_a_cache_is(
    part: str, ways: int | None, *, in_place: bool, in_hardware: bool
) -> None:
    """The engine states whether a part is read in place, and whether the cache is in hardware."""
    design = Design(part=part, ways=ways)
    assert (design.is_in_place, design.is_in_hardware) == (in_place, in_hardware)
