"""JSON in and out: nothing lost, nothing guessed, errors that say where."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialects.helpers import canonical
from foldline.dialects import jsontext
from foldline.errors import MalformedInput, TooDeep
from strategies import json_values

MANY = settings(max_examples=200, deadline=None)


@MANY
@given(json_values())
def test_a_value_comes_back(value):
    assert canonical(jsontext.decode(jsontext.encode(value))) == canonical(value)


@MANY
@given(json_values().filter(lambda value: "1E+400" not in repr(value)))
def test_the_standard_library_reads_it_the_same(value):
    assert canonical(json.loads(jsontext.encode(value))) == canonical(value)


@MANY
@given(st.lists(json_values(), max_size=4), st.sampled_from((b"", b" ", b"\n\t")), st.booleans())
def test_elements_keep_their_bytes(values, gap, lone):
    rows = [json.dumps(jsontext.encode(value).decode()).encode() for value in values]
    rows += [b'"\\ud800"'] if lone else []
    document = gap + b"[" + gap + (gap + b"," + gap).join(rows) + gap + b"]" + gap
    assert jsontext.elements(document) == rows


@MANY
@given(st.dictionaries(st.text(max_size=5), json_values(), max_size=4), st.booleans())
def test_fields_keep_their_bytes(values, lone):
    rows = {key: json.dumps(jsontext.encode(value).decode()).encode() for key, value in values.items()}
    rows |= {"lone\ud800": b'"\\udfff" '.strip()} if lone else {}
    document = b"{ " + b" , ".join(jsontext.encode(key) + b" : " + row for key, row in rows.items()) + b" }"
    assert jsontext.fields(document) == rows
    assert jsontext.fields(jsontext.join_object(rows)) == rows


def test_one_lone_surrogate_does_not_reformat_its_neighbours():
    document = b'\xef\xbb\xbf [ {"a" : [1, {} ]} , "\\ud83d" , [] ] '
    assert jsontext.elements(document) == [b'{"a" : [1, {} ]}', b'"\\ud83d"', b"[]"]


def test_what_lies_deep_is_found_and_replaced():
    document = b'{"a": [1, {"b" : 2}], "c":  3}'
    assert jsontext.dig(document, ("a", 1, "b")) == b"2"
    assert jsontext.splice(document, ("a", 1, "b"), b"[ ]") == b'{"a":[1,{"b":[ ]}],"c":3}'
    assert jsontext.splice(document, (), b"7") == b"7"
    assert jsontext.splice(b"{}", ("new",), b"1") == b'{"new":1}'


@MANY
@given(st.text())
def test_text_and_bytes_are_inverse(text):
    assert jsontext.text_of(jsontext.bytes_of(text)) == text


def test_encoded_surrogates_and_broken_bytes_are_read():
    assert jsontext.text_of("\ud800".encode("utf-8", "surrogatepass")) == "\ud800"
    assert jsontext.text_of(b"a\xffb") == "a\ufffdb"
    assert jsontext.decode(b'["\xff"]') == ["\ufffd"]


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (b"", 0),
        (b"[1,", 3),
        (b'{"a":1', 6),
        (b"[1] x", 4),
        ('["é" x]'.encode(), 6),
        (b"\xef\xbb\xbf[x", 4),
        (b'"a\nb"', 2),
        (b"nul", 0),
    ],
)
def test_damage_is_named_with_its_place(data, offset):
    with pytest.raises(MalformedInput) as caught:
        jsontext.decode(data)
    assert caught.value.offset == offset


@pytest.mark.parametrize("data", [b"NaN", b"[Infinity]", b"9" * 5000])
def test_numbers_json_does_not_have_are_refused(data):
    with pytest.raises(MalformedInput):
        jsontext.decode(data)


def test_a_number_that_is_too_long_is_told_in_our_words():
    with pytest.raises(MalformedInput, match="has 5,000 digits, and 4,300 are the most; send it as a string") as caught:
        jsontext.decode(b'{"max_tokens":' + b"9" * 5_000 + b"}")
    assert "sys." not in str(caught.value)


def test_numbers_beyond_a_float_keep_their_value():
    assert jsontext.encode(jsontext.decode(b"[1e400,-1E-5]")) == b"[1E+400,-0.00001]"
    assert jsontext.decode(jsontext.encode(jsontext.decode(b"[1e400]"))) == jsontext.decode(b"[1e400]")
    assert jsontext.encode(["\ud800", jsontext.decode(b"1e400")]) == b'["\\ud800",1E+400]'


@pytest.mark.parametrize("value", [float("nan"), [float("inf"), None], {"a": "\ud800", "b": float("-inf")}])
def test_not_a_number_is_refused_not_turned_into_null(value):
    with pytest.raises(MalformedInput, match="send null or a string"):
        jsontext.encode(value)


@pytest.mark.parametrize("value", [object(), {"a": object()}, ["\ud800", object()]])
def test_what_is_not_json_is_refused(value):
    with pytest.raises(MalformedInput, match="give plain dicts"):
        jsontext.encode(value)


def _nest(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


def test_what_is_too_deep_is_refused():
    deep = b"[" * 100_000 + b"]" * 100_000
    for refuse, text in (
        (jsontext.decode, deep),
        (jsontext.decode, b'["\\ud800", ' + deep + b"]"),
        (jsontext.elements, deep),
        (jsontext.fields, b'{"a": ' + deep + b"}"),
    ):
        with pytest.raises(TooDeep):
            refuse(text)
    for value in (_nest(5_000), ["\ud800", _nest(5_000)]):
        with pytest.raises(TooDeep):
            jsontext.encode(value)


def test_objects_of_sdks_dump_themselves():
    class Anthropic:
        def to_dict(self):
            return {"role": "user"}

    class Pydantic:
        def model_dump(self):
            return {"text": "\ud800"}

    assert jsontext.encode([MappingProxyType({"a": "\ud800"}), Pydantic()]) == b'[{"a":"\\ud800"},{"text":"\\ud800"}]'
    assert jsontext.encode([Anthropic(), (1, 2)]) == b'[{"role":"user"},[1,2]]'
    assert jsontext.encode([Pydantic()]) == b'[{"text":"\\ud800"}]'


def test_a_list_is_no_object_and_the_reverse():
    with pytest.raises(MalformedInput, match="expected an array, found dict"):
        jsontext.elements(b"{}")
    with pytest.raises(MalformedInput, match="expected an object, found list"):
        jsontext.fields(b"[]")
