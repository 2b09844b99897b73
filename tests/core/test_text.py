"""Text is cut between characters people see, and never gains anything."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from foldline.core.words.text import LONGEST_WORD, beginning, ending, head, tail

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"  # three people joined into one picture
WAVE = "\U0001f44b\U0001f3fd"  # a hand and its skin tone
ACCENT = "e\u0301"
HEART = "\u2764\ufe0f"

marks = st.sampled_from(
    ["\u0301", "\u0323", "\u200d", "\ufe0f", "\U0001f3fd", "\r", "\n", "a", "字", "\U0001f469", "\ud800"]
)
texts = st.one_of(st.text(), st.lists(marks, max_size=40).map("".join))
lengths = st.integers(-3, 50)


@given(texts, lengths)
def test_a_head_is_a_prefix_of_at_most_that_length(text, length):
    cut = head(text, length)
    assert text.startswith(cut)
    assert len(cut) <= max(0, length)


@given(texts, lengths)
def test_a_tail_is_a_suffix_of_at_most_that_length(text, length):
    cut = tail(text, length)
    assert text.endswith(cut)
    assert len(cut) <= max(0, length)


@given(texts, lengths)
def test_a_cut_gives_up_sixteen_characters_at_the_most(text, length):
    room = min(max(0, length), len(text))
    assert len(head(text, length)) >= room - 16
    assert len(tail(text, length)) >= room - 16


@given(st.lists(st.sampled_from([FAMILY, WAVE, ACCENT, HEART, "\r\n", "x", "字"]), max_size=12), lengths)
def test_no_grapheme_is_torn(graphemes, length):
    text = "".join(graphemes)
    borders = {0}
    for grapheme in graphemes:
        borders.add(max(borders) + len(grapheme))
    assert len(head(text, length)) in borders
    assert len(text) - len(tail(text, length)) in borders


@given(st.text(alphabet="abc \n", max_size=60), lengths)
def test_plain_text_is_cut_to_the_character(text, length):
    assert head(text, length) == text[: max(0, length)]
    assert tail(text, length) == text[len(text) - min(max(0, length), len(text)) :]


@pytest.mark.parametrize("grapheme", [FAMILY, WAVE, ACCENT, HEART, "\r\n"])
def test_a_grapheme_that_does_not_fit_is_left_out(grapheme):
    assert head(f"ab{grapheme}", 3) == "ab"
    assert tail(f"{grapheme}yz", 3) == "yz"


def test_an_endless_cluster_is_cut_all_the_same():
    art = "z" + "\u0301" * 200
    assert len(head(art, 100)) == 84
    assert len(tail(art, 100)) == 84
    assert unicodedata.combining(head(art, 100)[-1])


def test_a_lone_surrogate_is_a_character_like_any_other():
    assert head("a\ud83db", 2) == "a\ud83d"
    assert tail("a\ud83db", 2) == "\ud83db"


WORDS = st.lists(st.text(st.sampled_from("ab注。"), min_size=1, max_size=20), min_size=1, max_size=60)
"""Words of which the longest has room in the shortest length that is asked for."""
LENGTHS = st.integers(20, 300)


@given(WORDS, LENGTHS)
@example(["ab"] * 13 + ["a"], 39)
def test_a_beginning_has_all_whole_words_that_fit_and_says_that_more_follow(words, length):
    text = " ".join(words)
    short = beginning(text, length)
    count = max(n for n in range(len(words) + 1) if len(" ".join(words[:n])) <= length)
    assert short == (text if count == len(words) else " ".join(words[:count]) + " …")


@given(st.text(st.sampled_from("ab 注。\n"), max_size=400), st.integers(1, 300))
def test_a_beginning_is_one_and_no_longer_than_asked_for(text, length):
    kept = beginning(text, length).removesuffix(" …")
    assert text.startswith(kept)
    assert len(kept) <= length


@pytest.mark.parametrize(("room", "kept"), [(LONGEST_WORD, 0), (LONGEST_WORD + 1, LONGEST_WORD + 1)])
def test_what_is_longer_than_a_word_may_be_cut_anywhere(room, kept):
    assert beginning("ab " + "x" * 300, len("ab ") + room) == f"ab {'x' * kept}".rstrip() + " …"
    assert ending("x" * 300 + " ab", len(" ab") + room) == f"{'x' * kept} ab".lstrip()


def test_a_text_without_blanks_is_cut_where_it_must_be():
    assert beginning("注意: " + "注" * 300, 200) == "注意: " + "注" * 196 + " …"
    assert beginning("some words and more", 12) == "some words …"


@given(WORDS, LENGTHS)
def test_an_ending_has_all_whole_words_that_fit(words, length):
    count = max(n for n in range(len(words) + 1) if len(" ".join(words[len(words) - n :])) <= length)
    assert ending(" ".join(words), length).split() == words[len(words) - count :]


@given(st.text(st.sampled_from("ab 注。\n"), max_size=400), st.integers(0, 300))
def test_an_ending_is_one_and_no_longer_than_asked_for(text, length):
    short = ending(text, length)
    assert text.endswith(short)
    assert len(short) <= length


def test_a_word_is_not_cut_at_the_beginning_of_an_ending():
    assert ending("see cmd/entire/cli.go now", 12) == "now"
    assert ending("see cmd/entire/cli.go now", 4) == " now"
    assert ending("see cmd/entire/cli.go now", 3) == "now"
    assert ending("注" * 300, 200) == "注" * 200
    assert ending("short", 9) == "short"
    assert ending("words", 0) == ""
