"""What the user refused when the agent asked for it, and what takes that back.

    facts, the user's sentences ── Refusals ── overrules ──> a line has a deed done that the user refused, or not
                                            ── tells ──> a line says that the user refused it, and nothing else

Only deeds that reach beyond the agent's own files count, and only a flat no. Deeds are known by their stems, so no list
of words for consent is needed. What is done with such a line is decided in judge.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from foldline.core.auditing.claims import heeded, heeds, spurns
from foldline.core.auditing.echoes import Heard
from foldline.core.facts import Fact, Facts
from foldline.core.said.answers import affirms, deeds_in, refuses, worded
from foldline.core.said.sentences import inquires, sentences
from foldline.core.words.plainly import plainly
from foldline.core.words.stems import EVERYDAY, REACHING, WORD

NEVER = (
    r"\b(?:not|never|no|nor|without|only|avoid\w*|except|unless|until|forbid\w*|prohibit\w*|off[- ]limits|refrain\w*|"
    r"hands off|read-only|nicht|kein\w*|nie\w*|nur|jamais|pas|ne|nunca|solo|não|mai|non)\b|n't\b|"
    r"[不别未勿禁]|ない|не\b|никогда|нельзя|마세요|금지"
)
FORBIDS = re.compile(NEVER, re.I)
"""Words that forbid, or keep to something, in the languages that are read."""
HALF = 0.5
"""Share of the words beside a deed that somebody must have said of it."""
_BEFORE = re.compile(r"\bbefore\b", re.I)
_FLATLY = re.compile(
    r"\W*(?:(?:sorry|well|oh|hm+|please|thanks?|actually)\W+)*(?:no(?! (?:problem|objection|worries|need|issue|matter))"
    r"|nope|nah|never|not|don'?t|do not|wait|stop|hold|cancel|later|leave it|nein|nicht|noch|erst|warte|non|pas|nunca|"
    r"não|espera|нет|не)\b|\W*(?:[不别未勿]|いいえ|아니)",
    re.I,
)
"""How an answer begins that refuses the whole of what was asked."""
_ENDING = re.compile(r"(?<=[.!?;])\s+")
_DETERMINER_WORDS = "the a an this that these those all any my our its die das den eine"
_DETERMINERS = frozenset(_DETERMINER_WORDS.split())
_NAME = re.compile(r"(?<!\S)(?:\S*\w[./_:\\]\w\S*|\S*\w\(\S*)")
"""A path or symbol: a verb in it is no deed."""
_DONE = re.compile(r"\W*(?:\[[xX]\]\W*)?(?:i |we |already )?\w{2,}ed\b", re.I)
CLAUSE = re.compile(r"[,;:，；]\s*|\s(?:and|but|und|aber)\s", re.I)
_REACHING = frozenset(word for verb in REACHING for word in worded(verb))


@dataclass(frozen=True)
class Refusal:
    """A deed that the agent asked for, that reaches beyond its own files, and that the user refused."""

    verbs: frozenset[str]
    objects: frozenset[str]
    answer: frozenset[str]
    at: int

    @classmethod
    def of(cls, fact: Fact) -> Refusal:
        asked = frozenset(deeds_in(plainly(fact.question)))
        verbs = asked & _REACHING
        return cls(verbs, asked - verbs, frozenset(deeds_in(plainly(fact.text))), fact.at)

    def is_of(self, words: frozenset[str]) -> bool:
        """These words name this very deed: the verb and enough of its objects."""
        shared = len(words & self.objects)
        return bool(words & self.verbs) and (not self.objects or shared >= HALF * len(self.objects))

    def is_thing(self, sentence: str) -> bool:
        """The sentence names the deed as a thing that is known, not as something that is done to another object."""
        words = WORD.findall(sentence.casefold())
        after = (words[at + 1] if at + 1 < len(words) else "" for at in range(len(words)))
        beside = zip(words, after, strict=True)
        return any(self.verbs.intersection(worded(word)) and _is_alone(behind) for word, behind in beside)


class Lift(NamedTuple):
    """The words of a leave, or of a deed that was done, and the number of their message."""

    at: int
    words: frozenset[str]
    is_deed: bool = False

    def lifts(self, no: Refusal) -> bool:
        """It comes after the refusal and is about the same."""
        same = no.is_of(self.words) if self.is_deed else not no.verbs.isdisjoint(self.words)
        return self.at > no.at and same


def _is_alone(behind: str) -> bool:
    """A verb before this word has no object of its own."""
    return behind not in _DETERMINERS and not deeds_in(behind)


class Refusals:
    """What the user refused and did not allow, nor the agent do, since. `said` are the user's own sentences."""

    def __init__(self, facts: Facts, said: Sequence[str]) -> None:
        self._facts, self._said = facts, said

    def overrules(self, text: str, said: Heard) -> bool:
        """It has a deed done, or allowed, that the user refused when asked. What says so, asks again or waits does
        not; nor does what somebody said of another deed with the same verb."""
        if not self._refusals:
            return False
        parts = [(part, frozenset(deeds_in(part))) for part in _ENDING.split(text) if not heeds(part)]
        return any(self._overrules(part, words, no, said) for part, words in parts for no in self._refusals)

    def tells(self, text: str) -> bool:
        """It says that the user refused what the user did refuse, and nothing else."""
        if not heeds(text):
            return False
        words = frozenset(deeds_in(heeded(text)))
        return any(words & no.verbs and words <= no.verbs | no.objects | no.answer for no in self._refusals)

    def _overrules(self, part: str, words: frozenset[str], no: Refusal, said: Heard) -> bool:
        if no.verbs.isdisjoint(deeds_in(_NAME.sub(" ", part))):
            return False
        rest = words - no.verbs - no.objects - EVERYDAY
        if rest <= no.answer and rest and not spurns(part) and not _BEFORE.search(part):
            return False
        weights = dict.fromkeys(rest, 1.0)
        if no.is_of(words):
            told = bool(_DONE.match(part)) and bool(rest) and said.best(weights) >= HALF * len(rest)
            return not told and not any(words <= own for own in self._spoken_of)
        return no.is_thing(part) and (not rest or said.best(weights) < HALF * len(rest))

    @cached_property
    def _spoken_of(self) -> list[frozenset[str]]:
        """The deeds that the user spoke of without forbidding them or asking about them, and those that were done."""
        spoken = [CLAUSE.sub("\n", text).split("\n") for text in self._said if not inquires(text)]
        clauses = [clause for parts in spoken for clause in parts if not FORBIDS.search(clause)]
        return [frozenset(deeds_in(text)) for text in (*clauses, *(fact.text for fact in self._facts.of("reached")))]

    @cached_property
    def _refusals(self) -> list[Refusal]:
        """What the user refused and did not allow, nor the agent do, since."""
        flat = [fact for fact in self._facts.of("decision") if fact.question and _FLATLY.match(plainly(fact.text))]
        found = [Refusal.of(fact) for fact in flat]
        return [no for no in found if no.verbs and not any(given.lifts(no) for given in self._since)]

    @cached_property
    def _since(self) -> list[Lift]:
        """What may take a refusal back: a yes, a word of the user's that neither denies nor asks, a deed."""
        yes = ((fact, plainly(fact.question)) for fact in self._facts.of("decision") if fact.question)
        agreed = [Lift(fact.at, frozenset(worded(asked))) for fact, asked in yes if affirms(plainly(fact.text), asked)]
        spoken = ((fact.at, piece) for fact in self._facts.of("user") for piece in sentences(fact.text))
        texts = ((at, plainly(piece.text)) for at, piece in spoken if not piece.pasted)
        told = [Lift(at, frozenset(worded(text))) for at, text in texts if not refuses(text) and not inquires(text)]
        done = [
            Lift(fact.at, frozenset(deeds_in(f"{fact.key} {fact.text}")), True) for fact in self._facts.of("reached")
        ]
        return [*agreed, *told, *done]
