"""Tests of moving cold parts of Java methods into methods of their own."""

import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from flashpager._engine import Design
from flashpager.choose.layout import layout
from flashpager.record.trace import Trace
from tests.conftest import ROOT, fails, flashpager, info_of, need
from tests.generated import java

_ROUNDS = int(os.environ.get("FLASHPAGER_TEST_ROUNDS", "3"))
#: All classes are verified, also those of the class path.
_RUN = ("java", "-Xverify:all", "-cp")


def _built(source: str, folder: Path) -> Path:
    folder.mkdir()
    (folder / "Main.java").write_text(source, encoding="ascii")
    command: list[str | Path] = ["javac", "-g", "-d", folder, folder / "Main.java"]
    subprocess.run(command, check=True)
    return folder


def _prints(folder: Path) -> str:
    done = subprocess.run([*_RUN, str(folder), "Main"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("seed", range(_ROUNDS))
def test_drawn_programs(tmp_path: Path, seed: int) -> None:
    """Outlined programs are verified and print the same, whatever is cut out of them."""
    need("java", "javac", "mvn")
    before = _built(java.program(seed), tmp_path / "before")
    trace = tmp_path / "before.trace"
    flashpager("record", "--no-reads", "--java", "-o", trace, "--", "java", "-cp", before, "Main")
    printed = _prints(before)
    for share, least in ((0, 1), (50, 1), (99, 4)):
        after = tmp_path / f"after-{share}"
        flags = ("-o", after, "--colder-than", f"{share}%", "--at-least", f"{least}")
        result = flashpager("layout", "outline", trace, before, *flags, "--json").json
        assert _prints(after) == printed
        assert result["executed"] == result["found"]
        assert not result["notes"]
    assert result["moved"]


_PARTS = """
public class Main {
    static int total;
    static long odd(int n) {
        long sum = n * 3L;
        if (n % 50 == 0) {
            long more = sum * 7;
            for (int i = 0; i < 3; i++) more += i * sum;
            sum = more - 11;
        }
        return sum;
    }
    int kept;
    void keep(int n) {
        kept += n;
        if (n == 99) { kept = kept * 5 - 3; total += kept; total ^= 0x5555; total *= 3; }
    }
    public static void main(String[] words) {
        Main one = new Main();
        for (int n = 0; n < 100; n++) { total += (int) odd(n); one.keep(n); }
        System.out.println(total + " " + one.kept);
    }
}
"""


def test_parts_are_methods(tmp_path: Path) -> None:
    """A cold part becomes a unit of the new recording, and its method is shorter as predicted."""
    need("java", "javac", "mvn")
    before, after = _built(_PARTS, tmp_path / "before"), tmp_path / "after"
    traces = [tmp_path / "before.trace", tmp_path / "after.trace"]
    command = ("--", "java", "-cp")
    flashpager("record", "--no-reads", "--java", "-o", traces[0], *command, before, "Main")
    result = flashpager("layout", "outline", traces[0], before, "-o", after, "--json").json
    flashpager("record", "--no-reads", "--java", "-o", traces[1], *command, after, "Main")
    sizes = []
    for trace in traces:
        (image,) = info_of(trace)["images"]
        sizes.append({symbol["name"]: symbol["bytes"] for symbol in image["symbols"]})
    # The code that ends the program is executed once, and so is cold beside the loop.
    cold = {"Main.odd(int)", "Main.keep(int)", "Main.main(java.lang.String[])"}
    assert {moved["method"] for moved in result["moved"]} == cold
    for moved in result["moved"]:
        assert sizes[1][moved["method"]] == sizes[0][moved["method"]] - moved["saved_bytes"]
        assert moved["into"] in sizes[1]
    assert set(sizes[1]) == set(sizes[0]) | {moved["into"] for moved in result["moved"]}


def test_jar(tmp_path: Path) -> None:
    """The result for a jar is a jar; its files other than classes are unchanged."""
    need("java", "javac", "mvn")
    project = ROOT / "examples" / "java" / "sensors"
    here = tmp_path / "sensors"
    shutil.copytree(project, here, ignore=shutil.ignore_patterns("target"))
    subprocess.run(["mvn", "-q", "-B", "-f", here / "pom.xml", "package"], check=True)
    jar, out = here / "target" / "sensors.jar", tmp_path / "out.jar"
    traces = [tmp_path / "before.trace", tmp_path / "after.trace"]
    printed = []
    for program, trace in ((jar, traces[0]), (out, traces[1])):
        if program is out:
            flashpager("layout", "outline", traces[0], jar, "-o", out)
        flags = ("--include", "sensors.*", "-o", trace, "--", "java", "-Xverify:all", "-jar")
        printed.append(flashpager("record", "--no-reads", "--java", *flags, program).out)
    assert printed[0] == printed[1]
    with zipfile.ZipFile(jar) as one, zipfile.ZipFile(out) as other:
        assert one.namelist() == other.namelist()
        for name in one.namelist():
            assert name.endswith(".class") or one.read(name) == other.read(name)
    design = Design.from_board("smartcard").replace(cache_bytes="2K")
    before, after = (
        layout(Trace.open(trace), design, pages=(64,), evaluations=4000) for trace in traces
    )
    assert after.best.found.rows[0].time.time_ns < before.best.found.rows[0].time.time_ns


class TestBadInput:
    """Bad input is an error of one line, and no file is written."""

    def test_other_programs(self, tmp_path: Path) -> None:
        """A trace of machine code, and classes of another program."""
        need("java", "javac", "mvn")
        classes = _built(_PARTS, tmp_path / "classes")
        out = tmp_path / "out"
        card = ROOT / "examples" / "traces" / "card-firmware.trace"
        refused = fails("layout", "outline", card, classes, "-o", out)
        assert "only methods of these are outlined" in refused
        purse = ROOT / "examples" / "traces" / "java" / "purse.trace"
        refused = fails("layout", "outline", purse, classes, "-o", out)
        assert "has none of the 144 methods" in refused
        trace = tmp_path / "a.trace"
        flashpager(
            "record", "--no-reads", "--java", "-o", trace, "--", "java", "-cp", classes, "Main"
        )
        other = _built(_PARTS.replace("n * 3L", "n * 3L + 1"), tmp_path / "other")
        refused = fails("layout", "outline", trace, other, "-o", out)
        assert "Main.odd(int): has different code in the recorded program" in refused
        # The outlined program differs from the recorded one, too.
        flashpager("layout", "outline", trace, classes, "-o", tmp_path / "outlined")
        refused = fails("layout", "outline", trace, tmp_path / "outlined", "-o", out)
        assert "has different code in the recorded program" in refused
        cut = tmp_path / "cut"
        shutil.copytree(classes, cut)
        whole = (cut / "Main.class").read_bytes()
        (cut / "Main.class").write_bytes(whole[: len(whole) // 2])
        refused = fails("layout", "outline", trace, cut, "-o", out)
        assert "Main.class: is not a complete class file" in refused
        refused = fails("layout", "outline", trace, classes, "-o", out, "--class-path", "none")
        assert "--class-path none: is not there" in refused
        assert not out.exists()
        assert not list(tmp_path.glob(".*"))

    def test_no_classes(self, tmp_path: Path) -> None:
        """Errors: neither a jar nor a folder, all code cold, an output folder that exists."""
        need("java", "mvn")
        purse = ROOT / "examples" / "traces" / "java" / "purse.trace"
        text = tmp_path / "text.jar"
        text.write_text("no jar", encoding="ascii")
        assert "neither a jar nor a folder" in fails("layout", "outline", purse, text, "-o", "x")
        flags = ("-o", "x", "--colder-than", "100%")
        assert "below 100%" in fails("layout", "outline", purse, text, *flags)
        refusal = fails("layout", "outline", purse, tmp_path, "-o", tmp_path)
        assert "would be overwritten" in refusal
