"""Sentences of what people write to agents, and which of them bear a rule, a change of mind, or a question.

Splitting never changes a character: a sentence is a slice of its text. Fenced code and pasted output are blocks of
their own. The word lists serve only for ranking: a sentence that no list knows is kept while there is room.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from foldline.core.words.markup import ITEM, fenced

_BREAK = re.compile(
    r"(?<=[.!?…\"')\]*_])(?:(?<=[.!?…])|(?<=[.!?…][\"')\]*_])|(?<=[.!?…]\*\*)|(?<=[.!?…]__))\s+|(?<=[。！？])"
)
"""The border between two sentences: behind the end of the first, even if that is quoted, in brackets or in bold
type."""
_RULE = re.compile(
    r"\b(?:never|always|(?<!\bi )(?<!\bwe )(?<!\bthey )(?:don'?t|do not)|(?:don'?t|do not) want|"
    r"must(?:n'?t)?|should(?:n'?t)?|shall|only|please not|avoid|without|except|unless|prefer|"
    r"make sure|ensure|remember|keep(?! going\W*$)|leave|stick to|stay away|hands off|off[- ]limits|"
    r"no (?:more|need|new|longer)|not allowed|not to|don'?ts|forbidden|required?|requirements?|rules?|constraints?|"
    r"conventions?|polic(?:y|ies)|"
    r"whatever (?:happens|you do)|from now on|going forward|at all times|under no circumstances|important|instead of|"
    r"rather than|(?:i|we)(?:'?d| would) rather|use .{1,40} not|"
    r"(?:ask|tell|check with|talk to|wait for) (?:me|us) (?:first|before)|ask first|"
    r"everywhere|(?:every|each) time|whenever|you (?:can'?t|cannot|may not)|stop \w+ing|refrain|prohibited|banned|"
    r"nie(?:mals)?|immer|nichts?|kein[ea]?[nmrs]?|darf|dürfen|muss|müssen|nur|bitte|sollst?|verboten|untersagt|"
    r"finger weg|jamais|toujours|n(?:e |'\w).{1,30} (?:pas|rien)|interdite?|uniquement|il faut|"
    r"nunca|siempre|sólo|solo|debes?|no (?:toques|borres|uses|cambies|hagas|modifiques|elimines|subas|escribas)|"
    r"prohibid[oa]|mai|sempre|non \w+[aei]re|vietat[oa]|não|proibid[oa]|apenas|"
    r"nooit|altijd|alleen|moet|nigdy|zawsze|tylko|nie wolno|aldrig|alltid|måste|endast|asla|her zaman|sadece|yalnızca|"
    r"jangan|selalu|hanya|không được|luôn luôn)\b"
    r"|不要|不能|不得|必须|必須|禁止|一定|总是|始终|只能|務必|[请請]?勿|(?<![特区级类分个性])别(?![的人处名])"
    r"|しない|しては|ないで|必ず|ください|常に"
    r"|하지 ?마|마세요|마십시오|반드시|항상|절대|금지|нельзя|всегда|никогда|только|ніколи|завжди|тільки|не можна"
    r"|не (?:трог|меня[йт]|удаля[йт]|дела[йт]|использу[йе]|пиши|добавля[йт]|запуска[йт]|чіпай|видаляй|змінюй)"
    r"|запрещ|заборон"
    r"|لا ت|يجب|دائم[اًا]|أبد[اًا]|ممنوع|فقط|मत |न करें|हमेशा|कभी|ज़रूर|अवश्य|केवल|सिर्फ",
    re.I,
)
_STATES = re.compile(
    r"\W*(?:(?:ok(?:ay)?|oh|ah|hm+|well|and|but|also|so|plus|just|btw|fyi|actually|by the way|so you know|"
    r"remember that|for the record|(?:one more|another) thing|note(?: that)?|heads[- ]up|speaking of which|"
    r"a (?:friendly |small )?reminder(?: that)?)\b\W*){0,3}"
    r"(?:(?:we|our|my|your|the|this|these|those|all|any\w*|each|every\w*|no|nobody|nothing|none|most|both|whoever|if|when|"
    r"since|as|until|for|in|on|from|at|under|after|before|between|with|there|it|it's|a|an|some|even|ever|i'm|i am|"
    r"you're|you'll|i (?:want|prefer|like|need|hate|tend|work|do ?n[o']?t like)|"
    r"wir|unser\w*|bei|der|die|das|alle|jede\w*|mir|für|nous|notre|nos|le|la|les|chez|je préfère|el|los|las|nuestr\w+|"
    r"aquí|o|os|as|aqui|noss\w+|il|gli|nel|noi|nostr\w+|wij|ons|onze|de|het|bij|u nas|nasz\w*|wszystk\w+|"
    r"мы|наш\w*|у нас|все|всё)\b|我们|我們|咱们|所有|本|当|弊社|우리|"
    r"(?!(?:what|who|why|how|where|which|is|are|has|have|do|does|did|can|could|would|will|should|let'?s|yes|yep|yeah|"
    r"add|change|check|commit|create|explain|find|fix|give|go|look|make|move|push|put|remove|review|run|see|show|tell|"
    r"try|update|use|write)\b)[\w'/-]+(?: [\w'/-]+){0,5}? (?:is|are|has|have|owns?|runs?|goes?|gets?|stays?|lives?|"
    r"needs?|wants?|may|can't|cannot|comes?|starts?|belongs?|matters?|means?)\b)",
    re.I,
)
"""How people begin when they say how things are: a question or a request seldom begins so."""
_CASE = re.compile(
    r"\W*(?:(?:and|but|also|so|oh|ah|please|in future|next time)\W+){0,3}(?:if|when|once|before|after|as soon as)\b"
    r"[^?,]*,\s*(?:then\s+)?(?:please\s+)?"
    r"(?!(?:i|we|it|you|he|she|they|there|the|this|that|these|those|a|an|my|our|your|his|its|their|what|why|how|who|or|"
    r"and|but|can|could|would|will|is|are|was|were|does|did|has|have|maybe|perhaps|sometimes|everything|nothing)\b)"
    r"[a-z]+\b[^?]*$",
    re.I,
)
"""A rule for a case: "If a test is slow, mark it." """
_NONE = re.compile(
    r"(?:^|[,;:]\s|\band\s)\W{0,5}no (?!problems|worries|errors|issues|changes|thanks|ideas|results|matches|failures)"
    r"[a-z-]+(?: [a-z-]+)?s\b(?! (?:are|were|is|was|found|now|yet|so far|here|any ?more|left|shown|in the log))",
    re.I,
)
"""Something that is not wanted: "No emojis." """
_TAGGED = re.compile(
    r"[,.]?\s*(?:ok(?:ay)?|right|alright|deal|got it|understood|please|ja|gell|oder|vale|d'accord)\s*[?？]\W*$", re.I
)
"""A polite ending that makes an order look like a question."""
_ORDERLY = re.compile(r"\W*(?:do not|don'?t|when|have)\b", re.I)
"""How an order may begin that looks like a question: with such an ending it is an order."""
_ASKED_BARELY = re.compile(
    r"\W*(?:(?:but|and|so|ok(?:ay)?|then|hm+|wait|well|also)\W+)*"
    r"(?:(?:should|shall)(?:n'?t)? (?:(?:i|we)\b|(?!.*\b(?:never|always|must|do not|don'?t|stop)\b)"
    r"(?:it|this|that|they|these|those)\b)(?:(?!,|[:;—–](?:\s|$)|\s-\s).)*"
    r"|(?:maybe|perhaps|so you)\b[^\n]*[?？][\s)\"'*_]*)$",
    re.I | re.S,
)
"""A question by its first words: people leave out the mark. With a comma or the like it may be a case ("Should it fail,
stop"), and so it may where it orders something without one."""
_CLIENTS = re.compile(r"If you need specific details from before exiting plan mode\b")
"""What Claude Code adds to a plan that the user accepted: where the transcript is."""
_EMPHASIS = re.compile(r"(?<!\w)_{1,3}(?=[^\W_])|(?<=[^\W_])_{1,3}(?!\w)")
_ORDERS = re.compile(r"(?:never|always|do not|don'?t|avoid|please|keep|leave|make sure|you must)\b", re.I)
_ASKED = re.compile(
    r"\W*(?:(?:but|and|so|ok(?:ay)?|then|hm+|wait|well|also)\W+)*(?:why|what|how|where|when|who|whose|which|"
    r"is|are|was|were|do|does|did|should|shall|has|have|had|isn'?t|aren'?t|doesn'?t|didn'?t|shouldn'?t|warum|wieso|wie|"
    r"pourquoi|comment|por qué)\b[^\n]*[?？][\s)\"'*_]*$",
    re.I,
)
"""A question that asks for information. "Can you …?" is a request."""
_TURN = re.compile(
    r"\b(?:actually|instead|scrap|forget (?:it|that|about)|drop|on second thoughts?|changed? (?:my|our) mind|"
    r"never ?mind|no longer|not any ?more|rather|let'?s not|switch(?:ed)? to|go(?:ing)? with|skip|revert|undo|hold off|"
    r"doch|stattdessen|lieber|vergiss|finalement|plutôt|mejor|en vez)\b|不用了|改成|算了|やっぱり",
    re.I,
)
_CONSENT = re.compile(
    r"\W*(?:(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go ahead|do it|please do|sounds good|lgtm|approved?|agreed|fine|perfect|"
    r"correct|no|nope|not yet|wait|stop|ja|nein|genau|gerne|passt|oui|non|sí|si|да|нет)\b"
    r"|[是好不对對可否네]|はい|いいえ)",
    re.I,
)
_INVITES = re.compile(
    r"\b(?:please (?:confirm|approve|choose|decide)|(?:a?waiting|wait) for your|once you (?:confirm|approve)|"
    r"let me know (?:if|whether|which|how|when)\b.{0,60}\b(?:proceed|go ahead|continue|prefer|apply|start))\b",
    re.I,
)
_LOGGED = re.compile(
    r"\s*(?:=== (?:RUN|PAUSE|CONT|NAME)\b|--- (?:PASS|FAIL|SKIP): |(?:Error Trace|Error|Messages|Test):[ \t]{2,}\S)"
)
"""A line of a test run. In prose such lines do not stand together."""
_PLACED = re.compile(r"\s*[\w./-]{1,200}\.\w{1,8}:\d{1,6}:")
"""A line that a test logged, with its place in a file: by itself it may be a remark of the user's on that place."""
_HEADING = ("# ", "## ", "### ", "#### ")
_CLOSERS = "*_\"')]” "
"""Signs that may follow a question mark."""
_WORDY = bytes(code for code in range(128) if chr(code).isalpha() or chr(code).isspace())
"""The letters and blanks of ASCII."""
LEAST_WORDY, LEAST_WORDY_LONG = 0.75, 0.85
"""Letters and blanks below which a line is pasted, as shares of it: words have some 0.95. A line may name paths and
numbers; in a long one they should be outweighed by the words around them."""
LOG = 3
"""Lines of a test run from which a text counts as one that was pasted, perhaps with words around it."""
TAG = 40
"""Characters at the end of a sentence in which such an ending is sought."""
LONG_LINE = 600
"""Characters above which a sentence needs a larger share of letters to count as words."""
SHORT_LINE = 60
"""Characters up to which a sentence counts as words, however many signs and digits it has."""
STATED = 160
"""Characters of a statement at most: a longer message mostly asks for something to be done."""
_LOOK = 2_000
"""Characters at the end of a text in which a question is looked for."""


class Sentence(NamedTuple):
    """A slice of a text. `pasted`: a block of code or output rather than words."""

    text: str
    pasted: bool = False


def sentences(text: str) -> Iterator[Sentence]:
    """The text in order, as sentences and pasted blocks; white space between them is left out."""
    lines = text.split("\n")
    logged = _logged(lines) if "---" in text else frozenset()
    for code, run in groupby(zip(fenced(lines), enumerate(lines), strict=True), key=lambda pair: pair[0]):
        if code:
            yield Sentence("\n".join(line for _, (_, line) in run).strip(), True)
            continue
        for _, (at, line) in run:
            if at in logged:
                yield Sentence(line.strip(), True)
                continue
            yield from (Sentence(piece, looks_pasted(piece)) for piece in _pieces(line.strip()))


def _logged(lines: Sequence[str]) -> frozenset[int]:
    """The places of the lines of a test run that was pasted; none in a text without one. A run repeats itself, and
    indents what a test says: what is indented elsewhere may be the user's own."""
    if sum(_LOGGED.match(line) is not None for line in lines) < LOG:
        return frozenset()
    times = Counter(lines)
    found = {
        at
        for at, line in enumerate(lines)
        if _LOGGED.match(line) or _PLACED.match(line) or (line.strip() and times[line] >= LOG)
    }
    for places, step in ((range(len(lines)), 1), (range(len(lines) - 1, -1, -1), -1)):
        for at in places:
            if lines[at][:4].isspace() and at - step in found:
                found.add(at)
    return frozenset(found)


def _pieces(line: str) -> Iterator[str]:
    """The sentences of a line. The number of a list item is not a sentence of its own."""
    item = ITEM.match(line)
    first, *others = _BREAK.split(line[item.end() if item else 0 :])
    mark = item.group() if item else ""
    yield from (piece.strip() for piece in (mark + first, *others) if piece.strip())


def looks_pasted(line: str) -> bool:
    """Code, a log line or a stack frame: it has more signs than prose, and does not begin as an order."""
    if len(line) <= SHORT_LINE or _orders(line):
        return False
    return _letters(line) < (LEAST_WORDY_LONG if len(line) > LONG_LINE else LEAST_WORDY) * len(line)


def _orders(line: str) -> bool:
    item = ITEM.match(line)
    return _ORDERS.match(line, item.end() if item else 0) is not None


def _letters(line: str) -> int:
    """How many letters and blanks it has."""
    if line.isascii():
        return len(line) - len(line.encode().translate(None, _WORDY))
    return sum(map(str.isalpha, line)) + sum(map(str.isspace, line))


def bears_rule(sentence: str) -> bool:
    """It says what must, may or must not be done, in words that a list knows. A question does not count."""
    words = _EMPHASIS.sub("", sentence.replace("’", "'"))
    rules = _RULE.search(words) or _CASE.match(words) or _NONE.search(words)
    return rules is not None and not inquires(words) and _CLIENTS.match(words) is None


def inquires(sentence: str) -> bool:
    """It asks for information, and neither orders anything nor gives leave."""
    if _ASKED_BARELY.match(sentence):
        return True
    if not _ASKED.match(sentence):
        return False
    return not (_ORDERLY.match(sentence) and _TAGGED.search(sentence[-TAG:]))


def states(text: str) -> bool:
    """A short text without a question that begins like a statement: it may be a rule that no list knows ("Marta owns
    the billing module")."""
    return len(text) <= STATED and _STATES.match(text) is not None and not any(mark in text for mark in "?？؟")


def turns(sentence: str) -> bool:
    """It takes something back, or chooses something else."""
    return _TURN.search(sentence) is not None


def consents(text: str) -> bool:
    """It begins like an answer to a question."""
    return _CONSENT.match(text) is not None


def asks(text: str) -> str:
    """The question a text ends with, perhaps before a list of choices; "" where there is none. A heading does not
    count."""
    spoken = [line.text for line in sentences(text[-_LOOK:]) if not line.pasted and not line.text.startswith(_HEADING)]
    choices = len(spoken) - next((n for n, line in enumerate(reversed(spoken)) if not ITEM.match(line)), len(spoken))
    for end in (len(spoken), choices):
        last = next((line for line in reversed(spoken[max(end - 2, 0) : end]) if _is_question(line)), "")
        if last:
            return last
    return ""


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(_CLOSERS).endswith(("?", "？", "؟")) or _INVITES.search(sentence) is not None
