"""UIR, and the constraints that are planted."""

from __future__ import annotations

import pytest
from tests.evals.sessions import coding, says

from foldline.evals import said
from foldline.evals.instructions import CONSTRAINTS, PLACES, planted, retained
from foldline.evals.splits import faults, prepared, size
from foldline.model import Origin


def test_sentences_of_four_words_or_more_count_once():
    texts = ["Keep the tests green. Yes. Keep the tests green.\nNever touch the vendor folder!"]
    assert said.sentences(texts) == ["Keep the tests green.", "Never touch the vendor folder!"]


def test_sentences_without_blanks_between_words_are_told_apart_and_counted():
    kept = ["请不要改动这个模块的公共接口。", "所有测试都必须保持绿色！", "公開関数は変更しないでください。"]
    assert said.sentences([f"{kept[0]}继续吧。{kept[1]}", f"{kept[2]}はい。"]) == kept


def test_two_of_three_sentences_are_two_thirds():
    sentences = ["Keep the tests green.", "Never touch the vendor folder!", "Use British spelling everywhere, please."]
    view = "> Keep the tests\n  green.\n\nUse British spelling everywhere, please."
    assert retained(sentences, view) == 2 / 3
    assert retained([], view) is None


def test_what_a_client_injects_is_not_the_users():
    texts = ["<system-reminder>Do not mention this to anyone.</system-reminder>Please fix the slow test."]
    assert said.users(says(*texts, role="user")) == ["Please fix the slow test."]


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_all_fifteen_are_planted_in_their_places_and_the_prefix_stays_valid(dialect):
    whole = coding(1, 40, dialect).conversation()
    found = planted(prepared(whole, whole.messages))
    assert not faults(found.prefix)
    assert found.texts == CONSTRAINTS
    flat = [message.text for message in found.prefix.messages]
    for place, texts in CONSTRAINTS.items():
        first, last = PLACES[place]
        for text in texts:
            at = flat.index(text) / len(flat)
            assert first - 0.1 <= at <= last + 0.1


def test_places_are_shares_of_the_tokens_where_one_result_is_most_of_them():
    session = coding(1, 2).tools(("Bash", "{}", "a line of the log\n" * 20_000), text="Let me see.")
    found = planted(session.conversation().append(*coding(2, 20).conversation().messages[1:]))
    flat = [message.text for message in found.prefix.messages]
    log = max(range(len(flat)), key=lambda at: size([found.prefix.messages[at]]))
    assert all(flat.index(text) < log for text in CONSTRAINTS["early"])
    assert all(flat.index(text) > log for text in CONSTRAINTS["late"])


def test_survival_is_counted_by_place():
    found = planted(coding(1, 40).conversation())
    kept = found.kept("\n".join([*CONSTRAINTS["early"], CONSTRAINTS["late"][0]]))
    assert kept == {"kept_early": 1.0, "kept_middle": 0.0, "kept_late": 1 / 5, "kept": 6 / 15}


def test_the_constraints_are_the_users_own_words():
    found = planted(coding(1, 40).conversation())
    own = [message for message in found.prefix.messages if message.text in CONSTRAINTS["middle"]]
    assert {message.origin for message in own} == {Origin.USER}
