"""Facts outlive any number of folds: words add up, states are replaced, errors are cured or told anew."""

from __future__ import annotations

import json
import operator
from functools import reduce

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from turns import call, facts, result, says, texts, user

from foldline.core.facts import MOST, Fact, Facts
from foldline.core.history.cycles import pair
from foldline.core.lifting import facts_of
from foldline.core.work.deeds import deeds
from foldline.core.work.errors_seen import LEFT, MOVED_ON, REFUSED, is_open
from foldline.model import Grammar


def done(command, *, times=1):
    """A command that succeeds, so many times."""
    messages = []
    for number in range(times):
        messages += [says("", call(f"c{number}", "Bash", command=command)), result(f"c{number}", "fine")]
    return tuple(deeds(messages, pair(messages, Grammar())))


def test_an_error_is_cured_by_what_succeeds_after_a_fold():
    error = Fact("error", "make: *** no rule", "s", 3, "", "`make all`")
    [cured] = Facts((error,)).since(done("make all")).facts
    assert cured == error._replace(about="`make all` succeeded later")
    healed = Facts((error._replace(about="`make all` succeeded on a later try"),))
    assert healed.since(done("make all")) == healed
    assert Facts((error,)).since(done("make it")) == Facts((error,))


def test_an_error_is_left_behind_by_what_is_done_after_a_fold_unless_a_check_found_it():
    asked = Fact("error", "Not Found", "s", 3, "", "`gh api repos/a`")
    failed = Fact("error", "no rule", "s", 3, "", "`make check`")
    since = Facts((asked, failed)).since(done("ls", times=MOVED_ON + 1))
    assert [fact.about for fact in since.facts] == [LEFT, ""]
    assert Facts((asked, failed)).since(done("ls")) == Facts((asked, failed))
    [tried, _] = since.since(done("gh api repos/a")).facts
    assert tried.about == "`gh api repos/a` succeeded later"


def test_a_slip_with_a_tool_is_forgotten_after_a_fold():
    slip = Fact("error", "String not found", "s", 3, "", "Edit a.py")
    messages = [says("", call("c", "Edit", file_path="a.py")), result("c", "edited")]
    assert Facts((slip,)).since(tuple(deeds(messages, pair(messages, Grammar())))) == Facts(())


def test_what_failed_again_after_a_fold_is_told_as_it_failed_last():
    spans = [
        facts(says("", call("a", "Bash", command="./deploy prod")), result("a", f"Error: try {n}", True), first=2 * n)
        for n in range(3)
    ]
    assert texts(reduce(Facts.then, spans), "error") == ["Error: try 2"]


def test_a_long_command_is_known_again_by_all_of_it():
    folder = "cd /home/someone/projects/company/monorepo/services/billing/backend-api-gateway"
    failed = Fact("error", "1 failed", "s", 3, "", f"`{folder} && pytest -q`")
    assert Facts((failed,)).since(done(f"{folder} && ls", times=MOVED_ON + 1)) == Facts((failed,))
    [cured] = Facts((failed,)).since(done(f"{folder} && pytest -q")).facts
    assert cured.about.endswith("succeeded later")


def test_what_is_tried_again_in_vain_is_not_left_behind():
    asked = Fact("error", "Not Found", "s", 3, "", "`gh api repos/a`")
    messages = []
    for number in range(MOVED_ON + 2):
        command = "gh api repos/a" if number == 1 else "ls"
        messages += [says("", call(f"c{number}", "Bash", command=command)), result(f"c{number}", "no", number == 1)]
    assert Facts((asked,)).since(tuple(deeds(messages, pair(messages, Grammar())))) == Facts((asked,))


def test_a_refusal_is_no_other_failure_of_what_was_refused():
    failed = Fact("error", "E   assert 1", "a", 1, "", "`make test`")
    assert failed in Facts((failed,)).then(Facts((Fact("error", "not now", "b", 5, REFUSED, "`make test`"),))).facts


def test_long_scripts_that_begin_alike_are_not_the_same():
    script = "python - <<'EOF' " + "import os, sys, json " * 20
    [told] = facts(says("", call("a", "Bash", command=f"{script} migrate()")), result("a", "Error: no", True)).of(
        "error"
    )
    assert Facts((told,)).since(done(f"{script} print(1)")) == Facts((told,))
    [cured] = Facts((told,)).since(done(f"{script} migrate()")).facts
    assert cured.about


def test_of_pushes_the_last_is_told_after_folds_as_well():
    spans = [
        facts(says("", call("a", "Bash", command="git push")), result("a", f"   {n:07x}..{n:07x}  a -> a"), first=2 * n)
        for n in range(5)
    ]
    assert texts(reduce(Facts.then, spans), "reached") == ["0000004..0000004  a -> a"]


def test_a_result_that_was_shortened_since_is_no_other_one():
    told = Fact("reached", "[main abc0009] step 9", "whole", 57)
    assert Facts((told,)).then(Facts((told._replace(source="short"),))).of("reached") == (
        told._replace(source="short"),
    )


def test_deeds_beyond_the_files_are_carried_up_to_a_number():
    spans = [
        facts(says("", call("a", "Bash", command="git commit")), result("a", f"[main {n:07x}] Step {n}"), first=2 * n)
        for n in range(40)
    ]
    found = reduce(Facts.then, spans)
    assert texts(found, "reached") == [f"[main {n:07x}] Step {n}" for n in range(40 - MOST["reached"], 40)]


kinds = st.sampled_from(["user", "rule", "decision", "error", "approval", "immediate", "doing"])
plain_facts = st.builds(Fact, kinds, st.sampled_from("ab"), st.just("s"), st.integers(0, 3), st.just(""), st.just(""))
"""Without what came of them: one error in two states is never among facts, since each is told once."""
tasks = st.dictionaries(
    st.sampled_from(["1", "2"]), st.tuples(st.sampled_from(["open", "done"]), st.sampled_from(["", "x", "y"]))
).map(lambda found: [Fact(kind, text, "s", 1, "", key) for key, (kind, text) in found.items()])
listed = st.lists(st.builds(Fact, st.sampled_from(["open", "done"]), st.sampled_from("pq"), st.just("s"), st.just(2)))
any_facts = st.tuples(st.lists(plain_facts, max_size=5), tasks, listed).map(
    lambda lists: Facts(tuple(dict.fromkeys(sorted(reduce(operator.iadd, lists, []), key=lambda fact: fact.at))))
)


@given(any_facts)
def test_facts_survive_being_saved(found):
    assert Facts.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@example(
    Facts((Fact("open", "p", "s", 2, "", "1"),)),
    Facts((Fact("open", "p", "s", 2),)),
    Facts((Fact("open", "", "s", 1, "", "1"),)),
)
@given(any_facts, any_facts, any_facts)
def test_it_does_not_matter_where_the_folds_are(one, two, three):
    assert one.then(two).then(three) == one.then(two.then(three))


@given(any_facts)
def test_nothing_added_changes_nothing(one):
    assert one.then(Facts()) == Facts().then(one) == one


tries = st.lists(
    st.tuples(
        st.sampled_from(["make test", "make test | tail -3", "make test | head -3", "cd a\nmake lint"]), st.booleans()
    ),
    max_size=10,
)


@example([("make test | head -3", True), ("make test", True), ("make test | head -3", False)], 1)
@example([("cd a\nmake lint", True), ("cd a\nmake lint", False)], 1)
@given(tries, st.integers(1, 6))
def test_folded_in_parts_the_same_errors_are_open(tried, size):
    def turn(number, command, fails):
        text = f"Exit code 1\n--- FAIL: Test{number} (0.1s)" if fails else "compiling"
        return (says("", call(f"c{number}", "Bash", command=command)), result(f"c{number}", text, fails))

    turns = [turn(number, *step) for number, step in enumerate(tried)]

    def of(part, first):
        messages = tuple(message for pair_ in part for message in pair_)
        done = tuple(deeds(messages, pair(messages, Grammar())))
        return done, facts_of(messages, done, first=first)

    def open_errors(found):
        return [fact.text for fact in found.of("error") if is_open(fact.about)]

    parts = [of(turns[at : at + size], 2 * at) for at in range(0, len(turns), size)]
    joined = reduce(lambda known, part: known.since(part[0]).then(part[1]), parts, Facts())
    assert open_errors(joined) == open_errors(of(turns, 0)[1])


def test_words_add_up_through_fifty_folds_and_states_do_not():
    spans = [
        facts(
            user(f"Never break rule number {number}."),
            says("", call("a", "TodoWrite", todos=[{"content": f"task {number}"}])),
            result("a", "ok"),
            says(f"doing {number}"),
            first=4 * number,
        )
        for number in range(50)
    ]
    found = reduce(Facts.then, spans)
    assert len(found.of("user")) == len(found.of("rule")) == 50
    assert found.of("rule")[3].text == "Never break rule number 3."
    assert texts(found, "open", "doing", "immediate") == ["Never break rule number 49.", "task 49", "doing 49"]


def test_errors_are_carried_up_to_a_number():
    spans = [
        facts(says("", call("a", "Bash", command=f"x{n}")), result("a", f"Error: number {n}", True), first=2 * n)
        for n in range(60)
    ]
    found = reduce(Facts.then, spans)
    assert texts(found, "error") == [f"Error: number {n}" for n in range(60 - MOST["error"], 60)]


def test_a_later_list_replaces_an_earlier_one_whole():
    earlier = facts(says("", call("a", "TodoWrite", todos=[{"content": "one"}])))
    later = facts(says("", call("b", "update_plan", plan=[{"step": "one", "status": "completed"}])), first=1)
    assert [(fact.kind, fact.text) for fact in earlier.then(later).of("open", "done")] == [("done", "one")]


@pytest.mark.parametrize("merge", [{}, {"merge": False}])
@pytest.mark.parametrize("later", [[], [{"id": "1", "content": "new"}]])
def test_a_whole_list_is_all_there_is_also_after_a_fold(merge, later):
    old = [{"id": str(number), "content": f"old {number}"} for number in range(3)]
    first, second = (facts(says("", call("a", "todo_write", todos=todos, **merge))) for todos in (old, later))
    assert [fact.text for fact in first.then(second).of("open")] == [item["content"] for item in later]
    merged = facts(says("", call("b", "todo_write", todos=[{"id": "9", "content": "more"}], merge=True)))
    assert [fact.text for fact in first.then(merged).of("open")] == ["old 0", "old 1", "old 2", "more"]


def test_single_tasks_are_carried_and_updated_across_folds():
    earlier = facts(
        says("", call("a", "TaskCreate", subject="write it"), call("b", "TaskCreate", subject="test it")),
        result("a", "Task #4 created"),
        result("b", "Task #5 created"),
    )
    update = says(
        "", call("c", "TaskUpdate", taskId="4", status="completed"), call("d", "TaskCreate", subject="ship it")
    )
    later = facts(update, result("c", "ok"), result("d", "Task #6 created"), first=3)
    assert texts(later, "open", "done") == ["ship it"]
    joined = earlier.then(later)
    assert {(fact.kind, fact.text) for fact in joined.of("open", "done")} == {
        ("done", "write it"),
        ("open", "test it"),
        ("open", "ship it"),
    }
    assert {fact.source for fact in joined.of("done")} == {earlier.facts[0].source}


def test_a_question_is_no_longer_open_once_there_was_work_behind_it():
    """It is still what the assistant said last."""
    asked = facts(user("fix it"), says("Shall I push?"), first=4)
    assert texts(asked.ending(7, worked=5), "approval") == ["Shall I push?"]
    assert texts(asked.ending(7, worked=7), "approval") == []
    assert texts(asked.ending(7, worked=7), "immediate", "doing") == ["fix it", "Shall I push?"]


def test_an_error_that_is_seen_again_may_have_been_cured_since():
    bad = says("", call("a", "Bash", command="make")), result("a", "Error: it broke", True)
    good = says("", call("b", "Bash", command="make")), result("b", "ok")
    [error] = facts(*bad).then(facts(*bad, *good)).of("error")
    assert error.about == "`make` succeeded on a later try"


def test_what_was_perhaps_cured_is_cured_by_the_same_command_and_told_anew_when_it_fails_again():
    perhaps = Fact("error", "TypeError: old", "s", 1, "perhaps cured: `make lint` passed later", "`make test`")
    again = (says("", call("a", "Bash", command="make test")), result("a", "fine"))
    [cured] = Facts((perhaps,)).since(tuple(deeds(again, pair(again, Grammar())))).facts
    assert cured.about == "`make test` succeeded later"
    broken = Fact("error", "TypeError: new", "t", 5, "", "`make test`")
    assert Facts((perhaps,)).then(Facts((broken,))) == Facts((broken,))
    assert Facts((cured,)).then(Facts((broken,))) == Facts((cured, broken))
