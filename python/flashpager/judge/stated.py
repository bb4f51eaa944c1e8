"""Facts on a program's code that the user states: on the command line, or in a file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from flashpager._engine import FlashpagerError


def stated_texts(stated: Sequence[str], flag: str, form: str) -> Iterator[tuple[str, str]]:
    """Return each text of the form ``A=B`` with its place, for messages.

    Args:
        stated: such texts, or names of files with such lines; ``#`` begins a comment there.
        flag: the option that states them.
        form: the form in words, for messages.

    Raises:
        FlashpagerError: if a text is neither of the form nor a file that can be read.

    """
    for text in stated:
        if "=" in text:
            yield text, flag
            continue
        try:
            lines = Path(text).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            message = f"{flag} {text}: is neither {form} nor a file that can be read ({error})"
            raise FlashpagerError(message) from error
        for number, line in enumerate(lines, 1):
            content = line.partition("#")[0].strip()
            if content:
                yield content, f"{text}:{number}"
