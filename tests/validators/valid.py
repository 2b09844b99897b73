"""Valid requests of every dialect, made from a seed. One script of a conversation, written in four dialects.

The script is varied where real ones vary: parallel calls, thinking, images, errors, system prompts, text beside
calls, neighbouring messages of one role. Every request ends where a client would send it: with the user's words
or with the results of the last step.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

WORDS = ("the", "build", "fails", "because", "a", "header", "moved", "please", "look", "at", "parser.c", "and", "tell")
TOOLS = ("read_file", "run_command", "search_code")
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any]
    result: str
    failed: bool
    pictured: bool


@dataclass(frozen=True)
class Step:
    """One answer of the model: perhaps thinking, perhaps text, perhaps calls; a step without calls has text."""

    thinking: bool
    text: str
    calls: tuple[Call, ...]


@dataclass(frozen=True)
class Exchange:
    """What the user says, and the steps that follow. The last exchange may have none, or end with calls."""

    said: str
    pictured: bool
    steps: tuple[Step, ...]


def conversation(dialect: str, rng: random.Random, turns: int) -> dict[str, Any]:
    """A whole valid request with `turns` user turns."""
    return WRITERS[dialect](script(rng, max(turns, 1)), rng)


def script(rng: random.Random, turns: int) -> list[Exchange]:
    exchanges = [exchange(rng, done=True) for _ in range(turns - 1)]
    return [*exchanges, exchange(rng, done=False)]


def exchange(rng: random.Random, *, done: bool) -> Exchange:
    steps = [step(rng, first=place == 0, called=True) for place in range(rng.randint(0, 3))]
    if done:
        steps.append(step(rng, first=not steps, called=False))
    return Exchange(sentence(rng), rng.random() < 0.2, tuple(steps))


def step(rng: random.Random, *, first: bool, called: bool) -> Step:
    calls = tuple(call(rng) for _ in range(rng.choice((1, 1, 2, 3)))) if called else ()
    text = sentence(rng) if not called or rng.random() < 0.4 else ""
    return Step(first or rng.random() < 0.3, text, calls)


def call(rng: random.Random) -> Call:
    name, failed = rng.choice(TOOLS), rng.random() < 0.2
    result = "error: no such file" if failed else sentence(rng)
    return Call(token(rng), name, {"target": rng.choice(WORDS)}, result, failed, rng.random() < 0.1)


def sentence(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(3, 12)))


def token(rng: random.Random) -> str:
    return f"{rng.getrandbits(96):024x}"


def anthropic(exchanges: list[Exchange], rng: random.Random) -> dict[str, Any]:
    mode = rng.choice(("enabled", "adaptive", ""))
    messages: list[dict[str, Any]] = []
    for part in exchanges:
        messages += _anthropic_user(part, rng)
        for one in part.steps:
            messages.append({"role": "assistant", "content": list(_anthropic_blocks(one, mode, rng))})
            if one.calls:
                messages += _anthropic_results(one, rng)
    schema = {"type": "object", "properties": {"target": {"type": "string"}}}
    request: dict[str, Any] = {
        "model": "claude-sonnet-4-5-20250929",
        "max_tokens": 16000,
        "system": [{"type": "text", "text": "You help with code.", "cache_control": {"type": "ephemeral"}}],
        "tools": [{"name": name, "description": "A tool.", "input_schema": schema} for name in TOOLS],
        "messages": messages,
    }
    if mode:
        request["thinking"] = {"type": mode} | ({"budget_tokens": 4000} if mode == "enabled" else {})
    return request


def _anthropic_user(part: Exchange, rng: random.Random) -> Iterator[dict[str, Any]]:
    if part.pictured:
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        yield {"role": "user", "content": [{"type": "text", "text": part.said}, {"type": "image", "source": source}]}
    elif rng.random() < 0.1:
        yield {"role": "user", "content": "<reminder>today is Tuesday</reminder>"}
        yield {"role": "user", "content": [{"type": "text", "text": part.said}]}
    else:
        yield {"role": "user", "content": part.said}


def _anthropic_blocks(one: Step, mode: str, rng: random.Random) -> Iterator[dict[str, Any]]:
    if mode and one.thinking and rng.random() < 0.1:
        yield {"type": "redacted_thinking", "data": token(rng)}
    elif mode and one.thinking:
        yield {"type": "thinking", "thinking": sentence(rng), "signature": token(rng)}
    if rng.random() < 0.1:
        search = f"srvtoolu_{token(rng)}"
        yield {"type": "server_tool_use", "id": search, "name": "web_search", "input": {"query": sentence(rng)}}
        yield {"type": "web_search_tool_result", "tool_use_id": search, "content": []}
    if one.text:
        yield {"type": "text", "text": one.text}
    for asked in one.calls:
        yield {"type": "tool_use", "id": f"toolu_{asked.id}", "name": asked.name, "input": asked.arguments}


def _anthropic_results(one: Step, rng: random.Random) -> Iterator[dict[str, Any]]:
    blocks = [_anthropic_result(asked) for asked in rng.sample(one.calls, len(one.calls))]
    if rng.random() < 0.1:  # results of one step in two messages, which the API joins
        yield {"role": "user", "content": blocks[:1]}
        blocks = blocks[1:]
    if rng.random() < 0.2:
        blocks.append({"type": "text", "text": "<reminder>the tests are slow</reminder>"})
    if blocks:
        yield {"role": "user", "content": blocks}


def _anthropic_result(asked: Call) -> dict[str, Any]:
    content: Any = asked.result
    if asked.pictured:
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        content = [{"type": "text", "text": asked.result}, {"type": "image", "source": source}]
    failed = {"is_error": True} if asked.failed else {}
    return {"type": "tool_result", "tool_use_id": f"toolu_{asked.id}", "content": content} | failed


def openai_chat(exchanges: list[Exchange], rng: random.Random) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"role": rng.choice(("system", "developer")), "content": "You help with code."}]
    for part in exchanges:
        picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
        messages.append(
            {"role": "user", "content": [{"type": "text", "text": part.said}, picture] if part.pictured else part.said}
        )
        for one in part.steps:
            messages.append(_chat_answer(one))
            messages += [
                {"role": "tool", "tool_call_id": f"call_{asked.id}", "content": asked.result}
                for asked in rng.sample(one.calls, len(one.calls))
            ]
    functions = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in TOOLS]
    return {"model": "gpt-4o", "messages": messages, "tools": functions}


def _chat_answer(one: Step) -> dict[str, Any]:
    calls = [
        {
            "id": f"call_{asked.id}",
            "type": "function",
            "function": {"name": asked.name, "arguments": json.dumps(asked.arguments)},
        }
        for asked in one.calls
    ]
    return {"role": "assistant", "content": one.text or None} | ({"tool_calls": calls} if calls else {})


def openai_responses(exchanges: list[Exchange], rng: random.Random) -> dict[str, Any]:
    kept, items = rng.choice((True, False)), list[dict[str, Any]]()
    for part in exchanges:
        content: list[dict[str, Any]] = [{"type": "input_text", "text": part.said}]
        if part.pictured:
            content.append({"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"})
        items.append({"type": "message", "role": "user", "content": content})
        for one in part.steps:
            items += _responses_step(one, rng, kept=kept)
    functions = [{"type": "function", "name": name, "parameters": {"type": "object"}} for name in TOOLS]
    return {"model": "gpt-5", "instructions": "You help with code.", "input": items, "tools": functions, "store": kept}


def _responses_step(one: Step, rng: random.Random, *, kept: bool) -> Iterator[dict[str, Any]]:
    """`kept`: the server stores the items and knows them by id; else they travel encrypted and without one."""
    response = f"{rng.getrandbits(64):016x}00"

    def named(prefix: str) -> dict[str, Any]:
        return {"id": f"{prefix}_{response}{rng.getrandbits(128):032x}"} if kept else {}

    if one.thinking:
        yield {"type": "reasoning", "summary": []} | (named("rs") if kept else {"encrypted_content": token(rng)})
    if one.text:
        content = [{"type": "output_text", "text": one.text, "annotations": []}]
        yield {"type": "message", "role": "assistant", "content": content} | named("msg")
    for asked in one.calls:
        custom = asked.name == "run_command"
        kind, field = ("custom_tool_call", "input") if custom else ("function_call", "arguments")
        body = {"type": kind, "call_id": f"call_{asked.id}", "name": asked.name, field: json.dumps(asked.arguments)}
        yield body | named("ctc" if custom else "fc")
    for asked in rng.sample(one.calls, len(one.calls)):
        kind = "custom_tool_call_output" if asked.name == "run_command" else "function_call_output"
        yield {"type": kind, "call_id": f"call_{asked.id}", "output": asked.result}


def gemini(exchanges: list[Exchange], rng: random.Random) -> dict[str, Any]:
    contents: list[dict[str, Any]] = []
    for part in exchanges:
        parts: list[dict[str, Any]] = [{"text": part.said}]
        if part.pictured:
            parts.append({"inlineData": {"mimeType": "image/png", "data": PIXEL}})
        contents.append({"role": "user", "parts": parts})
        for one in part.steps:
            contents.append({"role": "model", "parts": list(_gemini_parts(one, rng))})
            if one.calls:
                contents.append({"role": "user", "parts": [_gemini_response(asked) for asked in one.calls]})
    return {
        "model": rng.choice(("gemini-3-pro-preview", "models/gemini-3-flash")),
        "systemInstruction": {"parts": [{"text": "You help with code."}]},
        "contents": contents,
        "tools": [{"functionDeclarations": [{"name": name, "description": "A tool."} for name in TOOLS]}],
    }


def _gemini_parts(one: Step, rng: random.Random) -> Iterator[dict[str, Any]]:
    if one.thinking and rng.random() < 0.5:
        yield {"text": sentence(rng), "thought": True}
    if one.text:
        yield {"text": one.text}
    for place, asked in enumerate(one.calls):
        body = {"functionCall": {"id": asked.id, "name": asked.name, "args": asked.arguments}}
        yield body if place else {**body, "thoughtSignature": token(rng)}


def _gemini_response(asked: Call) -> dict[str, Any]:
    field = "error" if asked.failed else "output"
    return {"functionResponse": {"id": asked.id, "name": asked.name, "response": {field: asked.result}}}


WRITERS: dict[str, Callable[[list[Exchange], random.Random], dict[str, Any]]] = {
    "anthropic": anthropic,
    "openai-chat": openai_chat,
    "openai-responses": openai_responses,
    "gemini": gemini,
}
