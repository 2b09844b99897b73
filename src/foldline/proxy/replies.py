"""The reply as the message it will come back as: put together from a body or from a stream's events. Pure.

    reply(dialect, said, streamed, framed) ──> elements of the dialect's list, none where there is no whole reply

Only for the archive: the client has had its bytes long before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foldline.proxy.signals import Events, loaded

Element = dict[str, Any]


def reply(dialect: str, said: bytes, *, streamed: bool, framed: bool = False) -> tuple[Element, ...]:
    """What the model said, as the client will send it back."""
    if not streamed:
        return _from_body(dialect, _loaded(said))
    events = [value for data in Events(framed).feed(said + b"\n\n") if (value := _loaded(data))]
    return _STREAMS[dialect](events)


def _from_body(dialect: str, body: Mapping[str, Any]) -> tuple[Element, ...]:
    if dialect == "anthropic":
        content = body.get("content")
        return ({"role": "assistant", "content": content},) if content else ()
    if dialect == "openai-responses":
        return tuple(_objects(body.get("output")))
    if dialect == "gemini":
        return tuple(item["content"] for item in _objects(body.get("candidates"))[:1] if _is_content(item))
    return tuple(item["message"] for item in _objects(body.get("choices"))[:1] if isinstance(item.get("message"), dict))


def _is_content(candidate: Mapping[str, Any]) -> bool:
    return isinstance(candidate.get("content"), dict) and bool(candidate["content"].get("parts"))


def _anthropic(events: Iterable[Mapping[str, Any]]) -> tuple[Element, ...]:
    blocks: dict[int, Element] = {}
    inputs: dict[int, str] = {}
    for event in events:
        index, delta = event.get("index", 0), event.get("delta") or {}
        if event.get("type") == "content_block_start":
            blocks[index] = dict(event.get("content_block") or {})
        elif event.get("type") == "content_block_delta" and index in blocks:
            if delta.get("type") == "input_json_delta":
                inputs[index] = inputs.get(index, "") + str(delta.get("partial_json", ""))
            else:
                blocks[index] = _extended(blocks[index], delta)
    for index, text in inputs.items():
        blocks[index]["input"] = _loaded(text.encode()) if text else blocks[index].get("input", {})
    content = [blocks[index] for index in sorted(blocks)]
    return ({"role": "assistant", "content": content},) if content else ()


def _extended(block: Element, delta: Mapping[str, Any]) -> Element:
    grown = {key: str(block.get(key) or "") + delta[key] for key in _GROWING if isinstance(delta.get(key), str)}
    return {**block, **grown}


_GROWING = ("text", "thinking", "signature")


def _chat(events: Iterable[Mapping[str, Any]]) -> tuple[Element, ...]:
    message: Element = {"role": "assistant", "content": None}
    calls: dict[int, Element] = {}
    for event in events:
        for choice in _objects(event.get("choices"))[:1]:
            delta = choice.get("delta") or {}
            if isinstance(delta.get("content"), str):
                message["content"] = (message["content"] or "") + delta["content"]
            for call in _objects(delta.get("tool_calls")):
                calls[call.get("index", 0)] = _grown_call(calls.get(call.get("index", 0)), call)
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return (message,) if calls or message["content"] else ()


def _grown_call(known: Element | None, delta: Mapping[str, Any]) -> Element:
    said = delta.get("function") or {}
    known = known or {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
    function = {key: known["function"][key] + (said.get(key) or "") for key in ("name", "arguments")}
    return {"id": delta.get("id") or known["id"], "type": "function", "function": function}


def _responses(events: Iterable[Mapping[str, Any]]) -> tuple[Element, ...]:
    ends = [event for event in events if event.get("type") in ("response.completed", "response.incomplete")]
    return tuple(_objects((ends[-1].get("response") or {}).get("output"))) if ends else ()


def _gemini(events: Iterable[Mapping[str, Any]]) -> tuple[Element, ...]:
    parts: list[Element] = []
    for event in events:
        for candidate in _objects(event.get("candidates"))[:1]:
            parts += _objects((candidate.get("content") or {}).get("parts"))
    return ({"role": "model", "parts": _merged(parts)},) if parts else ()


def _merged(parts: Iterable[Element]) -> list[Element]:
    """Pieces of one text are one part again."""
    merged: list[Element] = []
    for part in parts:
        if merged and part.keys() == merged[-1].keys() == {"text"}:
            merged[-1] = {"text": merged[-1]["text"] + part["text"]}
        else:
            merged.append(dict(part))
    return merged


_STREAMS = {"anthropic": _anthropic, "openai-chat": _chat, "openai-responses": _responses, "gemini": _gemini}


def _objects(value: object) -> list[Element]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _loaded(data: bytes) -> Mapping[str, Any]:
    value = loaded(data)
    return value if isinstance(value, dict) else {}


__all__ = ["reply"]
