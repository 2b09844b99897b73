"""What has to be known of every row of a Claude Code transcript: its shape, its ids, its flags.

Only these fields are decoded, since most of a transcript is progress reports and copies of tool output that no model
ever sees. Which rows make up the conversation is `claude_rows`' matter, what they say is `claude_code`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from foldline.dialects import jsontext
from foldline.dialects.lines import Peek

NOTHING = msgspec.Raw(b"null")
TOLD: Mapping[str | None, tuple[str, ...]] = {
    "queued_command": ("prompt",),  # typed, or reported by a task, while the agent was at work
    "hook_additional_context": ("content",),
    "nested_memory": ("content", "content"),
    "critical_system_reminder": ("content",),
}
"""Attachments whose text the model was told, and where in the attachment it stands."""


class Said(msgspec.Struct, gc=False):
    id: str | None = None
    model: str | None = None
    content: msgspec.Raw = NOTHING


class Attached(msgspec.Struct, gc=False):
    type: str | None = None


class Record(msgspec.Struct, rename="camel", gc=False):
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    leaf_uuid: str | None = None
    message_id: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_visible_in_transcript_only: bool | None = None
    is_api_error_message: bool | None = None
    message: Said | None = None
    attachment: Attached | None = None
    compact_metadata: msgspec.Raw = NOTHING
    microcompact_metadata: msgspec.Raw = NOTHING


class _Block(msgspec.Struct, gc=False):
    type: str | None = None
    id: str | None = None
    tool_use_id: str | None = None


def _is_record(record: Record) -> bool:
    """Rows alone are of this shape: a subagent's messages inside a progress row have neither session nor parent."""
    return bool(record.type and (record.session_id or record.parent_uuid or record.leaf_uuid or record.message_id))


PEEK = Peek(Record, _is_record)
_blocks = msgspec.json.Decoder(list[_Block])


def answer(record: Record) -> str:
    """The provider's id of the answer a row is a piece of."""
    return (record.message.id or "") if record.message else ""


def ids(record: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the calls and of the results in a row."""
    content = record.message.content if record.message else NOTHING
    if bytes(memoryview(content)[:1]) != b"[":
        return (), ()
    try:
        blocks = _blocks.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError):  # a block that is no object has no id either
        return (), ()
    calls = tuple(block.id for block in blocks if block.type == "tool_use" and block.id)
    return calls, tuple(block.tool_use_id for block in blocks if block.tool_use_id)


def mapping(raw: msgspec.Raw) -> Mapping[str, Any]:
    """An object inside a row; anything else there says nothing."""
    value = jsontext.decode(bytes(raw))
    return value if isinstance(value, dict) else {}


def speaks(record: Record) -> bool:
    """The row is part of what is said to the model or by it."""
    if record.type == "attachment":
        return record.attachment is not None and record.attachment.type in TOLD
    if record.type not in ("user", "assistant") or record.message is None or record.is_api_error_message:
        return False
    return bool(record.is_compact_summary or not record.is_visible_in_transcript_only)
