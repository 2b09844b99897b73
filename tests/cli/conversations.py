"""Small conversations in the forms real clients write, as bytes; made here for these tests."""

from __future__ import annotations

import json
from typing import Any

LONG = "".join(f"{number:04d} some line of a file that nobody needs any more\n" for number in range(200))


def anthropic(steps: int = 6, body: str = LONG, tool: str = "read_file") -> bytes:
    """A request: each step asks for a file, and gets it."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Please find the bug in the parser."}]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": {"path": f"src/{number}.py"}}
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"# {number}\n{body}"}
        messages += [
            {"role": "assistant", "content": [{"type": "text", "text": f"Let me read part {number}."}, call]},
            {"role": "user", "content": [answer]},
        ]
    messages += [{"role": "assistant", "content": "It is in part 3."}, {"role": "user", "content": "Thanks, mend it."}]
    definition = {"name": tool, "description": "Reads a file.", "input_schema": {"type": "object"}}
    request = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 1024,
        "system": "You are careful.",
        "tools": [definition],
        "messages": messages,
    }
    return json.dumps(request, indent=1).encode()


def chat(steps: int = 3, body: str = "ok") -> bytes:
    """The list of messages of a Chat Completions request."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are careful."},
        {"role": "user", "content": "What is the weather?"},
    ]
    for number in range(steps):
        function = {"name": "weather", "arguments": json.dumps({"day": number})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": f"{number}: {body}"},
        ]
    return json.dumps([*messages, {"role": "user", "content": "And now?"}]).encode()


def claude_code(steps: int = 5, body: str = LONG) -> bytes:
    """A transcript: one row for each block, as Claude Code writes them."""
    rows: list[dict[str, Any]] = [_row(0, "user", {"role": "user", "content": "Find the bug."})]
    for number in range(steps):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Read", "input": {"file_path": f"{number}.py"}}
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number}\n{body}"}
        step = {"id": f"msg_{number}", "role": "assistant", "model": "claude-sonnet-4-5", "content": [call]}
        rows += [
            _row(len(rows), "assistant", step),
            _row(len(rows) + 1, "user", {"role": "user", "content": [answer]}),
        ]
    rows.append(_row(len(rows), "user", {"role": "user", "content": "Well done."}))
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def _row(number: int, kind: str, message: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": kind,
        "uuid": f"row-{number}",
        "parentUuid": f"row-{number - 1}" if number else None,
        "sessionId": "session",
        "isSidechain": False,
        "timestamp": f"2026-01-01T00:00:{number:02d}.000Z",
        "message": message,
    }


def broken() -> bytes:
    """A request with a call that was never answered, in the middle."""
    request = json.loads(anthropic(steps=3))
    request["messages"][2] = {"role": "user", "content": "Never mind that one."}
    return json.dumps(request).encode()
