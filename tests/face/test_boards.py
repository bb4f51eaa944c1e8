"""Boards by the names people use, and the catalogs that list them."""

import tomllib
from pathlib import Path

import pytest

from flashpager import _engine
from tests.conftest import ROOT, fails, flashpager

PLOTTER = ROOT / "examples" / "traces" / "pico" / "plotter.trace"
BOARDS = sorted(path.stem for path in (ROOT / "boards").glob("*.toml"))


class TestPico:
    """A Pico's flash runs at half of the system's clock."""

    def test_a_miss_takes_56_cycles(self) -> None:
        """A miss of 8 bytes takes 28 flash clocks of 2 system clocks; the SDK's default takes 4."""
        cycles = {
            board: flashpager("simulate", PLOTTER, "--board", board, "--json").json["losses"][
                "miss_cycles"
            ]
            for board in ("pico", "rp2040")
        }
        assert cycles == {"pico": pytest.approx(56), "rp2040": pytest.approx(112)}


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_is_described(name: str) -> None:
    """Each shipped board has a kind; boards to buy state chip, flash, boot code and processor."""
    table = tomllib.loads((ROOT / "boards" / f"{name}.toml").read_text(encoding="utf-8"))
    assert table["kind"] in ("board", "chip", "model")
    if table["kind"] == "board":
        assert "boot" in table["description"]
        assert table["part"]
        assert set(table["processor"]) == {"core", "clock_mhz"}
        assert _engine.find_core(table["processor"]["core"]).name == table["processor"]["core"]
    # Boards of papers and emulators have no prices but those of their files.
    if "ram" in table:
        processor = table["processor"]
        assert "none" in (processor, processor["core"] if isinstance(processor, dict) else "")


class TestCatalogs:
    """The catalogs list their entries without an argument, and show one with a name."""

    def test_list_describes_the_kinds(self) -> None:
        """One line describes the kinds to choose from; boards to buy come first."""
        listed = flashpager("boards").out
        assert listed.splitlines()[0].startswith("Choose the board that you have")
        kinds = [board["kind"] for board in flashpager("boards", "--json").json["boards"]]
        assert kinds == sorted(kinds, key=["board", "chip", "model"].index)
        assert listed == flashpager("boards", "list").out

    def test_a_name_shows(self) -> None:
        """``boards X`` and ``parts X`` are ``show X``."""
        assert flashpager("boards", "pico").out == flashpager("boards", "show", "pico").out
        assert flashpager("parts", "W25N01GV").out == flashpager("parts", "show", "W25N01GV").out
        part = flashpager("parts", "W25N01GV", "--json").json
        assert part == flashpager("parts", "show", "W25N01GV", "--json").json
        assert flashpager("parts").out == flashpager("parts", "list").out
        fails("boards", "pcio", words=["unknown board 'pcio'", "did you mean pico"])
        fails("parts", "W25N01", words=["W25N01"])


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    """A misspelt kind is refused; a board of the user's own needs no kind."""
    text = (ROOT / "boards/pico.toml").read_text(encoding="utf-8")
    board = tmp_path / "board.toml"
    for kind, words in (
        ('kind = "boardd"', ["board.toml", 'kind = "boardd"', "did you mean board", "chip, model"]),
        ("kind = 3", ["kind = 3", "board, chip, model"]),
    ):
        board.write_text(text.replace('kind = "board"', kind), encoding="utf-8")
        fails("simulate", PLOTTER, "--board", board, words=words)
        fails("estimate", "--board", board, words=words)
    board.write_text(text.replace('kind = "board"', ""), encoding="utf-8")
    flashpager("simulate", PLOTTER, "--board", board, "--json")


def test_a_fitted_board_names_no_processor(tmp_path: Path) -> None:
    """With the core `none` an estimate keeps its clock, and a design has no processor."""
    board = tmp_path / "board.toml"
    board.write_text('[processor]\ncore = "none"\nclock_mhz = 80\n', encoding="ascii")
    assert "run" not in flashpager("simulate", PLOTTER, "--board", board, "--json").json
    flashpager("estimate", "--board", board, "--part", "W25N01GV")
