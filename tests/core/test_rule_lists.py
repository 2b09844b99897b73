"""A list that a rule announces is a rule with its list: neither says anything without the other."""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.core.lifting import _telling
from foldline.core.said.rule_lists import PART, announced, announces
from foldline.testing import Session

LEADS = ("Never do any of these:", "Rules:", "**Do not:**", "Only these commands are allowed:", "请不要：", "Niemals:")


def text_of(view):
    contents = (message["content"] for message in view)
    return "\n".join(
        text if isinstance(text, str) else "\n".join(part.get("text", "") for part in text) for text in contents
    )


items = st.from_regex(r"[a-z/.]{1,12}( [a-z/.]{1,12}){0,8}", fullmatch=True)


@given(st.sampled_from(LEADS), st.lists(items, min_size=1, max_size=30), st.sampled_from(["- ", "* ", "3. "]))
def test_every_item_stands_behind_its_announcement(lead, listed, mark):
    lines = [f"{mark}{item}" for item in listed]
    (found,) = announced("\n".join(("Hello.", lead, *lines, "", "Thanks.")))
    parts = found.parts
    assert found.text == "\n".join((lead, *lines))
    assert [line for part in parts for line in part.split("\n")[1:]] == lines
    assert {part.split("\n")[0] for part in parts} == {lead}
    assert all(len(part) <= len(lead) + PART + max(map(len, lines)) + len(lines) for part in parts)


said = st.sampled_from([*LEADS, "- a", "- b", "  and more", "1. c", "* d", "", "", "```", "Fix it. Only this:", "ok"])
messages = st.lists(said | st.text(max_size=12), min_size=2).map("\n".join)


@given(messages)
def test_every_line_of_it_was_said(words):
    lists = list(announced(words))
    assume(lists)
    for found in lists:
        assert found.text in words
        assert found.parts
        assert all(line in found.text for part in found.parts for line in part.split("\n"))


def test_two_lists_among_other_words_are_two():
    words = "\n".join(("ok", LEADS[0], "- a", "  and more", "", "ok", "", LEADS[1], "1. c", "```", "ok"))
    assert [found.text for found in announced(words)] == [f"{LEADS[0]}\n- a\n  and more", f"{LEADS[1]}\n1. c"]


@pytest.mark.parametrize(
    ("words", "lists"),
    [
        ("Never touch:\n\n- a\n\n- b\n\nThen go on.", ["Never touch:\n\n- a\n\n- b"]),
        ("Fix it. Only use this:\n```\nmake test\n```\nok", ["Only use this:\n```\nmake test\n```"]),
        ("Never push to these:\nmain\nrelease\n\nFix it.", ["Never push to these:\nmain\nrelease"]),
        ("Rules:\n- a\n  and more of it\nnot this", ["Rules:\n- a\n  and more of it"]),
        ("Never push. The log says:\n- a", []),
        ("Instead of line 3:\nx = 1", []),
        ("Requirements:\n- a", []),
        ("Never:", []),
        ("Never:\n\nA paragraph.", []),
        ("```\nNever:\n- a\n```", []),
        ("Never:\n\n\n- a\n- b", ["Never:\n\n\n- a\n- b"]),
        ("Never:\n- a\n\n1. Fix the bug.", ["Never:\n- a"]),
        ("## Don'ts:\n- leave prints", ["## Don'ts:\n- leave prints"]),
    ],
)
def test_examples(words, lists):
    assert [part for found in announced(words) for part in found.parts] == lists


def test_what_belongs_to_an_item_stays_with_it():
    kept = f"- the databases; what you may change is:\n  - the read replica {'r' * PART}\n  - the scratch database"
    (found,) = announced(f"Never touch these:\n- {'a' * PART}\n{kept}\n- the vault")
    assert found.parts == (
        f"Never touch these:\n- {'a' * PART}",
        f"Never touch these:\n{kept}",
        "Never touch these:\n- the vault",
    )


def test_no_item_of_a_list_that_is_too_long_is_a_rule_by_itself():
    items = [f"- leave debug prints in file number {number}" for number in range(300)]
    told = list(_telling("\n".join(("Never do any of these:", *items, "", "Always whistle."))))
    assert all(text.startswith("Never do any of these:\n- ") for _, text in told[:-1])
    assert told[-1] == ("rule", "Always whistle.")
    assert [line for _, text in told[:-1] for line in text.split("\n")[1:]] == items


def test_an_announcement_may_be_bold():
    assert announces("**Never:**")
    assert not announces("Never: this")


@pytest.mark.parametrize("window", [2_000, 4_000, 16_000])
def test_in_a_crowded_window_the_list_stands_with_what_announces_it(window):
    rule = "Never do any of these:\n- push to zulu7\n- rename the yankee table"
    session = Session().user("Fix the parser.").user(f"{rule}\n\nThanks!")
    for number in range(60):
        session.user(f"Now look at part {number} of the parser, would you.")
        session.tools(("Bash", json.dumps({"command": f"make part{number}"}), "all is well in this part " * 60))
    maker = Compactor(Budget(window=window, reserve=200), secret=b"s")
    view = maker.fit(session.request()["messages"]).messages
    assert rule in text_of(view)
