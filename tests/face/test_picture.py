"""Tests that SVG pictures are wide enough for their text in a wide font."""

from xml.etree import ElementTree as ET

import pytest

from flashpager.plots.picture import roomy

_SVG = 'xmlns="http://www.w3.org/2000/svg"'
_WORDS = '<rect width="100" height="20"/><text font-size="10px" x="0">WWWWWWWWWWWWWWWWWWWW</text>'
_BOX = 'width="100" height="20" viewBox="0 0 100 20"'


def test_a_picture_without_words_is_wide_enough() -> None:
    """The layout is wide enough for all text."""
    svg = f"<svg {_SVG} {_BOX}></svg>"
    assert roomy(svg) == svg


@pytest.mark.parametrize(
    "attributes",
    [
        _BOX,
        'viewBox="0 0 100 20" height="20" width="100"',
        'width="100" class="marks" height="20"\n viewBox="0 0 100 20" stroke-width="2"',
        'width="100" height="20"',
    ],
)
def test_it_grows_however_its_size_is_written(attributes: str) -> None:
    """The width and the box fit the text; the rest of the tag stays."""
    svg = f"<svg {_SVG} {attributes}>{_WORDS}</svg>"
    before, after = (ET.fromstring(text) for text in (svg, roomy(svg)))  # noqa: S314  (its own)
    # 20 capitals of 0.66 em, and a margin of 8.
    assert after.attrib["width"] == "148"
    assert after.attrib["viewBox"] == "-8 0 148 20"
    kept = set(before.attrib) - {"width", "viewBox"}
    assert {name: after.attrib[name] for name in kept} == {
        name: before.attrib[name] for name in kept
    }
