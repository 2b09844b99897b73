"""The session as a request: Anthropic Messages, and OpenAI Chat Completions.

The two say the same. Chat Completions has no place for thinking, for signatures or for a result's error flag, so these
are not in it.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from session.names import seal, token
from session.perform import Beat
from session.script import Prompt, Step
from session.tools import MODEL, SYSTEM, TOOLS

Json = dict[str, Any]
CACHED = {"cache_control": {"type": "ephemeral"}}


def call_id(scene: str, step: int, call: int) -> str:
    return token("toolu_01", scene, step, call)


def blocks(scene: str, number: int, step: Step) -> list[Json]:
    """A step's content blocks."""
    thinking = [{"type": "thinking", "thinking": step.think, "signature": seal(step.think)}] if step.think else []
    text = [{"type": "text", "text": step.say}] if step.say else []
    calls = [
        {"type": "tool_use", "id": call_id(scene, number, n), "name": call.tool, "input": dict(call.input)}
        for n, call in enumerate(step.calls)
    ]
    return [*thinking, *text, *calls]


def results(scene: str, number: int, beat: Beat) -> list[Json]:
    """The tool results that answer a step."""
    return [
        {"type": "tool_result", "tool_use_id": call_id(scene, number, n), "content": outcome.text}
        | ({"is_error": True} if outcome.failed else {})
        for n, outcome in enumerate(beat.outcomes)
    ]


def prompt_content(prompt: Prompt) -> str | list[Json]:
    if prompt.image is None:
        return prompt.text
    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(prompt.image).decode("ascii")}
    return [{"type": "text", "text": prompt.text}, {"type": "image", "source": source}]


def anthropic(scene: str, beats: Sequence[Beat]) -> Json:
    messages = list(_anthropic_messages(scene, beats))
    messages[-1]["content"][-1] |= CACHED
    tools = [{"name": name, "description": text, "input_schema": schema} for name, text, schema in TOOLS]
    return {
        "model": MODEL,
        "max_tokens": 16000,
        "thinking": {"type": "enabled", "budget_tokens": 8000},
        "system": [{"type": "text", "text": SYSTEM, **CACHED}],
        "tools": tools,
        "messages": messages,
    }


def _anthropic_messages(scene: str, beats: Sequence[Beat]) -> Iterator[Json]:
    for number, beat in enumerate(beats):
        if isinstance(beat.item, Prompt):
            yield {"role": "user", "content": prompt_content(beat.item)}
            continue
        yield {"role": "assistant", "content": blocks(scene, number, beat.item)}
        if beat.outcomes:
            yield {"role": "user", "content": results(scene, number, beat)}


def openai_chat(scene: str, beats: Sequence[Beat]) -> Json:
    tools = [
        {"type": "function", "function": {"name": name, "description": text, "parameters": schema}}
        for name, text, schema in TOOLS
    ]
    messages = [{"role": "system", "content": SYSTEM}, *_openai_messages(scene, beats)]
    return {
        "model": "gpt-5",
        "max_completion_tokens": 16000,
        "parallel_tool_calls": True,
        "tools": tools,
        "messages": messages,
    }


def _openai_messages(scene: str, beats: Sequence[Beat]) -> Iterator[Json]:
    for number, beat in enumerate(beats):
        if isinstance(beat.item, Prompt):
            yield {"role": "user", "content": _openai_prompt(beat.item)}
            continue
        calls = [
            _openai_call(call_id(scene, number, n), call.tool, call.input) for n, call in enumerate(beat.item.calls)
        ]
        yield {"role": "assistant", "content": beat.item.say or None} | ({"tool_calls": calls} if calls else {})
        for n, outcome in enumerate(beat.outcomes):
            yield {"role": "tool", "tool_call_id": call_id(scene, number, n), "content": outcome.text}


def _openai_call(identifier: str, name: str, arguments: Mapping[str, Any]) -> Json:
    text = json.dumps(dict(arguments), ensure_ascii=False)
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": text}}


def _openai_prompt(prompt: Prompt) -> str | list[Json]:
    if prompt.image is None:
        return prompt.text
    url = "data:image/png;base64," + base64.b64encode(prompt.image).decode("ascii")
    return [{"type": "text", "text": prompt.text}, {"type": "image_url", "image_url": {"url": url, "detail": "auto"}}]
