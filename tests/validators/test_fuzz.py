"""No JSON value makes a validator fail: it answers with violations whose places exist."""

from __future__ import annotations

import copy
import random
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.validators import RULES, check

from .valid import WRITERS, conversation

KEYS = re.findall(
    r"\S+",
    """
    type role content text id name input tool_use_id is_error thinking signature data source media_type cache_control
    messages model max_tokens budget_tokens tools system betas tool_calls tool_call_id function arguments refusal
    call_id output summary encrypted_content execution contents parts functionCall functionResponse thoughtSignature
    function_call function_response args response systemInstruction previous_response_id conversation
    """,
)
WORDS = re.findall(
    r"\S+",
    """
    user assistant system tool model function text thinking redacted_thinking tool_use tool_result image base64 enabled
    server_tool_use web_search_tool_result message reasoning function_call function_call_output tool_search_call
    item_reference compaction claude-opus-4-8 claude-sonnet-4-5 gemini-3-pro gemini-2.5-flash t_1 t_2 fc_1 server custom
    """,
)

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([float("nan"), float("inf"), "\ud800", "\x00", ""])
    | st.sampled_from(WORDS)
    | st.text(max_size=8)
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner),
    max_leaves=40,
)
dialects = st.sampled_from(tuple(WRITERS))


def answers(payload: Any, dialect: str) -> None:
    """What holds of every answer."""
    before = copy.deepcopy(payload)
    found = check(payload, dialect)
    assert [payload] == [before]  # in a list, since NaN is itself but not equal to itself
    assert found == check(payload, dialect)
    for violation in found:
        assert violation.rule in RULES[dialect]
        assert violation.message is None or violation.message >= 0
        assert len(str(violation)) < 500


@given(values, dialects)
def test_any_json_gets_an_answer(payload: Any, dialect: str) -> None:
    answers(payload, dialect)


@given(st.lists(values, max_size=4), dialects)
def test_any_list_gets_an_answer(payload: Any, dialect: str) -> None:
    answers(payload, dialect)
    answers({"messages": payload, "input": payload, "contents": payload, "model": "gemini-3"}, dialect)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container in a value with each of its keys."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict | list):
            keys = list(one) if isinstance(one, dict) else range(len(one))
            found += [(one, key) for key in keys]
            stack += [one[key] for key in keys]
    return found


@given(st.integers(0, 10**6), dialects, st.lists(values, min_size=1, max_size=3))
def test_a_valid_request_with_anything_put_in_gets_an_answer(seed: int, dialect: str, strange: list[Any]) -> None:
    rng = random.Random(seed)
    request = conversation(dialect, rng, rng.randint(1, 3))
    for value in strange:
        container, key = rng.choice(places(request))
        container[key] = value
    answers(request, dialect)


@pytest.mark.parametrize("dialect", WRITERS)
def test_depth_and_width_do_not_matter(dialect: str) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    request = conversation(dialect, random.Random(1), 3)
    for key in ("messages", "input", "contents"):
        if key in request:
            request[key] += [deep, {"role": "user", "content": deep, "parts": deep}, *([{}] * 1000)]
    assert check(request, dialect)
    assert check(deep, dialect)


@pytest.mark.parametrize("dialect", WRITERS)
def test_numbers_too_long_to_print_do_not_matter(dialect: str) -> None:
    huge = 10**5000
    for place in range(len(places(conversation(dialect, random.Random(2), 3)))):
        request = conversation(dialect, random.Random(2), 3)
        container, key = places(request)[place]
        container[key] = huge
        assert all(str(violation) for violation in check(request, dialect))
    assert check(huge, dialect)
    assert check({"thinking": {"type": "enabled", "budget_tokens": huge}, "max_tokens": -huge}, dialect)
