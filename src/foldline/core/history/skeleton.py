"""The skeleton: a hash of what stays the same when a client sends its history again.

    messages ── chain ──> one digest after each message

It runs over the flattened stream of the user's own text, the assistant's text, and the calls with their ids, names and
arguments. It leaves out what real clients change between two requests: system and tools, thinking, result bodies,
media, cache marks, injected reminders, key order, string or blocks, message boundaries, white space between words. A
real edit of the user's words, a changed argument or a removed turn changes every digest from there on.

It serves only to find a history again. What its messages were, byte for byte, the archive knows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from foldline.core.said.usertext import spoken_texts
from foldline.model import Message, Text, ToolCall

_SIZE = 16
_USER, _ASSISTANT, _CALL = b"\nu", b"\na", b"\nc"
"""The marks of a change of speaker. No hashed text holds a line end, so none can forge a mark.

The words of one speaker run on across messages, wherever the client divides them, with a space between any two: "foo
bar" and "foo", "bar" are the same history, "foobar" is another.
"""


class Chain:
    """The digests of a list that grows: asked again with more messages, it hashes only the new ones."""

    def __init__(self) -> None:
        self.hashed = 0
        """Messages hashed so far: the work done."""
        self._forget()

    def _forget(self) -> None:
        self._known: tuple[Message, ...] = ()
        self._digests: list[str] = []
        self._stops: list[str] = []
        self._hash = hashlib.blake2b(digest_size=_SIZE)
        self._speaker = b""

    def digests(self, messages: Sequence[Message]) -> tuple[str, ...]:
        """The digest after each message: the i-th stands for messages[: i + 1]."""
        messages = tuple(messages)
        if messages[: len(self._known)] != self._known:
            self._forget()
        for message in messages[len(self._known) :]:
            self._take(message)
            self._stop()
            self._digests.append(self._stops[-1])
            self.hashed += 1
        self._known = messages
        return tuple(self._digests)

    @property
    def stops(self) -> tuple[str, ...]:
        """The digests of that list, and those after each paragraph of the user's: what was the end of a history may
        stand within a message, once a client has put the user's next words into it."""
        return tuple(self._stops)

    def _stop(self) -> None:
        digest = self._hash.hexdigest()
        if not self._stops or self._stops[-1] != digest:
            self._stops.append(digest)

    def _take(self, message: Message) -> None:
        for text in spoken_texts(message):
            for paragraph in text.split("\n\n"):
                self._say(_USER, paragraph)
                self._stop()
        for part in message.parts:
            if type(part) is Text and message.role == "assistant":
                self._say(_ASSISTANT, part.text)
            elif type(part) is ToolCall:
                self._hash.update(_CALL + _call_text(part))
                self._speaker = _CALL

    def _say(self, speaker: bytes, text: str) -> None:
        words = text.split()
        if not words:
            return
        if speaker != self._speaker:
            self._hash.update(speaker)
            self._speaker = speaker
        self._hash.update(b" " + " ".join(words).encode("utf-8", "surrogatepass"))


def chain(messages: Sequence[Message]) -> tuple[str, ...]:
    """The digest after each message, in one pass."""
    return Chain().digests(messages)


def _call_text(call: ToolCall) -> bytes:
    """Id, name and arguments as JSON, whatever the order of the arguments' keys. White space in them counts."""
    try:
        said = json.dumps(["json", json.loads(call.arguments or "{}")], sort_keys=True)
    except (ValueError, RecursionError):  # free text, or nested beyond reading
        said = json.dumps(["text", call.arguments])
    return json.dumps([call.id, call.name, said]).encode()
