"""Pictures as files: PNG, SVG, or a page of HTML that needs no network."""

import json
import re
from collections.abc import Mapping
from io import BytesIO, StringIO
from pathlib import Path

import altair as alt
import vl_convert

from flashpager._engine import FlashpagerError
from flashpager.files import appearing_whole


def check_output(path: Path) -> None:
    """Refuse a file that :func:`write` could not write, before the work is done.

    Raises:
        FlashpagerError: for an unknown suffix or a missing folder.

    """
    if path.suffix not in (".html", ".png", ".svg"):
        message = f"{path}: the name must end with .html, .png or .svg"
        raise FlashpagerError(message)
    if not path.parent.is_dir():
        message = f"{path}: there is no folder {path.parent}"
        raise FlashpagerError(message)


def write(picture: alt.TopLevelMixin, path: Path) -> None:
    """Write a chart as the name's suffix says; a page needs no network."""
    check_output(path)
    if path.suffix == ".png":
        content = BytesIO()
        picture.save(content, format="png", scale_factor=2)
        written = content.getvalue()
    elif path.suffix == ".svg":
        text = StringIO()
        picture.save(text, format="svg")
        written = text.getvalue().encode()
    else:
        spec = json.dumps(picture.to_dict(), ensure_ascii=False).replace("<", "\\u003c")
        version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
        script = vl_convert.javascript_bundle(_DRAW, vl_version=version)
        script = re.sub(r"</(?=script)", r"<\\/", script, flags=re.IGNORECASE)
        written = (_PAGE[0] + spec + _PAGE[1] + script + _PAGE[2]).encode()
    with appearing_whole(path) as temporary:
        temporary.write_bytes(written)


def make_folder(folder: Path) -> None:
    """Make a folder for pictures, if it is not there, before the work is done.

    Raises:
        FlashpagerError: if it cannot be made.

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
