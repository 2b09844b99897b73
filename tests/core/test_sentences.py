"""Sentences are slices; what they bear is recognised in several languages, and cheaply."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.said.sentences import STATED, asks, bears_rule, consents, looks_pasted, sentences, states, turns

CODE = "```py\nnever()\n```"


def split(text):
    return [sentence.text for sentence in sentences(text)]


@given(st.text(st.sampled_from("ab.!?。 \n`~\"')…"), max_size=60))
def test_every_sentence_is_a_slice_in_order_and_nothing_but_space_is_left_out(text):
    at = 0
    for sentence in sentences(text):
        start = text.find(sentence.text, at)
        assert start >= 0
        assert sentence.text.strip() == sentence.text != ""
        assert not text[at:start].strip()
        at = start + len(sentence.text)
    assert not text[at:].strip()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("One. Two! Three?\nFour", ["One.", "Two!", "Three?", "Four"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("请先看。再改！好吗？", ["请先看。", "再改！", "好吗？"]),
        ("see a.py and b.py", ["see a.py and b.py"]),
        ("1. Never push. Ever.\n- Keep it.\n2.", ["1. Never push.", "Ever.", "- Keep it.", "2."]),
        (f"Look:\n{CODE}\nNever again.", ["Look:", CODE, "Never again."]),
        ("```\nnever closed. Keep it.", ["```", "never closed.", "Keep it."]),
        ("", []),
    ],
)
def test_examples(text, parts):
    assert split(text) == parts


def test_code_and_dumps_are_pasted_and_long_words_are_not():
    assert [sentence.pasted for sentence in sentences(f"Look:\n{CODE}\nok")] == [False, True, False]
    assert looks_pasted("2024-01-01 10:00:00.123 [INFO] {a=1, b=2, c=3} (x:1, y:2) -> 0x7f3a 0x8812")
    assert looks_pasted("QUJD1234+/" * 80)
    assert not looks_pasted("x = {1: 2}")
    assert not looks_pasted("so this is me talking and talking without ever stopping to breathe " * 12)
    assert not looks_pasted("请" * 700)


RULES = [
    "Never push to main.",
    "don't touch the vendor folder",
    "You must keep the old API.",
    "Use tabs, not spaces",
    "Whatever you do, hands off the database",
    "can we stick to the workflow of before?",
    "Could you please not touch it?",
    "Do not answer with a question like 'why?'.",
    "bitte keine neuen Abhängigkeiten",
    "Ne modifie pas ce fichier",
    "nunca borres los datos",
    "请不要修改配置",
    "テストを必ず実行してください",
    "никогда не удаляй файлы",
    "절대 하지 마세요",
    "테스트 파일을 수정하지 마십시오",
    "لا تحذف الملفات",
    "يجب تشغيل الاختبارات دائمًا",
    "फ़ाइलें कभी मत हटाओ",
    "केवल अंग्रेज़ी में लिखो",
    "verwijder nooit bestanden",
    "nigdy nie usuwaj plików",
    "radera aldrig filer",
    "dosyaları asla silme",
    "jangan hapus berkas",
    "không được xóa tệp",
    "ніколи не видаляй файли",
    "Ah, and ask me before you merge.",
    "Sizes are in bytes everywhere.",
    "If a build takes over an hour, stop it.",
    "- When you touch the schema, write a migration.",
    "Don’t push to main.",
    "You mustn’t push.",
    "_Never_ push to main.",
    "Do not push to main, ok?",
    "When you commit, never skip the hooks, right?",
    "No emojis in the README.",
    "Plain words, no exclamation marks.",
    "You cannot touch the database.",
    "You may not edit the lock file.",
    "Stop using sed for edits.",
    "Refrain from touching vendor/.",
    "Ab jetzt nichts mehr ausliefern.",
    "Finger weg von der Datenbank.",
    "Löschen ist verboten.",
    "N'utilise pas rm.",
    "Il est interdit de pousser.",
    "No toques la base de datos.",
    "Prohibido borrar tablas.",
    "Non toccare la produzione.",
    "È vietato cancellare.",
    "别动数据库。",
    "请勿修改配置。",
    "Не трогай продакшн.",
    "Запрещено удалять таблицы.",
    "本番には触らないで。",
    "You should only use tabs, right?",
    "The rule is that tests must pass, no?",
    "Could we keep the tests green?",
    "Never deploy on Fridays - how is the build doing?",
    "Only commit when I say so, yes?",
    "Leave prod alone, do you hear me?",
    "No emojis in commit messages, agreed?",
    "keep going with small commits",
]


@pytest.mark.parametrize("sentence", RULES)
def test_rules_are_recognised(sentence):
    assert bears_rule(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        *("I don't have the id", "we do not know it", "fix the parser", "looks good"),
        "But why do you think session logs shouldn't be overwritten?",
        "should we keep the old one?",
        "What are the rules here?",
        "If I run it twice, the second run fails.",
        "When it starts, there is a warning in the log.",
        "If that is so, can we go on?",
        "can you tell me what it does",
        "should we drop it, right?",
        "ok let's keep going",
        "No problem.",
        "No errors are shown.",
        "这个级别的日志",
    ],
)
def test_plain_statements_are_no_rules(sentence):
    assert not bears_rule(sentence)


@pytest.mark.parametrize(
    "text",
    [
        "Our reviewers want British spelling in the help texts.",
        "We still support the old scanners in the warehouse.",
        "oh and btw we're a tabs shop, not spaces",
        "Marta owns the billing module and merges there herself.",
        "For the record, the staging database is shared with sales.",
        "Amounts are stored in cents across the system.",
        "If the two systems disagree, the warehouse one wins.",
        "I'm colour-blind, so red against green is lost on me.",
        "Bei uns werden Kommentare auf Deutsch geschrieben.",
        "我们的代码注释统一用英文。",
    ],
)
def test_who_tells_how_things_are_states_it(text):
    assert states(text)


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "go on", "commit this", "run the tests", "let's have a look at the review", "thanks, well done"),
        "can you check which of them is used",
        "Why is the build red?",
        "The build is red, why?",
        "fix whatever is broken there",
        f"The table is {'very ' * STATED}long.",
    ],
)
def test_who_asks_for_something_states_nothing(text):
    assert not states(text)


@pytest.mark.parametrize(("length", "letters"), [(100, 75), (600, 450), (601, 511), (1_000, 850)])
def test_a_line_is_pasted_below_three_quarters_of_letters_and_a_long_one_below_85_percent(length, letters):
    assert not looks_pasted("x" * letters + "1" * (length - letters))
    assert looks_pasted("x" * (letters - 1) + "1" * (length - letters + 1))


def test_a_test_run_between_a_user_s_words_is_pasted_and_remarks_on_places_are_not():
    run = (
        "=== RUN   TestStop\n=== CONT  TestStop\n    stop_test.go:36: Note: only one point. (must not be empty)\n"
        "        (may be empty without one)\n"
        + "Only hooks are installed.\n"
        * 3
        + "        Error:          Should NOT be empty, but was\n        Messages:       Should have a trailer\n"
        "--- FAIL: TestStop (0.1s)"
    )
    found = list(sentences(f"This must pass:\n{run}\nNever skip it."))
    assert [sentence.text for sentence in found if not sentence.pasted] == ["This must pass:", "Never skip it."]
    own = list(sentences(f"My rules:\n\n    never touch it\n\n{run}"))
    assert [sentence.text for sentence in own if not sentence.pasted] == ["My rules:", "never touch it"]
    remarks = "stop.go:36: this must not be empty.\nstop.go:40: never log it.\nstop.go:51: keep the order."
    assert not any(sentence.pasted for sentence in sentences(remarks))


@pytest.mark.parametrize(
    ("said", "rules"),
    [
        ("should we do this in the worktree", False),
        ("so should we simply call it manifest or keep index", False),
        ("shouldn't it be remote only", False),
        ("maybe both should use the same shape?", False),
        ("so you prefer remote, not url now?", False),
        ("Should it fail, never retry.", True),
        ("Should it fail: never retry.", True),
        ("Should this ever break — never touch prod", True),
        ("Should that fail do not retry it", True),
        ("Should we run out of quota; never buy more", True),
        ("shall we always keep it", False),
        ("This should never be empty", True),
        ("you should keep it", True),
        ("maybe leave the tests alone", True),
        ("can you always run the tests?", True),
        ("should be 8ABeB7", True),
        ("If you need specific details from before exiting plan mode (like errors), read the transcript at: /x", False),
    ],
)
def test_a_question_is_no_rule_though_its_mark_is_missing(said, rules):
    assert bears_rule(said) is rules


def test_an_order_full_of_numbers_is_not_pasted():
    order = "Never bind the ports 7431, 7432, 7433, 7434, 7435, 7436, 7437, 7438, 7439."
    assert not looks_pasted(order)
    assert not looks_pasted(f"- {order}")
    assert looks_pasted(order.removeprefix("Never bind "))


def test_changes_of_mind_are_recognised():
    assert turns("Actually, let's go with SQLite")
    assert turns("算了，改成别的")
    assert not turns("fix the parser")


@pytest.mark.parametrize("answer", ["yes", "Yes, please", "ok do it", "no!", "好的", "不用", "はい", "ja", "…sure"])
def test_answers_are_recognised(answer):
    assert consents(answer)


@pytest.mark.parametrize("text", ["", "nothing here", "yesterday it worked", "the answer is yes", "Okayama"])
def test_other_beginnings_are_no_answers(text):
    assert not consents(text)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Done. Shall I push?", "Shall I push?"),
        ("Shall I push? I can wait.", "Shall I push?"),
        ("Shall I push? Or wait?", "Or wait?"),
        ("**Shall I push?**", "**Shall I push?**"),
        ("**Shall I push?** It is the cleanest way, and keeps all in one place.", "**Shall I push?**"),
        ("_Shall I push?_ I can wait.", "_Shall I push?_"),
        ("我可以推送吗？", "我可以推送吗？"),
        ("Which one?\n\n1. SQLite\n2. Postgres\n3. neither", "Which one?"),
        ("Please confirm.", "Please confirm."),
        ("Let me know if I should proceed.", "Let me know if I should proceed."),
        (f"Shall I apply this?\n{CODE}", "Shall I apply this?"),
        ("```\n" + "code line\n" * 400 + "```\nShall I apply this?", "Shall I apply this?"),
        ("Why did it fail? Because of X. I fixed X. All is well.", ""),
        ("All done.", ""),
        ("- one\n- two", ""),
        ("## A middle ground?\nBoth could be kept.", ""),
        ("Shall I push?\n## Why now?", "Shall I push?"),
        ("", ""),
    ],
)
def test_the_question_a_text_ends_with(text, question):
    assert asks(text) == question


@given(st.text(st.sampled_from("ab.?!\n -*`"), max_size=60))
def test_a_question_is_a_slice(text):
    assert asks(text) in text


@pytest.mark.parametrize(
    "piece",
    [
        ". ",
        "\n",
        "use a",
        "ne x ",
        "`",
        "```\n",
        "~~~\n",
        "a.",
        ")",
        "don't ",
        "let me know if ",
        " ",
        ", ",
        "_",
        "no a",
    ],
)
def test_hostile_texts_cost_little(piece):
    text = f"Please do not {piece * (100_000 // len(piece))}x?"
    started = time.process_time()
    for sentence in sentences(text):
        bears_rule(sentence.text)
        turns(sentence.text)
        states(sentence.text)
    asks(text)
    consents(text)
    assert time.process_time() - started < 3
