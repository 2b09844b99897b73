"""A smaller output limit after a refusal: in every dialect, and never one that the provider refuses again."""

import asyncio
import json

import pytest

from foldline import Budget, CannotFit, Compactor, validate
from foldline.errors import Overflow
from foldline.overflow import Excess
from foldline.recovery import USEFUL, Windows, believed, lowered, require_below, with_smaller_output
from foldline.testing import Session

LIMITS = {
    "anthropic": ("max_tokens",),
    "openai-chat": ("max_completion_tokens",),
    "openai-chat, as before": ("max_tokens",),
    "openai-responses": ("max_output_tokens",),
    "gemini": ("generationConfig", "maxOutputTokens"),
    "gemini, as protobuf": ("generation_config", "max_output_tokens"),
    "gemini, in its SDK": ("config", "max_output_tokens"),
}
THINKING = {
    "anthropic": ("thinking", "budget_tokens"),
    "openai-chat": ("reasoning", "max_tokens"),
    "gemini": ("generationConfig", "thinkingConfig", "thinkingBudget"),
    "gemini, as protobuf": ("generation_config", "thinking_config", "thinking_budget"),
    "gemini, in its SDK": ("config", "thinking_config", "thinking_budget"),
}
each = pytest.mark.parametrize("where", LIMITS)
thinking = pytest.mark.parametrize("where", THINKING)


class Refusal(Exception):
    """An SDK's error, as far as it is looked at."""

    def __init__(self, sent: int, wished: int, limit: int) -> None:
        said = f"input length and `max_tokens` exceed context limit: {sent} + {wished} > {limit}, decrease input length"
        self.status_code = 400
        self.body = {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
        super().__init__(said)


def put(request, path, value):
    first, *rest = path
    return {**request, first: put(request.get(first, {}), rest, value) if rest else value}


def dug(request, path):
    for step in path:
        request = request[step]
    return request


@each
def test_the_limit_is_lowered_where_each_dialect_keeps_it(where):
    request = put({"model": "m", "config": {"temperature": 1}}, LIMITS[where], 21_333)
    smaller = with_smaller_output(request, Refusal(188_240, 21_333, 200_000))
    assert smaller == put(request, LIMITS[where], 11_760)
    assert dug(request, LIMITS[where]) == 21_333, "what was given is not changed"


@thinking
def test_it_stays_above_what_may_be_thought(where):
    request = put({"model": "m"}, LIMITS[where], 21_333)
    refused = Refusal(188_240, 21_333, 200_000)
    assert with_smaller_output(put(request, THINKING[where], 16_000), refused) is None
    assert with_smaller_output(put(request, THINKING[where], 11_760), refused) is None
    assert with_smaller_output(put(request, THINKING[where], 11_760 - USEFUL + 1), refused) is None
    enough = put(request, THINKING[where], 11_760 - USEFUL)
    assert with_smaller_output(enough, refused) == put(enough, LIMITS[where], 11_760)


@each
def test_a_limit_with_no_room_for_an_answer_is_none(where):
    request = put({}, LIMITS[where], 64_000)
    assert lowered(request, Excess(200_000 - USEFUL + 1, 64_000, 200_000)) is None
    assert lowered(request, Excess(200_000 - USEFUL, 64_000, 200_000)) == (LIMITS[where], USEFUL)


def test_where_the_limit_is_small_enough_or_not_there_it_is_left():
    excess = Excess(15_000, 64_000, 20_000)
    for request in ({}, {"max_tokens": 5_000}, {"max_tokens": None}, {"generationConfig": None}, {"config": []}):
        assert lowered(request, excess) is None
    assert lowered({"max_tokens": 9_000, "thinking": {"type": "disabled"}}, excess) == (("max_tokens",), 5_000)
    as_it_likes = {"maxOutputTokens": 9_000, "thinkingConfig": {"thinkingBudget": -1}}
    assert lowered({"generationConfig": as_it_likes}, excess) == (("generationConfig", "maxOutputTokens"), 5_000)


def test_anything_that_is_no_such_refusal_changes_nothing():
    assert with_smaller_output({"max_tokens": 9_000}, ValueError("no")) is None
    assert with_smaller_output({"max_tokens": 9_000}, Refusal(200_001, 9_000, 200_000)) is None


def test_where_nothing_smaller_can_be_tried_that_is_raised_with_the_refusal_behind_it():
    cannot, refused = CannotFit("no", tokens=100, allowed=50), Refusal(101, 1, 100)
    require_below(cannot, 100, refused)
    with pytest.raises(CannotFit) as raised:
        require_below(cannot, 99, refused)
    assert (raised.value, raised.value.__cause__) == (cannot, refused)
    with pytest.raises(CannotFit) as raised:
        require_below(CannotFit("no", tokens=100), 99, {"type": "error"})
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("awaited", [False, True], ids=["call", "acall"])
def test_the_compactor_folds_where_a_smaller_output_would_be_refused_again(awaited):
    sent, limit = [], 20_000
    session = Session("anthropic", model="claude-x").user("Start.")
    for number in range(40):
        session.tools(("read", json.dumps({"path": f"a{number}.py"}), f"line {number} " * 130))
    budget = {"type": "enabled", "budget_tokens": 8_000}
    request = {**session.request(), "max_tokens": 9_500, "thinking": budget}

    def create(**given):
        sent.append(given)
        tokens = len(json.dumps(given)) // 4
        assert len(sent) > 1 or limit - 9_500 < tokens < limit - USEFUL, tokens
        if tokens + given["max_tokens"] > limit:
            raise Refusal(tokens, given["max_tokens"], limit)
        return {"content": []}

    async def acreate(**given):
        return create(**given)

    compactor = Compactor(Budget(window=200_000))
    if awaited:
        asyncio.run(compactor.acall(acreate, request))
    else:
        compactor.call(create, request)
    assert len(sent) > 1
    assert {given["max_tokens"] for given in sent} == {9_500}
    assert len(json.dumps(sent[-1])) < len(json.dumps(sent[0]))
    assert [one.rule for given in sent for one in validate(given, "anthropic") if one.rule == "thinking-budget"] == []


def told(tokens, limit):
    return Overflow("too long", tokens=tokens, limit=limit)


@pytest.mark.parametrize(
    ("tokens", "limit", "left"),
    [
        (9_500, 8_000, (9_500, 8_000)),
        (5_200, 4_800, (5_200, 4_800)),
        (900, 800, (None, None)),
        (None, 800, (None, 800)),
        (900, 200_000, (None, None)),
        (6_000, 200_000, (None, 200_000)),
    ],
)
def test_numbers_that_cannot_be_about_the_prompt_are_not_believed(tokens, limit, left):
    found = believed(told(tokens, limit), 9_000, 0)
    assert (found.tokens, found.limit) == left


def test_a_limit_below_what_was_answered_already_is_none():
    assert believed(told(20_000, 8_000), 15_000, 9_000).limit is None
    assert believed(told(20_000, 9_000), 15_000, 9_000).limit == 9_000


def test_the_smallest_limit_that_was_named_holds_until_more_than_that_is_answered():
    windows, budget = Windows(), Budget(window=200_000, reserve=20_000)
    for limit in (64_000, 32_000, 48_000, None):
        windows.named("m", limit)
    assert windows.within(budget, "m").window == 32_000
    assert windows.within(budget, "other") == budget
    windows.took("m", 32_000)
    assert windows.within(budget, "m").window == 32_000
    windows.took("m", 32_001)
    assert windows.within(budget, "m") == budget
    windows.named("m", 32_000)
    assert windows.within(budget, "m") == budget


def test_a_refusal_that_quotes_numbers_from_the_conversation_shrinks_no_later_turn():
    session = Session("openai-chat", model="m").user("Do it.")
    for _ in range(20):
        session.tools(("Bash", "{}", "words of a log here\n" * 60))
    compactor = Compactor(Budget(window=32_000))
    fitted = compactor.fit(session.request())
    compactor.learn(fitted, {"usage": {"prompt_tokens": fitted.receipt.tokens_after, "completion_tokens": 1}})
    again = compactor.on_overflow(fitted, Exception("bad input: 'prompt is too long: 900 tokens > 800 maximum'"))
    assert 0.5 < again.receipt.tokens_after / fitted.receipt.tokens_after < 1
    assert compactor.fit(session.request()).receipt.room == fitted.receipt.room
