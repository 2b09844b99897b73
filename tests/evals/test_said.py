"""The user's own words, without what clients put beside them."""

from __future__ import annotations

import time

import pytest
from tests.evals.sessions import says

from foldline.evals.said import users


def own(text: str) -> list[str]:
    return users(says(text, role="user"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("keep <b>these bold words</b> please", "keep <b>these bold words</b> please"),
        ("a <system-reminder>x <b>y</b></system-reminder> b", "a \n b"),
        ('<ide_selection path="a.py">secret</ide_selection>Look here.', "Look here."),
        ("<permissions instructions>x</permissions instructions>Go on.", "Go on."),
        ("<system-reminder> is a tag of theirs", "<system-reminder> is a tag of theirs"),
        ("</system-reminder> is one too", "</system-reminder> is one too"),
        ("<user_query>\nMake it fast.\n</user_query>", "Make it fast."),
        ("<command-name>/x</command-name><command-args>make it <i>fast</i></command-args>", "make it <i>fast</i>"),
        ("1 <a-b>x</a-b> 2 <a-b>y</a-b> 3", "1 \n 2 \n 3"),
    ],
)
def test_only_what_clients_put_there_is_taken_out(text, words):
    assert own(text) == [words]


@pytest.mark.parametrize(
    "line", ["<li>item of a pasted page<br>\n", "<my-item>never closed\n", "</my-item>\n", "<a-b><"]
)
def test_a_pasted_page_takes_no_longer_than_it_is(line):
    start = time.process_time()
    assert own(f"Read this.\n{line * 20_000}")
    assert time.process_time() - start < 2
