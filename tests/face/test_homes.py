"""Tests of homes: counts of a slow reference, the flash image, figures and refusals."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from flashpager import _engine
from flashpager.choose.homes import OrderedHomes
from tests.conftest import ROOT, fails, flashpager, import_csv, info_of, runs_of

SENSORS = ROOT / "examples" / "traces" / "java" / "sensors.trace"
#: A part without a column change, and one with it, and the prices of the memories alone.
START = ("--board", "smartcard", "--register", "start-column", "--cache", "1952")
RANDOM = ("--part", "W25N01GV", "--processor", "none", "--cache", "1984")
#: Rounds of a training.
ROUNDS = 8


@dataclass(frozen=True)
class Store:
    """The sizes of a store, the rule of its register, and the price of its counts."""

    page: int
    slots: int
    number_bytes: int
    is_random: bool
    most_skipped: int
    price: Callable[[Counter[str]], float]


def lru_misses(runs: Sequence[tuple[int, int]], page: int, frames: int) -> list[int]:
    """Return the pages that miss in a list of pages, the last used first."""
    cached: list[int] = []
    misses = []
    for offset, length in runs:
        for wanted in range(offset // page, (offset + length - 1) // page + 1):
            if wanted in cached:
                cached.remove(wanted)
            else:
                misses.append(wanted)
                del cached[frames - 1 :]
            cached.insert(0, wanted)
    return misses


#: The classes of a fill and of a use, by page.
Classes = dict[int, tuple[int, int]]


def array_misses(
    runs: Sequence[tuple[int, int]], page: int, frames: int, classes: Classes
) -> list[int]:
    """Return the pages that miss in an array of frames, which are put by their classes."""
    array: list[int | None] = [None] * frames
    misses = []
    before = None
    for offset, length in runs:
        for wanted in range(offset // page, (offset + length - 1) // page + 1):
            if wanted == before:
                continue
            before = wanted
            fill_class, use_class = classes.get(wanted, (3, 3))
            if wanted in array:
                array.remove(wanted)
                k = use_class
            else:
                misses.append(wanted)
                array.pop(array.index(None) if None in array else 0)
                k = fill_class
            array.insert(min(frames - 1, (k * (frames - 1) + 1) // 3), wanted)
    return misses


def serve(
    store: Store, homes: Sequence[Sequence[int]], misses: Sequence[int]
) -> list[Counter[str]]:
    """Return the counts of each miss."""
    counted = []
    home: Sequence[int] = []
    c = 0
    for p in misses:
        counts = Counter(bytes_fetched=store.page)
        if store.is_random:
            order = [c, *range(len(home))]
        else:
            order = list(range(c, c + store.most_skipped + 1))
        k = next((k for k in order if k < len(home) and home[k] == p), None)
        if k is None:
            header = store.slots * store.number_bytes
            counts.update(loads=1, header_bytes_fetched=header, bytes_fetched=header)
            home, c = homes[p], 1
        else:
            counts["forward" if k >= c else "backward"] = 1
            if store.is_random:
                counts["column_changes"] = int(k != c)
            else:
                skipped = (k - c) * store.page
                counts.update(bytes_skipped=skipped, bytes_fetched=skipped)
            c = k + 1
        counted.append(counts)
    return counted


def fill(store: Store, x: int, occurrences: Sequence[int], misses: Sequence[int]) -> list[int]:
    """Return the slots of the home of a page."""
    pointers = [at + 1 for at in occurrences]
    slots = [x]
    while len(slots) < store.slots:
        standing = Counter(misses[at] for at in pointers if at < len(misses))
        if not standing:
            break
        most = max(standing.values())
        taken = min(page for page, number in standing.items() if number == most)
        slots.append(taken)
        moved = []
        for at in pointers:
            now = at
            if now < len(misses) and misses[now] == taken:
                now += 1
                while store.is_random and now < len(misses) and misses[now] in slots:
                    now += 1
            moved.append(now)
        pointers = moved
    return slots


def total(counted: Sequence[Counter[str]]) -> Counter[str]:
    """Return the sum of the counts of misses."""
    sums: Counter[str] = Counter()
    for counts in counted:
        sums.update(counts)
    return sums


def train(store: Store, pages: int, misses: Sequence[int]) -> tuple[list[list[int]], str]:
    """Return the homes of least price, and their name."""
    homes = [list(range(x, min(x + store.slots, pages))) for x in range(pages)]
    counted = serve(store, homes, misses)
    best = (store.price(total(counted)), homes, "neighbours")
    for number in range(1, ROUNDS + 1):
        at_page: list[list[int]] = [[] for _ in range(pages)]
        for at, page in enumerate(misses):
            if number == 1 or counted[at]["loads"]:
                at_page[page].append(at)
        taken = [fill(store, x, at_page[x], misses) for x in range(pages)]
        homes = [new + old[len(new) :] for new, old in zip(taken, homes, strict=True)]
        counted = serve(store, homes, misses)
        price = store.price(total(counted))
        if price < best[0]:
            best = (price, homes, f"round {number}")
    return best[1], best[2]


def store_of(answer: dict[str, Any]) -> Store:
    """Return the store of an answer, by the formulas of the model."""
    design, prices = answer["design"], answer["prices"]
    n, b = design["flash_page_bytes"], design["cache_page_bytes"]
    pages = -(-answer["trace"]["image_bytes"] // b)
    number_bytes = 1 if pages <= 255 else 2

    def price(counts: Counter[str]) -> float:
        time = counts["loads"] * prices["t_load_ns"]
        time += counts["bytes_fetched"] * prices["t_byte_ns"]
        time += counts["column_changes"] * (prices["t_column_change_ns"] or 0.0)
        return float(time)

    return Store(
        page=b,
        slots=(n - (n // b - 1) * number_bytes) // b,
        number_bytes=number_bytes,
        is_random=design["register"] == "random-column",
        most_skipped=int(prices["t_r_ns"] / (b * prices["t_byte_ns"])),
        price=price,
    )


@pytest.mark.parametrize("flags", [START, RANDOM])
@pytest.mark.parametrize("page", ["32", "64"])
@pytest.mark.parametrize("train_on", [None, "70%"])
def test_counts_are_those_of_a_slow_reference(
    flags: tuple[str, ...], page: str, train_on: str | None
) -> None:
    """A cache that is a list, a register that is a list and pointers one by one count the same."""
    options = (*flags, "--cache-page", page, "--store", "homes")
    held_out = () if train_on is None else ("--train", train_on)
    answer = flashpager("simulate", SENSORS, *options, *held_out, "--json").json
    store, frames = store_of(answer), answer["frames"]
    runs = runs_of(SENSORS)
    first = answer["trace"].get("warm_up", {"runs": 0})["runs"]
    misses = lru_misses(runs, store.page, frames)
    before = len(lru_misses(runs[:first], store.page, frames))
    pages = -(-answer["trace"]["image_bytes"] // store.page)
    homes, kept = train(store, pages, misses[:before] if first else misses)
    assert answer["homes"]["kept"] == kept
    assert answer["homes"]["is_held_out"] == bool(first)
    sums = total(serve(store, homes, misses)[before if first else 0 :])
    counts = answer["counts"]
    for name in ("loads", "forward", "backward", "column_changes", "bytes_fetched"):
        assert counts[name] == sums[name], name
    for name in ("bytes_skipped", "header_bytes_fetched"):
        assert counts[name] == sums[name], name
    assert counts["other_page"] == counts["loads"]


def test_misses_stay_the_same_and_the_default_is_plain() -> None:
    """Homes change no reference, hit or miss, and nothing changes unless they are asked for."""
    plain = flashpager("simulate", SENSORS, *START, "--json").json
    named = flashpager("simulate", SENSORS, *START, "--store", "plain", "--json").json
    homes = flashpager("simulate", SENSORS, *START, "--store", "homes", "--json").json
    assert plain == named
    assert "store" not in plain["design"]
    assert "homes" not in plain
    for name in ("references", "hits", "misses", "bytes_written", "bytes_read"):
        assert plain["counts"][name] == homes["counts"][name]
    assert homes["homes"]["plain_ns"] == plain["time"]["time_ns"]
    header = homes["homes"]["header_bytes"]
    assert homes["ram_bytes"] == plain["ram_bytes"] + header


def test_golden_counts() -> None:
    """Counts of a shipped trace, as they were when the reference above agreed."""
    options = ("--cache-page", "32", "--store", "homes", "--train", "70%", "--json")
    counts = flashpager("simulate", SENSORS, *START, *options).json["counts"]
    names = ("misses", "loads", "forward", "bytes_skipped", "header_bytes_fetched", "bytes_fetched")
    assert [counts[name] for name in names] == GOLDEN


def test_explore_has_an_axis_of_stores() -> None:
    """Both stores are rows of one table, with the counts of simulate."""
    flags = (*START, "--cache-page", "32,64", "--store", "all")
    explored = flashpager("explore", SENSORS, *flags, "--warm-up", "70%", "--json")
    assert "homes are trained on the warm-up alone" in explored.err
    done = explored.json
    rows = {(row["cache_page_bytes"], row["store"]): row for row in done["designs"]}
    assert set(rows) == {(page, store) for page in (32, 64) for store in ("plain", "homes")}
    single_home = flashpager(
        "simulate",
        SENSORS,
        *START,
        "--cache-page",
        "32",
        "--store",
        "homes",
        "--train",
        "70%",
        "--json",
    ).json
    row = rows[32, "homes"]
    assert (row["loads"], row["time_ns"]) == (
        single_home["counts"]["loads"],
        single_home["time"]["time_ns"],
    )
    assert row["ram_bytes"] == single_home["ram_bytes"]
    assert rows[32, "plain"]["loads"] > row["loads"]


@pytest.mark.parametrize("held_out", [(), ("--warm-up", "70%")])
def test_faults_of_homes_are_attributed(held_out: tuple[str, ...]) -> None:
    """The misses, loads and times of all owners are those of simulate."""
    flags = (*START, "--cache-page", "32", "--store", "homes", *held_out, "--json")
    single_home = flashpager("simulate", SENSORS, *flags).json
    done = flashpager("attribute", SENSORS, *flags)
    owners = done.json["owners"]
    for name in ("misses", "loads", "bytes_fetched"):
        assert sum(owner[name] for owner in owners) == single_home["counts"][name]
    assert done.json["counts"] == single_home["counts"]
    assert "the homes are trained on the " in done.err


#: Pages of 64 bytes of a loop that is executed often, and one behind it that comes once a turn.
CLASSES_TRACE = 60 * "".join(
    f"{64 * page},64\n" for page in (0, 3, 1, 0, 4, 1, 7, 0, 2, 9, 5, 0, 1, 11, 6, 8)
)
#: A design of three frames for it, with classes.
CLASSES = (
    *("--board", "smartcard", "--register", "start-column"),
    *("--cache", "192", "--policy", "lru-array"),
)


def classes_in(path: Path) -> Classes:
    """Return the classes in a file."""
    lines = path.read_text(encoding="utf-8").splitlines()[3:]
    numbers = (tuple(int(word) for word in line.split()) for line in lines)
    return {page: (fill_class, use_class) for page, fill_class, use_class in numbers}


@pytest.mark.parametrize("train_on", [None, "70%"])
def test_trained_classes_are_replayed_from_their_file(tmp_path: Path, train_on: str | None) -> None:
    """The counts of homes with classes are those of simulate, and of a slow reference."""
    trace = import_csv(tmp_path, CLASSES_TRACE)
    path = tmp_path / "classes.txt"
    held_out = () if train_on is None else ("--train", train_on)
    done = flashpager("homes", trace, *CLASSES, *held_out, "--train-classes", path, "--json").json
    flags = (*CLASSES, "--store", "homes", "--classes", path, *held_out, "--json")
    answer = flashpager("simulate", trace, *flags).json
    last = done["parts"][-1]
    assert last["homes"]["counts"] == answer["counts"]
    assert last["homes"]["time_ns"] == answer["time"]["time_ns"]
    training = done["parts"][0]
    assert training["homes"]["time_ns"] < training["without_classes"]["time_ns"]
    classes = classes_in(path)
    assert classes
    assert all(done["classes"][page] == list(pair) for page, pair in classes.items())
    runs = runs_of(trace)
    first = answer["trace"].get("warm_up", {"runs": 0})["runs"]
    misses = array_misses(runs, 64, answer["frames"], classes)
    before = len(array_misses(runs[:first], 64, answer["frames"], classes))
    # A slot is a page and its byte: 512 bytes hold 7 of 65 bytes, and their numbers.
    store = store_of(answer)
    slot = store.page + 1
    most_skipped = int(answer["prices"]["t_r_ns"] / (slot * answer["prices"]["t_byte_ns"]))
    store = replace(store, page=slot, most_skipped=most_skipped)
    assert store.slots == answer["homes"]["slots"] == 512 // (64 + 1 + 1)
    homes, kept = train(store, done["homes"]["flash_pages"], misses[:before] or misses)
    assert answer["homes"]["kept"] == kept
    sums = total(serve(store, homes, misses)[before if first else 0 :])
    counts = answer["counts"]
    assert counts["misses"] == len(misses) - (before if first else 0)
    for name in ("loads", "forward", "bytes_skipped", "header_bytes_fetched", "bytes_fetched"):
        assert counts[name] == sums[name], name
    # Two bits a frame for the class of a use, beside the byte of its number.
    assert answer["metadata_bytes"] == 3 + 1
    shown = flashpager("homes", trace, *CLASSES, *held_out, "--train-classes", tmp_path / "again")
    assert "classes: as fast as homes without them" in shown.out
    owners = flashpager("attribute", trace, *flags[:-1], "--json").json if not first else None
    assert owners is None or owners["counts"] == counts


def test_the_flash_image_has_classes_behind_the_pages(tmp_path: Path) -> None:
    """A slot is the bytes of the page, then its classes: the fill in the two lowest bits."""
    trace = import_csv(tmp_path, CLASSES_TRACE)
    image, data = written_image(tmp_path, trace)
    path, out = tmp_path / "classes.txt", tmp_path / "store.bin"
    done = flashpager(
        *("homes", trace, *CLASSES, "--train-classes", path),
        *("--image", image, "-o", out, "--json"),
    ).json
    flash, slots = out.read_bytes(), done["homes"]["slots"]
    padded = data.ljust(len(done["slots"]) * 64, b"\xff")
    for p, held in enumerate(done["slots"]):
        home = flash[p * 512 : (p + 1) * 512]
        for k, q in enumerate(held):
            slot = home[slots + k * 65 : slots + (k + 1) * 65]
            fill_class, use_class = done["classes"][q]
            assert slot == padded[q * 64 : (q + 1) * 64] + bytes([fill_class + 4 * use_class])


def test_classes_that_save_nothing_are_not_written(tmp_path: Path) -> None:
    """A program of two pages in two frames misses each once, whatever their classes are."""
    trace = import_csv(tmp_path, 9 * "0,64\n512,64\n64,64\n768,64\n")
    flags = (*CLASSES[:4], "--cache", "1K", "--policy", "gclock")
    path = tmp_path / "classes.txt"
    done = flashpager("homes", trace, *flags, "--train-classes", path)
    assert "not written" in done.err
    assert not path.exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--policy", "lru"), "take --policy lru-array or gclock"),
        (("--policy", "lru-array", "--ways", "2"), "a page cache alone"),
        (("--policy", "lru-array", "--cache", "32K"), "a byte numbers at most 255"),
    ],
)
def test_designs_without_classes_are_refused(
    tmp_path: Path, flags: tuple[str, ...], words: str
) -> None:
    """Each is refused in one line that says what to do."""
    start = ("--board", "smartcard", "--register", "start-column", "--train-classes")
    assert words in fails("homes", SENSORS, *start, tmp_path / "classes.txt", *flags)


def test_wrong_files_of_classes_are_refused(tmp_path: Path) -> None:
    """A file for another program, page, policy or store is no file for this design."""
    path = tmp_path / "classes.txt"
    head = "flashpager reuse classes lru-array\ncache-page 64\npages 16\n"
    path.write_text(head + "3 0 1\n", encoding="utf-8")
    given = ("--register", "start-column", "--classes", path)
    homes = ("--store", "homes", "--policy", "lru-array")
    assert "of 16 pages for an image of 105" in fails("simulate", SENSORS, *given, *homes)
    plain = fails("simulate", SENSORS, *given, "--policy", "lru-array")
    assert "reuse classes in the plain store" in plain
    other = fails("simulate", SENSORS, *given, *homes, "--cache-page", "32")
    assert "cache pages of 64 bytes, not for lru-array and 32" in other
    assert "not for gclock" in fails(
        "simulate", SENSORS, *given, "--store", "homes", "--policy", "gclock"
    )
    path.write_text(head + "3 0 4\n", encoding="utf-8")
    assert "line 4: a page, the class of a fill" in fails("simulate", SENSORS, *given, *homes)
    path.unlink()
    assert "cannot be read" in fails("simulate", SENSORS, *given, *homes)


def test_a_searched_order_is_that_of_layout(tmp_path: Path) -> None:
    """One command gives the figures of layout, arrange and homes, which saw the same runs."""
    flags = (*START[:4], "--cache", "1888", "--cache-page", "32")
    order = tmp_path / "order.txt"
    searched = ("--search-order", order, "--evaluations", "640")
    done = flashpager("homes", SENSORS, *flags, "--train", "70%", *searched, "--json").json
    names = order.read_text(encoding="utf-8").splitlines()
    assert done["order"]["names"] == names
    assert done["order"]["kept"] == "searched"
    assert done["order"]["searched_ns"] < done["order"]["recorded_ns"]
    arranged = tmp_path / "arranged.trace"
    flashpager("trace", "arrange", SENSORS, "--order", order, "-o", arranged)
    by_hand = flashpager("homes", arranged, *flags, "--train", "70%", "--json").json
    for part, same in zip(done["parts"], by_hand["parts"], strict=True):
        assert part["homes"] == same["homes"]
    plain = flashpager("homes", SENSORS, *flags, "--train", "70%", "--json").json
    assert plain["parts"][0]["homes"]["time_ns"] == done["order"]["recorded_ns"]
    assert "order" not in plain
    shown = flashpager("homes", SENSORS, *flags, "--search-order", order, "--evaluations", "32")
    assert "on the runs that train, " in shown.out


def test_a_slower_order_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the recorded order is kept, no file claims that the homes are those of another one."""
    order = tmp_path / "order.txt"
    monkeypatch.setattr(OrderedHomes, "is_searched_faster", False)
    done = flashpager("homes", SENSORS, *START, "--search-order", order, "--evaluations", "16")
    assert not order.exists()
    assert "order.txt: not written, as the recorded order is faster" in done.err
    assert "the recorded order is kept" in done.out


def test_wrong_options_of_orders_are_refused(tmp_path: Path) -> None:
    """A search of orders needs methods, and makes no image."""
    order = ("--search-order", tmp_path / "order.txt")
    native = ROOT / "examples" / "traces" / "troff.trace"
    assert "lays out methods of Java" in fails("homes", native, *START, *order)
    assert "add --search-order" in fails("homes", SENSORS, *START, "--evaluations", "9")
    image, _ = written_image(tmp_path, SENSORS)
    output = ("--image", image, "-o", tmp_path / "store.bin")
    refused = fails("homes", SENSORS, *START, *order, *output)
    assert "the image of another order is not known" in refused
    assert "overwritten" in fails("homes", SENSORS, *START, "--search-order", SENSORS)


def written_image(folder: Path, trace: Path) -> tuple[Path, bytes]:
    """Write bytes in place of a program's image."""
    size = info_of(trace)["image_bytes"]
    data = bytes((at * 7 + at // 251) % 256 for at in range(size))
    path = folder / "image.bin"
    path.write_bytes(data)
    return path, data


@pytest.mark.parametrize("page", ["16", "64"])
def test_the_flash_image_is_read_by_its_description(tmp_path: Path, page: str) -> None:
    """Headers and slots stand where docs/homes.md says, with numbers of 1 or 2 bytes."""
    image, data = written_image(tmp_path, SENSORS)
    out = tmp_path / "store.bin"
    command = ("homes", SENSORS, *START, "--cache-page", page)
    done = flashpager(*command, "--image", image, "-o", out, "--json").json
    b, n, slots = int(page), 512, done["homes"]["slots"]
    pages = -(-len(data) // b)
    number_bytes = 1 if pages <= 255 else 2
    assert {"16": 2, "64": 1}[page] == number_bytes
    flash = out.read_bytes()
    assert len(flash) == pages * n == done["homes"]["flash_pages"] * n
    padded = data.ljust(pages * b, b"\xff")
    for p, held in enumerate(done["slots"]):
        home = flash[p * n : (p + 1) * n]
        numbers = [
            int.from_bytes(home[k * number_bytes : (k + 1) * number_bytes], "little")
            for k in range(slots)
        ]
        empty = (1 << 8 * number_bytes) - 1
        assert numbers == held + [empty] * (slots - len(held))
        assert held[0] == p
        start = slots * number_bytes
        for k, q in enumerate(held):
            assert home[start + k * b : start + (k + 1) * b] == padded[q * b : (q + 1) * b]
        assert set(home[start + len(held) * b :]) <= {0xFF}


def test_both_figures_are_printed_and_are_those_of_simulate(tmp_path: Path) -> None:
    """The training part and the part held out each have a row, homes beside the plain store."""
    done = flashpager(
        "homes", SENSORS, *START, "--cache-page", "32", "--train", "70%", "--json"
    ).json
    trained, held_out = done["parts"]
    assert [part["is_held_out"] for part in done["parts"]] == [False, True]
    for store, part in (("plain", held_out["plain"]), ("homes", held_out["homes"])):
        flags = (*START, "--cache-page", "32", "--store", store, "--warm-up", "70%", "--json")
        single_home = flashpager("simulate", SENSORS, *flags).json
        assert part["counts"]["loads"] == single_home["counts"]["loads"]
        assert part["time_ns"] == single_home["time"]["time_ns"]
    assert trained["homes"]["time_ns"] < trained["plain"]["time_ns"]
    assert done["overfit"] == []
    shown = flashpager("homes", SENSORS, *START, "--cache-page", "32", "--train", "70%").out
    assert "trained" in shown
    assert "held out" in shown
    # The same trace twice trains as once, and so does any weight of it alone.
    for more in ((SENSORS, SENSORS), (SENSORS, SENSORS, "--weights", "3,1"), (SENSORS,)):
        again = flashpager("homes", *more, *START, "--cache-page", "32", "--train", "70%", "--json")
        assert again.json["slots"] == done["slots"]
    del tmp_path


#: Pages of 64 bytes: in order, then backwards, with a cache of one page.
FORWARD = "".join(f"{64 * page},64\n" for page in range(16))
HOPS = "0,64\n512,64\n64,64\n768,64\n"


def hand_trace(folder: Path, runs: str) -> Path:
    """Write a trace of an image of 1 KB."""
    return import_csv(folder, runs)


ONE_FRAME = ("--board", "smartcard", "--register", "start-column", "--cache", "64")


def test_the_plain_store_is_kept_where_it_wins(tmp_path: Path) -> None:
    """Code in the order of the image is faster without headers, and the answer says so."""
    trace = hand_trace(tmp_path, 4 * FORWARD)
    answer = flashpager("simulate", trace, *ONE_FRAME, "--store", "homes", "--json").json
    plain = flashpager("simulate", trace, *ONE_FRAME, "--json").json
    assert answer["homes"]["kept"] == "plain"
    assert answer["counts"] == plain["counts"]
    assert answer["ram_bytes"] == plain["ram_bytes"]
    shown = flashpager("simulate", trace, *ONE_FRAME, "--store", "homes").out
    assert "homes: none, as the plain store is as fast on the runs that trained them" in shown
    image, data = written_image(tmp_path, trace)
    out = tmp_path / "store.bin"
    done = flashpager("homes", trace, *ONE_FRAME, "--image", image, "-o", out)
    assert out.read_bytes() == data
    assert "2 flash pages of 512" in done.err


def test_an_overfit_is_reported(tmp_path: Path) -> None:
    """Runs that never come again train homes that gain nothing behind them."""
    trace = hand_trace(tmp_path, 40 * HOPS + 20 * FORWARD)
    for command in (("simulate", trace, "--store", "homes"), ("homes", trace)):
        done = flashpager(*command, *ONE_FRAME, "--train", "33%")
        assert "the homes are an overfit" in done.err
        same = flashpager(*command, *ONE_FRAME)
        assert "overfit" not in same.err
        assert "--train 70%" in same.out + same.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--register", "sequential"), "start-column or random-column, not by sequential"),
        (("--part", "KFG1G16Q2M", "--register", "double-buffer"), "not by double-buffer"),
        (("--part", "W25Q128JV"), "which is read in place"),
        (("--codeword", "512"), "homes with codewords"),
        (("--part", "W25N01GV", "--tag", "1"), "homes with tags"),
        (("--cache-page", "512"), "a header and two cache pages of 512 bytes do not fit"),
        (("--cache-page", "256"), "a header and two cache pages of 256 bytes do not fit"),
    ],
)
def test_designs_without_a_definition_are_refused(flags: tuple[str, ...], words: str) -> None:
    """Each is refused in one line that says what to do."""
    assert words in fails("simulate", SENSORS, "--store", "homes", *flags)


def test_other_commands_refuse_homes(tmp_path: Path) -> None:
    """Answers that replay the plain store alone never pass for those of homes."""
    board = tmp_path / "board.toml"
    board.write_text('part = "K9F1208Q0B"\nstore = "homes"\n', encoding="utf-8")
    for command in ("layout", "luck", "pin"):
        more = ("--ram", "1K") if command == "pin" else ()
        message = fails(command, SENSORS, "--board", board, *more)
        assert 'for the design with store = "plain"' in message
    message = fails("simulate", SENSORS, "--board", board, "--calls", "sensors.Main.main")
    assert 'time the calls for the design with store = "plain"' in message


def test_wrong_options_are_refused(tmp_path: Path) -> None:
    """A part to train on needs homes, and leaves something on both sides."""
    homes = ("--store", "homes")
    assert "with --store homes alone" in fails("simulate", SENSORS, "--train", "70%")
    both = fails("simulate", SENSORS, *homes, "--train", "70%", "--warm-up", "1K")
    assert "exclude each other" in both
    assert "leaves nothing" in fails("homes", SENSORS, "--train", "100%")
    assert "is empty" in fails("homes", SENSORS, "--train", "0%")
    assert "a whole number above 0" in fails("homes", SENSORS, "--weights", "0")
    assert "a whole number above 0" in fails("homes", SENSORS, "--weights", "1,2")
    assert "--image" in fails("homes", SENSORS, "-o", tmp_path / "store.bin")
    assert "--store" in fails("homes", SENSORS, "--store", "plain")
    other = ROOT / "examples" / "traces" / "java" / "purse.trace"
    assert "take traces of one program" in fails("homes", SENSORS, other)


def test_homes_in_python() -> None:
    """The engine hands over parts, slots and the image, and refuses another image."""
    design = _engine.Design(
        part="K9F1208Q0B", register="start-column", store="homes", processor="none"
    )
    trained = _engine.train_homes([(SENSORS, 1)], design, "70%")
    assert len(trained.parts) == len(("trained", "held out"))
    assert trained.summary.kept.startswith("round")
    with pytest.raises(_engine.FlashpagerError, match="the traces have one of"):
        trained.flash_image(b"short")
    assert json.dumps(trained.summary.as_dict())


#: Misses, loads, forward, bytes skipped, bytes of headers and bytes fetched.
GOLDEN = [5308, 639, 4669, 26272, 9585, 205713]
