"""What makes a message the same one when its history comes again, and ways through the tree that are at hand.

    messages ── Memory.look ──> Way (a key for each message, and the remembered path that is most like it)

A key is made of what stays the same when a client sends its history again: moved cache marks, dropped thinking and
cleared results leave it as it was, an edit of somebody's words does not. Nothing is stored here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import ViewPlan
from foldline.core.history.prefix import shared
from foldline.core.history.skeleton import chain
from foldline.model import REF_LENGTH, Conversation, Media, Message, Origin, Part, Text, Thinking, digest
from foldline.recent import Recent

REMEMBERED = 64
"""Ways through the tree that are kept at hand; the longest unused go first."""
_SILENT = chain((Message("system", Origin.SYSTEM, ()),))[0]
"""The skeleton of a message that says nothing to it."""


@dataclass(frozen=True, slots=True)
class Path:
    """A way through the tree as it was stored: the messages as last seen, each with its key and its node."""

    messages: tuple[Message, ...]
    keys: tuple[bytes, ...]
    nodes: tuple[int, ...]
    session: str
    tools: dict[str, str] = field(default_factory=dict)
    """The names of the tools by the ids of their calls; it grows with the conversation."""


@dataclass(frozen=True, slots=True)
class Way:
    """A conversation on its way into the tree. Of `near`, the first `same` messages are the very same."""

    dialect: str
    messages: tuple[Message, ...]
    keys: tuple[bytes, ...]
    near: Path | None = None
    same: int = 0

    @property
    def known(self) -> bool:
        """All of it was stored before."""
        return self.same == len(self.messages)

    @property
    def again(self) -> Path | None:
        """The remembered path, when this is all of it and nothing else."""
        return self.near if self.known and self.near and len(self.near.messages) == self.same else None


class Memory:
    """The paths stored last, by how they begin and by their session."""

    def __init__(self) -> None:
        self._paths = Recent[tuple[bytes, str], Path](REMEMBERED)
        self._begun: tuple[Message | None, str, str, bytes] = (None, "", "", b"")
        """How the conversation began that was looked at last, and the key of that: mostly the next is the same."""

    def __len__(self) -> int:
        return len(self._paths)

    def look(self, conversation: Conversation, scope: str) -> Way:
        """The way a conversation takes. Only messages that are not on a remembered path are hashed."""
        messages = conversation.messages
        first = self._first(scope, conversation.dialect, messages[0])
        near, same = self._nearest(first, messages)
        keys = near.keys[:same] if near else ()
        new = tuple(_keys_from(messages, near, same))
        return Way(conversation.dialect, messages, (first, *(keys + new)[1:]), near, same)

    def _first(self, scope: str, dialect: str, message: Message) -> bytes:
        known, *where, key = self._begun
        if known is not message or where != [scope, dialect]:
            key = root_key(scope, dialect, message)
            self._begun = message, scope, dialect, key
        return key

    def _nearest(self, first: bytes, messages: tuple[Message, ...]) -> tuple[Path | None, int]:
        near, most = None, -1
        for key, path in reversed(self._paths.items()):
            if key[0] != first or (near is not None and not _further(path.messages, messages, most)):
                continue
            if (same := shared(path.messages, messages)) > most:
                near, most = path, same
        return near, max(most, 0)

    def remember(self, path: Path) -> None:
        """Keeps a path at hand, in the place of its session's last one. To be called when it is durable."""
        self._paths[path.keys[0], path.session] = path

    def clear(self) -> None:
        self._paths.clear()

    def leaf(self, count: int, identity: str) -> int:
        """The end of the newest path that has this many messages, this one among them; 0 when there is none."""
        for path in reversed(self._paths.values()):
            if len(path.messages) == count and any(message.identity == identity for message in path.messages):
                return path.nodes[-1]
        return 0


def key_of(message: Message) -> bytes:
    """What the skeleton hears of a message; else whose results it brings; else what it shows besides text.

    System messages and injected reminders change from turn to turn: only their place tells them apart.
    """
    heard = chain((message,))[0]
    if heard != _SILENT:
        return bytes.fromhex(heard)
    if message.results:
        return _hashed("results", *(result.call_id for result in message.results))
    return _hashed(message.role, *(_shown(part) for part in message.parts if not isinstance(part, Text)))


def root_key(scope: str, dialect: str, first: Message, project: str = "") -> bytes:
    """The key of the first message of a history: those of another scope or dialect are other trees.

    So are those of another project, where one has a tree that begins so: people begin with the same words everywhere.
    """
    return _hashed(scope, dialect, key_of(first).hex(), *([project] if project else []))


def apart(way: Way, scope: str, project: str) -> Way:
    """The same way, in a tree that is this project's alone."""
    root = root_key(scope, way.dialect, way.messages[0], project)
    return replace(way, keys=(root, *way.keys[1:]), near=None, same=0)


def _shown(part: Part) -> str:
    if isinstance(part, Thinking):
        return part.seal or part.text
    if isinstance(part, Media):
        return part.data or part.url
    return json.dumps({k: v for k, v in part.extra.items() if k != "cache_control"}, sort_keys=True, default=str)


def named(way: Way, own: int) -> str:
    """The name of the session whose first own message this is: the same history has the same name everywhere."""
    return digest(b"".join(way.keys[: own + 1]))[:REF_LENGTH]


def _hashed(*words: str) -> bytes:
    return hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _further(path: tuple[Message, ...], messages: tuple[Message, ...], most: int) -> bool:
    """Whether more than `most` messages can be the same: of many branches, all but the nearest end before that."""
    return most < min(len(path), len(messages)) and path[most] == messages[most]


def _keys_from(messages: tuple[Message, ...], near: Path | None, start: int) -> Iterator[bytes]:
    for at in range(start, len(messages)):
        seen = near is not None and 0 < at < len(near.messages) and near.messages[at] is messages[at]
        yield near.keys[at] if near is not None and seen else key_of(messages[at])


def span_stop(plan: ViewPlan, made: Checkpoint) -> int | None:
    """Where in its history the messages end that a checkpoint stands for, by the plan it was saved with."""
    return plan.count if made.recipe.direction == "from" else plan.start or None
