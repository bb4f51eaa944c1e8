"""An environment that holds nothing but the installed packages."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import ROOT

#: Runs a command in a namespace in which the checkout is an empty folder, and drops all rights of
#: root, which leaves an ordinary user who owns files.
_ELSEWHERE = (
    'mount -t tmpfs none "$0" && cd "$1" && shift && '
    'exec setpriv --bounding-set=-all --inh-caps=-all "$@"'
)
_TIMEOUT_SECONDS = 900


def _namespace() -> list[str]:
    return ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "-Urm"]


def forbidden() -> str:
    """Return the reason why the checkout cannot be hidden here, or an empty text."""
    tried = subprocess.run(
        [*_namespace(), "sh", "-ec", _ELSEWHERE, str(ROOT / "docs"), "/", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if tried.returncode == 0 else tried.stderr.strip() or "unshare fails"


def release(folder: Path, pattern: str) -> Path:
    """Return the one file that a release has of a kind."""
    [file] = folder.glob(pattern)
    return file


@dataclass(frozen=True)
class Installation:
    """A write-protected environment with the wheels and their dependencies."""

    place: Path

    @classmethod
    def of(cls, place: Path, *wheels: Path) -> "Installation":
        """Install wheels into a new environment."""
        made = cls(place)
        for folder in (made.home, made.work):
            folder.mkdir(parents=True)
        subprocess.run([sys.executable, "-m", "venv", made.environment], check=True)
        pip = [str(made.environment / "bin" / "python"), "-m", "pip", "--quiet"]
        quiet = ["--disable-pip-version-check", "--no-warn-script-location"]
        subprocess.run([*pip, "install", *quiet, *wheels], check=True, cwd=place)
        made.rights("a-w")
        return made

    @property
    def environment(self) -> Path:
        """The folder of the virtual environment that the package is installed in."""
        return self.place / "environment"

    @property
    def home(self) -> Path:
        """The user's home."""
        return self.place / "home"

    @property
    def work(self) -> Path:
        """The user's working folder."""
        return self.place / "work"

    @property
    def package(self) -> Path:
        """The folder of the installed package."""
        return release(self.environment, "lib/python*/site-packages/flashpager")

    def rights(self, change: str) -> None:
        """Change who may write into the environment."""
        subprocess.run(["chmod", "-R", change, self.environment], check=True)

    def run(self, *command: str | Path, code: int = 0, path: str = "") -> str:
        """Run a command as the user; return its output and its messages."""
        tools = path or os.environ["PATH"]
        done = subprocess.run(
            [*_namespace(), "sh", "-ec", _ELSEWHERE, str(ROOT), str(self.work), *map(str, command)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
            # The environment has the path to the tools, but no home of ours and no PYTHONPATH.
            env={
                "PATH": f"{self.environment / 'bin'}:{tools}",
                "HOME": str(self.home),
                "LANG": "C.UTF-8",
            },
            timeout=_TIMEOUT_SECONDS,
        )
        assert done.returncode == code, f"{command}: {done.returncode}\n{done.stdout}"
        assert "Traceback" not in done.stdout, done.stdout
        return done.stdout

    def flashpager(self, *arguments: str | Path, code: int = 0, path: str = "") -> str:
        """Run the installed command."""
        return self.run("flashpager", *arguments, code=code, path=path)

    def remove(self) -> None:
        """Remove the installation."""
        self.rights("u+w")
        shutil.rmtree(self.place)
