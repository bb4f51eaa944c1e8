"""Bounds of the misses of a call, compared with recorded calls."""

import random
import subprocess
from collections import OrderedDict
from pathlib import Path

import pytest

from flashpager import _engine
from flashpager._engine import Design, FlashpagerError
from flashpager.judge.bound import lines, notes, parse_loops
from tests.command import fails, flashpager
from tests.conftest import ROOT, need, runs_of

MACHINE = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
#: Functions of the card firmware, small ones and large ones.
FUNCTIONS = ("aes128_encrypt", "memcpy", "append_record", "crc16_ccitt", "put16")
#: Shapes of caches: ways, sets, bytes of a line.
SHAPES = ((2, 128, 8), (1, 32, 16), (4, 16, 8))


def shape(ways: int, sets: int, line: int) -> Design:
    """Return a design with a cache in hardware."""
    size = ways * sets * line
    return Design(
        part="W25Q128JV",
        bus="104MHz-x4",
        cache_bytes=size,
        cache_page_bytes=line,
        ways=ways,
        policy="lru",
    )


def build(folder: Path, name: str, *options: str) -> tuple[Path, Path]:
    """Build a firmware of one file and record it."""
    elf, trace = folder / f"{name}.elf", folder / f"{name}.trace"
    source, script = folder / "program.c", folder / "program.ld"
    command = ["arm-none-eabi-gcc", "-mthumb", "-nostdlib", "-ffreestanding", "-fno-builtin"]
    command += [*options, "-T", str(script), str(source), "-o", str(elf), "-lgcc"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    flashpager("record", "--no-reads", "-o", trace, "--system", MACHINE, elf)
    return elf, trace


def worst_call(trace: Path, start: int, ends: int, ways: int, sets: int, line: int) -> int:
    """Return the most misses of a call from an empty cache; a call ends outside of the code below.

    The code of the function and of all that it calls lies from ``start`` on and below ``ends``.
    """
    worst, misses = 0, 0
    cache: dict[int, OrderedDict[int, None]] | None = None
    for offset, length in runs_of(trace):
        if not start <= offset < ends:
            cache = None
            continue
        if cache is None:
            cache, misses = {}, 0
        for number in range(offset // line, (offset + length - 1) // line + 1):
            held = cache.setdefault(number % sets, OrderedDict())
            if number in held:
                held.move_to_end(number)
                continue
            misses += 1
            held[number] = None
            if len(held) > ways:
                held.popitem(last=False)
        worst = max(worst, misses)
    return worst


PROGRAM = """
#define NOINLINE __attribute__((noinline, used))
volatile unsigned sink;
extern int main(void);
__attribute__((section(".vectors"), used)) void *const vectors[] = {(void *)0x20004000, main};
__attribute__((section(".called"))) NOINLINE unsigned mix(unsigned x) {
    for (int i = 0; i < 3; i++) { x = x * 33 + (x >> 3); sink = x; }
    return x;
}
__attribute__((section(".called"))) NOINLINE unsigned pick(unsigned x) {
    switch (x & 7) {
    case 0: sink = x; return x + 5;
    case 1: return mix(x);
    case 2: sink = x + 1; return x * 3;
    case 3: sink = x ^ 9; return mix(x) + mix(x + 1);
    case 4: sink = x - 7; return x ^ 0x55;
    case 5: return x / 3;
    case 6: sink = 2 * x; return x & 0xff;
    default: return 1;
    }
}
__attribute__((section(".called"))) NOINLINE unsigned add(unsigned x) { return x + sink; }
__attribute__((section(".called"))) NOINLINE unsigned apply(unsigned (*f)(unsigned), unsigned x) {
    return f(x) + f(x + 1);
}
__attribute__((section(".root"))) NOINLINE unsigned work(unsigned n) {
    unsigned sum = 0;
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = i; j; j >>= 1) sum += pick(sum + j);
        if (i & 1) sum += apply(add, i); else sum ^= apply(mix, i);
    }
    do { sum -= 3; } while (sum & 6);
    return sum;
}
__attribute__((section(".main"))) int main(void) {
    static const unsigned times[] = {0, 1, 2, 3, 5, 8, 13, 21, 4};
    for (unsigned i = 0; i < 9; i++) sink = work(times[i]);
    register unsigned op __asm__("r0") = 0x18;
    register unsigned why __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" :: "r"(op), "r"(why) : "memory");
    for (;;) { }
}
"""
SCRIPT = """
ENTRY(main)
SECTIONS {
    . = 0;
    .text : { KEEP(*(.vectors)) *(.main) . = ALIGN(256); root = .; *(.root) *(.called)
              *(.text .text.*) rest = .; . = ALIGN(256); *(.rodata .rodata.*) }
    . = 0x20000000;
    .bss (NOLOAD) : { *(.bss .bss.* COMMON) }
    /DISCARD/ : { *(.ARM.exidx* .comment) }
}
"""


def address_of(elf: Path, name: str) -> int:
    """Return the address of a symbol."""
    listed = subprocess.run(
        ["arm-none-eabi-nm", elf], capture_output=True, text=True, check=True
    ).stdout
    fields = [line.split() for line in listed.splitlines()]
    return next(int(row[0], 16) for row in fields if row[-1] == name)


@pytest.mark.parametrize("level", ["-O0", "-O2", "-Os"])
@pytest.mark.parametrize("processor", ["cortex-m0plus", "cortex-m3"])
def test_no_recorded_call_is_above_its_bound(tmp_path: Path, processor: str, level: str) -> None:
    """Loops, a switch, division, calls and pointers to functions: each bound holds."""
    need("qemu-system-arm", "arm-none-eabi-gcc")
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    (tmp_path / "program.ld").write_text(SCRIPT, encoding="utf-8")
    elf, trace = build(tmp_path, "program", f"-mcpu={processor}", level)
    start, ends = address_of(elf, "root"), address_of(elf, "rest")
    draw = random.Random(f"{processor}{level}")  # noqa: S311  (a repeatable draw)
    for _ in range(12):
        ways, sets, line = draw.choice((1, 2, 3, 4)), 1 << draw.randrange(6), 8 << draw.randrange(3)
        design = shape(ways, sets, line)
        bound = _engine.call_bound(trace, design, "work")
        assert bound.calls == 9
        assert bound.unfollowed_calls == 0
        assert bound.first_call_misses == worst_call(trace, start, ends, ways, sets, line)
        limited = _engine.call_bound(trace, design, "work", has_totals=True)
        assert bound.first_call_misses <= limited.misses <= bound.misses
        if not bound.overfull:
            assert bound.misses <= bound.lines


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the card firmware and a recording of it without reads."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    build = tmp_path_factory.mktemp("card")
    folder = ROOT / "examples" / "firmware"
    subprocess.run(["make", "-s", "-C", folder, f"BUILD={build}"], check=True)
    elf, trace = build / "card-firmware.elf", build / "card.trace"
    flashpager("record", "--no-reads", "-o", trace, "--system", MACHINE, elf)
    return elf, trace


def test_no_call_of_the_card_firmware_is_above_its_bound(card: tuple[Path, Path]) -> None:
    """No recorded call, in the state that the replay has or from an empty cache, is above."""
    _, trace = card
    tight = 0
    for ways, sets, line in SHAPES:
        design = shape(ways, sets, line)
        times = _engine.call_times(trace, design, list(FUNCTIONS))
        for timed in times:
            bound = _engine.call_bound(trace, design, timed.function)
            limited = _engine.call_bound(trace, design, timed.function, has_totals=True)
            first = bound.first_call_misses
            assert first is not None
            assert bound.calls + bound.unfollowed_calls == timed.calls
            assert timed.most_faults <= first <= limited.misses <= bound.misses
            if not bound.overfull:
                assert bound.misses <= bound.lines
                tight += bound.misses <= 1.2 * first
    assert tight


def test_what_is_printed_is_true(card: tuple[Path, Path]) -> None:
    """The lines have the figures of --json, and each set has as many lines as it is said to."""
    _, trace = card
    flags = ("--board", "rp2040", "--cache", "2K", "--calls", "radio_poll", "--bound")
    done = flashpager("simulate", trace, *flags)
    printed = done.out
    answer = flashpager("simulate", trace, *flags, "--json").json["bounds"][0]
    first = f"in the worst of {answer['calls']:,} recorded calls"
    assert f"a call of radio_poll: {answer['misses']:,} misses at most, from any state" in printed
    assert f"{answer['first_call_misses']:,} misses {first}" in printed
    assert f"in {answer['lines']:,} lines; {len(answer['overfull'])} sets have more" in printed
    for each in answer["overfull"]:
        assert each["lines"] > answer["ways"]
        assert each["functions"]
    never = sum(each["iterations"] == 0 for each in answer["loops"])
    assert never == 1
    assert f"1 loop of {len(answer['loops'])} does not run in the trace" in done.err


def test_loops_may_be_stated(card: tuple[Path, Path], tmp_path: Path) -> None:
    """Limits that are the trace's give its bound; each loop needs one, and none is below it."""
    _, trace = card
    flags = ("simulate", trace, "--board", "rp2040", "--cache", "2K", "--calls", "memcpy")
    recorded = flashpager(*flags, "--bound", "--json").json["bounds"][0]
    file = tmp_path / "loops.txt"
    stated = [f"{each['place']} = {each['iterations']}" for each in recorded["loops"]]
    assert stated
    file.write_text("\n".join(["# limits", *stated]), encoding="utf-8")
    again = flashpager(*flags, "--bound", "--loops", file, "--json").json["bounds"][0]
    assert again["misses"] == recorded["misses"]
    assert again["has_recorded_loops"] is False
    (place, most) = next(
        (each["place"], each["iterations"]) for each in recorded["loops"] if each["iterations"] > 1
    )
    file.write_text("\n".join(line for line in stated if not line.startswith(f"{place} ")))
    assert f"the loop at {place} has no limit" in fails(*flags, "--bound", "--loops", file)
    less = fails(*flags, "--bound", "--loops", file, "--loops", f"{place}={most - 1}")
    assert f"the trace runs it {most} times" in less
    whole = ("--bound", "--loops", file, "--loops", f"{place}={most}")
    assert "is no loop" in fails(*flags, *whole, "--loops", "memcpy+0x999=1")
    assert "is no PLACE=N" in fails(*flags, "--bound", "--loops", "memcpy+0x2=many")


def test_stated_loops_with_totals(card: tuple[Path, Path]) -> None:
    """With both options the condition names both limits, and loops that never ran are noted."""
    _, trace = card
    flags = ("simulate", trace, "--board", "rp2040", "--cache", "2K", "--calls", "radio_poll")
    recorded = flashpager(*flags, "--bound", "--json").json["bounds"][0]["loops"]
    never = {each["place"] for each in recorded if each["iterations"] == 0}
    assert len(never) == 1
    whole = "if no loop runs more often than --loops states"
    total = ", nor more often in a call than in the worst recorded one"
    for most, source in ((0, "by --loops"), (5, "in the trace")):
        stated = [
            word
            for each in recorded
            for word in ("--loops", f"{each['place']}={each['iterations'] or most}")
        ]
        with_totals = flashpager(*flags, "--bound", "--totals", *stated)
        assert f"{whole}{total}" in " ".join(with_totals.out.split())
        sentence = f"1 loop of {len(recorded)} does not run {source}, nor in the bound"
        assert sentence in " ".join(with_totals.err.split())
        without = flashpager(*flags, "--bound", *stated)
        assert total not in " ".join(without.out.split())
        assert (sentence in " ".join(without.err.split())) == (most == 0)


def test_a_tree_of_two_ways_is_bounded_as_lru(card: tuple[Path, Path]) -> None:
    """The tree of two ways keeps what LRU keeps; that of four does not, and is refused."""
    _, trace = card
    calls = ("--calls", "memcpy", "--bound")
    flags = ("simulate", trace, "--board", "rp2040", "--cache", "2K", *calls)
    lru, plru = (
        flashpager(*flags, "--policy", policy, "--json").json["bounds"]
        for policy in ("lru", "plru")
    )
    assert plru == lru
    assert "for plru in sets of 4" in fails(*flags, "--policy", "plru", "--ways", "4")


def test_what_has_no_bound_is_refused(card: tuple[Path, Path], tmp_path: Path) -> None:
    """Other policies, options without --bound, reads and unknown functions are refused."""
    elf, trace = card
    flags = ("simulate", trace, "--board", "rp2040", "--cache", "2K")
    for policy in ("fifo", "random(1)", "sieve"):
        refused = fails(*flags, "--policy", policy, "--calls", "memcpy", "--bound")
        assert f"no sound analysis is built in for {policy}" in refused
    assert "name it with --calls" in fails(*flags, "--bound")
    assert "add --bound" in fails(*flags, "--calls", "memcpy", "--totals")
    warm = ("--calls", "memcpy", "--bound", "--warm-up", "50%")
    assert "leave the warm-up out" in fails(*flags, *warm)
    with_reads = tmp_path / "reads.trace"
    flashpager("record", "-o", with_reads, "--system", MACHINE, elf)
    reads = fails("simulate", with_reads, "--board", "rp2040", "--calls", "memcpy", "--bound")
    assert "record it with --no-reads" in reads
    poll = fails(*flags, "--calls", "scheduler_run_until", "--bound")
    site = poll.partition("--targets ")[2].partition("=")[0]
    assert f"scheduler_run_until at {site} calls a function that is not known" in poll
    with pytest.raises(FlashpagerError, match="no function 'memcopy'"):
        _engine.call_bound(trace, shape(2, 8, 8), "memcopy")


RECURSIVE = """
extern int main(void);
__attribute__((section(".vectors"), used)) void *const vectors[] = {(void *)0x20004000, main};
__attribute__((noinline, used)) int down(int n) {
    int below = n ? down(n - 1) : 0;
    __asm__ volatile("");
    return below + n;
}
__attribute__((noinline, used)) int through(int (**f)(int)) { return (*f)(3) + 1; }
int (*volatile chosen)(int);
int main(void) {
    register unsigned op __asm__("r0") = 0x18;
    register unsigned why __asm__("r1") = 0x20026;
    int (*given)(int) = chosen ? chosen : down;
    if (chosen) through(&given);
    down(3);
    op = 0x18; why = 0x20026;
    __asm__ volatile("bkpt 0xab" :: "r"(op), "r"(why) : "memory");
    for (;;) { }
}
"""


def test_recursion_and_unknown_calls_are_refused(tmp_path: Path) -> None:
    """The place is named, and the option that would help."""
    need("qemu-system-arm", "arm-none-eabi-gcc")
    (tmp_path / "program.c").write_text(RECURSIVE, encoding="utf-8")
    script = SCRIPT.replace("root = .;", "root = .; *(.text.down)")
    (tmp_path / "program.ld").write_text(script, encoding="utf-8")
    _, trace = build(tmp_path, "program", "-mcpu=cortex-m3", "-O1", "-fno-optimize-sibling-calls")
    with pytest.raises(FlashpagerError, match=r"down at 0x[0-9a-f]+ may call itself"):
        _engine.call_bound(trace, shape(2, 8, 8), "down")
    with pytest.raises(FlashpagerError, match=r"through at 0x[0-9a-f]+ calls .*--targets 0x"):
        _engine.call_bound(trace, shape(2, 8, 8), "through")


def test_one_is_one(card: tuple[Path, Path]) -> None:
    """A function without loops and overfull sets has a plain sentence."""
    _, trace = card
    bound = _engine.call_bound(trace, shape(4, 1024, 8), "put16")
    assert not bound.loops
    assert not bound.overfull
    described = lines(bound)
    assert described[0].endswith("at most, from any state")
    assert described[-1].endswith("no set has more of them than its 4 ways")
    assert len(notes(bound)) == 1
    assert parse_loops(["a+0x2=3"]) == [("a+0x2", 3)]


IN_RAM = """
volatile unsigned sink;
extern int main(void);
__attribute__((section(".vectors"), used)) void *const vectors[] = {(void *)0x20004000, main};
__attribute__((section(".ramcode"), noinline, used)) void spin(unsigned n) {
    for (unsigned i = 0; i < n; i++) sink = i;
}
__attribute__((section(".ramcode"), noinline, used)) void step(unsigned n) { sink = n; }
__attribute__((section(".root"), noinline, used)) unsigned tail(unsigned n) {
    unsigned sum = n;
    for (unsigned i = 0; i < n; i++) sum = sum * 33 + sink;
    return sum;
}
__attribute__((section(".root"), noinline, used)) unsigned with_loop(unsigned n) {
    if (!n) return 7;
    spin(n);
    return tail(n) + 1;
}
__attribute__((section(".root"), noinline, used)) unsigned without_loop(unsigned n) {
    if (!n) return 7;
    step(n);
    return tail(n) + 1;
}
__attribute__((section(".ramcode"), noinline, used)) void back(unsigned n) { sink = tail(n) + 1; }
__attribute__((section(".root"), noinline, used)) unsigned left(unsigned n) {
    unsigned sum = n;
    for (unsigned i = 0; i < n; i++) sum = sum * 5 + sink;
    if (n > 1) back(n);
    return sum;
}
__attribute__((section(".main"))) int main(void) {
    unsigned *to = &ram_start, *from = &ram_load;
    while (to < &ram_end) *to++ = *from++;
    sink = with_loop(0); sink = with_loop(5);
    sink = without_loop(0); sink = without_loop(5);
    sink = left(1); sink = left(6);
    register unsigned op __asm__("r0") = 0x18;
    register unsigned why __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" :: "r"(op), "r"(why) : "memory");
    for (;;) { }
}
"""


@pytest.fixture(scope="module")
def in_ram(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of a program with code in RAM."""
    need("qemu-system-arm", "arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("ram")
    source = IN_RAM.replace(
        "extern int main", "extern unsigned ram_start, ram_end, ram_load;\nextern int main", 1
    )
    (folder / "program.c").write_text(source, encoding="utf-8")
    script = SCRIPT.replace(
        "    . = 0x20000000;\n",
        "    ram_load = .;\n    . = 0x20000000;\n"
        "    .fast : AT(ram_load) { ram_start = .; *(.ramcode) . = ALIGN(4); ram_end = .; }\n",
    )
    (folder / "program.ld").write_text(script, encoding="utf-8")
    _, trace = build(folder, "program", "-mcpu=cortex-m3", "-O1", "-mlong-calls")
    return trace


def test_loops_in_ram_need_limits(in_ram: Path) -> None:
    """The trace does not show them; with stated limits, the bound has what is behind."""
    design = shape(2, 64, 8)
    with pytest.raises(
        FlashpagerError, match=r"spin\+0x[0-9a-f]+ lies in RAM .*--loops spin"
    ) as error:
        _engine.call_bound(in_ram, design, "with_loop")
    place = str(error.value).rpartition("--loops ")[2].partition("=")[0]
    with pytest.raises(FlashpagerError, match=r"tail\+0x[0-9a-f]+ has no limit") as error:
        _engine.call_bound(in_ram, design, "with_loop", loops=[(place, 5)], has_totals=True)
    behind = str(error.value).partition("add '")[2].partition("=")[0]
    stated = [(place, 5), (behind, 5)]
    bound = _engine.call_bound(in_ram, design, "with_loop", loops=stated, has_totals=True)
    assert bound.calls == 2
    assert bound.unfollowed_calls == 0
    assert bound.misses == bound.first_call_misses
    assert [each.in_call for each in bound.loops if each.place == place] == [None]
    assert "spin" in bound.in_ram


def test_a_call_goes_on_behind_code_in_ram(in_ram: Path) -> None:
    """Flash code behind a call of RAM is followed, and in the bound."""
    bound = _engine.call_bound(in_ram, shape(2, 64, 8), "without_loop")
    assert (bound.calls, bound.unfollowed_calls) == (2, 0)
    assert all(each.iterations >= 5 for each in bound.loops)
    assert bound.misses == bound.first_call_misses


def test_a_call_that_was_left_keeps_its_loops(in_ram: Path) -> None:
    """Its loops ran at least as often as until it was left, and the condition names the others."""
    design = shape(2, 64, 8)
    with pytest.raises(FlashpagerError, match=r"tail\+0x[0-9a-f]+ lies in RAM or is called from"):
        _engine.call_bound(in_ram, design, "left")
    with pytest.raises(FlashpagerError, match=r"tail\+0x[0-9a-f]+ has no limit") as error:
        _engine.call_bound(in_ram, design, "left", loops=[])
    place = str(error.value).partition("add '")[2].partition("=")[0]
    with pytest.raises(FlashpagerError, match=r"left\+0x[0-9a-f]+ has no limit.*has [67] at most"):
        _engine.call_bound(in_ram, design, "left", loops=[(place, 9)])


JUMPS = """
extern int main(void);
__attribute__((section(".vectors"), used)) void *const vectors[] = {(void *)0x20004000, main};
#define NAKED __attribute__((naked, noinline, used))
NAKED void by_link(void **p) { __asm__("push {r4, lr}\\n ldr lr, [r0]\\n bx lr"); }
NAKED void by_index(int n) { __asm__("push {r4, lr}\\n ldr pc, [sp, r0, lsl #2]"); }
NAKED void by_slot(int n) { __asm__("push {r4, lr}\\n str r0, [sp]\\n ldr pc, [sp]"); }
int main(void) {
    register unsigned op __asm__("r0") = 0x18;
    register unsigned why __asm__("r1") = 0x20026;
    __asm__ volatile("bkpt 0xab" :: "r"(op), "r"(why) : "memory");
    for (;;) { }
}
"""


def test_jumps_that_are_no_returns_are_refused(tmp_path: Path) -> None:
    """The link register may hold a label, and a word at an index may be one of a table."""
    need("qemu-system-arm", "arm-none-eabi-gcc")
    (tmp_path / "program.c").write_text(JUMPS, encoding="utf-8")
    (tmp_path / "program.ld").write_text(SCRIPT, encoding="utf-8")
    _, trace = build(tmp_path, "program", "-mcpu=cortex-m3", "-O1")
    for name in ("by_link", "by_index", "by_slot"):
        with pytest.raises(FlashpagerError, match=f"{name} at 0x[0-9a-f]+ jumps to an address"):
            _engine.call_bound(trace, shape(2, 8, 8), name)
