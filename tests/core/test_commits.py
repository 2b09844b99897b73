"""A commit is one where git says so; where it may have been one, nothing is said."""

from __future__ import annotations

import json

import pytest

from foldline.core.history.cycles import pair
from foldline.core.work.commits import commit_of
from foldline.core.work.deeds import deeds
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult

SAYS_SO = "[main 1a2b3c4] One more\n 1 file changed"


def ran(command, said="", is_error=False, tool="Bash"):
    call = Message("assistant", Origin.ASSISTANT, (ToolCall("a", tool, json.dumps({"command": command})),))
    answer = Message("user", Origin.TOOL, (ToolResult("a", (Text(said),), is_error=is_error),))
    [deed] = deeds((call, answer), pair((call, answer), Grammar()))
    return commit_of(deed)


@pytest.mark.parametrize(
    "command",
    [
        "git commit -m 'One more'",
        "cd /repo && git add -A && git -c user.name=a -c user.email=b commit -m x 2>&1 | tail -5",
        "/usr/bin/git commit --amend --no-edit; git status",
        "bash -c 'git commit -am x'",
        "git cherry-pick 1a2b3c4",
        'git commit -m "$(cat <<EOF\nOne more\nEOF\n)" && git push',
    ],
)
@pytest.mark.parametrize("is_error", [False, True])
def test_git_says_so_itself_whatever_came_after(command, is_error):
    """A push that was rejected takes no commit back."""
    assert ran(command, f"{SAYS_SO}\n ! [rejected] main -> main" if is_error else SAYS_SO, is_error) == "sure"


@pytest.mark.parametrize(
    "command", ["git commit -q -m x", "git add -A && git commit -aqm 'x'", "git commit --quiet -m x"]
)
def test_a_quiet_commit_that_ended_well_is_one(command):
    assert ran(command) == "sure"
    assert ran(command, "error: pathspec", is_error=True) == "open"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("git commit -m x 2>&1 | tail -20", "ruff....Failed\n- hook id: ruff"),
        ("git commit -q -m x 2>&1 | tail -3", ""),
        ("git commit -q -m x; git status", "On branch main"),
        ("git commit -m x || true", "nothing to commit, working tree clean"),
        ("git commit --dry-run", "On branch main"),
        ("git commit -q -m x && sed -i s/1/2/ version.txt", ""),
        ("git reset --soft HEAD~1", ""),
        ("git stash", "Saved working directory"),
        ("git stash -q", ""),
        ("git reset -q --hard HEAD~1", ""),
        ("git commit -q -m x && git reset -q --hard HEAD~1", ""),
        (
            "git commit -q -m x",
            "Command did not complete within its 120s timeout and was moved to the background (ID: b1).",
        ),
        ("git checkout -- src/rows.py", ""),
        ("git checkout .", "Updated 2 paths from the index"),
        ("git rebase --continue", "Successfully rebased"),
    ],
)
def test_what_may_have_committed_or_taken_back_leaves_it_open(command, said):
    assert ran(command, said) == "open"


def test_a_commit_that_has_no_answer_yet_leaves_it_open():
    call = Message("assistant", Origin.ASSISTANT, (ToolCall("a", "Bash", '{"command": "git commit -m x"}'),))
    assert [commit_of(deed) for deed in deeds((call,), pair((call,), Grammar()))] == ["open"]


def test_another_tool_may_commit_too():
    assert ran("", "done", tool="git_commit") == "open"


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --grep commit",
        "git commit-tree x",
        "echo git commit",
        "make test",
        "git push",
        "git checkout -b next",
    ],
)
def test_the_rest_does_neither(command):
    assert ran(command, "fine") is None


@pytest.mark.parametrize("command", ["git show --stat", "git log -1; cat notes.txt", "git push"])
def test_words_like_git_s_own_make_no_commit_where_nothing_commits(command):
    assert ran(command, SAYS_SO) is None


def test_a_commit_that_failed_is_none():
    assert ran("git commit -m x", "nothing to commit, working tree clean", is_error=True) is None


def test_what_is_committed_into_a_new_repository_is_not_the_work():
    assert ran("cd /tmp/try && git init -q && git commit -m x", "[main (root-commit) 1a2b3c4] x") is None
