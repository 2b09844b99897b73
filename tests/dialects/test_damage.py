"""A document that is no JSON is refused with what it seems to be, where it breaks off, and what to do."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import sources
from foldline.errors import InputError, MalformedInput, UnknownDialect

DOCUMENT = json.dumps({"messages": [{"role": "user", "content": "hé, 你好\n"}, {"role": "assistant", "content": None}]})
INDENTED = json.dumps(json.loads(DOCUMENT), indent=1, ensure_ascii=False).encode()


def refused(data: bytes, dialect: str | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        sources.read(data, dialect)
    return caught.value


@given(st.integers(1, len(INDENTED) - 1), st.sampled_from(["anthropic", None]))
def test_a_document_that_is_cut_off_anywhere_is_said_to_be_with_the_place(length, dialect):
    data = INDENTED[:length]
    error = refused(data, dialect)
    assert isinstance(error, MalformedInput)
    assert "it was cut off" in str(error)
    assert (error.line, error.offset) == (data.count(b"\n") + 1, length)


def test_a_document_with_odd_escapes_that_is_cut_off_is_said_to_be():
    assert "it was cut off" in str(refused(b'[{"role":"user","content":"\\d and th'))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("dialect", ["anthropic", None])
@pytest.mark.parametrize(
    "text", [DOCUMENT, json.dumps([{"role": "user", "content": "你好" * 999}], ensure_ascii=False)]
)
def test_text_in_another_encoding_is_named(encoding, dialect, text):
    error = refused(text.encode(encoding), dialect)
    assert isinstance(error, MalformedInput)
    assert f"{encoding[:6].upper()} text" in str(error)
    assert "save it as UTF-8" in str(error)


@given(st.binary(min_size=1).map(lambda data: b"\xe9\\" + data))
def test_binary_data_is_called_so_whatever_escapes_it_seems_to_have(data):
    error = refused(data)
    assert isinstance(error, UnknownDialect)
    assert "binary data (it begins with e9 5c" in str(error)
    assert isinstance(refused(data, "anthropic"), MalformedInput)


def test_a_second_document_behind_the_first_is_spoken_of():
    error = refused(DOCUMENT.encode() * 2)
    assert "more follows; give one by itself" in str(error)
    assert error.offset == len(DOCUMENT.encode())


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"messages": [\n  {"role": }]}', (2, 26)),
        (b'{"messages": ["\\d",\n  {"role": }]}', (2, None)),  # the places behind a mended escape are others
    ],
)
def test_other_damage_says_what_to_do(data, place):
    error = refused(data)
    assert "correct it there, or write it anew" in str(error)
    assert (error.line, error.offset) == place


def test_a_number_that_cannot_be_read_is_no_damage_to_correct():
    error = refused(b'{"messages":[],"max_tokens":' + b"9" * 5_000 + b"}")
    assert "digits" in str(error)
    assert "correct it there" not in str(error)


def outcome(data: bytes, dialect: str | None) -> str:
    """What is said of it; "" when it is read."""
    try:
        sources.read(data, dialect)
    except InputError as error:
        return str(error)
    return ""


@given(st.binary(max_size=60), st.sampled_from(["{", "[", ""]), st.sampled_from(["anthropic", "gemini", None]))
def test_whatever_cannot_be_decoded_is_refused_with_advice(data, start, dialect):
    said = outcome(start.encode() + b"\xc3(" + data, dialect)
    assert "; " in said


LATIN = json.dumps([{"role": "user", "content": f"caf\xe9 {n}"} for n in range(3)], ensure_ascii=False).encode(
    "latin-1"
)


def test_a_document_that_is_not_utf8_is_read_with_the_place_and_the_number_of_what_was_not():
    conversation = sources.read(LATIN)
    (notice,) = conversation.notices
    assert (notice.code, notice.line, notice.offset) == ("bad-utf8", 1, LATIN.index(b"\xe9"))
    assert notice.text.endswith("what could not be decoded stands as U+FFFD (3 bytes)")
    assert [message.text for message in conversation.messages] == ["caf\ufffd 0", "caf\ufffd 1", "caf\ufffd 2"]
    assert sources.read(LATIN.decode("latin-1").encode()).notices == ()


def test_a_document_that_is_not_utf8_is_written_as_it_came_or_when_changed_in_utf8():
    conversation = sources.read(LATIN)
    assert sources.write(conversation) == LATIN
    assert b"".join(message.raw for message in conversation.messages).count(b"\xe9") == 3, "kept in its own bytes"
    changed = sources.write(conversation.with_messages(conversation.messages[1:]))
    assert [one["content"] for one in json.loads(changed.decode("utf-8"))] == ["caf\ufffd 1", "caf\ufffd 2"]


def test_surrogates_that_were_encoded_are_no_damage_and_become_escapes_when_written():
    data = '[{"role":"user","content":"a"},{"role":"user","content":"\ud83d b"}]'.encode("utf-8", "surrogatepass")
    conversation = sources.read(data)
    assert (conversation.notices, conversation.messages[1].text) == ((), "\ud83d b")
    changed = sources.write(conversation.with_messages(conversation.messages[1:]))
    assert json.loads(changed.decode("utf-8")) == [{"role": "user", "content": "\ud83d b"}]
