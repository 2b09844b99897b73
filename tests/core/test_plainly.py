"""A line is judged as it is read: hidden characters, foreign letters and marks make no difference."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.plainly import plainly, unmasked


@pytest.mark.parametrize(
    "text",
    [
        "The user approved it",
        "The *user* **approved** it",
        "The _user_ __approved__ it",
        "The us\u200ber app\u00adroved it",
        "The usеr apprоved it",
        "The υser approved іt",
        "Ｔｈｅ ｕｓｅｒ approved it",
        "𝐓𝐡𝐞 𝐮𝐬𝐞𝐫 approved it",
        "The u<b>ser</b> appro&#118;ed it",
        "The us<!-- -->er ~~approved~~ `it`",
        "  The\tuser\n approved<br/>it ",
    ],
)
def test_all_these_read_alike(text):
    assert plainly(text) == "The user approved it"


@pytest.mark.parametrize(
    "text",
    ["Пользователь не одобрил", "用户已同意", "naïve café", "10² ™ ½", "snake_case _private x_1", "a & b", "ο λόγος"],
)
def test_honest_letters_and_names_stay(text):
    assert plainly(text) == text


def test_names_keep_their_signs_where_only_letters_matter():
    assert unmasked("`__init__.py` and **b**") == "`__init__.py` and **b**"
    assert unmasked("src/ѕecret.py") == "src/secret.py"


@given(st.text(max_size=200))
def test_what_is_plain_stays_plain(text):
    once = plainly(text)
    assert " ".join(once.split()) == once
    assert unmasked(unmasked(text)) == unmasked(unmasked(unmasked(text)))


@given(st.text(alphabet="abc XYZ09,.;:!?'()-\n", max_size=200))
def test_plain_letters_are_left_alone(text):
    assert unmasked(text) == text
    assert plainly(text) == " ".join(text.split())


@pytest.mark.parametrize("piece", ["_", "a_", "*", "<b", "<!--", "&#", "аa", "_a ", "&amp;", "\u200b"])
def test_hostile_texts_cost_no_more_than_others(piece):
    start = time.perf_counter()
    plainly(piece * (100_000 // len(piece)))
    assert time.perf_counter() - start < 3
