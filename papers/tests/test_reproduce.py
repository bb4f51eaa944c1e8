"""Published numbers beside ours: exact where they are, and judged by computing alone."""

import sys
from pathlib import Path
from typing import Any

import pytest

from checks import sound
from flashpager.base import installed
from flashpager_papers import flash_media, measurements
from flashpager_papers.claim import Claim, Verdict
from tests.conftest import ROOT, fails, flashpager


def claims_of(paper: str) -> list[dict[str, Any]]:
    """Return what --json prints of a paper."""
    document = flashpager("reproduce", paper, "--json").json
    assert set(document) == {"version", "claims"}
    claims: list[dict[str, Any]] = document["claims"]
    return claims


def changed(folder: Path, name: str, *edits: tuple[str, str]) -> str:
    """Write a part of the catalog with other numbers."""
    text = (ROOT / "parts" / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    file = folder / f"{name}.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def by_paper(claims: list[Claim], paper: str) -> list[Claim]:
    """Return the claims of a printed number."""
    matching = [claim for claim in claims if claim.paper == paper]
    assert matching, f"no claim of {paper}"
    return matching


def test_flash_media_claims() -> None:
    """Every claim says what it is, by what it is judged, and why."""
    claims = claims_of("flash-media")
    assert len(claims) > 35
    sound(claims)


@pytest.mark.parametrize(
    ("printed", "ours"),
    [
        ("17 ns", "17 ns"),
        ("128 ns", "128 ns"),
        ("52,805 ns", "52,805 ns"),
        ("52.82 µs", "52.82 µs"),
        ("77,982 ns", "77,982 ns"),
        ("27,083,173 bytes/s; 27.08 MB/s", "27,083,173 bytes/s; 27.0832 MB/s"),
        ("27,3126 ns", "273,126 ns"),
        ("7,732,695 bytes/s; 7.73 MB/s", "7,732,695 bytes/s; 7.7327 MB/s"),
        ("7; 35 ns", "7; 35 ns"),
        ("20 MHz; 17 %", "20 MHz; 16.67 %"),
        ("67 ns", "66.67 ns"),
        ("152 ns", "151.67 ns"),
        ("25 MB/s", "25 MB/s"),
    ],
)
def test_flash_media_numbers_that_hold(printed: str, ours: str) -> None:
    """The steps and sums of the article come out to the nanosecond."""
    assert [
        (claim.ours, claim.verdict) for claim in by_paper(flash_media.reproduce(), printed)
    ] == [(ours, Verdict.HOLDS)]


@pytest.mark.parametrize(
    ("printed", "ours", "words"),
    [
        ("2.68x", "2.6667x", "66.67"),
        ("9.6 MB/s", "12.701 MB/s", "units mixed"),
        ("6.5 MB/s", "6.593 MB/s", "truncated"),
        ("76 %", "77.45 %", "without t_R"),
        ("12.4 %; 8:1", "12.454 %; 8.03:1", "truncated"),
        ("24 MHz; 50 MHz", "25 MHz; 50 MHz", "SD specification"),
    ],
)
def test_flash_media_slips(printed: str, ours: str, words: str) -> None:
    """If the article is wrong, our number differs, and the reason stands beside it."""
    (claim,) = by_paper(flash_media.reproduce(), printed)
    assert (claim.ours, claim.verdict) == (ours, Verdict.FAILS)
    assert words in claim.why


def test_flash_media_shares_of_cards() -> None:
    """A share is judged of the card that it is said of; one figure for two cards is not judged."""
    claims = flash_media.reproduce()
    (reading,) = by_paper(claims, "50 %")
    assert reading.ours == "512 MB: 77.7 %; 2 GB: 50.1 %; mean: 63.9 %"
    assert [figure.of for figure in reading.figures] == ["2 GB"]
    assert reading.verdict is Verdict.HOLDS
    (writing,) = by_paper(claims, "64 %")
    assert writing.ours == "512 MB: 65.4 %; 2 GB: 63.1 %; mean: 64.2 %"
    assert writing.verdict is Verdict.NONE


def test_flash_media_overhead_is_time() -> None:
    """The time of software is a difference of times, not of shares of different rates."""
    (smaller,) = by_paper(flash_media.reproduce(), "a little smaller")
    times = {figure.of: figure.values for figure in smaller.figures}
    # 512/3373 - 512/5041 and 512/5132 - 512/10240 ms.
    assert times["reading the 2 GB card"] == pytest.approx((50.23, 49.77), abs=0.01)
    assert len(times) == 4
    assert smaller.verdict is Verdict.HOLDS


def test_flash_media_status_is_incomplete() -> None:
    """READ STATUS as summed is 142 ns; what the same table asks for is 195."""
    short, whole = by_paper(flash_media.reproduce(), "142 ns")
    assert (short.ours, short.verdict) == ("142 ns", Verdict.HOLDS)
    assert (whole.ours, whole.verdict) == ("195 ns", Verdict.DIFFERS)


def test_flash_media_without_a_tolerance() -> None:
    """Measured rates stand beside ours: how far they may be away, the article does not say."""
    for printed in ("5041 KB/s", "4161 KB/s"):
        (claim,) = by_paper(flash_media.reproduce(), printed)
        assert claim.verdict is Verdict.NONE
    for printed in ("25 µs", "220 µs"):
        (claim,) = by_paper(flash_media.reproduce(), printed)
        assert claim.verdict is Verdict.BUILT_IN


def test_flash_media_waits_and_data() -> None:
    """Times that the sums leave out, and the rate of data alone, stand beside them."""
    why = " ".join(claim.why for claim in flash_media.reproduce())
    for number in ("78,082", "273,296", "26.26", "12.84", "12.75"):
        assert number in why


def test_flash_media_verdicts_follow_the_part(tmp_path: Path) -> None:
    """Another chip flips verdicts both ways: none is written down."""
    slow = changed(
        tmp_path,
        "MT29F8G08",
        ("t_r_ns = { value = 25000", "t_r_ns = { value = 26000"),
        ("t_wc_ns = { value = 25", "t_wc_ns = { value = 30"),
        ("t_whr_ns = { value = 60", "t_whr_ns = { value = 7"),
        ("t_rea_ns = { value = 20", "t_rea_ns = { value = 12"),
    )
    claims = flash_media.reproduce({"MT29F8G08": slow})
    rate = "27,083,173 bytes/s; 27.08 MB/s"
    for printed in ("77,982 ns", rate, "27,3126 ns", "128 ns", "52,805 ns"):
        assert {claim.verdict for claim in by_paper(claims, printed)} == {Verdict.FAILS}
    both = [claim.verdict for claim in by_paper(claims, "142 ns")]
    assert both == [Verdict.HOLDS, Verdict.AGREES]
    card = changed(
        tmp_path, "SanDisk-2GB", ("clock_mhz = { value = 25", "clock_mhz = { value = 24")
    )
    (clock,) = by_paper(flash_media.reproduce({"SanDisk-2GB": card}), "24 MHz; 50 MHz")
    assert clock.verdict is Verdict.HOLDS


def test_measurements() -> None:
    """Each prediction is judged by its distance, and each miss has a cause."""
    claims = claims_of("measurements")
    measured = [claim for claim in claims if "measured" in claim]
    judged = [claim for claim in measured if "low" not in claim]
    assert len(judged) > 20
    sound(claims)
    for claim in measured:
        assert {"predicted", "unit", "cause"} <= set(claim)
        near = abs(claim["predicted"] / claim["measured"] - 1) <= 0.15
        assert claim["verdict"] == ("agrees" if near else "differs")
        assert (claim["threshold"], claim["threshold_at"]) == (["15"], "docs/estimate.md")
        assert bool(claim["cause"]) is not near
        assert claim["why"] or near
    reckoned = [claim for claim in claims if "measured" not in claim]
    kinds = {claim["claim"]: claim["kind"] for claim in reckoned}
    assert kinds["ath79-spi, 25 MHz asked of 225"] == "built in"
    assert kinds["mt7621-spi, 50 MHz asked of 220"] == "recomputed"
    assert not [claim for claim in measured if "Klipper" in claim["where"]]
    shown = flashpager("reproduce", "measurements")
    assert "15 % was aimed at" in shown.err
    near = sum(claim["verdict"] == "agrees" for claim in judged)
    assert f"{near} of {len(judged)} predictions are within 15 %" in shown.err
    header = shown.out.splitlines()[0].split()
    assert header == ["where", "claim", "measured", "predicted", "kind", "verdict", "why"]


def test_measurements_by_hand() -> None:
    """Two of the predictions, worked out: one bus alone, and the loop of the article."""
    claims = {
        claim.claim: claim
        for claim in measurements.reproduce()
        if isinstance(claim, measurements.Measurement)
    }
    # (104 + 18 + 4096) clocks of 1/45 µs.
    card = claims["a block over SPI at 45 MHz, mean of read: the bus alone"]
    assert card.predicted == pytest.approx(4218 / 45)
    # Four lines instead of one: 6 clocks a byte less, of 25 ns; and of each page's address and
    # dummies 16 clocks less.
    lines = claims["four data lines save, over one, for 128 KB"]
    assert lines.predicted == pytest.approx((131072 * 6 + 32 * 16) * 25 / 1e6)
    # A byte on each edge of 80 MHz: 48 bytes more. 100 KiB in lines of 64 and of 16 bytes.
    longer = claims["ESP32-S3, a line of 64 bytes instead of 16 takes longer by"]
    assert longer.predicted == pytest.approx(48 * 1e3 / 160)
    taken = [cycles / 0.24 * line / 102400 for cycles, line in ((278493, 64), (633664, 16))]
    assert longer.measured == round(taken[0] - taken[1])
    # (8 + 24 + 8 + 32) clocks of 1/75 µs.
    word = claims["PSRAM on one line at 75 MHz, no cache: a read of 32 bits"]
    assert word.predicted == pytest.approx(72 * 1e3 / 75)
    # (8 + 24 + 64) clocks of two cycles each.
    (turn,) = (claim for name, claim in claims.items() if name.startswith("PicoSoC"))
    assert turn.predicted == pytest.approx(96 * 2)
    # 10.7 ms instead of 5.9, at half the clock.
    (half,) = (claim for name, claim in claims.items() if "24 MHz instead of 48" in name)
    assert half.measured == round((73.7 - 63) / (68.9 - 63), 2)
    assert half.predicted == pytest.approx(2)


def test_measurements_follow_the_part(tmp_path: Path) -> None:
    """A part that loads as fast as was measured turns the miss into a hit."""
    name = "W25N01GV"
    quick = changed(tmp_path, name, ("t_r_ns = { value = 60000", "t_r_ns = { value = 50000"))

    def load(claims: list[Claim]) -> Claim:
        return by_paper(claims, "about 50 µs")[0]

    assert load(measurements.reproduce()).verdict is Verdict.DIFFERS
    assert load(measurements.reproduce({name: quick})).verdict is Verdict.AGREES


def test_refused() -> None:
    """Unknown papers are refused, and traces for papers without replays."""
    fails("reproduce", "nothing", words=["flash-media", "measurements"])
    for paper in ("flash-media", "measurements"):
        fails("reproduce", paper, "--traces", "examples/traces", words=[paper, "--traces"])
    fails("reproduce", "cardis", "--traces", "no-such-folder", words=["no-such-folder"])


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command is in a package of its own: if that is missing, one line says how to get it."""
    monkeypatch.setitem(sys.modules, "flashpager_papers", None)
    fails("reproduce", "swl", words=["not installed", "run 'make'"])
    monkeypatch.setattr(installed, "_CHECKOUT", installed.PACKAGE / "none")
    fails("reproduce", "swl", words=["pip install 'flashpager[papers]'"])
