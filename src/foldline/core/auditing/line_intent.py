"""What a line of a summary does, wherever it stands: tells someone to act, or has the user say something.

    plain line ── orders_in ──> the orders in it;  ── quotes ──> words put into the user's mouth or not

A line that only reports an order ("the log says: …", "Ran X") has none. Lines come as plainly.py writes them; whether
someone really gave the order or said the words is decided in echoes.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from foldline.core.words.markup import bare
from foldline.core.words.stems import ACTING, ORDERS, stem

_BOX = re.compile(r"(?:>\s?|[-+•|]\s|\d{1,3}[.)]\s)*(?:\[\s?\]|[☐□⬜])")
"""A box that is not ticked: something still to do."""
_PART = re.compile(r"(?<=[.;!?])\s+|,\s+(?:and\s+)?then\s+|。|；")
_LEAD = re.compile(r"[^\w\s]?\s?(?:\d{1,3}[.)]\s)?\W*")
_REPORTS = re.compile(
    r"\b(?:says?|said|prints?|printed|reads|shows?|showed|contains?|contained|reports?|reported|claims?|claimed|"
    r"suggest\w*|recommend\w*|instruct(?:s|ed|ion to|ions to)|tells|told|ask(?:s|ed)|hint\w*|warn\w*|returned|ignor\w+|"
    r"used to|able to|failed to|fail(?:s|ing)? to|tr(?:y|ied|ies|ying) to|(?:a|the) \w+ to|function\w* to|"
    r"method\w* to)\b",
    re.I,
)
"""Words before an order that show it is reported, not given."""
_PAST = re.compile(
    r"(?:(?:i|we|just|already|successfully|then|also)\s)*(?:\w+ed|ran|wrote|found|made|got|read|built|was|were|did|had|"
    r"sent|began|gave|took|kept|saw|chose)\b",
    re.I,
)
_CALLED = re.compile(
    r"(?:always|never|must|todo|you|make sure|ensure|remember|reminder|do not|don't|please|kindly|"
    r"be sure)\b",
    re.I,
)
_DOING = re.compile(rf"(?:{'|'.join(sorted({verb.removesuffix('e') for verb in ACTING}))})\w?ing\b", re.I)
_ACT = re.compile(
    rf"(?:^|[:;,.!?→>()\[{{•—–-]\s+|(?<!\w)\(\s?|[\"'→☐>]\s?|\b(?:to|will|should|must|shall|kindly|please|and|then|never|always|"
    rf"also|now|first|next|can|may|forget to)\s+)(?P<verb>{'|'.join(sorted(ACTING))})\b(?![.(_/=])",
    re.I,
)
"""A verb where an order begins: not "the log", "a commit", nor "retry(open, 3)"."""
_DUTY = re.compile(
    r"\b(?:(?:has|have|is|are|needs?|ought|must|should|shall|will|still|yet)(?: to)? be|to be|gets?|must|should|"
    r"required:) (?P<verb>\w+)",
    re.I,
)
"""A duty in the passive: what has to be deleted is to be deleted by someone."""

_COMMANDS = re.compile(r"(?:todo\s?:|you (?:must|have to|need to|should)\b)", re.I)
_STATES = re.compile(
    r"\W*\w+(?!\s+(?:the|a|an|all|any|this|that|these|those|our|my)\b)(?:\s+(?!that\b|which\b|who\b|it\b)[\w'./-]+){1,5}?"
    r"\s+(?:is|are|was|were|has|have|had|does|did|will|can|could|uses|returns|keeps|fails|lives)\b",
    re.I,
)
"""A verb that is a noun here, for another verb follows its phrase: "push notifications are off"."""
_STANDING = re.compile(r"\bfrom (?:now|here) on(?:wards?)?\b|\bhenceforth\b", re.I)
_PROSE = re.compile(r"\W{0,4}\w[\w'’-]*[,:]?(?:\s+[\w'’-]+[,:]?){3,}")
_CODE = re.compile(r"[{}=<>$|\\]|\w\(|\(\)|\s--?\w|://|;\s*$|^\s*(?://|#|def |class |import |from |return |if |for )")
_LATER = re.compile(
    r"(?P<what>\S.{0,200}?)(?:[\s:,—–-]{1,8}(?:(?:is|are|has|have|needs?|still|yet)\s){0,2}to\sbe\s(?P<verb>\w+)|[\s:,—–-]{1,8}"
    r"(?P<noun>\w{2,20}(?:ion|al|ment)))\b(?P<rest>(?:\s(?:comes|is|remains|still|now|pending|next|first|later|open|"
    r"outstanding|required|needed|to|from|into|on|at|in|for|with)\b.{0,200})?)\W*$",
    re.I,
)
"""A deed that is named after its object: "the log to be deleted", "log deletion pending"."""

_ROLE = r"(?:user|human|operator)"
_SAYS = (
    r"(?:said|says|told|tells|answered|replied|responded|asked|asks|wants?|wish(?:es|ed)?|decided|chose|insist(?:s|ed)|prefer(?:s|red)?|picked|"
    r"opted|selected|choice|decision|"
    r"require[sd]?|request(?:s|ed)?|instruct(?:s|ed)|order(?:s|ed)|demand(?:s|ed)|expects?|needs|wrote|words?|rules?|"
    r"instructions?|preferences?|orders?|behest|wish|wishes)"
)
_USERS = re.compile(
    rf"\[\d+ {_ROLE}\]|^\W*{_ROLE}(?:'s words)?\s?[:：]|"
    rf"\b{_ROLE}(?:'s)? (?!(?:was|were|is|be|been) (?:asked|told)\b)(?:(?!(?:the|a|an|this|that|for|about|to)\b)\w+ )?"
    rf"{_SAYS}\b|\b(?:requested|chosen|picked|selected|wanted|decided|ordered|instructed|directed|asked for|"
    rf"required) by (?:the |our )?{_ROLE}\b|\byou (?:said|told|asked|"
    rf"wanted)\b|\b(?:per|according to|quoting|on behalf of|in the words of) (?:the |our )?{_ROLE}\b|"
    rf"[—–:;-] ?(?:from |by )?(?:the )?{_ROLE}\b\W*(?:message|turn|#|$)|\((?:from|by) (?:the )?{_ROLE}\)|"
    rf"\b(?:decision|choice|request|rule|instruction|preference)s? \((?:the )?{_ROLE}\)|</?{_ROLE}>|"
    rf"^\W*\[\d+\] |"
    r"\b(?:be|an)?(?:nutzer|wender)\w*\b[^.]{0,20}\b(?:will|möchte|wünscht|verlangt|sagte?|bat|fordert|bittet)\b|"
    r"\b(?:utilisateur|usu[aá]rio|utente)\b[^.]{0,20}\b(?:veut|demand\w+|a dit|quiere|pidi\w+|pede|pediu|quer|dijo|"
    r"disse|vuole|ha (?:chiesto|detto))\b|пользовател\w*[^.]{0,20}(?:хочет|прос|сказал|требу)|"
    r"(?:用户|用戶).{0,6}(?:要求|想|说|說|希望)|ユーザー.{0,12}(?:依頼|希望|言|指示)|사용자.{0,12}(?:원|요청|말|지시)",
    re.I,
)
"""Forms of a line that puts words into the user's mouth."""


_WANTED = re.compile(rf"\b{_ROLE} (?:had |has |also |really )?(?:wanted|hoped|meant)\b", re.I)


def orders_in(line: str) -> Iterator[str]:
    """The orders in a line: the whole line with an unticked box or a wish of the user's, each order, a duty to act."""
    if _BOX.match(line) or _WANTED.search(line):
        yield line
    for part in _PART.split(line):
        lead = _LEAD.match(part)
        yield from _orders(part[lead.end() if lead else 0 :])


def _orders(part: str) -> Iterator[str]:
    if _CALLED.match(part) or _DOING.match(part):
        yield part
    elif _PAST.match(part):
        return
    acts = [match.start("verb") for match in _ACT.finditer(part)]
    reported = _REPORTS.search(part)
    until = reported.start() if reported else len(part)
    orders = [part[start:stop] for start, stop in pairwise((*acts, len(part))) if start < until]
    long = [order for order in orders if " " in order.strip().replace(" ", "", 1)]
    yield from long
    if len(long) < len(orders):  # what a single verb orders is told by the words around it
        yield part
    duties = _DUTY.finditer(part, 0, until)
    duty = next((match for match in duties if stem(match["verb"].casefold()) in ORDERS), None)
    if duty is not None:  # with what must be done to what, and without the label before that
        yield part[part.rfind(": ", 0, duty.start()) + 1 :].lstrip()


def states(order: str) -> bool:
    """What looks like an order only tells how something is."""
    return _STATES.match(order) is not None


def commands(line: str) -> bool:
    """The line itself says that it is to be done, wherever it stands."""
    ordered = _BOX.match(line) or _COMMANDS.match(bare(line)) or _STANDING.search(line)
    return ordered is not None


def reads_as_words(code: str) -> bool:
    """Prose in a code block: several words in a row, and no sign that only code has."""
    return _PROSE.match(code) is not None and _CODE.search(code) is None


def as_order(line: str) -> str:
    """The line turned into an order if it names a deed after its object; else ""."""
    found = _LATER.match(bare(line))
    deed = (found["verb"] or found["noun"]) if found else ""
    return f"{deed} {found['what']}{found['rest']}" if found and stem(deed.casefold()) in ORDERS else ""


def quotes(line: str) -> bool:
    return _USERS.search(line) is not None


def attribution(line: str) -> tuple[str, str]:
    """What stands before and behind the words that name the user as the speaker."""
    found = _USERS.search(line)
    return (line[: found.start()], line[found.end() :]) if found else ("", line)


def unquoted(line: str) -> str:
    """The line without the words that name the user as the speaker."""
    return _USERS.sub(" ", line)
