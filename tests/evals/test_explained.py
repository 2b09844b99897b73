"""XF: bounds that hold by definition, and what generic text is for."""

from __future__ import annotations

import random

import pytest
from tests.evals.sessions import coding

from foldline.evals import said
from foldline.evals.explained import GENERIC, Explainer, generic, packed


def prose(seed: int, words: int = 600) -> str:
    draw = random.Random(seed)
    return " ".join("".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 9))) for _ in range(words))


KNOWN, NEEDED, OTHER = prose(1), prose(2), prose(3)


def test_the_whole_prefix_explains_all_of_it_and_nothing_explains_nothing():
    explainer = Explainer(NEEDED, f"{OTHER}\n{NEEDED}", KNOWN.encode())
    assert explainer.share(f"{OTHER}\n{NEEDED}") == 1.0
    assert explainer.share("") == pytest.approx(0.0, abs=0.02)


def test_the_half_that_was_needed_explains_all_and_the_other_half_nothing():
    explainer = Explainer(NEEDED, f"{OTHER}\n{NEEDED}", KNOWN.encode())
    assert explainer.share(NEEDED) == pytest.approx(1.0, abs=0.02)
    assert explainer.share(OTHER) == pytest.approx(0.0, abs=0.02)


@pytest.mark.parametrize("generic", [b"", KNOWN.encode()])
def test_a_word_that_says_nothing_is_worth_no_more_and_no_less_than_nothing(generic):
    future = said.agents(coding(1, 40).conversation().messages[20:])
    explainer = Explainer(future, said.plain(coding(1, 10).conversation().messages), generic)
    assert explainer.share("") == explainer.share("(zzz zzz zzz)") == 0.0


def test_half_of_what_was_needed_explains_about_half():
    explainer = Explainer(NEEDED, NEEDED, KNOWN.encode())
    assert explainer.share(NEEDED[: len(NEEDED) // 2]) == pytest.approx(0.5, abs=0.05)


def test_what_every_agent_says_earns_nothing():
    explainer = Explainer(f"{KNOWN}\n{NEEDED}", f"{KNOWN}\n{NEEDED}", KNOWN.encode())
    assert explainer.share(KNOWN) == pytest.approx(0.0, abs=0.05)


def test_words_that_the_prefix_does_not_have_are_taken_out_for_gxf():
    coined = prose(4)
    explainer = Explainer(f"{NEEDED}\n{coined}", f"{OTHER}\n{NEEDED}", KNOWN.encode())
    both = f"{NEEDED}\n{coined}"
    assert explainer.share(both) > 1.5
    assert explainer.grounded(both) == pytest.approx(1.0, abs=0.02)
    assert explainer.grounded(coined) == pytest.approx(0.0, abs=0.02)
    assert explainer.grounded("") == explainer.share("")


def test_gxf_of_what_stands_in_the_prefix_is_xf():
    explainer = Explainer(NEEDED, f"{OTHER}\n{NEEDED}", KNOWN.encode())
    for view in (NEEDED, OTHER, NEEDED[500:1_500], f"{OTHER}\n{NEEDED}"):
        assert explainer.grounded(view) == explainer.share(view)


def test_the_parts_that_stand_in_the_prefix_are_found_whole_and_in_order():
    explainer = Explainer("x", "alpha beta gamma delta\nsigma tau upsilon", b"")
    known = list(explainer._known("NEW alpha beta gamma NEW tau upsilon, and beta gamma d"))
    assert known == ["alpha beta gamma ", " tau upsilon", " beta gamma d"]


def test_a_future_that_the_prefix_does_not_explain_has_no_share():
    assert Explainer(NEEDED, OTHER, b"").share(OTHER) is None


def test_the_size_is_that_of_zstd_with_a_raw_dictionary():
    import zstandard

    text, given = NEEDED.encode(), OTHER.encode()
    dictionary = zstandard.ZstdCompressionDict(given, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    parameters = zstandard.ZstdCompressionParameters.from_level(15, window_log=24)
    assert packed(text, given) == len(
        zstandard.ZstdCompressor(compression_params=parameters, dict_data=dictionary).compress(text)
    )


def test_generic_text_is_taken_from_many_and_has_its_limit():
    found = generic(["a" * 200_000] * 8)
    assert len(found) == GENERIC
    assert found.count(b"\n") == 4
