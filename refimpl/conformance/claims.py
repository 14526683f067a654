"""Whether a subject can do what it claims, and claims what it can do."""

from __future__ import annotations

from collections.abc import Iterator

from .case import Case
from .protocol import Caps
from .result import Finding, Result
from .verdict import DIFFERENCES, OVERCLAIM, PASS, UNDERCLAIM, UNSUPPORTED

#: A claim is doubted when so many cases need it and not one of them is supported.
DOUBTED = 5
#: So many cases are put to a subject although it does not claim what they need.
PROBES = 3


class Claims:
    """Watches the answers of one run, and says at its end which claims they contradict."""

    def __init__(self, caps: Caps) -> None:
        self.caps = caps
        #: Capability: (cases answered, cases answered with `unsupported`).
        self._claimed: dict[str, list[int]] = {}
        #: Capability that is not claimed: the cases that passed all the same; None when one did not.
        self._probed: dict[str, list[str] | None] = {}

    def probe(self, case: Case) -> str | None:
        """The one capability which `case` would show to be there although it is not claimed.

        None when the case needs more than one such, or when that capability has been looked at enough.
        """
        lacking = [word for word in case.requires if self.caps.lacks((word,)) is not None]
        if len(lacking) != 1:
            return None
        passed = self._probed.setdefault(lacking[0], [])
        return lacking[0] if passed is not None and len(passed) < PROBES else None

    def probed(self, word: str, result: Result) -> None:
        """Take note of how a probe went: one that does not pass settles that the capability is not there."""
        passed = self._probed[word]
        if passed is not None and result.verdict == PASS:
            passed.append(result.label)
        else:
            self._probed[word] = None

    def answered(self, result: Result) -> None:
        """Take note of a result of a case whose needs are claimed."""
        if result.verdict not in (PASS, UNSUPPORTED) and result.verdict not in DIFFERENCES:
            return
        for word in result.case.requires:
            counts = self._claimed.setdefault(word, [0, 0])
            counts[0] += 1
            counts[1] += result.verdict == UNSUPPORTED

    def findings(self) -> Iterator[Finding]:
        """What the answers contradict."""
        for word, (asked, unsupported) in self._claimed.items():
            if asked == unsupported >= DOUBTED:
                text = f"claims {word!r}, and supports none of the {asked} cases that need it"
                yield Finding(OVERCLAIM, word, text)
        for word, passed in self._probed.items():
            if passed:
                text = f"does not claim {word!r}, and answers what needs it as expected"
                yield Finding(UNDERCLAIM, word, text, tuple(passed))
