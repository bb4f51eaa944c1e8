"""Tests of comparing two tables: matched rows, ratios by hand, and tables that do not match."""

import json
from math import prod
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import fails, flashpager, import_csv

SIZES = ("--cache", "128,256", "--cache-page", "32,64")
RUNS = "".join(f"{(n * 7919) % 3000},{1 + n % 50}\n" for n in range(500))


@pytest.fixture(name="trace", scope="module")
def _trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return import_csv(tmp_path_factory.mktemp("trace"), RUNS, "app.trace")


@pytest.fixture(name="tables", scope="module")
def _tables(trace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of tables: of LRU, Clock, another part, other designs, in all formats."""
    folder = tmp_path_factory.mktemp("tables")
    for name, flags in (
        ("lru.parquet", SIZES),
        ("lru.csv", SIZES),
        ("lru.jsonl", SIZES),
        ("clock.parquet", (*SIZES, "--policy", "clock")),
        ("part.parquet", (*SIZES, "--part", "MT29F2G08AAC")),
        ("both.parquet", (*SIZES, "--part", "MT29F2G08AAC", "--policy", "clock")),
        ("pages.parquet", ("--cache", "256,512", "--cache-page", "64,128")),
        ("far.parquet", ("--cache", "1K,2K", "--cache-page", "32,64")),
    ):
        flashpager("explore", trace, *flags, "-o", folder / name)
    return folder


def compared(a: Path, b: Path, *flags: str | Path) -> dict[str, Any]:
    """Return the one object that --json prints."""
    result: dict[str, Any] = flashpager("compare", a, b, "--json", *flags).json
    return result


def changed(source: Path, target: Path, expressions: list[pl.Expr], **about: object) -> Path:
    """Write a copy of a table with changed columns or metadata."""
    metadata = pl.read_parquet_metadata(source)
    kept = {**json.loads(metadata["flashpager"]), **about}
    frame = pl.read_parquet(source).with_columns(expressions)
    frame.write_parquet(target, metadata={"flashpager": json.dumps(kept)})
    return target


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_the_same_in_all_formats(tables: Path, suffix: str) -> None:
    """Every format holds the same designs and numbers."""
    result = compared(tables / "lru.parquet", tables / f"lru.{suffix}")
    assert (result["matched"], result["only_a"], result["only_b"]) == (4, 0, 0)
    for ratio in ("time_ratio", "bandwidth_ratio"):
        assert result[ratio] == {"geometric_mean": 1, "best": 1, "worst": 1}
    assert result["changes"] == []
    assert result["different_counts"] == result["across"] == result["changed_traces"] == {}
    assert result["a"]["best"] == result["b"]["best"]
    assert result["versions_differ"] is (False if suffix == "parquet" else None)
    shown = flashpager("compare", tables / "lru.parquet", tables / f"lru.{suffix}")
    assert "no row in both has changed" in shown.out
    assert ("version not known" in shown.out) == (suffix != "parquet")
    assert shown.err == ""


@pytest.mark.parametrize(
    ("other", "across"),
    [
        ("clock", {"policy": ["lru", "clock"]}),
        (
            "part",
            {
                "part": ["K9F1208Q0B", "MT29F2G08AAC"],
                "bus": ["20MHz-x8", "33.33MHz-x8"],
                "flash_page_bytes": [512, 2048],
                "register": ["start-column", "random-column"],
            },
        ),
    ],
)
def test_across_one_thing(tables: Path, other: str, across: dict[str, Any]) -> None:
    """The ratios are those of rows with the same sizes."""
    a, b = tables / "lru.parquet", tables / f"{other}.parquet"
    result = compared(a, b)
    assert result["across"] == across
    assert (result["matched"], result["only_a"], result["only_b"]) == (4, 0, 0)
    # Another policy and another flash page count differently.
    assert result["different_counts"] == {}
    old, new = pl.read_parquet(a), pl.read_parquet(b)
    for column, best, worst in (("time_ns", min, max), ("bandwidth_mib_s", max, min)):
        ratios = [y / x for x, y in zip(old[column], new[column], strict=True)]
        ratio = result["time_ratio" if column == "time_ns" else "bandwidth_ratio"]
        assert ratio["geometric_mean"] == pytest.approx(prod(ratios) ** (1 / 4))
        assert (ratio["best"], ratio["worst"]) == (best(ratios), worst(ratios))
    for side, frame in (("a", old), ("b", new)):
        fastest = frame.sort("bandwidth_mib_s").row(-1, named=True)
        best_design = result[side]["best"]
        assert best_design["bandwidth_mib_s"] == pytest.approx(fastest["bandwidth_mib_s"])
        assert best_design["cache_page_bytes"] == fastest["cache_page_bytes"]
    distances = [max(row["time_ratio"], 1 / row["time_ratio"]) for row in result["changes"]]
    assert distances == sorted(distances, reverse=True)
    shown = flashpager("compare", a, b)
    first, (x, y) = next(iter(across.items()))
    assert f"compared across {first}: {x} → {y}" in shown.out
    assert "counts" not in shown.out + shown.err


def test_across_processors(tmp_path: Path) -> None:
    """Columns that follow from a processor are not another difference, and change no count."""
    trace = tmp_path / "app.trace"
    fetches = "".join(f"2 {(n * 7919) % 3000 & ~3:x}\n" for n in range(500))
    flashpager("trace", "import", "-", "-o", trace, stdin=fetches.encode())
    processors = ("cortex-m3@64MHz", "cortex-m3@128MHz")
    slow, fast, nobody = (tmp_path / f"{name}.parquet" for name in ("slow", "fast", "nobody"))
    for table, flags in zip(
        (slow, fast, nobody), [("--processor", each) for each in (*processors, "none")], strict=True
    ):
        flashpager("explore", trace, *SIZES, *flags, "-o", table)
    for before, after, names in ((slow, fast, processors), (nobody, slow, (None, processors[0]))):
        result = compared(before, after)
        assert result["across"]["processor"] == list(names)
        assert "lookup_ns" in result["across"]
        assert (result["matched"], result["different_counts"]) == (4, {})
        old, new = pl.read_parquet(before), pl.read_parquet(after)
        ratios = [y / x for x, y in zip(old["time_ns"], new["time_ns"], strict=True)]
        assert result["time_ratio"]["geometric_mean"] == pytest.approx(prod(ratios) ** (1 / 4))
    assert compared(slow, fast)["time_ratio"]["worst"] < 1
    shown = flashpager("compare", slow, fast).out
    assert "compared across processor: cortex-m3@64MHz → cortex-m3@128MHz" in shown
    # A different processor and a different part are two differences.
    part = tmp_path / "part.parquet"
    flashpager(
        "explore", trace, *SIZES, "--part", "MT29F2G08AAC", "--processor", "none", "-o", part
    )
    fails("compare", slow, part, words=["part (K9F1208Q0B", "processor (cortex-m3@64MHz → None)"])


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_table_of_a_release_without_processors(tables: Path, tmp_path: Path, suffix: str) -> None:
    """A table without processor columns compares like one without a processor."""
    new = tables / f"lru.{suffix}"
    old = tmp_path / f"old.{suffix}"
    since = ["processor", "alone_ms", "run_ms", "slowdown", "lookups_ns"]
    frame = pl.read_parquet(tables / "lru.parquet").drop(since)
    if suffix == "parquet":
        frame.write_parquet(old)
    elif suffix == "csv":
        frame.write_csv(old)
    else:
        frame.write_ndjson(old)
    result = compared(old, new)
    assert (result["matched"], result["across"], result["time_ratio"]["worst"]) == (4, {}, 1)
    assert compared(new, old, "--fail-above", "0%")["unmet"] == []


def test_rows_of_one_table_alone(tables: Path) -> None:
    """Rows of one table only are counted, not compared."""
    result = compared(tables / "lru.parquet", tables / "pages.parquet")
    assert (result["matched"], result["only_a"], result["only_b"]) == (1, 3, 3)
    shown = flashpager("compare", tables / "lru.parquet", tables / "pages.parquet")
    assert "1 row in both, 3 only in A, 3 only in B" in shown.out


def test_limit(tables: Path) -> None:
    """The limit sets the number of listed changes, and a note counts the rest."""
    a, b = tables / "lru.parquet", tables / "clock.parquet"
    changes = compared(a, b, "--limit", "0")["changes"]
    assert compared(a, b, "--limit", "2")["changes"] == changes[:2]
    shown = flashpager("compare", a, b, "--limit", "1")
    assert f"{len(changes) - 1} more changed rows" in shown.err
    table = shown.out.split("largest changes\n")[1].splitlines()
    assert len(table) == 2
    assert len(flashpager("compare", a, b, "--limit", "0").out.splitlines()) > len(
        shown.out.splitlines()
    )


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_joined_table(tables: Path, tmp_path: Path, suffix: str) -> None:
    """The joined table has one row for each row of both tables."""
    file = tmp_path / f"joined.{suffix}"
    done = flashpager("compare", tables / "lru.parquet", tables / "clock.parquet", "-o", file)
    assert f"4 rows written to {file}" in done.err
    read: dict[str, Any] = {
        "parquet": pl.read_parquet,
        "csv": pl.read_csv,
        "jsonl": pl.read_ndjson,
    }
    joined = read[suffix](file)
    old, new = (pl.read_parquet(tables / f"{name}.parquet") for name in ("lru", "clock"))
    assert joined["misses_a"].to_list() == old["misses"].to_list()
    assert joined["misses_b"].to_list() == new["misses"].to_list()
    assert joined["policy_a"].to_list() == ["lru"] * 4
    assert joined["policy_b"].to_list() == ["clock"] * 4
    assert joined["cache_bytes"].to_list() == old["cache_bytes"].to_list()
    expected = [y / x for x, y in zip(old["time_ns"], new["time_ns"], strict=True)]
    assert joined["time_ratio"].to_list() == pytest.approx(expected)
    if suffix == "parquet":
        about = json.loads(pl.read_parquet_metadata(file)["flashpager"])
        assert about["a"]["file"].endswith("lru.parquet")
        assert about["version"] == about["b"]["version"]


def test_counts_that_must_not_differ(tables: Path, tmp_path: Path) -> None:
    """Different counts for the same version, trace and design are reported as an error."""
    a = tables / "lru.parquet"
    more = pl.when(pl.col("cache_bytes") == 128).then(1).otherwise(0)
    bad = changed(a, tmp_path / "bad.parquet", [(pl.col("misses") + more).alias("misses")])
    result = compared(a, bad)
    assert result["different_counts"] == {"misses": 2}
    assert (result["different_rows"], result["inexplicable"]) == (2, True)
    shown = flashpager("compare", a, bad)
    assert "WARNING: counts of the same designs and traces differ in 2 rows (misses)" in shown.err
    assert "must not be" in shown.err
    assert "counts differ in 2 rows: misses" in shown.out
    # A table without metadata may be of another version.
    csv = tmp_path / "bad.csv"
    pl.read_parquet(bad).write_csv(csv)
    shown = flashpager("compare", a, csv)
    assert "WARNING" in shown.err
    assert "tell neither version nor traces" in shown.err


def test_prices_do_not_move_counts(tables: Path, tmp_path: Path) -> None:
    """The counts must be the same if only a time of the handler differs."""
    a = tables / "lru.parquet"
    slower = [pl.lit(100.0).alias("pre_process_ns"), (pl.col("time_ns") * 2).alias("time_ns")]
    result = compared(a, changed(a, tmp_path / "slower.parquet", slower))
    assert result["across"] == {"pre_process_ns": [0, 100]}
    assert result["time_ratio"] == {"geometric_mean": 2, "best": 2, "worst": 2}
    assert not result["inexplicable"]
    wrong = [*slower, (pl.col("loads") + 1).alias("loads")]
    result = compared(a, changed(a, tmp_path / "wrong.parquet", wrong))
    assert result["different_counts"] == {"loads": 4}
    assert result["inexplicable"]


def test_another_version_explains_counts(tables: Path, tmp_path: Path) -> None:
    """The versions are printed, with a note that they differ."""
    a = tables / "lru.parquet"
    b = changed(a, tmp_path / "b.parquet", [pl.col("misses") + 1], version="99.0")
    result = compared(a, b)
    assert result["versions_differ"] is True
    assert result["different_rows"] == 4
    assert not result["inexplicable"]
    shown = flashpager("compare", a, b)
    assert "flashpager 99.0" in shown.out
    assert "versions differ" in shown.err
    assert "WARNING" not in shown.err


def test_another_trace_explains_counts(tables: Path, tmp_path: Path) -> None:
    """Different contents of traces with the same name explain different counts."""
    trace = import_csv(tmp_path, RUNS + "0,4\n", "app.trace")
    b = tmp_path / "b.parquet"
    flashpager("explore", trace, *SIZES, "-o", b)
    result = compared(tables / "lru.parquet", b)
    assert result["changed_traces"]["app"] == ["runs", "bytes"]
    assert result["different_counts"]["bytes_read"] == 4
    assert not result["inexplicable"]
    shown = flashpager("compare", tables / "lru.parquet", b)
    assert "app is not the same trace in both (runs, bytes differ)" in shown.err


def test_across_traces(tables: Path, tmp_path: Path) -> None:
    """Tables of the same designs on traces of different names can be compared."""
    trace = import_csv(tmp_path, RUNS + "0,4\n", "new.trace")
    b = tmp_path / "b.parquet"
    flashpager("explore", trace, *SIZES, "-o", b)
    result = compared(tables / "lru.parquet", b)
    assert result["across"] == {"trace": ["app", "new"]}
    assert result["matched"] == 4
    assert result["different_counts"] == {}


def test_best_over_several_traces(trace: Path, tmp_path: Path) -> None:
    """The best design is the best on the mean, not on the easiest trace."""
    other = import_csv(tmp_path, "".join(f"{n % 3 * 32},8\n" for n in range(300)), "easy.trace")
    file = tmp_path / "two.parquet"
    flashpager("explore", trace, other, *SIZES, "-o", file)
    result = compared(file, file)
    assert result["matched"] == 8
    frame = pl.read_parquet(file).with_columns(per_byte=pl.col("time_ns") / pl.col("bytes_read"))
    means = frame.group_by("cache_bytes", "cache_page_bytes").agg(pl.col("per_byte").mean())
    best = means.sort("per_byte").row(0, named=True)
    assert result["a"]["best"]["ns_per_byte"] == pytest.approx(best["per_byte"])
    assert result["a"]["best"]["cache_page_bytes"] == best["cache_page_bytes"]
    assert set(result["a"]["traces"]) == {"app", "easy"}


def test_refused(tables: Path, tmp_path: Path) -> None:
    """Tables that cannot be compared are refused in one line."""
    good = tables / "lru.parquet"
    whole = good.read_bytes()
    for name, content, words in (
        ("none.parquet", None, ["none.parquet", "No such file"]),
        ("table.txt", b"x", ["table.txt", ".parquet, .csv or .jsonl"]),
        ("empty.parquet", b"", ["empty.parquet", "no table"]),
        ("empty.csv", b"", ["empty.csv", "no table"]),
        ("empty.jsonl", b"", ["empty.jsonl", "no table"]),
        ("cut.parquet", whole[: len(whole) // 2], ["cut.parquet", "no table"]),
        ("cut.jsonl", (tables / "lru.jsonl").read_bytes()[:-40], ["cut.jsonl", "no table"]),
        ("noise.parquet", bytes(range(256)) * 9, ["noise.parquet", "no table"]),
        ("noise.jsonl", b"\xff\xfe{", ["noise.jsonl", "no table"]),
        ("other.csv", b"a,b\n1,2\n", ["other.csv", "column trace and", "missing"]),
        ("other.jsonl", b'{"a": 1}\n', ["other.jsonl", "column trace and", "missing"]),
        ("trace.parquet", None, ["trace.parquet is a trace and", "lru.parquet is none"]),
    ):
        file = tmp_path / name
        if name == "trace.parquet":
            import_csv(tmp_path, "0,4\n", name)
        elif content is not None:
            file.write_bytes(content)
        fails("compare", good, file, words=words)
        fails("compare", file, good, words=words)
    fails("compare", good, tmp_path, words=[str(tmp_path)])
    fails("compare", good, words=["B"])
    fails("compare", good, good, "--limit", "-1", words=["--limit"])


def test_invalid_rows(tables: Path, tmp_path: Path) -> None:
    """Errors: missing columns, missing rows, impossible numbers, and rows that occur twice."""
    good = tables / "lru.parquet"
    frame = pl.read_parquet(good)
    for name, bad, words in (
        ("less", frame.drop("misses"), ["column misses is missing"]),
        ("rows", frame.clear(), ["no rows"]),
        ("null", frame.with_columns(pl.lit(None).alias("time_ns")), ["row 1", "time_ns = None"]),
        ("zero", frame.with_columns(pl.lit(0.0).alias("time_ns")), ["row 1", "time_ns = 0.0"]),
        ("text", frame.with_columns(pl.lit("x").alias("misses")), ["no table that can be read"]),
        (
            "twice",
            pl.concat([frame, frame.with_columns(pl.col("misses") + 1)]),
            ["different rows of the same design", "app"],
        ),
    ):
        file = tmp_path / f"{name}.parquet"
        bad.write_parquet(file)
        fails("compare", good, file, words=[f"{name}.parquet", *words])
    again = tmp_path / "again.parquet"
    pl.concat([frame, frame]).write_parquet(again)
    assert compared(good, again)["matched"] == 4
    bad_csv = tmp_path / "bad.csv"
    text = (tables / "lru.csv").read_text(encoding="utf-8").replace(",128,", ",x,")
    bad_csv.write_text(text, encoding="utf-8")
    fails("compare", good, bad_csv, words=["bad.csv", "no table"])


def test_nothing_in_common(tables: Path, tmp_path: Path) -> None:
    """The error names the columns in which the tables differ."""
    fails(
        *("compare", tables / "lru.parquet", tables / "both.parquet"),
        words=["in common", "part (K9F1208Q0B → MT29F2G08AAC)", "policy (lru → clock)"],
    )
    fails(
        *("compare", tables / "lru.parquet", tables / "far.parquet"),
        words=["in common", "no cache_bytes is in both"],
    )
    assert list(tmp_path.iterdir()) == []


def test_outputs(tables: Path, tmp_path: Path) -> None:
    """An input is not overwritten, an unknown suffix refused."""
    a, b = tables / "lru.parquet", tables / "clock.parquet"
    before = a.read_bytes(), b.read_bytes()
    for file in (a, b):
        fails("compare", a, b, "-o", file, words=["would be overwritten"])
    fails("compare", a, b, "-o", tmp_path / "x.txt", words=[".parquet, .csv or .jsonl"])
    fails("compare", a, b, "-o", tmp_path / "no" / "x.csv", words=["no folder"])
    assert (a.read_bytes(), b.read_bytes()) == before


class TestFailAbove:
    """The option ``--fail-above``, a gate for continuous integration."""

    def slower(self, source: Path, target: Path, factor: float) -> Path:
        """Return a table in which rows of the smaller cache are slower."""
        small = pl.col("cache_bytes") == 128
        longer = pl.when(small).then(factor).otherwise(1.0)
        return changed(
            source,
            target,
            [
                (pl.col("time_ns") * longer).alias("time_ns"),
                (pl.col("bandwidth_mib_s") / longer).alias("bandwidth_mib_s"),
            ],
        )

    def test_met(self, tables: Path, tmp_path: Path) -> None:
        """The gate accepts equal and faster rows, and rows slower by exactly the allowed share."""
        a = tables / "lru.parquet"
        for b in (a, self.slower(a, tmp_path / "b.parquet", 1.02)):
            done = flashpager("compare", a, b, "--fail-above", "2%", "--json")
            assert done.json["unmet"] == []
            assert done.json["fail_above"] == 0.02
            assert done.err == ""
        flashpager("compare", a, self.slower(a, tmp_path / "c.parquet", 0.5), "--fail-above", "0 %")

    def test_a_slower_row(self, tables: Path, tmp_path: Path) -> None:
        """The answer is complete, the exit code is 1, and a line names the slower row."""
        a = tables / "lru.parquet"
        b = self.slower(a, tmp_path / "b.parquet", 1.03)
        plain = flashpager("compare", a, b)
        done = flashpager("compare", a, b, "--fail-above", "2%", code=1)
        assert done.out == plain.out
        lines = done.err.splitlines()
        assert len(lines) == 2
        assert lines[0] == ("need not met: app, cache 128, cache page 32: time grew by 3 % > 2 %")
        assert "cache page 64" in lines[1]
        result = flashpager("compare", a, b, "--fail-above", "2%", "--json", code=1).json
        assert [need["need"] for need in result["unmet"]] == ["fail_above"] * 2
        assert result["unmet"][0]["found"] == pytest.approx(0.03)
        assert result["unmet"][0]["row"]["cache_bytes"] == 128
        flashpager("compare", a, b, "--fail-above", "3.5%")

    def test_a_missing_row(self, tables: Path, tmp_path: Path) -> None:
        """A row that is missing in B fails the gate; a row that is new in B does not."""
        a, b = tables / "lru.parquet", tmp_path / "b.parquet"
        changed(a, b, [])
        pl.read_parquet(b).head(3).write_parquet(b)
        done = flashpager("compare", a, b, "--fail-above", "50%", code=1)
        assert done.err.splitlines()[-1] == (
            "need not met: app, cache 256, cache page 64: in A alone"
        )
        flashpager("compare", b, a, "--fail-above", "50%")

    def test_many_rows(self, trace: Path, tmp_path: Path) -> None:
        """The worst rows are named, and the other ones are counted."""
        a, b = tmp_path / "a.parquet", tmp_path / "b.parquet"
        sizes = ",".join(str(64 * n) for n in range(2, 12))
        flashpager("explore", trace, "--cache", sizes, "--cache-page", "64", "-o", a)
        step = (1.1 + pl.col("cache_bytes") / 10_000) * pl.col("time_ns")
        changed(a, b, [step.alias("time_ns")])
        lines = flashpager("compare", a, b, "--fail-above", "1%", code=1).err.splitlines()
        assert len(lines) == 6
        assert "cache 704:" in lines[0]
        assert lines[-1] == "need not met: 5 more rows; --json has all"

    @pytest.mark.parametrize("given", ["2", "two%", "-1%", "nan%", "%", "inf%"])
    def test_an_invalid_limit(self, tables: Path, given: str) -> None:
        """A limit that is not a share is wrong input, not an unmet need."""
        a = tables / "lru.parquet"
        fails("compare", a, a, f"--fail-above={given}", words=["--fail-above", given, "2%"])

    def test_tables_that_cannot_be_compared(self, tables: Path) -> None:
        """Tables that cannot be compared end with exit code 2."""
        a, b = tables / "lru.parquet", tables / "far.parquet"
        fails("compare", a, b, "--fail-above", "2%", words=["in common"])
