"""Tests of layout: the replay of the rearranged trace equals the prediction."""

import re
import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import flashpager as package
from flashpager import Design, FlashpagerError, Trace
from tests.conftest import COMMAND, ROOT, fails, flashpager, import_csv, runs_of
from tests.recordings import wait_for_search

TRACES = ROOT / "examples" / "traces"
SENSORS = TRACES / "java" / "sensors.trace"
CARD = TRACES / "card-firmware.trace"
DESIGN = ("--part", "K9F1208Q0B", "--register", "start-column")


def layout(*arguments: str | Path) -> dict[str, Any]:
    """Return the answer of the command, with few evaluations."""
    result: dict[str, Any] = flashpager("layout", *arguments, "--json").json
    return result


class TestPrediction:
    """The figures of an order are true."""

    @pytest.mark.parametrize("policy", ["lru", "clock", "s3-fifo"])
    def test_arranged(self, policy: str, tmp_path: Path) -> None:
        """A Java trace arranged in the found order has the predicted counts and time."""
        order, arranged = tmp_path / "order.txt", tmp_path / "arranged.trace"
        flags = (*DESIGN, "--policy", policy)
        result = layout(SENSORS, *flags, "--pages", "32,64", "--evaluations", "2000", "-o", order)
        best = result["pages"][result["best"]] if "best" in result else result["pages"][0]
        names = order.read_text(encoding="utf-8").splitlines()
        assert names == best["order"]
        flashpager("trace", "arrange", SENSORS, "--order", order, "-o", arranged)
        page = str(best["cache_page_bytes"])
        row = flashpager("simulate", arranged, *flags, "--cache-page", page, "--json").json
        message = best["found"]["rows"][0]
        counts = ("misses", "loads", "bytes_fetched", "forward", "backward", "references")
        for name in (*counts, "distance_histogram"):
            assert message["counts"][name] == row["counts"][name]
        assert message["counts"]["distance_histogram"]
        assert message["time"] == row["time"]
        before = flashpager("simulate", SENSORS, *flags, "--cache-page", page, "--json").json
        assert best["before"]["rows"][0]["counts"]["misses"] == before["counts"]["misses"]

    def test_held_out(self) -> None:
        """The held-out end of a trace does not influence the search."""
        result = layout(
            *(SENSORS, *DESIGN, "--pages", "64", "--evaluations", "2000"),
            *("--held-out-share", "30%"),
        )
        page = result["pages"][0]
        (part,) = page["before"]["held_out"]
        trained = page["before"]["rows"][0]["counts"]["bytes_read"]
        whole = flashpager("simulate", SENSORS, "--json").json["counts"]["bytes_read"]
        assert part["counts"]["bytes_read"] + trained == whole
        assert page["found"]["held_out_ratio"] < page["before"]["held_out_ratio"]

    def test_held_out_traces_that_the_search_sees(self, tmp_path: Path) -> None:
        """A trace that the search sees is refused as a held-out trace, under any name."""
        again = tmp_path / "again.trace"
        flashpager("trace", "check", SENSORS, "-o", again)
        for path in (SENSORS, again):
            message = fails("layout", SENSORS, *DESIGN, "--held-out", path)
            assert (
                f"{path}: executes, run by run, what a trace does that the search sees" in message
            )

    def test_heat(self, tmp_path: Path) -> None:
        """The pages of both images execute the bytes of both traces' runs."""
        order, arranged = tmp_path / "order.txt", tmp_path / "arranged.trace"
        result = layout(SENSORS, *DESIGN, "--pages", "64", "--evaluations", "500", "-o", order)
        flashpager("trace", "arrange", SENSORS, "--order", order, "-o", arranged)
        (page,) = result["pages"]
        for trace, which in ((SENSORS, "heat_before"), (arranged, "heat_after")):
            heat: Counter[int] = Counter()
            for offset, length in runs_of(trace):
                for number in range(offset // 64, (offset + length - 1) // 64 + 1):
                    end = min(offset + length, 64 * (number + 1))
                    heat[number] += end - max(offset, 64 * number)
            assert {one["page"]: one["executed_bytes"] for one in page[which]} == heat


class TestSearch:
    """The limits of a search."""

    def test_repeats(self, tmp_path: Path) -> None:
        """The order depends on the seed and the number of evaluations alone."""
        orders = []
        for number, seed in enumerate(("1", "1", "2")):
            order = tmp_path / f"{number}.txt"
            flags = ("--cache-page", "64", "--evaluations", "1500", "--seed", seed)
            layout(CARD, *DESIGN, *flags, "-o", order)
            orders.append(order.read_text(encoding="utf-8"))
        assert orders[0] == orders[1] != orders[2]

    def test_never_worse(self) -> None:
        """Even after one evaluation the order is no worse than published and recorded ones."""
        result = layout(CARD, *DESIGN, "--evaluations", "2")
        for page in result["pages"]:
            ratios = [page[which]["time_ratio"] for which in ("found", "baseline", "before")]
            assert ratios == sorted(ratios)

    def test_several_designs(self) -> None:
        """Rows are by design, then by trace; the mean of their shares is the objective."""
        result = layout(
            CARD, *DESIGN, "--cache", "1K,2K", "--cache-page", "32", "--evaluations=500"
        )
        page = result["pages"][0]
        sizes = [row["design"]["cache_bytes"] for row in page["found"]["rows"]]
        assert sizes == [1024, 2048]
        pairs = zip(page["found"]["rows"], page["before"]["rows"], strict=True)
        shares = [now["time"]["time_ns"] / then["time"]["time_ns"] for now, then in pairs]
        assert page["found"]["time_ratio"] == pytest.approx(sum(shares) / 2)
        assert [case["design"]["cache_bytes"] for case in page["cases"]] == [1024, 2048]
        assert [1 / (1 + case["gain"]) for case in page["cases"]] == pytest.approx(shares)

    def test_each_design_and_trace(self) -> None:
        """Each of several cases has a line, whose share and gain agree."""
        finished = flashpager(
            *("layout", CARD, *DESIGN, "--cache", "1K,2K", "--pages", "32", "--evaluations", "50"),
            *("--held-out-share", "25%"),
        )
        means, each = finished.out.split("with cache pages of 32 bytes, one by one:\n")
        assert "time: before" in means
        header, *lines = each.splitlines()[:5]
        assert header.split()[:2] == ["cache", "trace"]
        names = [(line.split()[0], "end (held out)" in line) for line in lines]
        assert names == [("1K", False), ("2K", False), ("1K", True), ("2K", True)]
        for line in lines:
            shares = [float(share) for share in re.findall(r"([\d.]+) %", line)]
            before, _, after, gain = shares
            assert after / before - 1 == pytest.approx(gain / 100, abs=0.005)

    @pytest.mark.parametrize("limit", [("--seconds", "600"), ("--evaluations", "20000000")])
    def test_interrupted(self, tmp_path: Path, limit: tuple[str, str]) -> None:
        """Ctrl-C keeps the best order so far, for every kind of limit."""
        order = tmp_path / "order.txt"
        command = [str(COMMAND), "layout", str(CARD), *limit, "-o", str(order)]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        wait_for_search(running)
        running.send_signal(signal.SIGINT)
        message, noted = running.communicate(timeout=600)
        assert running.returncode == 0, noted
        assert b"the best so far is kept" in noted
        assert b"best: cache pages" in message
        assert len(order.read_text(encoding="utf-8").splitlines()) > 100


class TestResident:
    """Units that lie in RAM."""

    def test_never_missed(self, tmp_path: Path) -> None:
        """A resident unit is read and never fetched; its bytes are in RAM and not in flash."""
        plain = layout(CARD, *DESIGN, "--cache-page", "64", "--evaluations", "200")["pages"][0]
        hot = sorted(plain["units"], key=lambda unit: -unit["executed_bytes"])[:3]
        names = [unit["name"] for unit in hot]
        listed = tmp_path / "resident.txt"
        listed.write_text("\n".join(names), encoding="utf-8")
        for given in (",".join(names), str(listed)):
            result = layout(
                *(CARD, *DESIGN, "--cache-page", "64", "--evaluations", "200"),
                *("--resident", given),
            )
            page = result["pages"][0]
            assert result["resident_bytes"] == sum(unit["bytes"] for unit in hot)
            assert page["image_bytes"] < plain["image_bytes"]
            assert not set(names) & set(page["order"])
            without, before, after = (
                page[which]["rows"][0] for which in ("before_resident", "before", "found")
            )
            assert without == plain["before"]["rows"][0]
            # The gain of an order does not include that of the RAM.
            assert without["time"]["time_ns"] > before["time"]["time_ns"]
            assert page["before"]["time_ratio"] == 1
            assert before["time"]["time_ns"] > after["time"]["time_ns"]
            assert after["counts"]["bytes_read"] == before["counts"]["bytes_read"]
            assert after["time"]["time_ns"] < plain["found"]["rows"][0]["time"]["time_ns"]

    def test_shown(self) -> None:
        """The gain of the RAM alone is printed separately."""
        flags = ("--cache-page", "64", "--evaluations", "10", "--resident", "radio_poll")
        message = flashpager("layout", CARD, *DESIGN, *flags).out
        assert re.search(r"alone they make the recorded order 1\.\d\d times as fast", message)

    def test_refused(self, tmp_path: Path) -> None:
        """Names that match no unit, and empty names, are refused."""
        empty = tmp_path / "none.txt"
        empty.write_text("# none\n", encoding="utf-8")
        assert f"--resident: {empty} names no unit" in fails("layout", CARD, "--resident", empty)
        message = fails("layout", CARD, "--resident", "radio_pol")
        assert "'radio_pol' is no unit of the image; did you mean radio_poll" in message


class TestFace:
    """The output and the errors of the command."""

    def test_shown(self, tmp_path: Path) -> None:
        """The output has a table, the causes of the time, and a picture."""
        picture = tmp_path / "layout.svg"
        finished = flashpager(
            *("layout", CARD, *DESIGN, "--evaluations", "500", "--held-out-share", "30%"),
            *("--plot", picture),
        )
        assert "102 units that can move, 100.0 % of the executed bytes" in finished.out
        assert "held out: before" in finished.out
        # Pages are chosen by the command, so they are not reported as assumed.
        assert "and policy lru" in finished.out
        assert "cache page 64 and" not in finished.out
        assert "what takes the time now: the fault handler" in finished.out
        assert "in this link (a commit moves it)" in " ".join(finished.out.split())
        notes = " ".join(finished.err.split())
        assert "alignments are taken from the offsets of functions" in notes
        assert "units that execute" in picture.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("flags", "message"),
        [
            (("--pages", "64", "--cache-page", "64"), "--pages and --cache-page exclude"),
            (("--pages", "48"), "--pages 48: a cache page of 48 bytes is no power of two"),
            (("--pages", "16,16"), "--pages 16,16: 16 comes twice"),
            (("--pages", ""), "--pages: '' names nothing; name a cache page"),
            (("--weights", ","), "--weights: ',' names nothing; name a number for each trace"),
            (("--resident", ""), "--resident: '' names nothing; name units that lie in RAM"),
            (("--pages", "foo"), "--pages: 'foo' is no size"),
            (("--weights", "0"), "a weight of 0: weights are above 0"),
            (("--weights", "nan"), "a weight of nan: weights are above 0"),
            (("--weights", "1,2"), "2 weights for 1 trace:"),
            (("--weights", "one"), "--weights: 'one' is no list of numbers"),
            (("--held-out-share", "0.3"), "--held-out-share: '0.3' is no share"),
            (("--held-out-share", "100%"), "at least 0 and below 1"),
            (("--seconds", "0"), "0 seconds: a search takes a time above 0"),
            (("--seconds", "inf"), "inf seconds: a search takes a time above 0 that ends"),
            (("--evaluations", "0"), "0 evaluations: a search tries one order at least"),
            (("--evaluations", str(2**64)), "one order at least, and 2^64 - 1 at most"),
            (("--evaluations", "9", "--seconds", "9"), "--seconds and --evaluations exclude"),
            (
                ("--cache", "1K,32", "--pages", "64,128"),
                "--pages 64: a cache of 32 bytes is smaller than its page of 64 bytes; the order",
            ),
            (
                ("--cache", "1K,8", "--cache-page", "32"),
                "a cache of 8 bytes is smaller than its page of 32 bytes; the order is for all",
            ),
            (
                ("--cache", "8"),
                "--pages 16: a cache of 8 bytes is smaller than its page of 16 bytes",
            ),
            (("--seed", str(2**64)), "--seed"),
            (("--held-out", str(CARD)), "was recorded in another image"),
        ],
    )
    def test_refused(self, flags: tuple[str, ...], message: str) -> None:
        """The error is one line that names the problem and the remedy."""
        assert message in fails("layout", SENSORS, *flags)

    def test_small_caches(self) -> None:
        """For a cache smaller than the usual page, the pages that fit are used."""
        few = ("--evaluations", "64")
        result = layout(SENSORS, *DESIGN, "--cache", "1K,32", "--pages", "16,32", *few)
        (first, second) = (row["design"]["cache_bytes"] for row in result["pages"][0]["cases"])
        assert (first, second) == (1024, 32)
        done = flashpager("layout", SENSORS, *DESIGN, "--cache", "64", *few)
        assert "note: cache pages of 128 bytes left out: a cache of 64 bytes is" in done.err
        assert not re.search(r"^\*?128 ", done.out, re.MULTILINE)

    def test_without_functions(self, tmp_path: Path) -> None:
        """A trace that names no functions has nothing to move."""
        trace = import_csv(tmp_path, "0,40\n64,40\n")
        assert "names no functions or methods" in fails("layout", trace)

    def test_python(self) -> None:
        """The Python interface finds an order and refuses wrong arguments."""
        design = Design(part="K9F1208Q0B", register="start-column", cache_bytes="2K")
        trace = Trace.open(SENSORS)
        result = package.layout(trace, design, pages=(64,), evaluations=500)
        assert result.best.found.time_ratio < result.best.baseline.time_ratio < 1
        assert sorted(result.best.order) == sorted(unit.name for unit in result.best.units)
        with pytest.raises(TypeError, match="layout takes a Design"):
            package.layout(trace, "2K")  # type: ignore[arg-type]
        with pytest.raises(FlashpagerError, match="comes twice in 64, 64"):
            package.layout(trace, design, pages=(64, 64))
        with pytest.raises(FlashpagerError, match="2 weights for 1 trace:"):
            package.layout(trace, design, weights=[1, 2])
        with pytest.raises(FlashpagerError, match="a seed of -1: it is 0 to"):
            package.layout(trace, design, seed=-1)
        with pytest.raises(FlashpagerError, match="is named twice"):
            package.layout([trace, trace], design)
        with pytest.raises(FlashpagerError, match="that the search sees"):
            package.layout(trace, design, held_out=trace)
