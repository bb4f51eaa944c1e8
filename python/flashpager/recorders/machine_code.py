"""Programs of machine code: under QEMU with our plugin, or Valgrind's lackey."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from flashpager import _engine
from flashpager._engine import FlashpagerError, Placement
from flashpager.recorders.lackey import Lackey
from flashpager.recorders.qemu import QEMU_PLUGIN, Qemu, qemu_user
from flashpager.recorders.request import Request, Target, short


def target(request: Request, say: Callable[[str], None]) -> Target:
    """Find the program and who records it.

    Raises:
        FlashpagerError: if one of them cannot be had.

    """
    run_as, program = _find_program(request)
    architecture, build_id = _engine.elf_identity(program)
    recorder = (
        Qemu(request, run_as, architecture)
        if _use_qemu(request, architecture, say)
        else Lackey([str(run_as), *request.command[1:]])
    )
    placement = Placement.of_files(
        request.images or [program],
        sections=request.sections,
        with_libraries=request.with_libraries,
        bias=None if request.system is None else 0,
    )
    return Target(recorder, str(program), request.command[1:], placement, architecture, build_id)


def _find_program(request: Request) -> tuple[Path, Path]:
    """Give the program as it is to be run, and the file that it is."""
    name = request.command[0]
    found = name if request.system is not None else shutil.which(name)
    if found is None and Path(name).is_file():
        message = f"{name}: is not executable (chmod +x)"
        raise FlashpagerError(message)
    if found is None:
        message = f"{name}: no such program"
        raise FlashpagerError(message)
    path = Path(found).resolve()
    if path.is_file() and path.read_bytes()[:2] == b"#!":
        message = f"{name}: is a script; record the program that interprets it"
        raise FlashpagerError(message)
    # A program may look at its own name, so links stay what they are.
    return Path(found).absolute(), short(path)


def _use_qemu(request: Request, architecture: str, say: Callable[[str], None]) -> bool:
    if request.recorder == "lackey":
        if request.system is not None:
            message = "lackey cannot run firmware; leave --recorder out"
            raise FlashpagerError(message)
        return False
    if request.system is not None or request.recorder == "qemu":
        if not QEMU_PLUGIN.exists():
            message = f"the QEMU plugin is not built ({QEMU_PLUGIN}); run 'make'"
            raise FlashpagerError(message)
        if request.system is None and qemu_user(architecture) is None:
            message = f"qemu-{architecture} is not installed (Debian: apt install qemu-user)"
            raise FlashpagerError(message)
        return True
    if QEMU_PLUGIN.exists() and qemu_user(architecture) is not None:
        return True
    missing = f"qemu-{architecture} is not installed" if QEMU_PLUGIN.exists() else "no QEMU plugin"
    if shutil.which("valgrind") is None or architecture != os.uname().machine:
        message = f"{missing}, and lackey cannot stand in (Debian: apt install qemu-user valgrind)"
        raise FlashpagerError(message)
    say(f"note: {missing}: recording with Valgrind's lackey, some 40 times slower or more")
    return False
