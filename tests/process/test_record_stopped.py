"""Tests of recordings that are stopped, or for which the disk is too small."""

import os
import resource
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import COMMAND, fails, flashpager, info_of, need
from tests.programs import (
    NOISE,
    STATIC,
    compile_with,
    x86_loop,
)
from tests.recordings import KINDS, calls, wait_until_it_ran

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the programs are written for x86-64"
)

ENDLESS = """
#include <signal.h>
#include <unistd.h>
static volatile int total, stop;
__attribute__((noinline, noclone)) void turn(int n) { total += n; }
__attribute__((noinline, noclone)) void on_signal(int n) { stop = n; }
int main(int argc, char **argv)
{
    if (argc > 1) signal(SIGINT, argv[1][0] == 'i' ? SIG_IGN : on_signal);
    write(1, "ready\\n", 6);
    while (!stop) turn(3);
    return 0;
}
"""


class TestInterrupt:
    """The program or the recording is interrupted by Ctrl-C."""

    def started(self, tmp_path: Path, *arguments: str) -> subprocess.Popen[bytes]:
        """Start to record an endless loop, and wait until it runs."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "endless", ENDLESS, *KINDS["pie"])
        child = subprocess.Popen(
            [
                COMMAND,
                "record",
                "--no-reads",
                "-o",
                tmp_path / "t.trace",
                "--",
                program,
                *arguments,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(0.5)
        return child

    def check(self, tmp_path: Path, child: subprocess.Popen[bytes]) -> dict[str, Any]:
        """Wait for the recording to end, and check its files."""
        _, err = child.communicate(timeout=60)
        assert child.returncode == 130, err
        assert b"Traceback" not in err
        assert b"interrupted" in err
        left = {path.name for path in tmp_path.iterdir()}
        assert left == {"endless", "endless.c", "t.trace"}
        info = info_of(tmp_path / "t.trace")
        assert info["ending"] == "interrupted"
        assert info["instructions"] > 100_000
        return info

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_signal_to_us(self, tmp_path: Path, number: signal.Signals) -> None:
        """A signal to flashpager stops the program; the whole trace notes the interruption."""
        child = self.started(tmp_path)
        child.send_signal(number)
        self.check(tmp_path, child)

    def test_terminal(self, tmp_path: Path) -> None:
        """A terminal sends Ctrl-C to the program and to flashpager."""
        child = self.started(tmp_path)
        os.killpg(child.pid, signal.SIGINT)
        self.check(tmp_path, child)

    def test_a_program_that_handles_it(self, tmp_path: Path) -> None:
        """The code that the program runs on its way out is recorded."""
        child = self.started(tmp_path, "handle")
        child.send_signal(signal.SIGINT)
        info = self.check(tmp_path, child)
        assert calls(tmp_path / "t.trace", info)["on_signal"] == 1

    def test_a_program_that_ignores_it(self, tmp_path: Path) -> None:
        """A program that ignores the first Ctrl-C is killed by the second."""
        child = self.started(tmp_path, "ignore")
        child.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert child.poll() is None
        child.send_signal(signal.SIGINT)
        self.check(tmp_path, child)

    def test_firmware(self, tmp_path: Path) -> None:
        """A machine that would run for ever is shut down."""
        need("qemu-system-arm")
        source = """
        .syntax unified
        .thumb
        .globl _start
        .section .vectors, "a"
        .word 0x20010000, _start
        .text
        .type _start, %function
_start: nop
1:      nop
        b 1b
"""
        firmware = compile_with(
            "arm-none-eabi-gcc",
            tmp_path,
            "endless.elf",
            source,
            *("-mcpu=cortex-m3", "-mthumb", "-nostdlib"),
            *("-Wl,--section-start=.vectors=0", "-Wl,-Ttext=0x40"),
        )
        trace = tmp_path / "t.trace"
        machine = "qemu-system-arm -M lm3s6965evb -nographic -monitor none -serial none"
        child = subprocess.Popen(
            [COMMAND, "record", "--no-reads", "-o", trace, "--system", machine, firmware],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        # The part file of the trace exists as soon as the machine runs.
        until = time.monotonic() + 600
        while not [*tmp_path.glob("*partial*")]:
            assert child.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        wait_until_it_ran(child)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=600)
        assert child.returncode == 130, err
        info = info_of(trace)
        assert info["ending"] == "interrupted"
        assert info["instructions"] > 1000
        assert pl.read_parquet(trace).unique(maintain_order=True).rows() == [(0, 6), (2, 4)]


def mounted(folder: Path, size: str, output: Path, *arguments: str | Path) -> list[str]:
    """Return a command that runs flashpager with a small disk and copies the files left on it.

    The disk is mounted in a namespace of its own, so that nothing stays behind.
    """
    script = (
        'mount -t tmpfs -o size="$1" none "$2" || exit 77; '
        'out="$3"; d="$2"; shift 3; "$@"; code=$?; '
        'ls -A "$d" >"$out.left"; cp "$d"/t.trace "$out" 2>/dev/null; exit $code'
    )
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-Urm"]
    command = ["sh", "-c", script, "sh", size, str(folder), str(output), str(COMMAND)]
    return [*namespace, *command, *map(str, arguments)]


class TestFullDisk:
    """The disk becomes full while recording."""

    def record(
        self, tmp_path: Path, size: str, recorder: str = "qemu"
    ) -> tuple[subprocess.CompletedProcess[bytes], Path]:
        """Record endless noise onto a disk of ``size``."""
        need("qemu-x86_64" if recorder == "qemu" else "valgrind", "unshare")
        program = compile_with("gcc", tmp_path, "noise", NOISE, *STATIC)
        disk = tmp_path / "disk"
        disk.mkdir()
        saved = tmp_path / "saved.trace"
        arguments = (
            "record",
            "--no-reads",
            "--recorder",
            recorder,
            "-o",
            disk / "t.trace",
            "--",
            program,
        )
        done = subprocess.run(
            mounted(disk, size, saved, *arguments),
            capture_output=True,
            check=False,
            timeout=300,
        )
        if done.returncode in (1, 77):
            pytest.skip(f"no disk can be mounted here: {done.stderr.decode()}")
        return done, saved

    def test_recorded_runs_are_kept(self, tmp_path: Path) -> None:
        """The program is stopped, and the trace holds everything it executed before."""
        done, saved = self.record(tmp_path, "12m")
        lines = done.stderr.decode().splitlines()
        assert done.returncode == 2, lines
        assert len(lines) == 1, lines
        assert lines[0].startswith("flashpager: ")
        assert "the disk is full" in lines[0]
        assert saved.with_name("saved.trace.left").read_text() == "t.trace\n"
        info = info_of(saved)
        assert info["ending"] == "disk-full"
        assert info["instructions"] > 1_000_000
        assert f"{info['instructions']:,} instructions" in lines[0]
        flashpager("simulate", saved)

    def test_little_space(self, tmp_path: Path) -> None:
        """The reserve takes the space that is left, and the trace is kept."""
        done, saved = self.record(tmp_path, "4m")
        lines = done.stderr.decode().splitlines()
        assert done.returncode == 2, lines
        assert len(lines) == 1, lines
        assert "disk is full" in lines[0]
        assert info_of(saved)["ending"] == "disk-full"

    def test_no_space_from_the_start(self, tmp_path: Path) -> None:
        """Without space for the reserve nothing is recorded, and no file is left."""
        done, saved = self.record(tmp_path, "64k")
        lines = done.stderr.decode().splitlines()
        assert done.returncode == 2, lines
        assert len(lines) == 1, lines
        assert "No space left" in lines[0]
        assert saved.with_name("saved.trace.left").read_text() == ""
        assert not saved.exists()

    def test_a_full_device(self, tmp_path: Path) -> None:
        """A device as the output is written directly; its error is reported."""
        need("qemu-x86_64")
        program, _ = x86_loop(tmp_path)
        fails(
            "record",
            "--no-reads",
            "-o",
            "/dev/full",
            "--",
            program,
            words=["/dev/full", "No space left"],
        )

    def test_a_limit_on_file_sizes(self, tmp_path: Path) -> None:
        """A limit on file sizes ends a recording like a full disk."""
        need("qemu-x86_64")
        program = compile_with("gcc", tmp_path, "noise", NOISE, *STATIC)

        def limit() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        done = subprocess.run(
            [COMMAND, "record", "--no-reads", "-o", tmp_path / "t.trace", "--", program],
            capture_output=True,
            check=False,
            preexec_fn=limit,
            timeout=300,
        )
        lines = done.stderr.decode().splitlines()
        assert done.returncode == 2, lines
        assert len(lines) == 1, lines
        assert lines[0].startswith("flashpager: ")
        assert {path.name for path in tmp_path.iterdir()} == {"noise", "noise.S"}
