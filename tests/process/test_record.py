"""Recordings of real programs, most of them known by construction to the last instruction."""

import os
import shutil
import signal
import subprocess
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from tests.conftest import ROOT, fails, flashpager, info_of, need, runs_of
from tests.programs import (
    STATIC,
    arm_loop,
    compile_with,
    firmware_loop,
    stand_ins,
    x86_loop,
)
from tests.recordings import KINDS, TOOLS, calls, check_known, kind_for

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

FUNCTIONS = """
#include <stdio.h>
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART void leaf(int n) { total += n; }
APART void middle(int n) { for (int i = 0; i < n; i++) { leaf(i); total ^= i; } total++; }
APART void never(void) { total = 0; leaf(1); total--; }
int main(int argc, char **argv)
{
    for (int i = 0; i < 10; i++) { middle(7); total += argc; }
    if (argc > 100) never();
    (void)argv;
    puts("done");
    return 0;
}
"""


class TestKnownByConstruction:
    """Programs without a library: every instruction is accounted for."""

    @pytest.mark.parametrize("recorder", TOOLS)
    def test_exact(self, tmp_path: Path, recorder: str) -> None:
        """The instructions, bytes and runs are exact with every recorder."""
        need(*TOOLS[recorder])
        program, known = x86_loop(tmp_path)
        trace = tmp_path / "t.trace"
        done = flashpager(
            "record", "--no-reads", "--recorder", recorder, "-o", trace, "--", program, "a", "-b"
        )
        assert done.out == ""
        info = check_known(trace, known)
        assert info["recorder"] == recorder
        assert info["recorder_version"]
        assert info["arguments"] == ["a", "-b"]
        assert info["architecture"] == "x86_64"
        assert info["images"][0]["offset"] == 0
        assert calls(trace, info) == {"_start": 1, "function": 1000}

    def test_a_long_loop(self, tmp_path: Path) -> None:
        """The trace is complete across the limits of pipe, buffers and row groups."""
        need("qemu-x86_64")
        program, known = x86_loop(tmp_path, times=1_000_003)
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        info = info_of(trace)
        assert info["instructions"] == known.instructions
        assert info["bytes"] == known.bytes
        assert info["runs"] == 3 * 1_000_003
        assert trace.stat().st_size < known.instructions // 16

    @pytest.mark.parametrize(
        ("ending", "failed"),
        [
            ("exit 3", "exit status 3"),
            ("ud2", "signal SIGILL"),
            ("null read", "signal SIGSEGV"),
            ("raise SIGKILL", "signal SIGKILL"),
        ],
    )
    def test_failing(self, tmp_path: Path, ending: str, failed: str) -> None:
        """A failing program's trace has everything that was executed, and the failure."""
        need("qemu-x86_64")
        program, known = x86_loop(tmp_path, ending)
        trace = tmp_path / "t.trace"
        done = flashpager("record", "--no-reads", "-o", trace, "--", program)
        check_known(trace, known, {"failed": failed})
        assert failed in done.err

    def test_killed_within_a_full_tail(self, tmp_path: Path) -> None:
        """SIGKILL loses nothing, also if most of the stream has gone through the pipe."""
        need("qemu-x86_64")
        program, known = x86_loop(tmp_path, "raise SIGKILL", times=300_001)
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        info = info_of(trace)
        assert info["instructions"] == known.instructions
        assert info["runs"] == len(known.runs)

    def test_failing_under_lackey(self, tmp_path: Path) -> None:
        """A recording by lackey notes a failure, too."""
        need("valgrind")
        program, known = x86_loop(tmp_path, "exit 3")
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "--recorder", "lackey", "-o", trace, "--", program)
        check_known(trace, known, {"failed": "exit status 3"})

    def test_short_under_lackey(self, tmp_path: Path) -> None:
        """A program that ends immediately is still placed."""
        need("valgrind")
        program, known = x86_loop(tmp_path, times=1)
        for turn in range(4):
            trace = tmp_path / f"{turn}.trace"
            flashpager("record", "--no-reads", "--recorder", "lackey", "-o", trace, "--", program)
            check_known(trace, known)

    def test_unknown_to_valgrind(self, tmp_path: Path) -> None:
        """Lackey's trace ends before an instruction that Valgrind does not know, and names it."""
        need("valgrind")
        text = 'int main(void) { __asm__ volatile(".byte 0xf2; nop"); return 0; }'
        program = compile_with("gcc", tmp_path, "unknown", text, "-O1")
        trace = tmp_path / "t.trace"
        done = flashpager(
            "record", "--no-reads", "--recorder", "lackey", "-o", trace, "--", program
        )
        assert "--recorder step" in done.err
        info = info_of(trace)
        assert info["instructions"] > 0
        failure = info["ending"]["failed"]
        assert "Valgrind does not know (0xF2 0x90" in failure
        assert ": main" in failure

    @pytest.mark.parametrize("mode", ["arm", "thumb"])
    def test_arm(self, tmp_path: Path, mode: str) -> None:
        """Programs of another architecture run in their own QEMU."""
        need("qemu-arm")
        program, known = arm_loop(tmp_path, mode)
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "-o", trace, "--", program)
        info = check_known(trace, known)
        assert info["architecture"] == "arm"
        assert calls(trace, info) == {"_start": 1, "function": 200}

    def test_firmware(self, tmp_path: Path) -> None:
        """Bare-metal firmware runs in a whole machine."""
        need("qemu-system-arm")
        program, known = firmware_loop(tmp_path)
        trace = tmp_path / "t.trace"
        machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
        flashpager("record", "--no-reads", "-o", trace, "--system", machine, program)
        info = check_known(trace, known)
        assert info["images"][0]["sections"][0]["address"] == 0x40
        assert calls(trace, info) == {"_start": 1, "function": 200}

    def test_outside(self, tmp_path: Path) -> None:
        """Instructions in other sections are counted as outside, and end the run."""
        need("qemu-x86_64")
        source = """
        .globl _start
        .text
_start: mov $10, %ecx
1:      call apart
        dec %ecx
        jnz 1b
        mov $60, %eax
        xor %edi, %edi
        syscall
        .section .apart, "ax"
apart:  nop
        nop
        ret
"""
        program = compile_with("gcc", tmp_path, "sections", source, *STATIC)
        text, apart, both = (tmp_path / f"{name}.trace" for name in ("text", "apart", "both"))
        flashpager("record", "--no-reads", "-o", text, "--", program)
        flashpager("record", "--no-reads", "--section", ".apart", "-o", apart, "--", program)
        flashpager("record", "--no-reads", "--section", ".text,.apart", "-o", both, "--", program)
        counts = [
            (
                info["instructions"],
                info["bytes"],
                info["outside_instructions"],
                info["outside_bytes"],
            )
            for info in map(info_of, (text, apart, both))
        ]
        inner, outer = (30, 30), (1 + 30 + 3, 5 + 90 + 9)
        assert counts == [(*outer, *inner), (*inner, *outer), (64, 134, 0, 0)]
        assert runs_of(apart) == [(0, 3)] * 10
        assert runs_of(text) == [(0, 10), *[(10, 4), (5, 5)] * 9, (10, 13)]
        assert runs_of(both) == [(0, 10), (23, 3), *[(10, 4), (5, 5), (23, 3)] * 9, (10, 13)]
        assert [s["name"] for s in info_of(both)["images"][0]["sections"]] == [".text", ".apart"]


class TestLibcPrograms:
    """C programs, static and position-independent."""

    @pytest.mark.parametrize("kind", KINDS)
    def test_functions(self, tmp_path: Path, kind: str) -> None:
        """Every call is recorded at the address that the linker chose."""
        need("qemu-x86_64", "nm")
        program = compile_with("gcc", tmp_path, kind, FUNCTIONS, *KINDS[kind], "-Wl,--build-id")
        trace, again = tmp_path / "t.trace", tmp_path / "again.trace"
        for output in (trace, again):
            done = flashpager("record", "--no-reads", "-o", output, "--", program)
            assert done.out == "done\n"
        info = info_of(trace)
        assert runs_of(trace) == runs_of(again)
        assert len(info["build_id"]) == 40
        assert info["build_id"] == info["images"][0]["build_id"]
        passed = calls(trace, info)
        assert (passed["main"], passed["middle"], passed["leaf"]) == (1, 10, 70)
        assert passed["never"] == 0
        assert (info["outside_instructions"] > 10_000) == (kind == "pie")

        text = next(s for s in info["images"][0]["sections"] if s["name"] == ".text")
        linked = subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout
        symbols = {s["name"]: s["offset"] for s in info["images"][0]["symbols"]}
        for name in ("main", "middle", "leaf", "never"):
            line = next(line for line in linked.splitlines() if line.endswith(f" T {name}"))
            assert symbols[name] == int(line.split()[0], 16) - text["address"]

    def test_both_recorders_agree_on_a_pie(self, tmp_path: Path) -> None:
        """QEMU and lackey load a PIE at different addresses, yet give the same offsets."""
        need("qemu-x86_64", "valgrind")
        program = compile_with("gcc", tmp_path, "pie", FUNCTIONS, *KINDS["pie"])
        traces = {}
        for recorder in ("qemu", "lackey"):
            traces[recorder] = tmp_path / f"{recorder}.trace"
            flashpager(
                "record",
                "--no-reads",
                "--recorder",
                recorder,
                "-o",
                traces[recorder],
                "--",
                program,
            )
        assert runs_of(traces["qemu"]) == runs_of(traces["lackey"])
        passed = calls(traces["lackey"])
        assert (passed["main"], passed["middle"], passed["leaf"]) == (1, 10, 70)

    def test_plt(self, tmp_path: Path) -> None:
        """A second section follows the first; calls into it are placed."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "pie", FUNCTIONS, *KINDS["pie"])
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "--section", ".text,.plt", "-o", trace, "--", program)
        text, plt = info_of(trace)["images"][0]["sections"]
        assert (text["name"], plt["name"]) == (".text", ".plt")
        assert text["offset"] == 0
        assert 0 <= plt["offset"] - text["bytes"] < 64
        assert any(
            plt["offset"] <= offset < plt["offset"] + plt["bytes"] for offset, _ in runs_of(trace)
        )

    @pytest.mark.parametrize("recorder", ["qemu", "lackey"])
    def test_libraries(self, tmp_path: Path, recorder: str) -> None:
        """Each library's text follows the program's in flash, and few instructions are outside."""
        need(*TOOLS[recorder])
        program = compile_with("gcc", tmp_path, "pie", FUNCTIONS, *KINDS["pie"])
        alone, trace = tmp_path / "alone.trace", tmp_path / "t.trace"
        flashpager("record", "--no-reads", "--recorder", recorder, "-o", alone, "--", program)
        flashpager(
            "record",
            "--no-reads",
            "--recorder",
            recorder,
            "--with-libraries",
            "-o",
            trace,
            "--",
            program,
        )
        info = info_of(trace)
        images = info["images"]
        assert images[0]["path"].endswith("pie")
        assert any("libc.so" in image["path"] for image in images[1:])
        for before, image in pairwise(images):
            assert image["offset"] >= before["offset"] + before["bytes"]
        end = images[0]["bytes"]
        own = Counter(run for run in runs_of(trace) if run[0] < end)
        assert own.keys() == set(runs_of(alone))
        assert calls(trace, info)["leaf"] == 70
        assert info["outside_instructions"] < 0.1 * info["instructions"]
        assert info["instructions"] > 10 * info_of(alone)["instructions"]

    def test_little_is_placed(self, tmp_path: Path) -> None:
        """The output names the libraries in which most instructions run, and how to place them."""
        need("qemu-x86_64")
        source = """
#include <stdio.h>
int main(void) { char s[99]; for (int i = 0; i < 999; i++) sprintf(s, "%g", i / 7.0); return 0; }
"""
        program = compile_with("gcc", tmp_path, "print", source, *KINDS["pie"])
        trace = tmp_path / "t.trace"
        done = flashpager("record", "--no-reads", "-o", trace, "--", program, cwd=tmp_path)
        line = next(line for line in done.err.splitlines() if "outside the placed code" in line)
        assert "most in libc.so.6" in line
        assert "--with-libraries" in line
        info = info_of(trace)
        files = info["outside_files"]
        assert files[0]["path"].endswith("libc.so.6")
        # A file below the working folder is named by its relative path.
        assert "print" in [file["path"] for file in files]
        assert sum(file["instructions"] for file in files) <= info["outside_instructions"]
        assert 100 * files[0]["instructions"] > 90 * info["outside_instructions"]
        done = flashpager("record", "--no-reads", "--with-libraries", "-o", trace, "--", program)
        assert "outside the placed code" not in done.err

    def test_image(self, tmp_path: Path) -> None:
        """The code of another file can be placed instead of the program's."""
        need("qemu-x86_64")
        library = compile_with(
            "gcc",
            tmp_path,
            "libinner.so",
            "int inner(int n) { int s = 0; for (int i = 0; i < n; i++) s ^= i * n; return s; }",
            *("-O1", "-fPIC", "-shared"),
        )
        program = compile_with(
            "gcc",
            tmp_path,
            "user",
            "int inner(int); int main(void) { int s = 0;"
            " for (int i = 0; i < 25; i++) s += inner(i); return s == 1; }",
            *("-O1", f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-linner"),
        )
        trace = tmp_path / "t.trace"
        flashpager("record", "--no-reads", "--image", library, "-o", trace, "--", program)
        info = info_of(trace)
        assert [Path(image["path"]).name for image in info["images"]] == ["libinner.so"]
        assert info["program"].endswith("user")
        assert calls(trace, info)["inner"] == 25
        assert "main" not in calls(trace, info)

        both = tmp_path / "both.trace"
        flashpager(
            "record", "--no-reads", "--image", f"{library},{program}", "-o", both, "--", program
        )
        passed = calls(both)
        assert (passed["inner"], passed["main"]) == (25, 1)

    @pytest.mark.parametrize("recorder", TOOLS)
    def test_fork(self, tmp_path: Path, recorder: str) -> None:
        """A forked child is another run, which is neither recorded nor waited for."""
        need(*TOOLS[recorder])
        source = """
#include <sys/wait.h>
#include <unistd.h>
static volatile int total;
__attribute__((noinline, noclone)) void of_child(int n) { while (n--) total += n; }
__attribute__((noinline, noclone)) void of_parent(int n) { while (n--) total -= n; }
int main(int argc, char **argv)
{
    (void)argv;
    pid_t child = fork();
    if (child == 0) { of_child(100000); if (argc > 1) sleep(60); _exit(0); }
    if (argc == 1) waitpid(child, 0, 0);
    of_parent(3);
    return 0;
}
"""
        program = compile_with("gcc", tmp_path, "fork", source, *kind_for(recorder))
        trace = tmp_path / "t.trace"
        done = flashpager(
            "record", "--no-reads", "--recorder", recorder, "-o", trace, "--", program
        )
        info = info_of(trace)
        assert info["ending"] == "complete"
        passed = calls(trace, info)
        assert (passed["main"], passed["of_parent"], passed["of_child"]) == (1, 1, 0)
        # Lackey does not report the child.
        result = recorder != "lackey"
        left_out = "1 process that it started: record each program by itself"
        assert info["left_out"] == [left_out] * result
        assert (f"not recorded: {left_out}" in done.err) == result

    def test_children_that_outlive_the_program(self, tmp_path: Path) -> None:
        """A daemon left behind does not keep the recording from ending."""
        need("qemu-x86_64")
        source = """
#include <stdio.h>
#include <unistd.h>
int main(int count, char **arguments)
{
    int daemon = fork();
    if (daemon == 0) { for (int fd = 0; fd < 3; fd++) close(fd); sleep(600); _exit(0); }
    FILE *file = fopen(arguments[count - 1], "w");
    fprintf(file, "%d", daemon);
    fclose(file);
    return 0;
}
"""
        program = compile_with("gcc", tmp_path, "daemon", source, *KINDS["pie"])
        daemon = tmp_path / "daemon.pid"
        flashpager("record", "--no-reads", "-o", tmp_path / "t.trace", "--", program, daemon)
        # The daemon still runs, so the recording did not wait for it.
        os.kill(int(daemon.read_text(encoding="ascii")), signal.SIGKILL)

    def test_spawned_programs(self, tmp_path: Path) -> None:
        """The trace does not contain the code of a spawned shell command."""
        need("qemu-x86_64")
        source = """
#include <stdlib.h>
#include <stdio.h>
int main(void) { int code = system("echo spawned; exit 5"); printf("%d\\n", code >> 8); return 0; }
"""
        program = compile_with("gcc", tmp_path, "spawn", source, *KINDS["pie"])
        trace = tmp_path / "t.trace"
        done = flashpager("record", "--no-reads", "-o", trace, "--", program)
        assert done.out == "spawned\n5\n"
        info = info_of(trace)
        assert info["ending"] == "complete"
        assert info["left_out"] == ["1 process that it started: record each program by itself"]

    @pytest.mark.parametrize("recorder", TOOLS)
    def test_threads(self, tmp_path: Path, recorder: str) -> None:
        """Each thread has its own trace, or all have one; lackey does not distinguish threads."""
        need(*TOOLS[recorder])
        times = 50 if recorder == "step" else 5000
        source = """
#include <pthread.h>
#define APART __attribute__((noinline, noclone))
static volatile int a, b;
APART void one(int n) { a += n; }
APART void other(int n) { b -= n; }
static void *first(void *x) { for (int i = 0; i < TIMES; i++) { one(i); a++; } return x; }
static void *second(void *x) { for (int i = 0; i < 2 * TIMES; i++) { other(i); b++; } return x; }
int main(void)
{
    pthread_t t, u;
    pthread_create(&t, 0, first, 0);
    pthread_create(&u, 0, second, 0);
    pthread_join(t, 0);
    pthread_join(u, 0);
    return 0;
}
"""
        flags = (*kind_for(recorder), "-pthread", f"-DTIMES={times}")
        program = compile_with("gcc", tmp_path, "threads", source, *flags)
        trace = tmp_path / "t.trace"
        record = ("record", "--no-reads", "--recorder", recorder)
        flashpager(*record, "--one-stream", "-o", trace, "--", program)
        info = info_of(trace)
        assert info["ending"] == "complete"
        assert info["thread"] == ""
        passed = calls(trace, info)
        assert (passed["main"], passed["one"], passed["other"]) == (1, times, 2 * times)
        if recorder == "lackey":
            return
        done = flashpager(*record, "-o", trace, "--", program)
        by_thread = {info_of(path)["thread"]: calls(path) for path in tmp_path.glob("*.trace")}
        names = ("main", "one", "other")
        assert {
            thread: tuple(passed[name] for name in names) for thread, passed in by_thread.items()
        } == {
            "main": (1, 0, 0),
            "thread-2": (0, times, 0),
            "thread-3": (0, 0, 2 * times),
        }
        assert f"{tmp_path}/t.thread-2.trace: thread thread-2, " in done.err

    def test_input_and_output_pass_through(self, tmp_path: Path) -> None:
        """The program keeps its own streams; flashpager prints to standard error."""
        need("qemu-x86_64")
        source = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
    for (int c; (c = getchar()) != EOF;) putchar(c ^ 0x5a);
    fprintf(stderr, "%d %s %s\\n", argc, argv[1], getenv("OF_USER"));
    return 0;
}
"""
        program = compile_with("gcc", tmp_path, "through", source, *KINDS["static"])
        sent = bytes(range(256)) * 40
        done = flashpager(
            *("record", "--no-reads", "-o", tmp_path / "t.trace", "--", program, "--json  -o"),
            stdin=sent,
            env={"OF_USER": "set"},
        )
        assert done.raw == bytes(byte ^ 0x5A for byte in sent)
        message, ours = done.err.splitlines()
        assert message == "2 --json  -o set"
        assert ours.startswith(f"{tmp_path}/t.trace: ")
        assert " instructions in " in ours

    def test_a_program_found_on_the_path(self, tmp_path: Path) -> None:
        """Programs are found as a shell finds them."""
        need("qemu-x86_64")
        trace = tmp_path / "t.trace"
        done = flashpager("record", "--no-reads", "-o", trace, "--", "echo", "hello")
        assert done.out == "hello\n"
        assert info_of(trace)["program"] == str(Path(shutil.which("echo") or "").resolve())

    @pytest.mark.parametrize("recorder", ["qemu", "step"])
    def test_its_own_name(self, tmp_path: Path, recorder: str) -> None:
        """A program sees the name of its call; under lackey it sees its path."""
        need(*TOOLS[recorder])
        source = "#include <stdio.h>\nint main(int n, char **v) { return n < 0 || puts(v[0]) < 0; }"
        compile_with("gcc", tmp_path, "name", source, *kind_for(recorder))
        record = ("record", "--no-reads", "--recorder", recorder, "-o", "t.trace", "--", "./name")
        assert flashpager(*record, cwd=tmp_path).out == "./name\n"

    def test_a_relative_output_and_program(self, tmp_path: Path) -> None:
        """The output and the program are relative to the user's working folder."""
        need("qemu-x86_64")
        x86_loop(tmp_path)
        flashpager("record", "--no-reads", "-o", "t.trace", "--", "./exit-0", cwd=tmp_path)
        assert [path.name for path in tmp_path.iterdir() if "trace" in path.name] == ["t.trace"]

    def test_arm_libc_program(self, tmp_path: Path) -> None:
        """A static ARM program gives the same trace twice."""
        need("qemu-arm")
        program = compile_with(
            "arm-linux-gnueabihf-gcc", tmp_path, "arm", FUNCTIONS, "-O1", "-static"
        )
        traces = [tmp_path / "1.trace", tmp_path / "2.trace"]
        for trace in traces:
            assert flashpager("record", "--no-reads", "-o", trace, "--", program).out == "done\n"
        assert runs_of(traces[0]) == runs_of(traces[1])
        passed = calls(traces[0])
        assert (passed["main"], passed["middle"], passed["leaf"]) == (1, 10, 70)

    def test_example_firmware(self, tmp_path: Path) -> None:
        """The example card gives the same trace twice."""
        need("qemu-system-arm", "arm-none-eabi-gcc", "make")
        firmware = ROOT / "examples" / "firmware"
        subprocess.run(["make", "-s", "-C", firmware, f"BUILD={tmp_path}"], check=True)
        machine = "qemu-system-arm -M lm3s6965evb -nographic -semihosting"
        infos = []
        for name in ("1.trace", "2.trace"):
            trace = tmp_path / name
            flashpager(
                "record",
                "--no-reads",
                "-o",
                trace,
                "--system",
                machine,
                tmp_path / "card-firmware.elf",
            )
            infos.append(info_of(trace))
        assert infos[0]["ending"] == "complete"
        assert infos[0]["instructions"] > 100_000
        assert infos[0] == infos[1]


class TestRefused:
    """Programs that cannot be recorded are refused in one line."""

    def test_no_program(self, tmp_path: Path) -> None:
        """Errors: missing, not executable, a folder, a script, not ELF, none given."""
        trace = tmp_path / "t.trace"
        plain = tmp_path / "plain"
        plain.write_bytes(b"no program")
        script = tmp_path / "script"
        script.write_text("#!/bin/sh\necho hello\n", encoding="ascii")
        script.chmod(0o755)
        executable = tmp_path / "executable"
        executable.write_bytes(b"no program")
        executable.chmod(0o755)
        empty = tmp_path / "empty"
        empty.touch(0o755)
        for program, words in (
            ("/nowhere/program", ["/nowhere/program", "no such program"]),
            ("no-such-program-anywhere", ["no such program"]),
            (plain, ["not executable", "chmod"]),
            (script, ["is a script", "interprets"]),
            (executable, ["is no ELF file"]),
            (empty, ["is no ELF file"]),
            (tmp_path, [str(tmp_path)]),
        ):
            fails("record", "--no-reads", "-o", trace, "--", program, words=words)
            assert not trace.exists()
        fails("record", "--no-reads", "-o", trace, words=["PROGRAM"])
        fails("record", "--no-reads", "-o", trace, "--", words=["PROGRAM"])

    def test_damaged_program(self, tmp_path: Path) -> None:
        """ELF files that are cut off are refused."""
        program, _ = x86_loop(tmp_path)
        whole = program.read_bytes()
        for length in (4, 20, 63, 64, 100, len(whole) // 2, len(whole) - 1):
            program.write_bytes(whole[:length])
            fails("record", "--no-reads", "-o", tmp_path / "t.trace", "--", program, words=["ELF"])

    def test_no_text(self, tmp_path: Path) -> None:
        """A program without the section that is to be placed."""
        need("objcopy", "qemu-x86_64")
        program, _ = x86_loop(tmp_path)
        trace = tmp_path / "t.trace"
        other = tmp_path / "other"
        subprocess.run(["objcopy", "--rename-section", ".text=.code", program, other], check=True)
        words = ["has no section .text", ".code", "--section"]
        fails("record", "--no-reads", "-o", trace, "--", other, words=words)
        flashpager("record", "--no-reads", "--section", ".code", "-o", trace, "--", other)
        fails(
            "record",
            "--no-reads",
            "--section",
            ".nothing",
            "-o",
            trace,
            "--",
            program,
            words=[".nothing"],
        )
        stripped = tmp_path / "stripped"
        subprocess.run(["objcopy", "-R", ".text", program, stripped], check=True)
        stripped.chmod(0o755)
        fails("record", "--no-reads", "-o", trace, "--", stripped, words=[".text"])

    def test_output(self, tmp_path: Path) -> None:
        """Outputs that cannot be written are reported."""
        program, _ = x86_loop(tmp_path)
        tools = stand_ins(tmp_path, "qemu-x86_64")
        missing = tmp_path / "missing" / "t.trace"
        for output, words in (
            (missing, [str(missing), "No such file"]),
            (tmp_path, [str(tmp_path)]),
            ("/proc/t.trace", ["/proc/t.trace"]),
        ):
            fails("record", "--no-reads", "-o", output, "--", program, env=tools, words=words)

    def test_a_failure_keeps_an_older_trace(self, tmp_path: Path) -> None:
        """A failed recording does not replace an older trace."""
        trace = tmp_path / "t.trace"
        trace.write_bytes(b"older")
        fails("record", "--no-reads", "-o", trace, "--", "no-such-program-anywhere")
        assert trace.read_bytes() == b"older"

    def test_emulators(self, tmp_path: Path) -> None:
        """Errors: emulators that are not installed, and unknown recorders."""
        program, _ = x86_loop(tmp_path)
        trace = tmp_path / "t.trace"
        words = ["no such emulator", "qemu-system-nothing"]
        fails(
            "record",
            "--no-reads",
            "-o",
            trace,
            "--system",
            "qemu-system-nothing -M x",
            program,
            words=words,
        )
        fails(
            "record", "--no-reads", "-o", trace, "--system", "", program, words=["no such emulator"]
        )
        fails(
            "record", "--no-reads", "-o", trace, "--system", 'qemu "', program, words=["--system"]
        )
        fails(
            "record",
            "--no-reads",
            "--recorder",
            "gdb",
            "-o",
            trace,
            "--",
            program,
            words=["gdb", "lackey"],
        )
        words = ["lackey cannot run firmware"]
        fails(
            "record",
            "--no-reads",
            "-o",
            trace,
            "--recorder",
            "lackey",
            "--system",
            "q",
            program,
            words=words,
        )
        tools = stand_ins(tmp_path, "qemu-x86_64", "qemu-system-arm")
        image = ("--image", "/nowhere.so")
        fails(
            "record",
            "--no-reads",
            *image,
            "-o",
            trace,
            "--",
            program,
            env=tools,
            words=["/nowhere.so"],
        )
        machine = ("--system", "qemu-system-arm", "/nowhere.elf")
        words = ["/nowhere.elf", "No such file"]
        fails("record", "--no-reads", "-o", trace, *machine, env=tools, words=words)

    def test_the_emulator_refuses(self, tmp_path: Path) -> None:
        """If QEMU refuses a machine, its message precedes ours, and there is no trace."""
        need("qemu-system-arm")
        program, _ = firmware_loop(tmp_path)
        trace = tmp_path / "t.trace"
        machine = "qemu-system-arm -M no-such-machine -nographic"
        done = flashpager("record", "--no-reads", "-o", trace, "--system", machine, program, code=2)
        assert done.err.splitlines()[-1].startswith("flashpager: ")
        assert "before its first instruction" in done.err
        assert not trace.exists()

    def test_nothing_placed_was_executed(self, tmp_path: Path) -> None:
        """A program that executes no placed code gives no trace."""
        need("qemu-x86_64")
        program, _ = x86_loop(tmp_path)
        library = compile_with(
            "gcc", tmp_path, "unused.so", "int unused(void) { return 1; }", "-fPIC", "-shared"
        )
        trace = tmp_path / "t.trace"
        words = ["no instruction lies in the placed code", "--image"]
        fails("record", "--no-reads", "--image", library, "-o", trace, "--", program, words=words)
        assert not trace.exists()

    def test_without_qemu_another_recorder_is_used(self, tmp_path: Path) -> None:
        """Without QEMU the stepper is used, and lackey for data reads. A note names it."""
        need("valgrind")
        program, known = x86_loop(tmp_path)
        trace = tmp_path / "t.trace"
        tools = tmp_path / "tools"
        tools.mkdir()
        valgrind = tools / "valgrind"
        valgrind.write_text(f'#!/bin/sh\nexec {shutil.which("valgrind")} "$@"\n', encoding="ascii")
        valgrind.chmod(0o755)
        path = {"PATH": str(tools)}
        done = flashpager("record", "--no-reads", "-o", trace, "--", program, env=path)
        assert "the built-in stepper" in done.err
        assert check_known(trace, known)["recorder"] == "step"
        done = flashpager(
            "record", "--no-reads", "--with-reads", "-o", trace, "--", program, env=path
        )
        assert "40 times slower" in done.err
        assert info_of(trace)["recorder"] == "lackey"

    def test_without_both_the_stepper_is_used(self, tmp_path: Path) -> None:
        """The built-in stepper needs no tools, and a note names it; foreign programs need QEMU."""
        program, known = x86_loop(tmp_path)
        trace = tmp_path / "t.trace"
        nothing = {"PATH": str(tmp_path)}
        done = flashpager("record", "--no-reads", "-o", trace, "--", program, env=nothing)
        note = done.err.splitlines()[0]
        assert "qemu-x86_64 is not installed" in note
        assert "the built-in stepper" in note
        assert "apt install qemu-user" in note
        assert check_known(trace, known)["recorder"] == "step"

        foreign = bytearray(program.read_bytes())
        foreign[18] = 0xB7  # AArch64's number
        program.write_bytes(foreign)
        other = tmp_path / "other.trace"
        words = ["qemu-aarch64 is not installed", "apt install qemu-user"]
        fails("record", "--no-reads", "-o", other, "--", program, env=nothing, words=words)
        words = ["stepper", "aarch64", "qemu-user"]
        fails("record", "--no-reads", "--recorder", "step", "-o", other, "--", program, words=words)
        words = ["Valgrind", "aarch64", "apt install qemu-user"]
        line = fails(
            "record", "--no-reads", "--recorder", "lackey", "-o", other, "--", program, words=words
        )
        assert "apt install valgrind" not in line
        assert not other.exists()
