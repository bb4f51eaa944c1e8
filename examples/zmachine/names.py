"""Write where the parts of a story lie, of what ``inform6 -k`` writes into ``gameinfo.dbg``.

    python names.py gameinfo.dbg > library.z5.names

A line each: address, bytes, name. Routines are named; so is all that is no routine.
"""

import sys
from xml.etree import ElementTree as ET

_CODE = "code area"


def _number(element: ET.Element, tag: str) -> int:
    return int(element.findtext(tag, "0"))


def parts(root: ET.Element) -> list[tuple[int, int, str]]:
    """Return address, bytes and name of each part that has bytes."""
    found = [
        (
            _number(routine, "address"),
            _number(routine, "byte-count"),
            routine.findtext("identifier", "?"),
        )
        for routine in root.iter("routine")
    ]
    for section in root.iter("story-file-section"):
        name, start = section.findtext("type", "?"), _number(section, "address")
        if name != _CODE:
            found.append((start, _number(section, "end-address") - start, name.replace(" ", "_")))
    return sorted(part for part in found if part[1] > 0)


if __name__ == "__main__":
    for address, size, title in parts(ET.parse(sys.argv[1]).getroot()):  # noqa: S314  (of our compiler)
        print(address, size, title)
