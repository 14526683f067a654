"""A choice of words as Rust compiles it: a tree of their bytes."""

from __future__ import annotations


class _Letter:
    """A state of a tree of words: where each byte leads, in one more group after each word that ends here."""

    __slots__ = ("groups",)

    def __init__(self) -> None:
        self.groups: list[dict[int, _Letter]] = [{}]

    @property
    def is_last(self) -> bool:
        """Whether no word goes on from here."""
        return not any(self.groups)

    def end_word(self) -> None:
        """A word ends here; the same word once more adds nothing, unless another one goes on."""
        if len(self.groups) == 1 or not self.is_last:
            self.groups.append({})


def tree_of(words: list[bytes]) -> tuple[int, int, int]:
    """How many states the tree has, how many ways on from one to any other, and how many with a byte.

    The only way on with a byte costs a state nothing, and is not counted.
    """
    root = _Letter()
    for word in words:
        letter = root
        for byte in word:
            letter = letter.groups[-1].setdefault(byte, _Letter())
        letter.end_word()
    states = ways = bytes_on = 0
    todo = [root]
    while todo:
        groups = todo.pop().groups
        full = [group for group in groups if group]
        states += 1 + len(full)
        ways += len(full) + len(groups) - 1
        bytes_on += sum(len(group) for group in full if len(group) > 1)
        todo += [letter for group in full for letter in group.values() if not letter.is_last]
    return states, ways, bytes_on
