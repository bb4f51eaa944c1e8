"""The axes of a design: the engine's table, by name."""

from flashpager import _engine

#: A value of an axis: a name, a number of bytes, or None.
AxisValue = str | int | None

#: Every axis by its field, in the order in which the product of a space varies. Only cache
#: sizes vary faster, since they may depend on all other axes.
AXES = {axis.name: axis for axis in _engine.axes()}

#: Axes in the order in which tables show them: choices first, then sizes.
_CHOSEN = ("part", "bus", "policy", "register")
SHOWN = (*_CHOSEN, *(name for name in AXES if name not in _CHOSEN))

#: Fields with a default that depends on the part, and the part itself.
FIELDS_FROM_PART = ("bus", "register", "nor")
DERIVED_FIELDS = ("part", *FIELDS_FROM_PART)


def flag_of(axis: _engine.Axis) -> str:
    """Return the option of an axis: ``--cache-page`` of "cache page"."""
    return f"--{axis.title.replace(' ', '-')}"
