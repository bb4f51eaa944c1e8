"""Tests of linker fragments for ESP-IDF, which is not here in whole.

They are read by a grammar written from its documentation, and by ldgen of an ESP-IDF that
``IDF_PATH`` names.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest

from tests.conftest import flashpager
from tests.process.test_integrations import run
from tests.process.test_pin_boot import DESIGN, compiled, linked, recorded

#: Mapping fragments without flags and conditions, by the grammar in the documentation, with names
#: as ldgen of ESP-IDF 5.0 takes them.
#: https://docs.espressif.com/projects/esp-idf/en/v5.0/api-guides/linker-script-generation.html
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_OBJECT = r"[A-Za-z_][A-Za-z0-9_-]*"
_FRAGMENT = re.compile(
    rf"\[mapping:(?P<name>{_NAME})\]\n"
    r"archive: (?P<archive>[A-Za-z0-9.\-_$+]+)\n"
    r"entries:\n"
    rf"(?P<entries>(?: +{_OBJECT}:{_NAME} \({_NAME}\)\n)+)\n*"
)


def mappings(text: str) -> list[tuple[str, str]]:
    """Return the archive and the entries of each mapping in a file of fragments."""
    found, at = [], 0
    while at < len(text):
        match = _FRAGMENT.match(text, at)
        assert match, f"no mapping fragment at: {text[at:]}"
        found.append((match["archive"], match["entries"]))
        at = match.end()
    return found


def test_esp_idf_reads_the_fragments(tmp_path: Path) -> None:
    """The file has mapping fragments by the grammar, and ldgen of an installed ESP-IDF reads it."""
    compiled(tmp_path)
    elf = linked(tmp_path, "fw.elf")
    written = tmp_path / "flashpager.lf"
    found = ("--map", f"{elf}.map", "--format", "esp-idf", "-o", written)
    names = flashpager("pin", recorded(elf), *DESIGN, *found, "--json").json["pinned"]
    [(archive, entries)] = mappings(written.read_text(encoding="ascii"))
    assert archive == "libapp.a"
    symbols = re.findall(r"^ +main:(\w+) \(noflash\)$", entries, re.MULTILINE)
    assert len(symbols) == len(entries.splitlines()) == len(names) >= 2
    if "IDF_PATH" in os.environ and importlib.util.find_spec("pyparsing"):
        program = (
            "import sys; from ldgen.fragments import parse_fragment_file; "
            "[mapping] = parse_fragment_file(sys.argv[1], None).fragments; "
            "print(mapping.archive, *sorted(symbol for _, symbol, _ in mapping.entries))"
        )
        folder = Path(os.environ["IDF_PATH"], "tools/ldgen")
        printed = run(folder, sys.executable, "-c", program, written)
        assert printed.split() == [archive, *sorted(symbols)]


@pytest.mark.parametrize(
    "wrong",
    [
        "[mapping:a]\narchive: b.a\nentries:\n    main:f.constprop.0 (noflash)\n",
        "[mapping:a]\narchive: b.a\nentries:\n",
        "[mapping:a b]\narchive: b.a\nentries:\n    main:f (noflash)\n",
        "[mapping:a]\narchive: b.a\nentries:\n    3des:f (noflash)\n",
    ],
)
def test_the_grammar_refuses(wrong: str) -> None:
    """The grammar of these tests refuses the fragments that ldgen refuses."""
    with pytest.raises(AssertionError, match="no mapping fragment"):
        mappings(wrong)
