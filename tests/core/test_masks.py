"""Masks show nothing of a secret, also where a quotation ends inside it; and what holds none is given back as it is."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.masks import begun, masked

KEY = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
LOGIN = "postgres://app:tr0ub4dor3x@db.internal:5432/x"


@given(st.text())
def test_what_is_masked_stays_so_and_what_holds_no_secret_is_the_very_text(text):
    once = masked(text)
    assert masked(once) is once
    assert once == text or "[masked " in once


@given(st.text("ab \n", max_size=60), st.sampled_from((KEY, LOGIN)), st.integers(0, 120))
def test_a_beginning_has_no_half_of_a_secret_either(before, secret, length):
    words = f"{before} {secret} and more"
    assert masked(words).startswith(begun(words, length))
    assert len(begun(words, length)) <= length
    assert "tr0" not in begun(words, length)


def test_only_what_stands_around_the_beginning_is_read():
    assert begun(f"{'word ' * 100_000}{KEY}", 9) == "word word"
