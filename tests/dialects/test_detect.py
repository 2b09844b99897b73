"""Which dialect a document is in, told by what is in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldline import dialects
from foldline.dialects.base import Source
from foldline.errors import FoldlineError, InputError, MalformedInput, UnknownDialect
from foldline.model import Text

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CLAUDE_ROW = {"type": "user", "uuid": "a", "parentUuid": None, "sessionId": "s", "message": {"content": "hello"}}
CODEX_ROW = {"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": "hi"}}
PI_ROW = {"type": "message", "timestamp": "t", "message": {"role": "user", "content": "hello"}}

DOCUMENTS = {
    "anthropic": {"model": "claude-x", "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
    "openai-chat": {"messages": [{"role": "system", "content": "x"}, {"role": "assistant", "tool_calls": [CALL]}]},
    "openai-responses": {"model": "gpt-x", "input": [{"type": "function_call", "call_id": "c", "name": "f"}]},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "hello"}]}]},
    "opencode": {"info": {"id": "s"}, "messages": [{"info": {"role": "user"}, "parts": []}]},
    "swe-agent": {"trajectory": [], "history": [{"role": "user", "content": "x"}]},
    "mini-swe-agent": {"trajectory_format": "x", "messages": [{"role": "user", "content": "x"}]},
    "trajectories": [{"traj": [{"role": "user", "content": "x"}]}],
}
LINES = {"claude-code": CLAUDE_ROW, "codex": CODEX_ROW, "pi": PI_ROW}


def read(data: bytes, **options):
    conversation = dialects.read(Source(data, name="x"), **options)
    assert dialects.write(conversation) == data
    return conversation


def lines(*rows: dict) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_every_dialect_has_a_name_of_its_own_and_says_where_it_is_sent():
    assert len({dialect.name for dialect in dialects.ALL}) == len(dialects.ALL) == len(DOCUMENTS) + len(LINES)
    requests = {"anthropic", "openai-chat", "openai-responses", "gemini"}
    assert {dialect.api for dialect in dialects.ALL} == requests


@pytest.mark.parametrize(("name", "value"), DOCUMENTS.items())
@pytest.mark.parametrize("indent", [None, 1])
def test_documents_are_known_by_their_shape(name, value, indent):
    data = json.dumps(value, indent=indent).encode()
    assert read(data).dialect == name
    assert read(data, dialect=name).dialect == name


@pytest.mark.parametrize(("name", "row"), LINES.items())
@pytest.mark.parametrize("count", [1, 3])
def test_lines_are_known_by_their_records(name, row, count):
    data = lines(*[{**row, "uuid": str(n)} if "uuid" in row else row for n in range(count)])
    assert read(data).dialect == name
    assert read(data, dialect=name).dialect == name
    assert len(read(data)) == count


@pytest.mark.parametrize(("name", "row"), LINES.items())
@pytest.mark.parametrize(
    "before",
    [b'{"type":"user","mess', b"\x00" * 64, b"\xef\xbb\xbf", b"\n\n", b'{"type":"user","mess\n', b"torn\n" * 5, b"[\n"],
)
def test_a_damaged_beginning_does_not_hide_what_follows(name, row, before):
    assert read(before + lines(row)).dialect == name


def test_two_spliced_records_are_lines():
    assert len(read(lines(CLAUDE_ROW).rstrip() + lines({**CLAUDE_ROW, "uuid": "b"}))) == 2


@pytest.mark.parametrize(("name", "row"), LINES.items())
def test_a_record_with_a_large_value_is_known(name, row):
    large = json.loads(json.dumps(row).replace("hello", "x" * 9000).replace('"hi"', json.dumps("x" * 9000)))
    assert read(lines({**large, "pad": ["y" * 9000], "sum": {"z": "y" * 9000}, "n": 5})).dialect == name


def test_records_that_fit_a_little_are_no_sign():
    with pytest.raises(UnknownDialect):
        read(lines({"type": "unheard of", "payload": {}}))


def test_most_records_decide():
    assert read(lines(PI_ROW, CODEX_ROW, CODEX_ROW)).dialect == "codex"


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        (b"", "empty"),
        (b" \n\n ", "empty"),
        (b"{}", "an empty object"),
        (b'{"a":1,"b":2}', "an object with 'a', 'b'"),
        (b"[5]", "a list of 1, beginning with a number"),
        (b"[null]", "a list of 1, beginning with null"),
        (b'"text"', "a string, which"),
        (b"null", "null, which"),
        (b"true", "true or false, which"),
        (b"0.5", "a number, which"),
        (b"<!DOCTYPE html><html>", "HTML"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary"),
        (b"\xff\xfe\xfa", "binary"),
        (b"hello world", "begins with 'hello world'"),
    ],
)
def test_what_fits_nothing_is_refused_with_what_was_seen_and_what_to_do(data, seen):
    with pytest.raises(UnknownDialect, match=r"give a request body.*or name its dialect") as caught:
        read(data)
    assert seen in str(caught.value)


def test_damaged_json_is_refused_with_its_place():
    with pytest.raises(MalformedInput) as caught:
        read(b'{"messages": [\n  {"role": }]}')
    assert (caught.value.line, caught.value.source) == (2, "x")


def test_a_name_that_is_none_lists_those_that_are():
    with pytest.raises(UnknownDialect, match=r"'klingon'.*anthropic, claude-code.*or none"):
        read(b"{}", dialect="klingon")


def test_a_document_of_another_dialect_than_named_is_refused():
    with pytest.raises(InputError):
        read(b'{"contents": []}', dialect="anthropic")


def test_named_lines_are_read_though_nothing_in_them_fits():
    assert len(read(b"junk\n", dialect="claude-code")) == 0


def test_history_and_pick_reach_the_dialects_that_know_them():
    many = json.dumps([{"traj": [{"role": "user", "content": str(n)}]} for n in range(3)]).encode()
    assert read(many, pick=2).messages[0].text == "2"
    fold = {"type": "system", "subtype": "compact_boundary", "uuid": "b", "sessionId": "s", "parentUuid": None}
    data = lines(CLAUDE_ROW, fold, {**CLAUDE_ROW, "uuid": "c", "isCompactSummary": True})
    assert [len(read(data)), len(read(data, history="all"))] == [1, 2]


def test_a_document_with_escapes_json_does_not_know_is_read_and_written_as_it_came():
    data = rb'{"contents": [ {"role":"user","parts":[{"text":"a \d b"}]} ]}'
    conversation = read(data)
    assert conversation.messages[0].text == r"a \d b"
    assert [n.code for n in conversation.notices] == ["mended"]
    changed = conversation.with_messages([conversation.messages[0].with_parts([Text("c")])])
    assert json.loads(dialects.write(changed))["contents"][0]["parts"] == [{"text": "c"}]


@pytest.mark.parametrize(("form", "kind"), [("bytes", bytes), ("text", str), ("value", dict)])
def test_what_is_written_has_the_form_that_was_given(form, kind):
    data = json.dumps(DOCUMENTS["gemini"]).encode()
    written = dialects.write(dialects.read(Source(data, form)))
    assert isinstance(written, kind)
    assert (written if kind is dict else json.loads(written)) == DOCUMENTS["gemini"]


def test_lines_given_as_text_are_written_as_text():
    text = lines(CLAUDE_ROW).decode()
    assert dialects.write(dialects.read(Source(text.encode(), "text"))) == text


def test_a_stream_is_read_once():
    stream = iter(lines(*[{**CLAUDE_ROW, "uuid": str(n)} for n in range(100)]).splitlines(keepends=True))
    assert len(dialects.read(Source(b""), stream)) == 100
    assert next(stream, None) is None


# --- whatever comes, it is read or refused by name -----------------------------------------------------------------

KEYS = st.sampled_from(
    """
    type role content message messages payload uuid parentUuid sessionId subtype isMeta attachment prompt info parts
    state input output text id tool_use_id compactMetadata preservedMessages preservedSegment uuids summary timestamp
    firstKeptEntryId firstKeptEntryIndex parentId replacement_history history traj toolCallId callID tool
    """.split()  # noqa: SIM905 - a list of so many words is easier to read like this
)
WORDS = st.sampled_from(
    """
    user assistant tool system message session compaction compacted response_item event_msg attachment queued_command
    compact_boundary text tool_use tool_result toolCall toolResult bashExecution nested_memory step-start file
    """.split()  # noqa: SIM905 - as above
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 10**20) | WORDS | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=20
)
RECORDS = st.builds(
    lambda base, other: {**base, **other},
    st.sampled_from([{}, *LINES.values(), *(v for v in DOCUMENTS.values() if isinstance(v, dict))]),
    st.dictionaries(KEYS, VALUES, max_size=8),
)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@given(st.lists(RECORDS, min_size=1, max_size=4), st.sampled_from([None, *LINES]), st.sampled_from(["live", "all"]))
def test_any_records_are_read_and_written_or_refused(rows, dialect, history):
    try:
        conversation = read(lines(*rows), dialect=dialect, history=history)
    except FoldlineError:
        return
    half = conversation.messages[: len(conversation) // 2]
    assert isinstance(dialects.write(conversation.with_messages(half)), bytes)


@given(
    st.binary(max_size=60)
    | st.builds(lambda a, b: a + lines(CLAUDE_ROW)[b:], st.binary(max_size=9), st.integers(0, 90))
)
def test_any_bytes_are_read_or_refused(data):
    try:
        read(data)
    except FoldlineError:
        return


@pytest.mark.parametrize("value", [[{"role": "user", "content": "hi"}], CLAUDE_ROW])
def test_only_a_file_of_several_conversations_can_be_picked_from(value):
    with pytest.raises(InputError, match="holds one conversation, number 0; there is no number 5"):
        dialects.read(Source(json.dumps(value).encode(), name="x"), pick=5)
