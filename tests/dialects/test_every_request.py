"""What holds for the requests of every provider: what comes in goes out, and nothing that comes in is too odd."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.helpers import (
    assert_comes_back,
    assert_detected,
    assert_object_survives,
    assert_parts_suffice,
    assert_stubs_fit,
    elements,
    read,
)
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.gemini import Gemini
from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.openai_responses import OpenAIResponses
from strategies import broken, conversations, json_values

MANY = settings(max_examples=200, deadline=None)
DIALECTS = {
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "openai-chat": OpenAIChat(),
    "openai-responses": OpenAIResponses(),
}
every_dialect = pytest.mark.parametrize(("name", "dialect"), DIALECTS.items(), ids=DIALECTS)


@every_dialect
@MANY
@given(data=st.data())
def test_a_request_comes_back_as_it_was(name, dialect, data):
    assert_comes_back(dialect, data.draw(conversations(name)))


@every_dialect
@MANY
@given(data=st.data())
def test_the_parts_alone_make_the_same_request(name, dialect, data):
    assert_parts_suffice(dialect, data.draw(conversations(name)))


@every_dialect
@MANY
@given(data=st.data())
def test_faults_come_back_as_they_were(name, dialect, data):
    assert_parts_suffice(dialect, data.draw(broken(name)))


@every_dialect
@settings(max_examples=400, deadline=None)
@given(data=st.data())
def test_almost_fitting_elements_survive(name, dialect, data):
    element = data.draw(elements(dialect))
    assert_object_survives(dialect, element)
    assert_parts_suffice(dialect, [element])


@every_dialect
@MANY
@given(value=json_values())
def test_any_json_survives(name, dialect, value):
    assert_object_survives(dialect, {"role": value, "content": value, "parts": value, "type": value})
    assert_object_survives(dialect, value if isinstance(value, dict) else {"x": value})


@every_dialect
@MANY
@given(value=json_values())
def test_detection_never_fails(name, dialect, value):
    for document in (
        value,
        [value],
        {dialect.slot: value},
        {dialect.slot: [value]},
        [{"role": "user", "content": [value]}],
    ):
        assert 0 <= dialect.fits(document) <= 100


@every_dialect
@MANY
@given(data=st.data())
def test_stubs_go_where_the_results_were(name, dialect, data):
    assert_stubs_fit(dialect, data.draw(conversations(name)))


@every_dialect
@MANY
@given(data=st.data())
def test_a_request_is_detected(name, dialect, data):
    assert_detected(dialect, data.draw(conversations(name)))


@every_dialect
@MANY
@given(data=st.data())
def test_every_result_finds_its_call(name, dialect, data):
    messages = read(dialect, data.draw(conversations(name))).messages
    calls = [call.id for message in messages for call in message.calls]
    assert calls == [result.call_id for message in messages for result in message.results]
    assert len(set(calls)) == len(calls)
