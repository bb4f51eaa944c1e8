"""Pictures as files: PNG, SVG, or a page of HTML that needs no network."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from io import BytesIO, StringIO
from pathlib import Path
from xml.etree import ElementTree as ET

import altair as alt
import vl_convert

from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole

#: Width of a character as a share of DejaVu Sans' size, rounded up, and the factor for bold.
_LARGE_EM, _SMALL_EM, _BOLD = 0.66, 0.53, 1.18
#: Margin at the sides of text, in pixels.
_MARGIN = 8


def check_output(path: Path) -> None:
    """Refuse a file that :func:`write` cannot write, before the work begins.

    Raises:
        FlashpagerError: if the suffix is unknown or the folder is missing.

    """
    if path.suffix not in (".html", ".png", ".svg"):
        message = f"{path}: the name must end with .html, .png or .svg"
        raise FlashpagerError(message)
    if not path.parent.is_dir():
        message = f"{path}: there is no folder {path.parent}"
        raise FlashpagerError(message)


def write(picture: alt.TopLevelMixin, path: Path) -> None:
    """Write a chart in the format of the name's suffix; a page needs no network."""
    check_output(path)
    if path.suffix == ".png":
        content = BytesIO()
        picture.save(content, format="png", scale_factor=2)
        written = content.getvalue()
    elif path.suffix == ".svg":
        text = StringIO()
        picture.save(text, format="svg")
        written = roomy(text.getvalue()).encode()
    else:
        spec = json.dumps(picture.to_dict(), ensure_ascii=False).replace("<", "\\u003c")
        version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
        script = vl_convert.javascript_bundle(_DRAW, vl_version=version)
        script = re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)
        written = (_PAGE[0] + spec + _PAGE[1] + script + _PAGE[2]).encode()
    with appearing_whole(path) as temporary:
        temporary.write_bytes(written)


def roomy(svg: str) -> str:
    """Widen an SVG picture to the extent of its words in a wide font.

    The converter lays it out with a narrow font; a reader's font may be DejaVu Sans, which is a
    quarter wider.
    """
    root = ET.fromstring(svg)  # noqa: S314  (the converter's own)
    across = float(root.attrib["width"])
    spans = list(_spans(root, 0.0))
    left = math.ceil(max([0.0, *(_MARGIN - start for start, _ in spans)]))
    right = math.ceil(max([across, *(end + _MARGIN for _, end in spans)]))
    if left == 0 and right == across:
        return svg
    box = {"width": f"{left + right}"}
    box["viewBox"] = f"{-left} 0 {left + right} {root.attrib['height']}"
    svg = re.sub(r"<svg\b[^>]*", lambda tag: _with_attributes(tag[0], box), svg, count=1)
    paper = f'<rect x="{-left}" width="{left + right}"'
    return re.sub(r'<rect width="[^"]*"', paper, svg, count=1)


def _with_attributes(tag: str, attributes: Mapping[str, str]) -> str:
    """Set attributes of a tag that is still open; existing ones are replaced."""
    for name, value in attributes.items():
        tag = re.sub(rf'\s{name}="[^"]*"', "", tag) + f' {name}="{value}"'
    return tag


def _spans(element: ET.Element, across: float) -> Iterator[tuple[float, float]]:
    """Return the horizontal extents of words, in pixels; rotated words have none."""
    moved = re.match(r"translate\(([^,)]*)", element.get("transform", ""))
    across += float(moved[1]) if moved else 0.0
    if element.tag.endswith("}text") and "rotate" not in element.get("transform", ""):
        em = float(element.get("font-size", "0").removesuffix("px"))
        em *= _BOLD if element.get("font-weight") == "bold" else 1.0
        lines = [element.text or "", *(line.text or "" for line in element)]
        most = em * max(
            sum(
                _LARGE_EM if character.isupper() or character.isdigit() else _SMALL_EM
                for character in line
            )
            for line in lines
        )
        start = across - {"end": most, "middle": most / 2}.get(element.get("text-anchor", ""), 0.0)
        yield start, start + most
    for child in element:
        yield from _spans(child, across)


def make_folder(folder: Path) -> None:
    """Make a folder for pictures before the work begins. An existing one is kept.

    Raises:
        FlashpagerError: if the folder cannot be made.

    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        raise FlashpagerError(message) from None


def write_all(pictures: Mapping[str, alt.TopLevelMixin], folder: Path) -> list[Path]:
    """Write charts as PNG, by name, into a folder."""
    paths = [folder / f"{name}.png" for name in pictures]
    for path, chart in zip(paths, pictures.values(), strict=True):
        write(chart, path)
    return paths


_DRAW = """
const spec = JSON.parse(document.querySelector("#spec").textContent);
vegaEmbed("#chart", spec, {actions: false, renderer: "svg"})
  .then(() => { document.body.dataset.drawn = "yes"; })
  .catch((error) => { console.error(error); });
"""

_PAGE = (
    """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none';
 script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:">
<title>flashpager</title>
<style>#chart { overflow-x: auto; }</style>
</head>
<body>
<div id="chart"></div>
<noscript><p>The chart needs JavaScript.</p></noscript>
<script type="application/json" id="spec">""",
    """</script>
<script type="module">""",
    """</script>
</body>
</html>
""",
)
