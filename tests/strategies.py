"""Hypothesis strategies for whole requests, sound and broken, and for arbitrary JSON.

A conversation is drawn as a short list of numbers, its script; everything else follows from them without further
draws, so that an example costs little and shrinks by dropping or lowering numbers. The script is first turned into
turns that no dialect knows of (`User`, `Step`, `Results`, `System`), then written in the dialect asked for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from foldline.dialects import jsontext

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
FAULTS = ("orphan", "missing", "duplicate", "delayed", "reordered", "pending", "empty")

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOLS = ("read_file", "run", "edit_file", "search")
TEXTS = (
    "please look at the tests",
    "fix src/app/main.py: the second one fails",
    "请先看看日志，然后再改配置文件。",
    "ビルドが失敗しました。原因を調べてください。",
    "all green 🎉👩🏽‍💻 ship it",
    "cafe\u0301 nai\u0308ve Z\u0351\u036b\u0343\u032a\u0302algo",
    "never touch the vendor folder.\n\n- one\n- two\n",
    "مرحبا، ما هو الخطأ؟",
    '{"looks": "like json"} <summary>but</summary> is not \\ "quoted"',
)
SIZES = (12, 40, 0, 160, 700, 2_000, 2_100, 8_000)
"""Lengths of tool results: usual ones, none, around the length at which results are pruned, and large."""


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class User:
    texts: tuple[str, ...]
    image: bool = False
    marked: bool = False
    odd: bool = False


@dataclass(frozen=True)
class System:
    text: str


@dataclass(frozen=True)
class Step:
    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    odd: bool = False


@dataclass(frozen=True)
class Result:
    call: Call
    text: str
    failed: bool = False
    image: bool = False
    blocks: bool = False


@dataclass(frozen=True)
class Results:
    results: tuple[Result, ...]
    texts: tuple[str, ...] = field(default=())


Turn = User | System | Step | Results


class Dice:
    """A number taken apart, digit by digit; when it is used up, everything is 0, the plainest choice."""

    def __init__(self, number: int) -> None:
        self.number = number

    def roll(self, sides: int) -> int:
        self.number, digit = divmod(self.number, sides)
        return digit

    def chance(self, sides: int) -> bool:
        return self.roll(sides) == sides - 1


def conversations(dialect: str) -> st.SearchStrategy[dict[str, Any]]:
    """Whole valid requests of the dialect."""
    return _scripts().map(lambda script: _request(dialect, script, _turns(script)))


def broken(dialect: str) -> st.SearchStrategy[dict[str, Any]]:
    """The same with one to three faults that real histories have."""
    faults = st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=3)
    return st.tuples(_scripts(), faults).map(lambda drawn: _request(dialect, drawn[0], _spoil(*drawn)))


def json_values() -> st.SearchStrategy[Any]:
    """Arbitrary JSON as a reader would see it: odd floats, numbers beyond a float, big integers, lone surrogates."""
    numbers = st.one_of(st.integers(), st.integers(-(2**80), 2**80), st.floats(allow_nan=False, allow_infinity=False))
    odd = st.sampled_from((-0.0, 5e-324, 1.7976931348623157e308, 2**53 + 1, 2**64, 1.0, 1e22, Decimal("1E+400")))
    strings = st.one_of(st.text(max_size=8), st.sampled_from(("", "\ud800", "a\udfffb", "\x00", "\u2028", *TEXTS)))
    leaves = st.one_of(st.none(), st.booleans(), numbers, odd, strings)
    nested = st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
        max_leaves=6,
    )
    return nested.map(lambda value: jsontext.decode(jsontext.encode(value)))


def _scripts() -> st.SearchStrategy[list[int]]:
    """The first number makes the head, each further one a turn. Up to 24 bits Hypothesis draws evenly."""
    return st.lists(st.integers(0, 2**24 - 1), min_size=2, max_size=13)


def _turns(script: list[int]) -> list[Turn]:
    """The turns of a valid conversation: begins with the user, ends with the user or with results."""
    thoughtful = Dice(script[0]).chance(3)
    turns: list[Turn] = []
    for index, number in enumerate(script[1:]):
        dice = Dice(number)
        kind = dice.roll(8)
        if not turns or (kind < 2 and not isinstance(turns[-1], User)):
            turns.append(_user(dice, index))
        elif kind == 7:
            turns.append(System(f"Reminder {index}: {TEXTS[dice.roll(len(TEXTS))]}"))
        else:
            _add_step(turns, dice, index, thoughtful)
    if isinstance(turns[-1], Step):
        turns.append(User(("go on",)))
    return turns


def _user(dice: Dice, index: int) -> User:
    text = f"{TEXTS[dice.roll(len(TEXTS))]} ({index})"
    long = text * (1, 1, 1, 60)[dice.roll(4)]
    more = (f"<note>{index}</note>",) if dice.chance(3) else ()
    return User((long, *more), image=dice.chance(5), marked=dice.chance(4), odd=dice.chance(4))


def _add_step(turns: list[Turn], dice: Dice, index: int, thoughtful: bool) -> None:
    if isinstance(turns[-1], Step):
        turns.append(User((f"and then? ({index})",)))
    count = (1, 0, 2, 1, 3, 4)[dice.roll(6)]
    says = dice.roll(3)
    text = "" if count and says == 0 else f"{TEXTS[dice.roll(len(TEXTS))]} [{index}]"
    calls = tuple(_call(index, number, dice) for number in range(count))
    thinking = f"thinking about {index}" if thoughtful else ""
    turns.append(Step(text, thinking, calls, odd=dice.chance(4)))
    if calls:
        beside = (f"meanwhile: {index}",) if dice.chance(6) else ()
        turns.append(Results(tuple(_result(call, index + number) for number, call in enumerate(calls)), beside))


def _call(index: int, number: int, dice: Dice) -> Call:
    name = TOOLS[dice.roll(len(TOOLS))]
    arguments: dict[str, Any] = (
        {"path": f"src/m{index}_{number}.py"} if name != "run" else {"command": f"make t{index}"}
    )
    if dice.chance(3):
        arguments |= {"text": TEXTS[dice.roll(len(TEXTS))], "n": index, "deep": {"a": [1, None, True, 0.5]}}
    return Call(f"call_{index}_{number}", name, arguments)


def _result(call: Call, number: int) -> Result:
    mixed = (number * 2_654_435_761 + len(json.dumps(call.arguments)) * 40_503) >> 7
    dice = Dice(mixed % 2**24)
    size, line = SIZES[dice.roll(len(SIZES))], f"{call.id}: {TEXTS[dice.roll(len(TEXTS))]}\n"
    text = (line * (size // len(line) + 1))[:size]
    failed = dice.chance(5)
    return Result(call, text or ("exit 1" if failed else ""), failed, dice.chance(9), dice.chance(4))


def _spoil(script: list[int], faults: list[int]) -> list[Turn]:
    turns = _turns(script)
    for number in faults:
        dice = Dice(number)
        fault = FAULTS[dice.roll(len(FAULTS))]
        spoilt = _SPOILERS[fault](turns, dice)
        turns = _orphan(turns, dice) if spoilt == turns else spoilt
    return turns


def _places(turns: list[Turn], kind: type) -> list[int]:
    return [index for index, turn in enumerate(turns) if isinstance(turn, kind)]


def _orphan(turns: list[Turn], dice: Dice) -> list[Turn]:
    at = dice.roll(len(turns) + 1)
    lost = Results((Result(Call("call_lost", TOOLS[0], {}), "nobody asked"),))
    return [*turns[:at], lost, *turns[at:]]


def _missing(turns: list[Turn], dice: Dice) -> list[Turn]:
    places = _places(turns, Results)
    if not places:
        return turns
    at = places[dice.roll(len(places))]
    kept = turns[at].results[1:] if dice.chance(2) else ()
    return [*turns[:at], *([Results(kept)] if kept else []), *turns[at + 1 :]]


def _duplicate(turns: list[Turn], dice: Dice) -> list[Turn]:
    places = _places(turns, Results)
    if not places:
        return turns
    at = places[dice.roll(len(places))]
    if dice.chance(2):
        return [*turns[: at + 1], turns[at], *turns[at + 1 :]]
    return [*turns[: at + 1], *turns[at - 1 : at + 1], *turns[at + 1 :]]


def _delayed(turns: list[Turn], dice: Dice) -> list[Turn]:
    places = _places(turns, Results)
    if not places:
        return turns
    at = places[dice.roll(len(places))]
    to = min(len(turns), at + 2 + dice.roll(3))
    return [*turns[:at], *turns[at + 1 : to], User(("wait a moment",)), turns[at], *turns[to:]]


def _reordered(turns: list[Turn], dice: Dice) -> list[Turn]:
    first, second = sorted((dice.roll(len(turns)), dice.roll(len(turns))))
    swapped = list(turns)
    swapped[first], swapped[second] = turns[second], turns[first]
    return swapped


def _pending(turns: list[Turn], dice: Dice) -> list[Turn]:
    call = Call(f"call_open_{dice.roll(9)}", TOOLS[0], {"path": "open.py"})
    return [*turns, Step("one more", "", (call,))]


def _empty(turns: list[Turn], dice: Dice) -> list[Turn]:
    at = dice.roll(len(turns))
    turn = turns[at]
    if isinstance(turn, User):
        hollow: Turn = User(("",) if dice.chance(2) else ())
    elif isinstance(turn, Results):
        hollow = Results(tuple(replace(result, text="", image=False) for result in turn.results))
    else:
        hollow = Step() if isinstance(turn, Step) else System("")
    return [*turns[:at], hollow, *turns[at + 1 :]]


_SPOILERS: dict[str, Callable[[list[Turn], Dice], list[Turn]]] = {
    "orphan": _orphan,
    "missing": _missing,
    "duplicate": _duplicate,
    "delayed": _delayed,
    "reordered": _reordered,
    "pending": _pending,
    "empty": _empty,
}


def _request(dialect: str, script: list[int], turns: list[Turn]) -> dict[str, Any]:
    dice = Dice(script[0])
    thoughtful, unknown = dice.chance(3), dice.chance(3)
    request = _WRITERS[dialect](turns, thoughtful, dice)
    return request | ({"x_unknown": {"kept": [script[0], None]}} if unknown else {})


def _schema(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}, "title": name}


def _anthropic(turns: list[Turn], thoughtful: bool, dice: Dice) -> dict[str, Any]:
    marks = 4  # the provider allows no more in one request
    messages: list[dict[str, Any]] = []
    for turn in turns:
        if isinstance(turn, System):
            turn = User((f"<system-reminder>{turn.text}</system-reminder>",))
        message = _anthropic_message(turn, marks > 1)
        marks -= isinstance(turn, User) and turn.marked and marks > 1
        messages.append(message)
    mark = {"cache_control": {"type": "ephemeral"}}
    system: Any = "You are a careful engineer." if dice.chance(2) else [{"type": "text", "text": "Be brief.", **mark}]
    tools = [{"name": name, "description": f"does {name}", "input_schema": _schema(name)} for name in TOOLS]
    thinking = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if thoughtful else {}
    head = {"model": "claude-sonnet-4-5", "max_tokens": 4096, "system": system, "tools": tools}
    return {**head, **thinking, "messages": messages}


def _anthropic_message(turn: Turn, may_mark: bool) -> dict[str, Any]:
    if isinstance(turn, Step):
        blocks = [{"type": "thinking", "thinking": turn.thinking, "signature": "c2lnbmVk"}] if turn.thinking else []
        blocks += [{"type": "text", "text": turn.text}] if turn.text else []
        blocks += [{"type": "tool_use", "id": c.id, "name": c.name, "input": c.arguments} for c in turn.calls]
        return {"role": "assistant", "content": blocks, **({"x_odd": 1.5} if turn.odd else {})}
    if isinstance(turn, Results):
        said = [{"type": "text", "text": text} for text in turn.texts]
        return {"role": "user", "content": [*map(_anthropic_result, turn.results), *said]}
    assert isinstance(turn, User)
    if len(turn.texts) == 1 and not (turn.image or turn.marked or turn.odd):
        return {"role": "user", "content": turn.texts[0]}
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    blocks = [*([{"type": "image", "source": source}] if turn.image else [])]
    blocks += [{"type": "text", "text": text} for text in turn.texts]
    if turn.marked and may_mark and blocks:
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return {"role": "user", "content": blocks, **({"x_odd": {"deep": []}} if turn.odd else {})}


def _anthropic_result(result: Result) -> dict[str, Any]:
    content: Any = result.text
    if result.blocks or result.image:
        source = {"type": "base64", "media_type": "image/png", "data": PNG}
        content = [{"type": "text", "text": result.text}] if result.text else []
        content += [{"type": "image", "source": source}] if result.image else []
    failed = {"is_error": True} if result.failed else {}
    return {"type": "tool_result", "tool_use_id": result.call.id, "content": content, **failed}


def _chat(turns: list[Turn], thoughtful: bool, dice: Dice) -> dict[str, Any]:
    first = {"role": "developer" if dice.chance(3) else "system", "content": "You are a careful engineer."}
    messages = [first, *(message for turn in turns for message in _chat_messages(turn))]
    functions = [{"name": name, "description": f"does {name}", "parameters": _schema(name)} for name in TOOLS]
    tools = [{"type": "function", "function": function} for function in functions]
    effort = {"reasoning_effort": "high"} if thoughtful else {}
    return {"model": "gpt-5-mini", "max_completion_tokens": 4096, "tools": tools, **effort, "messages": messages}


def _chat_messages(turn: Turn) -> list[dict[str, Any]]:
    if isinstance(turn, System):
        return [{"role": "system", "content": turn.text}]
    if isinstance(turn, Step):
        return [_chat_step(turn)]
    if isinstance(turn, Results):
        said = [{"role": "user", "content": text} for text in turn.texts]
        return [*map(_chat_result, turn.results), *said]
    if len(turn.texts) == 1 and not (turn.image or turn.marked):
        return [{"role": "user", "content": turn.texts[0], **({"name": "ada", "x_odd": None} if turn.odd else {})}]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in turn.texts]
    blocks += [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}] if turn.image else []
    return [{"role": "user", "content": blocks}]


def _chat_step(turn: Step) -> dict[str, Any]:
    functions = [(c.id, {"name": c.name, "arguments": json.dumps(c.arguments)}) for c in turn.calls]
    calls = [{"id": id_, "type": "function", "function": function} for id_, function in functions]
    message: dict[str, Any] = {"role": "assistant", "content": turn.text or (None if calls else "")}
    message |= {"tool_calls": calls} if calls else {}
    message |= {"reasoning_content": turn.thinking} if turn.thinking else {}
    return message | ({"refusal": None, "annotations": []} if turn.odd else {})


def _chat_result(result: Result) -> dict[str, Any]:
    text = f"Error: {result.text}" if result.failed else result.text
    content = [{"type": "text", "text": text}] if result.blocks and text else text
    return {"role": "tool", "tool_call_id": result.call.id, "content": content}


def _responses(turns: list[Turn], thoughtful: bool, dice: Dice) -> dict[str, Any]:
    items = [item for index, turn in enumerate(turns) for item in _response_items(turn, index)]
    tools = [{"type": "function", "name": name, "parameters": _schema(name), "strict": False} for name in TOOLS]
    reasoning = {"reasoning": {"effort": "medium"}, "include": ["reasoning.encrypted_content"]} if thoughtful else {}
    instructions = {"instructions": "You are a careful engineer."} if dice.chance(2) else {}
    return {"model": "gpt-5", "max_output_tokens": 4096, **instructions, "tools": tools, **reasoning, "input": items}


def _response_items(turn: Turn, index: int) -> list[dict[str, Any]]:
    if isinstance(turn, System):
        return [{"type": "message", "role": "developer", "content": [{"type": "input_text", "text": turn.text}]}]
    if isinstance(turn, Step):
        return _response_step(turn, index)
    if isinstance(turn, Results):
        said = [{"role": "user", "content": text} for text in turn.texts]
        return [*map(_response_result, turn.results), *said]
    if len(turn.texts) == 1 and not (turn.image or turn.odd):
        return [{"role": "user", "content": turn.texts[0]}]
    blocks: list[dict[str, Any]] = [{"type": "input_text", "text": text} for text in turn.texts]
    blocks += [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}] if turn.image else []
    return [{"type": "message", "role": "user", "content": blocks}]


def _response_step(turn: Step, index: int) -> list[dict[str, Any]]:
    summary = [{"type": "summary_text", "text": turn.thinking}]
    thought = {"type": "reasoning", "id": f"rs_{index}", "summary": summary, "encrypted_content": "ZW5jcnlwdGVk"}
    said = {"type": "output_text", "text": turn.text, "annotations": []}
    message = {"type": "message", "id": f"msg_{index}", "role": "assistant", "status": "completed", "content": [said]}
    calls = [
        {"type": "function_call", "call_id": c.id, "name": c.name, "arguments": json.dumps(c.arguments)}
        for c in turn.calls
    ]
    items = [thought] if turn.thinking else []
    items += [message] if turn.text or not calls else []
    return [*items, *(call | ({"id": f"fc_{call['call_id']}"} if turn.odd else {}) for call in calls)]


def _response_result(result: Result) -> dict[str, Any]:
    text = f"Error: {result.text}" if result.failed else result.text
    output: Any = text
    if (result.blocks and text) or result.image:
        output = [{"type": "input_text", "text": text or "see the picture"}]
        output += [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}] if result.image else []
    return {"type": "function_call_output", "call_id": result.call.id, "output": output}


def _gemini(turns: list[Turn], thoughtful: bool, dice: Dice) -> dict[str, Any]:
    numbered, snake = dice.chance(3), dice.chance(4)
    contents: list[dict[str, Any]] = []
    for turn in turns:
        if isinstance(turn, System):
            turn = User((turn.text,))
        for content in _gemini_contents(turn, numbered, snake):
            _add_content(contents, content)
    functions = [{"name": name, "description": f"does {name}", "parameters": _schema(name)} for name in TOOLS]
    thinking = {"thinkingConfig": {"includeThoughts": True}} if thoughtful else {}
    config = {"maxOutputTokens": 4096, **thinking}
    system = {"parts": [{"text": "You are a careful engineer."}]}
    tools = [{"functionDeclarations": functions}]
    return {"systemInstruction": system, "tools": tools, "generationConfig": config, "contents": contents}


def _add_content(contents: list[dict[str, Any]], content: dict[str, Any]) -> None:
    """User and model take turns; two of the user's in a row get a word of the model's between them."""
    if contents and contents[-1]["role"] == content["role"] == "user":
        contents.append({"role": "model", "parts": [{"text": "Understood."}]})
    contents.append(content)


def _gemini_contents(turn: Turn, numbered: bool, snake: bool) -> list[dict[str, Any]]:
    if isinstance(turn, Step):
        return [{"role": "model", "parts": _gemini_step(turn, numbered, snake)}]
    if isinstance(turn, Results):
        answers = {"role": "user", "parts": [_gemini_result(result, numbered, snake) for result in turn.results]}
        return [answers, *({"role": "user", "parts": [{"text": text}]} for text in turn.texts)]
    assert isinstance(turn, User)
    blob = (
        {"inline_data": {"mime_type": "image/png", "data": PNG}}
        if snake
        else {"inlineData": {"mimeType": "image/png", "data": PNG}}
    )
    parts: list[dict[str, Any]] = [{"text": text} for text in turn.texts]
    parts += [blob] if turn.image else []
    return [{"role": "user", "parts": parts, **({"xOdd": [None]} if turn.odd else {})}]


def _gemini_step(turn: Step, numbered: bool, snake: bool) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": turn.thinking, "thought": True}] if turn.thinking else []
    parts += [{"text": turn.text}] if turn.text else []
    key, signature = ("function_call", "thought_signature") if snake else ("functionCall", "thoughtSignature")
    for number, call in enumerate(turn.calls):
        named = {"id": call.id} if numbered else {}
        signed = {signature: "c2lnbmVk"} if turn.thinking and number == 0 else {}
        parts.append({key: {**named, "name": call.name, "args": call.arguments}, **signed})
    return parts


def _gemini_result(result: Result, numbered: bool, snake: bool) -> dict[str, Any]:
    response: dict[str, Any] = {"error" if result.failed else "output": result.text}
    if result.blocks:
        response = {"lines": result.text.split("\n"), "ok": not result.failed}
    key = "function_response" if snake else "functionResponse"
    return {key: {**({"id": result.call.id} if numbered else {}), "name": result.call.name, "response": response}}


_WRITERS: dict[str, Callable[[list[Turn], bool, Dice], dict[str, Any]]] = {
    "anthropic": _anthropic,
    "openai-chat": _chat,
    "openai-responses": _responses,
    "gemini": _gemini,
}
