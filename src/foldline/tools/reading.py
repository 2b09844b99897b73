"""session_read: what a reference stands for, as it was, in pages.

    result, message, messages of a checkpoint ── one text ── page        session ── its messages at a glance, a page

What comes back is the original, secrets and all: it is for the agent to work with. Only the list of a session, which
is for finding one's way, is masked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence

from foldline.agenda.asked import Refused
from foldline.archive.base import SessionInfo, Stored
from foldline.archive.history import lines
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.model import REF_LENGTH, Media, Message, Opaque, Origin, Part, Text, Thinking, ToolCall, ToolResult
from foldline.redact import MASK
from foldline.tools.desk import Desk
from foldline.tools.searching import known_session
from foldline.tools.shown import PAGE, Answer, check_page, fenced, one_line, page, place

LINES = 100
"""Messages on one page of a session's list."""
_LABEL = 80
"""Characters of a name in a label."""
_EDGES = " \t\r\n\"'`()[]{}<>.,;:#"
"""What agents put around a reference when they copy one."""


def read(desk: Desk, ref: str, page: int = 1) -> Answer:
    """One page of what a reference stands for."""
    name = ref.strip(_EDGES).lower()
    if len(name) < REF_LENGTH:
        raise Refused(f"{ref[:40]!a} is too short for a reference; give all {REF_LENGTH} digits of one")
    found = desk.archive.get(name)
    if isinstance(found, SessionInfo):
        return _session(desk, known_session(desk, name), page)
    if isinstance(found, Stored):
        what = f"Message {found.position + 1} of session {found.session}, by {found.origin}."
        return _messages(desk, what, (found.message,), page)
    if isinstance(found, Checkpoint):
        folded = desk.archive.expand(name)
        what = f"The {len(folded):,} messages that checkpoint {name} stands for."
        return _messages(desk, what, folded, page)
    return _whole(desk, f"Tool result {name}.", found, page)


def _whole(desk: Desk, what: str, text: str, number: int) -> Answer:
    piece, count = page(text, number)
    masks = f" Where it reads {MASK.strip()} …], it was stored so." if MASK in piece else ""
    return fenced(f"{what}{place(number, count)}{masks}", piece, desk.secret)


def _messages(desk: Desk, what: str, messages: Sequence[Message], number: int) -> Answer:
    """Every part below a line that says whose it is. A mark in that line, which no part knows, keeps parts honest."""
    names = ",".join(message.identity for message in messages)
    mark = f"[{hmac.new(desk.secret, names.encode(), hashlib.blake2b).hexdigest()[:12]} "
    text = "\n".join(f"{mark}{label}]\n{words}" for label, words in _parts(messages))
    return _whole(desk, f"{what}{_running(text, mark, (number - 1) * PAGE)}", text, number)


def _running(text: str, mark: str, start: int) -> str:
    """Whose words a page begins with, where their label stands on an earlier one."""
    at = text.rfind(mark, 0, start)
    if at < 0 or text.startswith(mark, start):
        return ""
    label = text[at + len(mark) : text.index("]", at)]
    return f" This page begins in words of: {label.partition(',')[0]}."


def _session(desk: Desk, session: SessionInfo, number: int) -> Answer:
    """The list of a session's messages. Only those of the page are looked at closely."""
    messages = [(stored.position, stored.message) for stored in desk.archive.messages(session.name)]
    count = max(-(-len(messages) // LINES), 1)
    check_page(number, count)
    shown = lines(messages[(number - 1) * LINES : number * LINES])
    said = f'Session {session.name} has {len(messages):,} messages; session_read(ref="…") shows one whole.'
    data = "\n".join(f"{line.position + 1}  {line.ref}  {line.role}  {one_line(line.glance, 100)}" for line in shown)
    return fenced(f"{said}{place(number, count)}", data, desk.secret)


def _parts(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    for number, message in enumerate(messages, 1):
        which = f"{number} {message.identity[:REF_LENGTH]} " if len(messages) > 1 else ""
        for part in message.parts:
            label, text = _part(part, message.origin)
            yield f"{which}{label}", text


def _part(part: Part, origin: Origin) -> tuple[str, str]:
    """Whose words a part is, and the words."""
    if isinstance(part, ToolResult):
        label = f"{'error' if part.is_error else 'result'} {one_line(part.call_id, _LABEL)}"
        return f"tool, {label}", "\n".join(_part(each, Origin.TOOL)[1] for each in part.content)
    if isinstance(part, ToolCall):
        return f"{origin.value}, call {one_line(part.id, _LABEL)} {one_line(part.name, _LABEL)}", part.arguments
    if isinstance(part, Thinking):
        return f"{origin.value}, thinking", part.text
    if isinstance(part, Text):
        return origin.value, part.text
    return f"{origin.value}, {one_line(part.kind, _LABEL)}", _unread(part)


def _unread(part: Media | Opaque) -> str:
    """What is no text: a picture by its size, an unknown part by its fields."""
    if isinstance(part, Opaque):
        return json.dumps(dict(part.extra), ensure_ascii=False, default=str)
    where = part.url or f"{len(part.data):,} base64 characters, not shown"
    return f"({one_line(part.kind, _LABEL)} {one_line(part.mime, _LABEL)}: {where})"
