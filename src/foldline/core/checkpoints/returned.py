"""Messages of our own making that come back as input: whose words they are.

A view may hold messages that repairs added: a tool's answer quoted under the user's role, or a line that opens or
continues a conversation. Callers who send the view again send these too, and then they look like the user's. They are
recognised by their form. Anyone may imitate it and gains nothing: the message counts as a tool's or the program's.

Checkpoints come back too. What may be one is found here; whether it is one, the archive knows by the hash of its text.
A checkpoint quoted in the middle of another conversation counts as the words of whoever quotes it. Those that come back
in one message with others are divided from these in joined.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.checkpoints.joined import divided, notes_in, parted
from foldline.core.history.mend import ORPHAN, SECOND
from foldline.core.history.repair import GO_ON, NOTHING_SAID, OPENING
from foldline.core.options import Options
from foldline.core.said.usertext import BEGINS, own_words
from foldline.model import Conversation, Message, Origin, Text

_OURS = frozenset({OPENING, NOTHING_SAID, GO_ON})
_QUOTES = tuple(label.partition("{id}")[0] for label in (ORPHAN, SECOND))
_END = ORPHAN.rpartition("\n")[2]


def attributed(message: Message) -> Message:
    """The message under its own origin if a repair made it; else unchanged."""
    if message.role != "user" or message.origin is not Origin.USER or not message.text.startswith("["):
        return message
    texts = [part.text for part in message.parts if type(part) is Text]
    if all(text.startswith(_QUOTES) and text.endswith(_END) for text in texts):
        return replace(message, origin=Origin.TOOL)
    return replace(message, origin=Origin.PROGRAM) if message.text in _OURS else message


def _lead(message: Message, checkpoint: str) -> tuple[Message, ...]:
    """What stands before a checkpoint in the message it is joined with."""
    return tuple(takewhile(lambda one: one.text != checkpoint, parted(message, (checkpoint,))))


def _is_covered(words: str, said: Mapping[str, None]) -> bool:
    """The words consist only of what was said; they may be joined from several messages."""
    if words in said:
        return True
    for text in sorted(said, key=len, reverse=True) if words else ():
        words = words.replace(text, "")
    return not words.strip()


class Returned:
    """Whose words stand in a list that grows; each message is looked at once. Not for several threads at once."""

    def __init__(self) -> None:
        self.looked = 0
        """Messages looked at so far: the work done."""
        self._forget()

    def _forget(self) -> None:
        self._given: tuple[Message, ...] = ()
        self._messages: tuple[Message, ...] = ()
        self._last: dict[str, int] = {}
        """The last place of each text that may be a checkpoint, unless it stands there as a tool's words."""
        self._alike: list[int] = []
        """The places of all user messages that begin as a checkpoint does."""
        self._joined: dict[int, tuple[str, ...]] = {}
        """Texts that may be checkpoints and share their message with other text."""
        self._marked: dict[int, Message] = {}
        """Messages that were recognised as checkpoints before, so that they stay the same objects."""

    def follow(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """The messages, each under its own origin."""
        if messages[: len(self._given)] != self._given:
            self._forget()
        new = tuple(map(attributed, messages[len(self._given) :]))
        for index, message in enumerate(new, len(self._given)):
            if message.role == "user" and message.text.startswith(BEGINS):
                self._alike.append(index)
                if message.origin is not Origin.TOOL:
                    self._last[message.text] = index
            if joined := notes_in(message):
                self._joined[index] = joined
        self.looked += len(new)
        self._given, self._messages = messages, self._messages + new
        return self._messages

    @property
    def texts(self) -> tuple[str, ...]:
        """Texts worth looking up."""
        return tuple(dict.fromkeys((*self._last, *(text for texts in self._joined.values() for text in texts))))

    def apart(self, known: Mapping[str, Checkpoint]) -> tuple[tuple[Message, ...], ...]:
        """Each message as the messages it was joined from; () where no checkpoint is joined with others."""
        found = ((at, text) for at, texts in self._joined.items() for text in texts if text in known)
        joined = {at for at, text in found if self._leads(at, known[text], _lead(self._messages[at], text))}
        given = enumerate(self._given)
        return tuple(parted(one, known) if at in joined else (one,) for at, one in given) if joined else ()

    def _leads(self, at: int, checkpoint: Checkpoint, lead: Sequence[Message] = ()) -> bool:
        """Whether it can be the checkpoint of a view that begins here, rather than one that somebody quotes.

        The agent's words stand before such a checkpoint only if they are pinned; then all that the user said after them
        is pinned and covered too. Before the agent's first words a client may have put anything.
        """
        before = (*self._messages[:at], *lead)
        first = next((place for place, one in enumerate(before) if one.role == "assistant"), None)
        if first is None or checkpoint.recipe.direction == "from":
            return True
        said = dict.fromkeys((*(fact.text for fact in checkpoint.facts.of("user")), OPENING))
        return all(_is_covered(own_words(one), said) for one in before[first:])

    def known(self, known: Mapping[str, Checkpoint]) -> tuple[tuple[Message, ...], tuple[tuple[int, Checkpoint], ...]]:
        """The messages, those with a known text marked as summaries; and the last place of each known text, with its
        checkpoint."""
        found = list(self._messages)
        known = {text: one for text, one in known.items() if text in self._last and self._leads(self._last[text], one)}
        for index in self._alike:
            if found[index].text in known:
                found[index] = self._marked.setdefault(index, replace(found[index], origin=Origin.SUMMARY))
        places = sorted((self._last[text], text) for text in known)
        return tuple(found), tuple((place, known[text]) for place, text in places)


class Recognised(NamedTuple):
    """A conversation, with what belongs to it of the options: its messages under their own origins, and the places of
    checkpoints that came back."""

    conversation: Conversation
    options: Options
    messages: tuple[Message, ...]
    returned: tuple[tuple[int, Checkpoint], ...] = ()


def recognised(
    conversation: Conversation, options: Options, followed: Returned, known: Mapping[str, Checkpoint]
) -> Recognised:
    """The conversation that was followed, with the checkpoints that the archive knows of the texts in it. One that came
    back in one message with others is divided from them: then the conversation is another."""
    messages = followed.follow(conversation.messages)
    if not known:
        return Recognised(conversation, options, messages)
    if apart := followed.apart(known):
        conversation, options = divided(conversation, options, apart, known)
        followed.follow(conversation.messages)
    return Recognised(conversation, options, *followed.known(known))
