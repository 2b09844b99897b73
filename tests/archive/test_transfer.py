"""An archive written out and read back: every byte, once; masked where asked; damaged lines named."""

import base64
import io
import json
import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import Archive, Budget, Compactor, sources
from foldline.conformance import DIALECTS, talk
from foldline.errors import ArchiveError, MalformedInput
from foldline.model import Conversation
from foldline.testing import Session

from .test_histories import odd_messages

SECRET = "AKIAIOSFODNN7EXAMPLQ"


def written(archive, sessions=None, **how):
    file = io.BytesIO()
    done = archive.export(file, sessions, **{"mask": False, **how})
    return file.getvalue(), done


def read_back(data, path):
    archive = Archive(path)
    return archive, archive.import_(io.BytesIO(data))


def told(data):
    """All lines but the header, which says when."""
    return data.splitlines()[1:]


def full(path):
    """An archive with all that there can be in one."""
    archive = Archive(path)
    for dialect in DIALECTS:
        archive.append(talk(dialect).conversation(), project="/ours", title=f"about {dialect}", time=5.5)
    request = talk().request()
    request["messages"][0] = {"role": "user", "content": [{"type": "text", "text": "question 0"}]}
    archive.append(sources.read(request))
    archive.append(talk(turns=2).user("a branch").conversation())
    compactor = Compactor(Budget(window=4_000, reserve=500), archive=archive)
    session = Session()
    for number in range(12):
        session.user(f"question {number} with {SECRET}").tools(("Bash", "{}", f"line {number}\n" * 150))
        ref = compactor.fit(session.request()).receipt.checkpoint
    archive.undo(ref)
    archive.forget(talk("gemini").conversation().messages[0].identity)
    return archive


def test_what_is_written_and_read_back_is_the_same_archive(tmp_path):
    first = full(tmp_path / "a.db")
    data, done = written(first)
    second, got = read_back(data, tmp_path / "b.db")
    assert (got.sessions, got.messages, got.checkpoints) == (done.sessions, done.messages, done.checkpoints)
    assert got.damaged == ()
    assert told(written(second)[0]) == told(data)
    assert list(second.verify()) == []
    assert second.sessions() == first.sessions()
    assert second.undone() == first.undone()
    for session in first.sessions():
        assert list(second.messages(session.name)) == list(first.messages(session.name))
    assert [hit.ref for hit in second.search("question")] == [hit.ref for hit in first.search("question")]
    assert second.import_(io.BytesIO(data)).new == 0
    assert told(written(second)[0]) == told(data), "a second time changes nothing"


def test_a_session_goes_on_where_the_export_ended(tmp_path):
    first = Archive(tmp_path / "a.db")
    compactor = Compactor(Budget(window=4_000, reserve=500), archive=first)
    session = Session()
    for number in range(8):
        session.user(f"question {number}").tools(("Bash", "{}", f"line {number}\n" * 150))
        shown = compactor.fit(session.request())
    second, _ = read_back(written(first)[0], tmp_path / "b.db")
    again = Compactor(Budget(window=4_000, reserve=500), archive=second).fit(session.request())
    assert again.messages == shown.messages
    assert again.receipt.checkpoint == shown.receipt.checkpoint
    assert second.expand(again.receipt.checkpoint) == first.expand(again.receipt.checkpoint)
    assert len(second.sessions()) == 1


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(odd_messages, min_size=1, max_size=4), min_size=1, max_size=3),
    st.sampled_from(["claude-code", "anthropic"]),
)
def test_whatever_bytes_messages_have_they_come_through(conversations, dialect):
    with tempfile.TemporaryDirectory() as folder:
        first = Archive(Path(folder) / "a.db")
        names = [first.append(Conversation(dialect, tuple(messages))) for messages in conversations]
        data, _ = written(first)
        second, got = read_back(data, Path(folder) / "b.db")
        assert got.damaged == ()
        for name in names:
            assert list(second.messages(name)) == list(first.messages(name))
        assert told(written(second)[0]) == told(data)


def test_masked_no_secret_is_in_it_and_the_header_says_so(tmp_path):
    archive = full(tmp_path / "a.db")
    raw = b"\xff\xfe key " + SECRET.encode()
    message = talk().conversation().messages[0]
    archive.append(Conversation("claude-code", (replace(message, raw=raw),)), title=f"about {SECRET}")
    data, done = written(archive, mask=True)
    assert SECRET.encode() in written(archive)[0]
    assert done.masked > 0
    assert json.loads(data.splitlines()[0])["masked"] is True
    assert SECRET.encode() not in data
    lines = [json.loads(line) for line in data.splitlines()]
    assert all(SECRET.encode() not in base64.b64decode(line["raw64"]) for line in lines if "raw64" in line)
    second, got = read_back(data, tmp_path / "b.db")
    assert got.masked
    assert got.damaged == ()
    assert list(second.verify()) == []
    assert [session.messages for session in second.sessions()] == [session.messages for session in archive.sessions()]
    assert not any(
        SECRET in str(stored.raw) for session in second.sessions() for stored in second.messages(session.name)
    )


def test_masked_copies_never_replace_what_is_whole(tmp_path):
    archive = full(tmp_path / "a.db")
    before = written(archive)[0]
    archive.import_(io.BytesIO(written(archive, mask=True)[0]))
    assert told(written(archive)[0]) == told(before)
    assert list(archive.verify()) == []


def test_chosen_sessions_are_written_with_what_was_made_of_them(tmp_path):
    archive = full(tmp_path / "a.db")
    newest = archive.sessions()[0]
    data, done = written(archive, [newest.name])
    assert (done.sessions, done.messages) == (1, newest.messages)
    second, _ = read_back(data, tmp_path / "b.db")
    assert [session.name for session in second.sessions()] == [newest.name]
    assert list(second.verify()) == []
    with pytest.raises(ArchiveError, match="no session nobody"):
        written(archive, ["nobody"])


def damage(line, dice):
    kind = dice.randrange(4)
    if kind == 0:
        return line[: len(line) // 2]
    if kind == 1:
        return dice.randbytes(30).replace(b"\n", b" ")
    if kind == 2:
        return b'{"kind":"message"}'
    return line.replace(b"question", b"quastion").replace(b"line 1", b"line 2")


def test_a_damaged_line_is_named_by_its_number_and_the_others_are_taken(tmp_path):
    archive = full(tmp_path / "a.db")
    lines = written(archive)[0].splitlines(keepends=True)
    for seed in range(30):
        dice = random.Random(seed)
        at = dice.randrange(1, len(lines) - 1)
        bad = damage(lines[at].rstrip(b"\n"), dice) + b"\n"
        if bad == lines[at]:
            continue
        data = b"".join((*lines[:at], bad, *lines[at + 1 :]))
        second, got = read_back(data, tmp_path / f"{seed}.db")
        kinds = json.loads(lines[at])["kind"]
        assert at + 1 in [notice.line for notice in got.damaged], (seed, kinds)
        assert kinds in ("session", "shared", "message") or len(got.damaged) == 1, (seed, kinds, got.damaged)
        if kinds == "message":
            assert got.messages >= len([line for line in lines if b'"kind":"message"' in line]) - 1
            left_out = json.loads(lines[at])["id"]
            whole = [json.loads(line) for line in lines if b'"kind":"message"' in line]
            for line in whole:
                if "gone" not in line and line["id"] != left_out:
                    assert second.original(line["id"]) is not None, (seed, line)
        second.close()


def lines_of(session, path):
    return written(kept(session, path))[0].splitlines(keepends=True)


def kept(session, path):
    archive = Archive(path)
    archive.append(session.conversation())
    return archive


def test_a_long_stretch_of_damaged_lines_costs_no_more_than_itself(tmp_path):
    """Longer than Python's own limit on calls within calls."""
    lines = lines_of(talk(turns=800), tmp_path / "a.db")
    assert len(lines) > 1_600
    bad = [b"{damaged\n"] * 1_400
    second, got = read_back(b"".join((*lines[:5], *bad, *lines[1_405:])), tmp_path / "b.db")
    (session,) = second.sessions()
    assert session.messages == len(lines) - 3, "each has its place: all lines but header, session and end"
    assert got.new == session.messages - 1_400
    assert {trouble.what.partition(" (")[0] for trouble in second.verify()} == {"lost when the archive was damaged"}


ODD = [
    *(("position", value) for value in (-1, "1", 1.5, None, True, 10**9, 10**30, [1])),
    *(("key", value) for value in ("", "00", 7, "zz" * 16)),
    *(("role", 5), ("origin", None), ("tools", 5), ("time", "noon"), ("time", True), ("id", "zz"), ("dialect", "none")),
    *(("raw", "[1]"), ("raw", 7), ("parts", "{")),
]


@pytest.mark.parametrize(("name", "value"), ODD, ids=[f"{name} {value}"[:30] for name, value in ODD])
def test_a_line_that_says_nonsense_leaves_nothing_of_itself(name, value, tmp_path):
    lines = lines_of(talk(turns=2), tmp_path / "a.db")
    at = next(n for n, line in enumerate(lines) if json.loads(line).get("position") == 2)
    lines[0] = lines[0].replace(b'"masked":false', b'"masked":true')  # so that the hash does not tell
    lines[at] = json.dumps(json.loads(lines[at]) | {name: value}).encode() + b"\n"
    second, got = read_back(b"".join(lines), tmp_path / "b.db")
    assert [notice.line for notice in got.damaged] == [at + 1]
    (session,) = second.sessions()
    assert session.messages == len(lines) - 3
    troubles = list(second.verify())
    assert {trouble.what.partition(" (")[0] for trouble in troubles} <= {"lost when the archive was damaged"}
    assert len(list(second.messages(session.name))) == session.messages


def test_a_file_that_was_cut_off_is_said_to_be(tmp_path):
    data, _ = written(full(tmp_path / "a.db"))
    _, got = read_back(data[: len(data) // 2], tmp_path / "b.db")
    assert "cut-off" in [notice.code for notice in got.damaged]
    assert got.messages > 3


@pytest.mark.parametrize("data", [b"", b"{}\n", b"hello\n", b'{"kind":"header","format":"other"}\n', b"[1]\n"])
def test_what_is_no_export_is_refused(data, tmp_path):
    with pytest.raises(MalformedInput, match="no export of an archive"):
        read_back(data, tmp_path / "b.db")


def test_an_export_of_a_newer_version_is_refused(tmp_path):
    with pytest.raises(MalformedInput, match="version 99; upgrade"):
        read_back(b'{"kind":"header","format":"foldline-archive","version":99}\n', tmp_path / "b.db")


def test_what_goes_on_otherwise_elsewhere_branches_off(tmp_path):
    ours, theirs = Archive(tmp_path / "ours.db"), Archive(tmp_path / "theirs.db")
    here = Session().user("hello").assistant("hi").user("do this").conversation()
    there = Session().user("hello").assistant("good day").user("do that").conversation()
    name = ours.append(here, time=1.0)
    assert theirs.append(there, title="theirs", time=2.0) == name
    data, _ = written(theirs)
    for _ in range(2):
        assert ours.import_(io.BytesIO(data)).damaged == ()
    assert list(ours.verify()) == []
    branch, first = ours.sessions()
    assert (branch.forked, branch.title, branch.updated, first.name) == (name, "theirs", 2.0, name)
    assert [stored.message.text for stored in ours.messages(branch.name)] == ["hello", "good day", "do that"]
    assert [stored.message.text for stored in ours.messages(name)] == ["hello", "hi", "do this"]
    assert [found.session for found in ours.search("that")] == [branch.name]
    assert ours.append(there) == branch.name, "as if it had been kept here"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_came_masked_is_whole_once_it_comes_itself(dialect, tmp_path):
    archive = Archive(tmp_path / "archive.db")
    session = Session(dialect).user(f"the key is {SECRET}").tools(("Bash", "{}", f"export KEY={SECRET}"))
    conversation = session.conversation()
    archive.append(conversation)
    data, _ = written(archive, mask=True)
    copy, _ = read_back(data, tmp_path / "copy.db")
    copy.import_(io.BytesIO(data))
    assert SECRET.encode() not in copy.original(conversation.messages[0].identity)
    copy.append(conversation)
    for message in conversation.messages:
        assert copy.original(message.identity) == message.raw
        assert [copy.original(result.ref) for result in message.results] == [
            result.text.encode() for result in message.results
        ]
    assert list(copy.verify()) == []
    other, _ = read_back(data, tmp_path / "other.db")
    other.import_(io.BytesIO(written(archive)[0]))
    assert other.original(conversation.messages[0].identity) == conversation.messages[0].raw
    assert list(other.verify()) == []
