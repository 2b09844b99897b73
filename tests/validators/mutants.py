"""Ways to spoil a valid request. Each names the rule that must catch it.

A mutator changes the deep copy it is given. It raises Unfit where the request has nothing of its kind to spoil.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

Spoil = Callable[[dict[str, Any], random.Random], None]
Thing = TypeVar("Thing")

MUTATORS: dict[str, list[tuple[str, Spoil]]] = {name: [] for name in ("anthropic", "chat", "responses", "gemini")}


class Unfit(Exception):
    """Nothing here to spoil in this way."""


def breaks(dialect: str, rule: str) -> Callable[[Spoil], Spoil]:
    """Registers a mutator of `dialect` that breaks `rule`."""

    def register(spoil: Spoil) -> Spoil:
        MUTATORS[dialect].append((rule, spoil))
        return spoil

    return register


def spoiled(request: dict[str, Any], spoil: Spoil, rng: random.Random) -> dict[str, Any]:
    mutant = copy.deepcopy(request)
    spoil(mutant, rng)
    return mutant


def pick(rng: random.Random, things: Sequence[Thing]) -> Thing:
    if not things:
        raise Unfit
    return rng.choice(things)


# --- Anthropic


def blocks(request: dict[str, Any], *kinds: str) -> list[tuple[list[dict[str, Any]], dict[str, Any]]]:
    lists = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    return [(content, block) for content in lists for block in content if block["type"] in kinds]


def remove(request: dict[str, Any], content: list[dict[str, Any]], block: dict[str, Any]) -> None:
    """Takes a block out by identity; a message left empty goes with it."""
    content[:] = [other for other in content if other is not block]
    request["messages"] = [message for message in request["messages"] if message["content"] != []]


def asking(request: dict[str, Any]) -> list[int]:
    """The indices of messages that call client tools."""
    return [
        index
        for index, message in enumerate(request["messages"])
        if isinstance(message["content"], list) and any(block["type"] == "tool_use" for block in message["content"])
    ]


@breaks("anthropic", "call-unanswered")
def drop_result(request: dict[str, Any], rng: random.Random) -> None:
    remove(request, *pick(rng, blocks(request, "tool_result")))


@breaks("anthropic", "result-without-call")
def drop_call(request: dict[str, Any], rng: random.Random) -> None:
    remove(request, *pick(rng, blocks(request, "tool_use")))


@breaks("anthropic", "result-without-call")
def drop_asking_message(request: dict[str, Any], rng: random.Random) -> None:
    del request["messages"][pick(rng, asking(request))]


@breaks("anthropic", "call-unanswered")
def drop_answering_message(request: dict[str, Any], rng: random.Random) -> None:
    del request["messages"][pick(rng, asking(request)) + 1]


@breaks("anthropic", "call-unanswered")
def move_results_away(request: dict[str, Any], rng: random.Random) -> None:
    results = request["messages"].pop(pick(rng, asking(request)) + 1)
    request["messages"] += [{"role": "user", "content": "Well?"}, {"role": "assistant", "content": "Done."}, results]


@breaks("anthropic", "call-unanswered")
def end_with_a_call(request: dict[str, Any], rng: random.Random) -> None:
    del request["messages"][pick(rng, asking(request)) + 1 :]


@breaks("anthropic", "results-first")
def text_before_result(request: dict[str, Any], rng: random.Random) -> None:
    content, _ = pick(rng, blocks(request, "tool_result"))
    content.insert(0, {"type": "text", "text": "by the way"})


@breaks("anthropic", "results-first")
def message_before_results(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"].insert(pick(rng, asking(request)) + 1, {"role": "user", "content": "by the way"})


@breaks("anthropic", "duplicate-call")
def share_call_id(request: dict[str, Any], rng: random.Random) -> None:
    asked = [block for _, block in blocks(request, "tool_use")]
    later = pick(rng, asked[1:])
    later["id"] = asked[0]["id"]


@breaks("anthropic", "duplicate-result")
def answer_twice(request: dict[str, Any], rng: random.Random) -> None:
    content, block = pick(rng, blocks(request, "tool_result"))
    content.insert(0, copy.deepcopy(block))


@breaks("anthropic", "result-without-call")
def answer_another(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_result"))[1]["tool_use_id"] = "toolu_of_someone_else"


@breaks("anthropic", "first-role")
def start_with_assistant(request: dict[str, Any], rng: random.Random) -> None:
    roles = [message["role"] for message in request["messages"]]
    if "assistant" not in roles:
        raise Unfit
    del request["messages"][: roles.index("assistant")]


@breaks("anthropic", "role")
def foreign_role(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["messages"])["role"] = rng.choice(("tool", "developer", "", None, 7))


@breaks("anthropic", "system-place")
def system_on_old_model(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"].append({"role": "system", "content": "new rules"})


@breaks("anthropic", "system-place")
def system_first(request: dict[str, Any], rng: random.Random) -> None:
    del request["model"]
    request["messages"].insert(0, {"role": "system", "content": "rules"})


@breaks("anthropic", "system-place")
def system_after_assistant(request: dict[str, Any], rng: random.Random) -> None:
    request["model"] = "claude-opus-5"
    places = [index for index, message in enumerate(request["messages"]) if message["role"] == "assistant"]
    request["messages"].insert(pick(rng, places) + 1, {"role": "system", "content": "new rules"})


@breaks("anthropic", "block-role")
def user_calls(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"][pick(rng, asking(request))]["role"] = "user"


@breaks("anthropic", "block-role")
def assistant_answers(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"][pick(rng, asking(request)) + 1]["role"] = "assistant"


@breaks("anthropic", "content-empty")
def empty_message(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["messages"])["content"] = rng.choice(("", []))


@breaks("anthropic", "message-shape")
def content_missing(request: dict[str, Any], rng: random.Random) -> None:
    del pick(rng, request["messages"])["content"]


@breaks("anthropic", "message-shape")
def block_without_type(request: dict[str, Any], rng: random.Random) -> None:
    del pick(rng, blocks(request, "text", "tool_use", "tool_result", "thinking"))[1]["type"]


@breaks("anthropic", "text-empty")
def empty_text(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "text"))[1]["text"] = ""


@breaks("anthropic", "text-blank")
def blank_text(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "text"))[1]["text"] = rng.choice((" ", "\n\n", "\t"))


@breaks("anthropic", "call-shape")
def arguments_as_text(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_use"))[1]["input"] = rng.choice(('{"target": "a"}', None, []))


@breaks("anthropic", "call-shape")
def odd_call_id(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_use"))[1]["id"] = "functions.read:0"


@breaks("anthropic", "call-shape")
def nameless_call(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_use"))[1]["name"] = rng.choice(("", "n" * 201))


@breaks("anthropic", "result-shape")
def silent_error(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_result"))[1].update(content="", is_error=True)


@breaks("anthropic", "result-shape")
def result_of_nothing(request: dict[str, Any], rng: random.Random) -> None:
    del pick(rng, blocks(request, "tool_result"))[1]["tool_use_id"]


@breaks("anthropic", "result-shape")
def result_of_strings(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_result"))[1]["content"] = [rng.choice(("x = 1", {"text": "x = 1"}, None))]


@breaks("anthropic", "result-shape")
def result_as_object(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "tool_result"))[1]["content"] = rng.choice(({"stdout": "x"}, 5, True))


@breaks("anthropic", "thinking-sealed")
def thinking_without_words(request: dict[str, Any], rng: random.Random) -> None:
    del pick(rng, blocks(request, "thinking"))[1]["thinking"]


@breaks("anthropic", "thinking-sealed")
def unsealed(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "thinking"))[1]["signature"] = rng.choice(("", None))


@breaks("anthropic", "thinking-sealed")
def unsealed_redaction(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "redacted_thinking"))[1]["data"] = rng.choice(("", None))


@breaks("anthropic", "thinking-last")
def ends_thinking(request: dict[str, Any], rng: random.Random) -> None:
    answers = [message["content"] for message in request["messages"] if message["role"] == "assistant"]
    pick(rng, answers).append({"type": "thinking", "thinking": "so", "signature": "c2VhbA=="})


@breaks("anthropic", "block-role")
def user_thinks(request: dict[str, Any], rng: random.Random) -> None:
    thought = {"type": "thinking", "thinking": "so", "signature": "c2VhbA=="}
    pick(rng, blocks(request, "tool_result"))[0].append(thought)


@breaks("anthropic", "thinking-first")
def thinking_dropped_in_open_loop(request: dict[str, Any], rng: random.Random) -> None:
    if request.get("thinking", {}).get("type") != "enabled" or not isinstance(request["messages"][-1]["content"], list):
        raise Unfit
    if all(block["type"] != "tool_result" for block in request["messages"][-1]["content"]):
        raise Unfit
    for content, block in blocks(request, "thinking", "redacted_thinking"):
        remove(request, content, block)


@breaks("anthropic", "prefill")
def prefill_with_thinking(request: dict[str, Any], rng: random.Random) -> None:
    if "thinking" not in request:
        raise Unfit
    request["messages"].append({"role": "assistant", "content": "Certainly"})


@breaks("anthropic", "prefill")
def prefill_on_new_model(request: dict[str, Any], rng: random.Random) -> None:
    request["model"] = rng.choice(("claude-opus-4-6", "claude-sonnet-4-6", "claude-opus-5"))
    request["messages"].append({"role": "assistant", "content": "Certainly"})


@breaks("anthropic", "trailing-space")
def prefill_with_space(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"].append({"role": "assistant", "content": [{"type": "text", "text": "Certainly: "}]})


@breaks("anthropic", "thinking-off")
def thinking_while_off(request: dict[str, Any], rng: random.Random) -> None:
    request.pop("thinking", None)
    thought = {"type": "thinking", "thinking": "so", "signature": "c2VhbA=="}
    request["messages"].append({"role": "assistant", "content": [thought, {"type": "text", "text": "So"}]})


@breaks("anthropic", "thinking-budget")
def budget_over_limit(request: dict[str, Any], rng: random.Random) -> None:
    request["thinking"] = {"type": "enabled", "budget_tokens": request["max_tokens"]}


@breaks("anthropic", "thinking-budget")
def budget_too_small(request: dict[str, Any], rng: random.Random) -> None:
    request["thinking"] = {"type": "enabled", "budget_tokens": 1023}


@breaks("anthropic", "mark-count")
def five_marks(request: dict[str, Any], rng: random.Random) -> None:
    marked = [block for _, block in blocks(request, "tool_use", "tool_result")]
    if len(marked) < 4:  # the fifth is on the system prompt
        raise Unfit
    for block in rng.sample(marked, 4):
        block["cache_control"] = {"type": "ephemeral"}


@breaks("anthropic", "mark-place")
def mark_on_thinking(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "thinking", "redacted_thinking"))[1]["cache_control"] = {"type": "ephemeral"}


@breaks("anthropic", "mark-place")
def mark_on_empty_system(request: dict[str, Any], rng: random.Random) -> None:
    request["system"][0]["text"] = ""


@breaks("anthropic", "tools-missing")
def without_tools(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, asking(request))
    del request["tools"]


@breaks("anthropic", "image-source")
def odd_image(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, blocks(request, "image"))[1]["source"].update(rng.choice(({"media_type": "image/bmp"}, {"type": "path"})))


@breaks("anthropic", "image-source")
def odd_image_in_result(request: dict[str, Any], rng: random.Random) -> None:
    results = [block["content"] for _, block in blocks(request, "tool_result") if isinstance(block["content"], list)]
    pick(rng, results)[1]["source"]["media_type"] = "application/pdf"


@breaks("anthropic", "server-result-without-call")
def drop_server_call(request: dict[str, Any], rng: random.Random) -> None:
    remove(request, *pick(rng, blocks(request, "server_tool_use")))


@breaks("anthropic", "server-call-unanswered")
def drop_server_result(request: dict[str, Any], rng: random.Random) -> None:
    remove(request, *pick(rng, blocks(request, "web_search_tool_result")))
    request["messages"].append({"role": "user", "content": "go on"})


@breaks("anthropic", "payload-shape")
def no_messages(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"] = rng.choice(([], None, {}, "hello"))


# --- OpenAI Chat Completions


def speaking(request: dict[str, Any], role: str) -> list[dict[str, Any]]:
    return [message for message in request["messages"] if message["role"] == role]


def calling(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [message for message in request["messages"] if message.get("tool_calls")]


def calls(request: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for message in calling(request) for one in message["tool_calls"]]


def without(things: list[dict[str, Any]], thing: dict[str, Any]) -> None:
    things[:] = [other for other in things if other is not thing]


@breaks("chat", "call-unanswered")
def chat_drop_answer(request: dict[str, Any], rng: random.Random) -> None:
    without(request["messages"], pick(rng, speaking(request, "tool")))


@breaks("chat", "answer-without-call")
def chat_drop_call(request: dict[str, Any], rng: random.Random) -> None:
    message = pick(rng, calling(request))
    message["tool_calls"].pop(rng.randrange(len(message["tool_calls"])))
    if not message["tool_calls"]:
        del message["tool_calls"]
        message["content"] = "I shall look"


@breaks("chat", "answer-without-call")
def chat_drop_calling_message(request: dict[str, Any], rng: random.Random) -> None:
    without(request["messages"], pick(rng, calling(request)))


@breaks("chat", "call-unanswered")
def chat_move_answer_away(request: dict[str, Any], rng: random.Random) -> None:
    answer = pick(rng, speaking(request, "tool"))
    without(request["messages"], answer)
    request["messages"] += [{"role": "user", "content": "well?"}, answer]


@breaks("chat", "call-unanswered")
def chat_interrupt(request: dict[str, Any], rng: random.Random) -> None:
    index = request["messages"].index(pick(rng, calling(request)))
    request["messages"].insert(index + 1, {"role": "user", "content": "wait"})


@breaks("chat", "answer-without-call")
def chat_answer_another(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, speaking(request, "tool"))["tool_call_id"] = "call_of_someone_else"


@breaks("chat", "call-unanswered")
def chat_end_with_a_call(request: dict[str, Any], rng: random.Random) -> None:
    del request["messages"][request["messages"].index(pick(rng, calling(request))) + 1 :]


@breaks("chat", "duplicate-answer")
def chat_answer_twice(request: dict[str, Any], rng: random.Random) -> None:
    answer = pick(rng, speaking(request, "tool"))
    request["messages"].insert(request["messages"].index(answer), dict(answer))


@breaks("chat", "duplicate-call")
def chat_share_call_id(request: dict[str, Any], rng: random.Random) -> None:
    several = pick(rng, [message["tool_calls"] for message in calling(request) if len(message["tool_calls"]) > 1])
    several[1]["id"] = several[0]["id"]


@breaks("chat", "role")
def chat_foreign_role(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["messages"])["role"] = rng.choice(("model", "human", "", None, []))


@breaks("chat", "answer-without-call")
def chat_user_calls(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, calling(request)).update(role="user", content="hello")


@breaks("chat", "calls-empty")
def chat_no_calls(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, speaking(request, "assistant"))["tool_calls"] = rng.choice(([], "", {}))


@breaks("chat", "call-shape")
def chat_arguments_as_object(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, calls(request))["function"]["arguments"] = rng.choice(({"target": "a"}, None))


@breaks("chat", "call-shape")
def chat_nameless_call(request: dict[str, Any], rng: random.Random) -> None:
    call = pick(rng, calls(request))
    rng.choice((lambda: call["function"].update(name=""), lambda: call.update(id=""), lambda: call.pop("type")))()


@breaks("chat", "content")
def chat_nothing_said(request: dict[str, Any], rng: random.Random) -> None:
    said = [message for message in request["messages"] if not message.get("tool_calls")]
    pick(rng, said)["content"] = rng.choice((None, [], 5))


@breaks("chat", "part-kind")
def chat_foreign_part(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["messages"])["content"] = [{"type": rng.choice(("input_text", "tool_use", "image", None))}]


@breaks("chat", "part-kind")
def chat_picture_from_tool(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, speaking(request, "tool"))["content"] = [{"type": "image_url", "image_url": {"url": "https://e.org/a"}}]


@breaks("chat", "answer-shape")
def chat_answer_to_nothing(request: dict[str, Any], rng: random.Random) -> None:
    del pick(rng, speaking(request, "tool"))["tool_call_id"]


@breaks("chat", "answer-shape")
def chat_nameless_function(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"].append({"role": "function", "content": "12"})


@breaks("chat", "payload-shape")
def chat_no_messages(request: dict[str, Any], rng: random.Random) -> None:
    request["messages"] = rng.choice(([], None, "hello"))


# --- OpenAI Responses


def items(request: dict[str, Any], *kinds: str) -> list[dict[str, Any]]:
    return [item for item in request["input"] if item["type"] in kinds]


CALLS = ("function_call", "custom_tool_call")
OUTPUTS = ("function_call_output", "custom_tool_call_output")


@breaks("responses", "call-unanswered")
def item_drop_output(request: dict[str, Any], rng: random.Random) -> None:
    without(request["input"], pick(rng, items(request, *OUTPUTS)))


@breaks("responses", "output-without-call")
def item_drop_call(request: dict[str, Any], rng: random.Random) -> None:
    without(request["input"], pick(rng, items(request, *CALLS)))


@breaks("responses", "output-too-early")
def item_output_first(request: dict[str, Any], rng: random.Random) -> None:
    output = pick(rng, items(request, *OUTPUTS))
    without(request["input"], output)
    request["input"].insert(0, output)


@breaks("responses", "output-without-call")
def item_answer_another(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, items(request, *OUTPUTS))["call_id"] = "call_of_someone_else"


@breaks("responses", "output-without-call")
def item_other_kind(request: dict[str, Any], rng: random.Random) -> None:
    output = pick(rng, items(request, *OUTPUTS))
    output["type"] = next(kind for kind in OUTPUTS if kind != output["type"])


@breaks("responses", "duplicate-output")
def item_answer_twice(request: dict[str, Any], rng: random.Random) -> None:
    request["input"].append(dict(pick(rng, items(request, *OUTPUTS))))


@breaks("responses", "duplicate-call")
def item_call_twice(request: dict[str, Any], rng: random.Random) -> None:
    call = dict(pick(rng, items(request, *CALLS)))
    call.pop("id", None)
    request["input"].append(call)


@breaks("responses", "duplicate-item")
def item_twice(request: dict[str, Any], rng: random.Random) -> None:
    request["input"].append(dict(pick(rng, [item for item in request["input"] if "id" in item])))


@breaks("responses", "item-id")
def item_call_id_as_id(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, items(request, "reasoning", *CALLS))["id"] = "call_0123"


@breaks("responses", "reasoning-alone")
def item_reasoning_at_the_end(request: dict[str, Any], rng: random.Random) -> None:
    thought = pick(rng, items(request, "reasoning"))
    without(request["input"], thought)
    request["input"].append(thought)


@breaks("responses", "reasoning-alone")
def item_reasoning_before_user(request: dict[str, Any], rng: random.Random) -> None:
    index = request["input"].index(pick(rng, items(request, "reasoning")))
    request["input"].insert(index + 1, {"role": "user", "content": "wait"})


@breaks("responses", "reasoning-alone")
def item_reasoning_without_its_item(request: dict[str, Any], rng: random.Random) -> None:
    """The server knows the reasoning by id, and the item after it came without one."""
    index = request["input"].index(pick(rng, [item for item in items(request, "reasoning") if "id" in item]))
    del request["input"][index + 1]["id"]


@breaks("responses", "reasoning-late")
def item_reasoning_after_its_item(request: dict[str, Any], rng: random.Random) -> None:
    index = request["input"].index(pick(rng, [item for item in items(request, "reasoning") if "id" in item]))
    request["input"][index : index + 2] = reversed(request["input"][index : index + 2])


@breaks("responses", "part-kind")
def item_wrong_side(request: dict[str, Any], rng: random.Random) -> None:
    message = pick(rng, items(request, "message"))
    wrong = "output_text" if message["role"] == "user" else "input_text"
    message["content"][0]["type"] = rng.choice((wrong, "text", None))


@breaks("responses", "item-shape")
def item_foreign_role(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, items(request, "message"))["role"] = rng.choice(("tool", "model", None))


@breaks("responses", "item-shape")
def item_without_substance(request: dict[str, Any], rng: random.Random) -> None:
    item = pick(rng, items(request, "message", "reasoning"))
    del item["content" if item["type"] == "message" else "summary"]


@breaks("responses", "item-shape")
def item_without_type(request: dict[str, Any], rng: random.Random) -> None:
    del pick(rng, items(request, "reasoning", *CALLS))["type"]


@breaks("responses", "call-shape")
def item_misshapen_call(request: dict[str, Any], rng: random.Random) -> None:
    call = pick(rng, items(request, *CALLS))
    del call[rng.choice(("name", "call_id", "arguments" if call["type"] == "function_call" else "input"))]


@breaks("responses", "call-shape")
def item_no_output(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, items(request, *OUTPUTS))["output"] = rng.choice((None, 5, {}))


@breaks("responses", "payload-shape")
def item_no_input(request: dict[str, Any], rng: random.Random) -> None:
    request["input"] = rng.choice(([], None, {}))


# --- Gemini


def parts(request: dict[str, Any], field: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    return [(content, part) for content in request["contents"] for part in content["parts"] if field in part]


def turns(request: dict[str, Any], field: str) -> list[int]:
    return [
        index for index, content in enumerate(request["contents"]) if any(field in part for part in content["parts"])
    ]


def drop_part(request: dict[str, Any], content: dict[str, Any], part: dict[str, Any]) -> None:
    without(content["parts"], part)
    request["contents"] = [other for other in request["contents"] if other["parts"]]


@breaks("gemini", "call-unanswered")
def part_drop_response(request: dict[str, Any], rng: random.Random) -> None:
    drop_part(request, *pick(rng, parts(request, "functionResponse")))


@breaks("gemini", "response-without-call")
def part_drop_call(request: dict[str, Any], rng: random.Random) -> None:
    drop_part(request, *pick(rng, parts(request, "functionCall")))


@breaks("gemini", "response-without-call")
def turn_drop_call(request: dict[str, Any], rng: random.Random) -> None:
    del request["contents"][pick(rng, turns(request, "functionCall"))]


@breaks("gemini", "response-without-call")
def turn_interrupt(request: dict[str, Any], rng: random.Random) -> None:
    waiting = {"role": rng.choice(("user", "model")), "parts": [{"text": "wait"}]}
    request["contents"].insert(pick(rng, turns(request, "functionResponse")), waiting)


@breaks("gemini", "call-place")
def turn_call_after_model(request: dict[str, Any], rng: random.Random) -> None:
    request["contents"].insert(pick(rng, turns(request, "functionCall")), {"role": "model", "parts": [{"text": "so"}]})


@breaks("gemini", "call-unanswered")
def turn_end_with_a_call(request: dict[str, Any], rng: random.Random) -> None:
    del request["contents"][pick(rng, turns(request, "functionCall")) + 1 :]


@breaks("gemini", "response-without-call")
def part_answer_twice(request: dict[str, Any], rng: random.Random) -> None:
    content, part = pick(rng, parts(request, "functionResponse"))
    content["parts"].append(dict(part))


@breaks("gemini", "call-unanswered")
def turn_split_responses(request: dict[str, Any], rng: random.Random) -> None:
    several = [index for index in turns(request, "functionResponse") if len(request["contents"][index]["parts"]) > 1]
    index = pick(rng, several)
    rest = {"role": "user", "parts": request["contents"][index]["parts"][1:]}
    request["contents"][index]["parts"] = request["contents"][index]["parts"][:1]
    request["contents"].insert(index + 1, rest)


@breaks("gemini", "response-name")
def part_other_name(request: dict[str, Any], rng: random.Random) -> None:
    field = rng.choice(("name", "id"))
    pick(rng, parts(request, "functionResponse"))[1]["functionResponse"][field] = "someone_else"


@breaks("gemini", "response-mixed")
def part_text_beside_response(request: dict[str, Any], rng: random.Random) -> None:
    content, _ = pick(rng, parts(request, "functionResponse"))
    content["parts"].insert(rng.choice((0, 99)), {"text": "by the way"})


@breaks("gemini", "signature-missing")
def part_unsigned(request: dict[str, Any], rng: random.Random) -> None:
    last = [index for index, content in enumerate(request["contents"]) if content["role"] == "user"]
    asked = max(index for index in last if any("text" in part for part in request["contents"][index]["parts"]))
    open_calls = [
        part for content in request["contents"][asked:] for part in content["parts"] if "functionCall" in part
    ]
    del pick(rng, [part for part in open_calls if "thoughtSignature" in part])["thoughtSignature"]


@breaks("gemini", "role")
def turn_foreign_role(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["contents"])["role"] = rng.choice(("assistant", "system", "tool", None))


@breaks("gemini", "part-role")
def turn_swapped_role(request: dict[str, Any], rng: random.Random) -> None:
    content = request["contents"][pick(rng, turns(request, "functionCall") + turns(request, "functionResponse"))]
    content["role"] = "user" if content["role"] == "model" else "model"


@breaks("gemini", "first-role")
def turn_starts_with_model(request: dict[str, Any], rng: random.Random) -> None:
    roles = [content["role"] for content in request["contents"]]
    if "model" not in roles:
        raise Unfit
    del request["contents"][: roles.index("model")]


@breaks("gemini", "last-role")
def turn_ends_with_model(request: dict[str, Any], rng: random.Random) -> None:
    request["contents"].append({"role": "model", "parts": [{"text": "Certainly"}]})


@breaks("gemini", "parts-empty")
def turn_without_parts(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["contents"])["parts"] = rng.choice(([], None, "hello"))


@breaks("gemini", "part-data")
def part_without_data(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, request["contents"])["parts"].append(rng.choice(({}, {"thought": True}, {"thoughtSignature": "YQ=="})))


@breaks("gemini", "part-data")
def part_with_two(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, parts(request, "text"))[1]["inlineData"] = {"mimeType": "image/png", "data": "YQ=="}


@breaks("gemini", "part-shape")
def part_misshapen(request: dict[str, Any], rng: random.Random) -> None:
    field, inner = rng.choice((("functionCall", "args"), ("functionResponse", "response")))
    body = pick(rng, parts(request, field))[1][field]
    body.update(rng.choice(({"name": ""}, {inner: "text"})))


@breaks("gemini", "text-empty")
def part_empty_text(request: dict[str, Any], rng: random.Random) -> None:
    pick(rng, parts(request, "text"))[1]["text"] = ""


@breaks("gemini", "system-text")
def part_system_image(request: dict[str, Any], rng: random.Random) -> None:
    picture = {"parts": [{"inlineData": {"mimeType": "image/png", "data": "YQ=="}}]}
    request["systemInstruction"] = rng.choice((picture, {"parts": []}, "rules"))


@breaks("gemini", "payload-shape")
def turn_none(request: dict[str, Any], rng: random.Random) -> None:
    request["contents"] = rng.choice(([], None, "hello"))


def mutators(dialect: str) -> Iterator[tuple[str, Spoil]]:
    return iter(MUTATORS[dialect.removeprefix("openai-")])
