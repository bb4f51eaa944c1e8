"""The environment of the program that is recorded."""

import os
from pathlib import Path

#: The variable that Polars sets for its allocator when it is imported.
_ALLOCATOR = "_RJEM_MALLOC_CONF"
#: The variable that Python sets to one of ``_COERCED`` if the locale is not UTF-8 (PEP 538).
_LOCALE = "LC_CTYPE"
_COERCED = ("C.UTF-8", "C.utf8", "UTF-8")


def of_the_user() -> dict[str, str]:
    """Return the environment as the user set it, without the variables that this process set."""
    environment = dict(os.environ)
    given = _given()
    ours = [_ALLOCATOR, *([_LOCALE] if environment.get(_LOCALE) in _COERCED else [])]
    for name in ours:
        environment.pop(name, None)
        if name in given:
            environment[name] = given[name]
    return environment


def _given() -> dict[str, str]:
    """Return the environment with which this process was started."""
    try:
        started_with = os.fsdecode(Path("/proc/self/environ").read_bytes())
    except OSError:
        return dict(os.environ)
    entries = (entry.partition("=") for entry in started_with.split("\0"))
    return {name: value for name, equals, value in entries if equals}
