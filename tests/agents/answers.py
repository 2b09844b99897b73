"""What a scripted provider answers, in the form of each API: whole answers, and the events of their streams.

Messages, Chat Completions and Responses. What is answered is decided in provider.py.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

Calls = tuple[tuple[str, Any], ...]
"""Name and input of each; a text is the input of a tool that takes free text."""
_numbers = itertools.count(1)


def message(model: str, tokens: int, text: str, calls: Calls) -> dict[str, Any]:
    """With thinking before the calls, as the models do it."""
    thought = [{"type": "thinking", "thinking": "One more.", "signature": "c2lnbmVk"}] if calls else []
    said = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "id": f"toolu_{next(_numbers):020}", "name": name, "input": i} for name, i in calls]
    return {
        "id": f"msg_{next(_numbers):020}",  # Claude Code joins messages of one id
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": thought + said + uses,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 30},
    }


def message_events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        start, deltas = _pieces(block)
        said.append({"type": "content_block_start", "index": index, "content_block": start})
        said += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        said.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [*said, {"type": "message_delta", "delta": delta, "usage": whole["usage"]}, {"type": "message_stop"}]


def _pieces(block: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    if block["type"] == "thinking":
        thought = {"type": "thinking_delta", "thinking": block["thinking"]}
        return {**block, "thinking": "", "signature": ""}, [
            thought,
            {"type": "signature_delta", "signature": block["signature"]},
        ]
    if block["type"] == "text":
        return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def chat_chunks(model: str, tokens: int, text: str, calls: Calls) -> list[dict[str, Any]]:
    """The chunks of a chat completion; the last one has the usage."""
    common = {"id": f"chatcmpl_{next(_numbers)}", "object": "chat.completion.chunk", "created": 0, "model": model}
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": text}]
    for index, (name, told) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(told)}
        call = {"index": index, "id": f"call_{next(_numbers)}", "type": "function", "function": function}
        deltas.append({"tool_calls": [call]})
    why = "tool_calls" if calls else "stop"
    choices = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    usage = {"prompt_tokens": tokens, "completion_tokens": 30, "total_tokens": tokens + 30}
    ended = {"index": 0, "delta": {}, "finish_reason": why}
    return [*({**common, "choices": [one]} for one in [*choices, ended]), {**common, "choices": [], "usage": usage}]


def items(text: str, calls: Calls) -> list[dict[str, Any]]:
    """The items of a response, with reasoning before the calls."""
    thought = {"type": "reasoning", "id": f"rs_{next(_numbers)}", "summary": [], "encrypted_content": "sealed"}
    content = [{"type": "output_text", "text": text, "annotations": []}]
    said = {"type": "message", "id": f"msg_{next(_numbers)}", "status": "completed", "role": "assistant"}
    return ([thought] if calls else []) + ([{**said, "content": content}] if text else []) + [*map(_call, calls)]


def sealed(text: str) -> dict[str, Any]:
    """What a provider gives back for a history that it has compacted itself."""
    return {"type": "compaction", "id": f"cmp_{next(_numbers)}", "encrypted_content": text}


def _call(call: tuple[str, Any]) -> dict[str, Any]:
    """A dot in the name parts it from its namespace."""
    (name, told), number = call, next(_numbers)
    space, _, name = name.rpartition(".")
    common = {"status": "completed", "call_id": f"call_{number}", "name": name}
    if isinstance(told, str):
        return {"type": "custom_tool_call", "id": f"ctc_{number}", **common, "input": told}
    call_of = {"namespace": space} if space else {}
    return {"type": "function_call", "id": f"fc_{number}", **common, **call_of, "arguments": json.dumps(told)}


def response(model: str, tokens: int, output: list[dict[str, Any]]) -> dict[str, Any]:
    usage = {"input_tokens": tokens, "output_tokens": 30, "total_tokens": tokens + 30}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    whole = {"id": f"resp_{next(_numbers)}", "object": "response", "created_at": 0, "model": model}
    return {**whole, "status": "completed", "error": None, "output": output, "usage": {**usage, **details}}


def response_events(whole: dict[str, Any]) -> list[dict[str, Any]]:
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    said: list[dict[str, Any]] = [{"type": "response.created", "response": begun}]
    for index, item in enumerate(whole["output"]):
        said += [
            {"type": f"response.output_item.{what}", "output_index": index, "item": item} for what in ("added", "done")
        ]
    return [*said, {"type": "response.completed", "response": whole}]
