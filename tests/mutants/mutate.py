"""Mutants of a function: each is its code with one small thing changed.

Left alone is what no case can ask: the words of an error, the checks of what only Python can pass (a case has
no way to give a number where Burn's types take a device), and the names that such checks are given.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from refimpl.conformance.planted.planting import compiled

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr,
}  # fmt: skip


class Mutant(NamedTuple):
    """One change: where, and what stands there now."""

    place: str
    number: int
    before: str
    after: str
    function: FunctionType
    code: CodeType

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
        plain = getattr(value, "fget", None) or getattr(value, "__func__", None) or value
        if isinstance(plain, FunctionType) and plain.__module__ == module and plain.__name__ == name:
            if plain.__code__.co_filename.endswith(f"{module.rpartition('.')[2]}.py"):
                yield f"{prefix}{name}", plain
        elif isinstance(value, type) and value.__module__ == module and value.__name__ == name:
            yield from _functions(value, f"{prefix}{name}.", module)


def mutants_of(place: str, function: FunctionType) -> Iterator[Mutant]:
    """The mutants of one function; of several with one change, the second is named `... (2)`, and so on."""
    seen: Counter[str] = Counter()
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    if not isinstance(definition, ast.FunctionDef):
        return
    count = len(list(_nodes(definition)))
    for index in range(count):
        for change in range(2):
            tree = copy.deepcopy(definition)
            node = list(_nodes(tree))[index]
            before = ast.unparse(node)
            if not _change(node, change):
                continue
            try:
                code = compiled(tree, function, "mutant")
            except (SyntaxError, ValueError):
                continue
            if code.co_freevars == function.__code__.co_freevars:
                after = ast.unparse(node)
                seen[f"{before} {after}"] += 1
                yield Mutant(place, seen[f"{before} {after}"], before, after, function, code)


def _nodes(definition: ast.FunctionDef) -> Iterator[ast.AST]:
    body = definition.body
    if ast.get_docstring(definition, clean=False) is not None:
        body = body[1:]
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Raise | ast.Assert) or _checks_python(node):
            continue
        yield node
        children = list(ast.iter_child_nodes(node))
        if isinstance(node, ast.AnnAssign):
            children = [child for child in children if child is not node.annotation]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            children = [child for child in children if not _is_text(child)]
        waiting = [*children, *waiting]


def _checks_python(node: ast.AST) -> bool:
    """Whether a node refuses what Burn's types make impossible to write."""
    if not (isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise)):
        return False
    raised = ast.unparse(node.body[0])
    return raised.startswith(("raise ArgumentTypeError", "raise InvalidArgumentError", "raise ResourceError"))


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _change(node: ast.AST, change: int) -> bool:
    """Change a node in place; whether there is such a change."""
    match node, change:
        case ast.Compare(), 0 if type(node.ops[0]) in _COMPARISONS:
            node.ops[0] = _COMPARISONS[type(node.ops[0])]()
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
