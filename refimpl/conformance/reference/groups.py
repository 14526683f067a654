"""Group expressions."""

from __future__ import annotations

import json
from typing import Any

from ...errors import InvalidArgumentError
from ...param.group import ParamGroup
from .args import only, whole
from .faults import StepError
from .state import State


def group(state: State, spec: Any) -> ParamGroup:
    """GROUP as a ParamGroup."""
    if spec == "all":
        return ParamGroup.all()
    key, inner = only(spec, "group")
    match key:
        case "ids":
            return ParamGroup.from_ids([state.known_id(whole(number)) for number in inner])
        case (
            "path"
            | "paths"
            | "predicate"
            | "predicates"
            | "any_predicates"
            | "regex"
            | "regexes"
            | "any_regexes"
        ):
            made: ParamGroup = getattr(ParamGroup, f"from_{key}")(inner)
            return made
        case "ids_from_module":
            return ParamGroup.ids_from_module(state.module(inner).clone())
        case "fuse":
            return group(state, inner[0]).fuse(group(state, inner[1]))
        case "exclude":
            return group(state, inner[0]).exclude(group(state, inner[1]))
        case "serde":
            try:
                return ParamGroup.from_serde(json.loads(inner) if isinstance(inner, str) else inner)
            except (InvalidArgumentError, ValueError) as error:
                raise StepError(str(error), "Serde") from None
    raise StepError(f"{key!r} is no group")
