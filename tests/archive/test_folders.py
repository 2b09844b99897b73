"""What agents leave on disk, taken into an archive: all of it, once, and whatever some of the files may be."""

from __future__ import annotations

import json
import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from archive import agents
from foldline import Archive, sources
from foldline.archive import folders, opencode
from foldline.archive.folders import OPEN, QUIET, Importer
from foldline.archive.opencode import Item
from foldline.archive.transcripts import Failed, found

EXAMPLES = Path(__file__).parents[2] / "examples"


def read(given):
    return sources.read(given, history="all")


@pytest.fixture
def archive(tmp_path):
    made = Archive(tmp_path / "archive.db")
    yield made
    made.close()


@pytest.fixture
def home(tmp_path) -> Path:
    """A home in which four agents have worked."""
    root = tmp_path / "home"
    agents.put(root / ".claude/projects/-home-mara/one.jsonl", agents.claude(3))
    agents.put(root / ".claude/projects/-home-mara/one/subagents/agent-x.jsonl", agents.claude(1, "sub", side=True))
    agents.put_json(root / ".claude/projects/-home-mara/one/subagents/agent-x.meta.json", {"agentType": "x"})
    agents.put(root / ".codex/sessions/2026/06/18/rollout-2026-06-18-two.jsonl.zst", agents.codex(3))
    agents.put(root / ".pi/agent/sessions/x/three.jsonl", agents.pi(3))
    agents.opencode_storage(root / ".local/share/opencode", agents.opencode(2))
    agents.opencode_database(root / "new/opencode/opencode.db", agents.opencode(2, "ses_five"))
    return root


def everything(archive: Archive) -> list:
    """All that is in an archive, but for when and in which order it was stored."""
    sessions = sorted(archive.sessions(limit=1_000), key=lambda session: session.name)
    kept = [[(m.ref, m.raw, m.role, m.origin, m.time) for m in archive.messages(session.name)] for session in sessions]
    return [*sessions, *kept]


def texts(archive: Archive, session: str) -> list[str]:
    return [stored.message.text for stored in archive.messages(session)]


def test_the_folders_of_four_agents_are_taken_as_they_lie(archive, home):
    brought = Importer(archive, read).bring([home])
    assert brought.failed == brought.waiting == ()
    assert (brought.files, len(brought.sessions)) == (6, 6)
    sessions = {Path(session.source).name: session for session in archive.sessions()}
    projects = {name: session.project for name, session in sessions.items()}
    assert projects == {
        "one.jsonl": "/home/mara/code/waybill",
        "agent-x.jsonl": "/home/mara/code/waybill",
        "rollout-2026-06-18-two.jsonl.zst": "/home/mara/code/ledger",
        "three.jsonl": "/home/mara/code/pier",
        "ses_four.json": "/home/mara/code/walls",
        "opencode.db#ses_five": "/home/mara/code/walls",
    }
    assert brought.messages == sum(session.messages for session in sessions.values())
    assert sessions["opencode.db#ses_five"].title == sessions["ses_four.json"].title == "Walls, all of them"
    assert texts(archive, sessions["three.jsonl"].name)[-1] == "boat 2 is moored"
    assert texts(archive, sessions["opencode.db#ses_five"].name)[0] == "ses_five: paint wall 0"


def test_a_message_has_the_time_of_its_record(archive, home):
    Importer(archive, read).bring([home / ".claude", home / ".pi"])
    for session in archive.sessions():
        times = [stored.time for stored in archive.messages(session.name)]
        assert times == sorted(times)
        assert len(set(times)) == len(times)
        assert (session.started, session.updated) == (times[0], times[-1])
    early = [hit.time for hit in archive.search("boat", before=times[1] + 0.5)]
    assert early
    assert max(early) <= times[1] < max(times)


def test_importing_twice_is_importing_once_and_reads_nothing(archive, home):
    importer = Importer(archive, read)
    first = importer.bring([home])
    before = everything(archive)
    again = Importer(archive, pytest.fail).bring([home, home / ".pi"])
    assert (again.files, again.unchanged, again.messages) == (first.files, first.files, 0)
    assert everything(archive) == before
    anew = Importer(archive, read).bring([home], again=True)
    assert (anew.unchanged, anew.messages) == (0, 0)
    assert everything(archive) == before


def test_a_file_that_was_only_touched_is_read_and_found_unchanged(archive, home):
    Importer(archive, read).bring([home / ".pi"])
    os.utime(home / ".pi/agent/sessions/x/three.jsonl", (agents.LONG_AGO + 5, agents.LONG_AGO + 5))
    assert Importer(archive, read).bring([home]).unchanged == 1


@settings(max_examples=15, deadline=None)
@given(st.sampled_from([agents.claude, agents.codex, agents.pi]), st.lists(st.integers(1, 40), max_size=5))
def test_a_file_that_grows_line_by_line_ends_as_if_read_once(write, cuts):
    """Whatever the moments at which it was looked at, some of them in the middle of a step."""
    rows = write(4)
    with tempfile.TemporaryDirectory() as folder:
        path, now = Path(folder, "session.jsonl"), agents.LONG_AGO
        growing, whole = Archive(Path(folder, "a.db")), Archive(Path(folder, "b.db"))
        for cut in sorted({min(cut, len(rows)) for cut in cuts}):
            agents.put(path, rows[:cut], now)
            Importer(growing, read, clock=lambda: now + 1).bring([path])
        agents.put(path, rows, now)
        Importer(growing, read, clock=lambda: now + OPEN).bring([path])
        Importer(whole, read, clock=lambda: now + OPEN).bring([path])
        assert everything(growing) == everything(whole)
        growing.close()
        whole.close()


def test_the_last_step_does_not_wait_for_a_time_that_a_wrong_clock_named(archive, tmp_path):
    wrong = agents.LONG_AGO + 10 * 365 * 86_400
    path = agents.put(tmp_path / "s.jsonl", agents.claude(1), wrong)
    assert Importer(archive, read, clock=lambda: wrong + 1).bring([path]).waiting
    assert Importer(archive, read, clock=lambda: agents.LONG_AGO).bring([path]).messages > 0, "it was set back"
    assert Importer(archive, pytest.fail, clock=lambda: agents.LONG_AGO).bring([path]).unchanged == 1


def test_the_last_step_waits_until_it_is_whole(archive, tmp_path):
    rows, now = agents.claude(1), agents.LONG_AGO
    path = agents.put(tmp_path / "s.jsonl", rows[:3])

    def bring(later):
        return Importer(archive, read, clock=lambda: now + later).bring([path])

    first = bring(QUIET - 1)
    assert (first.messages, first.waiting) == (1, (str(path),))
    agents.put(path, rows[:4])
    assert bring(QUIET + 1).waiting, "a call of it is open, and tools may run long"
    agents.put(path, rows[:5])
    assert bring(QUIET - 1).messages == 0
    last = bring(QUIET)
    assert (last.messages, last.waiting) == (2, ())
    assert bring(2 * OPEN).unchanged == 1
    assert [len(stored.message.calls) for stored in archive.messages(last.sessions[0])] == [0, 2, 0]


def test_what_cannot_be_read_is_named_with_the_reason_and_the_rest_is_taken(archive, home):
    folder = home / ".claude/projects/-home-mara"
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "noise.jsonl").write_bytes(b"\x00\x01\x02 no JSON\n")
    (folder / "torn.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd torn")
    (folder / "list.json").write_text(json.dumps({"shopping": ["bread"]}))
    (home / "new/opencode/opencode.db").write_bytes(b"no database at all")
    os.mkfifo(folder / "pipe.jsonl")
    importer = Importer(archive, read)
    brought = importer.bring([home, home / "nowhere"])
    assert {Path(failed.name).name for failed in brought.failed} == {
        *("empty.jsonl", "noise.jsonl", "torn.jsonl.zst", "list.json", "opencode.db", "pipe.jsonl", "nowhere")
    }
    assert all(failed.what for failed in brought.failed)
    assert len(brought.sessions) == 5
    assert importer.bring([home]).failed == (), "while they do not change, they are named once"
    assert len(Importer(archive, read).bring([home]).failed) == 6


def test_a_reader_that_breaks_breaks_one_file_only(archive, home):
    def fragile(given):
        if "three" in str(given):
            raise LookupError("an index")
        return read(given)

    brought = Importer(archive, fragile).bring([home])
    assert [failed.what for failed in brought.failed] == [
        "reading it failed with LookupError: an index; please report this"
    ]
    assert len(brought.sessions) == 5


def test_a_damaged_line_costs_that_line_only(archive, tmp_path):
    path = agents.put(tmp_path / "rollout.jsonl", agents.codex(2))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], lines[2][:40] + b"\n", *lines[3:]]))
    os.utime(path, (agents.LONG_AGO, agents.LONG_AGO))
    assert Importer(archive, read).bring([path]).messages == 3


def test_a_fork_that_copies_its_past_shares_it(archive, tmp_path):
    rows = agents.claude(2)
    agents.put(tmp_path / "a.jsonl", rows)
    agents.put(tmp_path / "b.jsonl", [*rows[:6], *agents.claude(1, "other")])
    brought = Importer(archive, read).bring([tmp_path])
    one, other = (session for session in archive.sessions() if session.source)
    assert brought.messages == len({*_refs(archive, one.name), *_refs(archive, other.name)}) == 8 + 4
    assert {one.forked, other.forked} == {"", min((one, other), key=lambda s: Path(s.source).name).name}


def _refs(archive, session):
    return [stored.ref for stored in archive.messages(session)]


def test_all_trajectories_of_a_file_are_taken(archive, tmp_path):
    runs = [
        {"traj": [{"role": "user", "content": f"run {n}"}, {"role": "assistant", "content": "ok"}]} for n in range(3)
    ]
    (tmp_path / "runs.json").write_text(json.dumps(runs))
    os.utime(tmp_path / "runs.json", (agents.LONG_AGO, agents.LONG_AGO))
    brought = Importer(archive, read).bring([tmp_path])
    assert (brought.files, len(brought.sessions), brought.messages) == (1, 3, 6)


def test_the_example_session_comes_back_byte_for_byte(archive):
    name = EXAMPLES / "coding-session.claude-code.jsonl"
    brought = Importer(archive, read).bring([name])
    stored = list(archive.messages(brought.sessions[0]))
    assert [one.raw for one in stored] == [message.raw for message in read(name).messages]
    assert [one.message for one in stored] == list(read(name).messages)


def test_links_to_folders_are_not_followed_and_a_file_counts_once(tmp_path):
    path = agents.put(tmp_path / "a/s.jsonl", agents.pi(1))
    (tmp_path / "a/loop").symlink_to(tmp_path / "a")
    items = list(found([tmp_path, path, tmp_path / "a"]))
    assert [item.name for item in items if isinstance(item, Item)] == [str(path)]


def test_a_rewritten_file_is_another_branch_and_nothing_is_lost(archive, tmp_path):
    path = agents.put(tmp_path / "s.jsonl", agents.pi(3))
    Importer(archive, read).bring([path])
    edited = json.loads(json.dumps(agents.pi(2)).replace("moor boat 1", "sink boat 1"))
    agents.put(path, edited, agents.LONG_AGO + 1)
    Importer(archive, read).bring([path])
    assert "boat 2 is moored" in [text for s in archive.sessions() for text in texts(archive, s.name)]
    assert len(archive.sessions()) == 2


def test_what_is_remembered_survives_a_crash_before_it_was_written(archive, home, monkeypatch):
    def crash(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(folders.Importer, "_remember", crash)
    with pytest.raises(KeyboardInterrupt):
        Importer(archive, read).bring([home / ".pi"])
    monkeypatch.undo()
    again = Importer(archive, read).bring([home / ".pi"])
    assert (again.unchanged, again.messages) == (0, 0)


def test_a_file_from_the_future_does_not_wait_for_it(archive, tmp_path):
    now = agents.LONG_AGO
    path = agents.put(tmp_path / "s.jsonl", agents.claude(1), age=now + 1_000 * OPEN)

    def bring(later):
        return Importer(archive, read, clock=lambda: now + later).bring([path])

    assert bring(0).waiting == (str(path),)
    assert bring(QUIET - 1).unchanged == 1
    done = bring(QUIET)
    assert (done.waiting, done.messages) == ((), 1)
    assert bring(QUIET + 1).unchanged == 1


def test_a_name_that_is_half_a_character_breaks_no_import(archive, tmp_path):
    rows = agents.claude(1)
    rows[1]["message"]["content"][0]["name"] = "Re\ud800ad"
    rows.append({"type": "custom-title", "customTitle": "half \udc80", "sessionId": "one"})
    brought = Importer(archive, read).bring([agents.put(tmp_path / "s.jsonl", rows)])
    assert (brought.failed, len(brought.sessions)) == ((), 1)
    assert list(archive.verify()) == []


def test_a_folder_that_cannot_be_looked_into_is_named(tmp_path, monkeypatch):
    agents.put(tmp_path / "closed" / "s.jsonl", agents.claude(1))
    agents.put(tmp_path / "open" / "s.jsonl", agents.claude(1))
    scan = os.scandir

    def refused(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refused)
    open_, closed = found([tmp_path])
    assert open_.name == str(tmp_path / "open" / "s.jsonl")
    assert (closed.name, closed.what) == (str(tmp_path / "closed"), "cannot be looked into: Permission denied")


def test_files_that_opencode_takes_away_meanwhile_are_told(home, monkeypatch):
    def gone(folder, session):
        yield folder / "message" / "taken away.json"

    storage = next(path for path in home.rglob("storage") if path.is_dir())
    monkeypatch.setattr(opencode, "_files", gone)
    assert [type(item) for item in found([storage])] == [Failed]


def test_what_opencode_writes_while_it_is_read_is_whole_or_waits_for_the_next_time(tmp_path, monkeypatch):
    """A message without its parts would be kept as an empty one, and the whole one as a branch beside it."""
    path = agents.opencode_database(tmp_path / "opencode.db", agents.opencode(2))
    item, connect = opencode.in_database(path)[0], sqlite3.connect
    asked = []

    def connected(*args, **how):
        asked.append(args)
        if len(asked) == 2:
            monkeypatch.undo()
            agents.opencode_database(path, agents.opencode(3))
        return connect(*args, **how)

    monkeypatch.setattr(sqlite3, "connect", connected)
    messages = item.given()["messages"]
    assert len(messages) == len(agents.opencode(2)["messages"])
    assert all(message["parts"] for message in messages)
    assert len(item.given()["messages"]) == len(agents.opencode(3)["messages"])
