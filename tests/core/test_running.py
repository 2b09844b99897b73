"""What was started in the background is known by its name until it is seen to end, through any number of folds."""

from __future__ import annotations

import json

import pytest
from turns import facts, user

from foldline import Budget, Compactor, sources
from foldline.core.facts import Facts
from foldline.core.history.cycles import pair
from foldline.core.work.deeds import deeds
from foldline.core.work.running import ended_by, running
from foldline.model import Origin
from foldline.testing import FakeCaller, Session

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SERVER = ("Bash", {"command": "npm run dev", "run_in_background": True}, "Command running in background with ID: b7f3")
AGENT = (
    "Task",
    {"description": "write docs", "prompt": "Write all of it.", "run_in_background": True},
    "Async agent launched successfully.\nagentId: a1b2c3d (internal ID)\nThe agent is working in the background.",
)
PROCESS = (
    "exec_command",
    {"cmd": "make watch"},
    "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 309\nOutput:\n",
)
SPAWNED = ("spawn_agent", {"message": "port the tests"}, '{"agent_id":"thr_9"}')
NOTICE = "<task-notification>\n<task-id>{}</task-id>\n<status>{}</status>\n<summary>x</summary>\n</task-notification>"


def used(session, *steps):
    for name, arguments, result in steps:
        session.tools((name, json.dumps(arguments), result))
    return session


def found(*steps):
    messages = used(Session().user("Go."), *steps).conversation().messages
    grammar = sources.read(Session().user("Go.").request(), "anthropic").grammar
    return {one.name: one.what for one in running(deeds(messages, pair(messages, grammar)))}


@pytest.mark.parametrize("tool", ["Read", "WebFetch", "mcp__notes__get"])
@pytest.mark.parametrize("told", [AGENT[2], SPAWNED[2], SERVER[2], PROCESS[2]])
def test_what_a_page_or_a_file_says_starts_nothing(tool, told):
    assert found((tool, {"file_path": "notes.txt"}, told)) == {}


def test_each_agents_way_of_starting_something_is_known():
    assert found(SERVER, AGENT, PROCESS, SPAWNED) == {
        "b7f3": "npm run dev",
        "a1b2c3d": "write docs",
        "309": "make watch",
        "thr_9": "port the tests",
    }


@pytest.mark.parametrize(
    "answer",
    [
        "Command was manually backgrounded by user with ID: b9. Output is being written to: /tmp/b9.output",
        "Command exceeded the blocking budget (15s) and was moved to the background with ID: b9. It is still running.",
        "Command did not complete within its 120s timeout and was moved to the background (ID: b9). Output is there.",
    ],
)
def test_a_command_may_come_into_the_background_later(answer):
    assert found(("Bash", {"command": "make"}, answer)) == {"b9": "make"}


def test_a_command_that_had_printed_something_may_be_moved_by_the_user():
    moved = "Command was manually backgrounded by user with ID: b9. Output is being written to: /tmp/tasks/b9.output"
    assert found(("Bash", {"command": "make"}, f"compiling a.c\ncompiling b.c\n{moved}")) == {"b9": "make"}
    assert found(("Bash", {"command": "cat notes.md"}, f"Some notes:\n{moved}")) == {}
    assert found(("Bash", {"command": "make"}, f"compiling a.c\n{moved}\nready")) == {}


@pytest.mark.parametrize(
    ("start", "name", "end"),
    [
        (SERVER, "b7f3", ("KillShell", {"shell_id": "b7f3"}, "Successfully killed shell: b7f3")),
        (SERVER, "b7f3", ("BashOutput", {"bash_id": "b7f3"}, "<status>completed</status>\n<stdout>ok</stdout>")),
        (SERVER, "b7f3", ("BashOutput", {"bash_id": "b7f3"}, "No shell found with ID: b7f3")),
        (
            AGENT,
            "a1b2c3d",
            ("TaskOutput", {"task_id": "a1b2c3d"}, "<task_id>a1b2c3d</task_id>\n<status>failed</status>"),
        ),
        (PROCESS, "309", ("write_stdin", {"session_id": 309, "chars": ""}, "Process exited with code 0\nOutput:\n")),
        (SPAWNED, "thr_9", ("wait", {"ids": ["thr_9"]}, '{"status":{"thr_9":{"completed":"All ported."}}}')),
        (SPAWNED, "thr_9", ("wait_agent", {"targets": ["thr_9"]}, '{"status":{"thr_9":{"completed":"All ported."}}}')),
        (SPAWNED, "thr_9", ("close_agent", {"agent_id": "thr_9"}, "{}")),
        (SPAWNED, "thr_9", ("close_agent", {"id": "thr_9"}, '{"status":"running"}')),
        (SPAWNED, "thr_9", ("wait", {"id": "thr_9"}, '{"status":{"completed":"All ported."},"timed_out":false}')),
        *(
            (SERVER, "b7f3", ("KillShell", {"shell_id": "b7f3"}, said.format("b7f3 is not running, so (completed)")))
            for said in ("Shell {}", "Error: Shell {}", "<tool_use_error>Task {}</tool_use_error>")
        ),
        (PROCESS, "309", ("write_stdin", {"session_id": 309}, "write_stdin failed: Unknown process id 309")),
    ],
)
def test_it_is_over_once_a_call_that_names_it_says_so(start, name, end):
    assert found(start, end) == {name: ""}


@pytest.mark.parametrize(
    "later",
    [
        ("BashOutput", {"bash_id": "b7f3"}, "<status>running</status>\n<stdout>ready</stdout>"),
        ("BashOutput", {"bash_id": "other"}, "<status>completed</status>"),
        ("Read", {"file_path": "log"}, "<status>completed</status>"),
        ("Read", {"file_path": "log"}, "a log says:\nCommand running in the background"),
        ("BashOutput", {"bash_id": "b7f3"}, '<status>running</status>\n<stdout>{"job": "completed"}</stdout>'),
        ("BashOutput", {"bash_id": "b7f3"}, "<status>running</status>\n<stdout><status>failed</status></stdout>"),
        ("TaskGet", {"id": "b7f3"}, "No task found"),
        ("KillShell", {"shell_id": "b7f3"}, "The user doesn't want to proceed with this tool use."),
    ],
)
def test_it_goes_on_while_nothing_says_that_it_ended(later):
    assert found(SERVER, later)["b7f3"] == "npm run dev"


@pytest.mark.parametrize("printed", ['Process exited with code 1\n"completed"', "<status>failed</status>"])
def test_what_a_process_prints_does_not_tell_what_became_of_it(printed):
    text = f"Chunk ID: 2\nProcess running with session ID 309\nOutput:\n{printed}"
    assert found(PROCESS, ("write_stdin", {"session_id": 309, "chars": ""}, text)) == {"309": "make watch"}


def test_of_several_that_a_call_waits_for_each_is_told_of_by_itself():
    other = ("spawn_agent", {"message": "port the docs"}, '{"agent_id":"thr_10"}')
    told = json.dumps({"status": {"thr_9": {"completed": "All ported. " * 200}}, "timed_out": False})
    waits = ("wait", {"ids": ["thr_10", "thr_9"]}, told)
    assert found(SPAWNED, other, waits) == {"thr_9": "", "thr_10": "port the docs"}


@pytest.mark.parametrize(
    "quoted",
    [
        ("Read", {"file_path": "notes.md"}, f"{SERVER[2]}\n{AGENT[2]}"),
        ("WebFetch", {"url": "https://x.example"}, "Process running with session ID 12"),
        ("Bash", {"command": "cat notes.md"}, f"Some notes:\n{SERVER[2]}\n{AGENT[2]}"),
        ("Bash", {"command": "cat log"}, "a log:\nProcess running with session ID 12\nready"),
        ("exec_command", {"cmd": "cat log"}, "Chunk ID: 1\nOutput:\nProcess running with session ID 12"),
        ("Task", {"description": "look"}, f"The log has {SPAWNED[2]} in it.\nagentId: a9 (to go on with it)"),
    ],
)
def test_a_name_that_a_tool_only_quotes_is_none(quoted):
    assert found(quoted) == {}


def test_a_clients_notice_names_what_ended():
    assert list(ended_by(f"{NOTICE.format('b7f3', 'completed')} and {NOTICE.format('a1', 'failed')}")) == ["b7f3", "a1"]
    assert list(ended_by(NOTICE.format("b7f3", "running"))) == []
    both = (NOTICE.format("b7f3", "running"), NOTICE.format("a1", "completed"))
    assert list(ended_by("\n".join(both))) == ["a1"]
    assert list(ended_by("<task-notification>" * 50_000)) == []
    assert list(ended_by("<task-notification><task-id>b7f3</task-id>" * 20_000)) == []


@pytest.mark.parametrize(
    ("said", "runs"),
    [(NOTICE, []), (f"\n{NOTICE}\nRead the output file.", []), (f"$ cat log\n{NOTICE}", ["b7f3"])],
)
def test_a_notice_of_its_own_counts_although_it_quotes_a_tool(said, runs):
    session = used(Session().user("Go."), SERVER).conversation().messages
    talk = (*session, user(said.format("b7f3", "completed"), origin=Origin.TOOL))
    assert [fact.key for fact in facts(*talk).of("running")] == runs


def test_what_has_ended_takes_no_place_of_what_runs():
    session = used(Session().user("Go."), SERVER)
    for number in range(60):
        used(session, ("Bash", SERVER[1], f"Command running in background with ID: c{number}"))
        used(session, ("BashOutput", {"bash_id": f"c{number}"}, "<status>completed</status>\n" + "ok\n" * 100))
    folded = Compactor(Budget(window=20_000, reserve=1_000)).compact(session.request(), to=3_000)
    assert [fact.key for fact in folded.checkpoint.facts.of("running")] == ["b7f3"]
    assert "- `b7f3`: `npm run dev`, not seen to end [3]" in folded.checkpoint.text


def talk(session, first, last):
    for number in range(first, last):
        session.tools(("Bash", json.dumps({"command": f"cat part_{number}"}), f"line {number}\n" * 60))
        session.assistant(f"Part {number} is read.")
    return session


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("model", [None, FakeCaller()])
def test_every_fold_names_it_until_it_ends(dialect, model):
    session = used(Session(dialect).user("Go."), SERVER, AGENT)
    compactor = Compactor(Budget(window=12_000, reserve=1_000), model=model)
    for fold in range(4):
        talk(session, 12 * fold, 12 * fold + 12)
        text = compactor.compact(session.request(), to=2_500).checkpoint.text
        assert "- `b7f3`: `npm run dev`, not seen to end [3]" in text
        assert text.count("`a1b2c3d`: `write docs`") == 1
    used(session, ("KillShell", {"shell_id": "b7f3"}, "Successfully killed shell: b7f3"))
    session.user(NOTICE.format("a1b2c3d", "completed"))
    assert "not seen to end" not in compactor.compact(session.request(), to=2_500).checkpoint.text
    folded = compactor.compact(talk(session, 60, 80).request(), to=2_500)
    assert "not seen to end" not in folded.checkpoint.text
    assert folded.checkpoint.facts.of("running") == ()
    assert Facts.from_dict(folded.checkpoint.facts.to_dict()) == folded.checkpoint.facts
