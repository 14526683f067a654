"""Whether an outcome is the expected one, and if not, the smallest thing that differs."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import msgspec

from .case import Match
from .floats import FLOAT_BITS, same_bits, ulp_distance
from .outcome import Fault, Outcome

_LIMIT = 160
_HEX = re.compile("[0-9a-f]*")
#: A value as JSON, its keys in order.
_text = msgspec.json.Encoder(order="deterministic").encode


class Difference(msgspec.Struct, frozen=True, omit_defaults=True):
    """The first place at which two outcomes differ: a JSON path, and what stands there."""

    where: str
    expected: str
    got: str
    #: Of a case, the places at which later steps differ: `step 5: $.ok.len, step 7: $`.
    later: str = ""

    def __str__(self) -> str:
        first = f"{self.where}: expected {self.expected}, got {self.got}"
        return f"{first}; also {self.later}" if self.later else first


def compare(expected: Outcome, got: Outcome, match: Match, text: bool) -> Difference | None:
    """The difference of two outcomes, or None.

    Kinds of errors and panics are always compared; their text only where the clause promises it: where
    the step's `match`, or else the case, says so.
    """
    if expected.one_of is not msgspec.UNSET:
        found = [compare(choice, got, match, text) for choice in expected.one_of]
        return None if None in found else found[0]
    form, wanted = _form(expected)
    got_form, value = _form(got)
    if form != got_form:
        return Difference("$", _show({form: wanted}), _show({got_form: value}))
    if isinstance(wanted, Fault) and isinstance(value, Fault):
        if wanted.kind != value.kind:
            return Difference(f"$.{form}.kind", _show(wanted), _show(value))
        promised = text if match.text is None else match.text
        if promised and wanted.text != value.text:
            return _text_difference(f"$.{form}.text", wanted.text, value.text)
        return None
    if form == "unsupported" or _identical(wanted, value):
        return None
    return _differ("$.ok", wanted, value, match)


def _identical(expected: Any, got: Any) -> bool:
    """Whether two values are the same to the last bit and type, but for the order of keys.

    Quick to find, and true of nearly all. Not `==` alone, to which `True` is 1 and 0.0 is -0.0, nor the text
    alone, in which NaN is null.
    """
    try:
        return bool(expected == got) and _text(expected) == _text(got)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return False


def _form(outcome: Outcome) -> tuple[str, Any]:
    for form in ("ok", "error", "panic", "unsupported"):
        value = getattr(outcome, form)
        if value is not msgspec.UNSET:
            return form, value
    return "one_of", outcome.one_of


def _differ(where: str, expected: Any, got: Any, match: Match) -> Difference | None:
    if isinstance(expected, dict) and isinstance(got, dict):
        return _object_difference(where, expected, got, match)
    if isinstance(expected, list) and isinstance(got, list):
        return _list_difference(where, expected, got, match)
    if (
        isinstance(expected, bool) is isinstance(got, bool)
        and expected == got
        and not _zeros_of_two_signs(expected, got)
    ):
        return None
    if isinstance(expected, str) and isinstance(got, str):
        return _text_difference(where, expected, got)
    return Difference(where, _show(expected), _show(got))


def _zeros_of_two_signs(expected: Any, got: Any) -> bool:
    """Of two values that are equal: whether they are 0 and -0.0."""
    return expected == 0 and math.copysign(1, expected) != math.copysign(1, got)


def _object_difference(
    where: str, expected: dict[str, Any], got: dict[str, Any], match: Match
) -> Difference | None:
    """The first key whose values differ; the elements of a tensor come after its dtype and shape."""
    for key in sorted(expected, key="hex".__eq__):
        wanted = expected[key]
        if key in match.ignore:
            continue
        if key not in got:
            return Difference(f"{where}.{key}", _show(wanted), "nothing")
        if key == "hex" and expected.get("dtype") in FLOAT_BITS:
            found = _elements_difference(where, expected["dtype"], wanted, got[key], match)
        else:
            found = _differ(f"{where}.{key}", wanted, got[key], match)
        if found is not None:
            return found
    for key, value in got.items():
        if key not in expected and key not in match.ignore:
            return Difference(f"{where}.{key}", "nothing", _show(value))
    return None


def _list_difference(where: str, expected: list[Any], got: list[Any], match: Match) -> Difference | None:
    if match.unordered:
        expected, got = sorted(expected, key=_order), sorted(got, key=_order)
    for index, (wanted, value) in enumerate(zip(expected, got, strict=False)):
        found = _differ(f"{where}[{index}]", wanted, value, match)
        if found is not None:
            return found
    if len(expected) != len(got):
        at = min(len(expected), len(got))
        longer, side = (expected, 0) if len(expected) > len(got) else (got, 1)
        shown = [f"the end of {at}", f"the end of {at}"]
        shown[side] = _show(longer[at])
        return Difference(f"{where}[{at}]", *shown)
    return None


def _elements_difference(where: str, dtype: str, expected: Any, got: Any, match: Match) -> Difference | None:
    """The first element that differs of two tensors of floats."""
    if expected == got:
        return None
    if not isinstance(expected, str) or not _is_hex(got) or len(expected) != len(got):
        return Difference(f"{where}.hex", _show(expected), _show(got))
    digits = FLOAT_BITS[dtype] // 4
    for at in range(0, len(expected), digits):
        wanted, value = expected[at : at + digits], got[at : at + digits]
        if same_bits(dtype, wanted, value, nan_payload=match.bits):
            continue
        if match.ulp and ulp_distance(dtype, wanted, value) <= match.ulp:
            continue
        return Difference(f"{where}[element {at // digits}]", f"{wanted} ({dtype})", value)
    return None


def _is_hex(value: Any) -> bool:
    return isinstance(value, str) and _HEX.fullmatch(value) is not None


def _text_difference(where: str, expected: str, got: str) -> Difference | None:
    """The first line that differs of two texts."""
    if expected == got:
        return None
    wanted, value = expected.split("\n"), got.split("\n")
    if len(wanted) == len(value) == 1:
        return Difference(where, _show(expected), _show(got))
    for number, pair in enumerate(zip(wanted, value, strict=False), start=1):
        if pair[0] != pair[1]:
            return Difference(f"{where}, line {number}", _show(pair[0]), _show(pair[1]))
    return Difference(where, f"{len(wanted)} lines", f"{len(value)} lines")


def _order(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _show(value: Any) -> str:
    """A value short enough for a line of a report."""
    words = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
    return words if len(words) <= _LIMIT else f"{words[:_LIMIT]}... ({len(words)} characters)"
