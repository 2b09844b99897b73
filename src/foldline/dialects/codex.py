"""Codex rollouts (`~/.codex/sessions/…/rollout-….jsonl`, also packed): rows of {timestamp, type, payload}.

A `response_item` is an item of the Responses dialect. A `compacted` row replaces all history before it by its
`replacement_history`, whose messages have no row of their own: they share that row, and go back into it. Events repeat
what was said for the screen, and are no messages. How changed messages go back is `codex_write`'s matter.

`Conversation.compactions` speaks of the whole history: its indices point into the messages of `history="all"`, where
what a compaction repeats verbatim counts once, at its first place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foldline.dialects import codex_write, lines, mending, openai_responses
from foldline.dialects.base import Lined, Source
from foldline.dialects.codex_write import PEEK, TYPES, Record
from foldline.dialects.lined import History, LineDialect
from foldline.model import Compaction, Conversation, Head, Message, Notice, Origin, Text

_FRAMES: Mapping[str, Origin] = {
    "<user_shell_command>": Origin.TOOL,  # what a command printed, run by the user from the prompt
    "<subagent_notification>": Origin.TOOL,
    "<environment_context>": Origin.PROGRAM,
    "<user_instructions>": Origin.PROGRAM,
    "# AGENTS.md instructions": Origin.PROGRAM,
    "<turn_aborted>": Origin.PROGRAM,
    "<skill>": Origin.PROGRAM,
}
"""How user messages begin that the user did not type."""


@dataclass
class _Story:
    """What the rows tell, row by row: the whole history, and what of it is live."""

    whole: list[Message] = field(default_factory=list)
    live: list[Message] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    seen: dict[str, int] = field(default_factory=dict)
    tokens: int | None = None
    window: int | None = None
    notices: list[Notice] = field(default_factory=list)

    def say(self, message: Message) -> None:
        self.seen.setdefault(_meaning(message), len(self.whole))
        self.whole.append(message)
        self.live.append(message)

    def compact(self, payload: Mapping[str, Any], items: Sequence[Message]) -> None:
        """From here on only these messages count, and what comes after them."""
        kept = [self.seen[_meaning(item)] for item in items if _meaning(item) in self.seen]
        new = [item for item in items if _meaning(item) not in self.seen]
        told = payload.get("message")
        summary = told if isinstance(told, str) else ""
        summaries = [n for n, item in enumerate(new) if item.origin is Origin.SUMMARY]
        at = len(self.whole) + (summaries[0] if summaries else 0)
        self.compactions.append(Compaction(at, summary, tokens_before=self.tokens, kept=tuple(sorted(set(kept)))))
        for item in new:
            self.say(item)
        self.live = list(items)

    def roll_back(self, turns: int) -> None:
        """The user took back this many turns: they are history, and no longer live."""
        starts = [n for n, message in enumerate(self.live) if message.origin is Origin.USER]
        cut = starts[-turns] if 0 < turns <= len(starts) else 0 if turns > 0 else len(self.live)
        self.notices.append(Notice("left-behind", f"{len(self.live) - cut} messages were taken back by the user"))
        self.live = self.live[:cut]


class Codex(LineDialect):
    name = "codex"
    api = "openai-responses"
    grammar = openai_responses.GRAMMAR

    def fits(self, value: Any) -> int:
        if not isinstance(value, dict) or "payload" not in value or not isinstance(value.get("type"), str):
            return 0
        return 100 if value["type"] in TYPES and "timestamp" in value else 50

    def read_lines(self, source: Source, lines_: Iterable[bytes], history: History = "live") -> Conversation:
        split = lines.split(lines_, PEEK)
        story = _Story()
        payloads = list(_payloads(split))
        for row, kind, payload in payloads:
            _tell(story, row, kind, payload, split.rows[row])
        messages = openai_responses.pair(story.live if history == "live" else story.whole)
        if story.window:
            known = f"the agent itself counted with a context window of {story.window} tokens"
            story.notices.append(Notice("window", known))
        return Conversation(
            self.name,
            messages,
            _head(payloads),
            self.grammar,
            Lined(source, split.rows, messages),
            (*split.notices, *story.notices),
            tuple(story.compactions),
        )

    def rewrite(self, layout: Lined, messages: Sequence[Message]) -> bytes:
        return codex_write.rewrite(layout, messages)


def _payloads(split: lines.Rows[Record]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    for row, record in enumerate(split.values):
        if record is not None and record.type in TYPES:
            odd = row in split.odd
            payload = mending.decode(split.rows[row])["payload"] if odd else mending.decode_raw(record.payload)
            if isinstance(payload, dict):
                yield row, record.type, payload


def _tell(story: _Story, row: int, kind: str, payload: Mapping[str, Any], data: bytes) -> None:
    if kind == "response_item":
        story.say(replace(_item(payload), raw=data, rows=(row,)))
    elif kind == "compacted":
        story.compact(payload, list(_replacement(story, row, payload, data)))
    elif kind == "event_msg" and payload.get("type") == "token_count":
        _count(story, payload.get("info"))
    elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
        turns = payload.get("num_turns")
        story.roll_back(turns if isinstance(turns, int) else 0)


def _count(story: _Story, info: Any) -> None:
    if not isinstance(info, dict):
        return
    used, window = info.get("last_token_usage"), info.get("model_context_window")
    total = used.get("total_tokens") if isinstance(used, dict) else None
    story.tokens = total if isinstance(total, int) else story.tokens
    story.window = window if isinstance(window, int) else story.window


def _replacement(story: _Story, row: int, payload: Mapping[str, Any], data: bytes) -> Iterator[Message]:
    """The messages a compaction leaves; its summary alone when it does not list them."""
    told = payload.get("message")
    items = payload.get("replacement_history")
    if not isinstance(items, list):
        story.notices.append(Notice("summary-only", "a compaction lists no history: its summary alone stands for it"))
        yield Message("user", Origin.SUMMARY, (Text(told),) if isinstance(told, str) else (), rows=(row,), raw=data)
        return
    raws = codex_write.replacement(data)
    for item, raw in zip(items, raws, strict=True):
        message = _item(item) if isinstance(item, dict) else openai_responses.read_item({"type": "", "value": item})
        if isinstance(told, str) and told and told in message.text:
            message = replace(message, origin=Origin.SUMMARY)
        yield replace(message, raw=raw, rows=(row,))


def _item(value: Mapping[str, Any]) -> Message:
    message = openai_responses.read_item(value)
    if message.origin is not Origin.USER:
        return message
    said = message.text.lstrip()
    return replace(message, origin=next((o for frame, o in _FRAMES.items() if said.startswith(frame)), Origin.USER))


def _meaning(message: Message) -> str:
    """The same for messages that say the same, whatever notes are attached to them."""
    return replace(message, raw=None).identity


def _head(payloads: Sequence[tuple[int, str, Mapping[str, Any]]]) -> Head:
    metas = [payload for _, kind, payload in payloads if kind == "session_meta"]
    turns = [payload for _, kind, payload in payloads if kind == "turn_context"]
    base = metas[0].get("base_instructions", metas[0].get("instructions")) if metas else None  # later ones are a fork's
    text = base.get("text") if isinstance(base, dict) else base
    turn = turns[-1] if turns else {}
    return Head(
        model=str(turn.get("model") or ""),
        system=(Text(text),) if isinstance(text, str) and text else (),
        thinking=turn.get("effort") not in (None, "none"),
    )
