"""Tests of the wheel and the source distribution, from record to report without a checkout.

`make test-dist` builds them and names their folder in FLASHPAGER_DIST.
"""

import json
import os
import re
import shutil
import stat
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from flashpager import __version__
from flashpager.base import installed
from tests import profiled
from tests.conftest import ROOT, need
from tests.dist.installation import Installation, forbidden, release
from tests.overlaid import CONSTRUCTS, PagedProgram
from tests.reach import firmware
from tests.tools import promised

DIST = os.environ.get("FLASHPAGER_DIST", "")

pytestmark = pytest.mark.skipif(not DIST, reason="nothing is released here: make test-dist")

CARD = "examples/traces/card-firmware.trace"
DESIGN = ("--part", "W25N01GV", "--cache", "2K")
#: The C programs in a package, each with the recorder or command that loads or starts it.
NATIVE: tuple[str, ...] = (
    "_engine.abi3.so",
    "_recorders/flashpager-qemu.so",
    "_recorders/flashpager-step",
)
#: Libraries of every Linux to which the wheel's tag applies.
LIBRARIES = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0"}
MACHINE = os.uname().machine
if MACHINE == "x86_64":
    NATIVE += ("_recorders/flashpager-page.so",)


@pytest.fixture(name="wheel", scope="module")
def _wheel() -> Path:
    return release(Path(DIST), "flashpager-*.whl")


@pytest.fixture(name="papers", scope="module")
def _papers() -> Path:
    return release(Path(DIST), "flashpager_papers-*.whl")


@pytest.fixture(name="installation", scope="module")
def _installation(
    wheel: Path, papers: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    need("unshare", "setpriv")
    reason = forbidden()
    if reason and promised():
        pytest.fail(f"the checkout cannot be hidden: {reason}")
    if reason:
        pytest.skip(f"the checkout cannot be hidden: {reason}")
    made = Installation.of(tmp_path_factory.mktemp("elsewhere"), wheel, papers)
    made.flashpager("examples")
    yield made
    made.remove()


def contents(wheel: Path) -> dict[str, int]:
    """Return the files of a wheel's package with their permissions."""
    with zipfile.ZipFile(wheel) as archive:
        return {
            info.filename: info.external_attr >> 16
            for info in archive.infolist()
            if info.filename.startswith("flashpager/")
        }


def test_the_papers_are_apart(wheel: Path, papers: Path) -> None:
    """The wheel of the papers holds them with their data, and the main wheel does not."""
    with zipfile.ZipFile(papers) as archive:
        held = set(archive.namelist())
    folder = ROOT / "papers" / "flashpager_papers"
    kept = {".csv", ".py", ".json", ".toml", ".typed"}
    listed = {
        str(path.relative_to(folder.parent))
        for path in folder.rglob("*")
        if path.suffix in kept or path.name == "py.typed"
    }
    assert {name for name in held if ".dist-info/" not in name} == listed
    assert papers.name.startswith(f"flashpager_papers-{__version__}-py3-none-any")
    assert not any("papers" in name for name in contents(wheel))


def test_the_package_is_out_of_reach(installation: Installation) -> None:
    """The user of these tests can neither see the checkout nor change the package."""
    installation.run("test", "!", "-e", ROOT / "Makefile")
    for folder in (installation.package, installation.package / "_recorders"):
        installation.run("test", "!", "-w", folder)
    path = installation.run("python", "-c", "import flashpager; print(flashpager.__file__)")
    assert Path(path.strip()).parent == installation.package


class TestWheel:
    """The contents of the wheel."""

    def test_files(self, wheel: Path) -> None:
        """The wheel holds code, recorders and examples; code and examples are the repository's."""
        held = contents(wheel)
        assert {f"flashpager/{name}" for name in NATIVE} <= set(held)
        built = ("java", "java-boot", "outliner")
        jars = {f"flashpager/_recorders/flashpager-{name}.jar" for name in built}
        assert {*jars, "flashpager/report/page.html"} <= set(held)
        listed = subprocess.run(
            ["git", "ls-files", *(f"examples/{name}" for name in installed.EXAMPLES)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        examples = {name for name in held if name.startswith("flashpager/examples/")}
        assert examples == {f"flashpager/{name}" for name in listed}
        package = subprocess.run(
            ["git", "ls-files", "flashpager"],
            cwd=ROOT / "python",
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        with zipfile.ZipFile(wheel) as archive:
            for name in package:
                assert archive.read(name) == (ROOT / "python" / name).read_bytes(), name
        sources = [*(ROOT / "runtime/pager").glob("*.[ch]"), *(ROOT / "runtime/pager").glob("*/*")]
        assert {f"flashpager/{path.relative_to(ROOT)}" for path in sources} <= set(held)
        assert wheel.stat().st_size < 16e6

    def test_programs_are_executable(self, wheel: Path) -> None:
        """The stepper, which the kernel starts, is executable."""
        held = contents(wheel)
        assert held["flashpager/_recorders/flashpager-step"] & stat.S_IXOTH
        assert not any(mode & stat.S_IWOTH for mode in held.values())

    def test_the_tag_is_true(self, wheel: Path, tmp_path: Path) -> None:
        """The programs in the wheel need no newer C library than its name promises."""
        need("objdump")
        promise = re.search(r"-cp311-abi3-manylinux_(\d+)_(\d+)_", wheel.name)
        assert promise, wheel.name
        with zipfile.ZipFile(wheel) as archive:
            for name in NATIVE:
                file = archive.extract(f"flashpager/{name}", tmp_path)
                result = subprocess.run(
                    ["objdump", "-p", file], capture_output=True, text=True, check=True
                ).stdout
                versions = [
                    (int(major), int(minor))
                    for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", result)
                ]
                assert versions, name
                assert max(versions) <= (int(promise[1]), int(promise[2])), name
                libraries = set(re.findall(r"NEEDED +(\S+)", result))
                assert {one for one in libraries if not one.startswith("ld-")} <= LIBRARIES, name

    def test_no_file_names_the_checkout(self, wheel: Path) -> None:
        """No file of the wheel holds the path of the checkout."""
        with zipfile.ZipFile(wheel) as archive:
            leading = [
                name for name in archive.namelist() if str(ROOT).encode() in archive.read(name)
            ]
        assert not leading

    def test_version(self, wheel: Path, installation: Installation) -> None:
        """The version is the one in Cargo.toml."""
        assert wheel.name.startswith(f"flashpager-{__version__}-")
        assert installation.flashpager("--version").split() == ["flashpager", __version__]
        listed = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
        assert f'\nversion = "{__version__}"' in listed


class TestRecording:
    """Recordings by the installed package with all recorders."""

    @pytest.mark.parametrize(
        ("recorder", "tool", "command"),
        [
            ("qemu", f"qemu-{MACHINE}", ("ls", "/")),
            ("lackey", "valgrind", ("ls", "/")),
            # The stepper is slow, so its program is short.
            ("step", "sh", ("true",)),
        ],
    )
    def test_machine_code(
        self, installation: Installation, recorder: str, tool: str, command: tuple[str, ...]
    ) -> None:
        """A program of the system; the trace runs through a cache."""
        need(tool)
        trace = f"{recorder}.trace"
        installation.flashpager(
            "record", "--no-reads", "--recorder", recorder, "-o", trace, "--", *command
        )
        result = json.loads(installation.flashpager("trace", "info", trace, "--json"))
        assert result["instructions"] > 20
        installation.flashpager("simulate", trace, *DESIGN)

    def test_java(self, installation: Installation) -> None:
        """A class of the user's is recorded."""
        need("java", "javac")
        source = installation.work / "Main.java"
        source.write_text(
            "class Main { public static void main(String[] words) {"
            ' for (int i = 0; i < 9; i++) System.out.println("round " + i); } }',
            encoding="utf-8",
        )
        installation.run("javac", source.name)
        command = (
            "record",
            "--no-reads",
            "--java",
            "-o",
            "java.trace",
            "--",
            "java",
            "-cp",
            ".",
            "Main",
        )
        assert "round 8" in installation.flashpager(*command)
        result = json.loads(installation.flashpager("trace", "info", "java.trace", "--json"))
        assert result["instructions"] > 9

    def test_a_missing_recorder(self, installation: Installation) -> None:
        """The message asks the user of a package to install it again, not to build it."""
        jar = installation.package / "_recorders" / "flashpager-java.jar"
        need("java")
        kept = installation.place / jar.name
        installation.rights("u+w")
        shutil.move(jar, kept)
        try:
            command = ("record", "--no-reads", "--java", "-o", "j.trace", "--", "java", "Main")
            message = installation.flashpager(*command, code=2)
        finally:
            shutil.move(kept, jar)
            installation.rights("a-w")
        assert "install flashpager again" in message
        assert "make" not in message


COMMANDS = {
    "simulate": ("simulate", CARD, *DESIGN),
    "attribute": ("attribute", CARD, *DESIGN, "--limit", "3"),
    "heat": ("heat", "swo.bin", "--elf", "sampled.elf", "--plot", "heat.png"),
    "explore": ("explore", CARD, "--part", "W25N01GV", "--ram", "2K", "-o", "table.parquet"),
    "compare": ("compare", "table.parquet", "table.parquet"),
    "estimate": ("estimate", "--part", "W25N01GV", "--plot", "waterfall.png"),
    "handler": ("handler",),
    "layout": ("layout", CARD, *DESIGN, "--evaluations", "5", "-o", "order.json"),
    "luck": ("luck", CARD, *DESIGN, "--draws", "2"),
    "homes": ("homes", CARD, "--part", "W25N01GV", "--register", "random-column", "--cache", "2K"),
    "tune": ("tune", "--integration", "make"),
    "reach": ("reach", "closed.elf", "--root", "handler"),
    "pin": ("pin", CARD, *DESIGN, "--ram", "64", "-o", "pinned.txt"),
    "deploy": ("deploy", CARD, *DESIGN, "-o", "deployed"),
    "verify": ("verify", CARD, *DESIGN),
    "verify tags": (
        *("verify", CARD, *DESIGN, "--part", "MT29F1G08ABAEA", "--register", "random-column"),
        *("--cache", "8K", "--cache-page", "512", "--tag", "8", "--mac", "aes-cmac"),
        *("--key", "key.hex", "--image-version", "1"),
    ),
    "overlay": ("overlay", "linked.elf", "--ram", "1K", "-o", "overlay"),
    "page": ("page", "--frames", "4", "--policy", "clock", "--json", "--", "/usr/bin/true"),
    "report": ("report", CARD, *DESIGN, "-o", "report.html", "--plots", "plots"),
    "trace": ("trace", "info", CARD),
    "boards": ("boards",),
    "cores": ("cores",),
    "a core": ("simulate", CARD, "--processor", "cortex-m3@64MHz"),
    "a board": ("simulate", CARD, "--board", "smartcard"),
    "parts list": ("parts", "list"),
    "parts show": ("parts", "show", "W25N01GV"),
    "swap bench": (
        *("swap", "bench", "--ram", "4M", "--medium", "nand:4M", "--chunk", "256K"),
        *("--random-pages", "64"),
    ),
    **{
        f"reproduce {paper}": ("reproduce", paper)
        for paper in ("cardis", "flash-media", "measurements", "swl", "mtdcompr")
    },
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command(installation: Installation, name: str) -> None:
    """Each command answers, and writes the requested file."""
    if name.startswith("verify"):
        need("arm-none-eabi-gcc", "qemu-system-arm")
        (installation.work / "key.hex").write_text("00" * 16, encoding="ascii")
    if name == "reach":
        need("arm-none-eabi-gcc")
        firmware.link(installation.work / "closed.elf")
    if name == "overlay":
        need("arm-none-eabi-gcc")
        program = PagedProgram(installation.work, CONSTRUCTS)
        program.link(installation.work / "linked.elf", (), ("-Wl,--emit-relocs",))
    if name == "heat":
        function = profiled.ProfiledFunction("main", profiled.FLASH, 64)
        profiled.write_elf(installation.work / "sampled.elf", [function])
        swo = profiled.itm([profiled.FLASH + at % 64 for at in range(200)])
        (installation.work / "swo.bin").write_bytes(swo)
    command = COMMANDS[name]
    assert installation.flashpager(*command).strip()
    for file in command:
        if file.endswith((".png", ".html", ".parquet")):
            assert (installation.work / file).stat().st_size > 1000
    if name == "tune":
        assert Path(installation.flashpager(*command).strip()).is_file()
    if "--plots" in command:
        assert list((installation.work / "plots").glob("*.png"))


def test_swap_vm_wants_a_checkout(installation: Installation) -> None:
    """The sources of the kernel module are not installed, and one line states that."""
    message = installation.flashpager("swap", "vm", code=2)
    assert "no sources of the kernel module" in message
    assert "checkout" in message
    assert message.strip().count("\n") == 0


def test_without_the_papers(installation: Installation) -> None:
    """Without the optional package of the papers, one line names how to install it."""
    kept = installation.place / "papers"
    package = installation.package.parent / "flashpager_papers"
    installation.rights("u+w")
    shutil.move(package, kept)
    try:
        message = installation.flashpager("reproduce", "swl", code=2)
    finally:
        shutil.move(kept, package)
        installation.rights("a-w")
    assert "pip install 'flashpager[papers]'" in message
    assert message.strip().count("\n") == 0


def test_every_command_has_been_called(installation: Installation) -> None:
    """A new command is installed, too."""
    called = {command[0] for command in COMMANDS.values()} | {"record", "FILE", "examples"}
    listed = re.findall(r"^  (\w+)  ", installation.flashpager("--help"), re.MULTILINE)
    assert set(listed) == called


def test_the_library(installation: Installation) -> None:
    """The library works from Python, with types."""
    code = (
        "from flashpager import Design, Trace\n"
        f"trace = Trace.open({CARD!r})\n"
        "print(trace.info.instructions if hasattr(trace, 'info') else trace)\n"
    )
    assert installation.run("python", "-c", code).strip()
    assert (installation.package / "py.typed").exists()


class TestSourceDistribution:
    """The source distribution, from which `make dist` builds the wheel."""

    def test_other_contents(self) -> None:
        """The archive holds licences, the C library and sources of all recorders, each once."""
        with tarfile.open(release(Path(DIST), "*.tar.gz")) as archive:
            names = archive.getnames()
        folder = f"flashpager-{__version__}"
        for name in (
            "LICENSE-MIT",
            "recorders/qemu/COPYING",
            "recorders/java/pom.xml",
            "runtime/Makefile",
            "docs/start.md",
        ):
            assert f"{folder}/{name}" in names
        assert sum(name.endswith("/traces/card-firmware.trace") for name in names) == 1
        assert len(names) == len(set(names))

    def test_files_are_those_of_the_checkout(self) -> None:
        """Each file is that of the checkout, of which Cargo may take what it has compiled."""
        with tarfile.open(release(Path(DIST), "*.tar.gz")) as archive:
            for member in archive:
                name = member.name.partition("/")[2]
                if member.isfile() and name != "PKG-INFO":
                    file = archive.extractfile(member)
                    assert file is not None
                    assert file.read() == (ROOT / name).read_bytes(), name
