"""A keyword finds its word in every form people write it in, and no other word."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.select import Strategy
from foldline.core.words.keywords import inflections, pattern

FOUND = [
    ("error", "an error"),
    ("error", "Errors: 3"),
    ("error", "ERROR"),
    ("error", "TypeError"),
    ("error", "TypeErrors"),
    ("error", "parse_error"),
    ("error", "IO_ERROR"),
    ("error", "errorCode"),
    ("error", "MyErrorCode"),
    ("error", "HTTPError"),
    ("error", "error404"),
    ("error", "eRRoR"),
    ("error", "(error)"),
    ("fix", "fixed"),
    ("fix", "fixing it"),
    ("fix", "Fixes"),
    ("bug", "bugged"),
    ("bug", "debug_bug"),
    ("issue", "issued"),
    ("issue", "issuing"),
    ("note", "noting"),
    ("problem", "problems"),
    ("copy", "copies"),
    ("copy", "copied"),
    ("play", "plays"),
    ("show", "showed"),
    ("TypeError", "a TypeError"),
    ("TypeError", "typeerror"),
    ("TypeError", "MyTypeError"),
    ("OAuth", "oauth"),
    ("Warning", "warnings"),
    ("  note ", "a note"),
    ("错误", "发生错误了"),
    ("naïve", "a Naïve plan"),
    ("c++", "C++ code"),
    ("e", "e"),
]
MISSED = [
    ("error", "terror"),
    ("error", "terrors"),
    ("error", "erroneous"),
    ("error", "TERROR"),
    ("fix", "prefix"),
    ("fix", "prefixed"),
    ("fix", "suffixes"),
    ("fix", "Prefix"),
    ("fix", "préfix"),
    ("fix", "fixé"),
    ("bug", "debug"),
    ("bug", "Debugger"),
    ("note", "notebook"),
    ("note", "Keynote"),
    ("note", "denoted"),
    ("issue", "tissue"),
    ("important", "unimportant"),
    ("warning", "forewarning"),
    ("e", "ing"),
    ("c++", "c"),
]


@pytest.mark.parametrize(("word", "text"), FOUND)
def test_a_word_is_found_in_its_forms_and_as_part_of_an_identifier(word, text):
    assert pattern([word]).search(text)


@pytest.mark.parametrize(("word", "text"), MISSED)
def test_a_word_is_not_found_inside_another(word, text):
    assert not pattern([word]).search(text)


@pytest.mark.parametrize("words", [[], [""], ["  ", "\t"]])
def test_no_words_make_no_pattern(words):
    assert pattern(words) is None


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=5))
def test_any_words_make_a_pattern_that_finds_each_of_them(words):
    found = pattern(words)
    for word in words:
        assert found.search(word.strip())


@given(st.from_regex(r"[a-z]{2,12}", fullmatch=True))
def test_every_inflection_begins_like_its_word(word):
    forms = inflections(word)
    assert word in forms
    assert all(form.startswith(word[:-1]) for form in forms)


@given(st.from_regex(r"[a-z]{2,10}", fullmatch=True))
def test_case_makes_no_difference_to_a_whole_word(word):
    found = pattern([word])
    assert all(found.search(f"{form}.") for form in (word, word.upper(), word.capitalize(), word.swapcase()))


def test_looking_is_linear_in_the_text():
    found = pattern(Strategy().keep_keywords)
    small, large = "erro fi bu not " * 2_000, "erro fi bu not " * 20_000
    times = []
    for text in (small, large):
        start = time.perf_counter()
        assert not found.search(text)
        times.append(time.perf_counter() - start)
    assert times[1] < 40 * max(times[0], 0.001)
