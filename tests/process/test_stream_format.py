"""Tests that compare each writer of the recorder stream with one set of vectors.

``recorders/stream/vectors.json`` has a record of each kind with its bytes, as recorders/README.md
states them. A writer is tested on the kinds that it writes.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from flashpager.record import rp2040js
from tests import streams
from tests.conftest import ROOT, need

RECORDERS = ROOT / "recorders"

VECTORS: list[dict[str, Any]] = json.loads(
    (RECORDERS / "stream/vectors.json").read_text(encoding="utf-8")
)

#: Calls of the C writer for each kind of record.
C_CALLS = {
    "META": "{{ char text[] = {text}, *value = strchr(text, '='); *value++ = 0;"
    " stream_put_meta(&stream, text, value); }}",
    "MAP": "stream_put_map(&stream, {start}u, {end}u, {offset}u, {path});",
    "BLOCK": "stream_put_block(&stream, {address}u, {size}u, {instructions}u);",
    "number": "stream_put_word(&stream, {number}u);",
    "THREAD": "stream_put_thread(&stream, {number}u, {name}, {before}u);",
    "SWITCH": "stream_put_switch(&stream, {number}u);",
    "PROCESS": "stream_put_process(&stream, {number}u);",
    "READ": "stream_put_read(&stream, {address}u, {size}u, {begun}u);",
    "GAP": "stream_put_gap(&stream, {reason}, {instructions}u);",
    "END": "stream_put_end(&stream);",
}

C_PROGRAM = """
#include "stream.h"
static unsigned char shared[STREAM_TAIL_BYTES];
static struct stream stream;
static uint64_t start;
static void print(void)
{{
    for (; start < stream_unwritten(&stream); start++)
        printf("%02x", stream.tail->data[start]);
    puts("");
}}
int main(void)
{{
    stream_begin(&stream, shared, -1);
    print();
    {calls}
    return 0;
}}
"""


def lines(*command: str | Path) -> list[str]:
    """Run a command and return the lines that it prints."""
    done = subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8")
    return done.stdout.split()


def streams_of(vectors: list[dict[str, Any]]) -> list[str]:
    """Return the bytes of vectors, after those of the magic."""
    return [VECTORS[0]["stream"], *(vector["stream"] for vector in vectors)]


def test_vectors_have_every_kind() -> None:
    """Kinds are numbered from 1 without a gap, and the magic comes first."""
    heads = {vector["record"]: bytes.fromhex(vector["stream"])[3] & 0x7F for vector in VECTORS}
    assert VECTORS[0]["record"] == "magic"
    del heads["magic"], heads["number"]
    assert heads == {name: getattr(streams, name) for name in heads}
    assert sorted(heads.values()) == list(range(1, 12))


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["record"])
def test_python(vector: dict[str, Any]) -> None:
    """The writer of these tests."""
    assert streams.encode(vector).hex() == vector["stream"]


def test_c(tmp_path: Path) -> None:
    """The header of the QEMU plugin and the stepper."""
    need("gcc")
    vectors = [v for v in VECTORS if v["record"] in C_CALLS and "does" not in v]
    assert {vector["record"] for vector in vectors} == set(C_CALLS)
    calls = []
    for vector in vectors:
        fields = {
            name: json.dumps(value, ensure_ascii=False) if isinstance(value, str) else value
            for name, value in vector.items()
        }
        calls.append(C_CALLS[vector["record"]].format(**fields) + " print();")
    source, program = tmp_path / "writer.c", tmp_path / "writer"
    source.write_text(C_PROGRAM.format(calls="\n    ".join(calls)), encoding="utf-8")
    flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{RECORDERS / 'stream'}")
    subprocess.run(["gcc", *flags, "-o", program, source], check=True)
    assert lines(program) == streams_of(vectors)


def test_java(tmp_path: Path) -> None:
    """The Java agent's writer."""
    need("javac", "java")
    fields = {
        "META": ("text",),
        "METHOD": ("address", "size", "name"),
        "BLOCK": ("address", "size", "instructions", "does"),
        "THREAD": ("number", "before", "name"),
    }
    vectors = [
        vector
        for vector in VECTORS
        if all(name in vector for name in fields.get(vector["record"], "-"))
    ]
    assert {vector["record"] for vector in vectors} == set(fields)
    package = Path("java/flashpager/recorder")
    sources = (
        RECORDERS / "java/src/main" / package / "Stream.java",
        RECORDERS / "java/src/test" / package / "StreamTool.java",
    )
    flags = ("--release", "17", "-Xlint:all", "-Werror", "-encoding", "utf-8")
    subprocess.run(["javac", *flags, "-d", tmp_path, *sources], check=True)
    arguments = [
        "\t".join([vector["record"], *(str(vector[name]) for name in fields[vector["record"]])])
        for vector in vectors
    ]
    encoding = "-Dsun.jnu.encoding=UTF-8"
    tool = ("java", encoding, "-cp", tmp_path, "flashpager.recorder.StreamTool")
    assert lines(*tool, *arguments) == streams_of(vectors)


def test_javascript() -> None:
    """The writer of the script for rp2040js."""
    need("node")
    kinds = {"META", "BLOCK", "number", "READ", "END"}
    vectors = [v for v in VECTORS if v["record"] in kinds and "does" not in v]
    assert {vector["record"] for vector in vectors} == kinds
    module = (Path(rp2040js.__file__).parent / "stream.mjs").as_uri()
    script = f"""
        import {{ StreamWriter, MAGIC }} from {json.dumps(module)};
        console.log(Buffer.from(MAGIC).toString('hex'));
        const writer = new StreamWriter((bytes) => {{
          console.log(Buffer.from(bytes).toString('hex'));
          return bytes.length;
        }});
        for (const vector of JSON.parse(process.argv[1])) {{
          if (vector.record === 'META') writer.meta(vector.text);
          if (vector.record === 'BLOCK') {{
            writer.block(vector.address, vector.size, vector.instructions);
          }}
          if (vector.record === 'READ') writer.read(vector.address, vector.size, vector.begun);
          if (vector.record === 'number') writer.number(vector.number);
          if (vector.record === 'END') writer.end();
          writer.flush();
        }}
    """
    node = ("node", "--input-type=module", "-e", script, json.dumps(vectors))
    assert lines(*node) == streams_of(vectors)
