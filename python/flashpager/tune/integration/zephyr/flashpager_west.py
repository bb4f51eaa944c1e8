"""``west flashpager``: choose functions of a Zephyr application for RAM.

Copy this file and ``west-commands.yml`` into ``scripts`` of the manifest repository, and name the
latter in its ``west.yml``, as ``self: west-commands: scripts/west-commands.yml``.
"""

import argparse
import json
import re
import subprocess
from pathlib import Path

from west.commands import WestCommand

#: A source file in a call that flashpager wrote.
_SOURCE = re.compile(r"(?<=\(FILES ).+(?= FILTER )")


class Flashpager(WestCommand):
    """The command."""

    def __init__(self) -> None:
        """Describe the command."""
        super().__init__(
            "flashpager",
            "choose functions of a Zephyr application for RAM",
            "Chooses functions by 'flashpager pin', with the map of the build, and writes calls of "
            "zephyr_code_relocate. The application's CMakeLists.txt includes the file, behind "
            "find_package(Zephyr); CONFIG_CODE_DATA_RELOCATION is set. Other options are those of "
            "'flashpager pin'.",
            accepts_unknown_args=True,
        )

    def do_add_parser(
        self, parser_adder: "argparse._SubParsersAction[argparse.ArgumentParser]"
    ) -> argparse.ArgumentParser:
        """Add the options."""
        parser = parser_adder.add_parser(
            self.name, help=self.help, description=self.description, allow_abbrev=False
        )
        parser.add_argument("trace", help="a recording of build/zephyr/zephyr.elf, --as-linked")
        parser.add_argument("-d", "--build-dir", default="build", help="default: build")
        parser.add_argument("-o", "--output", default="flashpager.cmake", metavar="FILE")
        parser.add_argument("--board", required=True, help="one of 'flashpager boards', or a file")
        parser.add_argument("--ram", required=True, metavar="BYTES", help="RAM for functions")
        return parser

    def do_run(self, args: argparse.Namespace, unknown: list[str]) -> None:
        """Choose, and write the file. Unknown options are those of ``flashpager pin``."""
        build, output = Path(args.build_dir), Path(args.output)
        commands = build / "compile_commands.json"
        if not commands.is_file():
            self.die(f"{commands}: no such file; --build-dir names the folder of the build")
        sources = self._sources(commands)
        written = output.with_name(f".{output.name}.partial")
        command = ["flashpager", "pin", args.trace, "--board", args.board, "--ram", args.ram]
        command += ["--map", str(build / "zephyr/zephyr.map"), "--format", "zephyr"]
        try:
            self._pin([*command, *unknown, "-o", str(written)])
            calls = written.read_text(encoding="utf-8")
            calls = self._with_whole_paths(calls, sources, commands)
            written.write_text(calls, encoding="utf-8")
            written.replace(output)
        finally:
            written.unlink(missing_ok=True)
        self.inf(f"written: {output}")

    def _pin(self, command: list[str]) -> None:
        """Run ``flashpager pin``, which prints what it refuses."""
        try:
            done = subprocess.run(command, check=False)
        except FileNotFoundError:
            self.die("flashpager: not found on PATH; install it (pip install flashpager)")
        if done.returncode:
            raise SystemExit(done.returncode)

    def _sources(self, commands: Path) -> list[Path]:
        """Return the whole paths of the sources that the build compiles."""
        try:
            listed = json.loads(commands.read_text(encoding="utf-8"))
            return [Path(one["directory"], one["file"]) for one in listed]
        except (ValueError, KeyError, TypeError):
            self.die(f"{commands}: is no list of commands; configure the build again")

    def _with_whole_paths(self, calls: str, sources: list[Path], commands: Path) -> str:
        """Return calls that name each source by its whole path, in brackets of CMake.

        A map has the path of a source from the folder of its library.
        """

        def whole(match: "re.Match[str]") -> str:
            parts = Path(match[0]).parts
            found = {source for source in sources if source.parts[-len(parts) :] == parts}
            if len(found) != 1:
                fit = "no source" if not found else f"{len(found)} sources"
                self.die(f"{match[0]}: {fit} of {commands} with this path; leave it out by --never")
            return f"[==[{found.pop()}]==]"

        return _SOURCE.sub(whole, calls)
