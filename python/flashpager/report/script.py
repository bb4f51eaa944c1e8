"""The script of a page: Vega, Vega-Lite and Vega-Embed, and our own, which draw its charts."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import altair as alt

from flashpager._engine import FlashpagerError

_OURS = Path(__file__).with_name("page.js")
#: A program that makes the script from the path of our part and the version of Vega-Lite.
_BUNDLE = """
import pathlib, sys, vl_convert
ours = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
script = vl_convert.javascript_bundle(ours, vl_version=sys.argv[2])
sys.stdout.buffer.write(script.encode())
"""


@contextmanager
def bundled() -> Iterator[Callable[[], str]]:
    """Begin to make the script, and return a function that waits for it.

    That takes a second for any trace, during which vl-convert blocks all other threads of Python.
    So a process of its own makes it.
    """
    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    command = [sys.executable, "-P", "-c", _BUNDLE, str(_OURS), version]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:

        def wait() -> str:
            text, _ = process.communicate()
            if process.returncode:
                message = "the script of the page cannot be made: see the lines above"
                raise FlashpagerError(message)
            return re.sub(r"</(?=script)", r"<\\/", text.decode(), flags=re.IGNORECASE)

        try:
            yield wait
        finally:
            process.kill()
