"""The meter: exact sums, little work, bounds that hold, and numbers that follow the provider's own."""

from __future__ import annotations

import base64
import json
import random
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.counting.estimate import Estimator
from foldline.core.counting.images import MOST
from foldline.core.counting.meter import RATIO_LEAST, RATIO_MOST, TRACKS, Meter, Usage
from foldline.core.counting.sizes import (
    _SAFE_CUT,
    CACHED_TEXTS,
    ENVELOPE_BYTES,
    FRAMING_BYTES,
    LARGEST,
    SEPARATOR_BYTES,
    SLICE,
    Sizer,
    slices,
)
from foldline.model import (
    Conversation,
    Head,
    Media,
    Message,
    Opaque,
    Origin,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)
from foldline.tokens import best_counter

RNG = random.Random(11)
WORDS = [
    "window",
    "shelf",
    "running",
    "the",
    "error",
    "of",
    "returned",
    "_index",
    "httpResponse",
    "1024",
    "and",
    "README",
]
WORDS += ["src/app/main.py", "reading;", "{'key':", "true}", "nobody-knows-why", "(line", "48)", "because", "failed"]


class Words:
    """A counter one can follow by hand: a token for each word. Remembers what it was asked."""

    name, error = "words", 0.0

    def __init__(self):
        self.asked = []

    def count(self, text):
        self.asked.append(text)
        return len(text.split())


class Provider:
    """Reports what a provider would: another tokenizer's ratio, framing of its own, a hidden preamble."""

    def __init__(self, ratio=1.27, framing=7, preamble=350):
        self.ratio, self.framing, self.preamble = ratio, framing, preamble
        self.exact = best_counter()

    def prompt(self, conversation):
        texts = [part.text for message in conversation.messages for part in message.parts]
        said = sum(map(self.exact.count, texts))
        return round(self.ratio * said) + self.framing * len(texts) + self.preamble


def prose(words=80):
    return " ".join(RNG.choices(WORDS, k=words))


def user(text, **fields):
    return Message("user", Origin.USER, (Text(text),), **fields)


def assistant(*parts):
    return Message("assistant", Origin.ASSISTANT, parts)


def talk(*texts, **head):
    return Conversation("any", tuple(map(user, texts)), Head(**head))


def a_long_talk(messages, words=8):
    return talk(*(f"{number} {prose(words)}" for number in range(messages)))


CONTENTS = {
    "code": "def total(values):\n    return sum(value.weight for value in values if value.is_ready)\n" * 30,
    "prose": "Nobody asked why the meter was read twice a day, and nobody kept the little book. " * 30,
    "json": json.dumps([{"id": n, "path": f"src/part_{n}.py", "ok": n % 2 == 0} for n in range(100)]),
    "logs": "".join(f"2026-03-{n:02} 12:00:{n:02} ERROR worker-{n} id=7f{n}a took={n * 37}ms\n" for n in range(60)),
    "chinese": "请先不要重启数据库，等我回来再说。日志里有很多错误。" * 40,
    "base64": base64.b64encode(RNG.randbytes(4_000)).decode(),
    "hex": RNG.randbytes(2_000).hex(),
}

# --- sums


@given(st.lists(st.text(max_size=300), max_size=8))
def test_a_conversation_is_the_sum_of_its_messages_and_its_head(texts):
    meter = Meter(best_counter())
    conversation = talk(*texts, system=(Text("Be kind."),), tools=(Tool("look", '{"name":"look"}'),))
    parts = sum(map(meter.message, conversation.messages)) + meter.head(conversation.head)
    assert meter.count(conversation).raw == parts


@given(st.lists(st.text(max_size=40), max_size=12), st.data())
def test_however_a_conversation_was_reached_it_counts_the_same(texts, data):
    conversation = talk(*texts)
    walked = Meter(Words())
    for _ in range(4):
        cut = data.draw(st.integers(0, len(texts)))
        other = conversation.messages[:cut] + (user("aside"),) * data.draw(st.integers(0, 2))
        walked.count(conversation.with_messages(other))
    assert walked.count(conversation) == Meter(Words()).count(conversation)


def test_every_kind_of_part_costs_something():
    parts = (
        Text("plain words"),
        Thinking("let me think about it"),
        Thinking("", seal="A" * 400),
        ToolCall("c1", "read_file", '{"path": "a.py"}'),
        ToolResult("c1", (Text("contents of the file"), Media("image", "image/png"), Opaque("odd", {"type": "odd"}))),
        Media("document", "application/pdf", data="A" * 40_000),
        Media("audio", "audio/mp3", data="A" * 40_000),
        Media("file", "text/plain", data="A" * 4_000),
        Media("document", url="https://example.org/paper.pdf"),
        Opaque("server_tool_use", {"type": "server_tool_use", "input": {"query": "weather"}}),
    )
    meter = Meter(best_counter())
    empty = meter.message(assistant())
    assert empty > 0
    assert all(meter.message(assistant(part)) > empty for part in parts)
    whole = Conversation("any", (assistant(*parts),))
    tally = meter.count(whole)
    assert tally.low < tally.tokens < tally.high
    assert tally.bytes > 84_000


def test_a_document_given_as_text_costs_what_it_says():
    meter, words = Meter(Words()), "some words here " * 20_000
    source = {"type": "text", "media_type": "text/plain"}
    short, long = (Media("document", "text/plain", extra={"source": {**source, "data": d}}) for d in ("Hi.", words))
    blocks = Media("document", extra={"source": {"type": "content", "content": [{"type": "text", "text": words}]}})
    elsewhere = Media("document", extra={"source": {"type": "file", "file_id": "file_1"}})
    assert meter.message(assistant(short)) < 100
    assert min(meter.message(assistant(part)) for part in (long, blocks)) > 50_000
    assert meter.count(Conversation("any", (assistant(long),))).bytes > len(words)
    assert meter.message(assistant(elsewhere)) > 5_000


def test_results_cost_what_is_in_them():
    meter = Meter(Words())
    one = assistant(ToolResult("c", (Text("a b c"),)))
    two = assistant(ToolResult("c", (Text("a b c"), Text("d e"), Media("image", url="https://example.org/x.png"))))
    assert meter.message(two) - meter.message(one) == 2 + MOST


def test_sealed_thinking_counts_as_much_as_was_thought():
    meter = Meter(Words())
    short, long = assistant(Thinking("brief", "A" * 160)), assistant(Thinking("brief", "A" * 16_000))
    assert meter.message(long) - meter.message(short) == 3_000 - 30


@pytest.mark.parametrize("text", ['say "no"\n' + "é" * 10, "".join(map(chr, range(3_000))) * 20, "\x01" * 5_000])
def test_bytes_are_those_that_came_or_about_those_that_would_be_written(text):
    came = Message("user", Origin.USER, (Text("hi"),), raw=b'{"role":"user","content":"hi"}')
    meter = Meter(Words())
    assert meter.count(Conversation("any", (came,))).bytes == len(came.raw) + SEPARATOR_BYTES + ENVELOPE_BYTES
    made = meter.count(talk(text)).bytes
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    assert 0 <= made - ENVELOPE_BYTES - len(json.dumps(message, ensure_ascii=False).encode()) < FRAMING_BYTES


def test_lone_surrogates_have_the_bytes_of_their_escapes():
    bytes_ = Meter(Words()).count(talk("\ud83d" * 5_000)).bytes
    assert len(json.dumps("\ud83d" * 5_000)) < bytes_ < 36_000


@given(st.text(st.characters(categories=["Cs", "L"]), max_size=30))
def test_lone_surrogates_anywhere_are_no_error(text):
    message = assistant(Text(text), Thinking(text), ToolCall("c", text, text), Opaque("x", {"a": text}))
    assert Meter(best_counter()).message(message) > 0
    assert Meter(Estimator()).count(Conversation("any", (message,))).bytes >= 0


# --- work


def test_after_one_more_message_only_that_message_is_counted():
    meter = Meter(Words())
    conversation = a_long_talk(2_000)
    meter.count(conversation)
    before = meter.work
    meter.count(conversation)
    assert meter.work == before
    meter.count(conversation.append(user("and one more thing")))
    assert (meter.work.messages - before.messages, meter.work.characters - before.characters) == (1, 18)


def test_messages_read_anew_are_recognised():
    meter = Meter(Words())
    conversation = a_long_talk(500)
    meter.count(conversation)
    again = talk(*(str(m.text.encode(), "utf-8") for m in conversation.messages), "new")
    before = meter.work
    meter.count(again)
    assert (meter.work.messages - before.messages, meter.work.characters - before.characters) == (1, 3)


def test_a_branch_costs_what_it_has_of_its_own():
    meter = Meter(Words())
    trunk = a_long_talk(1_000)
    meter.count(trunk)
    before = meter.work.messages
    branch = trunk.with_messages((*trunk.messages[:700], user("or rather"), user("this way")))
    meter.count(branch)
    assert meter.work.messages - before == 2
    meter.count(trunk.append(user("on")))
    assert meter.work.messages - before == 3


def test_a_text_is_tokenised_once_wherever_it_stands():
    counter = Words()
    meter = Meter(counter)
    meter.count(talk("one two", "three " * 100))
    meter.count(talk("three " * 100, "one two", "one two"))
    assert sorted(counter.asked) == ["one two", "three " * 100]


def test_what_is_remembered_is_bounded():
    sizer = Sizer(Words())
    for number in range(CACHED_TEXTS + 10):
        sizer.text(str(number))
        sizer.text("kept in use")
    assert len(sizer._texts) == CACHED_TEXTS
    before = sizer.work.characters
    sizer.text("kept in use")
    assert sizer.work.characters == before
    sizer.text("0")
    assert sizer.work.characters == before + 1


def test_only_a_few_conversations_are_followed():
    meter = Meter(Words())
    talks = [talk(f"talk {number}", "more") for number in range(3 * TRACKS)]
    for conversation in talks:
        meter.learn(conversation, Usage(10))
    assert len(meter._recent) == len(meter._learnt) == TRACKS
    assert [meter.count(conversation).anchored for conversation in talks] == [False] * 2 * TRACKS + [True] * TRACKS


@pytest.mark.speed
def test_ten_thousand_messages_and_one_more_take_less_than_a_millisecond():
    meter = Meter(best_counter())
    conversation = a_long_talk(10_000, words=40)
    assert meter.count(conversation).raw > 500_000
    spent = []
    for number in range(9):
        conversation = conversation.append(user(f"step {number}: {prose()}"))
        start = time.perf_counter()
        meter.count(conversation)
        spent.append(time.perf_counter() - start)
    assert sorted(spent)[4] < 0.001


# --- slices


ATOMS = [
    *WORDS,
    " ",
    "  ",
    "\n",
    "\n\n",
    " \n",
    "\t",
    "\r\n",
    "//",
    "\u00a0",
    "、数据库",
    "don't",
    "I'LL",
    "é",
    "١٢",
    "🙂",
    "\x1c",
]


@given(st.lists(st.sampled_from(ATOMS) | st.text(max_size=5), max_size=12).map("".join))
@settings(max_examples=300)
def test_no_token_reaches_across_a_safe_cut(text):
    count = best_counter().count
    for found in _SAFE_CUT.finditer(text):
        assert count(text[: found.start()]) + count(text[found.start() :]) == count(text)


@given(st.integers(0, 10**6), st.sampled_from([" ", "\n", " "]))
@settings(max_examples=10)
def test_where_there_are_spaces_slices_add_up_exactly(seed, between):
    text = between.join(random.Random(seed).choices(ATOMS, k=12_000))
    pieces = list(slices(text))
    assert len(pieces) > 2
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= SLICE
    count = best_counter().count
    assert sum(map(count, pieces)) == count(text)


@pytest.mark.parametrize(
    "text",
    [
        "的一是在不了有和人这中大为上个国" * 8_000,
        base64.b64encode(RNG.randbytes(90_000)).decode(),
        "".join(RNG.choices("abcdefghijklmnopqrstuvwxyz", k=100_000)),
        "a" * 100_000,
        " " * 100_000,
        "=-" * 50_000,
    ],
)
def test_without_spaces_a_cut_costs_two_tokens_at_most(text):
    count = best_counter().count
    pieces = list(slices(text))
    assert len(pieces) == -(-len(text) // SLICE)
    assert abs(sum(map(count, pieces)) - count(text)) <= 2 * (len(pieces) - 1)


def test_no_call_gets_more_than_a_slice_and_giants_are_estimated():
    counter = Words()
    meter = Meter(counter)
    meter.text("x" * (3 * SLICE + 1))
    assert [len(text) for text in counter.asked] == [SLICE, SLICE, SLICE, 1]
    counter.asked.clear()
    giant = "word " * (LARGEST // 4)
    assert meter.text(giant) == pytest.approx(LARGEST // 4, rel=0.4)
    assert counter.asked == []
    tally = meter.count(talk(giant))
    assert tally.low < LARGEST // 4 < tally.high


@pytest.mark.speed
@pytest.mark.parametrize("kind", ["的一是在不了有和人这中大为上个国", "a", " ", "Zx9+", "The meter was read. "])
def test_no_call_holds_the_interpreter_for_more_than_ten_milliseconds(kind):
    piece = (kind * SLICE)[:SLICE]
    count = best_counter().count
    spent = []
    for _ in range(5):
        start = time.perf_counter()
        count(piece)
        spent.append(time.perf_counter() - start)
    assert min(spent) < 0.010


# --- bounds


@pytest.mark.parametrize("counter", [best_counter(), Estimator()], ids=["exact", "estimated"])
@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.27])
@pytest.mark.parametrize("kind", CONTENTS)
def test_the_truth_lies_between_the_bounds_before_anything_was_learned(kind, ratio, counter):
    conversation = talk(*[CONTENTS[kind]] * 5)
    tally = Meter(counter).count(conversation)
    assert tally.low <= Provider(ratio, preamble=0).prompt(conversation) <= tally.high
    assert tally.low <= tally.tokens <= tally.high


@pytest.mark.parametrize("counter", [best_counter(), Estimator()], ids=["exact", "estimated"])
@pytest.mark.parametrize("kind", CONTENTS)
def test_the_truth_lies_between_the_bounds_after_learning_on_other_text(kind, counter):
    provider, meter = Provider(1.27), Meter(counter, prior=1.24)
    conversation = talk(*(prose(400) for _ in range(10)))
    meter.learn(conversation, Usage(provider.prompt(conversation)))
    grown = conversation.append(user(CONTENTS[kind]), user(CONTENTS[kind][::2]))
    tally = meter.count(grown)
    assert tally.anchored
    assert tally.low <= provider.prompt(grown) <= tally.high


def test_thinking_and_pictures_may_turn_out_to_cost_nothing():
    meter = Meter(best_counter())
    parts = (Text("Look at this."), Thinking(prose()), Media("image", url="https://example.org/x.png"))
    bare = meter.count(Conversation("any", (assistant(parts[0]),)))
    assert meter.count(Conversation("any", (assistant(*parts),))).low <= bare.tokens


def test_thinking_that_was_reported_may_be_left_out_next_time():
    meter = Meter(Words())
    thought = Conversation("any", (assistant(Text("a " * 5_000), Thinking("b " * 900)),))
    meter.learn(thought, Usage(5_904))
    assert meter.count(thought.append(user("c"))).low <= 5_004 + 5


# --- learning


@pytest.mark.parametrize("counter", [best_counter(), Estimator()], ids=["exact", "estimated"])
@pytest.mark.parametrize("prior", [1.0, 1.24, 1.55])
def test_after_a_few_turns_the_count_is_within_three_percent(counter, prior):
    provider, meter = Provider(ratio=1.27, framing=7), Meter(counter, prior=prior)
    kinds = list(CONTENTS.values())
    conversation = talk(prose(200))
    errors = []
    for turn in range(20):
        told, truth = meter.count(conversation).tokens, provider.prompt(conversation)
        errors.append(abs(told - truth) / truth)
        meter.learn(conversation, Usage(truth))
        conversation = conversation.append(user(prose(200)), user(kinds[turn % len(kinds)][:1_200]))
    assert max(errors[5:]) < 0.03


def test_what_was_reported_is_what_is_told():
    meter = Meter(Words())
    conversation = talk("a b c " * 400)
    lesson = meter.learn(conversation, Usage(1_500))
    tally = meter.count(conversation)
    assert (lesson.anchored, tally.tokens, tally.anchored) == (True, 1_500, True)


@given(st.integers(0, 40), st.integers(2, 60))
def test_what_is_new_is_told_by_the_ratio(new, old):
    meter = Meter(Words())
    conversation = talk(*["a b c d e f g h " * 10] * old)
    meter.learn(conversation, Usage(100 * old))
    grown = conversation.append(user("x " * new))
    assert meter.count(grown).tokens == round(100 * old + meter.ratio * meter.message(grown.messages[-1]))


def test_usage_from_before_a_compaction_moves_the_ratio_and_nothing_else():
    meter = Meter(Words())
    before = talk(*(f"{n} " + "word " * 100 for n in range(500)))
    meter.learn(before, Usage(70_000))
    ratio = meter.ratio
    after = before.with_messages((before.messages[0], user("a summary " * 50), *before.messages[-3:]))
    tally = meter.count(after)
    assert not tally.anchored
    assert tally.tokens == pytest.approx(ratio * tally.raw, abs=1)


def test_another_branch_keeps_no_report_but_the_shared_beginning_does():
    meter = Meter(Words())
    trunk = talk(*(f"{n} " + "word " * 20 for n in range(100)))
    meter.learn(trunk, Usage(2_800))
    late = trunk.with_messages((*trunk.messages[:99], user("something else")))
    early = trunk.with_messages((*trunk.messages[:20], user("something else")))
    assert meter.count(late).anchored
    assert meter.count(late).tokens < 2_800
    assert not meter.count(early).anchored


def test_a_system_prompt_that_changes_a_little_keeps_the_report():
    meter = Meter(Words())
    first = talk("word " * 5_000, system=(Text("It is noon."),))
    meter.learn(first, Usage(6_000))
    second = replace(first, head=Head(system=(Text("It is one minute past noon."),)))
    tally = meter.count(second)
    assert tally.anchored
    assert 6_000 < tally.tokens < 6_010


def test_counting_other_conversations_does_not_lose_the_report():
    meter = Meter(Words())
    conversation = talk("word " * 500)
    meter.learn(conversation, Usage(600))
    for number in range(5 * TRACKS):
        meter.count(talk(f"candidate {number}"))
    assert meter.count(conversation).tokens == 600


@given(st.integers(1, 40))
def test_counting_a_beginning_does_not_lose_the_report(length):
    meter = Meter(Words())
    conversation = talk(*(f"{number} " + "word " * 20 for number in range(40)))
    meter.learn(conversation, Usage(1_100))
    grown = conversation.append(user("and on"))
    before = meter.count(grown)
    meter.count(grown.with_messages(grown.messages[:length]))
    assert meter.count(grown) == before
    assert before.anchored


BRANCH = st.tuples(st.sampled_from((6, 8)), st.integers(0, 2), st.integers(0, 2))
"""A conversation: so much of the trunk, then so much of one of three branches."""


@given(st.lists(st.tuples(st.booleans(), BRANCH, st.floats(0.8, 1.6)), min_size=4, max_size=12), BRANCH)
def test_counting_changes_no_later_count(done, branch):
    """Two meters learn the same, one of them counts other conversations as well."""
    quiet, busy = Meter(Words()), Meter(Words())
    for learns, other, ratio in done:
        conversation = branched(other)
        reported = Usage(round(ratio * busy.count(conversation).raw))
        if learns:
            assert quiet.learn(conversation, reported) == busy.learn(conversation, reported)
    assert quiet.count(branched(branch)) == busy.count(branched(branch))


def branched(branch):
    trunk, which, length = branch
    said = [f"{number} " + "word " * 50 for number in range(trunk)]
    return talk(*said, *(f"{which} {number} " + "other " * 40 for number in range(length)), "now?")


def test_a_report_that_comes_late_still_serves():
    meter = Meter(Words())
    first = talk("word " * 500)
    second = first.append(user("on"))
    meter.count(second)
    meter.learn(first, Usage(600))
    third = meter.count(second.append(user("and on")))
    assert third.anchored
    assert 600 < third.tokens < 630


@pytest.mark.parametrize("reported", [0, -3, 90, 1_000_000])
def test_a_report_that_cannot_be_about_this_prompt_teaches_nothing(reported):
    meter = Meter(Words())
    conversation = talk("word " * 5_000)
    before = meter.count(conversation)
    lesson = meter.learn(conversation, Usage(reported))
    assert (lesson.anchored, lesson.notices[0].code) == (False, "usage-implausible")
    assert meter.count(conversation) == before


@given(st.lists(st.tuples(st.integers(1, 3_000), st.integers(-10, 10**6)), max_size=10), st.floats(0.3, 3))
def test_the_ratio_stays_within_its_bounds_whatever_is_reported(reports, prior):
    meter = Meter(Words(), prior=prior)
    for words, reported in reports:
        lesson = meter.learn(talk("w " * words), Usage(reported))
        assert RATIO_LEAST * prior <= lesson.ratio == meter.ratio <= RATIO_MOST * prior


def test_a_history_that_lies_at_the_provider_teaches_nothing():
    meter = Meter(Words())
    lesson = meter.learn(talk("word " * 100, remote=True), Usage(150))
    assert (lesson.ratio, lesson.anchored, lesson.notices[0].code) == (1.0, False, "usage-remote")


def test_where_only_messages_were_given_the_report_serves_though_it_is_about_more():
    provider, meter = Provider(1.27, preamble=20_000), Meter(best_counter())
    conversation = talk(prose(200))
    for _ in range(8):
        assert meter.learn(conversation, Usage(provider.prompt(conversation))).anchored
        conversation = conversation.append(user(prose(400)))
    assert meter.count(conversation).tokens == pytest.approx(provider.prompt(conversation), rel=0.01)
    assert meter.ratio == pytest.approx(1.27, abs=0.08)


def test_where_the_whole_request_was_given_a_report_about_far_more_is_not_believed():
    meter = Meter(Words())
    lesson = meter.learn(talk("word " * 500, system=(Text("Be brief."),)), Usage(21_000))
    assert (lesson.anchored, lesson.ratio) == (False, 1.0)


def test_thinking_the_provider_dropped_between_two_reports_leaves_the_ratio_alone():
    meter = Meter(Words())
    first = talk("word " * 5_000)
    meter.learn(first, Usage(6_000))
    ratio = meter.ratio
    second = first.append(user("word " * 500))
    assert meter.learn(second, Usage(5_500)).anchored
    assert (meter.ratio, meter.count(second).tokens) == (ratio, 5_500)


def test_a_greeting_hardly_moves_the_ratio_and_a_real_prompt_does():
    meter = Meter(Words())
    meter.learn(talk("hi"), Usage(15))
    assert meter.ratio == pytest.approx(1, abs=0.02)
    meter.learn(talk("word " * 50_000), Usage(75_000))
    assert meter.ratio == pytest.approx(1.5, abs=0.02)


def test_pictures_and_thinking_do_not_pass_for_the_tokenizer():
    meter = Meter(Words())
    seen = Conversation("any", (assistant(Text("a " * 900), Media("image", url="https://example.org/x.png")),))
    assert meter.learn(seen, Usage(1_100)).anchored
    assert (meter.ratio, meter.count(seen).tokens) == (1.0, 1_100)


@pytest.mark.parametrize("prior", [0, -1, float("nan")])
def test_a_prior_must_make_sense(prior):
    with pytest.raises(ValueError, match="prior is"):
        Meter(Words(), prior=prior)
