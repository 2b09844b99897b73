"""Usage: one meaning for every provider's numbers, from dicts and SDK objects alike."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.meter import Usage
from foldline.usage import usage_from

ANTHROPIC = {"input_tokens": 12, "cache_read_input_tokens": 900, "cache_creation_input_tokens": 88, "output_tokens": 5}
CHAT = {"prompt_tokens": 1_000, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 900}}
RESPONSES = {"input_tokens": 1_000, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 900}}
GEMINI = {"promptTokenCount": 1_000, "cachedContentTokenCount": 900, "candidatesTokenCount": 3, "thoughtsTokenCount": 2}
CASES = [
    ("anthropic", {"usage": ANTHROPIC}, Usage(1_000, 5, 900, 88)),
    ("openai-chat", {"usage": CHAT}, Usage(1_000, 5, 900, 0)),
    ("openai-responses", {"usage": RESPONSES}, Usage(1_000, 5, 900, 0)),
    ("gemini", {"usageMetadata": GEMINI}, Usage(1_000, 5, 900, 0)),
]


def objects(value):
    """The same as an SDK would give it: attributes instead of keys."""
    return SimpleNamespace(**{k: objects(v) for k, v in value.items()}) if isinstance(value, dict) else value


class Dumped:
    """An object that shows its fields only through a method."""

    def __init__(self, method, fields):
        setattr(self, method, lambda: fields)


@pytest.mark.parametrize(("dialect", "response", "usage"), CASES)
def test_the_whole_prompt_is_the_input_whatever_the_provider_leaves_out(dialect, response, usage):
    assert usage_from(dialect, response) == usage


@pytest.mark.parametrize(("dialect", "response", "usage"), CASES)
def test_sdk_objects_read_the_same(dialect, response, usage):
    assert usage_from(dialect, objects(response)) == usage
    assert usage_from(dialect, Dumped("model_dump", response)) == usage
    assert usage_from(dialect, Dumped("to_dict", response)) == usage


def test_gemini_objects_spell_their_fields_otherwise():
    fields = {"prompt_token_count": 70, "cached_content_token_count": None, "candidates_token_count": 4}
    assert usage_from("gemini", objects({"usage_metadata": fields})) == Usage(70, 4, 0, 0)


def test_stream_events_that_carry_a_response_are_read():
    assert usage_from("anthropic", {"type": "message_start", "message": {"usage": ANTHROPIC}}) == CASES[0][2]
    assert (
        usage_from("openai-responses", {"type": "response.completed", "response": {"usage": RESPONSES}}) == CASES[2][2]
    )


def test_cache_fields_may_be_null_or_missing():
    bare = {"input_tokens": 10, "cache_read_input_tokens": None, "output_tokens": 1}
    assert usage_from("anthropic", {"usage": bare}) == Usage(10, 1, 0, 0)
    assert usage_from("openai-responses", {"usage": bare}) == Usage(10, 1, 0, 0)
    assert usage_from("openai-chat", {"usage": {"prompt_tokens": 3, "prompt_tokens_details": None}}) == Usage(
        3, 0, 0, 0
    )


@pytest.mark.parametrize(
    ("dialect", "usage"),
    [
        ("anthropic", Usage(1_900, 5, 900, 0)),
        ("openai-responses", Usage(1_000, 5, 0, 0)),
        ("codex", Usage(1_000, 5, 0, 0)),
    ],
)
def test_where_no_details_tell_the_dialect_decides_whether_the_cache_is_in_the_input(dialect, usage):
    fields = {"input_tokens": 1_000, "cache_read_input_tokens": 900, "output_tokens": 5}
    assert usage_from(dialect, {"usage": fields}) == usage


@pytest.mark.parametrize(
    "response", [{}, {"usage": None}, {"usage": {"output_tokens": 4}}, {"message": "text"}, None, 7]
)
def test_a_response_without_usage_gives_none(response):
    assert usage_from("anthropic", response) is None


@pytest.mark.parametrize("odd", [True, "12", -1, float("nan"), float("inf"), [], {}])
def test_numbers_that_are_none_are_not_believed(odd):
    assert usage_from("anthropic", {"usage": {"input_tokens": odd}}) is None


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 10**6))
def test_anthropic_parts_always_sum_to_the_whole(fresh, read, written):
    fields = {"input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written}
    usage = usage_from("anthropic", {"usage": fields})
    assert usage == Usage(fresh + read + written, 0, read, written)


def step(kind, tokens):
    return {"type": kind, "input_tokens": tokens, "cache_read_input_tokens": 5, "output_tokens": 1}


SUM = {"input_tokens": 90_000, "output_tokens": 9, "server_tool_use": {"web_search_requests": 2}}
SERVED = [
    ("anthropic", {"usage": SUM}, None),
    ("anthropic", {"usage": {**SUM, "server_tool_use": {"web_search_requests": 0}}}, Usage(90_000, 9)),
    ("anthropic", {"usage": {**SUM, "server_tool_use": None}}, Usage(90_000, 9)),
    (
        "anthropic",
        {"usage": {**SUM, "iterations": [step("message", 20_000), step("message", 70_000)]}},
        Usage(20_005, 1, 5),
    ),
    ("anthropic", {"usage": {**SUM, "iterations": [step("message", 7), step("compaction", 9)]}}, Usage(12, 1, 5)),
    ("anthropic", {"usage": {**SUM, "iterations": [step("compaction", 9), step("message", 7)]}}, None),
    ("anthropic", {"usage": {**ANTHROPIC, "iterations": None}}, CASES[0][2]),
    ("openai-responses", {"output": [{"type": "web_search_call"}], "usage": RESPONSES}, None),
    ("openai-responses", {"response": {"output": [{"type": "mcp_call"}], "usage": RESPONSES}}, None),
    ("openai-responses", {"output": [{"type": "function_call"}], "usage": RESPONSES}, CASES[2][2]),
]


@pytest.mark.parametrize(("dialect", "response", "usage"), SERVED)
def test_a_sum_over_what_its_servers_asked_is_not_taken_for_the_prompt(dialect, response, usage):
    assert usage_from(dialect, response) == usage
    assert usage_from(dialect, Dumped("model_dump", response)) == usage
