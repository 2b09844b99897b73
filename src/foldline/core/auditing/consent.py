"""Consent: whether the user's own words carry what a line claims that someone agreed to.

    facts ── Consents ── carry ──> an answer or a permission of the user bears the line out, or not
                      ── loosens ──> a rule is laxer than what the user said, or not

In doubt a claim is not borne out: the user's words stand elsewhere in any case. Which lines claim anything is decided
in claims.py, what an answer covers in answers.py, what the user refused in refusals.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from foldline.core.auditing.claims import claimed, claims, frees, lifts
from foldline.core.auditing.refusals import CLAUSE, FORBIDS, NEVER, Refusals
from foldline.core.facts import Facts
from foldline.core.said.answers import Leave, Yes, affirms, deeds_in, refuses, reports, widens, worded
from foldline.core.said.sentences import sentences
from foldline.core.words.markup import bare
from foldline.core.words.plainly import plainly
from foldline.core.words.stems import REACHING

QUOTED = 0.8
"""Share of a line's words that one sentence of the user must have for the line to be the user's own."""
ALIKE = 2 / 3
"""Share of a rule's words that one sentence of the user must have for the two to be about the same thing."""

_HEEDS = re.compile(
    rf"{NEVER}|\b(?:ask\w*|before|first|keep|kept|leave|left|stays?|remains?|un(?:changed|touched)|preserv\w*|intact|"
    r"confirm\w*|approv\w*|permission)\b",
    re.I,
)
"""Words that keep a rule strict: it may say what must not be done, or what must be done instead."""
_ASKS = r"(?:ask\w*|confirm\w*|approv\w*|permission)\b"
_UNASKED = re.compile(rf"\b(?:before|without)\W+(?:\w+\W+){{0,2}}{_ASKS}", re.I)
"""Asking afterwards, or not at all: nothing is heeded by that."""
_KEEPS = re.compile(r"\b(?:keep|leave|preserve|do(?: not|n't) (?:change|touch|modify|rename|break))\b", re.I)
_CHANGES = re.compile(
    r"\W*(?:please |also |then |now )?(?:change|modify|edit|alter|rewrite|rename|break|remove|delete|replace|"
    r"refactor)\b",
    re.I,
)
_CHANGED = re.compile(r"\b(?:chang|modif|edit|alter|rewrit|renam|br[eo]ak|remov|delet|replac|refactor)\w*", re.I)
_UNDONE = re.compile(r"\W*(?:do not|don't|never|no need to|stop|skip)\W+(?P<what>.*)", re.I)
_NAMED = re.compile(r"(?<!\w)(?:\w+[-_./]\w[\w./-]*|\w*\d\w*)")
"""What tells one thing from others of its kind."""
_DETAIL = re.compile(r"[(（]\s*(?:[\"'][^()（）]*[\"']|[0-9a-f]{7,40}|[\d\s.,:%-]+)\s*[)）]")
"""A quotation, a commit or a figure in brackets: it adds nothing to what was agreed to."""
_ASIDE = re.compile(r"^(?P<before>[^()（）]+)(?P<inside>[(（][^()（）]+[)）])")
_PARTS = re.compile(r"[;；]\s*|,?\s+(?:but|aber)\s", re.I)
_NAMED_BEFORE = re.compile(
    r"\b(?:it|its|that|this|they|them|those|these|there|so|one|ones|both|either|es|sie|das)\b", re.I
)
_EXCEPTED = re.compile(r",\s*(?:but |und )?(?:not|nicht|never|no)\b[^,;.]*", re.I)


@dataclass(frozen=True)
class Order:
    """A clause of the user's that begins with a deed to be done."""

    text: str

    @cached_property
    def deeds(self) -> list[str]:
        return deeds_in(self.text)

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(deeds_in(" ".join(_NAMED.findall(self.text))))

    def covers(self, wanted: frozenset[str]) -> bool:
        """It is an order to do just this: the deed, and what it names, or all its words."""
        least = self._named or frozenset(self.deeds)
        return self.deeds[0] in wanted and least <= wanted <= {*self.deeds}


_REACHING = frozenset(word for verb in REACHING for word in worded(verb))


def _freed(text: str) -> frozenset[str]:
    """The words of the part of a sentence that gives a freedom; of all of it where that part speaks of what was named
    before."""
    part = " ".join(filter(frees, _PARTS.split(text)))
    return frozenset(worded(text if _NAMED_BEFORE.search(part) else part or text))


class Consents:
    """What the user agreed to and gave leave for."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def carry(self, line: str, before: str = "") -> bool:
        """The user's words bear out everything the line claims; `before` is the line above, used if this one names
        nothing."""
        line = bare(line)
        return all(self._carries(sentence, line, before) for sentence in claimed(line))

    def _carries(self, sentence: str, line: str, before: str) -> bool:
        wanted = _object(_claiming(sentence)) or _object(line) or _object(before)
        return (
            any(yes.covers(wanted, sentence) for yes in self._yes)
            or any(leave.covers(wanted, sentence) for leave in self._leave)
            or self._is_told_to(wanted, sentence)
            or self._is_quoted(sentence)
            or (frees(sentence) and self._is_freed(sentence))
        )

    def refused(self, deed: str) -> bool:
        """The user was asked about it and did not say yes."""
        wanted = _object(deed)
        return any(len(wanted & words) >= ALIKE * len(wanted) for words in self._no)

    def _is_told_to(self, wanted: frozenset[str], sentence: str) -> bool:
        """The user told the agent to do just this: what is ordered needs no other leave."""
        return any(order.covers(wanted) and not widens(sentence, order.text) for order in self._orders)

    @cached_property
    def _orders(self) -> list[Order]:
        """What the user told the agent to do, clause by clause."""
        asked = [text for text in self._said if not reports(text) and not text.endswith(("?", "？"))]
        clauses = (Order(clause) for text in asked for clause in CLAUSE.split(text) if not refuses(clause))
        return [order for order in clauses if order.deeds[:1] and order.deeds[0] in _REACHING]

    def _is_quoted(self, sentence: str) -> bool:
        words = frozenset(worded(sentence))
        claim = words - _object(sentence)
        return len(words) > 2 and any(
            len(words & leave.words) >= QUOTED * len(words) and claim <= leave.words for leave in self._leave
        )

    def loosens(self, line: str, *, rule: bool = True) -> bool:
        """It takes back or turns around what the user said, or, read as a rule, gives a freedom that the user did
        not give."""
        if not (frees if rule else lifts)(line) and not self._reverses(line):
            return False
        return not self._is_freed(line) and not (_object(line) and self.carry(line))

    def _is_freed(self, rule: str) -> bool:
        """The user gave a freedom in nearly these words."""
        wanted = _object(rule)
        given = (text for text in self._said if frees(text) and not text.endswith("?") and not reports(text))
        return any(len(wanted & _freed(text)) >= ALIKE * max(len(wanted), 1) for text in given)

    def _reverses(self, rule: str) -> bool:
        """Everything the user said about it forbids something, and the rule does not; or it is turned around."""
        wanted = _object(rule)
        if len(wanted) < 2 or self.turns(rule):
            return len(wanted) >= 2
        if self.refusals.tells(bare(rule)) or _HEEDS.search(_UNASKED.sub(" ", rule)):
            return False
        about = [text for text, words in self._said.items() if len(wanted & words) >= max(2, len(wanted) / 2)]
        return bool(about) and all(FORBIDS.search(_nearest(text, wanted)) for text in about)

    def turns(self, line: str) -> bool:
        """It takes back a sentence of the user's: says not to do just that, or changes what is to be kept."""
        line = bare(line)
        return self._undoes(line) or self._changes_kept(line)

    def _undoes(self, line: str) -> bool:
        found = _UNDONE.match(line)
        deeds = deeds_in(found["what"]) if found else []
        if len(deeds) < 2:
            return False
        enough = QUOTED * len(deeds)
        return any(said[0] == deeds[0] and len({*said} & {*deeds}) >= enough for said in self._bidden)

    @cached_property
    def _bidden(self) -> list[list[str]]:
        """The user's sentences that forbid nothing, word for word."""
        return [deeds for text in self._said if not _UNDONE.match(text) and (deeds := deeds_in(text))]

    def _changes_kept(self, line: str) -> bool:
        if not (_CHANGES.match(line) or (frees(line) and _CHANGED.search(line))) or _KEEPS.search(line):
            return False
        words = frozenset(deeds_in(line))
        return any(len(words & kept) >= ALIKE * len(kept) for kept in self._kept if len(kept) > 1)

    @cached_property
    def _kept(self) -> list[frozenset[str]]:
        """What the user wants kept as it is."""
        behind = (text[found.end() :] for text in self._said if (found := _KEEPS.search(text)))
        return [frozenset(deeds_in(CLAUSE.split(text)[0])) for text in behind]

    @cached_property
    def refusals(self) -> Refusals:
        """What the user refused when asked."""
        return Refusals(self._facts, tuple(self._said))

    @cached_property
    def _answers(self) -> list[tuple[str, str]]:
        return [(plainly(fact.question), plainly(fact.text)) for fact in self._facts.of("decision") if fact.question]

    @cached_property
    def _yes(self) -> list[Yes]:
        return [Yes(asked, answer) for asked, answer in self._answers if affirms(answer, asked)]

    @cached_property
    def _no(self) -> list[frozenset[str]]:
        return [frozenset(worded(asked)) for asked, answer in self._answers if refuses(answer)]

    @cached_property
    def _said(self) -> dict[str, frozenset[str]]:
        """The user's own sentences, each with its stems."""
        spoken = (piece for fact in self._facts.of("user") for piece in sentences(fact.text))
        texts = (plainly(piece.text) for piece in spoken if not piece.pasted)
        return {text: frozenset(worded(text)) for text in texts}

    @cached_property
    def _leave(self) -> list[Leave]:
        return [Leave(text) for text in self._said if not refuses(text) and not text.endswith(("?", "？"))]


def _object(text: str) -> frozenset[str]:
    """The words that name what was agreed to."""
    return frozenset(deeds_in(text))


def _claiming(sentence: str) -> str:
    """The part of a sentence that claims something: where only its brackets claim, nothing behind them."""
    sentence = _DETAIL.sub(" ", sentence)
    aside = _ASIDE.match(sentence)
    return aside.group() if aside and claims(aside["inside"]) and not claims(aside["before"]) else sentence


def _nearest(text: str, wanted: frozenset[str]) -> str:
    """The clauses of a text that name most of what is wanted; else the whole text, without what is excepted from it
    if the rest still names as much."""
    enough = ALIKE * len(wanted)
    clauses = [part for part in CLAUSE.split(text) if len(wanted.intersection(worded(part))) >= enough]
    rest = _EXCEPTED.sub(" ", text)
    return " ".join(clauses) or (rest if len(wanted.intersection(worded(rest))) >= enough else text)
