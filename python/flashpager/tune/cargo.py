"""A program that Cargo builds: its configuration, and the script that its linker includes."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole, read_toml
from flashpager.tune.configuration import NAME, LinkAdvice, TuneConfiguration

#: The linker script that `memory.x` includes.
SCRIPT = "flashpager.x"
#: Lines of a failed build that are shown.
_LAST_LINES = 15
#: The content of the script. rust-lld gives a section to the first statement that matches it, even
#: if INSERT moves that statement. `memory.x` includes these statements, so they come before those
#: of `link.x`.
_SCRIPT_TEXT = """\
/* Written by 'cargo flashpager'. memory.x includes it, behind MEMORY, for link.x of cortex-m-rt.
   That script has a .text, too, for which this one leaves nothing. */
/* The start-up code copies it with .data. It is first to choose functions. */
SECTIONS {{
    .flashpager_data : ALIGN(4) {{
        INCLUDE {pinned}
        . = ALIGN(4);
    }} > RAM AT > FLASH
}} INSERT AFTER .data;
SECTIONS {{
    .text : ALIGN(4) {{
        *(.Reset)
        INCLUDE {order}
        *(.text .text.*)
        *(.HardFaultTrampoline)
        *(.HardFault.*)
    }} > FLASH
}} INSERT AFTER .vector_table;
_stext = ALIGN(ADDR(.text) + SIZEOF(.text), ALIGNOF(.text));
"""


@dataclass(frozen=True, kw_only=True)
class CargoRequest:
    """The program to tune, as the command line names it."""

    #: The manifest; None for the one that Cargo finds from this folder.
    manifest: Path | None = None
    package: str | None = None
    binary: str | None = None
    profile: str = "release"
    #: Further options of ``cargo build``.
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class CargoProgram:
    """A program of a Cargo package."""

    #: The manifest of its package.
    manifest: Path
    #: The folder in which Cargo runs the linker.
    workspace: Path
    package: str
    binary: str
    #: The map that the linker writes for the workspace.
    map_: Path
    #: The source file at the root of the program.
    source: Path
    #: The table ``package.metadata.flashpager``.
    metadata: Mapping[str, object] | None

    @property
    def folder(self) -> Path:
        """The folder of the package, which holds the fragments."""
        return self.manifest.parent

    def from_workspace(self, name: str) -> str:
        """Return the path of a file of the package from the folder in which the linker runs."""
        folder = self.folder
        inside = folder.is_relative_to(self.workspace)
        return str((folder.relative_to(self.workspace) if inside else folder) / name)

    def relink_later(self) -> None:
        """Give the source a new time, so that Cargo links the program when it is built next.

        Cargo does not know that the linker reads the fragments.
        """
        with suppress(OSError):
            os.utime(self.source)


def find_program(request: CargoRequest) -> CargoProgram:
    """Find the program among those of the workspace.

    Raises:
        FlashpagerError: if Cargo finds no manifest, or the request fits no program or several.

    """
    where = ["--manifest-path", str(request.manifest)] if request.manifest else []
    done = _cargo("metadata", "--format-version", "1", "--no-deps", *where)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        message = f"cargo metadata: {lines[-1] if lines else 'failed'}"
        raise FlashpagerError(message)
    found = json.loads(done.stdout)
    packages = {each["name"]: each for each in found["packages"]}
    if request.package is not None and request.package not in packages:
        message = (
            f"--package {request.package}: no package of the workspace (its packages: "
            f"{', '.join(packages)})"
        )
        raise FlashpagerError(message)
    programs = [
        (package, target)
        for package in packages.values()
        if request.package in (None, package["name"])
        for target in package["targets"]
        if "bin" in target["kind"] and request.binary in (None, target["name"])
    ]
    if len(programs) != 1:
        named = ", ".join(sorted({target["name"] for _, target in programs}))
        count = f"{len(programs)} programs fit ({named})" if programs else "no program fits"
        message = f"cargo flashpager: {count}; name one with --package and --bin"
        raise FlashpagerError(message)
    [(package, target)] = programs
    metadata = package["metadata"]
    return CargoProgram(
        manifest=Path(package["manifest_path"]),
        workspace=Path(found["workspace_root"]),
        package=package["name"],
        binary=target["name"],
        map_=Path(found["target_directory"]) / "flashpager.map",
        source=Path(target["src_path"]),
        metadata=metadata.get("flashpager") if isinstance(metadata, dict) else None,
    )


def cargo_configuration(
    request: CargoRequest, program: CargoProgram, say: Callable[[str], None]
) -> TuneConfiguration:
    """Build the program, and return its configuration.

    The script and empty fragments are written where they are missing; ``say`` prints one line.

    Raises:
        FlashpagerError: if the configuration is wrong, or the build fails.

    """
    tables, path = _tables(program)
    if "build" in tables:
        message = f"{path}: [build]: leave this table out, since 'cargo flashpager' knows the build"
        raise FlashpagerError(message)
    build = {"command": "cargo", "elf": "?", "order": "order.ld", "pinned": "pinned.ld"}
    # A wrong field is refused before anything is written or built.
    TuneConfiguration.from_tables({**tables, "build": build}, path)
    _write_script(program)
    chosen = ["--manifest-path", str(program.manifest), "--profile", request.profile]
    chosen += ["--bin", program.binary, *request.options]
    elf = _built(program, chosen, say)
    # Cargo does not know that the linker reads the fragments.
    command = f"touch {shlex.quote(str(program.source))} && " + shlex.join(
        [_name(), "build", "--quiet", *chosen]
    )
    build |= {"command": command, "elf": str(elf), "map": str(program.map_)}
    map_ = program.map_
    if map_.is_relative_to(program.workspace):
        map_ = map_.relative_to(program.workspace)
    advice = LinkAdvice(
        include=(
            f"add the line 'INCLUDE {program.from_workspace(SCRIPT)}' to memory.x, behind MEMORY, "
            "for a link by rust-lld with link.x of cortex-m-rt; the included script is "
            f"{program.folder / SCRIPT}"
        ),
        map_=f'add "-C", "link-arg=-Map={map_}" to rustflags in .cargo/config.toml',
    )
    return TuneConfiguration.from_tables({**tables, "build": build}, path, advice)


def _tables(program: CargoProgram) -> tuple[Mapping[str, object], Path]:
    """Return the tables of the configuration, and the file that has them.

    Raises:
        FlashpagerError: if there is none, or there are two.

    """
    file = program.folder / NAME
    if program.metadata is not None and file.is_file():
        message = f"{file}: {program.manifest} has [package.metadata.flashpager], too; keep one"
        raise FlashpagerError(message)
    if file.is_file():
        return read_toml(file), file
    if program.metadata is None:
        message = (
            f"{program.manifest}: [package.metadata.flashpager] is missing; it has the tables run, "
            f"design, choose and verify of flashpager.toml, which may be {file} instead"
        )
        raise FlashpagerError(message)
    return program.metadata, program.manifest


def _write_script(program: CargoProgram) -> None:
    """Write the linker script and empty fragments where there are none."""
    for name in ("order.ld", "pinned.ld"):
        path = program.folder / name
        if not path.exists():
            path.touch()
    script = program.folder / SCRIPT
    text = _SCRIPT_TEXT.format(
        order=program.from_workspace("order.ld"), pinned=program.from_workspace("pinned.ld")
    )
    if not script.is_file() or script.read_text(encoding="utf-8") != text:
        with appearing_whole(script) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _built(program: CargoProgram, chosen: Sequence[str], say: Callable[[str], None]) -> Path:
    """Build the program, and return the path of its ELF file.

    Raises:
        FlashpagerError: if the build fails.

    """
    done = _cargo("build", "--message-format=json-render-diagnostics", *chosen)
    if done.returncode:
        for line in done.stderr.decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]:
            say(f"  {line}")
        message = f"{program.manifest}: 'cargo build' failed; its last lines are above"
        raise FlashpagerError(message)
    built: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    paths = [
        Path(each["executable"])
        for each in built
        if each.get("executable") and each["target"]["name"] == program.binary
    ]
    if not paths:
        message = f"{program.manifest}: 'cargo build' named no program {program.binary}"
        raise FlashpagerError(message)
    return paths[-1]


def _name() -> str:
    """Return the Cargo that started this command."""
    return os.environ.get("CARGO", "cargo")


def _cargo(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run Cargo.

    Raises:
        FlashpagerError: if it is not installed.

    """
    try:
        return subprocess.run(
            [_name(), *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except OSError as error:
        message = f"{_name()}: {error.strerror or error}; install Rust (rustup)"
        raise FlashpagerError(message) from None
