"""Case files: found, read, checked and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from ..errors import CaseError
from .case import Case, Match
from .claimable import is_claimable
from .clauses import spec_folder
from .location import line_of_byte, line_of_field, repeated_key
from .variants import chosen
from .versions import BURN, key

#: More variants than this in one case is a fault of the case, not a thorough test.
MAX_VARIANTS = 10_000

_DECODER = msgspec.json.Decoder(Case)


def cases_folder() -> Path:
    """The folder of the case files that belong to this version."""
    return spec_folder() / "cases"


def read_case(path: Path, root: Path) -> Case:
    """The case in one file.

    Raises:
        CaseError: The file is no case; names the file, the line and the field.
    """
    try:
        if not path.is_file():
            raise CaseError(f"{path}: a case is a regular file")
        content = path.read_bytes()
    except OSError as error:
        raise CaseError(f"{path}: cannot be read: {error.strerror}") from error
    if not content.strip():
        raise CaseError(f"{path}: is empty: spec/cases/README.md says what a case file holds")
    try:
        case = _DECODER.decode(content)
    except msgspec.ValidationError as error:
        message, _, field = str(error).partition(" - at `$")
        field = field.rstrip("`").lstrip(".")
        where = f"line {line_of_field(content, field)}" + (f", field `{field}`" if field else "")
        raise CaseError(f"{path}, {where}: {message}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}, line {line_of_byte(content, str(error))}: no JSON: {error}") from None
    except RecursionError:
        raise CaseError(f"{path}: nested too deeply to be a case") from None
    repeated = repeated_key(content)
    if repeated is not None:
        line, name = repeated
        raise CaseError(f"{path}, line {line}, field `{name}`: stands twice in one object")
    check_case(case, path, root, content)
    return case


def check_case(case: Case, path: Path, root: Path, content: bytes) -> None:
    """What a type cannot say of a case: that its id is its place, and that its parts fit together."""

    def broken(field: str, message: str) -> CaseError:
        return CaseError(f"{path}, line {line_of_field(content, field)}, field `{field}`: {message}")

    place = ".".join((*path.parent.relative_to(root).parts, path.name.removesuffix(".json")))
    if case.id != place:
        raise broken("id", f"{case.id!r} stands in the file of {place!r}")
    if not case.clauses:
        raise broken("clauses", "a case names at least one clause")
    if not case.why.strip():
        raise broken("why", "say in one sentence which fault this case catches")
    if not case.steps:
        raise broken("steps", "a case has at least one step")
    for index, word in enumerate(case.requires):
        if not is_claimable(word):
            raise broken(
                f"requires[{index}]", f"no subject can claim {word!r}: spec/protocol.md has the words"
            )
    for field in ("since", "until"):
        try:
            key("0" if (end := getattr(case, field)) is None else end)
        except ValueError as error:
            raise broken(field, str(error)) from None
    if case.since is not None and case.until is not None and key(case.since) >= key(case.until):
        raise broken("until", f"no version of Burn is from {case.since} on and before {case.until}")
    if not 1 <= case.cost <= 100:
        raise broken("cost", f"{case.cost} is not between 1 and 100")
    count = 1
    for axis, values in case.axes.items():
        count *= len(values)
        if count > MAX_VARIANTS:
            raise broken("axes", f"more than {MAX_VARIANTS} variants")
        if not values:
            raise broken(f"axes.{axis}", "an axis has at least one value")
    for index, step in enumerate(case.steps):
        try:
            if "match" in step:
                msgspec.convert(step["match"], Match)
        except msgspec.ValidationError as error:
            raise broken(f"steps[{index}].match", str(error)) from None
    lists = [case.expect] if isinstance(case.expect, list) else list(case.expect.values())
    if case.axes and isinstance(case.expect, list) and case.expect:
        raise broken("expect", "a case with axes expects an object: variant name to list of outcomes")
    if not case.axes and isinstance(case.expect, dict):
        raise broken("expect", "a case without axes expects a list of outcomes")
    if case.provenance.source != "none":
        names = [name for name, _ in chosen(case)] if case.axes else [""]
        wrong = isinstance(case.expect, dict) and set(case.expect) != set(names)
        if wrong or any(len(outcomes) != len(case.steps) for outcomes in lists):
            raise broken("expect", f"one outcome for each of the {len(case.steps)} steps of each variant")


def load_cases(root: Path | None = None, prefix: str = "", *, burn: str = BURN) -> list[Case]:
    """Every case below `root` that holds for a version of Burn, in the order of their ids.

    Args:
        root: A folder of case files; by default that of this version.
        prefix: Only the cases whose id is this or begins with `prefix.`.
        burn: The version of Burn.

    Raises:
        CaseError: A case file is broken, or two cases have one id.
    """
    folder = cases_folder() if root is None else root
    cases = [read_case(path, folder) for path in folder.rglob("*.json")]
    wanted = (case for case in cases if selected(case.id, prefix) and case.holds_for(burn))
    return sorted(wanted, key=lambda case: case.id)


def selected(case_id: str, prefix: str) -> bool:
    """Whether an id is the prefix itself or stands below it."""
    return not prefix or case_id == prefix or case_id.startswith(prefix + ".")


def of_size(cases: list[Case], size: str) -> list[Case]:
    """All cases (`full`), those of level `must` (`core`), or the first that asks each clause (`smoke`)."""
    if size == "core":
        return [case for case in cases if case.level == "must"]
    if size == "smoke":
        first = {case.clauses[0]: case for case in reversed(cases)}
        return [case for case in cases if first[case.clauses[0]] is case]
    return cases


#: Fields that a file leaves out when they have these values.
_UNWRITTEN: dict[str, Any] = {
    "since": None,
    "until": None,
    "requires": [],
    "cost": 1,
    "text": False,
    "axes": {},
}


def format_case(case: Case) -> str:
    """The text of a case file: one line a field, one line a step, one line an outcome."""
    fields = msgspec.to_builtins(case)
    lines: list[str] = []
    for name, value in fields.items():
        if name not in _UNWRITTEN or value != _UNWRITTEN[name]:
            lines.append(f"  {json.dumps(name)}: {_block(name, value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _block(name: str, value: Any) -> str:
    if name in ("steps", "expect") and isinstance(value, list | tuple) and value:
        return "[\n" + ",\n".join(f"    {_line(item)}" for item in value) + "\n  ]"
    if name == "expect" and isinstance(value, dict) and value:
        return (
            "{\n"
            + ",\n".join(f"    {json.dumps(key)}: {_line(item)}" for key, item in value.items())
            + "\n  }"
        )
    return _line(value)


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
