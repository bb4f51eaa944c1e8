"""Values of the command line are converted as by Typer, but without Pydantic."""

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer

from flashpager.cli import coercion
from tests.conftest import ROOT

_VALUES: tuple[Any, ...] = (
    *(None, "", "2K", "\u00b5s", "\udcff", "-", b"K9F1208", 7, 2.5, True, False),
    *((), [], ["a"], ("a", "b"), ["\udcff"], [1]),
    *(str(ROOT), str(ROOT / "Makefile"), str(ROOT / "absent"), "a\0b", "x" * 5000, Path("x")),
)


def _command(
    text: str,
    path: Path,
    several: list[Path],
    option: Annotated[str | None, typer.Option()] = None,
    options: Annotated[list[str] | None, typer.Option()] = None,
    file: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    there: Annotated[Path | None, typer.Option(exists=True)] = None,
    parsed: Annotated[int | None, typer.Option(parser=len)] = None,
    count: Annotated[int | None, typer.Option(min=1)] = None,
    flag: Annotated[bool, typer.Option()] = False,  # noqa: FBT002  (an option)
) -> None:
    del text, path, several, option, options, file, there, parsed, count, flag


def _made() -> Any:  # noqa: ANN401  (a command of Typer's)
    app = typer.Typer(add_completion=False)
    app.command()(_command)
    return typer.main.get_command(app)


def _outcome(conversion: Any, value: object, parameter: Any, context: Any) -> object:  # noqa: ANN401
    try:
        converted = conversion.coerce(value, param=parameter, ctx=context)
    except Exception as error:  # noqa: BLE001  (whatever Typer raises)
        return type(error), str(error)
    return type(converted), converted


@pytest.mark.parametrize("name", [parameter.name for parameter in _made().params])
def test_as_typer_converts(name: str) -> None:
    """Each value is converted to the same result as by Typer, or refused with the same message."""
    command = _made()
    context = typer.Context(command)
    [parameter] = (one for one in command.params if one.name == name)
    ours = parameter.get_runtime_param()
    assert isinstance(ours, coercion._Coercion)  # noqa: SLF001
    typers = ours._typer_conversion()  # noqa: SLF001
    for value in _VALUES:
        assert _outcome(ours, value, parameter, context) == _outcome(
            typers, value, parameter, context
        ), value
