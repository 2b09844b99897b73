"""Histories that grow, fork, rewind and come again with other marks: nothing is lost, and little is stored twice."""

import copy
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import Archive, Budget, Compactor, MemoryArchive, sources
from foldline.archive.keys import key_of
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.effects import Save, ViewPlan
from foldline.core.prune import PruneSettings
from foldline.model import Conversation, Media, Message, Opaque, Origin, Text, Thinking, ToolCall, ToolResult
from foldline.reading import Reader
from foldline.testing import Session
from strategies import DIALECTS, conversations, json_values

SLOTS = {"gemini": "contents", "openai-responses": "input"}
MARK = {"cache_control": {"type": "ephemeral"}}


def said(role, *blocks):
    return {"role": role, "content": list(blocks)}


def text(words, **more):
    return {"type": "text", "text": words, **more}


def turn(number):
    """Four messages of one turn as an Anthropic client sends them."""
    return [
        said("user", text(f"question {number}"), text("<system-reminder>be brief</system-reminder>")),
        said(
            "assistant",
            {"type": "thinking", "thinking": f"hm {number}", "signature": "s"},
            text("let me see"),
            {"type": "tool_use", "id": f"call_{number}", "name": "Bash", "input": {"command": f"ls {number}"}},
        ),
        said("user", {"type": "tool_result", "tool_use_id": f"call_{number}", "content": f"file {number}\n" * 30}),
        said("assistant", text(f"answer {number}")),
    ]


class Client:
    """Sends its history again and again, as real clients do: with marks moved and old things taken out."""

    def __init__(self):
        self.messages, self.turns = [], 0

    def grow(self, _):
        self.messages += turn(self.turns)
        self.turns += 1

    def rewind(self, at):
        del self.messages[4 * (at % (len(self.messages) // 4 + 1)) :]

    def edit(self, at):
        if self.messages:
            self.messages[4 * (at % (len(self.messages) // 4))] = said("user", text(f"other words {at}"))

    def mark(self, at):
        """The mark moves on from wherever it was."""
        for message in self.messages:
            for block in message["content"]:
                block.pop("cache_control", None)
        if self.messages:
            self.messages[-1 - at % min(3, len(self.messages))]["content"][-1].update(MARK)

    def clear(self, at):
        for message in self.messages[: -1 - at]:
            for block in message["content"]:
                if block["type"] == "tool_result":
                    block["content"] = "[cleared]"

    def unthink(self, at):
        for message in self.messages[: -1 - at]:
            message["content"] = [block for block in message["content"] if block["type"] != "thinking"]

    def remind(self, at):
        for message in self.messages[: -1 - at]:
            for block in message["content"]:
                if block.get("text", "").startswith("<system-reminder>"):
                    block["text"] = f"<system-reminder>it is {at} o'clock</system-reminder>"

    def request(self):
        return {"model": "claude-x", "messages": copy.deepcopy(self.messages)}


DEEDS = ("grow", "grow", "grow", "rewind", "edit", "mark", "clear", "unthink", "remind")


def plain(archive):
    """All that an archive tells of its sessions."""
    return [
        (
            session,
            [(stored.ref, stored.position, stored.raw, stored.message) for stored in archive.messages(session.name)],
        )
        for session in sorted(archive.sessions(), key=lambda session: session.name)
    ]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(DEEDS), st.integers(0, 9)), min_size=1, max_size=14))
def test_whatever_a_client_does_every_message_comes_back_and_all_archives_say_the_same(deeds):
    client, reader, seen = Client(), Reader(), {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "archive.db"
        memory, warm, beside = MemoryArchive(), Archive(path), Archive(path)
        for number, (deed, at) in enumerate(deeds):
            getattr(client, deed)(at)
            conversation = reader.read(client.request(), "anthropic")
            cold = Archive(path)
            names = {
                archive.append(conversation, time=float(number))
                for archive in (memory, (warm, beside)[number % 2], cold)
            }
            cold.close()
            assert len(names) == 1, "one history is one session, whoever keeps it"
            seen.update((message.identity, message.raw) for message in conversation.messages)
        for archive in (memory, warm, beside):
            assert {identity: archive.original(identity) for identity in seen} == seen
        assert plain(warm) == plain(memory) == plain(Archive(path))


@settings(max_examples=15, deadline=None)
@pytest.mark.parametrize("dialect", DIALECTS)
@given(st.data())
def test_histories_of_every_dialect_are_read_again_as_they_were(dialect, data):
    whole = sources.read(data.draw(conversations(dialect)), dialect)
    with tempfile.TemporaryDirectory() as folder:
        archive, memory = Archive(Path(folder) / "archive.db"), MemoryArchive()
        for count in sorted({data.draw(st.integers(0, len(whole.messages))) for _ in range(3)}):
            archive.append(whole.with_messages(whole.messages[:count]))
        if not whole.messages:
            return
        name = archive.append(whole)
        memory.append(whole)
        assert [stored.message for stored in archive.messages(name)] == list(whole.messages)
        for message in whole.messages:
            assert archive.original(message.identity) == message.raw
            assert archive.get(message.identity).message.parts == memory.get(message.identity).message.parts


texts = st.text(max_size=20)
extras = st.dictionaries(st.text(max_size=4), json_values(), max_size=2)
plain_parts = st.one_of(
    st.builds(Text, texts, extras),
    st.builds(Media, texts, texts, texts, texts, extras),
    st.builds(Opaque, texts, extras),
)
parts = st.one_of(
    plain_parts,
    st.builds(Thinking, texts, texts, extras),
    st.builds(ToolCall, texts, texts, texts, extras),
    st.builds(ToolResult, texts, st.lists(plain_parts, max_size=2).map(tuple), st.booleans(), texts, texts, extras),
)
odd_messages = st.builds(
    Message,
    st.sampled_from(["system", "user", "assistant", "tool"]),
    st.sampled_from(Origin),
    st.lists(parts, max_size=3).map(tuple),
    texts,
    texts,
    extras,
    st.none() | st.binary(max_size=20),
    st.lists(st.integers(0, 9), max_size=2).map(tuple),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(odd_messages, min_size=1, max_size=5), st.sampled_from(["claude-code", "anthropic"]))
def test_messages_that_no_dialect_could_read_again_come_back_from_their_parts(messages, dialect):
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder) / "archive.db")
        name = archive.append(Conversation(dialect, tuple(messages)))
        assert [stored.message for stored in archive.messages(name)] == messages


def test_messages_that_share_their_bytes_are_told_apart(tmp_path):
    raw = b'{"type":"tool"}'
    call = Message("assistant", Origin.ASSISTANT, (ToolCall("1", "Bash", "{}"),), raw=raw, rows=(0,))
    result = Message("tool", Origin.TOOL, (ToolResult("1", (Text("out"),)),), raw=raw, rows=(0,))
    for archive in (MemoryArchive(), Archive(tmp_path / "archive.db")):
        archive.keep(Conversation("opencode", (call, result)))
        archive.save(Save(ViewPlan("a", 2), _checkpoint("x"), (call.identity, result.identity)))
        assert archive.expand(_checkpoint("x").ref) == (call, result)
        assert archive.original(result.results[0].ref) == b"out"


def _checkpoint(words):
    from foldline.conformance import made

    return made(words)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("fed_back", [False, True])
def test_what_folds_in_a_row_stand_for_is_every_message_byte_for_byte(dialect, fed_back, tmp_path):
    archive = Archive(tmp_path / "archive.db")
    compactor = Compactor(
        Budget(window=6_000, reserve=500),
        archive=archive,
        meter=Meter(Estimator()),
        prune=PruneSettings(worthwhile=1 << 40),
    )
    session, slot = Session(dialect, system="be kind"), SLOTS.get(dialect, "messages")
    shown, taken, folds, kept = [], 0, set(), []
    for number in range(40):
        session.user(f"question {number}").tools(("Bash", "{}", f"line {number} of output\n" * 90))
        request = session.request()
        items = request[slot]
        request = {**request, slot: [*shown, *items[taken:]]} if fed_back else request
        fitted = compactor.fit(request)
        shown, taken = fitted.messages, len(items)
        folds.add(fitted.receipt.checkpoint)
        kept = fitted.view.messages
    folded = Archive(tmp_path / "archive.db").expand(fitted.receipt.checkpoint)
    originals = [message.raw for message in session.conversation().messages]
    assert len(folds - {""}) >= 4
    assert [message.raw for message in folded] == originals[: len(folded)], "from the first message on, without a gap"
    assert originals[-1] == kept[-1].raw
    assert len(folded) > 60


def rows(archive, table):
    with archive._store.reading() as connection:
        return connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


@pytest.mark.parametrize("turns", [20, 60])
def test_a_session_of_n_turns_costs_n_nodes_although_every_turn_is_sent_otherwise(turns, tmp_path):
    """S3.2: marks move, results are cleared, thinking is dropped, reminders change: versions, and no branch."""
    client, archive, dice = Client(), Archive(tmp_path / "archive.db"), random.Random(7)
    for _ in range(turns):
        client.grow(0)
        for deed in ("mark", "clear", "unthink", "remind"):
            getattr(client, deed)(dice.randrange(3))
        archive.keep(sources.read(client.request()))
    assert rows(archive, "nodes") == 4 * turns
    assert rows(archive, "sessions") == 1
    assert rows(archive, "versions") <= 16 * turns, "some for each message, and not some for each turn"
    assert rows(archive, "blobs") <= 20 * turns


def statements(archive, conversation):
    """The SQL that keeping a conversation takes, each statement with how often it ran."""
    ran = []
    with archive._store.reading() as connection:
        connection.set_trace_callback(ran.append)
        archive.keep(conversation)
        connection.set_trace_callback(None)
    return ran


def test_a_turn_costs_what_is_new_in_it_however_long_the_session_is(tmp_path):
    costs = []
    for turns in (10, 500):
        client, reader = Client(), Reader()
        archive = Archive(tmp_path / f"{turns}.db")
        for _ in range(turns):
            client.grow(0)
        archive.keep(reader.read(client.request()))
        client.messages += [said("user", text("and now")), said("assistant", text("this"))]
        client.mark(1)
        costs.append(len(statements(archive, reader.read(client.request()))))
        assert statements(archive, reader.read(client.request())) == [], "what is known is not even looked up"
    assert costs[0] == costs[1] < 40


def test_clearing_old_results_is_a_version_and_a_changed_argument_a_branch():
    one, other = (sources.read({"messages": turn(1)}) for _ in range(2))
    assert [key_of(message) for message in one.messages] == [key_of(message) for message in other.messages]
    changed = turn(1)
    changed[1]["content"][2]["input"]["command"] = "rm 1"
    changed[2]["content"][0]["content"] = "[cleared]"
    keys = [key_of(message) for message in sources.read({"messages": changed}).messages]
    assert [a == key_of(b) for a, b in zip(keys, one.messages, strict=True)] == [True, False, True, True]
    pictures = [Message("user", Origin.USER, (Media("image", data=data),)) for data in ("aa", "bb", "aa")]
    keys = [key_of(picture) for picture in pictures]
    assert keys[0] == keys[2] != keys[1]


def test_ids_that_are_made_by_counting_are_the_same_again(tmp_path):
    """Gemini's calls have no ids: those in the third turn can only be known from the two before it."""
    call, result = {"functionCall": {"name": "run", "args": {}}}, {"functionResponse": {"name": "run", "response": {}}}
    turns = [{"role": "user", "parts": [{"text": "go"}]}]
    for number in range(3):
        turns += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [result, {"text": f"again {number}"}]}]
    conversation = sources.read({"contents": turns}, "gemini")
    archive = Archive(tmp_path / "archive.db")
    archive.keep(conversation)
    last = conversation.messages[-1]
    assert archive.get(last.identity).message == last
    checkpoint = _checkpoint("tail")
    names = tuple(message.identity for message in conversation.messages)
    archive.save(Save(ViewPlan("a", len(names), checkpoint=checkpoint.ref), checkpoint, names[3:]))
    assert archive.expand(checkpoint.ref) == conversation.messages[3:]


def test_a_checkpoint_keeps_the_bytes_that_were_folded_whatever_came_first(tmp_path):
    for archive in (MemoryArchive(), Archive(tmp_path / "archive.db")):
        client = Client()
        client.grow(0)
        archive.keep(sources.read(client.request()))
        client.clear(0)
        later = sources.read(client.request())
        archive.keep(later)
        names = tuple(message.identity for message in later.messages)
        archive.save(Save(ViewPlan("a", len(names)), _checkpoint("x"), names))
        assert archive.expand(_checkpoint("x").ref) == later.messages
        name = archive.sessions()[0].name
        assert "file 0" in [stored.message for stored in archive.messages(name)][2].results[0].text
