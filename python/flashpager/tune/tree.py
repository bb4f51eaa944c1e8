"""The files of a build that tuning changes: saved before, restored on failure."""

import fcntl
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from flashpager._engine import FlashpagerError
from flashpager.base.files import appearing_whole
from flashpager.tune.configuration import TuneConfiguration

#: Lines of a failed build that are shown.
_LAST_LINES = 15
#: Words with which a link fails if code lies before its slot's end, though nothing has grown.
_OUTGROWN = b"has outgrown its slot"
#: Symbols that the first link defines if it includes the fragments.
MARKS = {"order": "flashpager_order_included", "pinned": "flashpager_pinned_included"}
#: Includes of the linker script, with the place of each.
_PLACES = {
    "order": "in .text, before the line that takes *(.text .text.*)",
    "pinned": (
        "at the head of .data, which stands before .text and is stored behind it (> RAM AT > a "
        "memory region of its own)"
    ),
}


class BuildTree:
    """The ELF file, its map and the fragments of the linker script."""

    def __init__(self, configuration: TuneConfiguration, say: Callable[[str], None]) -> None:
        """Take the files of a configuration; ``say`` prints one line."""
        self._configuration = configuration
        self._say = say
        # One journal serves all configurations of a folder, which may share a build.
        shared = configuration.shared_work
        self._saved, self._journal = shared / "saved", shared / "saved.json"
        # Fragments come last: restored, they are newer than the program, so that the next build
        # links it again.
        self._files = {"elf": configuration.elf, "map": configuration.map_, **self.fragments}

    @property
    def fragments(self) -> dict[str, Path]:
        """The fragments that the linker script includes, by their kind."""
        fragments = {"order": self._configuration.order}
        if self._configuration.pinned is not None:
            fragments["pinned"] = self._configuration.pinned
        return fragments

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder, so that two calls do not tune it at the same time.

        Raises:
            FlashpagerError: if another call holds it.

        """
        shared = self._configuration.shared_work
        self._configuration.work.mkdir(parents=True, exist_ok=True)
        (shared / ".gitignore").write_text("*\n", encoding="utf-8")
        with (shared / "lock").open("w", encoding="utf-8") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                message = f"{self._configuration.path}: another 'flashpager tune' is at work here"
                raise FlashpagerError(message) from None
            yield

    @contextmanager
    def restored_on_failure(self) -> Iterator[None]:
        """Save the files, and restore them unless the block ends well."""
        self.recover()
        self._save()
        try:
            yield
        except BaseException:
            self._restore()
            raise
        self._journal.unlink(missing_ok=True)

    def recover(self) -> None:
        """Restore the files that a killed call left changed, whatever configuration it had."""
        if self._journal.is_file():
            self._restore()
            self._say("note: an earlier call was killed; its changes of the build are undone")

    def restore(self) -> None:
        """Restore the files, which stay saved."""
        kept = self._journal.read_text(encoding="utf-8")
        self._restore()
        self._journal.write_text(kept, encoding="utf-8")

    def _save(self) -> None:
        self._saved.mkdir(parents=True, exist_ok=True)
        saved: list[tuple[str, str | None]] = []
        for kind, path in self._files.items():
            exists = path.is_file()
            if exists:
                shutil.copy2(path, self._saved / kind)
            saved.append((str(path), kind if exists else None))
        with appearing_whole(self._journal) as journal:
            journal.write_text(json.dumps(saved), encoding="utf-8")

    def _restore(self) -> None:
        if not self._journal.is_file():
            return
        for path, saved in self._journaled():
            if saved is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with appearing_whole(path) as temporary:
                shutil.copyfile(saved, temporary)
                shutil.copymode(saved, temporary)
        self._journal.unlink()

    def _journaled(self) -> list[tuple[Path, Path | None]]:
        """Return the paths of the journal, each with its saved file; None if there was no file.

        Raises:
            FlashpagerError: if the journal does not say which paths were saved.

        """
        try:
            given = json.loads(self._journal.read_text(encoding="utf-8"))
            return [
                (Path(path), None if kind is None else self._saved / kind) for path, kind in given
            ]
        except (ValueError, TypeError):
            message = (
                f"{self._journal}: does not say which files an earlier call has saved; put back "
                f"what you need of {self._saved}, and remove {self._journal.name}"
            )
            raise FlashpagerError(message) from None

    def build(self, texts: dict[str, str], log_name: str) -> None:
        """Write the fragments, and link the program.

        Raises:
            FlashpagerError: if the build fails, or makes no ELF file or no map.

        """
        configuration = self._configuration
        for name, path in self.fragments.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            with appearing_whole(path) as temporary:
                temporary.write_text(texts[name], encoding="utf-8")
        # Without its results the build links, whatever it knows of the fragments.
        configuration.elf.unlink(missing_ok=True)
        configuration.map_.unlink(missing_ok=True)
        self._say(f"building: {configuration.command}")
        done = subprocess.run(
            ["/bin/sh", "-c", configuration.command],
            cwd=configuration.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        log = configuration.work / log_name
        log.write_bytes(done.stdout)
        if done.returncode != 0:
            lines = done.stdout.decode("utf-8", "replace").splitlines()
            for line in lines[-_LAST_LINES:]:
                self._say(f"  {line}")
            if _OUTGROWN in done.stdout:
                message = (
                    f"{configuration.order}: the linker took code before it included this file, so "
                    "functions do not lie in their slots; include it before all other lines that "
                    f"take code ({log})"
                )
                raise FlashpagerError(message)
            message = (
                f"'{configuration.command}' failed with exit status {done.returncode}: its last "
                f"lines are above, all of them in {log}"
            )
            raise FlashpagerError(message)
        self._check_results()

    def _check_results(self) -> None:
        configuration = self._configuration
        if not configuration.elf.is_file():
            message = (
                f"{configuration.elf}: '{configuration.command}' made no such file; correct "
                f"[build] elf or command in {configuration.path}"
            )
            raise FlashpagerError(message)
        if not configuration.map_.is_file():
            advice = (
                configuration.advice.map_
                if configuration.advice
                else (
                    f"link with -Wl,-Map={configuration.map_.name}, and name it as [build] map in "
                    f"{configuration.path}"
                )
            )
            message = f"{configuration.map_}: the link wrote no such map; {advice}"
            raise FlashpagerError(message)

    def check_marks(self) -> None:
        """Check that the linker script includes the fragments, whose marks are in the map.

        Raises:
            FlashpagerError: if one is not included; the message has the line to add.

        """
        text = self._configuration.map_.read_text(encoding="utf-8", errors="replace")
        for name, path in self.fragments.items():
            if MARKS[name] not in text:
                advice = (
                    f"add the line 'INCLUDE {path.name}' {_PLACES[name]}, and '-L {path.parent}' "
                    "to the link"
                )
                if self._configuration.advice is not None:
                    advice = self._configuration.advice.include
                message = f"{path}: the linker script does not include it; {advice}"
                raise FlashpagerError(message)

    def without_choice(self) -> dict[str, str]:
        """Return fragments that place nothing, and mark that they are included."""
        return {
            name: f"/* flashpager: nothing is placed yet. */\n{MARKS[name]} = .;\n"
            for name in self.fragments
        }
