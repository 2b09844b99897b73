"""Answers with tool calls, in the words of three dialects, whole and as streams: what an SDK needs to put one together.

A request whose newest message is the user's is answered with calls, any other with a text.
"""

from __future__ import annotations

import itertools
import json
from typing import Any

from aiohttp import web
from tests.proxy.provider import begin, streaming

Calls = tuple[tuple[str, dict[str, Any]], ...]
_numbers = itertools.count(1)
"""No two calls have the same id, as with every provider."""
_LAST = {"anthropic": "messages", "openai-chat": "messages", "openai-responses": "input"}


async def answer(request: web.Request, dialect: str, body: Any, tokens: int) -> web.StreamResponse:
    """The answer to a request."""
    number = next(_numbers)
    calls: Calls = (("look", {"bed": number}), ("smell", {"bed": number})) if asks(body[_LAST[dialect]]) else ()
    text = "" if calls else "The bed is fine."
    whole = message(dialect, text, calls, tokens)
    if not streaming(request, body):
        return web.json_response(whole)
    response = await begin(request)
    for event in events(dialect, whole, text, calls):
        await response.write(event)
    await response.write_eof()
    return response


def asks(messages: list[dict[str, Any]]) -> bool:
    """Whether the newest message is the user's own, and its results do not stand in notes before it."""
    last = messages[-1]
    if last.get("role") != "user" or "is not new: work on it has begun" in json.dumps(messages[-2:]):
        return False
    content = last["content"]
    return isinstance(content, str) or all("text" in block for block in content)


def message(dialect: str, text: str, calls: Calls, tokens: int) -> dict[str, Any]:
    """A whole answer."""
    return {"anthropic": _messages, "openai-chat": _chat, "openai-responses": _responses}[dialect](text, calls, tokens)


def _messages(text: str, calls: Calls, tokens: int) -> dict[str, Any]:
    said = [{"type": "text", "text": text}] if text else []
    uses = [{"type": "tool_use", "id": _id(name, told), "name": name, "input": told} for name, told in calls]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": said + uses,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": tokens, "output_tokens": 3},
    }


def _chat(text: str, calls: Calls, tokens: int) -> dict[str, Any]:
    said: dict[str, Any] = {"role": "assistant", "content": text or None}
    if calls:
        said["tool_calls"] = [
            {"id": _id(name, told), "type": "function", "function": {"name": name, "arguments": json.dumps(told)}}
            for name, told in calls
        ]
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": "tool_calls" if calls else "stop"}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 3, "total_tokens": tokens + 3},
    }


def _responses(text: str, calls: Calls, tokens: int) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    said = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content}
    items = [
        {
            "type": "function_call",
            "id": f"fc_{name}",
            "status": "completed",
            "call_id": _id(name, told),
            "name": name,
            "arguments": json.dumps(told),
        }
        for name, told in calls
    ]
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "m",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "output": items if calls else [said],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 3,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + 3,
        },
    }


def _id(name: str, told: dict[str, Any]) -> str:
    return f"call_{name}_{told['bed']}"


def events(dialect: str, whole: dict[str, Any], text: str, calls: Calls) -> list[bytes]:
    """The same answer as the events of a stream; arguments come in two pieces."""
    said = {"anthropic": _message_events, "openai-chat": _chat_events, "openai-responses": _response_events}[dialect](
        whole, text, calls
    )
    named = dialect != "openai-chat"
    lines = [(f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in said]
    return [line.encode() for line in lines] + ([] if named else [b"data: [DONE]\n\n"])


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _message_events(whole: dict[str, Any], text: str, calls: Calls) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        if block["type"] == "text":
            start, kind, key, pieces = {**block, "text": ""}, "text_delta", "text", _halves(text)
        else:
            start, kind, key = {**block, "input": {}}, "input_json_delta", "partial_json"
            pieces = _halves(json.dumps(block["input"]))
        said.append({"type": "content_block_start", "index": index, "content_block": start})
        said += [
            {"type": "content_block_delta", "index": index, "delta": {"type": kind, key: piece}} for piece in pieces
        ]
        said.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    return [
        *said,
        {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ]


def _chat_events(whole: dict[str, Any], text: str, calls: Calls) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _halves(text) if piece]
    for index, call in enumerate(whole["choices"][0]["message"].get("tool_calls", ())):
        first, second = _halves(call["function"]["arguments"])
        begun = {**call, "function": {**call["function"], "arguments": first}}
        deltas.append({"tool_calls": [{"index": index, **begun}]})
        deltas.append({"tool_calls": [{"index": index, "function": {"arguments": second}}]})
    base = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": whole["choices"][0]["finish_reason"]}
    return [*chunks, {**base, "choices": [end]}, {**base, "choices": [], "usage": whole["usage"]}]


def _response_events(whole: dict[str, Any], text: str, calls: Calls) -> list[dict[str, Any]]:
    said: list[dict[str, Any]] = [
        {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    ]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        if item["type"] == "message":
            part = item["content"][0]
            said.append({"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}})
            empty = {**part, "text": ""}
            said.append({"type": "response.content_part.added", **at, "content_index": 0, "part": empty})
            deltas = {"type": "response.output_text.delta", **at, "content_index": 0, "logprobs": []}
            said += [{**deltas, "delta": piece} for piece in _halves(text)]
            said.append({"type": "response.output_text.done", **at, "content_index": 0, "text": text, "logprobs": []})
            said.append({"type": "response.content_part.done", **at, "content_index": 0, "part": part})
        else:
            said.append(
                {"type": "response.output_item.added", "output_index": index, "item": {**item, "arguments": ""}}
            )
            deltas = {"type": "response.function_call_arguments.delta", **at}
            said += [{**deltas, "delta": piece} for piece in _halves(item["arguments"])]
            done = {"type": "response.function_call_arguments.done", **at, "name": item["name"]}
            said.append({**done, "arguments": item["arguments"]})
        said.append({"type": "response.output_item.done", "output_index": index, "item": item})
    said.append({"type": "response.completed", "response": whole})
    return [{**event, "sequence_number": number} for number, event in enumerate(said)]
