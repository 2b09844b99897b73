"""What a line has the user say, ask for or choose: whether the user's own words bear it out.

    facts, what everyone said ── UserClaims ── bears ──> the words put there are the user's, or not
                                       ── restates ──> a rule is one of the user's in other words, or not

An answer is read together with its question: "the first one" says nothing by itself. What the user chose is sought only
in clauses that deny nothing. Which lines put words into the user's mouth is decided in line_intent.py.
"""

from __future__ import annotations

import re
from functools import cached_property

from foldline.core.auditing.echoes import Heard, is_by, reaches_unsaid
from foldline.core.auditing.line_intent import attribution, quotes, unquoted
from foldline.core.facts import Facts
from foldline.core.said.answers import refuses
from foldline.core.said.sentences import sentences
from foldline.core.words.plainly import plainly
from foldline.core.words.stems import ORDERS, stems

_REJECTED = re.compile(
    r"\b(?:over|instead of|rather than|as opposed to|and not|(?:an)?statt|anstelle)\b[^;:().]*", re.I
)
"""What was not chosen: the user need not have named it."""
_REST = re.compile(r"[;()（）]|,\s+(?:and|because|which|since|so|but|in)\b|\s[—–-]+\s|\b(?:because|since)\b", re.I)
"""Where the words put into the user's mouth end, and others follow."""
_TELLS = re.compile(r"\W*(?:[^:]{1,40}:\s+)?(?:i|we)\s+(?:asked|offered|proposed|suggested|explained)\b", re.I)
"""How a line begins in which the assistant speaks of itself before it comes to the user."""
_PICKS = re.compile(r"\b(?:chose|picked|selected|prefer\w*|cho(?:ice|sen)|decided (?:on|for)|went with)\b|选", re.I)
_DENIES = re.compile(r"\b(?:not|never|no|none|without|against|nicht|kein\w*|nie)\b|n't\b|[不别未勿没]", re.I)
_LIMITS = re.compile(r"\b(?:only|off[- ]limits|avoid\w*|forbid\w*|hands off|alone|nur)\b|\w-free\b|[禁只]", re.I)
_PROHIBITS = re.compile(
    r"\b(?:never|avoid|under no circumstances|must(?: not|n't)|(?<!\bi )(?<!\bwe )(?<!\bthey )(?:do not|don't)"
    r"(?! (?:forget|hesitate|worry|bother|mind|stop|wait)))\b|\bnie(?:mals)?\b|不要|不得|[别勿]",
    re.I,
)
"""Words that prohibit what follows them."""
_HEEDS = re.compile(
    r"\b(?:ask\w*|before|first|until|unless|confirm\w*|approv\w*|permission|consent|keep|kept|leave|left|stays?|"
    r"remains?|un(?:changed|touched)|instead|prevent\w*|stop\w*|refus\w*|protect\w*|prohibit\w*|rule\w*)\b",
    re.I,
)
"""Words of a prohibition that has no "not"."""
_PART = re.compile(r"(?<=[.!?;])\s+|,\s+(?:and|but)\s+|;\s*", re.I)
_NAME = re.compile(r"[\w.-]*/[\w./-]*|\w+[._]\w+")
_CLAUSE = re.compile(r"[,;:()，；]|\b(?:but|and|aber|und)\b", re.I)
_CHOICE = re.compile(r"\b(?:or|oder|ou)\b|还是|還是", re.I)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")

MOSTLY = 0.5
"""A clause says the same as a sentence of the user's that has at least this share of its words."""
SHORT = 4
"""A clause of at most so many words restates a prohibition if the user forbade something about a name in it: the
other words may be in another language."""
LOOK = 100_000
"""Characters at either end of a message that are read: what lies between is pasted."""
FEWEST = 2
"""Words from which a sentence says something."""


class UserClaims:
    """What the user said, for checking lines that report it."""

    def __init__(self, facts: Facts, said: Heard) -> None:
        self._facts, self._everyone = facts, said
        self._borne: dict[str, bool] = {}

    @cached_property
    def _words(self) -> list[str]:
        """What the user wrote, and each answer with the part of the question it takes up."""
        written = [fact.text for fact in self._facts.of("user")]
        decided = ((plainly(fact.about), plainly(fact.text)) for fact in self._facts.of("decision") if fact.about)
        ends = (text if len(text) <= 2 * LOOK else f"{text[:LOOK]}\n{text[-LOOK:]}" for text in written)
        return [*ends, *(_answered(asked, answer) for asked, answer in decided)]

    @cached_property
    def _users(self) -> Heard:
        return Heard.in_text(*self._words)

    @cached_property
    def _said(self) -> Heard:
        return self._everyone.and_in(self._users)

    @cached_property
    def _sentences(self) -> list[tuple[str, frozenset[str]]]:
        pieces = (piece.text for text in self._words for piece in sentences(text) if not piece.pasted)
        return [(piece, frozenset(stems(piece))) for piece in pieces]

    @cached_property
    def _affirmed(self) -> Heard:
        """What the user said in clauses that deny nothing."""
        clauses = (clause for text, _ in self._sentences for clause in _CLAUSE.split(text))
        return Heard.in_text(*(clause for clause in clauses if clause and not _DENIES.search(clause)))

    @cached_property
    def _wished(self) -> Heard:
        """What the user said in clauses that prohibit nothing."""
        clauses = (clause for text, _ in self._sentences for clause in _CLAUSE.split(plainly(text)))
        return Heard.in_text(*(clause for clause in clauses if clause and not _PROHIBITS.search(clause)))

    def _heard(self, line: str) -> Heard:
        """The passages in which a line's words must be found: what was prohibited does not count as wanted."""
        if _picks(line):
            return self._affirmed
        heeds = _forbids(line) or _HEEDS.search(unquoted(line)) is not None
        return self._users if heeds or not self._prohibits else self._wished

    @cached_property
    def _prohibits(self) -> bool:
        return any(_PROHIBITS.search(plainly(text)) for text, _ in self._sentences)

    def bears(self, line: str) -> bool:
        """Everything the line puts into the user's mouth is the user's. Sentences before that may be anyone's;
        somebody must have said those after it."""
        if line not in self._borne:  # a line is judged whole, and again when some of it is cut
            self._borne[line] = self._is_borne(line)
        return self._borne[line]

    def _is_borne(self, line: str) -> bool:
        if not _picks(line) and is_by(unquoted(line), self._heard(line)):
            return True
        pieces = _SENTENCE.split(line)
        first = next((at for at, piece in enumerate(pieces) if quotes(piece)), 0)
        if first and not stems(unquoted(pieces[first])):  # it refers to the sentence before it
            pieces[first - 1 : first + 1] = [" ".join(pieces[first - 1 : first + 1])]
            first -= 1
        return all(self._bears(piece) if quotes(piece) else self._is_said(piece) for piece in pieces[first:])

    def _is_said(self, sentence: str) -> bool:
        return len(stems(sentence)) < FEWEST or is_by(sentence, self._said)

    def restates(self, rule: str) -> bool:
        """Every clause of the rule says in other words what one sentence of the user's says, and both forbid
        something or neither does."""
        clauses = [clause for clause in _PART.split(rule) if stems(clause)]
        if reaches_unsaid(rule, self._users):
            return False
        return bool(clauses) and all(map(self._restates, clauses))

    def _restates(self, clause: str) -> bool:
        words, denies = set(stems(clause)), _forbids(clause)
        alike = [text for text, said in self._sentences if len(words & said) >= MOSTLY * len(words)]
        if not alike and denies and len(words) <= SHORT:
            names = set(stems(" ".join(_NAME.findall(clause))))
            alike = [text for text, said in self._sentences if names & said] if not ORDERS & words else []
        return any(_forbids(text) is denies for text in alike)

    def _bears(self, sentence: str) -> bool:
        before, behind = attribution(sentence)
        if not stems(behind):
            before, behind = "", before or sentence
        words = _REJECTED.sub(" ", behind)
        end = _REST.search(words)
        rest = words[end.end() :] if end and stems(words[: end.start()]) else ""
        heard = self._heard(sentence)
        told = unquoted(words[: len(words) - len(rest)])
        others = (rest,) if _TELLS.match(before) else (before, rest)
        return is_by(told, heard) and all(is_by(unquoted(other), self._said) for other in others)


def _forbids(text: str) -> bool:
    return _DENIES.search(text) is not None or _LIMITS.search(text) is not None


def _picks(line: str) -> bool:
    return _PICKS.search(line) is not None and not _DENIES.search(line)


def _answered(asked: str, answer: str) -> str:
    """An answer with the part of the question it takes up. A bare yes takes up nothing: consent.py deals with that."""
    if refuses(answer):
        return answer
    words = set(stems(answer))
    taken = [option for option in _CHOICE.split(asked) if words.intersection(stems(option))]
    return f"{answer.rstrip('.!')} {' '.join(taken)}"
