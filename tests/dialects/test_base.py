"""Documents taken apart and put together: only what was changed changes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.helpers import canonical
from foldline.dialects import jsontext
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import (
    Lined,
    Source,
    argument_object,
    argument_text,
    opaque,
    plain_text,
    rest,
    unopaque,
)
from foldline.errors import MalformedInput
from foldline.model import EMPTY, Conversation, Message, Opaque, Origin, Text
from strategies import json_values

MANY = settings(max_examples=200, deadline=None)
DIALECT = Anthropic()
DOCUMENT = b"""{ "model" : "m", "messages" : [ {"role":"user", "content" : "one"} ,
  {"content":"two","role":"assistant"} ], "odd\\/": 1.0 }"""


def _read(data=DOCUMENT, form="bytes"):
    return DIALECT.read(Source(data, form, "a.json"), jsontext.decode(data))


def test_a_changed_message_is_built_and_its_neighbours_keep_their_bytes():
    conversation = _read()
    first, second = conversation.messages
    written = DIALECT.write(conversation.with_messages([first, second.with_parts([Text("2")])]))
    assert written == (
        b'{"model":"m","messages":[{"role":"user", "content" : "one"},{"role":"assistant","content":"2"}],"odd/":1.0}'
    )


def test_messages_know_their_bytes_and_their_place():
    conversation = _read()
    assert [m.raw for m in conversation.messages] == [
        b'{"role":"user", "content" : "one"}',
        b'{"content":"two","role":"assistant"}',
    ]
    assert [m.rows for m in conversation.messages] == [(0,), (1,)]
    assert conversation.head.model == "m"


@pytest.mark.parametrize("form", ["bytes", "text", "value"])
def test_the_caller_gets_his_own_form_back(form):
    source = Source(DOCUMENT, form)
    given_ = {"bytes": DOCUMENT, "text": DOCUMENT.decode(), "value": jsontext.decode(DOCUMENT)}[form]
    assert source.give(DIALECT.write(_read())) == given_


def test_a_bare_list_has_no_head():
    conversation = _read(b'[{"role":"user","content":"hi"}]')
    assert conversation.head.model == ""
    assert DIALECT.write(conversation.append(conversation.messages[0])) == (
        b'[{"role":"user","content":"hi"},{"role":"user","content":"hi"}]'
    )


def test_messages_without_a_layout_become_a_list():
    made = Conversation("anthropic", (Message("user", Origin.USER, (Text("hi"),), form="string"),))
    assert DIALECT.write(made) == b'[{"role":"user","content":"hi"}]'


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'{"messages": "hi"}', "'messages' is str, not a list"),
        (b"{}", "there is no 'messages': this is no anthropic request; leave out the dialect"),
        (b'[{"role":"user"}, 3]', r"messages\[1\] is int; a anthropic message is an object"),
    ],
)
def test_what_is_no_list_of_messages_is_refused_by_name(data, what):
    with pytest.raises(MalformedInput, match=what) as caught:
        _read(data)
    assert caught.value.source == "a.json"


@MANY
@given(json_values())
def test_an_opaque_block_comes_back(value):
    assert canonical(unopaque(opaque(value))) == canonical(value)


@pytest.mark.parametrize("block", [{"type": "not-an-object"}, {"type": "not-an-object", "value": 1}, {"type": 3}, None])
def test_no_block_passes_for_a_wrapped_value(block):
    assert unopaque(opaque(block)) == block


@MANY
@given(st.dictionaries(st.sampled_from("abc"), st.integers()), st.sets(st.sampled_from("abcd")))
def test_rest_is_what_was_not_taken(block, taken):
    assert dict(rest(block, *taken)) == {key: block[key] for key in block if key not in taken}


def test_no_rest_costs_nothing():
    assert rest({"a": 1}, "a") is EMPTY


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((Text("a"),), "a"),
        ((Text(""),), ""),
        ((Text("a", {"cache_control": 1}),), None),
        ((Text("a"), Text("b")), None),
        ((Opaque("x"),), None),
        ((), None),
    ],
)
def test_plain_text_only_without_loss(parts, text):
    assert plain_text(parts) == text


@MANY
@given(st.dictionaries(st.text(max_size=3), json_values(), max_size=3))
def test_argument_objects_come_back_from_their_text(value):
    assert canonical(argument_object(argument_text(value))) == canonical(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1]", {"arguments": [1]}),
        ("not json", {"arguments": "not json"}),
        ("", {"arguments": ""}),
        ("3", {"arguments": 3}),
    ],
)
def test_arguments_that_are_no_object_are_wrapped(text, value):
    assert argument_object(text) == value


def test_lines_are_joined_as_they_were():
    rows = (b'{"a":1}\n', b"junk", b"\r\n")
    assert Lined(Source(b""), rows, ()).whole() == b"".join(rows)
