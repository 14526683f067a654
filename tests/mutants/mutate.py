"""Mutants of a function: each is its code with one small thing changed.

Left alone is what no case can ask: the words of an error, its clause and its hint, which no protocol carries,
the checks of what only Python can pass (a case has no way to give a number where Burn's types take a device),
and the names that such checks are given. So is what asserts (`zip(..., strict=True)`) and the -1 of
`reshape(-1)`, for which NumPy takes any negative number.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from refimpl.conformance.planted.planting import compiled
from refimpl.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    ModuleDefinitionError,
    ResourceError,
)

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip


#: Errors of a Python program that Rust's compiler refuses, and of a machine with less than was asked for.
_OF_PYTHON = (ArgumentTypeError, InvalidArgumentError, ModuleDefinitionError, ResourceError)


class Mutant(NamedTuple):
    """One change: where, and what stands there now."""

    place: str
    number: int
    before: str
    after: str
    function: FunctionType
    code: CodeType
    #: The lines of its file that are run on the way to the change: those of its statement's head.
    lines: range

    @property
    def module(self) -> str:
        """The module, below `refimpl`."""
        return self.place.partition(":")[0]

    @property
    def name(self) -> str:
        """What identifies it in `equivalent.toml`: the place and the change, not the line."""
        again = f" ({self.number})" if self.number > 1 else ""
        return f"{self.place}: {self.before} -> {self.after}{again}"


def functions_of(module: str) -> Iterator[tuple[str, FunctionType]]:
    """Every function of a module below `refimpl`, those of its classes too, each with its place."""
    found = import_module(f"refimpl.{module}")
    yield from _functions(found, f"{module}:", found.__name__)


def _functions(owner: Any, prefix: str, module: str) -> Iterator[tuple[str, FunctionType]]:
    for name, value in list(vars(owner).items()):
        plain = inspect.unwrap(_plain(value))
        if isinstance(plain, FunctionType) and plain.__module__ == module and plain.__name__ == name:
            if plain.__code__.co_filename.endswith(f"{module.rpartition('.')[2]}.py"):
                yield f"{prefix}{name}", plain
        elif isinstance(value, type) and value.__module__ == module and value.__name__ == name:
            yield from _functions(value, f"{prefix}{name}.", module)


def _plain(value: Any) -> Any:
    """The function of a property, of one kept in the instance, of a class method or static method."""
    for inside in ("fget", "func", "__func__"):
        if not isinstance(value, type) and isinstance(getattr(value, inside, None), FunctionType):
            return getattr(value, inside)
    return value


def mutants_of(place: str, function: FunctionType) -> Iterator[Mutant]:
    """The mutants of one function; of several with one change, the second is named `... (2)`, and so on."""
    seen: Counter[str] = Counter()
    written, first = inspect.getsourcelines(function)
    (definition,) = ast.parse(textwrap.dedent("".join(written))).body
    if not isinstance(definition, ast.FunctionDef):
        return
    for node, lines in list(_nodes(definition, function.__globals__)):
        right, before = dict(vars(node)), ast.unparse(node)
        for change in range(2):
            if _change(node, change):
                after = ast.unparse(node)
                code = _code(definition, function)
                vars(node).clear()
                vars(node).update(right)
                if code is None:
                    continue
                seen[f"{before} {after}"] += 1
                there = range(first - 1 + lines.start, first - 1 + lines.stop)
                yield Mutant(place, seen[f"{before} {after}"], before, after, function, code, there)


def _code(definition: ast.FunctionDef, function: FunctionType) -> CodeType | None:
    """The code of the changed definition, unless there is none or it needs other variables."""
    try:
        code = compiled(definition, function, "mutant")
    except (SyntaxError, ValueError):
        return None
    return code if code.co_freevars == function.__code__.co_freevars else None


def _nodes(definition: ast.FunctionDef, names: dict[str, Any]) -> Iterator[tuple[ast.AST, range]]:
    """What can be changed, each with the lines of the head of its statement."""
    body = definition.body
    if ast.get_docstring(definition, clean=False) is not None:
        body = body[1:]
    waiting: list[tuple[ast.AST, range]] = [(statement, range(0)) for statement in body]
    while waiting:
        node, lines = waiting.pop(0)
        if isinstance(node, ast.Raise | ast.Assert) or _checks_python(node, names) or _is_advice(node):
            continue
        if isinstance(node, ast.stmt | ast.match_case):
            lines = _head(node)
        yield node, lines
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [child for child in children if child is not node.annotation]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            children = [child for child in children if not _is_text(child)]
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "reshape"
        ):
            children = [child for child in children if ast.unparse(child) != "-1"]
        waiting = [*((child, lines) for child in children), *waiting]


def _head(node: ast.stmt | ast.match_case) -> range:
    """The lines of a statement up to the first one inside it."""
    first = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    inside: list[Any] = getattr(node, "body", None) or getattr(node, "cases", [])
    if not inside:
        return range(first, (getattr(node, "end_lineno", None) or first) + 1)
    below = inside[0].pattern if isinstance(inside[0], ast.match_case) else inside[0]
    return range(first, max(below.lineno, first + 1))


def _checks_python(node: ast.AST, names: dict[str, Any]) -> bool:
    """Whether a node refuses what Burn's types make impossible to write."""
    if not isinstance(node, ast.If) or not all(isinstance(part, ast.Assign) for part in node.body[:-1]):
        return False
    match getattr(node.body[-1], "exc", None):
        case ast.Call(func=ast.Name(id=name)):
            made = names.get(name)
            if isinstance(made, FunctionType):  # that words the error
                made = made.__globals__.get(made.__annotations__.get("return", ""))
            return isinstance(made, type) and issubclass(made, _OF_PYTHON)
    return False


def _is_advice(node: ast.AST) -> bool:
    """Whether a node is what an error says to a reader of Python beside its message, or an assertion."""
    return isinstance(node, ast.keyword) and node.arg in ("clause", "hint", "strict")


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _change(node: ast.AST, change: int) -> bool:
    """Change a node in place; whether there is such a change."""
    match node, change:
        case ast.Compare(), 0 if type(node.ops[0]) in _COMPARISONS:
            node.ops = [_COMPARISONS[type(node.ops[0])](), *node.ops[1:]]
        case ast.BinOp() | ast.AugAssign(), 0 if type(node.op) in _ARITHMETIC:
            node.op = _ARITHMETIC[type(node.op)]()
        case ast.BoolOp(), 0:
            node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not()), 0:
            node.op = ast.UAdd()
            node.operand = ast.Call(ast.Name("bool", ast.Load()), [node.operand], [])
        case ast.Constant(value=bool(value)), 0:
            node.value = not value
        case ast.Constant(value=int(value)), 0:
            node.value = value + 1
        case ast.Constant(value=float(value)), 0:
            node.value = value + 1.0
        case ast.Constant(value=str(value)), 0:
            node.value = f"XX{value}"
        case ast.IfExp(), 0:
            node.body, node.orelse = node.orelse, node.body
        case ast.If() | ast.While(), 1:
            node.test = ast.Constant(False)
        case ast.Return(), 1 if node.value is not None and not isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
        case _:
            return False
    ast.fix_missing_locations(node)
    return True
