"""The session as Claude Code keeps it on disk: JSON lines, one record for each content block and each tool result.

Records of one reply share its message id and usage. Parallel results hang on the record of their own call, so the tree
of parents branches; the order of the file is the order of the conversation.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from session.names import row_id, token
from session.perform import Beat
from session.requests import blocks, prompt_content, results
from session.script import ROOT, Prompt, Step
from session.tools import MODEL

Json = dict[str, Any]

HEAD_TOKENS = 14_000
"""System prompt and tool definitions, as the first request's usage would show them."""

CAVEAT = "<local-command-caveat>The user ran the following local commands; they need no answer.</local-command-caveat>"
COMMAND = "<command-name>/model</command-name>\n<command-message>model</command-message>\n<command-args></command-args>"


@dataclass(frozen=True)
class Compaction:
    """Where a session was compacted: after so many beats, with this summary, the last steps kept."""

    after: int
    summary: str
    kept_steps: int


class Transcript:
    """Grows row by row; `lines` is what has been written so far."""

    def __init__(self, scene: str, branch: str, slug: str) -> None:
        self.scene, self.branch, self.slug = scene, branch, slug
        self.session = row_id(scene, "session")
        self.rows: list[Json] = []
        self.parent: str | None = None
        self.seen = self.cached = HEAD_TOKENS
        self.step_rows: list[list[str]] = []

    def lines(self) -> str:
        return "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in self.rows)

    def add(self, at: datetime, kind: str, parent: str | None, **fields: Any) -> str:
        uuid = row_id(self.scene, len(self.rows))
        self.rows.append(
            {"parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": ROOT}
            | {"sessionId": self.session, "version": "2.1.42", "gitBranch": self.branch, "slug": self.slug}
            | {"type": kind, **fields, "uuid": uuid, "timestamp": _stamp(at)}
        )
        self.parent = uuid
        return uuid

    def snapshot(self, at: datetime, message: str, files: Sequence[str] = (), *, update: bool = False) -> None:
        backups = {
            path: {"backupFileName": f"{row_id(path)[:16].replace('-', '')}@v1", "version": 1, "backupTime": _stamp(at)}
            for path in files
        }
        snapshot = {"messageId": message, "trackedFileBackups": backups, "timestamp": _stamp(at)}
        self.rows.append(
            {"type": "file-history-snapshot", "messageId": message, "snapshot": snapshot, "isSnapshotUpdate": update}
        )

    def prompt(self, at: datetime, prompt: Prompt) -> None:
        self.snapshot(at, row_id(self.scene, len(self.rows) + 1))
        extra: Json = {"thinkingMetadata": {"maxThinkingTokens": 31999}, "todos": [], "permissionMode": "default"}
        extra |= {"imagePasteIds": [1]} if prompt.image else {}
        self.add(at, "user", self.parent, message={"role": "user", "content": prompt_content(prompt)}, **extra)
        self.seen += _tokens(prompt.text) + (90 if prompt.image else 0)

    def meta(self, at: datetime, *texts: str) -> None:
        for text in texts:
            self.add(at, "user", self.parent, message={"role": "user", "content": text}, isMeta=True)

    def step(self, number: int, beat: Beat, step: Step) -> None:
        content = blocks(self.scene, number, step)
        message = self._message(number, content)
        request = token("req_011C", self.scene, number)
        placed: dict[str, str] = {}
        ids = []
        for n, block in enumerate(content):
            at = beat.at + timedelta(milliseconds=640 * n)
            ids.append(
                self.add(at, "assistant", self.parent, message=message | {"content": [block]}, requestId=request)
            )
            if block["type"] == "tool_use":
                placed[block["id"]] = ids[-1]
        ids += self._results(number, beat, step, placed)
        self.step_rows.append(ids)

    def _message(self, number: int, content: list[Json]) -> Json:
        spent = sum(_tokens(json.dumps(block, ensure_ascii=False)) for block in content if block["type"] != "thinking")
        spent += sum(_tokens(block["thinking"]) for block in content if block["type"] == "thinking")
        fresh = self.seen - self.cached
        usage: Json = {"input_tokens": 4, "cache_creation_input_tokens": fresh, "cache_read_input_tokens": self.cached}
        usage |= {"cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": fresh}}
        usage |= {"output_tokens": spent, "service_tier": "standard"}
        self.cached, self.seen = self.seen, self.seen + spent
        message: Json = {
            "model": MODEL,
            "id": token("msg_01", self.scene, number),
            "type": "message",
            "role": "assistant",
        }
        return message | {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}

    def _results(self, number: int, beat: Beat, step: Step, placed: dict[str, str]) -> list[str]:
        ids = []
        edited = [
            call.input["file_path"].removeprefix(ROOT + "/") for call in step.calls if call.tool in ("Edit", "Write")
        ]
        for n, block in enumerate(results(self.scene, number, beat)):
            at = beat.at + timedelta(milliseconds=640 * len(placed) + 900 + 310 * n)
            source = placed[block["tool_use_id"]]
            if step.calls[n].tool == "Bash":
                self._progress(at, block["tool_use_id"], source, beat.outcomes[n].text)
            detail = beat.outcomes[n].detail
            self.add(
                at,
                "user",
                source,
                message={"role": "user", "content": [block]},
                toolUseResult=detail,
                sourceToolAssistantUUID=source,
            )
            ids.append(self.rows[-1]["uuid"])
            self.seen += _tokens(block["content"])
        if edited:
            self.snapshot(beat.at, row_id(self.scene, "snap", number), sorted(set(edited)), update=True)
        return ids

    def _progress(self, at: datetime, call: str, parent: str, text: str) -> None:
        """Claude Code notes the progress of commands that take longer; here, of those that print much."""
        if len(text) < 4_000:
            return
        data: Json = {"type": "bash_progress", "output": text[:200], "fullOutput": text[:400]}
        data |= {"elapsedTimeSeconds": 2, "totalLines": text.count("\n") + 1}
        self.add(at, "progress", parent, data=data, toolUseID="bash-progress-0", parentToolUseID=call)

    def turn_end(self, at: datetime, milliseconds: int) -> None:
        self.add(at, "system", self.parent, subtype="turn_duration", durationMs=milliseconds, isMeta=False)

    def compact(self, at: datetime, compaction: Compaction) -> None:
        """A boundary whose parent is null, then the summary; the rows kept verbatim are named, not repeated."""
        kept = [uuid for ids in self.step_rows[-compaction.kept_steps :] for uuid in ids]
        boundary, summary = row_id(self.scene, len(self.rows)), row_id(self.scene, len(self.rows) + 1)
        before, after = self.seen, HEAD_TOKENS + _tokens(compaction.summary) + 4_200
        segment = {"headUuid": kept[0], "anchorUuid": summary, "tailUuid": kept[-1]}
        metadata = {"trigger": "manual", "preTokens": before, "postTokens": after, "durationMs": 21840}
        metadata |= {"cumulativeDroppedTokens": before - after, "preservedSegment": segment}
        metadata |= {"preservedMessages": {"anchorUuid": summary, "uuids": kept, "allUuids": kept}}
        fields: Json = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
        }
        fields |= {"logicalParentUuid": self.parent, "compactMetadata": metadata}
        self.add(at, "system", None, **fields)
        message = {"role": "user", "content": compaction.summary.strip()}
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self.add(at + timedelta(milliseconds=1), "user", boundary, message=message, **flags)
        self.seen, self.cached = after, HEAD_TOKENS


def transcript(scene: str, branch: str, slug: str, beats: Sequence[Beat], compaction: Compaction | None = None) -> str:
    log = Transcript(scene, branch, slug)
    began = beats[0].at
    log.meta(began - timedelta(seconds=20), CAVEAT, COMMAND)
    for number, beat in enumerate(beats):
        if compaction and number == compaction.after:
            log.compact(beat.at - timedelta(seconds=3), compaction)
        if isinstance(beat.item, Prompt):
            began = beat.at
            log.prompt(beat.at, beat.item)
            continue
        log.step(number, beat, beat.item)
        if not beat.item.calls:
            log.turn_end(beat.at + timedelta(seconds=2), round((beat.at - began) / timedelta(milliseconds=1)))
    return log.lines()


def _tokens(text: str) -> int:
    return len(text.encode("utf-8")) // 4 + 3


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03}Z"
