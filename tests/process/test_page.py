"""Tests of paging programs of this machine by real faults, compared with a replay."""

import ctypes
import os
import platform
import shutil
import signal
import struct
import subprocess
from pathlib import Path

import pytest

from tests.conftest import COMMAND, REQUIRE_TOOLS, Finished, fails, flashpager, need, process

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or platform.system() != "Linux",
    reason="page runs programs of x86-64 Linux",
)

_SECTIONS = ".init,.plt,.plt.got,.plt.sec,.text,.fini"
_COUNTS = ("misses", "false_faults", "reference_bits_set", "downgrades", "walk", "max_walk")
_POLICIES = (
    *("fifo", "clock", "pa-clock(2)", "random(7)", "fifo-sc(2)", "pa-fifo-sc(2)"),
    *("fifo-sc(75%)", "pa-fifo-sc(75%)"),
)
_FRAMES = (2, 3, 5, 8)

#: A program that calls functions on several pages in random order, one of them with an instruction
#: across the end of a page. The program and its signal handlers block all signals for a while. Its
#: argument makes it also read its code as data, or selects a special behaviour.
_PROGRAM = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define F(n)                                                        \
    __attribute__((noinline, aligned(2048))) int f##n(int x)        \
    {                                                               \
        for (int i = 0; i < 3; i++)                                 \
            x = x * 31 + n + i;                                     \
        return x;                                                   \
    }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)

/* An instruction of seven bytes, three of them before the end of the page. */
__asm__(".text\n"
        ".balign 4096\n"
        "first: .skip 4000, 0x90\n"
        ".globl across\n"
        "across:\n"
        ".skip 4096 - 3 - 4000, 0x90\n"
        "lea 0x12345(%rdi), %rax\n" /* 48 8d 87 45 23 01 00 */
        "ret\n"
        ".balign 4096\n");
long across(long);

static int (*const all[])(int) = {f0, f1, f2, f3, f4, f5, f6, f7, f8, f9, f10, f11};
static volatile sig_atomic_t handled;
static void handler(int number) { handled += all[number % 12](1) != 0; }

static void *begin(void *argument) { return argument; }

int main(int argc, char **argv)
{
    unsigned draw = 12345;
    int sum = 0;
    int reads = argc > 1 && !strcmp(argv[1], "reads");
    struct sigaction action = {.sa_handler = handler};
    sigset_t all_signals;
    sigfillset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigfillset(&all_signals);
    for (int i = 0; i < 700; i++) {
        draw = draw * 1103515245 + 12345;
        sum = all[(draw >> 16) % 12](sum);
        if (i % 5 == 0)
            sum += (int)across(i);
        if (i % 100 == 50)
            raise(SIGUSR1);
        if (i == 300)
            sigprocmask(SIG_BLOCK, &all_signals, NULL);
        if (i == 400)
            sigprocmask(SIG_UNBLOCK, &all_signals, NULL);
        if (reads && i % 7 == 0)
            sum += *(const volatile unsigned char *)(const void *)all[(draw >> 20) % 12];
    }
    if (argc > 1 && !strcmp(argv[1], "forks")) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
            _exit(all[3](1) && across(1) == 0x12346 ? 5 : 6);
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
        child = vfork();
        if (child == 0)
            _exit(7);
        waitpid(child, &status, 0);
        printf("child %d\n", WEXITSTATUS(status));
    }
    if (argc > 1 && !strcmp(argv[1], "closes"))
        for (int fd = 3; fd < 1024; fd++)
            argc > 2 ? (void)syscall(SYS_close, fd) : (void)close(fd);
    if (argc > 1 && !strcmp(argv[1], "sweeps")) {
        close_range(5, 6, 0);
        close_range(3, ~0u, 0);
        closefrom(3);
        int fd = dup(1);
        closefrom(fd);
        printf("swept %d %d\n", fd, (int)write(fd, "", 1));
    }
    if (argc > 1 && !strcmp(argv[1], "patches")) {
        char *const page = (char *)((unsigned long)all[3] & ~4095ul);
        const int rights = PROT_READ | PROT_WRITE | PROT_EXEC;
        if (argc > 2 && !strcmp(argv[2], "key"))
            pkey_mprotect(page, 4096, rights, -1);
        else if (argc > 2)
            for (int i = 0; i < 12; i++)
                syscall(SYS_mprotect, (unsigned long)all[i] & ~4095ul, 4096, rights);
        else
            mprotect(page, 4096, rights);
        for (int i = 0; i < 12; i++)
            *(volatile char *)(unsigned long)all[argc > 2 && *argv[2] == 'a' ? i : 3] += 0;
    }
    if (argc > 1 && !strcmp(argv[1], "threads")) {
        pthread_t thread;
        pthread_create(&thread, NULL, begin, NULL);
    }
    if (argc > 1 && !strcmp(argv[1], "handles")) {
        sigset_t blocked;
        signal(SIGBUS, handler);
        signal(SIGTRAP, handler);
        raise(SIGBUS);
        __asm__ volatile("int3");
        signal(SIGBUS, SIG_IGN);
        raise(SIGBUS);
        sum = all[handled % 12](sum);
        printf("handled %d %d\n", signal(SIGTRAP, SIG_DFL) == handler,
               sigprocmask(SIG_BLOCK, NULL, &blocked));
    }
    if (argc > 1 && !strcmp(argv[1], "waits")) {
        puts("waits");
        fflush(stdout);
        sigdelset(&all_signals, SIGINT);
        sigsuspend(&all_signals);
    }
    if (argc > 1 && !strcmp(argv[1], "breaks"))
        __asm__ volatile("int3");
    if (argc > 1 && !strcmp(argv[1], "fails"))
        return 9;
    if (argc > 1 && !strcmp(argv[1], "dies"))
        raise(SIGTERM);
    if (argc > 1 && !strcmp(argv[1], "becomes"))
        execlp("echo", "echo", "another", (char *)NULL);
    for (int i = 0; i < 12; i++)
        sum = all[i](sum);
    printf("%d %d\n", sum, (int)handled);
    return 0;
}
"""


@pytest.fixture(name="program", scope="module")
def _program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need("gcc")
    folder = tmp_path_factory.mktemp("paged")
    built(folder, _PROGRAM, "program")
    return folder / "program"


def built(folder: Path, source: str, name: str, *flags: str) -> Path:
    """Compile a program."""
    (folder / f"{name}.c").write_text(source, encoding="utf-8")
    separate = () if "-z" in flags else ("-z", "separate-code")
    command = ("gcc", "-O1", "-no-pie" if "-static" in flags else "-pie", *separate, *flags)
    output = folder / name
    subprocess.run([*command, "-o", str(output), f"{name}.c", "-lpthread"], cwd=folder, check=True)
    return output


def paged(*arguments: str | Path, code: int | None = 0) -> Finished:
    """Page a program, or skip the test if userfaultfd is not permitted."""
    done = flashpager("page", *arguments, code=None)
    if done.code == 2 and "userfaultfd: is not permitted" in done.err:
        assert len(done.err.splitlines()) == 1
        if os.environ.get(REQUIRE_TOOLS):
            pytest.fail(done.err)
        pytest.skip(done.err)
    assert code is None or done.code == code, done.err
    return done


def recorded(folder: Path, *command: str | Path) -> Path:
    """Record a program with the sections that are paged."""
    need("qemu-x86_64")
    trace = folder / "program.trace"
    flashpager("record", "--no-reads", "--section", _SECTIONS, "-o", trace, "--", *command)
    return trace


@pytest.mark.parametrize("frames", _FRAMES)
@pytest.mark.parametrize(
    "command", [("program",), ("program", "reads"), ("/usr/bin/ls", "-la", "/usr")]
)
def test_all_counts_are_equal(
    program: Path, tmp_path: Path, command: tuple[str, ...], frames: int
) -> None:
    """True faults, false faults, downgrades, walk and the program's output are equal."""
    run = (str(program) if command[0] == "program" else command[0], *command[1:])
    trace = recorded(tmp_path, *run)
    alone = subprocess.run(run, capture_output=True, check=True).stdout
    straddles = reads = 0
    for policy in _POLICIES:
        if "sc" in policy and frames == 2:
            continue
        if "75%" in policy and frames * 3 // 4 < 2:
            continue
        design = ("--frames", str(frames), "--policy", policy)
        done = paged(*design, "--trace", trace, "--json", "--", *run).json
        assert done["equal"], done
        assert done["counts"]["misses"] > frames
        assert done["microseconds_a_fault"] > 0
        simulated = flashpager(
            *("simulate", trace, "--part", "MT29F4G01ABAFD", "--reference-bit", "emulated"),
            *("--cache-page", "4K", "--cache", f"{4 * frames}K", "--policy", policy, "--json"),
        ).json["counts"]
        assert {name: simulated[name] for name in _COUNTS} == done["counts"]
        straddles += done["straddles"]
        reads += done["data_reads"]
    assert process("page", *design, "--", *run).out.encode() == alone
    assert bool(reads) == (command[-1] == "reads")
    if command[0] == "program" and frames == 3:
        assert straddles > 0


def test_a_program_whose_functions_libraries_call(tmp_path: Path) -> None:
    """The address of a function is that of a jump in its code, and libraries call it there."""
    source = (
        "#include <stdlib.h>\n"
        # The jump, the function and the program's first instruction lie on three pages.
        '__asm__(".section .text.unlikely\\n.skip 4096, 0x90\\n"\n'
        '"far: ret\\n.skip 4095, 0x90\\n.text\\n");\n'
        "void far(void);\n"
        "int main(void)\n"
        "{\n"
        "    void (*volatile release)(void *) = free;\n"
        "    far();\n"
        "    release(malloc(9));\n"
        "    far();\n"
        "    return 0;\n"
        "}\n"
    )
    program = built(tmp_path, source, "called", "-fno-pie", "-no-pie")
    trace = recorded(tmp_path, program)
    for frames in ("2", "8"):
        design = ("--frames", frames, "--policy", "fifo", "--trace", trace)
        assert "all counts are equal" in paged(*design, "--", program, code=None).err


#: A library with functions on several pages, a table of them, and an initialiser that calls some.
_LIBRARY = """
#define F(n)                                                         \
    __attribute__((noinline, aligned(4096))) int l##n(int x)         \
    {                                                                \
        for (int i = 0; i < 3; i++)                                  \
            x = x * 31 + n + i;                                      \
        return x;                                                    \
    }
F(0) F(1) F(2) F(3) F(4) F(5)
static int (*const all[])(int) = {l0, l1, l2, l3, l4, l5};
static int begun;
__attribute__((constructor)) static void begin(void) { begun = l5(l2(1)); }
int each(int draw, int x) { return all[draw % 6](x) + begun; }
"""
_CALLER = """
#include <stdio.h>
int each(int draw, int x);
int main(void)
{
    unsigned draw = 1;
    int sum = 0;
    for (int i = 0; i < 500; i++) {
        draw = draw * 1103515245 + 12345;
        sum = each((int)(draw >> 20), sum);
    }
    printf("%d\\n", sum);
    return 0;
}
"""


def test_a_library(tmp_path: Path) -> None:
    """The code of a library is paged with its initialisers; the program's own code is not."""
    need("gcc", "qemu-x86_64")
    (tmp_path / "liball.c").write_text(_LIBRARY, encoding="utf-8")
    library = tmp_path / "liball.so"
    command = ("gcc", "-O1", "-shared", "-fPIC", "-z", "separate-code", "-o", library, "liball.c")
    subprocess.run(command, cwd=tmp_path, check=True)
    # The linker takes the library although it comes before its caller.
    flags = ("-Wl,--no-as-needed", str(library), f"-Wl,-rpath,{tmp_path}")
    program = built(tmp_path, _CALLER, "caller", *flags)
    trace = tmp_path / "library.trace"
    image = ("--image", str(library))
    flashpager(
        *("record", "--no-reads", *image, "--section", _SECTIONS, "-o", trace, "--", program)
    )
    alone = subprocess.run(program, capture_output=True, check=True, text=True).stdout
    for policy in ("fifo", "clock", "fifo-sc(2)"):
        design = ("--frames", "3", "--policy", policy, *image)
        done = paged(*design, "--trace", trace, "--json", "--", program).json
        assert done["equal"], done
        assert done["image"] == str(library)
        assert done["counts"]["misses"] > 100
        assert process("page", *design, "--", program).out == alone
    design = ("page", "--frames", "3", "--policy", "clock", "--image")
    message = fails(*design, library, "--trace", trace, "--", "/usr/bin/true")
    assert "does not load the library when it starts" in message
    assert "is no ELF file" in fails(*design, tmp_path / "liball.c", "--", program)
    assert "No such file" in fails(*design, tmp_path / "libnone.so", "--", program)
    own = recorded(tmp_path, program)
    message = fails(*design, library, "--trace", own, "--", program)
    assert f"flashpager record --no-reads --image {library} --section" in message
    (loader,) = Path("/lib64").glob("ld-linux-x86-64.so.*")
    assert "IFUNC" in fails(*design, loader, "--", program)


def test_a_program_that_does_not_repeat_itself(tmp_path: Path) -> None:
    """After a difference the program runs again with the same input, and both are compared."""
    source = """
#include <stdio.h>
#include <unistd.h>
#define F(n) __attribute__((noinline, aligned(4096))) int f##n(int x) { return x * 31 + n; }
F(0) F(1) F(2) F(3)
static int (*const all[])(int) = {f0, f1, f2, f3};
int main(int argc, char **argv)
{
    int letter = getchar(), sum = 0, calls = 1000 * letter;
    if (argc > 1) {
        /* A file that grows by a byte in each run. */
        FILE *file = fopen(argv[1], "a");
        fputc('.', file);
        calls = 100 * (int)ftell(file);
        fclose(file);
    }
    for (int i = 0; i < calls; i++)
        sum = all[i % 4](sum);
    return sum == 1;
}
"""
    program = built(tmp_path, source, "counts")
    given, other = tmp_path / "given", tmp_path / "other"
    given.write_text("!", encoding="ascii")
    other.write_text("%", encoding="ascii")
    need("qemu-x86_64")
    trace = tmp_path / "counts.trace"
    with given.open("rb") as file:
        subprocess.run(
            (COMMAND, "record", "--no-reads", "--section", _SECTIONS, "-o", trace, "--", program),
            check=True,
            stdin=file,
        )
    design = (COMMAND, "page", "--frames", "3", "--policy", "fifo", "--trace", trace, "--", program)

    def notes(file: Path, *arguments: str) -> tuple[int, str]:
        with file.open("rb") as opened:
            done = subprocess.run(
                (*design, *arguments), stdin=opened, capture_output=True, text=True, check=False
            )
        return done.returncode, done.stderr

    paged("--frames", "3", "--policy", "fifo", "--", program)
    assert "repeats itself" not in notes(given)[1]
    code, text = notes(other)
    assert code == 1
    assert "the program repeats itself: a second paged run has the same counts" in text
    code, text = notes(given, str(tmp_path / "runs"))
    assert code == 1
    assert "the program does not repeat itself: a second paged run counts" in text
    done = subprocess.run(design, input="%", capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "it cannot run twice with the same input" in done.stderr


def test_the_table(program: Path, tmp_path: Path) -> None:
    """The table follows the program's output; the trace of another run differs."""
    trace = recorded(tmp_path, program)
    design = ("--frames", "4", "--policy", "clock", "--trace", trace)
    done = paged(*design, "--", program)
    assert "all counts are equal" in done.err
    assert "µs a fault" in done.err
    assert len(done.out.splitlines()) == 1
    other = paged(*design, "--", program, "handles", code=1)
    assert "the trace was recorded with other arguments" in other.err
    assert "differs" in other.err
    assert "of 6 counts differ" in other.err


@pytest.mark.parametrize(
    ("argument", "written"),
    [
        ("forks", ["child 5", "child 7"]),
        ("closes", []),
        ("sweeps", ["swept 3 -1"]),
        ("becomes", ["another"]),
        ("handles", ["handled 1 0"]),
    ],
)
def test_what_a_program_may_do(program: Path, argument: str, written: list[str]) -> None:
    """Children run on their own code, descriptors may be closed, another program follows."""
    for policy in ("clock", "fifo-sc(2)"):
        design = ("--frames", "3", "--policy", policy)
        done = paged(*design, "--", program, argument)
        lines = done.out.splitlines()
        assert lines[: len(written)] == written
        if argument != "becomes":
            alone = subprocess.run((program, argument), capture_output=True, check=True, text=True)
            assert done.out == alone.stdout
        assert "true faults" not in done.err
        assert "µs a fault" in done.err


def test_a_shell() -> None:
    """The shell has its own environment functions, and children that run other programs."""
    need("bash")
    script = "x=$(echo 7; seq 3); echo $x $? $LD_PRELOAD"
    design = ("--frames", "3", "--policy", "clock")
    assert paged(*design, "--", "/bin/bash", "-c", script).out == "7 1 2 3 0\n"


def test_a_program_that_fails(program: Path) -> None:
    """The output holds the counts up to the failure, and how the program ended."""
    done = paged("--frames", "3", "--policy", "clock", "--", program, "dies")
    assert f"ended with signal {signal.SIGTERM.name}" in done.err
    done = paged("--frames", "3", "--policy", "clock", "--", program, "breaks")
    assert f"ended with signal {signal.SIGTRAP.name}" in done.err
    done = paged("--frames", "3", "--policy", "clock", "--json", "--", "/usr/bin/false")
    assert done.json["exit_code"] == 1
    assert done.json["counts"]["misses"] > 0


@pytest.mark.parametrize(("argument", "ended"), [("fails", "exit status 9"), ("dies", "SIGTERM")])
def test_a_recording_of_a_program_that_fails(
    program: Path, tmp_path: Path, argument: str, ended: str
) -> None:
    """The trace holds everything executed, and its counts are those of the paged program."""
    trace = recorded(tmp_path, program, argument)
    design = ("--frames", "3", "--policy", "clock", "--trace", trace)
    done = paged(*design, "--", program, argument)
    assert "all counts are equal" in done.err
    assert ended in done.err


def test_an_interruption(program: Path) -> None:
    """The signal reaches the program, and the counts so far are printed."""
    paged("--frames", "3", "--policy", "clock", "--", program)
    command = (COMMAND, "page", "--frames", "3", "--policy", "clock", "--", program, "waits")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout and child.stderr  # noqa: PT018
        assert child.stdout.readline() == b"waits\n"
        child.send_signal(signal.SIGINT)
        message = child.stderr.read().decode()
        assert child.wait() == 130
    assert "misses" in message
    assert "ended with signal SIGINT" in message


def test_the_environment_is_unchanged(tmp_path: Path) -> None:
    """The program sees no variable of the pager, and its own LD_PRELOAD is kept."""
    design = ("--frames", "4", "--policy", "fifo", "--", "/usr/bin/env")
    paged(*design)
    for given in ("libm.so.6", "libm.so.6:libdl.so.2", ""):
        variables = {"LD_PRELOAD": given} if given else {}
        done = process("page", *design, env=variables, cwd=tmp_path)
        message = dict(line.split("=", 1) for line in done.out.splitlines() if "=" in line)
        assert message.get("LD_PRELOAD", "") == given
        assert not [name for name in message if name.startswith("FLASHPAGER_P")]


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--frames", "1", "--policy", "clock"), ["--frames 1", "two pages", "take 2"]),
        (("--frames", "40000", "--policy", "clock"), ["--frames 40000"]),
        (("--frames", "8", "--policy", "lru"), ["lru", "does not see hits", "pa-fifo-sc"]),
        (("--frames", "8", "--policy", "clock(3)"), ["write clock"]),
        (("--frames", "8", "--policy", "random(x)"), ["random(x): write a number"]),
        (("--frames", "8", "--policy", "fifo-sc(-1)"), ["fifo-sc(-1): write a number"]),
        (("--frames", "8", "--policy", "pa-clock"), ["pa-clock(8)"]),
        (("--frames", "8", "--policy", "pa-clock(50%)"), ["write pa-clock(BUDGET)"]),
        (("--frames", "8", "--policy", "random"), ["its seed"]),
        (("--frames", "8", "--policy", "fifo-sc(1)"), ["of 8 frames 1 would be valid"]),
        (("--frames", "2", "--policy", "fifo-sc"), ["of 2 frames 1 would be valid"]),
        (("--frames", "8", "--policy", "fifo-sc(8)"), ["one frame must be left"]),
        (("--frames", "8", "--policy", "pa-fifo-sc(100%)"), ["one frame must be left"]),
    ],
)
def test_impossible_designs(flags: tuple[str, ...], words: list[str]) -> None:
    """The design is refused in one line, before anything runs."""
    message = fails("page", *flags, "--", "/usr/bin/false")
    for word in words:
        assert word in message


def test_programs_that_cannot_be_paged(program: Path, tmp_path: Path) -> None:
    """The error names the reason, and what to do."""
    design = ("page", "--frames", "8", "--policy", "clock", "--")
    simple = "int main(void) { return 0; }\n"
    chosen = (
        "static int one(void) { return 0; }\n"
        "static int (*choose(void))(void) { return one; }\n"
        'int chosen(void) __attribute__((ifunc("choose")));\n'
        "int main(void) { return chosen(); }\n"
    )
    early = (
        "static void early(void) {}\n"
        '__attribute__((section(".preinit_array"), used)) static void (*at)(void) = early;\n'
        + simple
    )
    (tmp_path / "script").write_text("#!/bin/sh\n", encoding="utf-8")
    (tmp_path / "words").write_text("no program\n", encoding="utf-8")
    shutil.copy(program, tmp_path / "cut")
    os.truncate(tmp_path / "cut", 1000)
    for name in ("script", "words", "cut"):
        (tmp_path / name).chmod(0o755)
    for path, words in (
        (built(tmp_path, simple, "static", "-static"), "linked statically"),
        (built(tmp_path, simple, "static-pie", "-static-pie"), "linked statically"),
        (built(tmp_path, simple, "mixed", "-z", "noseparate-code"), "-z separate-code"),
        (built(tmp_path, chosen, "chosen"), "IFUNC"),
        (built(tmp_path, early, "early"), ".preinit_array"),
        (tmp_path / "script", "is a script"),
        (tmp_path / "words", "no ELF file"),
        (tmp_path / "cut", "damaged"),
        (tmp_path / "none", "no such program"),
    ):
        assert words in fails(*design, path), path
    if shutil.which("arm-linux-gnueabihf-gcc"):
        arm = ["arm-linux-gnueabihf-gcc", "-o", "arm", "static.c"]
        subprocess.run(arm, cwd=tmp_path, check=True)
        assert "no program of x86-64" in fails(*design, tmp_path / "arm")


def test_programs_that_the_pager_stops(program: Path) -> None:
    """Threads and a lost descriptor stop the program, and no counts are printed."""
    design = ("--frames", "3", "--policy", "clock", "--")
    paged(*design, program)
    assert "was stopped: the program starts a thread" in fails("page", *design, program, "threads")
    for raw in ((), ("key",), ("all",)):
        message = fails("page", *design, program, "patches", *raw)
        assert "was stopped: the program changes its own code" in message
    message = fails("page", *design, program, "closes", "all")
    assert "was stopped: the program closed the descriptor of the pager" in message


def test_traces_of_something_else(program: Path, tmp_path: Path) -> None:
    """The error for a trace of other sections, a part or another program states what to record."""
    need("qemu-x86_64")
    design = ("page", "--frames", "8", "--policy", "clock", "--trace")
    text, part, other = (tmp_path / name for name in ("text.trace", "part.trace", "other.trace"))
    flashpager("record", "--no-reads", "-o", text, "--", program)
    flashpager(
        *("record", "--no-reads", "--section", _SECTIONS, "-o", part, "--to", "f3", "--"), program
    )
    flashpager("record", "--no-reads", "--section", _SECTIONS, "-o", other, "--", "/usr/bin/true")
    reads = tmp_path / "reads.trace"
    flashpager(
        *("record", "--no-reads", "--with-reads", "--section", _SECTIONS, "-o", reads, "--"),
        program,
        "reads",
    )
    assert "record it with --no-reads" in fails(*design, reads, "--", program, "reads")
    message = fails(*design, text, "--", program)
    assert "flashpager record --no-reads --section .init,.plt" in message
    assert ".text,.fini" in message
    assert "holds part" in fails(*design, part, "--", program)
    assert "is not of" in fails(*design, other, "--", program)


#: A filter for seccomp(2) by which userfaultfd(2), and a request of its device, are not permitted:
#: load the call's number, compare, load the request, compare, permit, refuse with EPERM.
_FILTER = (
    *((0x20, 0, 0, 0), (0x15, 4, 0, 323), (0x15, 0, 2, 16), (0x20, 0, 0, 24)),
    *((0x15, 1, 0, 0xAA00), (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x00050001)),
)


def _forbid() -> None:
    """Forbid userfaultfd, as a container's profile does."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("<HBBI", *step) for step in _FILTER)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("<HxxxxxxQ", len(_FILTER), ctypes.addressof(held))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, program, 0, 0) == 0


def test_without_permission(program: Path) -> None:
    """The error names the missing permission in one line, and the program does not run."""
    command = (COMMAND, "page", "--frames", "4", "--policy", "clock", "--", program)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=_forbid,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "userfaultfd: is not permitted here" in done.stderr
    assert "unprivileged_userfaultfd=1" in done.stderr
