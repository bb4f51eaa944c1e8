"""The truth of the constructs: the touching variants touch flash, and the free ones do not."""

from pathlib import Path

import pytest

from tests.conftest import need
from tests.reach.builds import TARGETS, Recipe, Workshop, truth
from tests.reach.constructs import constructs
from tests.reach.oracle import unexpected

#: Constructs of every kind: calls, pointers, constants, libraries, placement.
SELECTION = (
    *("direct_call", "tail_call", "pointer_table", "passed_as_sixth", "escaped_pointer"),
    *("switch_with_call", "string_constant", "biased_index", "divide_long", "own_memcpy_call"),
    *("variadic_pointer", "long_jump", "computed_goto_table", "sort_with_comparator"),
    *("weak_function", "assembly_pointer", "selected_data", "given_pointer", "pointer_variable"),
    *("operations_in_flash", "returned_function", "halves_of_address", "stated_address"),
    *("compared_address", "saved_return_address"),
)


@pytest.mark.parametrize("target", ["thumb2", "rv32"])
def test_variants_do_what_they_say(target: str, tmp_path: Path) -> None:
    """Programs are built with gcc at -O2 and run while their flash is inaccessible."""
    recipe = Recipe(TARGETS[target], "gcc", "O2")
    need(*recipe.target.tools)
    workshop = Workshop(tmp_path)
    outcomes = set()
    for name in SELECTION:
        for program in workshop.programs(constructs()[name], recipe, [("far", False)]):
            outcome = truth(program)
            assert not unexpected(program, outcome), str(program)
            outcomes.add((program.variant, outcome.outcome))
    assert {("touching", "touched"), ("free", "free")} <= outcomes
