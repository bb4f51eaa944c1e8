"""Tests that long traces are described and reported on without reading or replaying all."""

import json
import re
from pathlib import Path

import pytest

from flashpager import Design, _engine
from flashpager._engine import SamplePlan
from flashpager.report.demand_paging import build
from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, runs_of

TROFF = ROOT / "examples" / "traces" / "troff.trace"
#: A trace whose description has no count of blocks.
PHALANX = TROFF.with_name("phalanx.trace")
#: The number of runs above which a trace is sampled.
MOST = 1 << 27
#: A sample of about 9 % of troff.
PLAN = SamplePlan(windows=8, window_runs=2048)


def anew(tmp_path: Path, trace: Path = TROFF) -> Path:
    """Write a copy of a trace with a complete description."""
    written = tmp_path / "anew.trace"
    flashpager("trace", "check", trace, "-o", written)
    return written


class TestInfo:
    """The command ``trace info`` is fast, as it reads only the end of the file."""

    def test_the_description_is_read_from_the_end(self, tmp_path: Path) -> None:
        """The description is read correctly even if all runs are damaged."""
        trace = import_csv(
            tmp_path, "".join(f"{at * 7 % 4096},{3 + at % 5}\n" for at in range(999))
        )
        result = info_of(trace)
        assert _engine.recorded_blocks(trace) == _engine.block_statistics(trace)
        data = bytearray(trace.read_bytes())
        data[4:200] = bytes(196)
        trace.write_bytes(data)
        assert info_of(trace) == result
        fails("trace", "check", trace, words=[str(trace), "damaged"])

    def test_an_older_trace_is_read_whole_with_a_note(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A rewritten older trace has a description of its blocks; nothing else changes."""
        old = tmp_path / "old.trace"
        old.write_bytes(without_blocks(anew(tmp_path)))
        read = flashpager("trace", "info", old, "--json")
        # Reading all runs of so short a trace is fast, so there is no note.
        assert read.err == ""
        monkeypatch.setattr("flashpager.cli.long._SHORT_RUNS", 0)
        assert "all its runs were read" in flashpager("trace", "info", old).err
        written = flashpager("trace", "info", anew(tmp_path, TROFF), "--json")
        assert written.err == ""
        (before, after) = (read.json, written.json)
        more = after.pop("file_bytes") - TROFF.stat().st_size
        before.pop("file_bytes")
        assert before == after
        assert more < 1000

    def test_replays_only_for_the_best_page(self) -> None:
        """Replays are made only for --best-page and for a board."""
        result = info_of(TROFF)["cache_page"]
        assert (result["best_bytes"], result["bandwidths"]) == (None, {})
        board = ROOT / "boards" / "smartcard.toml"
        choice = flashpager("trace", "info", TROFF, "--best-page", "--json").json["cache_page"]
        assert choice["best_bytes"] in (8, 16, 32, 64, 128, 256, 512)
        assert choice["errors"] is None
        with_board = flashpager("trace", "info", TROFF, "--board", board, "--json").json
        assert with_board["cache_page"]["best_bytes"] == choice["best_bytes"]
        fails("trace", "info", TROFF, "--exact", words=["--best-page"])


def without_blocks(trace: Path) -> bytes:
    """Return a trace in its older form, without a count of blocks and without checksums."""
    import pyarrow.parquet as pq  # noqa: PLC0415

    table = pq.read_table(trace)
    info = json.loads(table.schema.metadata[b"flashpager"])
    del info["blocks"]
    old = trace.with_suffix(".old")
    metadata = {b"flashpager": json.dumps(info).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), old, compression="zstd")
    return old.read_bytes()


class TestCheck:
    """The command ``trace check`` reads the whole file and compares."""

    def test_good_traces(self, tmp_path: Path) -> None:
        """The check accepts the shipped traces, and a trace written anew."""
        assert "are as they were written" in flashpager("trace", "check", TROFF).err
        written = anew(tmp_path)
        assert "as they were written" in flashpager("trace", "check", written).err
        assert runs_of(written) == runs_of(TROFF)

    def test_it_never_overwrites_what_it_reads(self, tmp_path: Path) -> None:
        """An output that is also the input is refused."""
        trace = import_csv(tmp_path, "0,4\n")
        fails("trace", "check", trace, "-o", trace, words=["would be overwritten"])
        fails("trace", "check", tmp_path / "none.trace", words=["none.trace"])


class TestSample:
    """Replays of windows of a long trace instead of all of it."""

    def test_only_long_traces_are_sampled(self) -> None:
        """The limit is where a report would take longer than a minute."""
        assert SamplePlan.for_runs(MOST) is None
        plan = SamplePlan.for_runs(MOST + 1)
        assert plan is not None
        assert (plan.all_windows, plan.window_runs) == (1024, 1 << 14)
        assert plan.runs == 1 << 24

    def test_rows_have_errors(self) -> None:
        """Bytes are exact, a whole replay has no error, and the sample is always the same."""
        designs = [Design(cache_bytes=size) for size in (1024, 4096)]
        exact = _engine.simulate(TROFF, designs)
        sampled = _engine.simulate(TROFF, designs, sample=PLAN)
        assert sampled == _engine.simulate(TROFF, designs, sample=PLAN)
        for estimated, whole in zip(sampled, exact, strict=True):
            assert whole.errors is None
            assert "errors" not in whole.as_dict()
            assert estimated.errors is not None
            assert estimated.counts.bytes_read == whole.counts.bytes_read
            counts = estimated.counts
            assert counts.references == counts.hits + counts.misses + counts.false_faults
            assert estimated.errors.time is not None
            assert 0 < estimated.errors.time < 0.5
            assert estimated.time.time_ns == pytest.approx(whole.time.time_ns, rel=0.5)

    @pytest.mark.parametrize("cache_bytes", [4096, 65536, 131072, 262144])
    def test_intervals_hold(self, tmp_path: Path, cache_bytes: int) -> None:
        """The intervals hold, also if the program fits the cache; other values are unknown."""
        designs = [
            Design(cache_bytes=cache_bytes, cache_page_bytes=page, policy=policy)
            for page in (8, 32, 64, 512)
            for policy in ("lru", "clock", "fifo")
        ]
        trace = anew(tmp_path)
        pages = {use.page_bytes: use.pages for use in _engine.block_statistics(trace).pages}
        exact = _engine.simulate(trace, designs)
        sampled = _engine.simulate(trace, designs, sample=PLAN)
        known, outside = 0, []
        for estimated, whole in zip(sampled, exact, strict=True):
            assert estimated.errors is not None
            page = estimated.design.cache_page_bytes
            if pages[page] <= estimated.frames:
                assert (estimated.counts.misses, estimated.errors.misses) == (pages[page], 0)
            figures = (
                (estimated.time.time_ns, whole.time.time_ns, estimated.errors.time),
                (estimated.counts.misses, whole.counts.misses, estimated.errors.misses),
                (estimated.counts.loads, whole.counts.loads, estimated.errors.loads),
                (
                    estimated.counts.bytes_fetched,
                    whole.counts.bytes_fetched,
                    estimated.errors.bytes_fetched,
                ),
            )
            known += sum(figure[2] is not None for figure in figures)
            outside += [
                (page, estimated.design.policy, figure)
                for figure in figures
                if figure[2] is not None and abs(figure[0] - figure[1]) > figure[2] * figure[0]
            ]
        assert len(outside) * 10 <= known, outside

    def test_unknown_numbers_of_pages(self) -> None:
        """An older trace lacks its number of pages, so its misses have no interval."""
        design = Design(cache_bytes=65536, cache_page_bytes=8, policy="lru")
        (one,) = _engine.simulate(PHALANX, [design], sample=PLAN)
        (whole,) = _engine.simulate(PHALANX, [design])
        assert one.errors is not None
        assert one.errors.misses is None
        assert one.errors.as_dict()["loads"] is None
        assert one.counts.misses < whole.counts.misses
        page = build(PHALANX, design, sample=PLAN).html()
        assert "± unknown" in page

    def test_too_short_a_trace(self, tmp_path: Path) -> None:
        """A sample has fewer runs than the trace, and at least one."""
        trace = import_csv(tmp_path, "0,4\n" * 100)
        for plan in (SamplePlan(windows=1, window_runs=7), SamplePlan(windows=0), SamplePlan()):
            with pytest.raises(_engine.FlashpagerError, match=r"has 100 runs: no sample"):
                _engine.simulate(trace, [Design()], sample=plan)

    def test_the_report_shows_errors(self) -> None:
        """The report shows each sampled figure with its error, and exact figures without one."""
        page = build(TROFF, Design(), sample=PLAN).html()
        assert "128 windows of 2,048 runs" in page
        assert "the sample cannot tell" in page
        numbers = re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)<small>", page, re.DOTALL)
        figures = dict(numbers)
        for name in ("read bandwidth", "of NOR", "run time", "page faults", "loads", "fetched"):
            assert "±" in figures[name], name
        assert "worst fault of the sample" in figures
        assert "<th>±</th>" in page
        assert page.count("Sampled: the times behind this") == len(build_charts(page))
        chosen = json.loads(re.search(r'id="choices">(.*?)</script>', page)[1])  # type: ignore[index]
        for design in chosen["designs"].values():
            for name, value in design["numbers"]:
                known = name in ("RAM", "worst fault")
                assert known or "±" in value, (name, value)
                # The digits that the sample determines, and one more.
                digits = re.sub(r"\D", "", value.split("±")[0].split("times")[0]).rstrip("0")
                assert known or len(digits) <= 5, (name, value)
        rows = re.findall(r"<tr(?: class=\"own\")?><td>.*?</tr>", page, re.DOTALL)
        assert len(rows) > 50
        assert all(row.count("±") == 6 for row in rows)
        whole = build(TROFF, Design()).html()
        assert "±" not in whole.split('<script type="module">')[0]

    def test_functions_of_a_sample(self) -> None:
        """The owners of faults add up to the trace's bytes, each with its error."""
        whole = _engine.attribute(TROFF, Design(), "symbol", [])
        sampled = _engine.attribute(TROFF, Design(), "symbol", [], PLAN)
        executed = sum(owner.bytes_executed for owner in whole.owners)
        estimated = sum(owner.bytes_executed for owner in sampled.owners)
        assert estimated == pytest.approx(executed, rel=1e-6)
        assert all(owner.fault_error is None for owner in whole.owners)
        by_name = {owner.name: owner for owner in whole.owners}
        first = sampled.owners[0]
        assert first.fault_error is not None
        assert by_name[first.name].fault_ns == pytest.approx(first.fault_ns, rel=0.5)


def build_charts(page: str) -> list[str]:
    """Return the charts of a page that show replays, except those of the chosen design."""
    return [name for name in re.findall(r'<figure id="([\w-]+)"', page) if "chosen" not in name]
