"""Answers: whether the user's words say yes, no, or that something may be done, and to what.

    text ── affirms, refuses ──> a plain yes or not, a no or not;  ── Yes, Leave ──> which deeds it covers

A yes covers only what it was an answer to, leave only what it speaks of. Whether a line of a summary claims as much is
decided in consent.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from foldline.core.words.stems import EMPTY, WORD, root, stem, stems

_NOUN = re.compile(r"(?<=\w{4})(?:ment|ation|ion|al)$")

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
"""The words that a plain yes may consist of."""
_LEAVE = re.compile(
    r"(?:^\W*|[,;.!]\s+|\b(?:and|then|so|also|now|yes|ok|okay|sure|please)\s+)(?:you (?:may|can|could|have my|"
    r"are allowed|are free)|feel free|go ahead|i(?:'m| am)? (?:approve|agree|allow|permit|authori[sz]e|confirm|"
    r"consent|accept|"
    r"fine with|ok(?:ay)? with|happy with|sign off)|approved|please do|my (?:approval|blessing|permission|okay|"
    r"consent))\b",
    re.I,
)
"""Leave given in the user's own name: it stands at the beginning of a clause, not behind "Bob says"."""
_IS_FINE = re.compile(r"\b(?:is|are) (?:fine|ok|okay|allowed)(?: (?:with|by|for) me)?\W*$", re.I)
_REPORTS = re.compile(
    r"\b(?:says?|said|claims?|thinks?|believes?|told|tells|according|whether|suppose|pretend|wonder|docs?|example|"
    r"true)\b",
    re.I,
)
_CHOOSES = re.compile(
    r"\W*(?:(?:ok|okay|yes|then|so|please|let's|just|we|we'll|i|i'd)\W+){0,3}(?:use|take|pick|choose|prefer|like|want|"
    r"(?:go|stick) (?:with|for)|nimm|nehmen wir)\b|\W*[用选]",
    re.I,
)
"""How the user names what is to be taken."""
_AGAINST = re.compile(
    r"\b(?:not|avoid|skip|stop|cancel|wait|hold|leave|delay|postpone|revert|undo|refuse|block|forbid|instead|"
    r"without)\b|n't\b",
    re.I,
)
_BEFORE = re.compile(r"\b(?:before|instead of|rather than|without)\b[^,?]*", re.I)
"""What follows these words is not what is asked for."""
_CONDITION = re.compile(
    r"\b(?:after|once(?! (?:more|again|with|on|against|in|for|per|and|now|here|to)\b)|when|if (?!i\b|we\b)|"
    r"as soon as|until|unless)\b(?P<what>[^,?]*)",
    re.I,
)
_ASKED = re.compile(r".*\b(?:should|shall|may|can|could|must) (?:i|we)\b|.*\b(?:want|like|wish) me to\b", re.I)
_CHOICE = re.compile(r"\b(?:or|oder|ou)\b|还是|還是", re.I)
"""Words that put a choice: a yes to one covers only what the yes itself names."""
_WIDE = re.compile(r"\b(?:all|any|every\w*|anything|always|whole|entire|future|from now on|whatever|both)\b", re.I)
_PLURAL = re.compile(r"\b[a-z]{3,}[a-rt-z]s\b", re.I)
_CLAIM_WORDS = """
approve approval agree agreed consent confirm confirmation authorize authorise allow permit permission accept okay ok
green light go ahead sign off explicit full already given gave grant yes fine further needed customer owner client human
without q a answer question status objection asked about whether got received affirmative positive
nutzer nutzers benutzer zugestimmt genehmigt erlaubt bestätigt hat vom
用户客户已经同意批准允许授权确认许可后获得准了的表示没有问题异议无需
"""
"""Words that make a line a claim of consent and say nothing of what was agreed to."""
_VAGUE_WORDS = """
new plan proposal proposed suggested approach way change use using make proceed run start perform apply implement step
next now right immediately going work agent create
soll ich bitte 要不我把您你吗想将修改一下了
"""
"""Words that may stand in any agreement, so they do not tell what was agreed to."""


def worded(text: str) -> list[str]:
    """The stems of the telling words, the same for a deed and its noun: deploy and deployment, delete and deletion."""
    return [_NOUN.sub("", word) for word in stems(text)]


def deeds_in(text: str) -> list[str]:
    """The words of a text that may name what was agreed to, in their order."""
    words = (word for word in WORD.findall(text.casefold()) if word not in EMPTY and root(word) not in _UNSAYING)
    return [_NOUN.sub("", stem(word)) for word in words]


_POLITE = frozenset(worded(_YES_WORDS))
_UNSAYING = frozenset(root(word) for word in WORD.findall(_CLAIM_WORDS + _VAGUE_WORDS))


def refuses(answer: str) -> bool:
    """It says no, not yet, or not all of it."""
    return _REFUSES.search(answer) is not None


def affirms(answer: str, asked: str = "") -> bool:
    """It says yes, adds nothing to what was asked, does not ask back, and takes nothing back."""
    yes = _AFFIRMS.match(answer)
    if yes is None or answer.startswith(("?", "？"), yes.end()) or refuses(answer):
        return False
    return _POLITE.union(worded(asked)).issuperset(worded(_first(answer[yes.end() :])))


def _first(answer: str) -> str:
    return re.split(r"[.!;。！\n]", answer, maxsplit=1)[0]


def reports(text: str) -> bool:
    """It reports what someone else says, or what might be."""
    return _REPORTS.search(text) is not None


def widens(claim: str, text: str) -> bool:
    """The claim is about all or several things where the text names one."""
    if _WIDE.search(claim) and not _WIDE.search(text):
        return True
    plurals = {word.casefold() for word in _PLURAL.findall(claim)}
    words = set(re.findall(r"\w+", text.casefold())) if plurals else set()
    return any(word[:-1] in words or word[:-2] in words for word in plurals - words)


@dataclass(frozen=True)
class Yes:
    """A plain yes to a question."""

    asked: str
    answer: str

    @cached_property
    def _scope(self) -> str:
        return _BEFORE.sub(" ", self.asked)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(worded(_first(self.answer) if _CHOICE.search(self.asked) else self._scope))

    @cached_property
    def _condition(self) -> frozenset[str]:
        found = _CONDITION.search(self._scope)
        return frozenset(deeds_in(found["what"])) if found else frozenset()

    @cached_property
    def _first_deed(self) -> str:
        return next(iter(deeds_in(_ASKED.sub("", self._scope))), "")

    def covers(self, wanted: frozenset[str], claim: str) -> bool:
        """The yes was to just this: to no more, to nothing else, not to the opposite, and on no condition that the
        claim leaves out."""
        if not wanted <= self._words or not self._condition <= wanted:
            return False
        if wanted and self._first_deed and self._first_deed not in wanted:
            return False
        return not widens(claim, self.asked) and not (_AGAINST.search(self._scope) and not _AGAINST.search(claim))


@dataclass(frozen=True)
class Leave:
    """A sentence of the user that neither denies nor asks anything: perhaps it gives leave."""

    text: str

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(worded(self.text))

    @cached_property
    def _deeds(self) -> frozenset[str]:
        return frozenset() if reports(self.text) else frozenset(deeds_in(self.text))

    @cached_property
    def _given(self) -> tuple[str, ...]:
        """The first deed behind each word that gives leave; "" for any."""
        if reports(self.text):
            return ()
        behind = [self.text[match.end() :] for match in _LEAVE.finditer(self.text)]
        return (*(next(iter(deeds_in(text)), "") for text in behind), *([""] if _IS_FINE.search(self.text) else []))

    @cached_property
    def _chosen(self) -> str:
        """The first thing it chooses, where it chooses one of several."""
        found = None if reports(self.text) else _CHOOSES.match(self.text)
        return next(iter(deeds_in(self.text[found.end() :])), "") if found else ""

    def covers(self, wanted: frozenset[str], claim: str) -> bool:
        """It gives leave for this. The claim may say the same at greater length, but may not claim more."""
        given = any(not first or not wanted or first in wanted for first in self._given)
        less = given and len(self._deeds) > 1 and self._deeds <= wanted
        all_of_it = wanted <= self._deeds and (given or self._chosen in wanted or self._agrees(wanted))
        return (less or all_of_it) and not widens(claim, self.text)

    def _agrees(self, wanted: frozenset[str]) -> bool:
        return not reports(self.text) and _AFFIRMS.match(self.text) is not None and self._deeds - _POLITE == wanted
