"""Values of the command line that need no conversion.

Typer converts every value with Pydantic, and importing that takes as long as Typer and Rich
together. Most options are not given, and most that are given are text.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperOption

#: Settings of an option of type ``Path`` that ask for checks or changes that only Typer makes.
_PATH_SETTINGS = ("exists", "writable", "executable", "resolve_path", "path_type")


class _Coercion:
    """The conversion of one parameter's values. It calls Typer for values that need more."""

    def __init__(self, typer_conversion: Callable[[], Any]) -> None:
        """Keep the function that makes Typer's own conversion."""
        self._typer_conversion = typer_conversion

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:  # noqa: ANN401
        """Return the converted value, as Typer would."""
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        settings, annotation = (
            param.type_descriptor.parameter_info,
            param.type_descriptor.annotation,
        )
        if settings.parser is None:
            if annotation is str and _is_text(value):
                return value
            if annotation is Path and _is_plain(settings, value):
                return Path(value)
            if annotation in (list[str], list[Path]) and isinstance(value, (list, tuple)):
                if annotation == list[str] and all(map(_is_text, value)):
                    return list(value)
                if annotation == list[Path] and all(_is_plain(settings, item) for item in value):
                    return [Path(item) for item in value]
        return self._typer_conversion().coerce(value, param=param, ctx=ctx)


def _is_text(value: Any) -> bool:  # noqa: ANN401
    """Return True for text that Typer does not change or refuse, such as ASCII."""
    return isinstance(value, str) and value.isascii()


def _is_plain(settings: Any, value: Any) -> bool:  # noqa: ANN401
    """Return True for a path that Typer neither refuses nor changes."""
    if any(getattr(settings, name, None) for name in _PATH_SETTINGS):
        return False
    if not _is_text(value) or not (settings.file_okay and settings.dir_okay):
        return False
    try:
        Path(value).stat()
    except OSError:
        return True
    except ValueError:
        return False
    return os.access(value, os.R_OK)


def spare_pydantic() -> None:
    """Let Typer convert values without Pydantic if that gives the same result.

    A version of Typer that converts in another way is not changed.
    """
    for kind in (TyperArgument, TyperOption):
        conversion = getattr(kind, "get_runtime_param", None)
        if conversion is not None:
            kind.get_runtime_param = _with(conversion)  # type: ignore[method-assign, assignment]


def _with(typer_conversion: Callable[[Any], Any]) -> Callable[[Any], _Coercion]:
    def get_runtime_param(parameter: Any) -> _Coercion:  # noqa: ANN401
        return _Coercion(lambda: typer_conversion(parameter))

    return get_runtime_param
