"""Where in a JSON text a field stands, so that an error can name the line."""

from __future__ import annotations

import json
import re

_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[\.\.\.\]")
_SPACE = re.compile(r"[ \t\r\n]*")
#: A key with its colon, another text, or the begin or end of an object.
_TOKEN = re.compile(r'("(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]')
_BYTE = re.compile(r"byte (\d+)")


def line_of_byte(content: bytes, message: str) -> int:
    """The line of the byte that a decoder's message names; the last line when it names none."""
    found = _BYTE.search(message)
    end = int(found[1]) if found is not None else len(content)
    return content.count(b"\n", 0, end) + 1


def line_of_field(content: bytes, field: str) -> int:
    """The line on which `field` (`steps[2].args`) begins, or that of its nearest ancestor."""
    text = content.decode("utf-8", "replace")
    at = 0
    for match in _PART.finditer(field):
        try:
            found = (
                _member(text, at, match[1]) if match[1] is not None else _item(text, at, int(match[2] or 0))
            )
        except (ValueError, IndexError, RecursionError):
            break
        if found is None:
            break
        at = found
    return text.count("\n", 0, at) + 1


class _RepeatedError(Exception):
    """Some object has a key twice."""


def _distinct(pairs: list[tuple[str, object]]) -> None:
    if len({name for name, _ in pairs}) != len(pairs):
        raise _RepeatedError


_FAST = json.JSONDecoder(object_pairs_hook=_distinct)


def repeated_key(content: bytes) -> tuple[int, str] | None:
    """The line and name of the first key that stands a second time in its object, in a valid JSON text."""
    text = content.decode()
    try:
        _FAST.decode(text)
    except _RepeatedError:
        pass
    else:
        return None
    objects: list[set[str]] = []
    for found in _TOKEN.finditer(text):
        if found[1] is not None:
            name = json.loads(found[1])
            if name in objects[-1]:
                return text.count("\n", 0, found.start()) + 1, name
            objects[-1].add(name)
        elif found[0] == "{":
            objects.append(set())
        elif found[0] == "}":
            objects.pop()
    raise AssertionError("no key is repeated")


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found is not None else at


def _member(text: str, at: int, key: str) -> int | None:
    """Where the value of `key` begins in the object that begins at `at`."""
    decoder = json.JSONDecoder()
    at = _skip(text, at)
    while text[at] in "{,":
        start = _skip(text, at + 1)
        name, at = decoder.raw_decode(text, start)
        value = _skip(text, _skip(text, at) + 1)
        if name == key:
            return value
        _, at = decoder.raw_decode(text, value)
        at = _skip(text, at)
    return None


def _item(text: str, at: int, index: int) -> int | None:
    """Where the item `index` begins in the array that begins at `at`."""
    decoder = json.JSONDecoder()
    at = _skip(text, at)
    while text[at] in "[,":
        value = _skip(text, at + 1)
        if index == 0:
            return value
        _, at = decoder.raw_decode(text, value)
        at = _skip(text, at)
        index -= 1
    return None
