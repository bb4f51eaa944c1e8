"""Names that a shell completes."""

from collections.abc import Callable, Iterable

from flashpager import _engine

#: Returns the names that begin with the typed text, each with a line of help.
CompletionFn = Callable[[str], list[tuple[str, str]]]


def _completing(names: Callable[[], Iterable[tuple[str, str]]]) -> CompletionFn:
    """Return a callback that completes the last item of a list."""

    def complete(incomplete: str) -> list[tuple[str, str]]:
        before, comma, last = incomplete.rpartition(",")
        return [
            (f"{before}{comma}{name}", about) for name, about in names() if name.startswith(last)
        ]

    return complete


def _boards() -> Iterable[tuple[str, str]]:
    return ((name, about) for name, about, *_ in _engine.boards())


def _parts() -> Iterable[tuple[str, str]]:
    return ((part.name, f"{part.maker}, {part.kind}") for part in _engine.catalog())


def _cores() -> Iterable[tuple[str, str]]:
    return ((core.name, core.maker) for core in _engine.cores())


def _policies() -> Iterable[tuple[str, str]]:
    return ((name, "") for name, _ in _engine.policies())


boards = _completing(_boards)
parts = _completing(_parts)
cores = _completing(_cores)
policies = _completing(_policies)

#: Completion callbacks by axis of a design.
BY_AXIS: dict[str, CompletionFn] = {
    "part": parts,
    "policy": policies,
    "processor": cores,
}
