"""The archive from the command line: kept, listed, searched, shown, undone, and safe to look at."""

from __future__ import annotations

import functools
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time

import pytest

from archive import agents
from cli.conversations import LONG, anthropic, claude_code
from foldline import Archive, sources
from foldline.testing import Session

KEY = "sk-ant-api03-" + "Zq7RtW2mXy" * 9 + "AA"
"""Looks like a key; was never one."""
EVIL = "\x1b]0;owned\x07 red \x9b31m"
COMMANDS = ("sessions", "search", "show", "expand", "diff", "undo", "redo", "verify", "forget", "import", "export")


@pytest.fixture
def file(tmp_path):
    (tmp_path / "session.json").write_bytes(anthropic(20))
    return tmp_path / "session.json"


@pytest.fixture
def folded(foldline, file) -> str:
    """The reference of a checkpoint that was just made."""
    return compacted(foldline, file)["checkpoint"]["ref"]


def compacted(foldline, file, *line):
    ran = foldline("compact", file, "--to", 20_000, "--json", *line)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


def told(ran):
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_tells_its_json_and_takes_an_archive(foldline, command):
    ran = foldline(command, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert b"--archive PATH" in ran.out
    assert b"JSON" in ran.out


class TestCompact:
    def test_it_keeps_the_originals_and_says_how_to_have_them_back(self, foldline, file, home):
        ran = foldline("compact", file, "--to", 20_000)
        ref = re.search(r"as checkpoint (\w+)", ran.err)[1]
        assert f"foldline expand {ref}" in ran.err
        assert f"foldline undo {ref}" in ran.err
        back = foldline("expand", ref, "--raw")
        original = json.loads(file.read_bytes())["messages"]
        stored = json.JSONDecoder()
        text, found = back.out.decode(), []
        while text.strip():
            value, end = stored.raw_decode(text)
            found.append(value)
            text = text[end:].lstrip()
        assert found == original[: len(found)]
        assert len(found) > 20
        assert oct(os.stat(home / "archive.db").st_mode)[-3:] == "600"

    def test_no_archive_leaves_none(self, foldline, file, home):
        assert compacted(foldline, file, "--no-archive")["archive"] is None
        assert compacted(foldline, file, "--dry-run")["archive"] is None
        assert list(home.iterdir()) == []

    def test_an_archive_can_be_named(self, foldline, file, home, tmp_path):
        path = tmp_path / "elsewhere" / "a.db"
        assert compacted(foldline, file, "--archive", path)["archive"] == str(path)
        assert list(home.iterdir()) == []
        assert len(told(foldline("sessions", "--archive", path, "--json"))["sessions"]) == 1

    def test_it_goes_on_without_an_archive_that_cannot_be_used(self, foldline, file, tmp_path):
        (tmp_path / "real.db").touch()
        (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
        for path in (tmp_path / "link.db", tmp_path, "/proc/none/a.db"):
            result = compacted(foldline, file, "--archive", path)
            assert result["archive"] is None
            assert result["checkpoint"]["text"]
            assert "not-archived" in [notice["code"] for notice in result["notices"]]
            assert foldline("compact", file, "--to", 20_000, "--archive", path).code == 0

    def test_each_run_folds_the_file_anew(self, foldline, file):
        first = compacted(foldline, file)
        again = compacted(foldline, file, "--up-to", 10)
        assert again["checkpoint"]["generation"] == 1
        assert again["tokens_before"] == first["tokens_before"]
        assert again["checkpoint"]["last"] < first["checkpoint"]["last"]
        session = told(foldline("sessions", "--json"))["sessions"][0]
        assert session["checkpoints"] == 2

    def test_a_fold_that_was_undone_and_is_asked_for_again_holds_again(self, foldline, file, folded):
        told(foldline("undo", folded, "--json"))
        assert compacted(foldline, file)["checkpoint"]["ref"] == folded
        shown = told(foldline("show", told(foldline("sessions", "--json"))["sessions"][0]["name"], "--json"))
        assert [one["undone"] for one in shown["checkpoints"]] == [False]

    def test_a_folded_file_that_is_folded_again_builds_on_its_checkpoint(self, foldline, file, folded, tmp_path):
        out = tmp_path / "out.json"
        assert foldline("compact", file, "--to", 20_000, "-o", out).code == 0
        request = json.loads(out.read_bytes())
        request["messages"] += json.loads(anthropic(20))["messages"][1:]
        out.write_text(json.dumps(request))
        again = compacted(foldline, out)
        assert again["checkpoint"]["generation"] == 2
        messages = told(foldline("expand", again["checkpoint"]["ref"], "--json"))["messages"]
        assert messages[0]["text"] == "Please find the bug in the parser."


class TestUndo:
    def test_undo_and_redo_say_what_holds(self, foldline, folded):
        assert told(foldline("undo", folded, "--json")) == {"checkpoint": folded, "undone": True, "in_force": None}
        assert told(foldline("redo", folded, "--json"))["in_force"] == folded
        assert "shown as it is" in foldline("undo", folded.upper()).out.decode()

    def test_diff_names_what_is_folded_and_what_is_shown(self, foldline, folded):
        found = told(foldline("diff", folded, "--json"))
        assert set(found) == {"checkpoint", "generation", "folded", "stubbed", "shown"}
        assert len(found["folded"]) + len(found["stubbed"]) + len(found["shown"]) == 43
        assert f"folded into checkpoint {folded}" in foldline("diff", folded).out.decode()

    def test_what_a_tool_said_is_not_listed_as_the_users(self, foldline, folded):
        folds = told(foldline("diff", folded, "--json"))["folded"]
        session = told(foldline("sessions", "--json"))["sessions"][0]["name"]
        for rows in (folds, told(foldline("show", session, "--json"))["messages"]):
            assert {(row["role"], row["origin"]) for row in rows} >= {("user", "user"), ("user", "tool")}
        told_by = {row["ref"]: row["origin"] for row in folds}
        listed = re.findall(r"^ *\d+  (\w{16})  (\w+)", foldline("diff", folded).out.decode(), re.M)
        assert {(ref, who) for ref, who in listed if ref in told_by} == set(told_by.items())

    @pytest.mark.parametrize("command", ["undo", "redo", "diff", "expand", "show"])
    @pytest.mark.parametrize("ref", ["0123456789abcdef", "../../etc/passwd", "\x1b[2J"])
    def test_what_is_not_there_is_an_error_of_one_line(self, foldline, folded, command, ref):
        ran = foldline(command, ref)
        assert (ran.code, ran.out) == (4, b"")
        assert ran.err.startswith("foldline: ")
        assert ran.err.count("\n") == 1
        assert "\x1b" not in ran.err


class TestShow:
    def test_whatever_a_reference_names_is_shown(self, foldline, file, folded):
        session = told(foldline("sessions", "--json"))["sessions"][0]
        assert session["source"] == str(file)
        whole = told(foldline("show", session["name"], "--json"))
        assert (whole["kind"], len(whole["messages"])) == ("session", 43)
        message = told(foldline("show", whole["messages"][2]["ref"][:10], "--json"))
        assert (message["kind"], message["position"]) == ("message", 2)
        assert LONG in message["text"]
        result = re.search(r"\[result (\w+) of toolu_0\]", message["text"])[1]
        assert told(foldline("show", result, "--json")) == {"kind": "result", "ref": result, "text": f"# 0\n{LONG}"}
        checkpoint = told(foldline("show", folded, "--json"))
        assert (checkpoint["kind"], checkpoint["first"]) == ("checkpoint", 1)
        for ref in (session["name"], message["ref"], result, folded):
            assert foldline("show", ref).out

    def test_raw_is_the_very_bytes_and_says_that_it_is_not_masked(self, foldline, file, folded):
        element = sources.read(file).messages[1]
        ran = foldline("show", element.identity, "--raw")
        assert ran.out == element.raw
        assert "not masked" in ran.err
        session = told(foldline("sessions", "--json"))["sessions"][0]["name"]
        assert foldline("show", session, "--raw").code == 2


class TestSecrets:
    @pytest.fixture
    def refs(self, foldline, tmp_path) -> list[str]:
        data = anthropic(20, body=f"export ANTHROPIC_API_KEY={KEY} {EVIL}\n" + LONG)
        (tmp_path / "leak.json").write_bytes(data)
        ref = compacted(foldline, tmp_path / "leak.json")["checkpoint"]["ref"]
        session = told(foldline("sessions", "--json"))["sessions"][0]["name"]
        messages = told(foldline("show", session, "--json"))["messages"]
        return [ref, session, messages[2]["ref"]]

    def test_they_are_masked_in_all_that_is_shown(self, foldline, refs):
        ref, _, message = refs
        lines = [("expand", ref), ("diff", ref), ("sessions",), ("search", "export")]
        for line in (*lines, *(("show", name) for name in refs)):
            for form in ((), ("--json",)):
                ran = foldline(*line, *form)
                assert ran.code == 0
                assert KEY.encode() not in ran.out, line
                assert not {0x1B, 0x07} & set(ran.out), line
                assert "\x9b" not in ran.out.decode()
        assert b"[masked" in foldline("show", message).out
        assert KEY.encode() in foldline("show", message, "--raw").out
        assert KEY.encode() in foldline("expand", ref, "--raw").out
        assert b"owned" in foldline("show", message).out, "what a terminal would obey is shown, not dropped"

    def test_a_terminal_is_shown_even_raw_bytes_harmlessly(self, refs):
        out = in_terminal("show", refs[2], "--raw")
        assert KEY.encode() in out
        assert b"\x1b]0;owned" not in out


def in_terminal(*arguments) -> bytes:
    """What the program writes to a terminal of 24 lines, with a pager that passes everything on."""
    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "foldline.cli.main", *arguments]
    environment = {**os.environ, "PAGER": "cat", "LINES": "24", "COLUMNS": "80"}
    child = subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65536):
            said += piece
    except OSError:
        pass  # Linux says so when the other side has gone
    assert child.wait(30) == 0
    os.close(ours)
    return said


def test_what_is_long_goes_through_the_pager(foldline, folded, tmp_path, monkeypatch):
    pager = tmp_path / "pager"
    pager.write_text(f"#!/bin/sh\ncat > {tmp_path}/paged\n")
    pager.chmod(0o755)
    line = [sys.executable, "-m", "foldline.cli.main", "expand", folded]
    code = f"import pty, sys; sys.exit(pty.spawn({line!r}))"
    environment = {**os.environ, "PAGER": str(pager)}
    ran = subprocess.run([sys.executable, "-c", code], stdin=subprocess.DEVNULL, capture_output=True, env=environment)
    assert ran.returncode == 0
    assert b"find the bug" in (tmp_path / "paged").read_bytes()


class TestSearch:
    @pytest.fixture(autouse=True)
    def _kept(self, foldline, tmp_path):
        folder = tmp_path / "folder"
        agents.put(folder / "one.jsonl", agents.claude(3))
        agents.put(folder / "three.jsonl", agents.pi(3))
        assert foldline("import", folder).code == 0

    def test_hits_lead_to_their_messages(self, foldline):
        found = told(foldline("search", "moor", "boat", "--json"))["found"]
        assert found
        shown = told(foldline("show", found[0]["ref"], "--json"))
        assert "boat" in shown["text"]
        text = foldline("search", "boat").out.decode()
        assert found[0]["ref"] in text

    @pytest.mark.parametrize(
        ("line", "some"),
        [
            (("--role", "user"), True),
            (("--tool", "Read"), True),
            (("--project", "/home/mara/code/waybill"), True),
            (("--project", "/elsewhere"), False),
            (("--after", "2026-06-18"), True),
            (("--after", "2026-06-20"), False),
            (("--before", "2026-06-17T12:00"), False),
        ],
    )
    def test_filters_narrow_it(self, foldline, line, some):
        assert bool(told(foldline("search", "text OR part", "--json", *line))["found"]) == some

    def test_nothing_found_is_said_and_no_error(self, foldline):
        ran = foldline("search", "zeppelin")
        assert (ran.code, ran.out) == (0, b"")
        assert "nothing was found" in ran.err

    def test_a_time_that_is_none_is_wrong_usage(self, foldline):
        assert foldline("search", "boat", "--after", "yesterday").code == 2

    def test_sessions_have_a_title_or_how_they_begin(self, foldline):
        sessions = told(foldline("sessions", "--json"))["sessions"]
        assert sorted(session["opening"] for session in sessions) == [
            "one: look at part 0, please",
            "three: moor boat 0",
        ]
        assert "three: moor boat 0" in foldline("sessions").out.decode()
        only = told(foldline("sessions", "--project", "/home/mara/code/pier", "--json"))["sessions"]
        assert [session["dialect"] for session in only] == ["pi"]

    def test_a_session_that_branched_off_before_the_user_spoke_shows_how_its_origin_begins(self, foldline, home):
        session = Session().user("Mend the mill.").assistant("I look at it.")
        asked = session.conversation()
        archive = Archive(home / "archive.db")
        archive.append(asked)
        archive.append(Session().user("Mend the mill.").assistant("I ask first.").conversation())
        archive.append(Session().user("Mend the mill.").assistant("I ask.").user("Never mind.").conversation())
        archive.close()
        found = [one for one in told(foldline("sessions", "--json"))["sessions"] if one["scope"] == ""]
        openings = {(bool(one["forked"]), one["messages"]): one["opening"] for one in found}
        assert openings[True, 2] == "Mend the mill."
        assert openings[True, 3] == "Never mind."
        assert openings[False, 2] == "Mend the mill."

    def test_one_of_something_is_not_said_to_be_many(self, foldline, home):
        archive = Archive(home / "archive.db")
        archive.append(Session().user("Mend the mill.").conversation())
        archive.close()
        text = foldline("sessions").out.decode()
        assert "     1 message   " in text
        assert "1 messages" not in text

    def test_a_session_that_is_not_there_is_looked_up_with_a_command(self, foldline):
        for line in (("search", "--session", "nosuch"), ("export", "nosuch")):
            ran = foldline(*line)
            assert (ran.code, ran.out) == (4, b""), "nothing is written before it is known that all is there"
            assert "there is no session nosuch in this archive; `foldline sessions` lists those there are" in ran.err

    def test_a_checkpoint_that_is_not_there_is_looked_up_with_a_command(self, foldline, home):
        Archive(home / "archive.db").close()
        for command in ("expand", "diff", "undo", "redo"):
            ran = foldline(command, "abcdef0123")
            assert (ran.code, ran.out) == (4, b"")
            assert "no checkpoint abcdef0123 in this archive; `foldline show SESSION` lists its own" in ran.err


class TestImport:
    def test_what_was_forgotten_is_not_taken_back_and_that_is_said(self, foldline, tmp_path):
        path = agents.put(tmp_path / "three.jsonl", agents.pi(2))
        name = told(foldline("import", path, "--json"))["sessions"][0]
        assert foldline("forget", name, "--yes").out.startswith(b"4 messages of ")
        ran = foldline("import", path, "--again")
        assert ran.out.startswith(b"0 new messages of 1 session from 1 file;")
        assert ran.err == "note: 4 messages in what was read were forgotten on request, and are not taken back\n"
        assert told(foldline("import", path, "--again", "--json"))["forgotten"] == 4
        agents.put(path, agents.pi(3), agents.LONG_AGO + 1)
        again = told(foldline("import", path, "--json"))
        assert (again["messages"], again["forgotten"]) == (2, 4)

    def test_figures_and_a_second_time(self, foldline, tmp_path, home):
        agents.put(tmp_path / "x/three.jsonl", agents.pi(2))
        first = told(foldline("import", tmp_path / "x", "--json"))
        fields = {"archive", "files", "unchanged", "messages", "sessions", "waiting", "failed", "forgotten", "exports"}
        assert set(first) == fields
        assert (first["archive"], first["messages"]) == (str(home / "archive.db"), 4)
        again = foldline("import", tmp_path / "x")
        assert again.code == 0
        assert again.out.decode().startswith("0 new messages of 0 sessions from 0 files; 1 unchanged, 0 not read")

    def test_what_cannot_be_read_is_said_and_ends_with_3(self, foldline, tmp_path):
        agents.put(tmp_path / "x/three.jsonl", agents.pi(2))
        for number in range(7):
            (tmp_path / "x" / f"bad{number}{EVIL}.jsonl").write_bytes(b"nonsense")
        ran = foldline("import", tmp_path / "x")
        assert ran.code == 3
        assert ran.out.decode().startswith("4 new messages of 1 session from 1 file; 0 unchanged, 7 not read")
        assert ran.err.count("not read: ") == 6
        assert "and 2 more" in ran.err
        assert "\x1b" not in ran.err

    def test_a_file_being_written_is_said_to_wait(self, foldline, tmp_path):
        agents.put(tmp_path / "three.jsonl", agents.pi(2), age=None)
        ran = foldline("import", tmp_path / "three.jsonl")
        assert "an import takes it once the file has been still" in ran.err
        assert ran.out.startswith(b"3 new messages")

    def test_watching_takes_in_what_is_new_until_it_is_interrupted(self, tmp_path, home):
        path = agents.put(tmp_path / "three.jsonl", agents.pi(1))
        line = [sys.executable, "-m", "foldline.cli.main", "import", path, "--watch", "--every", "0.1", "--json"]
        heeds = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs do not
        watcher = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heeds)
        try:
            assert json.loads(watcher.stdout.readline())["messages"] == 2
            agents.put(path, agents.pi(3), agents.LONG_AGO + 1)
            assert json.loads(watcher.stdout.readline())["messages"] == 4
            time.sleep(0.2)
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(20) == 0
            assert watcher.stderr.read() == b""
        finally:
            watcher.kill()
            watcher.wait()
        with_archive = Archive(home / "archive.db")
        assert [session.messages for session in with_archive.sessions()] == [6]
        with_archive.close()


class TestCare:
    def test_a_checkpoint_is_not_forgotten_by_itself_and_what_can_be_is_said(self, foldline, folded):
        ran = foldline("forget", folded, "--yes")
        assert (ran.code, ran.out) == (4, b"")
        assert f"{folded} is a checkpoint, and those are not forgotten by themselves" in ran.err
        assert "forget its session, or a message that it stands for" in ran.err
        assert foldline("expand", folded).code == 0

    def test_one_message_with_one_checkpoint_is_said_to_be_one(self, foldline, folded):
        ref = told(foldline("expand", folded, "--json"))["messages"][1]["ref"]
        said = foldline("forget", ref, "--yes").out.decode()
        assert said.startswith("1 message of ")
        assert said.endswith(" is forgotten, and 1 checkpoint that may quote it\n")

    def test_a_sound_archive_is_said_to_be(self, foldline, folded):
        assert told(foldline("verify", "--json"))["troubles"] == []
        assert "all is as it was stored" in foldline("verify").err

    def test_a_damaged_one_ends_with_1(self, foldline, folded, home):
        import sqlite3

        with sqlite3.connect(home / "archive.db") as connection:
            connection.execute("UPDATE blobs SET data = x'00' WHERE id = 3")
        connection.close()
        ran = foldline("verify")
        assert ran.code == 1
        assert ran.out

    def test_forgetting_takes_a_yes(self, foldline, file, folded):
        ref = sources.read(file).messages[2].identity[:16]
        assert foldline("forget", ref).code == 2
        assert told(foldline("show", ref, "--json"))["kind"] == "message"
        done = told(foldline("forget", ref, "--yes", "--json"))
        assert done["refs"] == [ref]
        assert "forgotten on request" in foldline("show", ref).out.decode()
        assert LONG.encode() not in foldline("show", ref, "--raw").out

    def test_an_export_is_taken_in_again(self, foldline, folded, tmp_path):
        out = tmp_path / "all.jsonl"
        ran = foldline("export", "-o", out, "--unmasked")
        assert ran.code == 0, ran.err
        assert oct(out.stat().st_mode)[-3:] == "600"
        assert foldline("export", "-o", out).code == 2
        other = tmp_path / "other.db"
        assert foldline("import", out, "--archive", other).code == 0
        assert told(foldline("show", folded, "--archive", other, "--json")) == told(foldline("show", folded, "--json"))
        assert foldline("expand", folded, "--raw", "--archive", other).out == foldline("expand", folded, "--raw").out

    def test_an_export_masks_what_is_secret(self, foldline, tmp_path):
        (tmp_path / "leak.json").write_bytes(anthropic(20, body=f"key {KEY}\n" + LONG))
        compacted(foldline, tmp_path / "leak.json")
        assert KEY.encode() not in foldline("export").out
        assert KEY.encode() in foldline("export", "--unmasked").out


def test_no_archive_is_made_by_looking_for_one(foldline, home):
    for line in (("sessions",), ("search", "x"), ("show", "0123456789abcdef"), ("verify",), ("export",)):
        ran = foldline(*line)
        assert ran.code == 4
        assert "there is no archive" in ran.err
    assert list(home.iterdir()) == []


class TestDamage:
    """What happens to the archive's file is said to whoever runs into it."""

    @pytest.fixture
    def damaged(self, folded, home):
        """An archive that was cut off in the middle."""
        path = home / "archive.db"
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2])
        return path

    def test_verify_that_repairs_an_archive_names_that_and_ends_with_1(self, foldline, damaged):
        ran = foldline("verify")
        assert ran.code == 1
        assert re.search(r"note: .*archive\.db was damaged; it is kept as archive\.db\.damaged-", ran.err)
        assert re.search(r"file archive\.db\.damaged-\w+: was set aside because it was damaged", ran.out.decode())
        assert "all is as it was stored" not in ran.err

    def test_programs_are_told_too(self, foldline, damaged):
        ran = foldline("verify", "--json")
        found = json.loads(ran.out)
        assert (ran.code, found["sound"]) == (1, False)
        assert [notice["code"] for notice in found["notices"]] == ["archive-damaged"]
        assert found["troubles"][0]["ref"].startswith("archive.db.damaged-")

    def test_verify_names_what_another_command_repaired_until_the_copy_is_gone(self, foldline, damaged, home):
        assert "was damaged; it is kept as" in foldline("sessions", "--json").err
        copy = min(home.glob("archive.db.damaged-*"))
        assert "was damaged" not in foldline("sessions").err, "it is said once"
        ran = foldline("verify")
        assert ran.code == 1
        assert f"file {copy.name}: was set aside" in ran.out.decode()
        copy.unlink()
        assert copy.name not in foldline("verify").out.decode()

    @pytest.mark.parametrize("line", [("sessions",), ("search", "x"), ("export",), ("import", "nothing.jsonl")])
    def test_every_command_says_that_the_archive_was_damaged(self, foldline, damaged, line):
        assert "archive.db was damaged; it is kept as archive.db.damaged-" in foldline(*line).err

    def test_compact_says_so_and_keeps_its_fold_in_the_new_one(self, foldline, damaged, file):
        found = compacted(foldline, file)
        assert "archive-damaged" in [notice["code"] for notice in found["notices"]]
        assert found["archive"] == str(damaged)
        damaged.write_bytes(damaged.read_bytes()[:5_000])
        assert "was damaged; it is kept as" in foldline("compact", file, "--to", 20_000).err

    @pytest.mark.parametrize("command", ["verify", "sessions", "search", "export"])
    def test_a_file_that_is_no_archive_is_refused_and_left_alone(self, foldline, command, tmp_path):
        path = tmp_path / "n.txt"
        path.write_text("notes\n")
        ran = foldline(command, "--archive", path)
        assert (ran.code, ran.out) == (4, b"")
        assert ran.err == f"foldline: {path} is no archive; give the archive a file of its own\n"
        assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("n.txt", "notes\n")]


class TestPlan:
    def test_people_use_the_plan_the_agent_has(self, foldline, home):
        assert foldline("plan", "create", "Mend the parser", "Find it", "Mend it").code == 0
        assert "Mend the parser" in foldline("plan").out.decode()
        assert foldline("plan", "update", 1, "--status", "in progress").code == 0
        assert foldline("plan", "complete", 1, "seen in src/3.py").code == 0
        assert foldline("plan", "block", 2, "waits for review").code == 0
        assert foldline("plan", "note", "ask Mara", "--task", 2).code == 0
        assert foldline("plan", "add", "Tell them").code == 0
        tasks = told(foldline("plan", "--json", "list", "--plan", 1))["plan"]["tasks"]
        assert [task["status"] for task in tasks] == ["done", "blocked", "open"]
        assert "ask Mara" in foldline("plan", "list", "--task", 2).out.decode()
        assert "Mend the parser" in foldline("plan", "start").out.decode()
        assert foldline("plan", "archive").code == 0
        assert (home / "agenda.db").exists()

    def test_a_refusal_says_what_to_do_and_ends_with_4(self, foldline):
        ran = foldline("plan", "complete", 7, "done")
        assert ran.code == 4
        assert ran.err.startswith("foldline: Not done: ")
        assert told_wrong(foldline("plan", "--json", "complete", 7, "done"))["ok"] is False

    def test_a_scope_has_its_own_plans_beside_its_archive(self, foldline, home, tmp_path):
        beside = ("--archive", tmp_path / "a.db")
        assert foldline("plan", *beside, "--scope", "x", "create", "Mine", "One").code == 0
        assert "Mine" not in foldline("plan", *beside).out.decode()
        assert "Mine" in foldline("plan", *beside, "--scope", "x").out.decode()
        assert list(home.iterdir()) == []

    def test_its_options_may_stand_behind_what_is_to_be_done(self, foldline, home, tmp_path):
        beside = ("--scope", "x", f"--archive={tmp_path / 'a.db'}", "--json")
        assert told(foldline("plan", "create", "Mine", "One", *beside))["ok"] is True
        assert told(foldline("plan", "list", *beside))["plans"][0]["title"] == "Mine"
        assert told(foldline("plan", "note", *beside, "--", "--scope"))["changed"] is True
        assert list(home.iterdir()) == []
        assert foldline("plan", "list", "--archive").code == 2


def told_wrong(ran):
    assert ran.code == 4
    return json.loads(ran.out)


def test_a_transcript_keeps_its_title_and_times(foldline, tmp_path):
    (tmp_path / "s.jsonl").write_bytes(claude_code(30) + b'{"type":"custom-title","customTitle":"The bug"}\n')
    assert compacted(foldline, tmp_path / "s.jsonl")["checkpoint"]
    session = told(foldline("sessions", "--json"))["sessions"][0]
    assert session["title"] == "The bug"
    assert time.gmtime(session["updated"])[:2] == (2026, 1)


def test_a_pipe_is_named_and_not_waited_for(foldline, tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    ran = foldline("import", tmp_path / "pipe.jsonl")
    assert ran.code == 3
    assert "is no regular file" in ran.err


@pytest.mark.parametrize(
    "line", [("show", "\udcff"), ("search", "x", "--project", "\udcff"), ("search", "--tool", "\udcff")]
)
def test_bytes_that_are_no_text_in_an_argument_are_no_surprise(foldline, folded, line):
    ran = foldline(*line)
    assert "unexpected" not in ran.err
    assert ran.code == (4 if line[0] == "show" else 0)


def test_forgetting_names_damaged_copies_that_may_still_hold_it(foldline, folded, home):
    name = told(foldline("sessions", "--json"))["sessions"][0]["name"]
    copy = next(home.rglob("archive.db")).with_name("archive.db.damaged-20260618T093000Z")
    copy.write_bytes(b"old bytes")
    ran = foldline("forget", name, "--yes")
    assert ran.code == 0
    assert str(copy) in ran.err


def test_what_a_failed_import_quotes_is_masked_in_json_too(foldline, tmp_path, monkeypatch):
    def broken(given, **how):
        raise ValueError(f"no idea what {KEY} is")

    agents.put(tmp_path / "s.jsonl", agents.claude(1))
    monkeypatch.setattr(sources, "read", broken)
    ran = foldline("import", "--json", tmp_path / "s.jsonl")
    assert ran.code == 3
    assert "no idea what" in json.loads(ran.out)["failed"][0]["what"]
    assert KEY.encode() not in ran.out
