"""Reading what comes again and again: the same as reading it once, with only the new taken apart."""

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldline import sources
from foldline.dialects import jsontext
from foldline.errors import FoldlineError, MalformedInput, UnknownDialect
from foldline.model import Message, Origin, Text
from foldline.reading import Reader
from foldline.testing import Session
from strategies import broken, conversations

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SLOTS = {"gemini": "contents", "openai-responses": "input"}


def talk(dialect="anthropic", turns=5, **head):
    session = Session(dialect, system="Be kind.", **head)
    for number in range(turns):
        session.user(f"question {number}").tools(("Bash", f'{{"n": {number}}}', f"answer {number}"))
    return session


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@settings(max_examples=25, suppress_health_check=list(HealthCheck), deadline=None)
def test_a_request_is_read_as_by_itself_however_often_it_came_before(dialect, data):
    request = data.draw(conversations(dialect) | broken(dialect))
    slot = SLOTS.get(dialect, "messages")
    reader = Reader()
    whole = request[slot]
    for end in sorted({1, len(whole) // 2, len(whole)} - {0}):
        given_ = {**request, slot: whole[:end]}
        alone, again = sources.read(given_, dialect), reader.read(given_, dialect)
        assert again.messages == alone.messages
        assert (again.head, again.grammar, again.dialect) == (alone.head, alone.grammar, alone.dialect)
        assert reader.write(again) == given_


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_was_seen_is_the_same_object_and_only_the_new_is_parsed(dialect):
    reader, session = Reader(), talk(dialect)
    before = reader.read(session.request())
    parsed = reader.parsed
    after = reader.read(session.assistant("done").user("more").request())
    assert all(one is other for one, other in zip(before.messages, after.messages, strict=False))
    assert reader.parsed - parsed == 2
    assert after.dialect == before.dialect == dialect


def test_ids_that_depend_on_what_stands_before_are_right_when_that_changes():
    def calls(*names):
        contents = [{"role": "user", "parts": [{"text": "go"}]}]
        for name in names:
            contents += [
                {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {}}}]},
            ]
        return {"contents": contents}

    reader = Reader()
    for names in (("ls", "ls"), ("cat", "ls"), ("ls", "ls"), ("cat", "ls", "cat")):
        request = calls(*names)
        assert reader.read(request).messages == sources.read(request).messages


def test_a_dict_that_changed_in_place_is_read_anew():
    reader, request = Reader(), talk().request()
    before = reader.read(request)
    request["messages"][0]["content"] = "another question"
    after = reader.read(request)
    assert after.messages[0].text == "another question"
    assert before.messages[0].text == "question 0"
    assert after.messages[1] is before.messages[1]


def test_the_request_and_what_was_read_share_nothing_that_can_change():
    reader, request = Reader(), talk().request()
    given_ = copy.deepcopy(request)
    conversation = reader.read(request)
    reader.write(conversation)["messages"][0]["content"] = "spoilt"
    assert request == given_
    assert reader.read(request).messages == conversation.messages


def test_the_head_is_read_once_and_again_when_it_changes():
    reader, session = Reader(), talk(model="one")
    first, second = reader.read(session.request()), reader.read(session.user("more").request())
    assert first.head is second.head
    assert reader.read({**session.request(), "system": "Be brief."}).head.system[0].text == "Be brief."


def test_a_conversation_may_show_its_dialect_late():
    reader = Reader()
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]
    assert reader.read(messages).dialect == sources.read(messages).dialect
    call = {"id": "c", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    chat = [
        *messages,
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ]
    assert reader.read(chat).dialect == "openai-chat"
    assert reader.read([*chat, {"role": "user", "content": "plain again"}]).dialect == "openai-chat"
    block = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": ""}]}
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "ls", "input": {}}]}
    assert reader.read([*messages, use, block]).dialect == "anthropic"


@pytest.mark.parametrize(
    "given_",
    [
        {"input": "a lone string", "model": "m"},
        {"contents": "a lone string"},
        b'{"messages": [{"role": "user", "content": "bytes"}], "system": "x"}',
        '[{"role": "user", "content": "text"}]',
    ],
    ids=["lone input", "lone contents", "bytes", "text"],
)
def test_other_forms_are_read_as_they_are(given_):
    alone, again = sources.read(given_), Reader().read(given_)
    assert again.messages == alone.messages
    assert Reader().write(again) == given_


@pytest.mark.parametrize("given_", [{}, [], {"messages": []}, {"messages": 3}, {"nothing": []}, 7])
def test_what_cannot_be_read_is_refused_as_elsewhere(given_):
    try:
        expected = sources.read(given_).messages
    except FoldlineError as error:
        with pytest.raises(type(error)):
            Reader().read(given_)
    else:
        assert Reader().read(given_).messages == expected


def test_errors_name_the_place():
    reader = Reader()
    with pytest.raises(MalformedInput, match=r"messages\[1\] is str"):
        reader.read({"messages": [{"role": "user", "content": "x"}, "y"]}, "anthropic")
    with pytest.raises(UnknownDialect):
        reader.read([{"role": "user", "content": "x"}], "klingon")


def test_a_transcript_s_rows_are_read_by_its_own_rules():
    rows = [{"trajectory": [{"role": "user", "content": "hi"}], "instance_id": "1"}]
    try:
        expected = sources.read(rows).messages
    except FoldlineError as error:
        with pytest.raises(type(error)):
            Reader().read(rows)
    else:
        assert Reader().read(rows).messages == expected


def test_memory_is_bounded(monkeypatch):
    from foldline import reading

    monkeypatch.setattr(reading, "MOST", 10)
    monkeypatch.setattr(reading, "SESSIONS", 2)
    reader = Reader()
    for number in range(6):
        reader.read(
            {**talk(turns=4).request(), "system": f"{number}", "messages": [{"role": "user", "content": f"{number}"}]}
        )
        reader.read(talk(turns=4).request())
        assert len(reader._seen) <= 12
    assert len(reader._spoken) <= 2
    assert len(reader._heads) <= 2


def test_what_was_null_and_is_no_number_is_refused_the_second_time_too():
    messages = [{"role": "user", "content": "hi", "weight": None}, {"role": "assistant", "content": "yes"}]
    reader = Reader()
    for _ in range(2):
        assert reader.read(messages, "openai-chat").messages == sources.read(messages, "openai-chat").messages
    messages[0]["weight"] = float("nan")
    with pytest.raises(MalformedInput, match="nan"):
        reader.read(messages, "openai-chat")


def test_messages_with_nulls_are_not_encoded_one_by_one_again(monkeypatch):
    """Every step of Chat Completions that only calls a tool has a null for its text."""
    encoded = []
    encode = jsontext.encode
    monkeypatch.setattr(jsontext, "encode", lambda value: encoded.append(value) or encode(value))
    messages = [{**message, "name": None} for message in talk("openai-chat", turns=50).request()["messages"]]
    reader = Reader()
    first = reader.read(messages)
    assert len(encoded) > len(messages)
    encoded.clear()
    assert reader.read(messages).messages == first.messages
    assert len(encoded) < 10


@pytest.mark.parametrize("odd", ["half a pair \ud83d", ("a", "tuple"), 10**400 // 10**399])
def test_odd_values_are_read_the_same_each_time(odd):
    messages = [{"role": "user", "content": "hi", "mark": odd}, {"role": "assistant", "content": "yes"}]
    reader = Reader()
    first, second = reader.read(messages, "openai-chat"), reader.read(messages, "openai-chat")
    assert first.messages == second.messages == sources.read(messages, "openai-chat").messages


@pytest.mark.parametrize("dialect", DIALECTS)
@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck), deadline=None)
def test_a_view_is_written_as_from_its_bytes(dialect, data):
    """Some messages left out, some made here, some changed: the caller's own values say the same as the dialect's."""
    request = data.draw(conversations(dialect))
    conversation = Reader().read(request, dialect)
    kept = [message for message in conversation.messages if data.draw(st.booleans())]
    changed = [message.with_parts(message.parts) if data.draw(st.booleans()) else message for message in kept]
    view = conversation.with_messages([Message("user", Origin.PROGRAM, (Text("begin"),)), *changed])
    assert Reader().write(view) == sources.write(view)
