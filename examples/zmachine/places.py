"""Print the places and things of ``library.inf`` in Inform's language: the same ones in every run.

python places.py > places.inf
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS, ROWS = 15, 14
THINGS = 150


@dataclass
class Draw:
    """A generator of random numbers that are the same on every machine."""

    state: int

    def below(self, bound: int) -> int:
        """Return a number from 0 to ``bound - 1``."""
        self.state = (self.state * 1103515245 + 12345) % 2**31
        return (self.state >> 12) % bound

    def choice(self, choices: Sequence[str]) -> str:
        """Return one of the choices."""
        return choices[self.below(len(choices))]


KINDS = (
    *("reading room", "stack", "gallery", "cabinet", "stair", "archive", "map room", "scriptorium"),
    *("bindery", "vault", "lecture hall", "corridor", "study", "press room", "cloister", "attic"),
)
QUALITIES = (
    *("narrow", "vaulted", "dusty", "whitewashed", "lamplit", "draughty", "panelled", "silent"),
    *("flooded", "crowded", "forgotten", "warm", "crooked", "echoing", "sloping", "shuttered"),
)
SUBJECTS = (
    *("tides", "beetles", "treaties", "bridges", "glaciers", "dialects", "looms", "comets"),
    *("harbours", "mosses", "ciphers", "clocks", "volcanoes", "ballads", "lenses", "railways"),
    *("salt", "currents", "knots", "bells", "maps of islands", "dyes", "roads", "engines"),
)
SENTENCES = (
    "Shelves on {subject} stand from the floor to the beams, and a ladder leans at {subject}.",
    "A {quality} window looks upon a court in which somebody has left a cart of papers.",
    "The catalogue says that all there is on {subject} is here; half of it is on {subject}.",
    "Somebody has drawn a line in chalk across the boards and written a date beside it.",
    "A brass plate names a donor who collected {subject} and did not like {subject}.",
    "Two desks face each other, and on both of them lies the same volume on {subject}.",
    "The air is dry, and smells of glue, of leather and a little of {subject}.",
    "A notice asks readers of works on {subject} to be gentle with their {quality} bindings.",
)
MATERIALS = ("brass", "copper", "ivory", "oak", "glass", "iron", "paper", "silver", "slate", "wax")
NOUNS = (
    *("globe", "ledger", "lamp", "key", "compass", "seal", "ruler", "inkwell", "almanac", "lens"),
    *("bell", "folio", "atlas", "quill", "hourglass"),
)
USES = (
    "It belonged to a keeper of {subject}, whose initials are scratched into the back of it.",
    "Whoever made it knew much of {subject}, and nothing of how heavy a pocket may become.",
    "A label ties it to the shelf of {subject}, which nobody has been able to find since.",
    "Held to the light it shows a small drawing of {subject}, and another one behind that.",
)


def sentence(draw: Draw, pattern: str) -> str:
    """Replace each name in braces by a random word of that kind."""
    while "{" in pattern:
        pattern = pattern.replace("{subject}", draw.choice(SUBJECTS), 1)
        pattern = pattern.replace("{quality}", draw.choice(QUALITIES), 1)
    return pattern


def doors(draw: Draw) -> list[int]:
    """Return the doors of each place: 1 for one to the east, plus 2 for one to the south.

    Every place can be reached from every other one.
    """
    places = COLUMNS * ROWS
    open_to = [0] * places
    group = list(range(places))

    def root(place: int) -> int:
        while group[place] != place:
            place = group[place]
        return place

    walls = [(place, 1) for place in range(places) if place % COLUMNS + 1 < COLUMNS]
    walls += [(place, 2) for place in range(places - COLUMNS)]
    while walls:
        place, side = walls.pop(draw.below(len(walls)))
        one, other = root(place), root(place + (1 if side == 1 else COLUMNS))
        if one != other or draw.below(5) == 0:
            group[one] = other
            open_to[place] |= side
    return open_to


def routine(draw: Draw, place: int) -> str:
    """Return the routine that runs when the player enters a room."""
    thing = draw.below(THINGS)
    subject = draw.choice(SUBJECTS)
    clock = f"A clock strikes behind the shelves on {subject}.^"
    creak = f'"The boards creak under ", n, " ounces of {subject}.^"'
    card = f'"A card says: ", (Lower) thing{thing}, " is kept in ", (Lower) rooms-->n, ".^"'
    warm = f'(Upper) thing{thing}, " grows warm in your pocket.^"'
    sample = f"(i * {3 + draw.below(20)} + turns) % THING_COUNT"
    struck, scored = 1 + draw.below(4), 2 + draw.below(6)
    times, left = 2 + draw.below(6), draw.below(3)
    weigh = f"for (i = 0: i < {times}: i++) n = n + weights-->({sample});"
    body = (
        f'if (turns % {3 + struck} == 0) {{ print "{clock}"; score = score + {struck}; }}',
        f"if (thing{thing} in player) {{ print {warm}; score = score + {scored}; }}",
        f"{weigh} if (n % 3 == {left}) print {creak};",
        f"n = place_of(thing{thing}); if (n >= 0) print {card};",
    )
    return f"[ Arrive{place} i n;\n  {body[draw.below(len(body))]}\n  return i + n;\n];"


def lines() -> list[str]:
    """Return the lines of ``places.inf``."""
    draw = Draw(20_260_101)
    places = COLUMNS * ROWS
    out = [f"Constant COLUMNS = {COLUMNS};", f"Constant ROWS = {ROWS};"]
    out += [f"Constant PLACE_COUNT = {places};", f"Constant THING_COUNT = {THINGS};"]
    for place in range(places):
        name = f"{draw.choice(QUALITIES)} {draw.choice(KINDS)}"
        out.append(f'Object room{place} "{name}";')
    pairs: set[tuple[str, str]] = set()
    while len(pairs) < THINGS:
        pairs.add((draw.choice(MATERIALS), draw.choice(NOUNS)))
    names = sorted(pairs)
    for thing in range(THINGS):
        material, noun = names.pop(draw.below(len(names)))
        out.append(
            f'Object thing{thing} "{material} {noun}" room{draw.below(places)} '
            f"with name '{material}' '{noun}';"
        )
    tables = {
        "rooms": [f"room{place}" for place in range(places)],
        "things": [f"thing{thing}" for thing in range(THINGS)],
        "weights": [str(1 + draw.below(900)) for _ in range(THINGS)],
        "arrivals": [f"Arrive{place}" for place in range(places)],
        "views": [
            '"' + " ".join(sentence(draw, draw.choice(SENTENCES)) for _ in range(3)) + '"'
            for _ in range(places)
        ],
        "tales": [f'"{sentence(draw, draw.choice(USES))}"' for _ in range(THINGS)],
    }
    for table, values in tables.items():
        out.append(f"Array {table} static -->")
        out += [f"  {value}" for value in values]
        out[-1] += ";"
    out.append("Array doors static ->")
    out += [f"  {value}" for value in doors(draw)]
    out[-1] += ";"
    out += [routine(draw, place) for place in range(places)]
    return out


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
