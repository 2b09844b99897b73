"""Masks show nothing of a secret, also where a quotation ends inside it; and what holds none is given back as it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.words.masks import begun, ended, ends_of, masked, without_masks
from foldline.core.words.secretforms import KEYS, begun_in

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


@given(st.text("ab \n", max_size=60), st.sampled_from((KEY, LOGIN)), st.integers(0, 120))
def test_an_end_has_no_half_of_a_secret_either(behind, secret, length):
    words = f"before it {secret} {behind}"
    end = ended(words, length)
    assert masked(words).endswith(end) or end in words
    assert words[len(words) - length :] == end or "[masked " in end
    assert all(piece not in end + ends_of(words, length) for piece in (KEY[-6:], "b4dor3x", "tr0"))


@pytest.mark.parametrize("cut", range(2, 44, 3))
def test_what_a_mask_makes_room_for_is_not_filled_with_half_a_secret(cut):
    """A whole private key is long, and its mask short: what is read besides then ends far behind what is shown."""
    pem = "-----BEGIN RSA PRIVATE KEY-----\n" + f"{'a8Fk2Lq9Zx0P' * 5}\n" * 60 + "-----END RSA PRIVATE KEY-----"
    for behind, length in ((2_000, 2_500), (4_000, 400)):
        gap = "." * (length + behind - len(pem) - cut)
        for text in (begun(f"{pem}{gap} {KEY}", length), ended(f"{KEY} {gap}{pem}", length)):
            assert "a8Fk2L" not in text


def test_nothing_stands_in_the_place_of_masks_and_of_nothing_else():
    text = f"a {masked(KEY)} b [masked password] c [masked push-to-main] d [masked"
    assert without_masks(text) == "a  b  c [masked push-to-main] d [masked"
    plain = "nothing"
    assert without_masks(plain) is plain


def test_only_what_stands_around_the_beginning_is_read():
    assert begun(f"{'word ' * 100_000}{KEY}", 9) == "word word"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.begins)
def test_a_key_is_sought_wherever_its_beginning_stands(key):
    for text in (key.begins, f"a{key.begins}1", f"-_.{key.begins}", f"x_{key.begins}y-z."):
        assert key in list(begun_in(text))
    assert key not in list(begun_in(key.begins[:-1]))
