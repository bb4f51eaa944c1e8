"""Tests of processors: run times from RAM and paged, software of a fault, calls."""

import json
import math
from pathlib import Path

import polars as pl
import pytest

from flashpager import Design, Needs, Space, Trace, answer, explore
from flashpager._engine import Handler, cores, simulate
from flashpager.replay.table import COLUMNS, design_of
from tests.conftest import ROOT, fails, flashpager, import_csv

CARD = ROOT / "examples" / "traces" / "card-firmware.trace"
SENSORS = ROOT / "examples" / "traces" / "java" / "sensors.trace"
TROFF = ROOT / "examples" / "traces" / "troff.trace"
SLOW = "cortex-m3@1MHz"
M3 = "cortex-m3@64MHz"

#: Times of paging, step by step.
_LOST = (
    *("load_ns", "fetch_ns", "write_ns", "column_change_ns", "lookups_ns", "handler_ns"),
    "false_faults_ns",
)


class TestRunTime:
    """The slowdown against RAM, and the run time in milliseconds."""

    def test_the_run_time_is_printed(self) -> None:
        """The output of simulate has one line with the run time and the slowdown."""
        message = flashpager("simulate", CARD, "--processor", M3).out
        result = flashpager("simulate", CARD, "--processor", M3, "--json").json
        run = result["run"]
        slower = f"{run['slowdown']:.3g} times slower than from RAM on {M3}: "
        assert slower in message
        assert "instead of 192.3 ms" in message
        # Without a flag the processor follows from the trace, and the output names it.
        usual = flashpager("simulate", CARD)
        assert slower in usual.out
        assert f"processor {M3} (usual for arm" in usual.out
        for command in ("simulate", "explore", "attribute"):
            assumed = flashpager(command, CARD, "--part", "W25N01GV", "--json").json["assumed"]
            (one,) = (assumption for assumption in assumed if assumption["field"] == "processor")
            assert one["value"] == M3
        assert run["instructions"] == result["trace"]["instructions"]
        assert run["alone_ns"] == pytest.approx(run["instructions"] * 1.4 * 1e3 / 64)

    def test_is_the_sum_of_its_parts(self) -> None:
        """The run time includes code outside of flash, which paging does not slow down."""
        for trace in (CARD, TROFF):
            result = flashpager("simulate", trace, "--processor", M3, "--json").json
            run, time = result["run"], result["time"]
            instructions = run["instructions"] + run["outside_instructions"]
            lost = math.fsum(time[step] for step in _LOST) - time["hidden_ns"]
            assert run["lost_ns"] == pytest.approx(lost)
            assert run["alone_ns"] == pytest.approx(instructions * run["instruction_ns"])
            assert run["paged_ns"] == pytest.approx(run["alone_ns"] + lost)
            assert run["slowdown"] == pytest.approx(run["paged_ns"] / run["alone_ns"])

    def test_run_time_from_nor(self) -> None:
        """A program executed from NOR is no faster than its processor."""
        command = ("simulate", CARD, "--part", "W25N01GV", "--bus", "40MHz-x4", "--json")
        memories, slow = (
            flashpager(*command, *more).json
            for more in (("--processor", "none"), ("--processor", SLOW))
        )
        read_ns = memories["nor"]["nor_time_ns"]
        executed_ns = slow["time"]["read_ns"]
        assert slow["nor"]["nor_time_ns"] == pytest.approx(read_ns + executed_ns)
        assert slow["nor"]["nor_ratio"] == pytest.approx(
            (read_ns + executed_ns) / slow["time"]["time_ns"]
        )

    def test_twice_the_clock_halves_the_processor_times(self) -> None:
        """The times of the processor halve, and the times of the flash stay."""
        slow, fast = (
            simulate(CARD, [Design(processor=f"cortex-m0plus@{clock}MHz")])[0].time
            for clock in (24, 48)
        )
        for step in ("read_ns", "write_ns", "lookups_ns", "handler_ns"):
            assert getattr(slow, step) == pytest.approx(2 * getattr(fast, step))
        for step in ("load_ns", "fetch_ns"):
            assert getattr(slow, step) == getattr(fast, step)

    def test_own_cycles_an_instruction(self) -> None:
        """The user may give cycles per instruction in the name of the processor."""
        run = flashpager("simulate", CARD, "--processor", "cortex-m3(2)@100MHz", "--json").json
        assert run["run"]["instruction_ns"] == 20
        assert run["design"]["processor"] == "cortex-m3(2)@100MHz"
        # These cycles are the program's; the software of a fault keeps those of the core.
        assert run["prices"]["handler"]["lookup_ns"] == pytest.approx(19 * 1.4 * 10)

    def test_bytecodes_are_no_instructions(self) -> None:
        """A virtual machine executes bytecodes; their cycles must be given."""
        error = fails("simulate", SENSORS, "--board", "micaz", "--processor", "atmega128@8MHz")
        assert "the trace counts bytecodes" in error
        assert "atmega128(120)@8MHz" in error
        given = ("--board", "micaz", "--processor", "atmega128(120)@8MHz", "--json")
        # The exit code is 1, since the board's own needs are not met.
        run = flashpager("simulate", SENSORS, *given, code=1).json["run"]
        assert run["instruction_ns"] == 15_000

    def test_instructions_of_another_machine_are_noted(self) -> None:
        """A note states that the program was compiled for another core."""
        of_arm = flashpager("simulate", CARD, "--processor", "picorv32@50MHz").err
        assert "as if picorv32 took as many instructions as the arm of the trace" in of_arm
        assert "as if" not in flashpager("simulate", CARD, "--processor", M3).err

    def test_a_trace_without_instructions_is_refused(self, tmp_path: Path) -> None:
        """A trace without instructions has no run time, and a processor is refused."""
        trace = import_csv(tmp_path, "0,64\n")
        error = fails("simulate", trace, "--processor", M3)
        assert "does not say how many instructions" in error

    @pytest.mark.parametrize(
        ("processor", "message"),
        [
            ("64MHz", "is not of the form cortex-m3@64MHz"),
            ("cortex-m9@64MHz", "unknown core 'cortex-m9'; did you mean cortex-m"),
            ("cortex-m3@0MHz", "no clock"),
            ("missing.toml@64MHz", "missing.toml"),
        ],
    )
    def test_invalid_processors_are_refused(self, processor: str, message: str) -> None:
        """The error is one line that shows how to write a processor."""
        for command in ("simulate", "explore", "attribute"):
            assert message in fails(command, CARD, "--processor", processor)


class TestFaultPath:
    """The time of the software of a fault, and its source."""

    def test_core_cycles(self) -> None:
        """The cycles are those of the core, also for lookups."""
        prices = flashpager("simulate", CARD, "--processor", M3, "--json").json["prices"]
        assert prices["handler"]["lookup_ns"] == pytest.approx(19 * 1.4 * 1e3 / 64)
        assert prices["handler"]["pre_process_ns"] == pytest.approx(339 * 1.4 / 1.5 * 1e3 / 64)
        assert Design(processor=M3).handler.lookup_ns == prices["handler"]["lookup_ns"]

    def test_a_board_comes_first(self) -> None:
        """The zeros on the boards of papers take precedence over the core's cycles."""
        command = ("simulate", CARD, "--board", "smartcard", "--processor", M3, "--json")
        assert flashpager(*command).json["prices"]["handler"]["lookup_ns"] == 0
        message = Design(processor=M3, handler=Handler(lookup_ns=7))
        assert message.handler.lookup_ns == 7
        assert message.replace(handler=None).handler.lookup_ns > 7

    def test_assumed_times_are_named(self) -> None:
        """The output names the source of the times; without a processor they are not counted."""
        message = flashpager("simulate", CARD, "--processor", M3).out
        assert "1.4 cycles an instruction (unverified" in message
        assert "as many instructions as on atmega128" in message
        assert (
            "measured on atmega128"
            in flashpager("simulate", CARD, "--processor", "atmega128@16MHz").out
        )
        uncounted = "the execution of instructions and lookups and the fault handler (--processor"
        assert uncounted in flashpager("simulate", CARD, "--processor", "none").out
        assert uncounted not in flashpager("simulate", CARD).out
        free = flashpager("simulate", CARD, "--board", "smartcard", "--processor", M3).out
        assert "lookups and the fault handler (as the design says)" in free

    def test_steps_that_a_board_leaves_out(self, tmp_path: Path) -> None:
        """The time of a step that the board leaves out is 0, not that of the core."""
        board = tmp_path / "board.toml"
        board.write_text(f'processor = "{M3}"\n[handler]\nlookup_ns = 100\n')
        message = flashpager("simulate", CARD, "--board", board).out
        assert "handler pre_process_ns 0 ([handler] has other times)" in message

    def test_does_not_depend_on_the_bus(self) -> None:
        """The software's times do not depend on the bus."""
        refused = Design(part="W25N01GV", processor=M3, bus="200MHz-x4")
        assert refused.refusal()
        assert refused.handler == Design(processor=M3).handler
        assert refused.ram == Design(processor=M3).ram

    def test_of_a_timeline(self) -> None:
        """The handler has the core's times; a board's own take precedence, and are named."""
        own = flashpager("handler", "--board", "omap5912-onenand", "--processor", M3)
        assert "those of the board's [handler]" in own.err

    def test_boards_name_a_core(self, tmp_path: Path) -> None:
        """A board names a core beside the clock of an estimate, or both in one word."""
        for text in (
            '[processor]\ncore = "cortex-m3"\nclock_mhz = 64\n',
            'processor = "cortex-m3@64MHz"\n',
        ):
            board = tmp_path / "board.toml"
            board.write_text(text)
            result = flashpager("simulate", CARD, "--board", board, "--json").json
            assert result["design"]["processor"] == M3
            assert result["run"]["instruction_ns"] == pytest.approx(1.4e3 / 64)
            flashpager("estimate", "--board", board, "--part", "W25N01GV")
        # A clock alone is that of a driver, and the core follows from the trace.
        board.write_text("[processor]\nclock_mhz = 80\n")
        result = flashpager("simulate", CARD, "--board", board, "--json").json
        assert result["design"]["processor"] == M3
        board.write_text('[processor]\ncore = "none"\nclock_mhz = 80\n')
        assert "run" not in flashpager("simulate", CARD, "--board", board, "--json").json

    def test_none(self, tmp_path: Path) -> None:
        """The processor may be `none` in a flag, a list, a space, a board and Python."""
        board = tmp_path / "board.toml"
        board.write_text(f'processor = "{M3}"\n')
        for flags in (("--processor", "none"), ("--board", board, "--processor", "none")):
            result = flashpager("simulate", CARD, *flags, "--json").json
            assert result["design"]["processor"] is None
            assert "run" not in result
        board.write_text('processor = "none"\n')
        assert "run" not in flashpager("simulate", CARD, "--board", board, "--json").json
        flashpager("estimate", "--board", board, "--part", "W25N01GV")
        space = tmp_path / "space.toml"
        space.write_text(f'processor = ["none", "{M3}"]\n')
        for arguments in (("--space", space), ("--processor", f"none,{M3}")):
            rows = flashpager("explore", CARD, *arguments, "--json", "--limit", "0").json["designs"]
            assert {row["processor"]: row["slowdown"] is None for row in rows} == {
                None: True,
                M3: False,
            }
        assert Design(processor="none") == Design(processor=None) != Design()
        for values in ([None, M3], ["none", M3], f"none,{M3}"):
            designs = Space(processor=values).designs().possible
            assert [design.processor for design in designs] == [None, M3]
        fails(
            *("explore", CARD, "--processor", "none", "--max-slowdown", "2"),
            words=["needs --processor"],
        )

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('[processor]\ncore = "cortex-m3"\n', "[processor]: lacks clock_mhz"),
            ('[processor]\ncore = "m99"\nclock_mhz = 64\n', "[processor]: unknown core 'm99'"),
            ("[processor]\ncore = 3\nclock_mhz = 64\n", "no name of a core"),
            ('[processor]\ncore = "cortex-m3"\nclock_mhz = 64\nmhz = 1\n', "unknown field 'mhz'"),
            ('processor = "cortex-m3"\n', "is not of the form"),
        ],
    )
    def test_a_boards_mistake_is_named(self, tmp_path: Path, text: str, message: str) -> None:
        """The error names the board's file."""
        board = tmp_path / "board.toml"
        board.write_text(text)
        error = fails("simulate", CARD, "--board", board)
        assert message in error
        assert str(board) in error

    def test_a_core_in_a_file(self, tmp_path: Path) -> None:
        """A core may be a file, as a part may be."""
        core = tmp_path / "own.toml"
        core.write_text(
            'name = "own"\nmaker = "me"\n'
            'cycles_per_instruction = { value = 1, source = "measured" }\n'
            '[fault_path]\nlookup = { cycles = 10, source = "measured" }\n'
        )
        result = flashpager("simulate", CARD, "--processor", f"{core}@100MHz", "--json").json
        assert result["run"]["instruction_ns"] == 10
        assert result["prices"]["handler"]["lookup_ns"] == 100
        assert "measured" in flashpager("cores", core).out


class TestExplore:
    """A processor is an axis."""

    def test_columns(self, tmp_path: Path) -> None:
        """Run time and slowdown stand beside the bandwidth."""
        table = tmp_path / "table.jsonl"
        flags = ("--processor", f"{M3},picorv32@50MHz", "--cache", "1K,2K", "-o", table)
        message = flashpager("explore", CARD, *flags).out
        assert "run ms" in message
        assert "slower" in message
        rows = [json.loads(line) for line in table.read_text().splitlines()]
        assert {row["processor"] for row in rows} == {M3, "picorv32@50MHz"}
        for row in rows:
            assert row["run_ms"] == pytest.approx(row["alone_ms"] * row["slowdown"])
            assert row["slowdown"] > 1
        none = ("--processor", "none", "--cache", "1K,2K")
        assert "slower" not in flashpager("explore", CARD, *none).out

    def test_a_need(self) -> None:
        """The slowdown of the answer, with all costs of paging, meets the need."""
        flags = ("--processor", M3, "--part", "W25N01GV", "--ram", "4K", "--json")
        free = flashpager("explore", CARD, *flags).json["answer"]
        best = free["best"]["slowdown"]
        met = flashpager("explore", CARD, *flags, "--max-slowdown", f"{best + 0.1:.2f}").json
        assert 0 < met["answer"]["fitting"] < free["fitting"]
        assert met["answer"]["best"]["slowdown"] == best

    def test_a_gate(self) -> None:
        """An unmet slowdown ends simulate with exit code 1 after the answer."""
        command = ("simulate", CARD, "--processor", M3, "--max-slowdown")
        failed = flashpager(*command, "2", code=1)
        assert "slower than from RAM" in failed.out
        assert "slowdown" in failed.err
        assert "times > 2 times" in failed.err
        flashpager(*command, "100")

    def test_rows_know_their_designs(self) -> None:
        """The columns of a table determine the design."""
        assert len(set(COLUMNS)) == len(COLUMNS)
        trace = Trace.open(CARD)
        space = Space(processor=[M3, "atmega128@16MHz"], cache_bytes="2K,4K", policy="pa-clock")
        result = answer(explore(trace, space))
        for row in result.designs.iter_rows(named=True):
            design = design_of(row)
            again = simulate(CARD, [design])[0]
            assert again.design.processor == row["processor"]
            assert again.time.bandwidth_mib_s == pytest.approx(row["bandwidth_mib_s"], rel=1e-12)
            assert again.run is not None
            assert again.run.slowdown == row["slowdown"]
            assert again.design == design

    def test_a_slowdown_without_a_processor_is_unmet(self) -> None:
        """A need for a slowdown is not met without a processor."""
        needs = Needs(max_slowdown=2)
        (unmet,) = needs.unmet(simulate(CARD, [Design(processor=None)])[0])
        assert (unmet.need, unmet.found) == ("max_slowdown", None)
        assert "no processor says" in unmet.said
        trace = Trace.open(CARD)
        bare = explore(trace, Space(Design(processor=None), cache_bytes="2K"))
        result = answer(bare, needs)
        assert result.best is None
        assert "no processor says" in result.bites[0]
        slow = explore(trace, Space(cache_bytes="2K", processor=M3))
        mixed = answer(pl.concat([bare, slow]), needs)
        assert mixed.best is None
        assert "times slower than from RAM" in mixed.bites[0]

    def test_a_need_without_a_processor_is_refused(self) -> None:
        """A slowdown needs a processor, as there is no other time to compare with."""
        for command in ("explore", "simulate"):
            flags = ("--processor", "none", "--max-slowdown", "2")
            assert "needs --processor" in fails(command, CARD, *flags)
        assert "is no factor" in fails("explore", CARD, "--processor", M3, "--max-slowdown", "0.5")


class TestCalls:
    """The times of calls of a function."""

    def test_calls_of_the_card(self) -> None:
        """Each command of a session is one call; the time lost in it is no more than its time."""
        command = ("simulate", CARD, "--processor", M3, "--calls", "exchange", "--calls", "main")
        result = flashpager(*command, "--json").json
        exchange, main = result["calls"]
        assert exchange["calls"] == 587
        assert exchange["unreturned"] == 0
        for call in (exchange, main):
            spread, lost = call["time"], call["lost"]
            assert 0 < lost["mean_ns"] < spread["mean_ns"]
            assert spread["mean_ns"] <= spread["worst_ns"]
            assert spread["p99_ns"] <= spread["worst_ns"]
        # The whole program runs in main, except for a few instructions before it.
        assert main["calls"] == 1
        assert main["all_ns"] == pytest.approx(result["time"]["time_ns"], rel=1e-3)
        assert main["most_faults"] <= result["counts"]["misses"]
        message = flashpager(*command).out
        assert "exchange" in message
        assert "lost to paging" in message

    def test_unknown_functions_are_refused(self) -> None:
        """The error suggests similar names; a stripped program has no names."""
        assert "names no function 'exchang'; did you mean exchange" in fails(
            "simulate", CARD, "--calls", "exchang"
        )
        assert "names no function" in fails("simulate", TROFF, "--calls", "main")

    def test_one_function_named_twice(self) -> None:
        """A function that is named twice is answered twice."""
        flags = ("--calls", "exchange", "--calls", "exchange", "--json")
        one, other = flashpager("simulate", CARD, *flags).json["calls"]
        assert one == other
        assert one["calls"] == 587

    def test_functions_never_called_are_named(self) -> None:
        """A message names functions that are never called, and calls that did not return."""
        finished = flashpager("simulate", CARD, "--calls", "reset", "--calls", "fault")
        assert "fault is never called" in finished.err
        assert "1 call of reset did not return" in finished.err


class TestCores:
    """The catalog of cores."""

    def test_lists_and_shows(self) -> None:
        """Every number has its source."""
        message = flashpager("cores").out
        for core in cores():
            assert core.name in message
            shown = flashpager("cores", core.name, "--json").json["cores"][0]
            assert shown["cycles_per_instruction"]["source"]
            assert all(job["source"] and job["measured_on"] for job in shown["jobs"])

    def test_assumptions_are_printed(self) -> None:
        """Assumptions are printed; prices measured on another core are not used."""
        assert "assumed to take as many instructions" in flashpager("cores", "picorv32").out
        assert "assumed" not in flashpager("cores", "atmega128").out

    def test_unknown(self) -> None:
        """The error is one line with similar names."""
        assert "did you mean cortex-m" in fails("cores", "cortex-m2")
