"""Print the address of each part of a story, from the ``gameinfo.dbg`` that ``inform6 -k`` writes.

    python names.py gameinfo.dbg > library.z5.names

Each line has address, length in bytes, and name of a routine, or of a section outside of the code.
"""

import sys
from xml.etree import ElementTree as ET

_CODE = "code area"


def _number(element: ET.Element, tag: str) -> int:
    return int(element.findtext(tag, "0"))


def parts(root: ET.Element) -> list[tuple[int, int, str]]:
    """Return address, length in bytes and name of each part that is not empty, in their order."""
    routines = [
        (
            _number(routine, "address"),
            _number(routine, "byte-count"),
            routine.findtext("identifier", "?"),
        )
        for routine in root.iter("routine")
    ]
    sections = []
    for section in root.iter("story-file-section"):
        name, start = section.findtext("type", "?"), _number(section, "address")
        if name != _CODE:
            size = _number(section, "end-address") - start
            sections.append((start, size, name.replace(" ", "_")))
    return sorted(part for part in routines + sections if part[1] > 0)


if __name__ == "__main__":
    for address, size, title in parts(ET.parse(sys.argv[1]).getroot()):  # noqa: S314  (inform6 wrote it)
        print(address, size, title)
