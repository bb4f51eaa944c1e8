"""Tests of the actions for GitHub: their shell steps, with files that stand in for GitHub's."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import flashpager as package
from tests.conftest import COMMAND, ROOT, flashpager, need
from tests.process.test_builds import SLOWER, built
from tests.process.test_pin_boot import compiled, linked

_CARD = ROOT / "examples/traces/card-firmware.trace"
_SENSORS = ROOT / "examples/traces/java/sensors.trace"


@dataclass(frozen=True)
class _Done:
    """An action that has run: its exit code, and what it wrote."""

    code: int
    out: str
    summary: str
    outputs: str


def run_action(name: str, folder: Path, inputs: dict[str, str]) -> _Done:
    """Run the shell steps of an action, but for the one that installs the package."""
    action = yaml.safe_load((ROOT / "examples/action" / name / "action.yml").read_text())
    assert set(inputs) <= set(action["inputs"])
    missing = [key for key, one in action["inputs"].items() if one.get("required")]
    assert set(missing) <= set(inputs)
    given = {key: str(one.get("default", "")) for key, one in action["inputs"].items()} | inputs
    summary, outputs = folder / "summary", folder / "outputs"
    for file in (summary, outputs):
        file.write_text("", encoding="utf-8")
    environment = {
        **os.environ,
        "PATH": f"{COMMAND.parent}:{os.environ['PATH']}",
        "RUNNER_TEMP": str(folder),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(outputs),
    }
    code, printed = 0, ""
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        if "pip install" in step["run"]:
            continue
        variables = {key: _filled(value, given) for key, value in step.get("env", {}).items()}
        script = folder / "step.sh"
        script.write_text(step["run"], encoding="utf-8")
        # GitHub runs a step with shell: bash by these options.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
            cwd=folder,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        code, printed = done.returncode, printed + done.stdout
        if code:
            break
    return _Done(code, printed, summary.read_text(), outputs.read_text())


def _filled(value: Any, given: dict[str, str]) -> str:  # noqa: ANN401  (a value of YAML)
    """Return the value of an expression, which names one input."""
    name = str(value).removeprefix("${{ inputs.").removesuffix(" }}")
    assert str(value) == f"${{{{ inputs.{name} }}}}"
    return given[name]


def test_the_comment(tmp_path: Path, shared: Path) -> None:
    """The summary and the output have the three lines of the command, and slower code fails."""
    need("qemu-system-arm", "arm-none-eabi-gcc", "make")
    before, after = built(shared, "before", {}), built(shared, "slower", SLOWER)
    options = "--cache 2K --draws 10"
    # A name that looks like an option is that of a file.
    shutil.copy(before, tmp_path / "--before.trace")
    inputs = {"before": "--before.trace", "after": str(after), "board": "rp2040"}
    inputs["options"] = options
    passed = run_action("compare", tmp_path, {**inputs, "fail-slower": "50%"})
    failed = run_action("compare", tmp_path, {**inputs, "fail-slower": "0.1%"})
    assert (passed.code, failed.code) == (0, 1)
    design = ("--board", "rp2040", *options.split())
    lines = flashpager("compare", before, after, *design).out.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["code", "luck", "functions"]
    for done in (passed, failed):
        assert done.out.splitlines() == lines
        title, blank, *comment = done.summary.splitlines()
        assert title == f"**flashpager: --before.trace → {after}**"
        assert not blank
        assert comment == [f"* {line}" for line in lines[:3]]
        first, *values, last = done.outputs.splitlines()
        assert first == f"comment<<{last}"
        assert values == lines[:3]


def test_wrong_input(tmp_path: Path) -> None:
    """Traces of two programs give no comment, and the exit code of wrong input."""
    inputs = {"before": str(_CARD), "after": str(_SENSORS), "board": "rp2040"}
    done = run_action("compare", tmp_path, inputs)
    assert done.code == 2
    assert (done.out, done.summary, done.outputs) == ("", "", "")


@pytest.mark.parametrize("name", ["compare", "reach"])
def test_one_version_is_installed(tmp_path: Path, name: str) -> None:
    """The package is installed in an environment of its own, in the version that is named."""
    action = yaml.safe_load((ROOT / "examples/action" / name / "action.yml").read_text())
    assert action["inputs"]["version"]["default"] == package.__version__
    step = action["runs"]["steps"][0]
    environment = tmp_path / "flashpager/bin"
    # The program that stands in for Python prints its arguments.
    environment.mkdir(parents=True)
    for python in (tmp_path / "python3", environment / "python"):
        python.write_text('#!/bin/sh\necho "$@"\n', encoding="ascii")
        python.chmod(0o755)
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", step["run"]],
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_PATH": str(tmp_path / "path"),
            "VERSION": "1.2.3",
        },
        capture_output=True,
        text=True,
        check=True,
    )
    installed = "-m pip install flashpager==1.2.3"
    assert done.stdout.splitlines() == [f"-m venv {tmp_path / 'flashpager'}", installed]
    assert (tmp_path / "path").read_text(encoding="ascii") == f"{environment}\n"


def test_what_is_reached(tmp_path: Path) -> None:
    """The action for ``reach`` prints what the command prints, and fails as it does."""
    compiled(tmp_path)
    elf = linked(tmp_path, "--fw.elf")
    expected = flashpager("reach", "--root", "PendSV_Handler", "--", elf, code=1).out
    inputs = {"elf": "--fw.elf", "root": "PendSV_Handler"}
    done = run_action("reach", tmp_path, inputs)
    assert (done.code, done.out) == (1, expected)
