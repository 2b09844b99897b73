"""Consent: whether the user's own words carry what a line claims that someone agreed to.

    facts ── Consents ── carry ──> an answer or a permission of the user bears the line out, or not
                      ── loosens ──> a rule is laxer than what the user said, or not

In doubt a claim is not borne out: the user's words stand elsewhere in any case. Which lines claim anything is decided
in claims.py, what an answer covers in answers.py.
"""

from __future__ import annotations

import re
from functools import cached_property

from foldline.core.answers import Leave, Yes, affirms, deeds_in, refuses, reports, worded
from foldline.core.claims import claimed, claims, frees
from foldline.core.facts import Facts
from foldline.core.markup import bare
from foldline.core.plainly import plainly
from foldline.core.sentences import sentences

QUOTED = 0.8
"""Share of a line's words that one sentence of the user must have for the line to be the user's own."""
ALIKE = 2 / 3
"""Share of a rule's words that one sentence of the user must have for the two to be about the same thing."""

_NEVER = (
    r"\b(?:not|never|no|nor|without|only|avoid\w*|except|unless|until|forbid\w*|prohibit\w*|off[- ]limits|refrain\w*|"
    r"hands off|read-only|nicht|kein\w*|nie\w*|nur|jamais|pas|ne|nunca|solo|não|mai|non)\b|n't\b|"
    r"[不别未勿禁]|ない|не\b|никогда|нельзя|마세요|금지"
)
_FORBIDS = re.compile(_NEVER, re.I)
_HEEDS = re.compile(
    rf"{_NEVER}|\b(?:ask\w*|before|first|keep|kept|leave|left|stays?|remains?|un(?:changed|touched)|preserv\w*|intact|"
    r"confirm\w*|approv\w*|permission)\b",
    re.I,
)
"""Words that keep a rule strict: it may say what must not be done, or what must be done instead."""
_DETAIL = re.compile(r"[(（]\s*(?:[\"'][^()（）]*[\"']|[0-9a-f]{7,40}|[\d\s.,:%-]+)\s*[)）]")
"""A quotation, a commit or a figure in brackets: it adds nothing to what was agreed to."""
_ASIDE = re.compile(r"^(?P<before>[^()（）]+)(?P<inside>[(（][^()（）]+[)）])")
_CLAUSE = re.compile(r"[,;:，；]\s*|\s(?:and|but|und|aber)\s", re.I)


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
            or self._is_quoted(sentence)
            or (frees(sentence) and self._is_freed(sentence))
        )

    def refused(self, deed: str) -> bool:
        """The user was asked about it and did not say yes."""
        wanted = _object(deed)
        return any(len(wanted & words) >= ALIKE * len(wanted) for words in self._no)

    def _is_quoted(self, sentence: str) -> bool:
        words = frozenset(worded(sentence))
        claim = words - _object(sentence)
        return len(words) > 2 and any(
            len(words & leave.words) >= QUOTED * len(words) and claim <= leave.words for leave in self._leave
        )

    def loosens(self, rule: str) -> bool:
        """Read as a rule, the line gives a freedom that the user did not give, or turns a prohibition of the user's
        around."""
        if not frees(rule) and not self._reverses(rule):
            return False
        return not self._is_freed(rule) and not (_object(rule) and self.carry(rule))

    def _is_freed(self, rule: str) -> bool:
        """The user gave a freedom in nearly these words."""
        wanted = _object(rule)
        given = (text for text, words in self._said.items() if len(wanted & words) >= ALIKE * max(len(wanted), 1))
        return any(frees(text) and not text.endswith("?") and not reports(text) for text in given)

    def _reverses(self, rule: str) -> bool:
        """Everything the user said about it forbids something, and the rule does not."""
        wanted = _object(rule)
        if len(wanted) < 2 or _HEEDS.search(rule):
            return False
        about = [text for text, words in self._said.items() if len(wanted & words) >= max(2, len(wanted) / 2)]
        return bool(about) and all(_FORBIDS.search(_nearest(text, wanted)) for text in about)

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
    """The clauses of a text that name most of what is wanted; else the whole text."""
    enough = ALIKE * len(wanted)
    return " ".join(part for part in _CLAUSE.split(text) if len(wanted.intersection(worded(part))) >= enough) or text
