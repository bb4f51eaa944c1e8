"""Tests of the recorded Java programs: contents of the traces, and new layouts."""

from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, runs_of

SENSORS = ROOT / "examples" / "traces" / "java" / "sensors.trace"
MICAZ = ROOT / "boards" / "micaz.toml"
#: RAM that the sensor has left, 1.9 KB.
LEFT = 1945


def methods(trace: Path) -> list[str]:
    """Return the methods of a trace as they lie in flash."""
    (image,) = info_of(trace)["images"]
    return [symbol["name"] for symbol in image["symbols"]]


def class_of(method: str) -> str:
    """Return a method's class."""
    return method.partition("(")[0].rpartition(".")[0]


def test_the_description() -> None:
    """The description has blocks, calls and the predicted page, as JSON and as text."""
    result = flashpager("trace", "info", SENSORS, "--best-page", "--json").json
    assert (result["calls"], result["returns"]) == (89_675, 89_675)
    assert result["outside_instructions"] is None
    page = result["cache_page"]
    # A fault of an interpreter costs so much that larger pages are better than the predicted one.
    assert (page["predicted_bytes"], page["best_bytes"]) == (16, 128)
    assert set(page["bandwidths"]) == {str(1 << shift) for shift in range(3, 10)}
    uses = result["blocks"]["pages"]
    assert all(0 < use["used_share"] <= 1 for use in uses)
    whole = uses[-1]
    assert whole["pages"] == -(-result["image_bytes"] // whole["page_bytes"])
    done = flashpager("trace", "info", SENSORS, "--best-page")
    for words in ("89,675, 89,675", "not counted", "16 bytes predicted", "128 found"):
        assert words in done.out
    # The output names all assumptions on which the prices depend.
    design = page["design"]
    assert f"{design['part']}, {design['bus']}, {design['register']})" in done.out
    assert "assumed: " in done.err
    assert f"bus {design['bus']}" in done.err
    assert "cache page" not in done.err
    on_board = flashpager("trace", "info", SENSORS, "--board", "micaz")
    assert "board micaz: part, bus" in on_board.err
    assert flashpager("trace", "info", SENSORS).err == ""


def test_calls_without_recorded_calls(tmp_path: Path) -> None:
    """Calls counted by jumps to symbols are close to the recorded calls; without symbols none are.

    A loop at the very start of a method looks like calls of the method.
    """
    result = info_of(SENSORS)
    for kind in ("calls", "returns"):
        assert result["blocks"][f"seen_{kind}"] == pytest.approx(result[kind], rel=0.1)
    assert info_of(import_csv(tmp_path, "0,16\n8,8\n"))["blocks"]["seen_calls"] is None


def test_an_order_changes_the_layout(tmp_path: Path) -> None:
    """Named methods come first, the rest by class name; the old order can be restored."""
    before = methods(SENSORS)
    assert [class_of(m) for m in before] == sorted(class_of(m) for m in before)
    order, forward, back = tmp_path / "order.txt", tmp_path / "a.trace", tmp_path / "b.trace"
    order.write_text(
        "# radio first\nsensors.radio.*\nsensors.Mote.nothing\n\nsensors.Mote  # then\n"
    )
    message = flashpager("trace", "arrange", SENSORS, "--order", order, "-o", forward).err
    assert "1 of 3 lines of the order match no placed method: sensors.Mote.nothing" in message
    named = [m for m in before if class_of(m).startswith("sensors.radio.")]
    named += [m for m in before if class_of(m) == "sensors.Mote"]
    assert methods(forward) == named + [m for m in before if m not in named]
    assert runs_of(forward) != runs_of(SENSORS)
    flashpager("trace", "arrange", forward, "-o", back)
    assert methods(back) == before
    assert runs_of(back) == runs_of(SENSORS)


def test_traces_that_cannot_be_arranged(tmp_path: Path) -> None:
    """Errors: machine code, files that are not orders, and words that name nothing."""
    firmware = ROOT / "examples" / "traces" / "card-firmware.trace"
    output = tmp_path / "a.trace"
    fails("trace", "arrange", firmware, "-o", output, words=["only Java bytecode"])
    empty = tmp_path / "order.txt"
    empty.write_text("# nothing\n")
    fails("trace", "arrange", SENSORS, "--order", empty, "-o", output, words=["names no method"])
    empty.write_text("com.acme.Other\nmain\n")
    words = ["no line of the order names a method", "com.acme.Other, main"]
    fails("trace", "arrange", SENSORS, "--order", empty, "-o", output, words=words)
    assert not output.exists()
    fails("trace", "arrange", SENSORS, "--order", "nowhere", "-o", output, words=["nowhere"])
    fails(
        "trace",
        "arrange",
        SENSORS,
        "--keep",
        "some",
        "-o",
        output,
        words=["methods to keep 'some'", "used, all"],
    )
    fails("trace", "arrange", SENSORS, "-o", SENSORS, words=["would be overwritten"])
    assert not output.exists()


def test_the_ram_of_a_board() -> None:
    """Explore fits the RAM that the board has left; simulate fails beyond it."""
    ran = flashpager("explore", SENSORS, "--board", MICAZ, "--policy", "lru,clock", "--json").json
    assert 0 < ran["answer"]["best"]["ram_bytes"] <= LEFT
    assert all(row["ram_bytes"] <= LEFT for row in ran["answer"]["front"])
    more = flashpager("explore", SENSORS, "--board", MICAZ, "--ram", "3K", "--json").json
    assert more["answer"]["best"]["ram_bytes"] > LEFT
    done = flashpager("simulate", SENSORS, "--board", MICAZ, code=1)
    assert "need not met: RAM 2,042 bytes > 1,945 bytes" in done.err
