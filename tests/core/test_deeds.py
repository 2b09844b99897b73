"""How a call ended is read from its result, and only from what a result of its kind says."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.cycles import pair
from foldline.core.work.deeds import deeds, outcome
from foldline.model import Grammar, Media, Message, Origin, Text, ToolCall, ToolResult

BASH = ToolCall("1", "Bash", '{"command": "make"}')
READ = ToolCall("1", "Read", '{"file_path": "a.py"}')
EDIT = ToolCall("1", "Edit", '{"file_path": "a.py"}')


def result(text, is_error=False):
    return ToolResult("1", (Text(text),), is_error)


def step(*calls, text=""):
    return Message("assistant", Origin.ASSISTANT, (*((Text(text),) if text else ()), *calls))


def answer(*results):
    return Message("user", Origin.TOOL, results)


def all_deeds(*messages):
    return list(deeds(messages, pair(messages, Grammar())))


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", "ok"),
        ("all good", "ok"),
        ("Exit code 1\nno such target", "failed"),
        ("Exit code: 0\nWall time: 0.1 seconds\nOutput:\nError: not really", "ok"),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx", "ok"),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\nx", "failed"),
        ("Chunk ID: 1\nWall time: 9 seconds\nProcess running with session ID 7\nOutput:\n", "unknown"),
        ("Command running in background with ID: b1", "unknown"),
        ("2 passed\nCommand was manually backgrounded by user with ID: b1. Output is being written to: x", "unknown"),
        ("Command did not complete within its 120s timeout and was moved to the background (ID: b1).", "unknown"),
        ("Async agent launched successfully.\nagentId: a1", "unknown"),
        ("some output\n\nCommand exited with code 2", "failed"),
        ("x\n" * 900 + "Command exited with code 2", "failed"),
        ("x\n" * 900 + "exit status 1\n", "failed"),
        ("x\n" * 900 + "Command exited with code 2\n" + "y\n" * 900, "ok"),
        ("x" * 500 + " exit code 1", "ok"),
        ("[The command completed with exit code 0.]", "ok"),
        ("[The command completed with exit code -1.]", "failed"),
        ("<returncode>0</returncode>\n<output>\nError: quoted</output>", "ok"),
        ("<returncode>1</returncode>", "failed"),
        ("Exit code 2 is what you get when nothing matches", "ok"),
        ("status: 404", "ok"),
        ('{"metadata": {"exit_code": 1}, "output": "x"}', "failed"),
        ('{"metadata": {"exit_code": 0}, "output": "x"}', "ok"),
        ('{"exit_code": 3}', "failed"),
        ('{"success": false}', "failed"),
        ('{"success": true}', "ok"),
        ('{"success": "no"}', "ok"),
        ('{"broken', "ok"),
        ('{"a":' * 9_000, "ok"),
        ('{"success": false, "x": "' + "y" * 100_000 + '"}', "failed"),
        ('{"success": false, "x": "' + "y" * 2_000_000 + '"}', "ok"),
        ("#!/bin/sh\nEXIT_CODE=1\n(exit 3)\nexit $EXIT_CODE", "ok"),
        ("retries: 3\nexit_code: 2", "ok"),
        ("stage 1\nexit=0\n[The command completed with exit code 2.]", "failed"),
        ("GET: /users/1: not found", "ok"),
        ("zsh: command not found: make", "failed"),
        ("exit 1 was written into the script", "ok"),
        ("bash: make: command not found", "failed"),
        ("fix: command not found", "ok"),
        ("build: bash: frob: command not found", "ok"),
        ("sh: 1: make: not found", "failed"),
        ("checked three\npage: not found", "ok"),
        ("x: not found" * 300, "ok"),
        ("'make' is not recognized as an internal or external command,\noperable program or batch file.", "failed"),
        ("Get-Thing : no\nAt line:1 char:1\n    + CategoryInfo          : NotSpecified", "failed"),
        ("Get-Thing : no\nAt line:1 char:1\n    + CategoryInfo          : NotSpecified\n\n5 passed", "ok"),
        ("Error: gift card balance is not enough", "failed"),
        ("error.log\nerrors.py", "ok"),
        ("Traceback (most recent call last):\n  File", "failed"),
        ("fatal: not a git repository", "failed"),
        ("<tool_use_error>String to replace not found</tool_use_error>", "failed"),
        ("The user doesn't want to proceed with this tool use.", "failed"),
    ],
)
def test_a_command_ends_as_its_result_says(text, verdict):
    assert outcome(BASH, result(text)) == verdict


@pytest.mark.parametrize("call", [BASH, READ, EDIT])
def test_an_error_is_a_failure_and_no_result_tells_nothing(call):
    assert outcome(call, result("fine", is_error=True)) == "failed"
    assert outcome(call, None) == "unknown"


@pytest.mark.parametrize(
    "text", ["Exit code 1\n", '{"success": false}', "<returncode>1</returncode>", '{"exit_code": 1}']
)
def test_a_file_that_was_read_may_say_anything(text):
    assert outcome(READ, result(text)) == "ok"
    assert outcome(EDIT, result(text)) == "failed"


RAN = ToolCall("1", "run_python", json.dumps({"code": "main()"}))
TRACEBACK = 'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    main()\n'


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (f"loading\n{TRACEBACK}ValueError: no rows", "failed"),
        (f"loading\n{TRACEBACK}KeyboardInterrupt", "failed"),
        (f"loading\n{TRACEBACK}ValueError: no rows\ncaught it, and went on", "ok"),
        ("the last line names a ValueError: no rows", "ok"),
    ],
)
def test_code_failed_where_it_ends_by_raising_something(text, verdict):
    assert outcome(RAN, result(text)) == verdict


def test_what_a_tool_that_changes_files_raised_is_a_failure_and_what_others_show_is_none():
    assert outcome(EDIT, result("FileNotFoundError: src/a.py")) == "failed"
    for name in ("Read", "Grep", "WebFetch", "mcp__tracker__get_issue"):
        of = ToolCall("1", name, '{"pattern": "x", "path": "a"}')
        assert outcome(of, result("ModuleNotFoundError: no numpy")) == "ok"


SHOWN = [
    '{"error": "Something went wrong", "ok": "OK"}',
    '{"error": "#f00", "success": "#0f0"}',
    '{"status": "error", "message": "as it should be"}',
    '{"Status": "exited", "ExitCode": 137}',
    '{"exitcode": 1, "tests": []}',
    '{"status": "failed", "error": "job 7"}',
    '[{"id": 7, "success": false}]',
    '{"status": 201, "output": "created order 9917"}',
    '{"id": 1, "code": 4711, "output": "12kW"}',
    '{"output": "export", "basePath": "/docs"}',
    "{'id': 7, 'returncode': 1}",
]
"""What commands and tools print that is data, whatever its keys are called."""


@pytest.mark.parametrize("text", SHOWN)
@pytest.mark.parametrize("call", [BASH, ToolCall("1", "mcp__db__query", '{"sql": "select"}')])
def test_data_that_is_shown_is_no_failure_and_stays_as_it_is(call, text):
    (deed,) = all_deeds(step(call), answer(ToolResult("1", (Text(text),))))
    assert (deed.verdict, deed.failed, deed.result.text) == ("ok", False, text)


def test_what_the_client_marks_as_failed_is_not_taken_out_of_anything():
    text = '{"exit_code": 1, "output": "The user doesn\'t want to proceed. the user said: yes"}'
    (deed,) = all_deeds(step(BASH), answer(ToolResult("1", (Text(text),), is_error=True)))
    assert (deed.verdict, deed.result.text) == ("failed", text)


def test_a_result_is_told_without_its_envelope():
    (deed,) = all_deeds(step(BASH), answer(ToolResult(BASH.id, (Text('{"output": "boom\\n", "exit_code": 1}'),))))
    assert (deed.verdict, deed.result.text) == ("failed", "boom")
    (kept,) = all_deeds(step(READ), answer(ToolResult(READ.id, (Text('{"output": "boom", "exit_code": 1}'),))))
    assert (kept.verdict, kept.result.text) == ("ok", '{"output": "boom", "exit_code": 1}')


def test_a_check_that_code_ran_may_have_failed_too():
    call = ToolCall("1", "ipython", json.dumps({"code": "!pytest -q"}))
    (deed,) = all_deeds(step(call), answer(ToolResult("1", (Text("2 failed, 3 passed in 0.1s"),))))
    assert (deed.verdict, deed.failed) == ("ok", True)


def test_a_reader_can_fail():
    assert outcome(READ, result("File does not exist.")) == "failed"


def test_calls_come_in_order_with_their_results():
    one, two, three = (ToolCall(name, "Read", "{}") for name in "abc")
    found = all_deeds(
        step(one, two),
        answer(ToolResult("b", (Text("of b"),)), ToolResult("a", (Text("of a"),), True)),
        step(three),
    )
    assert [(deed.at, deed.call.id, deed.answer, deed.verdict) for deed in found] == [
        (0, "a", 1, "failed"),
        (0, "b", 1, "ok"),
        (2, "c", -1, "unknown"),
    ]
    assert [deed.result.text if deed.result else None for deed in found] == ["of a", "of b", None]


def test_only_what_succeeded_touched_anything():
    calls = [ToolCall(name, "Edit", json.dumps({"file_path": name})) for name in "abc"]
    found = all_deeds(step(*calls), answer(ToolResult("a", (Text("done"),)), ToolResult("b", (), True)))
    assert [[touch.path for touch in deed.touched] for deed in found] == [["a"], [], []]


FENCE = "THOUGHT: so\n\n```python\nprint(1)\n```\n\n```bash\nrm a\n```"


def observed(text, origin=Origin.TOOL):
    return Message("user", origin, (Text(text), Media("image")))


@pytest.mark.parametrize(
    "said",
    [
        "apply_patch verification failed: Failed to find expected lines in /src/a.py:\nx = 1",
        "patch rejected by user",
        'exec_command failed for `git push`: CreateProcess { message: "Rejected" }',
        "Permission to use Bash with command git push has been denied.",
        "Claude requested permissions to write to /src/a.py, but you haven't granted it yet.",
        "File is in a directory that is denied by your permission settings.",
        "[Request interrupted by user for tool use]",
        "No changes to make: old_string and new_string are exactly the same.",
        "Found 3 matches of the string to replace, but replace_all is false.",
        "Cancelled: parallel tool call Bash(make) errored",
        "Sibling tool call errored",
        "Task not found",
        "PreToolUse:Edit hook error: [guard.sh]: not there",
        "Execution stopped by PreToolUse hook",
    ],
)
@pytest.mark.parametrize("call", [EDIT, ToolCall("1", "Bash", '{"command": "git push > log.txt"}')])
def test_what_a_client_did_not_let_happen_was_not_done(call, said):
    """Clients mark such answers as failures, but some dialects have no such mark."""
    (deed,) = all_deeds(step(call), answer(result(said)))
    assert (deed.verdict, deed.failed, deed.touched) == ("failed", True, ())
    (deed,) = all_deeds(step(call), answer(result(f"1 file changed\n{said}")))
    assert deed.verdict == "ok"


@pytest.mark.parametrize(
    ("command", "said", "verdict", "touched"),
    [
        ("rm a.py", "rm: cannot remove 'a.py': No such file or directory", "failed", []),
        ("rm a.py; ls b", "rm: cannot remove 'a.py': No such file or directory", "ok", []),
        ("rm a.py b.py; pwd", "rm: cannot remove 'a.py': Permission denied", "ok", ["b.py"]),
        ("rm a.py 2>&1 | cat", "Exit code: 0\nOutput:\nrm: a.py: Permission denied\n", "ok", []),
        ("rm a.py", "a.py: no such file", "ok", ["a.py"]),
    ],
)
def test_what_a_shell_says_that_it_could_not_do_was_not_done(command, said, verdict, touched):
    call = ToolCall("1", "Bash", json.dumps({"command": command}))
    (deed,) = all_deeds(step(call), answer(result(said)))
    assert deed.verdict == outcome(call, result(said)) == verdict
    assert [touch.path for touch in deed.touched] == touched


def test_a_command_in_the_text_is_read_where_a_shell_answers():
    [deed] = all_deeds(step(text=FENCE), observed("<returncode>0</returncode>\n<output></output>"))
    assert [tuple(touch) for touch in deed.touched] == [("deleted", "a", "")]
    assert (deed.at, deed.answer, deed.verdict) == (0, 1, "ok")


@pytest.mark.parametrize(
    "messages",
    [
        [step(text=FENCE)],
        [step(text=FENCE), observed("<returncode>0</returncode>", Origin.USER)],
        [step(text=FENCE), observed("a\n(Current directory: /x)\nbash-$")],
        [step(text=FENCE + "\n" + FENCE), observed("<returncode>0</returncode>")],
        [step(text="no fence"), observed("<returncode>0</returncode>")],
        [step(text="```\nrm a\n```"), observed("<returncode>0</returncode>")],
    ],
)
def test_a_text_is_no_command_where_that_is_not_certain(messages):
    assert all_deeds(*messages) == []


@given(st.text(max_size=200), st.booleans())
def test_any_result_has_a_verdict(text, is_error):
    for call in (BASH, READ, EDIT):
        assert outcome(call, result(text, is_error)) in ("ok", "failed", "unknown")


PIPED = {
    "npx mocha": "  3 passing (5ms)\n  1 failing",
    "bundle exec rspec": "2 examples, 1 failure",
    "vendor/bin/phpunit tests": "FAILURES!\nTests: 2, Assertions: 2, Failures: 1.",
    "mvn test": "[ERROR] Tests run: 2, Failures: 0, Errors: 1, Skipped: 0\n[INFO] BUILD FAILURE",
    "./gradlew build": "FAILURE: Build failed with an exception.\nBUILD FAILED in 1s",
    "python -m unittest tests": "Ran 2 tests in 0.000s\n\nFAILED (failures=1)",
    "cargo build": '   Compiling app\nerror: could not compile `app` (bin "app") due to 1 previous error',
    "npx eslint .": "✖ 2 problems (1 error, 1 warning)",
    "mypy src": "src/a.py:12: error: Incompatible types\nFound 1 error in 1 file (checked 12 source files)",
    "dotnet test": "Failed!  - Failed:     1, Passed:     1, Skipped:     0, Total:     2",
    "pytest -q": "ERROR test_a.py\n1 error in 0.61s",
    "make": "make: *** [Makefile:3: main.o] Error 1",
}


@pytest.mark.parametrize("command", PIPED)
def test_a_check_that_says_that_it_failed_did_so_though_a_pipe_hides_it(command):
    call = ToolCall("1", "Bash", json.dumps({"command": f"{command} 2>&1 | tail -20"}))
    (deed,) = all_deeds(
        Message("assistant", Origin.ASSISTANT, (call,)),
        Message("user", Origin.TOOL, (ToolResult("1", (Text(PIPED[command]),)),)),
    )
    assert (deed.verdict, deed.failed) == ("ok", True)
    (shown,) = all_deeds(
        Message("assistant", Origin.ASSISTANT, (ToolCall("1", "Bash", '{"command": "cat last.log"}'),)),
        Message("user", Origin.TOOL, (ToolResult("1", (Text(PIPED[command]),)),)),
    )
    assert not shown.failed  # it only shows what another said


@pytest.mark.parametrize(
    "text",
    [
        "Found 3 errors (3 fixed, 0 remaining).",
        "Tests run: 12, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS",
        "12 examples, 0 failures",
        "✖ 2 problems (0 errors, 2 warnings)",
        "Success: no issues found in 12 source files",
        "handles 3 errors at once ... ok\n12 passed",
        "12 passed\n[main abc1234] Fix 2 failing tests",
        "all green\nabc1234 Errors: 3 of them mended",
        "make: Nothing to be done for 'all'.",
    ],
)
def test_a_check_that_names_errors_which_are_none_has_not_failed(text):
    call = ToolCall("1", "Bash", json.dumps({"command": "make check"}))
    (deed,) = all_deeds(
        Message("assistant", Origin.ASSISTANT, (call,)),
        Message("user", Origin.TOOL, (ToolResult("1", (Text(text),)),)),
    )
    assert not deed.failed


@pytest.mark.parametrize(
    ("envelope", "verdict"),
    [
        ({"output": "all good", "exit_code": 1}, "failed"),
        ({"output": "Error: not really", "exit_code": 0}, "ok"),
        ({"output": "Traceback (most recent call last):\nKeyError: 'x'", "exit_code": 0}, "ok"),
    ],
)
@pytest.mark.parametrize(("tool", "key"), [("Bash", "command"), ("execute_python", "code")])
def test_an_envelope_says_how_what_ran_in_it_ended_whatever_the_output_says(tool, key, envelope, verdict):
    call = ToolCall("1", tool, json.dumps({key: "make"}))
    assert outcome(call, result(json.dumps(envelope))) == verdict
    [deed] = all_deeds(step(call), answer(result(json.dumps(envelope))))
    assert (deed.verdict, deed.result.text) == (verdict, envelope["output"])
