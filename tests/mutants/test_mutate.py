from __future__ import annotations

from functools import cache

from refimpl.conformance.planted.planting import exchanged
from refimpl.errors import InvalidArgumentError, TensorError
from tests.mutants.mutate import functions_of, mutants_of


def share(count: int, names: list[str]) -> int:
    """The share of each name."""
    if count < 0:
        raise ValueError("a count of -1")
    return count // len(names) if names else 0


def checked(count: object) -> int:
    if not isinstance(count, int):
        shown = "no number"
        raise InvalidArgumentError(shown, hint="write 1")
    if count == 7:
        raise TensorError("seven", hint="write 8")
    return (
        count
        + 1
    )  # fmt: skip


@cache
def remembered(count: int) -> int:
    return count + 1


def test_each_mutant_changes_one_thing_and_words_of_errors_are_left_alone() -> None:
    changes = [(mutant.before, mutant.after) for mutant in mutants_of("share", share)]

    assert ("count < 0", "count <= 0") in changes
    assert ("count // len(names)", "count * len(names)") in changes
    assert ("0", "1") in changes
    assert not any("-1" in before and "raise" not in before for before, _ in changes)


def test_a_check_that_only_python_needs_is_left_alone_and_one_of_burns_is_not() -> None:
    changes = [(mutant.before, mutant.after) for mutant in mutants_of("checked", checked)]

    assert ("count == 7", "count != 7") in changes
    assert not any(
        "isinstance" in before or "write" in before for before, _ in changes if "raise" not in before
    )


def test_a_mutant_knows_the_lines_of_its_statement() -> None:
    first = checked.__code__.co_firstlineno
    lines = {mutant.before: mutant.lines for mutant in mutants_of("checked", checked)}

    assert lines["count == 7"] == range(first + 4, first + 5)
    assert lines["count + 1"] == range(first + 6, first + 10)


def test_a_mutant_is_there_while_its_block_runs() -> None:
    (mutant,) = (one for one in mutants_of("share", share) if one.after == "count * len(names)")
    with exchanged(mutant.function, mutant.code):
        assert share(6, ["a", "b"]) == 12

    assert share(6, ["a", "b"]) == 3


def test_the_functions_of_a_module_are_those_that_it_defines() -> None:
    places = [place for place, _ in functions_of("parallel.memory")]

    assert "parallel.memory:fill" in places
    assert "parallel.memory:_Layers.fits" in places
    assert not any("accumulate" in place for place in places)


def test_remembered_functions_kept_properties_and_hooks_of_classes_are_functions_too() -> None:
    assert "param.pattern:_compiled" in dict(functions_of("param.pattern"))
    assert "param.rust_regex.char_set:CharSet._lows" in dict(functions_of("param.rust_regex.char_set"))
    hook = "module.module:Module.__init_subclass__"
    assert list(mutants_of(hook, dict(functions_of("module.module"))[hook]))
