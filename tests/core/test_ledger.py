"""The ledger holds what really happened to files, in the order of the first touch, through any number of folds."""

from __future__ import annotations

import json
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.history.cycles import pair
from foldline.core.work.deeds import deeds
from foldline.core.work.ledger import LONGEST_COMMAND, MOST_COMMANDS, Command, Ledger, ledger_of
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult


def turn(number, tool, outcome="ok", **arguments):
    """One call and its result: ok, failed, or None for no result at all."""
    call = Message("assistant", Origin.ASSISTANT, (ToolCall(f"c{number}", tool, json.dumps(arguments)),))
    if outcome is None:
        return (call,)
    result = ToolResult(f"c{number}", (Text("said"),), is_error=outcome == "failed")
    return call, Message("user", Origin.TOOL, (result,))


def ledger(*turns):
    messages = tuple(
        message
        for number, (tool, outcome, arguments) in enumerate(turns)
        for message in turn(number, tool, outcome, **arguments)
    )
    return ledger_of(deeds(messages, pair(messages, Grammar())))


def read(path):
    return ("Read", "ok", {"file_path": path})


def write(path, outcome="ok"):
    return ("Write", outcome, {"file_path": path})


def edit(path, outcome="ok"):
    return ("Edit", outcome, {"file_path": path})


def delete(path):
    return ("delete_file", "ok", {"path": path})


def move(old, new):
    return ("move_file", "ok", {"source": old, "destination": new})


def run(command, outcome="ok"):
    return ("Bash", outcome, {"command": command})


some_path = st.sampled_from(["a.py", "b.py", "c.py", "d.py"])
some_outcome = st.sampled_from(["ok", "failed", None])
some_turn = st.one_of(
    some_path.map(read),
    st.builds(write, some_path, some_outcome),
    st.builds(edit, some_path, some_outcome),
    some_path.map(delete),
    st.builds(move, some_path, some_path).filter(lambda turn: turn[2]["source"] != turn[2]["destination"]),
    st.builds(run, st.sampled_from(["ls", "make", "rm a.py", "cat b.py > c.py", "mv a.py e.py"]), some_outcome),
)
histories = st.lists(some_turn, max_size=12)
actions = st.frozensets(st.sampled_from(["read", "written", "edited", "deleted"]), min_size=1)
ledgers = st.builds(
    Ledger,
    st.dictionaries(some_path, actions).map(lambda files: tuple(files.items())),
    st.lists(st.tuples(some_path, some_path), max_size=4).map(tuple),
    st.lists(st.builds(Command, st.text(max_size=2), st.sampled_from(["ok", "failed", "unknown"])), max_size=5).map(
        lambda commands: tuple({command.text: command for command in commands}.values())
    ),
)


@given(histories, st.integers(0, 12))
def test_a_history_in_two_parts_has_the_ledger_of_the_whole(turns, cut):
    assert ledger(*turns[:cut]).then(ledger(*turns[cut:])) == ledger(*turns)


@given(ledgers, ledgers, ledgers)
def test_it_does_not_matter_where_the_folds_are(one, two, three):
    assert one.then(two).then(three) == one.then(two.then(three))


@given(ledgers)
def test_nothing_added_changes_nothing(one):
    assert one.then(Ledger()) == Ledger().then(one) == one


@given(ledgers)
def test_a_ledger_survives_being_saved(one):
    assert Ledger.from_dict(json.loads(json.dumps(one.to_dict()))) == one
    assert Ledger.from_dict({}) == Ledger()
    assert all(done == sorted(done) for _, done in one.to_dict()["files"])  # the same bytes each time


@given(histories)
def test_each_path_is_in_one_list_only(turns):
    """S1.5: modified = written or edited; read-only = read − modified."""
    found = ledger(*turns)
    lists = [found.modified, found.read_only, found.deleted]
    assert sum(map(len, lists)) == len(set().union(*lists))
    files = dict(found.files)
    assert set(found.modified) == {
        path for path, done in files.items() if done & {"written", "edited"} and "deleted" not in done
    }
    assert set(found.read_only) == {path for path, done in files.items() if done == {"read"}}


@given(histories)
def test_the_order_is_that_of_the_first_touch(turns):
    seen = [path for path, _ in ledger(*turns).files]
    for count in range(len(turns)):
        before = [path for path, _ in ledger(*turns[:count]).files]
        assert seen[: len(before)] == before


@given(st.lists(st.builds(write, some_path, st.sampled_from(["failed", None])), max_size=6))
def test_what_failed_or_never_ended_changed_nothing(turns):
    """S1.5: failed edits are no modifications."""
    assert ledger(*turns).files == ()


def test_a_failed_edit_leaves_a_file_read_only():
    """S1.5"""
    found = ledger(read("a.py"), edit("a.py", "failed"), edit("b.py"), read("b.py"))
    assert found.read_only == ("a.py",)
    assert found.modified == ("b.py",)


def test_deleted_and_created_again():
    assert ledger(write("a.py"), delete("a.py")).deleted == ("a.py",)
    assert ledger(write("a.py"), delete("a.py")).modified == ()
    assert ledger(write("a.py"), delete("a.py"), write("a.py")).modified == ("a.py",)
    assert ledger(edit("a.py"), delete("a.py"), read("a.py")).modified == ("a.py",)


@pytest.mark.parametrize(
    ("moves", "moved"),
    [
        (["ab"], [("a", "b")]),
        (["ab", "bc", "cd"], [("a", "d")]),
        (["ab", "ba"], []),
        (["ab", "ba", "ab"], [("a", "b")]),
        (["ab", "ac"], [("a", "b"), ("a", "c")]),
        (["ac", "bc"], [("b", "c")]),
        (["bc", "xb", "cx"], [("x", "b"), ("b", "x")]),
    ],
)
def test_moves_are_told_from_the_first_place_to_the_last(moves, moved):
    found = ledger(*(move(old, new) for old, new in moves))
    assert list(found.moved) == moved
    for parts in accumulate(([(old, new)] for old, new in moves), lambda a, b: a + b):
        assert found.moves[: len(parts)] == tuple(parts)


def test_a_moved_file_is_written_in_its_new_place_and_not_deleted_in_its_old():
    found = ledger(read("a.py"), move("a.py", "b.py"))
    assert found.modified == ("b.py",)
    assert found.deleted == found.read_only == ()


def test_commands_are_kept_where_they_ran_last():
    found = ledger(run("make", "failed"), run("ls"), run("make"), run("  pwd\n", None))
    assert found.commands == (Command("ls", "ok"), Command("make", "ok"), Command("pwd", "unknown"))


def test_what_ran_no_command_is_none():
    assert ledger(read("a.py"), edit("a.py"), delete("b.py")).commands == ()


def test_only_the_newest_commands_are_kept_and_long_ones_by_their_beginning():
    found = ledger(*(run(f"echo {number} {'x' * 2_000}") for number in range(MOST_COMMANDS + 5)))
    assert len(found.commands) == MOST_COMMANDS
    assert found.commands[0].text.startswith("echo 5 ")
    assert all(len(command.text) <= LONGEST_COMMAND for command in found.commands)


def test_commands_touch_files_too():
    found = ledger(run("cat a.py"), run("cat > b.py <<E\nx\nE"), run("rm c.py", "failed"), run("rm d.py", None))
    assert found.files == (("a.py", frozenset({"read"})), ("b.py", frozenset({"written"})))


def test_a_move_made_by_a_command_is_a_move():
    assert ledger(run("git mv a.py b.py")).moved == (("a.py", "b.py"),)


COMMIT = "git commit -q -m x"


def test_what_changed_after_the_last_commit_is_known():
    done = ledger(write("a.py"), edit("b.py"), run(f"git add -A && {COMMIT}"), edit("b.py"), read("c.py"))
    assert done.commit == "sure"
    assert done.since == ("b.py",)
    assert done.modified == ("a.py", "b.py")
    assert ledger(edit("a.py"), run(COMMIT), delete("a.py")).since == ("a.py",)
    assert ledger(run(COMMIT), edit("a.py"), move("a.py", "b.py"), edit("a.py")).since == ("b.py", "a.py")


def test_without_a_commit_everything_is_open_and_what_may_be_one_leaves_it_open():
    assert ledger(edit("a.py"), run("make")).commit is None
    assert ledger(edit("a.py"), run("make")).since == ("a.py",)
    assert ledger(run(COMMIT), edit("a.py"), run("git stash"), edit("b.py")).commit == "open"


def test_what_the_messages_that_stay_tell_of_commits_counts_and_nothing_else_of_them():
    folded, later = ledger(run(COMMIT), edit("a.py")), ledger(run(COMMIT), edit("b.py"))
    now = folded.as_of(later)
    assert (now.commit, now.since) == ("sure", ("b.py",))
    assert now.modified == ("a.py",)
    assert folded.as_of(Ledger()) == folded


some_deed = st.one_of(
    st.builds(edit, some_path), st.builds(read, some_path), st.sampled_from([run(COMMIT), run("git stash")])
)


@given(st.lists(some_deed), st.lists(some_deed))
def test_two_ledgers_know_of_commits_what_one_does(earlier, later):
    both, whole = ledger(*earlier).then(ledger(*later)), ledger(*earlier, *later)
    assert (both.commit, both.since) == (whole.commit, whole.since)
    assert Ledger.from_dict(json.loads(json.dumps(both.to_dict()))) == both


@pytest.mark.parametrize(
    ("written", "one"),
    [
        ("./a.py", "a.py"),
        ("src//a.py", "src/a.py"),
        ("src/../a.py", "a.py"),
        ("/work/./a.py", "/work/a.py"),
        ("../a.py", "../a.py"),
        ("~/./a.py", "~/./a.py"),
        ("C:/./a.py", "C:/./a.py"),
        ("src\\.\\a.py", "src\\.\\a.py"),
    ],
)
def test_a_path_has_one_form(written, one):
    found = ledger(read(one), edit(written))
    assert [path for path, _ in found.files] == [one]
    assert "edited" in found.files[0][1]


def test_what_is_moved_to_where_it_is_does_not_move():
    assert ledger(write("a.py"), move("./a.py", "a.py")).moves == ()
    assert [path for path, _ in ledger(write("a.py"), move("./a.py", "a.py")).files] == ["a.py"]
