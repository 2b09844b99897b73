"""Sentences of what people write to agents, and which of them bear a rule, a change of mind, or a question.

Splitting never changes a character: a sentence is a slice of its text. Fenced code and pasted output are blocks of
their own. The word lists are only for ranking: a sentence that no list knows is kept as long as there is room.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_BREAK = re.compile(r"(?<=[.!?…])[\"')\]]{0,2}\s+|(?<=[。！？])|\n{1,}")
_FENCE = "```"
_RULE = re.compile(
    r"\b(?:never|always|don'?t|do not|must(?:n'?t)?|should(?:n'?t)?|shall|only|avoid|without|except|unless|prefer|"
    r"make sure|ensure|remember|keep|leave|stick to|stay away|hands off|off[- ]limits|no (?:more|need|new|longer)|"
    r"not allowed|forbidden|required?|requirement|rule|constraint|convention|policy|whatever (?:happens|you do)|"
    r"from now on|going forward|at all times|under no circumstances|important|instead of|rather than|use .{1,40} not|"
    r"nie(?:mals)?|immer|nicht|kein[ea]?[nmrs]?|darf|dürfen|muss|müssen|nur|bitte|sollst?|"
    r"jamais|toujours|ne .{1,30} pas|uniquement|il faut|nunca|siempre|sólo|solo|debes?|mai|sempre|não|apenas)\b"
    r"|不要|不能|不得|必须|必須|禁止|一定|总是|始终|只能|務必|しない|しては|必ず|ください|常に"
    r"|하지 ?마|반드시|항상|нельзя|всегда|никогда|только",
    re.I,
)
_TURN = re.compile(
    r"\b(?:actually|instead|scrap|forget (?:it|that|about)|drop|on second thoughts?|changed? (?:my|our) mind|"
    r"never ?mind|no longer|not any ?more|rather|let'?s not|switch(?:ed)? to|go(?:ing)? with|skip|revert|undo|hold off|"
    r"doch|stattdessen|lieber|vergiss|finalement|plutôt|mejor|en vez)\b|不用了|改成|算了|やっぱり",
    re.I,
)
_CONSENT = re.compile(
    r"^\W*(?:yes|yep|yeah|yup|ok(?:ay)?|sure|go ahead|do it|please do|sounds good|lgtm|approved?|agreed|fine|perfect|"
    r"correct|no|nope|not yet|wait|stop|ja|nein|genau|gerne|passt|oui|non|sí|si|是|好|可以|不|はい|いいえ|네|да|нет)\b",
    re.I,
)


class Sentence(NamedTuple):
    """A slice of a text. `pasted`: a block of code or output rather than words."""

    text: str
    pasted: bool = False


def sentences(text: str) -> Iterator[Sentence]:
    """The text in order, as sentences and pasted blocks; white space between them is left out."""
    for number, piece in enumerate(text.split(_FENCE)):
        if number % 2:
            yield Sentence(_FENCE + piece + _FENCE, True)
        else:
            for block in _BREAK.split(piece):
                if block and block.strip():
                    yield Sentence(block.strip(), looks_pasted(block))


def looks_pasted(line: str) -> bool:
    """Code, a log line, a stack frame: long, or more signs than words."""
    stripped = line.strip()
    if len(stripped) > 600:
        return True
    letters = sum(character.isalpha() or character.isspace() for character in stripped)
    return len(stripped) > 60 and letters < 0.75 * len(stripped)


def bears_rule(sentence: str) -> bool:
    """It tells what must, may or must not be done, in a way a list of words knows."""
    return _RULE.search(sentence) is not None


def turns(sentence: str) -> bool:
    """It takes something back or chooses otherwise."""
    return _TURN.search(sentence) is not None


def consents(text: str) -> bool:
    """It begins like an answer to a question."""
    return _CONSENT.match(text) is not None


def asks(text: str) -> str:
    """The last question of a text, if it ends with one; "" otherwise."""
    last = [sentence.text for sentence in sentences(text[-2_000:]) if not sentence.pasted][-2:]
    return next((sentence for sentence in reversed(last) if sentence.rstrip("*_ ").endswith(("?", "？"))), "")
