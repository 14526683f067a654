"""Planting a bug: one piece of one function's text is another, for as long as a block runs."""

from __future__ import annotations
import __future__

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any

import msgspec

from ...errors import CaseError

_FLAGS = __future__.annotations.compiler_flag


class Bug(msgspec.Struct, frozen=True):
    """A misreading of one clause, as an edit of one function of the reference."""

    name: str
    #: The clause that it breaks, and whose cases must notice.
    clause: str
    #: What the wrong implementation believes.
    belief: str
    #: `<module below refimpl>:<qualified name>`.
    place: str
    #: What stands there, exactly once, and what stands there instead.
    right: str
    wrong: str

    @property
    def file(self) -> str:
        """The file of the function, as people call it."""
        return f"refimpl/{self.place.partition(':')[0].replace('.', '/')}.py"


@contextmanager
def planted(bug: Bug) -> Iterator[None]:
    """The reference of this process with the bug in it; right again afterwards, however the block ends.

    The code of the function is exchanged, not its name, so whoever imported it meets the bug too.

    Raises:
        CaseError: The text is not there exactly once: the catalogue is behind the code.
    """
    function = function_at(bug.place)
    with exchanged(function, _changed(bug, function)):
        yield


@contextmanager
def exchanged(function: FunctionType, code: CodeType) -> Iterator[None]:
    """The function with other code, for as long as the block runs."""
    right = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = right


def function_at(place: str) -> FunctionType:
    """The function of that name, without what decorates it.

    Raises:
        CaseError: There is none.
    """
    module, _, path = place.partition(":")
    found: Any = import_module(f"refimpl.{module}")
    for name in path.split("."):
        found = inspect.getattr_static(found, name, None)
    found = getattr(found, "fget", None) or getattr(found, "__func__", None) or found
    if not isinstance(found, FunctionType):
        raise CaseError(
            f"there is no function {place}", hint="bring the catalogue of planted bugs up to date"
        )
    return found


def _changed(bug: Bug, function: FunctionType) -> CodeType:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(bug.right) != 1:
        raise CaseError(
            f"bug {bug.name!r}: {bug.right!r} stands {source.count(bug.right)} times in {bug.place}",
            hint="bring the catalogue of planted bugs up to date",
        )
    (definition,) = ast.parse(source.replace(bug.right, bug.wrong)).body
    if not isinstance(definition, ast.FunctionDef):
        raise CaseError(f"bug {bug.name!r}: {bug.place} is no plain function")
    return compiled(definition, function, bug.file)


def compiled(definition: ast.FunctionDef, function: FunctionType, file: str) -> CodeType:
    """The code of a changed definition, to stand in for that of the function."""
    definition.decorator_list = []
    # Inside a class, so that `super()` finds its cell; the function keeps its own.
    home = ast.parse("class Home: pass")
    home.body[0].body = [definition]  # type: ignore[attr-defined]
    space = dict(function.__globals__)
    exec(compile(home, file, "exec", flags=_FLAGS, dont_inherit=True), space)
    made: Any = vars(space["Home"])[definition.name]
    # `__init_subclass__` and `__class_getitem__` are class methods, `__new__` is static, without being told.
    made = getattr(made, "__func__", made)
    code: CodeType = made.__code__
    return code.replace(co_qualname=function.__code__.co_qualname)
