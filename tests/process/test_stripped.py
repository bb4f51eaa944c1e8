"""Tests of functions found in stripped programs, compared with their former symbols."""

import subprocess
from pathlib import Path

import polars as pl
import pytest

from tests.conftest import flashpager, info_of, need

_SOURCE = """
#include <stdio.h>
#define APART __attribute__((noinline, noclone)) static
APART int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * n; return s; }
APART int text(char *to, int n) { return snprintf(to, 40, "%d %x", n, sum(n)); }
APART int twice(char *to, int n) { return text(to, n) + text(to, n + 1) + sum(n); }
int main(void)
{
    char to[40];
    int seen = 0;
    for (int i = 0; i < 50; i++) seen += twice(to, i);
    return puts(to) < 0 || seen == 0;
}
"""


def _symbols(trace: Path) -> dict[int, tuple[str, int]]:
    (image,) = info_of(trace)["images"]
    return {symbol["offset"]: (symbol["name"], symbol["bytes"]) for symbol in image["symbols"]}


@pytest.mark.parametrize(
    ("prefix", "emulator", "libraries"),
    [
        ("", "qemu-x86_64", ""),
        ("aarch64-linux-gnu-", "qemu-aarch64", "/usr/aarch64-linux-gnu"),
        ("arm-linux-gnueabihf-", "qemu-arm", "/usr/arm-linux-gnueabihf"),
    ],
)
def test_functions(tmp_path: Path, prefix: str, emulator: str, libraries: str) -> None:
    """The functions found begin where functions with names began, and the layout can move them."""
    need(f"{prefix}gcc", emulator)
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text(_SOURCE, encoding="ascii")
    # On 32-bit ARM, C programs have unwind tables only with this flag; C++ programs always do.
    compiler = [f"{prefix}gcc", "-O1", "-funwind-tables"]
    subprocess.run([*compiler, "-o", program, source], check=True)
    environment = {"QEMU_LD_PREFIX": libraries} if libraries else {}
    traces = tmp_path / "named.trace", tmp_path / "stripped.trace"
    for trace in traces:
        flags = ("--image", program, "--section", ".text", "-o", trace)
        flashpager("record", "--no-reads", *flags, "--", program, env=environment)
        subprocess.run([f"{prefix}strip", program], check=True)
    assert pl.read_parquet(traces[0]).equals(pl.read_parquet(traces[1]))
    named, result = map(_symbols, traces)

    assert result
    for offset, (name, size) in result.items():
        known, bytes_of_known = named[offset]
        assert size >= bytes_of_known
        assert name == known or name.startswith("sub_")
    # ARM's index leaves out functions that are unwound like the function before them.
    own = {"sum", "text", "twice", "main"}
    begun = {named[offset][0] for offset in result} & own
    assert begun == own or ("arm-" in prefix and len(begun) > 1)

    order = tmp_path / "order.txt"
    shown = flashpager("layout", traces[1], "--evaluations", "20", "-o", order).out
    assert "found" in shown
    assert "sub_" in order.read_text(encoding="utf-8")
    message = flashpager("attribute", traces[1]).err
    assert "that no symbol names" in message
