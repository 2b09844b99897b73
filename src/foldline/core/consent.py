"""Consent: whether a line claims that someone agreed, and whether the user's own words carry that.

    line ── claims ──> a claim or not;  line, facts ── carried ──> what the user said bears it out or not

A claim that is open ("once the user approves", "needs approval") is none. An answer bears out only what it was an
answer to, a permission only what it speaks of. In doubt a claim is not borne out: the user's words stand elsewhere.
"""

from __future__ import annotations

import math
import re

from foldline.core.echoes import stems
from foldline.core.facts import Facts
from foldline.core.sentences import sentences

_PERSON = (
    r"(?:user|customer|client|owner|maintainer|operator|human|admin(?:istrator)?|manager|boss|lead|reviewer|"
    r"stakeholder|team|they|he|she|you)"
)
_ADVERBS = (
    r"(?:(?:\s+|')(?:has|had|have|ve|s|already|explicitly|also|clearly|now|just|fully|since|previously|verbally|"
    r"personally|is|are|was|were|been|earlier|later|in principle))*"
)
_AGREED = (
    r"(?:pre-?)?(?:approve[ds]|agree[ds]|consent(?:ed|s)|confirm(?:ed|s)|authori[sz]e[ds]|permit(?:ted|s)|allow(?:ed|s)|"
    r"accept(?:ed|s)|okay(?:ed|s)|ok(?:'?d|ed|s)|green-?li(?:t|ghted|ghts)|sign(?:ed|s) off|sanction(?:ed|s)|"
    r"endorse[ds]|waive[ds]|cleared|bless(?:ed|es)|ratifie[ds])"
)
_SURE_NOUN = r"(?:approval|consent|go[- ]?ahead|green[- ]light|sign-?off|blessing|clearance|carte blanche|thumbs[- ]up)"
_NOUN = rf"(?:{_SURE_NOUN}|permission|authori[sz]ation|confirmation|okay|agreement|free hand)"
_CLAIMS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        rf"\b{_PERSON}{_ADVERBS}\s+{_AGREED}\b",
        rf"\b{_AGREED}\b[^.\n]{{0,20}}\bby (?:the |our )?{_PERSON}\b",
        rf"\b{_PERSON}(?:'s|’s)?\s+(?:\w+\s+){{0,2}}{_NOUN}\b",
        rf"\b{_PERSON}{_ADVERBS}\s+(?:gave|given|gives|granted|provided|issued|extended|offered)\b[^.\n]{{0,40}}\b{_NOUN}\b",
        rf"\b{_NOUN}{_ADVERBS}\s+(?:granted|given|received|obtained|secured|in place|on file)\b",
        rf"\b(?:have|has|got|received|obtained|with|under|given)\s+(?:\w+\s+){{0,2}}{_SURE_NOUN}\b",
        rf"\b{_PERSON}{_ADVERBS}\s+(?:fine|ok|okay|happy|comfortable|good|cool|on board)\s+with\b",
        rf"\b{_PERSON}{_ADVERBS}\s+(?:said|says|answered|replied|responded|told \w+)\W+(?:yes|yep|ok|okay|sure|"
        r"fine|lgtm|go|go ahead|do it|to (?:proceed|go ahead|go on))\b",
        r"\b(?:is|was|are|were|been|already|fully|explicitly)\s+(?:pre-?approved|approved|greenlit|green-?lighted|"
        r"signed off|okayed)\b",
        r"^\W*(?:pre-?)?(?:approved|authori[sz]ed|greenlit)\b\s*(?::|\bto\b|\bfor\b)",
        rf"\bno (?:further |more |additional |extra |other )?{_NOUN}\b[^.\n]{{0,12}}\b(?:needed|required|necessary)\b",
        rf"\bwithout (?:further |any |more |additional |extra )*(?:{_NOUN}|asking|confirming|checking with)\b",
        r"\b(?:cleared|free) to (?:deploy|delete|push|publish|merge|release|proceed|ship|drop|send|run)\b",
        r"\b(?:nutzer|benutzer|anwender|kunde)\w*\b[^.\n]{0,40}\b(?:zugestimmt|genehmigt|erlaubt|freigegeben|einverstanden)",
        r"\b(?:utilisateur|client)\b[^.\n]{0,40}\b(?:approuvé|accepté|autorisé|donné son accord|d'accord)",
        r"\b(?:usuario|cliente)\b[^.\n]{0,40}\b(?:aprob|autoriz|acept|permit)",
        r"(?:用户|客户|使用者).{0,12}(?:同意|批准|允许|授权|确认)|ユーザー.{0,12}(?:承認|許可|同意|了承)",
    )
)
_OPEN_BEFORE = re.compile(
    r"\b(?:not|never|no|nobody|cannot|can't|won't|n't|yet to|await\w*|wait\w*|pending|needs?|needing|needed|requires?|"
    r"requiring|must|should|ask\w*|seek\w*|get|getting|obtain|requests?|requesting|until|unless|before|if|once|whether|"
    r"lacks?|lacking|without|missing|want\w*|for|do not|don't)\W+(?:\w+\W+){0,3}$",
    re.I,
)
_OPEN_AFTER = re.compile(
    r"\W*(?:is |was |are |still |be |has |been |yet )*"
    r"(?:pending|required|needed|missing|outstanding|not|never|before|first)\b",
    re.I,
)
_LATER = re.compile(r"\b(?:after|when|as soon as)\W+(?:the\W+|our\W+)?$", re.I)
_NO_WAITING = re.compile(r"(?:no|without)\b", re.I)
_FORBIDS = re.compile(r"\b(?:not|never|don't|do not|must|can't|cannot|may not|nothing|refuse\w*)\b|n't\b", re.I)
_REFUSES = re.compile(
    r"\b(?:not|never|no(?! (?:problem|objection|worries))|but|except|only|unless|wait|stop|until|before|if|once|after|"
    r"when|nope|later|nicht|kein\w*|nein|non|pas)\b|n't\b|[不别未]|ない",
    re.I,
)
_AFFIRMS = re.compile(
    r"\W*(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go ahead|do it|please do|sounds good|lgtm|approved?|agreed|fine|perfect|"
    r"correct|absolutely|of course|ship it|ja|genau|gerne|passt|oui|sí|si|да)\b|[是好对對可네]|はい)",
    re.I,
)
_PERMITS = re.compile(
    r"\b(?:you (?:may|can|could|have my|are allowed|are free)|feel free|go ahead|"
    r"i(?:'m| am)? (?:approve|agree|allow|permit|authori[sz]e|confirm|consent|accept|fine with|ok(?:ay)? with|"
    r"happy with|sign off)|approved|(?:is|are) (?:fine|ok|okay|allowed)|please do|"
    r"my (?:approval|blessing|permission|okay|consent))\b",
    re.I,
)
_CLAIMING = frozenset(
    stems(
        "approve approval agree consent confirm confirmation authorize authorise allow permit permission accept okay "
        "ok green light go ahead sign off explicit full already given gave grant yes fine further needed customer "
        "owner client human without"
    )
)
"""Stems that make a claim, and say nothing of what was agreed to."""


def claims(line: str) -> bool:
    """It says that someone agreed, and that this has happened."""
    return any(not _is_open(line, match) for pattern in _CLAIMS for match in pattern.finditer(line))


def _is_open(line: str, match: re.Match[str]) -> bool:
    before = line[max(match.start() - 60, 0) : match.start()]
    if _NO_WAITING.match(match.group()):  # "without asking" claims a freedom, unless it is what must not be done
        return _FORBIDS.search(before) is not None
    if match.group().rstrip().endswith("s") and _LATER.search(before):
        return True
    return bool(_OPEN_BEFORE.search(before) or _OPEN_AFTER.match(line, match.end()))


def carried(line: str, facts: Facts) -> bool:
    """The user answered yes to what the line speaks of, or gave leave for it, or the line is the user's own words."""
    wanted = set(stems(line)) - _CLAIMING
    for fact in facts.of("decision"):
        if fact.about and affirms(fact.text) and _covers(wanted, f"{fact.about} {fact.text}"):
            return True
    said = [piece.text for fact in facts.of("user") for piece in sentences(fact.text) if not piece.pasted]
    plain = [text for text in said if not _REFUSES.search(text) and not text.rstrip().endswith("?")]
    given = any((_PERMITS.search(text) or _AFFIRMS.match(text)) and _covers(wanted, text) for text in plain)
    return given or any(_is_quoted(line, text) for text in plain)


def affirms(answer: str) -> bool:
    """It says yes, does not ask it, and takes nothing of it back."""
    yes = _AFFIRMS.match(answer)
    return yes is not None and not answer.startswith(("?", "？"), yes.end()) and _REFUSES.search(answer) is None


def _covers(wanted: set[str], text: str) -> bool:
    """The text speaks of at least half of what is wanted, and of two things where there are more than two."""
    shared = len(wanted.intersection(stems(text)))
    return shared >= math.ceil(len(wanted) / 2) and (shared >= 2 or len(wanted) <= 2)


def _is_quoted(line: str, text: str) -> bool:
    words = set(stems(line))
    return len(words) > 2 and len(words.intersection(stems(text))) >= 0.8 * len(words)
