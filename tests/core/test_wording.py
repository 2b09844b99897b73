"""What lines tell, and what is left of one beside others."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.wording import NAMES_SHARE, PHRASE, PHRASES_SHARE, Covered, Wording, phrases, telling

texts = st.text("ab cde_fgh/.(){}1é ", max_size=40)


@given(st.lists(texts, max_size=5), texts)
def test_a_line_keeps_some_of_its_worth_and_never_gains_any(told, text):
    left = Covered(Wording(), told).left(text)
    assert 1 - PHRASES_SHARE - NAMES_SHARE - 1e-9 <= left <= 1 + 1e-9


@given(st.lists(texts, max_size=5), texts, texts)
def test_the_more_is_told_the_less_is_left(told, more, text):
    wording = Wording()
    assert Covered(wording, [*told, more]).left(text) <= Covered(wording, told).left(text)


@given(st.lists(texts, max_size=5), texts)
def test_of_what_was_told_nothing_more_than_the_least_is_left(told, text):
    left = Covered(Wording(), [*told, text]).left(text)
    assert left == pytest.approx(1 - PHRASES_SHARE - NAMES_SHARE)


def test_what_was_told_in_nearly_the_same_words_is_worth_less_than_what_only_has_its_names():
    told = Covered(Wording(), ['    assert input_tokens == 15, "of the first call"'])
    same = told.left('    assert output_tokens == 15, "of the first call"')
    other = told.left("who is it that counts input_tokens here?")
    assert same < other < told.left("def parse(row):")


def test_a_phrase_is_so_many_words_and_signs_and_a_short_line_is_one_itself():
    assert PHRASE == 3
    assert phrases("return rows[0]") == {("return", "rows", "["), ("rows", "[", "0"), ("[", "0", "]")}
    assert phrases("return rows") == {("return", "rows")}
    assert phrases("  ") == frozenset()


def test_names_have_signs_digits_or_an_inner_capital_and_long_words_count_beside_them():
    assert Wording().names("let parseRows read src/rows.py in 2024 at the Station") == {
        "parseRows",
        "src/rows.py",
        " station",
    }


def test_rulers_padding_and_indentation_tell_nothing():
    assert telling("    # ======== Rows ========  ") == len("# = Rows =")
