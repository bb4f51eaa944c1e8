"""Recordings of generated programs, whose execution is known to the last byte.

`FLASHPAGER_TEST_ROUNDS` is the number of programs of each architecture, and `FLASHPAGER_TEST_SEED`
the seed of the first one. A failure names the seed that repeats it.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import need
from tests.generated import oracles
from tests.generated.aarch64 import AArch64
from tests.generated.arm import ArmLinux, CortexM
from tests.generated.program import Generated, Vocabulary, generate
from tests.generated.riscv import RiscV
from tests.generated.threads import TARGETS, differences
from tests.generated.x86 import X86, X86OfValgrind

pytestmark = pytest.mark.skipif(
    os.uname().machine != "x86_64", reason="the x86-64 programs are native ones"
)

ARCHITECTURES: dict[str, Callable[[], Vocabulary]] = {
    "x86-64": X86,
    "armel": lambda: ArmLinux("armel"),
    "armhf": lambda: ArmLinux("armhf"),
    "Cortex-M": CortexM,
    "AArch64": AArch64,
    "RISC-V": RiscV,
}

#: Programs of an architecture, and the seed of the first.
ROUNDS = int(os.environ.get("FLASHPAGER_TEST_ROUNDS", "8"))
FIRST_SEED = int(os.environ.get("FLASHPAGER_TEST_SEED", "0"))
SEEDS = range(FIRST_SEED, FIRST_SEED + ROUNDS)

#: Pieces that lackey does not record exactly: Valgrind does not report the last instructions before
#: a fault, and ignores stores into a program's own text.
NOT_FOR_LACKEY = frozenset({"fault", "escape", "beyond", "patch"})


def _failures(
    words: Vocabulary,
    folder: Path,
    check: Callable[[Generated], str],
    without: frozenset[str] = frozenset(),
) -> str:
    """Check programs of all seeds. Describe the first failure and name all failing seeds."""
    need(*words.tools)
    failures = {}
    for seed in SEEDS:
        failure = check(generate(words, seed, folder, without))
        if failure:
            failures[seed] = failure
    if not failures:
        return ""
    seed, first = next(iter(failures.items()))
    return (
        f"{len(failures)} of {len(SEEDS)} programs, seeds {', '.join(map(str, failures))}; "
        f"FLASHPAGER_TEST_SEED={seed} FLASHPAGER_TEST_ROUNDS=1 repeats the first:\n{first}"
    )


@pytest.mark.parametrize("name", ARCHITECTURES)
class TestByConstruction:
    """Programs without a library, whose executed instructions the generator predicts."""

    def test_single_steps(self, tmp_path: Path, name: str) -> None:
        """An emulator that single-steps executes the predicted instructions."""
        words = ARCHITECTURES[name]()

        def check(generated: Generated) -> str:
            if "fork" in generated.features:
                # The child writes into the same log.
                return ""
            stepped = oracles.single_stepped(generated, words.command(generated.program))
            return oracles.compare_addresses(generated, stepped)

        assert not _failures(words, tmp_path, check)

    def test_qemu(self, tmp_path: Path, name: str) -> None:
        """Our QEMU plugin records exactly the predicted instructions."""
        words = ARCHITECTURES[name]()
        assert not _failures(
            words,
            tmp_path,
            lambda generated: oracles.differences(words, generated, "qemu"),
        )


class TestNative:
    """The other recorders of programs of this machine."""

    def test_lackey(self, tmp_path: Path) -> None:
        """Valgrind's lackey records the predicted instructions, except with NOT_FOR_LACKEY."""
        need("valgrind")
        words = X86OfValgrind()
        assert not _failures(
            words,
            tmp_path,
            lambda generated: oracles.differences(words, generated, "lackey"),
            NOT_FOR_LACKEY,
        )

    def test_step(self, tmp_path: Path) -> None:
        """Our stepper, on the processor itself, records exactly the predicted instructions."""
        words = X86()
        assert not _failures(
            words,
            tmp_path,
            lambda generated: oracles.differences(words, generated, "step"),
        )


class TestThreads:
    """Programs with threads, a library loaded late, and jumps out of handlers."""

    @pytest.mark.parametrize("name", TARGETS)
    def test_qemu(self, tmp_path: Path, name: str) -> None:
        """Our QEMU plugin counts each instruction as often as single-stepping does."""
        need(*TARGETS[name].tools)
        for seed in SEEDS[: max(1, ROUNDS // 8)]:
            assert not differences(TARGETS[name], seed, tmp_path, "qemu")

    def test_step(self, tmp_path: Path) -> None:
        """Our stepper counts each instruction as often as single-stepping does."""
        need(*TARGETS["x86-64"].tools)
        for seed in SEEDS[: max(1, ROUNDS // 8)]:
            assert not differences(TARGETS["x86-64"], seed, tmp_path, "step")
