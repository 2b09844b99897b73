"""Consent: whether the user's own words carry what a line claims that someone agreed to.

    facts ── Consents ── carry ──> an answer or a permission of the user bears the line out, or not
                      ── loosens ──> a rule is laxer than what the user said, or not

A yes bears out only what it was an answer to, a permission only what it speaks of. In doubt a claim is not borne out:
the user's words stand elsewhere. Which lines claim anything is told in claims.py.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import NamedTuple

from foldline.core.claims import claimed, frees
from foldline.core.facts import Facts
from foldline.core.plainly import plainly
from foldline.core.sentences import sentences
from foldline.core.stems import stems

_NOUN = re.compile(r"(?<=\w{4})(?:ment|ation|ion|al)$")


def _stems(text: str) -> list[str]:
    """The words that say something, a deed and its noun alike: deploy and deployment, delete and deletion."""
    return [_NOUN.sub("", word) for word in stems(text)]


QUOTED = 0.8
"""Share of a line's words that one sentence of the user must have for the line to be the user's own."""
ALIKE = 2 / 3
"""Share of a rule's words that one sentence of the user must have to be about the same."""

_REFUSES = re.compile(
    r"\b(?:not|never|no(?! (?:problem|objection|worries|need))|but|except|only|unless|wait|stop|until|before|if|once|"
    r"after|when|nope|nah|later|tomorrow|though|however|hold|hang|actually|maybe|perhaps|disagree|cancel|nobody|today|"
    r"this time|nicht|kein\w*|nein|erst|später|non|pas|luego|mañana)\b|n't\b|[不别未]|ない",
    re.I,
)
_AFFIRMS = re.compile(
    r"\W*(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go ahead|do it|please do|sounds good|lgtm|approved?|agreed|fine|perfect|"
    r"correct|absolutely|of course|ship it|ja|genau|gerne|passt|oui|sí|si|да)\b|[是好对對可네]|はい|👍)",
    re.I,
)
_YES_WORDS = """
yes yep yeah yup ok okay sure go ahead do it please thanks thank you sounds looks good great perfect nice cool let lets
us proceed continue of course absolutely definitely certainly fine correct right exactly approved approve agreed agree
confirmed confirm allowed ship lgtm by means makes sense that works for me both too thing one now i am im s ll re no
problem objection worries need ja gerne bitte danke genau passt klar mach oui merci sí si claro vale por favor да
是好的对對可以行请請谢謝吧呀 はいお願いします 네예좋아요
"""
_POLITE = frozenset(_stems(_YES_WORDS))
"""What a plain yes may be made of."""
_LEAVE = re.compile(
    r"(?:^\W*|[,;.!]\s+|\b(?:and|then|so|also|now|yes|ok|okay|sure|please)\s+)(?:you (?:may|can|could|have my|"
    r"are allowed|are free)|feel free|go ahead|i(?:'m| am)? (?:approve|agree|allow|permit|authori[sz]e|confirm|"
    r"consent|accept|"
    r"fine with|ok(?:ay)? with|happy with|sign off)|approved|please do|my (?:approval|blessing|permission|okay|"
    r"consent))\b",
    re.I,
)
"""Leave given in the user's own name: at the beginning of a clause, not behind "Bob says"."""
_IS_FINE = re.compile(r"\b(?:is|are) (?:fine|ok|okay|allowed)(?: (?:with|by|for) me)?\W*$", re.I)
_REPORTS = re.compile(
    r"\b(?:says?|said|claims?|thinks?|believes?|told|tells|according|whether|suppose|pretend|wonder|docs?|example|"
    r"true)\b",
    re.I,
)
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
"""A rule may put what must not be done as what must be done instead."""
_AGAINST = re.compile(
    r"\b(?:not|avoid|skip|stop|cancel|wait|hold|leave|delay|postpone|revert|undo|refuse|block|forbid|instead|"
    r"without)\b|n't\b",
    re.I,
)
_BEFORE = re.compile(r"\b(?:before|instead of|rather than|without)\b[^,?]*", re.I)
"""What comes behind it is not what is asked for."""
_CONDITION = re.compile(r"\b(?:after|once|when|if (?!i\b|we\b)|as soon as|until|unless)\b(?P<what>[^,?]*)", re.I)
_ASKED = re.compile(r".*\b(?:should|shall|may|can|could|must) (?:i|we)\b|.*\b(?:want|like|wish) me to\b", re.I)
_CHOICE = re.compile(r"\b(?:or|oder|ou)\b|还是|還是", re.I)
"""A yes to a choice is a yes to what it names."""
_WIDE = re.compile(r"\b(?:all|any|every\w*|anything|always|whole|entire|future|from now on|whatever|both)\b", re.I)
_PLURAL = re.compile(r"\b[a-z]{3,}[a-rt-z]s\b", re.I)
_CLAIM_WORDS = """
approve approval agree agreed consent confirm confirmation authorize authorise allow permit permission accept okay ok
green light go ahead sign off explicit full already given gave grant yes fine further needed customer owner client human
without q a answer question status objection
"""
_CLAIMING = frozenset(_stems(_CLAIM_WORDS))
"""Stems that make a claim, and say nothing of what was agreed to."""
_VAGUE_WORDS = """
new plan proposal proposed suggested approach way change use using make proceed run start perform apply implement step
next now right immediately going work agent
"""
_VAGUE = frozenset(_stems(_VAGUE_WORDS))
"""Stems of what any agreement may be about."""


class _Answer(NamedTuple):
    """A plain yes: to which question, and the words of what it was a yes to."""

    asked: str
    words: frozenset[str]


class Consents:
    """What the user agreed to and gave leave for."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    def carry(self, line: str, before: str = "") -> bool:
        """Everything is borne out that the line claims; `before`: the line above, if this one names nothing."""
        return all(self._carries(sentence, _object(line) or _object(before)) for sentence in claimed(line))

    def _carries(self, sentence: str, else_wanted: frozenset[str]) -> bool:
        wanted = _object(sentence) or else_wanted
        return (
            any(_answers(answer, sentence, wanted) for answer in self._yes)
            or any(_permits(text, wanted) and not _widens(sentence, text) for text in self._plain)
            or any(_is_quoted(sentence, text) for text in self._plain)
        )

    def loosens(self, rule: str) -> bool:
        """As a rule it gives a freedom that the user did not, or turns what the user forbade round."""
        if not frees(rule) and not self._reverses(rule):
            return False
        wanted = _object(rule)
        given = (text for text, words in self._said.items() if len(wanted & words) >= ALIKE * max(len(wanted), 1))
        freed = any(frees(text) and not text.endswith("?") and not _REPORTS.search(text) for text in given)
        return not freed and not (wanted and self.carry(rule))

    def _reverses(self, rule: str) -> bool:
        """All the user said of it forbids something, and the rule does not."""
        wanted = _object(rule)
        if len(wanted) < 2 or _HEEDS.search(rule):
            return False
        about = [text for text, words in self._said.items() if len(wanted & words) >= max(2, len(wanted) / 2)]
        return bool(about) and all(map(_FORBIDS.search, about))

    @cached_property
    def _yes(self) -> list[_Answer]:
        decided = ((plainly(fact.about), plainly(fact.text)) for fact in self._facts.of("decision") if fact.about)
        return [
            _Answer(asked, frozenset(_stems(_first(answer) if _CHOICE.search(asked) else _scope(asked))))
            for asked, answer in decided
            if affirms(answer, asked)
        ]

    @cached_property
    def _said(self) -> dict[str, frozenset[str]]:
        """The user's own sentences, each with its stems."""
        spoken = (piece for fact in self._facts.of("user") for piece in sentences(fact.text))
        texts = (plainly(piece.text) for piece in spoken if not piece.pasted)
        return {text: frozenset(_stems(text)) for text in texts}

    @cached_property
    def _plain(self) -> list[str]:
        return [text for text in self._said if not _REFUSES.search(text) and not text.endswith(("?", "？"))]


def _object(text: str) -> frozenset[str]:
    """What was agreed to."""
    return frozenset(_stems(text)) - _CLAIMING - _VAGUE


def affirms(answer: str, asked: str = "") -> bool:
    """It says yes and nothing else than what was asked, does not ask it, and takes nothing of it back."""
    yes = _AFFIRMS.match(answer)
    if yes is None or answer.startswith(("?", "？"), yes.end()) or _REFUSES.search(answer):
        return False
    return _POLITE.union(_stems(asked)).issuperset(_stems(_first(answer[yes.end() :])))


def _first(answer: str) -> str:
    return re.split(r"[.!;。！\n]", answer, maxsplit=1)[0]


def _scope(asked: str) -> str:
    """What a yes to a question is a yes to."""
    return _BEFORE.sub(" ", asked)


def _answers(answer: _Answer, sentence: str, wanted: frozenset[str]) -> bool:
    """It was a yes to just this: no more, nothing else, nor to the contrary, and not on a condition left unsaid."""
    scope = _scope(answer.asked)
    condition = _CONDITION.search(scope)
    if _widens(sentence, answer.asked) or (_AGAINST.search(scope) and not _AGAINST.search(sentence)):
        return False
    if condition and not wanted.issuperset(_object(condition["what"])):
        return False
    return wanted <= answer.words and _leads(_ASKED.sub("", scope), wanted)


def _leads(text: str, wanted: frozenset[str]) -> bool:
    """The first thing it speaks of is wanted."""
    first = next((word for word in _stems(text) if word not in _CLAIMING and word not in _VAGUE), None)
    return first is None or not wanted or first in wanted


def _permits(text: str, wanted: frozenset[str]) -> bool:
    if _REPORTS.search(text):
        return False
    words = _object(text)
    leave = _IS_FINE.search(text) or any(_leads(text[match.end() :], wanted) for match in _LEAVE.finditer(text))
    if leave and len(words) > 1 and words <= wanted:  # the claim tells more of it, not more than it
        return True
    agreed = _AFFIRMS.match(text) and words - _POLITE == wanted
    return wanted <= words and bool(leave or agreed)


def _widens(claim: str, text: str) -> bool:
    """The claim is about all or several of what the text names one of."""
    if _WIDE.search(claim) and not _WIDE.search(text):
        return True
    words = set(re.findall(r"\w+", text.casefold()))
    plurals = {word.casefold() for word in _PLURAL.findall(claim)} - words
    return any(word[:-1] in words or word[:-2] in words for word in plurals)


def _is_quoted(line: str, text: str) -> bool:
    words, theirs = set(_stems(line)), set(_stems(text))
    return len(words) > 2 and len(words & theirs) >= QUOTED * len(words) and words & _CLAIMING <= theirs
