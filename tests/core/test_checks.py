"""Of the checks that an agent ran, those that passed last are told, and whether anything was changed since."""

from __future__ import annotations

import json
from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.checks import LONGEST, Check, checks
from foldline.core.cycles import pair
from foldline.core.deeds import Deed, deeds
from foldline.core.facts import Facts, facts_of
from foldline.core.ledger import Ledger
from foldline.core.notes import notes
from foldline.core.shell import Touch
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult

EDIT = Deed(2, ToolCall("2", "Edit", "{}"), 3, ToolResult("2", (Text("ok"),)), "ok", touched=(Touch("edited", "a.py"),))


def ran(command, text="all is well", *, failed=False, at=0):
    call = ToolCall("1", "Bash", json.dumps({"command": command}))
    verdict = "failed" if failed else "ok"
    return Deed(at, call, at + 1, ToolResult("1", (Text(text),)), verdict, command, goal=f"`{command}`", failed=failed)


@pytest.mark.parametrize(
    ("command", "text", "name"),
    [
        ("make test", "", "make test"),
        ("cd app && make lint", "", "make lint"),
        ("pytest -q 2>&1 | tail -5", "12 passed in 0.3s", "pytest -q"),
        ("go build ./... > /tmp/out 2>&1", "", "go build ./..."),
        ("npm test -- --grep 'a b'", "", "npm test -- --grep …"),
        ("make lint && make test", "", "make lint && make test"),
        ("make check; echo done", "ok\n3 passed", "make check"),
    ],
)
def test_a_check_that_passed_is_known_by_its_commands(command, text, name):
    (found,) = checks([ran(command, text)])
    assert (found.name, found.message, found.passed, found.stale) == (name, 1, True, False)


@pytest.mark.parametrize(
    "command", ["cat test.log", "git commit -m test", "ls tests", "chmod +x run-tests.sh", "echo test", ""]
)
def test_what_only_shows_or_moves_is_no_check(command):
    assert checks([ran(command, "3 passed")]) == ()


@pytest.mark.parametrize("command", ["make test | tail -3", "make test; echo ok", "make test || true"])
def test_a_check_whose_end_is_hidden_and_that_says_nothing_has_not_passed(command):
    assert [check.passed for check in checks([ran(command, "some words")])] == [False]


def test_only_the_last_run_of_a_kind_counts():
    done = [ran("make test", at=0), ran("make lint", at=4), ran("make test | tail", "2 failed", failed=True, at=8)]
    assert checks(done) == (
        Check("make lint", "make lint", 5, True),
        Check("make test", "make test", 9, False),
    )


def test_a_change_after_it_is_told():
    assert [check.stale for check in checks([ran("make test"), EDIT, ran("make lint")])] == [True, False]


@given(st.text(max_size=300))
def test_a_name_is_short_and_on_one_line(words):
    for check in checks([ran(f"make test {words}")]):
        assert len(check.name) <= LONGEST + 2
        assert "\n" not in check.name


def turn(number, command, *, fails=False):
    call = ToolCall(f"c{number}", "Bash", json.dumps({"command": command}))
    answer = ToolResult(call.id, (Text("Exit code 1\nboom" if fails else "fine"),), is_error=fails)
    return (
        Message("assistant", Origin.ASSISTANT, (call,)),
        Message("user", Origin.TOOL, (answer,)),
    )


def edit(number):
    call = ToolCall(f"c{number}", "Edit", json.dumps({"file_path": f"/src/{number}.py", "new_string": "x"}))
    return (
        Message("assistant", Origin.ASSISTANT, (call,)),
        Message("user", Origin.TOOL, (ToolResult(call.id, (Text("done"),)),)),
    )


steps = st.lists(
    st.tuples(st.sampled_from(["make test", "make lint", "go vet ./...", "edit"]), st.booleans()), max_size=12
)


@given(steps, st.integers(1, 5))
def test_folded_in_parts_the_same_checks_are_known(wanted, parts):
    turns = [edit(n) if what == "edit" else turn(n, what, fails=fails) for n, (what, fails) in enumerate(wanted)]

    def of(messages, first):
        done = tuple(deeds(messages, pair(messages, Grammar())))
        return done, facts_of(messages, done, first=first)

    def shown(facts):
        return {(fact.text, fact.about, fact.at) for fact in facts.of("check")}

    whole = tuple(message for messages in turns for message in messages)
    size = max(len(turns) // parts, 1)
    spans = [
        of(tuple(message for messages in turns[at : at + size] for message in messages), 2 * at)
        for at in range(0, len(turns), size)
    ]
    joined = reduce(lambda known, span: known.since(span[0]).then(span[1]), spans, Facts())
    assert shown(joined) == shown(of(whole, 0)[1])


def test_the_notes_tell_them_beside_commits():
    done = (ran("make test"), EDIT, ran("make lint"))
    messages = [Message("user", Origin.TOOL, (Text(str(n)),)) for n in range(4)]
    told = notes(facts_of(messages, done), Ledger(), 1_000, len).text
    assert "- passed: `make test`, before later changes [2]" in told
    assert "- passed: `make lint` [2]" in told
