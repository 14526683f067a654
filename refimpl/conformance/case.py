"""A case: a trace of steps put to a subject, and the outcome that each step must have."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..errors import CaseError
from .claimable import is_claimable
from .clauses import spec_folder
from .kinds import ErrorKind, PanicKind
from .location import line_of_byte, line_of_field, repeated_key
from .versions import BURN, key, within

#: More variants than this in one case is a fault of the case, not a thorough test.
MAX_VARIANTS = 10_000

#: A double holds every integer up to this one.
_EXACT = 1 << 53
#: As many digits as that has.
_LONG = re.compile(rb"\d{16}")

#: A step of the trace, as `spec/protocol.md` defines it; `match` beside it is for the runner alone.
Step = dict[str, Any]


class Fault(msgspec.Struct, frozen=True):
    """The kind of an error or panic, and its text for people."""

    kind: str
    text: str = ""


class Error(Fault, frozen=True):
    """A returned error."""

    kind: ErrorKind


class Panic(Fault, frozen=True):
    """A broken contract."""

    kind: PanicKind


class Missing(msgspec.Struct, frozen=True):
    """What a subject lacks to take a step."""

    capability: str
    text: str = ""


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a step came to: one of `ok`, `error`, `panic`, `unsupported`; in a case also `one_of`."""

    ok: Any = msgspec.UNSET
    error: Error | msgspec.UnsetType = msgspec.UNSET
    panic: Panic | msgspec.UnsetType = msgspec.UNSET
    unsupported: Missing | msgspec.UnsetType = msgspec.UNSET
    one_of: tuple[Outcome, ...] | msgspec.UnsetType = msgspec.UNSET

    def __post_init__(self) -> None:
        forms = (self.ok, self.error, self.panic, self.unsupported, self.one_of)
        if sum(form is not msgspec.UNSET for form in forms) != 1:
            raise ValueError("an outcome is exactly one of ok, error, panic, unsupported")


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a step's value is compared; without one, tensors by their bits with every NaN alike."""

    #: Compare the payload of a NaN too.
    bits: bool = False
    #: Floats may differ by so many units in the last place of their dtype.
    ulp: int = 0
    #: Lists are compared without their order.
    unordered: bool = False
    #: Keys left out of the comparison, at any depth.
    ignore: tuple[str, ...] = ()
    #: Whether the text of an error or panic is promised; the case's own answer when not said.
    text: bool | None = None


class Provenance(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Where the expected outcomes come from; none means: not yet recorded."""

    source: Literal["burn", "hand", "shrunk", "none"]
    version: str | None = None
    backend: str | None = None


class Case(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One case file, as `spec/cases/README.md` describes it."""

    id: str
    clauses: tuple[str, ...]
    truth: Literal["contract", "pinned", "ours"]
    level: Literal["must", "should", "may"] = "must"
    #: The first version of Burn for which the case holds, and the first for which it does no longer.
    since: str | None = None
    until: str | None = None
    requires: tuple[str, ...] = ()
    why: str
    cost: int = 1
    text: bool = False
    axes: dict[str, list[Any]] = {}
    provenance: Provenance = Provenance("none")
    steps: tuple[Step, ...]
    expect: list[Outcome] | dict[str, list[Outcome]] = []

    @property
    def chapter(self) -> str:
        """The first part of the id, which is the folder."""
        return self.id.partition(".")[0]

    def holds_for(self, burn: str) -> bool:
        """Whether the case is asked of what follows this version of Burn."""
        bounds = [f"{sign}{end}" for sign, end in ((">=", self.since), ("<", self.until)) if end is not None]
        return not bounds or within(burn, ",".join(bounds))


class Variant(msgspec.Struct, frozen=True):
    """A case with one value chosen on each axis."""

    case: Case
    name: str
    steps: tuple[Step, ...]
    matches: tuple[Match, ...]
    expect: tuple[Outcome, ...] | None

    @property
    def label(self) -> str:
        """The case's id, with the variant in brackets when there is more than one."""
        return f"{self.case.id}[{self.name}]" if self.name else self.case.id


_DECODER = msgspec.json.Decoder(Case)
_PLAIN = Match()


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


def chosen(case: Case) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each choice on the axes, with the name that it has in `expect`."""
    for indices in itertools.product(*(range(len(values)) for values in case.axes.values())):
        values = {axis: case.axes[axis][index] for axis, index in zip(case.axes, indices, strict=True)}
        words = (f"{axis}={_word(values[axis], index)}" for axis, index in zip(values, indices, strict=True))
        yield ",".join(words), values


def _word(value: Any, index: int) -> str:
    """A value as part of a name: itself when it is short and plain, else its place on the axis."""
    word = value if isinstance(value, str) else json.dumps(value)
    plain = isinstance(value, bool | int | float | str | None) and len(word) <= 24
    return word if plain and not set(word) & set(",=[]") else f"#{index}"


def match_of(step: Step) -> Match:
    """How the outcome of a step is compared."""
    return msgspec.convert(step["match"], Match) if "match" in step else _PLAIN


def bare(steps: Sequence[Step]) -> list[Step]:
    """The steps as a subject gets them: how they are judged is for the runner alone."""
    return [
        {key: value for key, value in step.items() if key != "match"} if "match" in step else step
        for step in steps
    ]


def variants(case: Case) -> Iterator[Variant]:
    """The case with each choice on its axes filled in: `"$axis"` as a whole text stands for the value."""
    matches = tuple(map(match_of, case.steps))
    asked = tuple(map(_told, bare(case.steps)))
    known = case.provenance.source != "none"
    if not case.axes:
        yield Variant(case, "", asked, matches, tuple(case.expect) if known else None)  # type: ignore[arg-type]
        return
    varying: set[int] = set()
    _varying(list(asked), varying)
    for name, values in chosen(case):
        expect = case.expect.get(name) if known and isinstance(case.expect, dict) else None
        exact = {axis: _exact(value) for axis, value in values.items()}
        steps = tuple(_fill(step, exact, varying) for step in asked)
        yield Variant(case, name, steps, matches, tuple(expect) if expect is not None else None)


def _told(step: Step) -> Step:
    """The step as it is told to a subject: itself, unless an integer in it may be too long."""
    exact: Step = _exact(step) if _LONG.search(msgspec.json.encode(step)) else step
    return exact


def _exact(value: Any) -> Any:
    """The value with each integer past 2^53 as a decimal text, so that every language can read it.

    What stands under `serde` is somebody else's format, and is left as it is.
    """
    if isinstance(value, int):
        return str(value) if abs(value) > _EXACT else value
    if isinstance(value, dict):
        return {key: part if key == "serde" else _exact(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_exact(part) for part in value]
    return value


def _varying(value: Any, found: set[int]) -> bool:
    """Whether a text in it may stand for a value of an axis; `found` takes the ids of all that hold one."""
    if isinstance(value, str):
        return value.startswith("$")
    if not isinstance(value, (dict, list)):
        return False
    parts = value.values() if isinstance(value, dict) else value
    holding = [part for part in parts if _varying(part, found)]  # all of them, not up to the first
    if holding:
        found.add(id(value))
    return bool(holding)


def _fill(value: Any, values: dict[str, Any], varying: set[int]) -> Any:
    if isinstance(value, str):
        return values.get(value[1:], value) if value.startswith("$") else value
    if id(value) not in varying:
        return value
    if isinstance(value, dict):
        return {key: _fill(part, values, varying) for key, part in value.items()}
    return [_fill(part, values, varying) for part in value]


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
