"""What the agent needed again: identifiers it then wrote, and lines it then wrote once more.

    needed(…)    the identifiers U
    References   FRR (U in the view), gFRR (U there with words it stood beside), far (U not seen for long), VAS (lines)

An identifier counts when the agent writes it before anyone shows it again, when it stood in the prefix, and when it is
neither in the system prompt nor everywhere anyway. Identifiers themselves are in identifiers.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from itertools import islice

from foldline.evals import said
from foldline.evals.identifiers import find, identifiers, last, look, occurrences, stands
from foldline.model import Message

BESIDE = 90
"""Characters on either side within which a word stands beside an identifier."""
GROUNDING = 2
"""Words an identifier must have beside it again, of those it had: one may be chance."""
FAR = 0.25
"""An identifier is far when it was last seen more than this share of the prefix back."""
MOST_PLACES = 200
"""Places of one identifier looked at; those that stand in more are the same everywhere."""

_WORD = re.compile(r"[^\W\d_]{3,}")


def needed(future: Sequence[Message], prefix: str, system: str, background: Set[str]) -> list[str]:
    """U, in the order of first use."""
    known = identifiers(prefix) - identifiers(system) - background
    found: dict[str, None] = {}
    for message in future:
        if message.role == "assistant":
            found |= dict.fromkeys(name for name, _, _ in find(said.plain([message])) if name in known)
        else:
            known -= identifiers(said.told(message)) - found.keys()
    return list(found)


class References:
    """One future against its prefix; asked again for each view."""

    def __init__(
        self, future: Sequence[Message], prefix: str, system: str = "", background: Set[str] = frozenset()
    ) -> None:
        self.names = needed(future, prefix, system, background)
        horizon = len(prefix) * (1 - FAR)
        self._beside = {name: words_beside(name, prefix) for name in self.names}
        self.far = [name for name in self.names if last(name, prefix) < horizon]
        self.lines = [line for line in said.lines(said.agents(future)) if line in prefix]

    def recall(self, view: str) -> dict[str, float | None]:
        """The shares of a view; None where there was nothing to find."""
        there = {name for name in self.names if stands(name, view)}
        grounded = sum(self._grounded(name, view) for name in there)
        return {
            "frr": _share(len(there), len(self.names)),
            "gfrr": _share(grounded, len(self.names)),
            "far": _share(sum(name in there for name in self.far), len(self.far)),
            "vas": _share(sum(line in view for line in self.lines), len(self.lines)),
        }

    def _grounded(self, name: str, view: str) -> bool:
        """At some one place in the view it has two of the words beside it that it had in the prefix."""
        known = self._beside[name]
        places = islice(occurrences(name, view), MOST_PLACES)
        return any(len(_words(view, at, at + len(name)) & known) >= GROUNDING for at in places)


def words_beside(name: str, text: str) -> frozenset[str]:
    """The words that are no identifiers and stand near it, anywhere in a text."""
    found: set[str] = set()
    for at in islice(occurrences(name, text), MOST_PLACES):
        found |= _words(text, at, at + len(name))
    return frozenset(found)


def _words(text: str, start: int, stop: int) -> set[str]:
    """Plain words around a place, those cut off at the rim and those inside identifiers left out."""
    first, last = max(start - BESIDE, 0), min(stop + BESIDE, len(text))
    around = f"{text[first:start]} \0 {text[stop:last]}"
    taken = [(a, b) for _, a, b in look(around)]
    found = set()
    for match in _WORD.finditer(around):
        cut = (match.start() == 0 and first > 0) or (match.end() == len(around) and last < len(text))
        if not cut and not any(a <= match.start() < b for a, b in taken):
            found.add(match[0].lower())
    return found


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
