"""Laying out a program: what is promised of an order is what the arranged trace gives."""

import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import flashpager as package
from flashpager import Design, FlashpagerError, Trace
from tests.conftest import COMMAND, ROOT, fails, flashpager, import_csv

TRACES = ROOT / "examples" / "traces"
SENSORS = TRACES / "java" / "sensors.trace"
CARD = TRACES / "card-firmware.trace"
DESIGN = ("--part", "K9F1208Q0B", "--register", "start-column")


def layout(*arguments: str | Path) -> dict[str, Any]:
    """Give what the command says, of few orders."""
    result: dict[str, Any] = flashpager("layout", *arguments, "--json").json
    return result


class TestPrediction:
    """What is said of an order holds."""

    @pytest.mark.parametrize("policy", ["lru", "clock", "s3-fifo"])
    def test_arranged(self, policy: str, tmp_path: Path) -> None:
        """A Java trace arranged so has the counts and the time that were said."""
        order, arranged = tmp_path / "order.txt", tmp_path / "arranged.trace"
        flags = (*DESIGN, "--policy", policy)
        found = layout(SENSORS, *flags, "--pages", "32,64", "--evaluations", "2000", "-o", order)
        best = found["pages"][found["best"]] if "best" in found else found["pages"][0]
        names = order.read_text(encoding="utf-8").splitlines()
        assert names == best["order"]
        flashpager("trace", "arrange", SENSORS, "--order", order, "-o", arranged)
        page = str(best["cache_page_bytes"])
        row = flashpager("simulate", arranged, *flags, "--cache-page", page, "--json").json
        said = best["found"]["rows"][0]
        for name in ("misses", "loads", "bytes_fetched", "forward", "backward", "references"):
            assert said["counts"][name] == row["counts"][name]
        assert said["time"] == row["time"]
        before = flashpager("simulate", SENSORS, *flags, "--cache-page", page, "--json").json
        assert best["before"]["rows"][0]["counts"]["misses"] == before["counts"]["misses"]

    def test_held_out(self) -> None:
        """The end of a trace is not looked at, and another run of the program is judged by."""
        found = layout(
            *(SENSORS, *DESIGN, "--pages", "64", "--evaluations", "2000"),
            *("--held-out-share", "30%", "--held-out", SENSORS),
        )
        page = found["pages"][0]
        part, whole = page["before"]["held_out"]
        trained = page["before"]["rows"][0]["counts"]["bytes_read"]
        assert part["counts"]["bytes_read"] + trained == whole["counts"]["bytes_read"]
        assert page["found"]["held_out_ratio"] < page["before"]["held_out_ratio"]


class TestSearch:
    """How long it takes, and what it may find."""

    def test_repeats(self, tmp_path: Path) -> None:
        """With a number of evaluations the same is found; another seed finds another order."""
        orders = []
        for number, seed in enumerate(("1", "1", "2")):
            order = tmp_path / f"{number}.txt"
            flags = ("--cache-page", "64", "--evaluations", "1500", "--seed", seed)
            layout(CARD, *DESIGN, *flags, "-o", order)
            orders.append(order.read_text(encoding="utf-8"))
        assert orders[0] == orders[1] != orders[2]

    def test_never_worse(self) -> None:
        """Nor after one evaluation than the best published order and the recorded one."""
        found = layout(CARD, *DESIGN, "--evaluations", "2")
        for page in found["pages"]:
            ratios = [page[which]["time_ratio"] for which in ("found", "baseline", "before")]
            assert ratios == sorted(ratios)

    def test_several_designs(self) -> None:
        """Rows are by design, then by trace; the mean of their shares is the objective."""
        found = layout(CARD, *DESIGN, "--cache", "1K,2K", "--cache-page", "32", "--evaluations=500")
        page = found["pages"][0]
        sizes = [row["design"]["cache_bytes"] for row in page["found"]["rows"]]
        assert sizes == [1024, 2048]
        pairs = zip(page["found"]["rows"], page["before"]["rows"], strict=True)
        shares = [now["time"]["time_ns"] / then["time"]["time_ns"] for now, then in pairs]
        assert page["found"]["time_ratio"] == pytest.approx(sum(shares) / 2)

    def test_interrupted(self, tmp_path: Path) -> None:
        """Ctrl-C keeps the best so far."""
        order = tmp_path / "order.txt"
        command = [str(COMMAND), "layout", str(CARD), "--seconds", "600", "-o", str(order)]
        running = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        time.sleep(5)
        running.send_signal(signal.SIGINT)
        said, noted = running.communicate(timeout=60)
        assert running.returncode == 0, noted
        assert b"the best so far is kept" in noted
        assert b"best: cache pages" in said
        assert len(order.read_text(encoding="utf-8").splitlines()) > 100


class TestResident:
    """Code that lies in RAM."""

    def test_never_missed(self, tmp_path: Path) -> None:
        """It is read and never fetched; its bytes are RAM and no flash."""
        plain = layout(CARD, *DESIGN, "--cache-page", "64", "--evaluations", "200")["pages"][0]
        hot = sorted(plain["units"], key=lambda unit: -unit["executed_bytes"])[:3]
        names = [unit["name"] for unit in hot]
        listed = tmp_path / "resident.txt"
        listed.write_text("\n".join(names), encoding="utf-8")
        for given in (",".join(names), str(listed)):
            found = layout(
                *(CARD, *DESIGN, "--cache-page", "64", "--evaluations", "200"),
                *("--resident", given),
            )
            page = found["pages"][0]
            assert found["resident_bytes"] == sum(unit["bytes"] for unit in hot)
            assert page["image_bytes"] < plain["image_bytes"]
            assert not set(names) & set(page["order"])
            before, after = (page[which]["rows"][0] for which in ("before", "found"))
            assert before == plain["before"]["rows"][0]
            assert after["counts"]["bytes_read"] == before["counts"]["bytes_read"]
            assert after["counts"]["misses"] < plain["found"]["rows"][0]["counts"]["misses"]

    def test_refused(self) -> None:
        """A name of nothing, and all of it."""
        said = fails("layout", CARD, "--resident", "radio_pol")
        assert "'radio_pol' is no unit of the image; did you mean radio_poll" in said


class TestFace:
    """What is shown and what is refused."""

    def test_shown(self, tmp_path: Path) -> None:
        """A table, what takes the time, and a picture."""
        picture = tmp_path / "layout.svg"
        finished = flashpager(
            *("layout", CARD, *DESIGN, "--evaluations", "500", "--held-out-share", "30%"),
            *("--plot", picture),
        )
        assert "102 units that can move, 100.0 % of the executed bytes" in finished.out
        assert "held out: before" in finished.out
        assert "what takes the time now: execution out of RAM" in finished.out
        assert "alignment of 4 taken from where functions lie" in finished.err
        assert "who shares pages" in picture.read_text(encoding="utf-8")

    @pytest.mark.parametrize(
        ("flags", "said"),
        [
            (("--pages", "64", "--cache-page", "64"), "--pages and --cache-page exclude"),
            (("--pages", "48"), "--pages 48: a cache page of 48 bytes is no power of two"),
            (("--weights", "1,2"), "2 weights for 1 trace:"),
            (("--weights", "one"), "--weights: 'one' is no list of numbers"),
            (("--held-out-share", "0.3"), "--held-out-share: '0.3' is no share"),
            (("--held-out-share", "100%"), "at least 0 and below 1"),
            (("--seconds", "0"), "a search takes some time"),
            (("--held-out", str(CARD)), "was recorded in another image"),
        ],
    )
    def test_refused(self, flags: tuple[str, ...], said: str) -> None:
        """One line says what and what to do."""
        assert said in fails("layout", SENSORS, *flags)

    def test_without_functions(self, tmp_path: Path) -> None:
        """A trace that names no functions has nothing to move."""
        trace = import_csv(tmp_path, "0,40\n64,40\n")
        assert "names no functions or methods" in fails("layout", trace)

    def test_python(self) -> None:
        """The same from Python."""
        design = Design(part="K9F1208Q0B", register="start-column", cache_bytes="2K")
        trace = Trace.open(SENSORS)
        found = package.layout(trace, design, pages=(64,), evaluations=500)
        assert found.best.found.time_ratio < found.best.baseline.time_ratio < 1
        assert sorted(found.best.order) == sorted(each.name for each in found.best.units)
        with pytest.raises(TypeError, match="layout takes a Design"):
            package.layout(trace, "2K")  # type: ignore[arg-type]
        with pytest.raises(FlashpagerError, match="2 weights for 1 trace:"):
            package.layout(trace, design, weights=[1, 2])
