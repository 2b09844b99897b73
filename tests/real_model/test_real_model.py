"""The whole line with a real model on loopback: asking it, its refusals, its bad answers, a long loop.

The model is far too small to judge a summary by. What is shown is that whatever it answers, every turn goes on.
"""

from __future__ import annotations

import asyncio
import json

import httpx2
import pytest

from foldline import Budget, Compactor, validate
from foldline.callers import caller
from foldline.core.asking import Ask
from foldline.errors import Overflow
from foldline.overflow import understand

from .serve import WINDOW

pytestmark = pytest.mark.xdist_group("real model")

APIS = {
    "openai-chat": ("openai-compatible:smollm2", "/v1", "/v1/chat/completions", "messages"),
    "openai-responses": ("openai-responses:smollm2", "/v1", "/v1/responses", "input"),
    "anthropic": ("anthropic:smollm2", "", "/v1/messages", "messages"),
}
TOO_LONG = "the quick brown fox jumps over the lazy dog and counts to 4711. " * 400
BRIEF = 160
"""Tokens of its replies: enough for a brief summary, and each takes it a tenth of a second."""
OUTCOMES = (
    "TimedOut",  # a busy machine
    "written",
    "does not have the sections",
    "length limit",
    "refused to write",
    "not taken",
    "nothing in the summary",
    "no text",
    "too large",
    "no room for any record",
    "did not answer in time",
)
"""What may come of asking it; anything else is a fault of ours."""


def model(dialect: str, url: str, **extra):
    name, base, _, _ = APIS[dialect]
    return caller(name, base_url=url + base, key="none", deadline=90, window=WINDOW, extra=extra)


def request_for(dialect: str, *texts: str) -> dict:
    slot = APIS[dialect][3]
    return {"model": "smollm2", "max_tokens": 8, slot: [{"role": "user", "content": text} for text in texts]}


def post(url: str, dialect: str):
    """A plain client of one API, which raises what the server refuses as an SDK would."""

    def create(**request):
        if dialect == "openai-responses":
            request["max_output_tokens"] = request.pop("max_tokens", 8)
        answer = httpx2.post(url + APIS[dialect][2], json=request, timeout=240)
        if answer.status_code != 200:
            raise RefusedError(answer)
        return answer.json()

    return create


class RefusedError(Exception):
    """What SDKs raise: a status and a body."""

    def __init__(self, answer) -> None:
        self.status_code, self.body = answer.status_code, answer.json()
        super().__init__(f"{answer.status_code}")


@pytest.mark.parametrize("dialect", APIS)
def test_it_answers_in_each_api(model_url, dialect):
    ask = Ask("You are brief.", "Say hello.", max_tokens=16)
    reply = model(dialect, model_url).ask(ask)
    assert reply.text.strip()
    assert asyncio.run(model(dialect, model_url).aask(ask)).text.strip()


@pytest.mark.parametrize("dialect", APIS)
def test_its_refusal_of_a_long_prompt_is_understood_with_its_numbers(model_url, dialect):
    with pytest.raises(RefusedError) as refused:
        post(model_url, dialect)(**request_for(dialect, TOO_LONG))
    said = understand(refused.value)
    assert isinstance(said, Overflow)
    assert said.limit == WINDOW
    assert said.tokens > WINDOW


@pytest.mark.parametrize("dialect", APIS)
def test_a_refused_call_is_folded_below_the_provider_s_own_limit(model_url, dialect):
    """The compactor believes in a window ten times too large; the provider's refusal teaches it."""
    compactor = Compactor(Budget(window=10 * WINDOW, reserve=64))
    request = request_for(dialect, "Count the foxes. Never wake the dog.", TOO_LONG, TOO_LONG, "How many were there?")
    calls = []

    def create(**sent):
        calls.append(sent)
        return post(model_url, dialect)(**sent)

    assert compactor.call(create, request)
    assert len(calls) > 1
    sizes = [len(json.dumps(sent)) for sent in calls]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)
    assert "Never wake the dog." in json.dumps(calls[-1])
    assert "How many were there?" in json.dumps(calls[-1])
    assert validate(calls[-1][APIS[dialect][3]], dialect) == []


def test_without_foldline_the_same_conversation_dies(model_url):
    with pytest.raises(RefusedError):
        post(model_url, "openai-chat")(**request_for("openai-chat", "Count.", TOO_LONG, "How many?"))


def garden(turns: int) -> list[dict]:
    """An agent's conversation that outgrows the window many times; one rule, told once, at turn three."""
    messages = [{"role": "system", "content": "You help with a garden."}]
    for turn in range(turns):
        rule = "The gate behind the shed stays shut, the goat is in there."
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "look", "arguments": f'{{"bed": {turn}}}'}}
        messages += [
            {"role": "user", "content": rule if turn == 3 else f"Bed {turn} has {turn} rows."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": f"bed {turn}: " + "carrot beet leek " * 25},
        ]
    return messages


def test_whatever_it_writes_as_a_summary_the_turn_goes_on(model_url):
    """Asked as the cheap model and as the fallback: repaired once each at the most, then extraction serves."""
    cheap, fallback = (model(dialect, model_url, max_tokens=BRIEF) for dialect in ("openai-chat", "anthropic"))
    compactor = Compactor(Budget(window=WINDOW, reserve=256), model=cheap, fallback=fallback, style="brief")
    fitted = compactor.compact({"model": "smollm2", "max_tokens": 4, "messages": garden(6)}, to=900)
    receipt = fitted.receipt
    outcomes = [attempt.outcome for attempt in receipt.attempts]
    assert receipt.action == "compact"
    assert 1 <= len(outcomes) <= 8
    assert [outcome for outcome in outcomes if not any(known in outcome for known in OUTCOMES)] == []
    assert receipt.author in (cheap.name, fallback.name, "extraction, without a model")
    assert (receipt.author == "extraction, without a model") == ("written" not in outcomes)
    assert "the goat is in there" in json.dumps(fitted.messages)
    assert validate(fitted.messages, "openai-chat") == []


def test_a_loop_of_sixty_turns_never_fails_and_forgets_no_rule(model_url):
    compactor = Compactor(Budget(window=WINDOW, reserve=256))
    create = post(model_url, "openai-chat")
    whole = garden(60)
    folds = 0
    for end in range(4, len(whole) + 1, 3):
        fitted = compactor.fit({"model": "smollm2", "max_tokens": 4, "messages": whole[:end]})
        assert validate(fitted.messages, "openai-chat") == []
        folds += fitted.receipt.action == "compact"
        if end in (91, len(whole)):  # the provider itself takes the view
            assert create(**fitted.request)["choices"]
    assert folds >= 5
    assert "the goat is in there" in json.dumps(fitted.messages)
    assert "You help with a garden." in json.dumps(fitted.messages)
