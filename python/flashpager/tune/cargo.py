"""A program that Cargo builds: its configuration, and the script that its linker includes."""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole, read_text, read_toml
from flashpager.tune.configuration import NAME, LinkAdvice, TuneConfiguration

#: The linker script that `memory.x` includes.
SCRIPT = "flashpager.x"
#: Lines of a failed build that are shown.
_LAST_LINES = 15
#: Paths that a linker script takes without quotes.
_PLAIN_PATH = re.compile(r"[\w./-]+")
#: The words by which a script of this command is known from one of the user's own.
_MARK = "Written by 'cargo flashpager'"
#: The content of the script. rust-lld gives a section to the first statement that matches it, even
#: if INSERT moves that statement. `memory.x` includes these statements, so they come before those
#: of `link.x`.
_SCRIPT_TEXT = """\
/* {mark}. memory.x includes it, behind MEMORY, for link.x of cortex-m-rt.
   That script has a .text, too, for which this one leaves nothing. */
/* The start-up code copies it with .data. It is first to choose functions. */
SECTIONS {{
    .flashpager_data : ALIGN(4) {{
        INCLUDE "{pinned}"
        . = ALIGN(4);
    }} > RAM AT > FLASH
}} INSERT AFTER .data;
SECTIONS {{
    .text : ALIGN(4) {{
        *(.Reset)
        INCLUDE "{order}"
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
    #: The other programs of the package, which link the same fragments.
    others: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder of the package, which holds the fragments."""
        return self.manifest.parent

    def from_workspace(self, name: str) -> str:
        """Return the path of a file of the package from the folder in which the linker runs.

        Raises:
            FlashpagerError: if no linker script can name it.

        """
        folder = self.folder
        inside = folder.is_relative_to(self.workspace)
        path = str((folder.relative_to(self.workspace) if inside else folder) / name)
        if '"' in path:
            message = f"{path}: a linker script takes no path with '\"'; rename the folder"
            raise FlashpagerError(message)
        return path

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
    found = _metadata(Path(), request.manifest)
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
    manifest = Path(package["manifest_path"])
    # Cargo takes .cargo/config.toml from the folder it runs in, which is the package's for builds.
    found = _metadata(manifest.parent, manifest)
    return CargoProgram(
        manifest=manifest,
        workspace=Path(found["workspace_root"]),
        package=package["name"],
        binary=target["name"],
        map_=Path(found["target_directory"]) / "flashpager.map",
        source=Path(target["src_path"]),
        metadata=_table(package["metadata"], manifest),
        others=tuple(
            each["name"]
            for each in package["targets"]
            if "bin" in each["kind"] and each["name"] != target["name"]
        ),
    )


def _metadata(folder: Path, manifest: Path | None) -> dict[str, Any]:
    """Return the description of a workspace that Cargo gives in a folder.

    Raises:
        FlashpagerError: if Cargo finds no manifest, or a wrong one.

    """
    where = ["--manifest-path", str(manifest)] if manifest else []
    done = _cargo(folder, "metadata", "--format-version", "1", "--no-deps", *where)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        message = f"cargo metadata: {lines[-1] if lines else 'failed'}"
        raise FlashpagerError(message)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _table(metadata: object, manifest: Path) -> Mapping[str, object] | None:
    """Return the table ``flashpager`` of a package's metadata; None if there is none.

    Raises:
        FlashpagerError: if it is no table.

    """
    table = metadata.get("flashpager") if isinstance(metadata, dict) else None
    if table is not None and not isinstance(table, dict):
        message = (
            f"{manifest}: [package.metadata] flashpager = {table!r}: must be a table, "
            "[package.metadata.flashpager]"
        )
        raise FlashpagerError(message)
    return table


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
    if program.others:
        say(
            f"{program.package}: order.ld and pinned.ld are made for {program.binary}; this "
            f"package's other programs link them, too: {', '.join(program.others)}"
        )
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
    script = _quoted(program.from_workspace(SCRIPT))
    advice = LinkAdvice(
        include=(
            f"add the line 'INCLUDE {script}' to memory.x, behind MEMORY, for a link by "
            "rust-lld with link.x of cortex-m-rt; the included script is "
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
    """Write the linker script and empty fragments where there are none.

    Raises:
        FlashpagerError: if a file of the script's name is not of this command.

    """
    script = program.folder / SCRIPT
    written = read_text(script) if script.exists() else None
    if written is not None and _MARK not in written:
        message = (
            f"{script}: is not written by 'cargo flashpager', which needs this name; rename it"
        )
        raise FlashpagerError(message)
    text = _SCRIPT_TEXT.format(
        mark=_MARK,
        order=program.from_workspace("order.ld"),
        pinned=program.from_workspace("pinned.ld"),
    )
    for name in ("order.ld", "pinned.ld"):
        path = program.folder / name
        if not path.exists():
            path.touch()
    if written != text:
        with appearing_whole(script) as temporary:
            temporary.write_text(text, encoding="utf-8")


def _quoted(path: str) -> str:
    """Return a path as a linker script has it."""
    return path if _PLAIN_PATH.fullmatch(path) else f'"{path}"'


def _built(program: CargoProgram, chosen: Sequence[str], say: Callable[[str], None]) -> Path:
    """Build the program, and return the path of its ELF file.

    Raises:
        FlashpagerError: if the build fails.

    """
    done = _cargo(program.folder, "build", "--message-format=json-render-diagnostics", *chosen)
    if done.returncode:
        for line in done.stderr.decode("utf-8", "replace").strip().splitlines()[-_LAST_LINES:]:
            say(f"  {line}")
        message = f"{program.manifest}: 'cargo build' failed; its last lines are above"
        raise FlashpagerError(message)
    paths = executables(done.stdout, program.binary)
    if not paths:
        message = f"{program.manifest}: 'cargo build' named no program {program.binary}"
        raise FlashpagerError(message)
    return paths[-1]


def executables(printed: bytes, binary: str) -> list[Path]:
    """Return the paths of a program that Cargo's messages name.

    Procedural macros may print lines of their own between the messages.
    """
    paths = []
    for line in printed.splitlines():
        with suppress(ValueError):
            message = json.loads(line) if line.startswith(b"{") else {}
            if message.get("executable") and message["target"]["name"] == binary:
                paths.append(Path(message["executable"]))
    return paths


def _name() -> str:
    """Return the Cargo that started this command."""
    return os.environ.get("CARGO", "cargo")


def _cargo(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run Cargo in a folder.

    Raises:
        FlashpagerError: if it is not installed.

    """
    try:
        return subprocess.run(
            [_name(), *arguments],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        message = f"{_name()}: {error.strerror or error}; install Rust (rustup)"
        raise FlashpagerError(message) from None
