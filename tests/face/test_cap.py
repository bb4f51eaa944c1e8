"""The CAP reader of the Java recorder: where a class file's blocks lie on a card.

Oracle's converter cannot be used here, so the CAP files come from tests/cap_converter.py, which
knows where everything lies in them.
"""

import functools
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import cap_converter as converter
from tests.cap_converter import ClassFile, Member
from tests.conftest import ROOT, fails, flashpager, info_of, need, runs_of

JAVA = ROOT / "recorders" / "java" / "src"
READER = "java/flashpager/recorder/cap"

PURSE = """
package card;

public class Purse extends Account implements Limits {
    private static byte[] log = new byte[16];
    static short opened;
    private short balance;
    private byte[] pin = {1, 2, 3, 4};
    private byte tries = 3;
    Purse next;

    public Purse(short first) {
        balance = first;
        opened++;
    }

    public static Purse open(byte[] data, short offset) {
        Purse purse = new Purse((short) (data[offset] << 8 | data[(short) (offset + 1)] & 0xff));
        purse.next = offset > 2 ? null : purse;
        return purse;
    }

    public short process(byte[] data) {
        switch (data[0]) {
            case 0: return balance;
            case 1: return credit(data[1]);
            case 2: case 3: return debit(data[1]);
            case 5: return (short) (check(data, (short) 1) ? 1 : 0);
            default: return far(data);
        }
    }

    private short credit(short amount) {
        if (amount < 0 || (short) (balance + amount) > MOST) {
            return fail((short) 1);
        }
        balance += amount;
        return this.balance;
    }

    protected short debit(short amount) {
        try {
            if (amount > balance) {
                throw new Error();
            }
            balance -= amount;
        } catch (ArithmeticException e) {
            balance = 0;
        } catch (Error e) {
            log[0]++;
            return fail((short) (amount - balance));
        } finally {
            log[1] += 1;
        }
        return balance;
    }

    boolean check(byte[] data, short offset) {
        if (tries == 0) {
            return false;
        }
        for (short i = 0; i < pin.length; i++) {
            if (data[(short) (offset + i)] != pin[i]) {
                tries--;
                return false;
            }
        }
        return true;
    }

    short far(byte[] data) {
        short sum = 0;
        for (short i = 0; i < data.length; i++) {
            switch (data[i]) {
                case -100: sum += 1; break;
                case 7: sum -= twice(sum); break;
                case 100: sum = (short) (sum * 3 + 1000); break;
                default: sum ^= 0x55;
            }
            if (sum < -1000) {
FAR            }
        }
        return sum;
    }

    static short pick(boolean one, boolean two, short a) {
        return one ? a : (short) (two ? a + 1 : a - 1);
    }

    static short many(short a, short b, short c, short d, short e, short f, short g, short h,
            short i, short j, short k, short l, short m, short n, short o, short p) {
        return (short) (a + p);
    }

    public static void main(String[] arguments) {}
}
""".replace("FAR", "                sum += (short) (data[i] * data[0] + sum / 3);\n" * 12)
ACCOUNT = """
package card;

abstract class Account {
    abstract boolean check(byte[] data, short offset);

    short twice(short n) {
        return (short) (n << 1);
    }

    static short fail(short why) {
        return (short) -why;
    }
}
"""
LIMITS = """
package card;

interface Limits {
    short MOST = 10000;

    short process(byte[] data);
}
"""
TWINS = """
package card;

class One {
    short value() {
        return 1;
    }
}

class Two {
    short value() {
        return 2;
    }
}
"""


class Reader:
    """The reader, compiled, and class files for it."""

    def __init__(self, folder: Path) -> None:
        """Compile the reader's tool and the classes into a folder."""
        need("javac", "java")
        self._tool = folder / "tool"
        sources = [*JAVA.glob(f"main/{READER}/*.java"), *JAVA.glob(f"test/{READER}/*.java")]
        flags = ("--release", "17", "-Xlint:all", "-Werror")
        subprocess.run(["javac", *flags, "-d", self._tool, *sources], check=True)
        for name, text in {
            "Purse": PURSE,
            "Account": ACCOUNT,
            "Limits": LIMITS,
            "Twins": TWINS,
        }.items():
            (folder / f"{name}.java").write_text(text, encoding="ascii")
        # Class files for Java Card are never newer than version 8.
        subprocess.run(
            ["javac", "--release", "8", "-Xlint:-options", "-d", folder, *folder.glob("*.java")],
            check=True,
        )
        self.folder = folder

    def classes(self, *names: str) -> list[ClassFile]:
        """Convert some of the class files."""
        return [ClassFile(self.file(name)) for name in names]

    def file(self, name: str) -> Path:
        """Return a class file."""
        return self.folder / "card" / f"{name}.class"

    def run(self, *arguments: str | Path) -> list[list[str]]:
        """Run the tool of the reader's tests, and return its lines."""
        done = subprocess.run(
            ["java", "-Xmx128m", "-cp", self._tool, "flashpager.recorder.cap.CapTool", *arguments],
            check=True,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return [line.split("\t") for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Compile the reader."""
    return Reader(tmp_path_factory.mktemp("cap"))


ALL = ("Account", "Limits", "Purse")


def expected(method: Member, base: int = 0) -> list[list[str]]:
    """Return the lines of a method that has a place."""
    header, borders = len(method.header), sorted(method.borders)
    size = header + len(method.converted)
    lines = [
        ["method", method.name, method.descriptor, *map(str, (base + method.offset, header, size))]
    ]
    lines[0].append("-")
    last = borders[0]
    for border in borders:
        at = method.counterpart(border)
        size = at - method.counterpart(last)
        count = method.instructions(last, border)
        lines.append(["border", *map(str, (border, base + at, size, count))])
        last = border
    return lines


def methods(lines: list[list[str]]) -> dict[str, list[list[str]]]:
    """Return the lines of each method, by name and descriptor."""
    by_method: dict[str, list[list[str]]] = {}
    name = ""
    for line in lines:
        if line[0] == "method":
            name = line[1] + line[2]
        if line[0] in ("method", "border"):
            by_method.setdefault(name, []).append(line)
    return by_method


@pytest.mark.parametrize("debug", [False, True])
def test_all_borders(reader: Reader, tmp_path: Path, debug: bool) -> None:  # noqa: FBT001
    """Every border of every method lies where the converter put it."""
    classes = reader.classes(*ALL)
    cap = converter.write(tmp_path / "a.cap", "card", converter.components(classes, debug=debug))
    lines = reader.run("place", cap, *map(reader.file, ALL))
    code = [m for c in classes for m in c.methods if m.converted]
    want = [line for method in code for line in expected(method)]
    got = [line for line in lines if line[0] in ("method", "border")]
    initializer = ["method", "<clinit>", "()V", "-1", "0", "0", "a card has no class initializers"]
    assert [line for line in got if line != initializer] == want
    assert initializer in got
    # The bytes outside classes are exception handlers; every byte belongs to one part.
    table = code[0].offset
    assert table > 1
    assert lines[-1] == ["rest", "0", str(table), "card: exception handlers"]
    assert table + sum(len(m.header + m.converted) for m in code) == int(lines[0][1])
    # The test is only useful if the converter changed the code.
    purse = {m.name: m for m in classes[-1].methods}
    assert purse["many"].header[0] == 0x80
    assert any(op in purse["far"].converted for op in range(0x98, 0xA9))
    assert len(purse["debit"].handlers) > 2
    assert any(
        m.place[start] == m.place[end] and start < end
        for m in code
        for start, end in zip(sorted(m.borders), sorted(m.borders)[1:], strict=False)
    )


def test_files_lie_one_after_another(reader: Reader, tmp_path: Path) -> None:
    """A second file's addresses count from the end of the first."""
    one, two = reader.classes("Account"), reader.classes("One")
    first = converter.write(tmp_path / "a.cap", "other/place", converter.components(one))
    second = converter.write(tmp_path / "b.cap", "card", converter.components(two))
    base = len(converter.method_component(one))
    lines = reader.run("place", f"{first}:{second}", reader.file("One"))
    assert lines[0] == ["image", str(base + len(converter.method_component(two)))]
    code = [m for m in two[0].methods if m.converted]
    got = [line for line in lines if line[0] in ("method", "border")]
    assert got == [line for method in code for line in expected(method, base)]
    assert ["rest", str(base), "1", "card: exception handlers"] in lines
    elsewhere = reader.run("place", first, reader.file("One"))
    assert elsewhere[1][0] == "elsewhere"


def test_another_order_of_methods(reader: Reader, tmp_path: Path) -> None:
    """Methods in an unknown order are found by shape and code, or left out."""
    classes = reader.classes(*ALL)
    parts = converter.components(classes, reverse=True)
    cap = converter.write(tmp_path / "a.cap", "card", parts)
    got = methods(reader.run("place", cap, *map(reader.file, ALL)))
    for method in classes[-1].methods:
        if method.converted:
            assert got[method.name + method.descriptor] == expected(method)


def test_methods_that_disagree_are_left_out(reader: Reader, tmp_path: Path) -> None:
    """A method with different transfers has a place but no blocks; its neighbours have both."""
    classes = reader.classes(*ALL)
    purse = {m.name: m for m in classes[-1].methods}
    code = bytearray(purse["credit"].converted)
    jump = next(at for at in purse["credit"].starts if code[at] == 0x62)
    code[jump] = 0x63  # iflt became ifge
    purse["credit"].converted = bytes(code)
    table = purse["process"]
    at = table.converted.index(0x73)
    low = int.from_bytes(table.converted[at + 3 : at + 5]) + 1
    high = int.from_bytes(table.converted[at + 5 : at + 7]) + 1
    table.converted = (
        table.converted[: at + 3] + converter.u2(low, high) + table.converted[at + 7 :]
    )
    purse["check"].converted = (
        purse["check"].converted[:-2] + b"\x03\x79"
    )  # sreturn → ireturn: fine
    cap = converter.write(tmp_path / "a.cap", "card", converter.components(classes))
    got = methods(reader.run("place", cap, *map(reader.file, ALL)))
    for name, reason in {
        "credit": "its transfer or access to a class number 1 is iflt, in the CAP file ifge",
        "process": "its transfer or access to a class number 1 is a switch of other cases",
    }.items():
        lines = got[name + purse[name].descriptor]
        assert len(lines) == 1
        assert reason in lines[0][-1]
        assert int(lines[0][3]) == purse[name].offset
    for name in ("check", "debit", "far", "open", "many"):
        assert got[name + purse[name].descriptor] == expected(purse[name])


def test_classes_that_look_alike(reader: Reader, tmp_path: Path) -> None:
    """Two classes with the same shapes have places only if there are names."""
    names = ("One", "Two")
    classes = reader.classes(*names)
    for debug in (False, True):
        parts = converter.components(classes, debug=debug)
        cap = converter.write(tmp_path / "a.cap", "card", parts)
        lines = reader.run("place", cap, *map(reader.file, names))
        reasons = [line[3] for line in lines if line[0] == "class"]
        if debug:
            assert reasons == ["-", "-"]
            places = [line[3] for line in lines if line[:2] == ["method", "value"]]
            assert places == [str(c.methods[1].offset) for c in classes]
        else:
            assert all("2 classes of the CAP file look like it" in reason for reason in reasons)
            assert "method" not in [line[0] for line in lines]


def test_a_class_has_one_place(reader: Reader, tmp_path: Path) -> None:
    """A second class that looks like a class of the file does not get that class's place."""
    cap = converter.write(tmp_path / "a.cap", "card", converter.components(reader.classes("One")))
    lines = reader.run("place", cap, reader.file("One"), reader.file("Two"), reader.file("Purse"))
    reasons = {line[1]: line[3] for line in lines if line[0] == "class"}
    assert reasons["card/One"] == "-"
    assert reasons["card/Two"] == "the class of the CAP file that looks like it is card/One"
    assert "no class of the CAP file looks like it" in reasons["card/Purse"]


def test_damaged_files(reader: Reader, tmp_path: Path) -> None:
    """Each damaged file is reported in one line with its name."""
    whole = converter.components(reader.classes(*ALL), debug=True)

    def written(name: str, parts: dict[str, bytes]) -> Path:
        return converter.write(tmp_path / name, "card", parts)

    def without(*names: str) -> dict[str, bytes]:
        return {name: data for name, data in whole.items() if name not in names}

    (tmp_path / "text.cap").write_text("no CAP file", encoding="ascii")
    damaged = written("damaged.cap", whole)
    method = whole["Method"]
    damaged.write_bytes(damaged.read_bytes().replace(method, method[:-1] + b"\0"))
    header = whole["Header"]
    cases = {
        tmp_path / "missing.cap": "there is no such file",
        tmp_path / "text.cap": "zip",
        damaged: "checksum",
        written("method.cap", without("Method")): "no Method component",
        written("names.cap", without("Debug", "Descriptor")): "neither a Descriptor nor a Debug",
        written("directory.cap", without("Directory")): "no Directory component",
        written("extended.cap", whole | {"Header": header[:-1] + b"\x08"}): "extended format",
        written("magic.cap", whole | {"Header": header[:3] + bytes(7)}): "DECAFFED",
        written("size.cap", whole | {"Method": whole["Method"] + b"\0"}): "bytes, but",
        written("bomb.cap", whole | {"Method": bytes(1 << 24)}): "tag is 0",
        written("large.cap", whole | {"Method": b"\x07\xff\xff" + bytes(1 << 24)}): "more than",
    }
    lines = reader.run("each", *cases)
    for line, (file, message) in zip(lines, cases.items(), strict=True):
        assert line[0] == "wrong"
        assert line[1].startswith(f"{file}: ")
        assert message in line[1]


def test_damage_anywhere(reader: Reader, tmp_path: Path) -> None:
    """Reading and placing damaged files ends with an answer or a message, never in a crash."""
    chance = random.Random(7)  # noqa: S311  (not a secret)
    parts = converter.components(reader.classes(*ALL), debug=True)
    nameless = {name: data for name, data in parts.items() if name != "Debug"}
    files = []
    for number in range(400):
        changed = dict(nameless if number % 2 else parts)
        name = chance.choice(sorted(changed))
        data = bytearray(changed[name])
        for _ in range(chance.randint(1, 4)):
            data[chance.randrange(3, len(data))] = chance.randrange(256)
        if number % 5 == 0:
            data = data[: chance.randrange(3, len(data))]
            data[1:3] = converter.u2(len(data) - 3)
        changed[name] = bytes(data)
        files.append(converter.write(tmp_path / f"{number}.cap", "card", changed))
    lines = reader.run("each", *map(reader.file, ALL), *files)
    assert {line[0] for line in lines} == {"read", "wrong"}
    assert len(lines) == len(files)
    for line, file in zip(lines, files, strict=True):
        assert line[0] == "read" or line[1].startswith(f"{file}: ")


TERMINAL = """
package terminal;

public class Terminal {
    public static void main(String[] arguments) {
        byte[] data = new byte[16];
        int sum = 0;
        for (int i = 0; i < 200; i++) {
            data[0] = (byte) (i % 7);
            data[1] = (byte) (i * 37);
            data[2] = (byte) i;
            sum += card.Purse.open(data, (short) 1).process(data);
        }
        System.out.println(sum);
    }
}
"""


def test_a_recording_is_laid_out_as_on_the_card(reader: Reader, tmp_path: Path) -> None:
    """The execution of class files equals that of the CAP file's code, piece by piece."""
    need("java", "mvn")
    (tmp_path / "Terminal.java").write_text(TERMINAL, encoding="ascii")
    subprocess.run(
        ["javac", "-cp", reader.folder, "-d", reader.folder, tmp_path / "Terminal.java"], check=True
    )
    classes = reader.classes(*ALL)
    cap = converter.write(tmp_path / "a.cap", "card", converter.components(classes))

    def recorded(name: str, *options: str | Path) -> tuple[Path, str]:
        trace = tmp_path / f"{name}.trace"
        run = ("java", "-cp", reader.folder, "terminal.Terminal")
        message = flashpager("record", "--no-reads", "--java", *options, "-o", trace, "--", *run)
        return trace, message.out + message.err

    plain, _ = recorded("plain")
    card, message = recorded("card", "--cap", cap)
    assert "card.Purse.<clinit>(): a card has no class initializers" in message
    image = info_of(card)["images"][0]
    size = len(converter.method_component(classes))
    assert [(s["name"], s["offset"]) for s in image["sections"]] == [
        ("Method.cap", 0),
        ("bytecode", size),
    ]

    check_laid_out(card, size, tmp_path)

    symbols = {s["name"]: s for s in image["symbols"]}
    assert image["sections"][0]["bytes"] == size
    converted = {
        f"{c.name.replace('/', '.')}.{m.name}": m for c in classes for m in c.methods if m.converted
    }
    wanted: list[int] = []
    for offset, length in runs_of(plain):
        at = offset
        while at < offset + length:
            method = next(
                s for s in methods_of(plain) if s["offset"] <= at < s["offset"] + s["bytes"]
            )
            end = min(offset + length, method["offset"] + method["bytes"])
            first, last = at - method["offset"], end - method["offset"]
            name = method["name"].partition("(")[0]
            if name in converted:
                start = converted[name].counterpart(first)
                wanted.extend(range(start, converted[name].counterpart(last)))
            elif not name.endswith("<clinit>"):
                start = symbols[method["name"]]["offset"]
                wanted.extend(range(start + first, start + last))
            at = end
    assert [at for offset, length in runs_of(card) for at in range(offset, offset + length)] == (
        wanted
    )


def check_laid_out(card: Path, given_bytes: int, folder: Path) -> None:
    """Lay out classes that are in no CAP file, and check the prediction by a replay."""
    order, arranged = folder / "order.txt", folder / "arranged.trace"
    design = ("--cache", "128", "--part", "K9F1208Q0B")
    search = ("layout", card, *design, "--pages", "16", "--evaluations", "50", "-o", order)
    result = flashpager(*search, "--json").json
    assert "methods stay: CAP files are as their converter wrote them" in str(result["coverage"])
    (page,) = result["pages"]
    assert all(unit["fixed"] == (unit["before"] < given_bytes) for unit in page["units"])
    assert not any(name.startswith("card.") for name in page["order"])
    flashpager("trace", "arrange", card, "--order", order, "-o", arranged)
    simulated = flashpager("simulate", arranged, *design, "--cache-page", "16", "--json").json
    assert page["found"]["rows"][0]["counts"]["misses"] == simulated["counts"]["misses"]


@functools.cache
def methods_of(trace: Path) -> list[dict[str, Any]]:
    """Return the methods of a trace."""
    symbols: list[dict[str, Any]] = info_of(trace)["images"][0]["symbols"]
    return symbols


def test_a_file_that_is_not_a_cap_file_is_refused(reader: Reader, tmp_path: Path) -> None:
    """The program does not start, and one line gives the reason."""
    need("java", "mvn")
    cap = converter.write(tmp_path / "a.cap", "card", {})
    run = ("java", "-cp", reader.folder, "card.Purse")
    trace = tmp_path / "a.trace"
    fails(
        "record",
        "--no-reads",
        "--java",
        "--cap",
        cap,
        "-o",
        trace,
        "--",
        *run,
        words=[str(cap), "component"],
    )
    cap.write_text("none")
    fails(
        "record",
        "--no-reads",
        "--java",
        "--cap",
        cap,
        "-o",
        trace,
        "--",
        *run,
        words=["is no CAP file"],
    )
    assert not trace.exists()
