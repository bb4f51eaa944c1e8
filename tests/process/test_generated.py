"""Recorders held against programs whose execution is known by construction, to the last byte.

`FLASHPAGER_TEST_ROUNDS` draws that many programs of each architecture instead of a few, and
`FLASHPAGER_TEST_SEED` begins at another seed; a failure names the seed to repeat.
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

#: Valgrind holds back what it tells of the last instructions before a fault, and looks at no
#: store into a program's own text.
NOT_FOR_LACKEY = frozenset({"fault", "escape", "beyond", "patch"})


def _failures(
    words: Vocabulary,
    folder: Path,
    check: Callable[[Generated], str],
    without: frozenset[str] = frozenset(),
) -> str:
    """Check programs of all seeds; return what is wrong with the first that fails, and how many."""
    need(*words.tools)
    wrong = {}
    for seed in SEEDS:
        made = generate(words, seed, folder, without)
        found = check(made)
        if found:
            wrong[seed] = found
    if not wrong:
        return ""
    seed, first = next(iter(wrong.items()))
    return (
        f"{len(wrong)} of {len(SEEDS)} programs, seeds {', '.join(map(str, wrong))}; "
        f"FLASHPAGER_TEST_SEED={seed} FLASHPAGER_TEST_ROUNDS=1 repeats the first:\n{first}"
    )


@pytest.mark.parametrize("name", ARCHITECTURES)
class TestByConstruction:
    """Programs without a library: what they execute follows from how they were made."""

    def test_single_steps(self, tmp_path: Path, name: str) -> None:
        """An emulator that executes one instruction after the other agrees with construction."""
        words = ARCHITECTURES[name]()

        def check(made: Generated) -> str:
            if "fork" in made.features:
                # The child writes into the same log.
                return ""
            stepped = oracles.single_stepped(made, words.command(made.program))
            return oracles.compare_addresses(made, stepped)

        assert not _failures(words, tmp_path, check)

    def test_qemu(self, tmp_path: Path, name: str) -> None:
        """Our plugin records exactly that."""
        words = ARCHITECTURES[name]()
        assert not _failures(
            words,
            tmp_path,
            lambda made: oracles.differences(words, made, "qemu"),
        )


class TestNative:
    """The other recorders of programs of this machine."""

    def test_lackey(self, tmp_path: Path) -> None:
        """Valgrind's lackey records the same, but for faults and stores into code."""
        need("valgrind")
        words = X86OfValgrind()
        assert not _failures(
            words,
            tmp_path,
            lambda made: oracles.differences(words, made, "lackey"),
            NOT_FOR_LACKEY,
        )

    def test_step(self, tmp_path: Path) -> None:
        """The processor itself, one instruction after the other."""
        words = X86()
        assert not _failures(
            words,
            tmp_path,
            lambda made: oracles.differences(words, made, "step"),
        )


class TestThreads:
    """Threads, a library loaded late, jumps out of handlers: as often as stepping says."""

    @pytest.mark.parametrize("name", TARGETS)
    def test_qemu(self, tmp_path: Path, name: str) -> None:
        """Our plugin counts each instruction of the program and of the library so often."""
        need(*TARGETS[name].tools)
        for seed in SEEDS[: max(1, ROUNDS // 8)]:
            assert not differences(TARGETS[name], seed, tmp_path, "qemu")

    def test_step(self, tmp_path: Path) -> None:
        """So does the processor."""
        need(*TARGETS["x86-64"].tools)
        for seed in SEEDS[: max(1, ROUNDS // 8)]:
            assert not differences(TARGETS["x86-64"], seed, tmp_path, "step")
