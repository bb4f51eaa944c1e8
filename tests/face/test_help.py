"""Tests of the help, its examples, old spellings, and the completion of names in a shell."""

import shlex
import shutil
from pathlib import Path

import pytest

from flashpager import _engine
from flashpager.cli import _COMMANDS, _OF_FILES
from flashpager.cli.help import EXAMPLES, GROUPS
from tests.conftest import ROOT, flashpager, process

_RUNNABLE = [
    (command, example)
    for command, examples in EXAMPLES.items()
    for example in examples
    # Recordings and builds of programs are tested in tests/process, samples in test_heat.py.
    if command not in ("record", "tune", "heat")
]


def test_each_command_is_in_one_group() -> None:
    """The first screen lists all commands in groups, and each of them once."""
    listed = [name for names in GROUPS.values() for name in names]
    assert sorted(listed) == sorted(set(_COMMANDS) - {_OF_FILES})
    out = flashpager("--help").out
    assert all(f"{title}:" in out for title in GROUPS)
    assert "FILE" in out


@pytest.mark.parametrize("command", ["simulate", "explore", "pin", "attribute"])
def test_options_are_in_panels(command: str) -> None:
    """Options of the design, those of output, and examples stand by themselves."""
    lines = flashpager(command, "--help").out.splitlines()
    panels = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert panels.index("Design:") < panels.index("Output:") < panels.index("Examples:")
    design, output = lines.index("Design:"), lines.index("Output:")
    assert design < next(at for at, line in enumerate(lines) if "--policy" in line[:30]) < output
    assert output < next(at for at, line in enumerate(lines) if "--json" in line[:30])


@pytest.mark.parametrize(("command", "example"), _RUNNABLE)
def test_examples_run(tmp_path: Path, command: str, example: str) -> None:
    """Each example of a help text works on the shipped traces."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    words = shlex.split(example.partition(" > ")[0])
    assert words[:2] == ["flashpager", command]
    done = flashpager(*words[1:], cwd=tmp_path, code=None)
    # An unmet need has an exit code of its own.
    assert done.code in (0, 1), done.err
    assert example in flashpager(command, "--help").out


def test_an_old_spelling() -> None:
    """A renamed option is accepted under its old name, with a note."""
    flags = ("swap", "bench", "--ram", "256K", "--chunk", "64K", "--medium", "pcm:256K")
    new = flashpager(*flags, "--processor", "200MHz")
    old = flashpager(*flags, "--cpu", "200MHz")
    assert new.out == old.out
    assert "note: --cpu is now spelled --processor" in old.err
    assert "now spelled" not in new.err


class TestCompletion:
    """Names that a shell completes."""

    @staticmethod
    def completed(line: str) -> list[str]:
        """Return what bash would complete at the end of a line."""
        words = line.split(" ")
        env = {
            "_FLASHPAGER_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
        }
        return process(env=env).out.split()

    def test_commands(self) -> None:
        """Commands begin as typed."""
        assert self.completed("flashpager att") == ["attribute"]

    def test_boards(self) -> None:
        """--board completes to the shipped boards."""
        names = {name for name, *_ in _engine.boards() if name.startswith("rp")}
        assert set(self.completed("flashpager simulate x.trace --board rp")) == names

    def test_parts(self) -> None:
        """--part completes to the parts of the catalog."""
        names = {part.name for part in _engine.catalog() if part.name.startswith("W25N")}
        assert set(self.completed("flashpager simulate x.trace --part W25N")) == names

    def test_nothing_is_recorded(self, tmp_path: Path) -> None:
        """A program in place of a trace is not run while names are completed."""
        program = tmp_path / "app"
        shutil.copy("/bin/true", program)
        assert self.completed(f"flashpager simulate {program} --board rp20") == ["rp2040"]
        assert self.completed(f"flashpager explore {program} --board rp20") == ["rp2040"]
        assert list(tmp_path.iterdir()) == [program]

    def test_the_last_of_a_list(self) -> None:
        """The last item of a list of policies is completed."""
        listed = self.completed("flashpager explore x.trace --policy lru,clo")
        assert "lru,clock" in listed

    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_the_script(self, shell: str) -> None:
        """The script that a shell reads is printed."""
        done = process(
            "--show-completion", shell, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
        )
        assert "_FLASHPAGER_COMPLETE" in done.out


def test_a_catalog_shows_what_is_named() -> None:
    """Without an argument the catalog is listed, with a part's name that part is shown."""
    assert flashpager("parts").out == flashpager("parts", "list").out
    assert flashpager("parts", "W25N01GV").out == flashpager("parts", "show", "W25N01GV").out
