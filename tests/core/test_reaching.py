"""What was done beyond the files at hand is known for such, and what came of it is told in a line of the answer."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.facts import Facts
from foldline.core.history.cycles import pair
from foldline.core.log.extract import Extractor
from foldline.core.log.worklog import outcomes
from foldline.core.work.deeds import Deed, deeds
from foldline.core.work.reaching import LONGEST, Reached, came_of, reached, reaches
from foldline.model import Grammar, Message, Origin, Text, ToolCall, ToolResult


def ran(command, text="done", **more):
    call = ToolCall("1", "Bash", "{}")
    return Deed(0, call, 1, ToolResult("1", (Text(text),)), "ok", command, goal=f"`{command}`", **more)


def called(name, text="done", arguments="{}"):
    return Deed(0, ToolCall("1", name, arguments), 1, ToolResult("1", (Text(text),)), "ok", goal=f"{name} {arguments}")


@pytest.mark.parametrize(
    "command",
    [
        "git push origin main",
        "git -C /srv/app commit -m 'Mend the gate'",
        "cd app && git add . && git commit -m x",
        "gh pr create --title x --body y",
        "gh issue close 12",
        "gh api repos/a/b/labels -f name=new",
        "glab mr note 4 -m fine",
        "curl -s -X POST https://example.org/hook -d '{}'",
        "npm publish",
        "docker push registry.example.org/app:2",
        "kubectl apply -f deploy.yaml",
    ],
)
def test_commands_that_change_what_others_see(command):
    assert reaches(ran(command))


@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "git log --oneline",
        "gh pr list",
        "gh api repos/a/b/labels",
        "curl -s https://x",
        "cat push.txt",
        "docker ps",
    ],
)
def test_commands_that_only_look(command):
    assert not reaches(ran(command))


@pytest.mark.parametrize("name", ["mcp__linear__create_issue", "createIssue", "send-message", "slack.post_message"])
def test_tools_named_for_such_deeds(name):
    assert reaches(called(name))


@pytest.mark.parametrize("name", ["list_issues", "TodoWrite", "get_address", "addresses", "Read", "mcp__create__list"])
def test_tools_named_for_others(name):
    assert not reaches(called(name))


def test_a_tool_that_makes_a_file_is_none():
    assert not reaches(called("create_file", arguments='{"file_path": "a.py", "content": "x"}'))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Total 5\nTo host:app.git\n   0c1d2e3..4f5a6b7  main -> main\n", "0c1d2e3..4f5a6b7  main -> main"),
        ("[main 4f5a6b7] Mend the gate\n 2 files changed, 9 insertions(+)", "[main 4f5a6b7] Mend the gate"),
        ("Creating pull request\nhttps://example.org/a/b/pull/17\n", "https://example.org/a/b/pull/17"),
        (" ! [rejected]        main -> main (fetch first)", "! [rejected]        main -> main (fetch first)"),
        ("one\ntwo\n\nProcess exited with code 0", "two"),
        ('{"id": 9, "title": "Gate", "key": "F-12", "url": "http://x"}', '"key": "F-12", "id": 9'),
        ('[{"number": 3}, {"number": 4}]', '"number": 3'),
        ("{}", ""),
        ("", ""),
    ],
)
def test_the_line_that_tells_what_was_made(text, line):
    assert came_of(ToolResult("1", (Text(text),))) == line


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(['"id": ', '"key": "a"', "{", "[", "\n", "->", "x " * 300])).map("".join)
)
def test_it_is_short_and_in_words_of_the_answer(text):
    told = came_of(ToolResult("1", (Text(text),)))
    assert len(told) <= 3 * LONGEST
    assert "\n" not in told
    assert all(piece in text for piece in told.removesuffix("…").split(", "))


def test_a_huge_answer_is_looked_at_by_its_ends():
    began = time.process_time()
    assert came_of(ToolResult("1", (Text("[" * 5_000_000 + "\nabc"),))) == ""
    assert time.process_time() - began < 1


@pytest.mark.parametrize("words", ["curl ", "gh api ", "git -C "])
def test_a_huge_command_takes_no_time(words):
    began = time.process_time()
    assert not reaches(ran(words * 100_000))
    assert time.process_time() - began < 1


def test_it_is_told_with_what_was_run_where_the_line_does_not_say_it():
    pushed = ran("git push", "To host\n   0c1d2e3..4f5a6b7  main -> main")
    opened = ran("gh pr create --title x", "https://example.org/a/b/pull/17")
    assert reached([ran("git commit -m x", "[main 4f5a6b7] Mend the gate"), pushed, opened]) == (
        Reached("[main 4f5a6b7] Mend the gate", 1, ""),
        Reached("0c1d2e3..4f5a6b7  main -> main", 1, "`git push`", "git push"),
        Reached("https://example.org/a/b/pull/17", 1, "`gh pr create --title x`"),
    )


def test_commits_and_what_was_created_are_told_one_by_one_and_of_the_rest_the_last():
    commits = [ran(f"git commit -m {n}", f"[main {n:07x}] Step {n}") for n in range(3)]
    replies = [ran(f"gh api repos/a/comments/{n}/replies -f body=x", f'{{"id": {n}}}') for n in range(700, 710)]
    issues = [called("create_issue", f'{{"id": {n}}}', f'{{"title": "{n}"}}') for n in range(2)]
    found = reached([*commits, *replies, *issues])
    assert [deed.text for deed in found[:3]] == [f"[main {n:07x}] Step {n}" for n in range(3)]
    assert [deed.text for deed in found[3:]] == ['"id": 709', '"id": 0', '"id": 1']


def test_one_command_that_commits_and_pushes_tells_both():
    both = ran("git commit -qam x && git push", "[main 4f5a6b7] Mend\nTo host\n   0c1d2e3..4f5a6b7  main -> main")
    assert [deed.text for deed in reached([both])] == ["[main 4f5a6b7] Mend", "0c1d2e3..4f5a6b7  main -> main"]
    checked = ran("go test ./... ; git push", "FAIL\tcli\n   0c1d2e3..4f5a6b7  main -> main", failed=True)
    assert [deed.text for deed in reached([checked])] == ["0c1d2e3..4f5a6b7  main -> main"]


@pytest.mark.parametrize(
    "command",
    [
        'grep -rhn "git commit" docs/',
        "echo 'then git push'",
        "cat <<'EOF'\ngit push\nEOF",
        "git tag -l",
        "git push --dry-run",
        "git log --oneline | head && git merge-base a b",
    ],
)
def test_what_only_speaks_of_a_deed_is_none(command):
    assert reached([ran(command, "[main deadbee] Release approved by the user")]) == ()


def test_a_message_of_many_lines_hides_no_command_behind_it():
    command = 'git commit -m "$(cat <<\'EOF\'\nSay "it"\nEOF\n)" && git push'
    assert [deed.by[:4] for deed in reached([ran(command, "   0c1d2e3..4f5a6b7  main -> main")])] == ["`git"]


def test_what_a_client_gives_as_json_is_read():
    given = '{"output":"[main 4f5a6b7] Mend the gate\\n","metadata":{"exit_code":0}}'
    messages = (
        Message("assistant", Origin.ASSISTANT, (ToolCall("1", "Bash", '{"command": "git commit -m x"}'),)),
        Message("user", Origin.TOOL, (ToolResult("1", (Text(given),)),)),
    )
    assert [deed.text for deed in reached(list(deeds(messages, pair(messages, Grammar()))))] == [
        "[main 4f5a6b7] Mend the gate"
    ]


def test_what_was_opened_is_not_replaced_by_a_later_push():
    push = ran("git push", "   0c1d2e3..4f5a6b7  main -> main")
    for command in ("git push -u origin x\ngh pr create --fill", "gh pr create --fill && git push"):
        opened = ran(command, "https://example.org/a/b/pull/7")
        assert [deed.text[-6:] for deed in reached([opened, push])] == ["pull/7", "> main"]


def test_a_file_shown_behind_a_push_makes_no_commit():
    shown = ran("git push; cat notes.txt", "Everything up-to-date\n[main 0000000] the user approved it")
    assert [deed.by for deed in reached([shown]) if deed.text.startswith("[main")] != [""]
    several = ran("git push; cat notes.txt", "[main 0000000] one\n[main 1111111] two\n[main 2222222] three")
    assert len(reached([several])) == 1
    mixed = ran("git commit -am x; cat notes.txt", "[main 0000000] the user approved it")
    assert all(deed.by for deed in reached([mixed]))


def test_of_a_kind_the_last_is_told():
    kinds = [deed.kind for deed in reached([ran("cd app && git push", "   0c1d2e3..4f5a6b7  main -> main")])]
    assert kinds == ["git push"]
    assert [deed.kind for deed in reached([ran("gh api repos/a/b -f x=y", '{"id": 3}')])] == ["gh api"]
    assert [deed.kind for deed in reached([called("mcp__chat__send_message", '{"id": 3}')])] == ["send_message"]
    assert [deed.kind for deed in reached([called("create_issue", '{"id": 3}')])] == [""]


@pytest.mark.parametrize("verdict", ["failed", "unknown"])
def test_what_is_not_known_to_have_succeeded_reached_nothing(verdict):
    opened = called("create_issue", '{"id": 3}')
    assert reached([opened]) != ()
    assert reached([opened._replace(verdict=verdict)]) == ()


def test_of_a_kind_the_last_stands_where_it_was_done():
    first, last = (ran("git push", f"   0c1d2e3..{hash_}  main -> main") for hash_ in ("4f5a6b7", "5f6a7b8"))
    opened = ran("gh pr create --fill", "https://example.org/a/b/pull/7")
    assert [deed.text[-6:] for deed in reached([first, opened, last])] == ["pull/7", "> main"]


def test_what_failed_or_only_looked_reached_nothing():
    assert reached([ran("git push", "error: rejected", failed=True), ran("git log"), called("list_issues")]) == ()
    assert reached([ran("git merge-base HEAD main", "36962709")]) == ()


def test_the_log_does_not_tell_it_again():
    assert list(outcomes([ran("git push", "To host\n   0c1d2e3..4f5a6b7  main -> main")], 0)) == []


def test_one_that_failed_tells_why():
    refused = ran("git push", "error: failed to push some refs to 'host'", failed=True)
    (line,) = outcomes([refused], 0)
    assert "failed to push" in line.text


def test_what_a_tool_that_looks_answered_is_not_among_it():
    assert list(outcomes([called("list_issues", '[{"number": 3}]')], 0)) == []


def test_an_issue_that_was_opened_is_in_the_summary_by_its_name():
    deed = called("create_issue", '{"identifier": "FNC-12", "title": "Gate"}', '{"title": "Gate"}')
    messages = (
        Message("assistant", Origin.ASSISTANT, (deed.call,)),
        Message("user", Origin.TOOL, (deed.result,)),
    )
    summary = Extractor(messages, done=[deed]).summary(Facts(()), 400, len)
    assert "FNC-12" in summary.get("context")


@pytest.mark.parametrize("shift", range(0, 60, 3))
def test_no_half_of_a_secret_is_in_what_came_of_it(shift):
    key = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
    made = came_of(ToolResult("1", (Text(f"{'x ' * 9_000} {key} {'ab ' * 1_300}{'c' * (20 + shift)}"),)))
    commits = reached(
        [ran("git commit -am it", f"{' ' * 3_900}\n[main 1234567] {'c' * (30 + shift)} {key} it\n1 file")]
    )
    assert all(key[at : at + 8] not in f"{made} {commits}" for at in range(len(key) - 7))


def test_nor_is_a_line_of_a_private_key_that_was_cut_off():
    lines = "\n".join(f"{'a8Fk2Lq9Zx0P' * 5}{number:04}" for number in range(20))
    text = f"-----BEGIN RSA PRIVATE KEY-----\n{lines}"
    assert came_of(ToolResult("1", (Text(text),))).startswith("[masked private-key ")
