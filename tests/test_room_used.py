"""What is large, pinned or dropped is counted once, for what it has in the view: the rest of the room is used."""

from __future__ import annotations

import base64
import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.core import rooms
from foldline.core.fold import Extent, as_carried
from foldline.errors import CannotFit
from foldline.model import Media, Message, Origin, Text
from foldline.testing import SUMMARY, FakeCaller

WORDS = "the parser reads every row of the table and keeps what it finds "


def made(by_model, window=400_000):
    return Compactor(Budget(window=window, reserve=3_000), FakeCaller([SUMMARY]) if by_model else None, secret=b"s")


def step(number, words=40):
    used = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": f"make part-{number}"}}
    result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": f"part {number}: {WORDS * (words // 13)}"}
    said = {"type": "text", "text": f"Part {number} is next."}
    return [{"role": "assistant", "content": [said, used]}, {"role": "user", "content": [result]}]


def steps(first, last, words=40):
    return [message for number in range(first, last) for message in step(number, words)]


def asked(text, pictures=0):
    picture = base64.b64encode(b"\x89PNG" * 3_000).decode()
    source = {"type": "base64", "media_type": "image/png", "data": picture}
    parts = [{"type": "image", "source": source} for _ in range(pictures)]
    return {"role": "user", "content": [{"type": "text", "text": text}, *parts]}


BEGUN = asked("Build it. Never touch conf.toml.")


@pytest.mark.parametrize("by_model", [False, True])
def test_the_steps_before_a_huge_result_stay_and_it_is_shortened_to_what_the_room_allows(by_model):
    messages = [BEGUN, *steps(0, 60, 300), *step(60, 150_000)]
    fitted = made(by_model, 60_000).fit(messages, dialect="anthropic")
    text = json.dumps(fitted.messages)
    assert fitted.receipt.tokens_after > 15_000
    assert len(re.findall(r"Part 60 is next", text)) == 1
    assert max(map(len, re.findall(r"part 60: [^\"]*", text))) > 8_000
    assert text.count("part 5") > 5


def test_an_old_huge_result_does_not_end_the_tail():
    messages = [BEGUN, *steps(0, 25, 300), *step(25, 60_000), *steps(26, 30, 300)]
    fitted = made(True).compact(messages, dialect="anthropic", to=20_000)
    assert fitted.receipt.tokens_after > 9_000
    assert "part 20: " in json.dumps(fitted.messages)


def test_where_there_is_more_room_no_less_of_the_last_result_is_shown():
    messages = [BEGUN, *steps(0, 3), *step(3, 20_000)]
    shown = []
    for to in range(2_000, 24_000, 1_500):
        text = json.dumps(made(False).compact(messages, dialect="anthropic", to=to).messages)
        shown.append(max(map(len, re.findall(r"part 3: [^\"]*", text))))
    assert shown == sorted(shown)
    assert shown[-1] > 8_000


@pytest.mark.parametrize("by_model", [False, True])
def test_what_is_pinned_among_the_messages_that_stay_is_counted_once(by_model):
    messages = [BEGUN, *steps(0, 60, 300), *step(60, 4_000), *steps(61, 66, 300)]
    sizes = [
        made(by_model).compact(messages, dialect="anthropic", to=16_000, pin=pins).receipt.tokens_after
        for pins in ((), (122,))
    ]
    assert sizes[1] > sizes[0] * 0.8


def test_a_pin_on_a_call_is_a_pin_on_its_result():
    messages = [BEGUN, *step(0, 4_000), *steps(1, 20, 300), asked(WORDS * 400)]
    views = [
        made(False, 15_000).compact(messages, dialect="anthropic", to=12_000, pin=pins).messages
        for pins in ((1,), (2,), (1, 2))
    ]
    assert views[0] == views[1] == views[2]


@pytest.mark.parametrize("pictures", [3, 8])
@pytest.mark.parametrize("words", [5, 700])
def test_pictures_that_find_no_room_cost_the_words_beside_them_nothing(pictures, words):
    text = (WORDS * 60)[: words * 5]
    messages = [BEGUN, *steps(0, 20, 300), asked(text, pictures)]
    fitted = made(False, 8_000).fit(messages, dialect="anthropic")
    shown = json.dumps(fitted.messages)
    assert text in shown
    assert f"{pictures} pictures or files of this message left out here" in shown
    assert [notice.code for notice in fitted.receipt.notices] == ["user-clamped"]
    assert fitted.receipt.notices[0].text.endswith(
        f" is shown without the pictures or files in it ({pictures} attached)"
    )


@pytest.mark.parametrize("words", [5, 90_000])
def test_only_a_message_that_is_shown_in_part_is_said_to_be_so_on_every_turn(words):
    maker, text = made(False, 8_000), f"Build it. {WORDS * (words // 13)}"
    first = maker.fit([asked(text), *steps(0, 40, 300)], dialect="anthropic")
    again = maker.fit([asked(text), *steps(0, 41, 300)], dialect="anthropic")
    assert (first.receipt.action, again.receipt.action) == ("compact", "rest")
    assert (text in json.dumps(again.messages)) == (words == 5)
    assert [notice.code for notice in again.receipt.notices] == ["user-clamped"] * (words != 5)


def test_words_that_a_client_puts_beside_such_a_message_later_cost_it_nothing():
    maker, text = made(False, 8_000), "Draw these anew. " * 40
    maker.fit([BEGUN, *steps(0, 20, 300), asked(text, 700)], dialect="anthropic")
    reminded = asked(text, 700)
    reminded["content"].append({"type": "text", "text": "<system-reminder>The list is empty.</system-reminder>"})
    again = maker.fit([BEGUN, *steps(0, 20, 300), reminded, *steps(20, 21)], dialect="anthropic")
    assert again.receipt.action == "rest"
    assert text + "\n<system-reminder>The list is empty.</system-reminder>\n[… 700 pictures" in json.dumps(
        again.messages, ensure_ascii=False
    ).replace("\\n", "\n")


@given(st.text(max_size=600), st.integers(1, 700), st.integers(0, 2))
def test_a_message_shown_by_its_ends_is_never_longer_than_the_whole(text, length, pictures):
    media = tuple(Media("image", "image/png", data="aGk=") for _ in range(pictures))
    message = Message("user", Origin.USER, (Text(text), *media))
    shown = as_carried(message, Extent(length)).text
    assert len(shown) <= len(text) + 120 * bool(pictures)
    if len(text) <= length:
        assert shown.startswith(text.rstrip("\n"))


LINE = st.sampled_from(
    [WORDS, "x = [(1, 2), (3, 4)]; y = {'a': b'\\x00'}\n", "# Plan\n\n- one\n- two\n", "Größe, 大きさ. "]
)


@given(st.lists(LINE, min_size=200, max_size=300), st.integers(500, 1_500))
@settings(max_examples=20, deadline=None)
def test_the_ends_of_a_message_larger_than_the_room_fill_it(lines, to):
    messages = [BEGUN, *steps(0, 12, 300), asked("".join(lines))]
    fitted = made(False).compact(messages, dialect="anthropic", to=to)
    assert fitted.receipt.notices[0].code == "user-clamped"
    assert to * 0.9 < fitted.receipt.tokens_after <= to


DENSE = "0123abcd" * 40
SPARSE = "abc " * 50 + "港口" * 50 + "👍" * 20 + "\n"


@pytest.mark.parametrize("times", [105, 400, 1_500])
@pytest.mark.parametrize("parts", [(SPARSE,), (SPARSE, DENSE), (DENSE, SPARSE), (WORDS, DENSE)], ids=range(4))
def test_they_fill_it_also_where_the_text_grows_denser(parts, times):
    messages = [BEGUN, asked("".join(part * times for part in parts))]
    for window in (8_000, 10_000, 13_000):
        receipt = Compactor(Budget(window=window, reserve=200)).fit(messages, dialect="openai-chat").receipt
        assert receipt.tokens_after > receipt.room * 0.8


def test_the_newest_message_which_stands_in_the_view_takes_no_room_in_the_notes():
    kept = []
    for words in (10, 300):
        messages = [BEGUN, *steps(0, 40, 600), asked(WORDS * words), *steps(40, 42, 600)]
        fitted = made(True).compact(messages, dialect="anthropic", to=24_000)
        kept.append(fitted.receipt.tokens_after)
    assert kept[1] > kept[0] * 0.9


@pytest.mark.parametrize("words", [3_000, 4_500, 6_000])
def test_a_result_that_fills_the_room_is_shortened_before_it_costs_the_users_words(words):
    said = [f"Part {n} of it shall be done in words of its own: {WORDS}" for n in range(9)]
    messages = [one for n, text in enumerate(said) for one in (asked(text), *steps(n * 6, n * 6 + 6, 60))]
    messages += [*step(90, words), *steps(91, 94, 60)]
    text = json.dumps(made(True, 15_000).fit(messages, dialect="anthropic").messages)
    assert [n for n, words in enumerate(said) if words.strip() not in text] == []


def test_what_cannot_be_shortened_beside_a_result_counts_in_full():
    reminder = {"type": "text", "text": f"<system-reminder>{WORDS * 250}</system-reminder>"}
    messages = [BEGUN, *steps(0, 40, 100), *step(40), *steps(41, 45)]
    messages[82]["content"].append(reminder)
    text = json.dumps(made(False, 16_000).compact(messages, dialect="anthropic", to=6_000).messages)
    assert "part 44: " in text
    assert "part 42: " in text


@pytest.mark.parametrize("summary", ["This session is being continued from a previous conversation.", "ours"])
def test_a_message_that_a_client_joined_to_a_summary_is_carried_without_it(summary):
    lines = "\n".join(f"- what was done in step {n} of the earlier part" for n in range(300))
    ours = f"# Notes on the conversation so far\n\n## Work Log\n{lines}\n# End of the notes"
    told = ours if summary == "ours" else f"{summary}\n{lines}"
    request = "Never touch conf.toml. Now build the importer, part by part."
    joined = {"role": "user", "content": [{"type": "text", "text": told}, {"type": "text", "text": request}]}
    fitted = made(False, 8_000).fit([joined, *steps(0, 60, 100)], dialect="anthropic")
    text = json.dumps(fitted.messages)
    assert request in text
    assert text.count("of the earlier part") < 150
    assert "part 59: " in text


def test_a_fold_from_a_pivot_shortens_nothing_before_it_however_large_what_it_folds_is():
    messages = [BEGUN, *steps(0, 4, 3_000), *steps(4, 24, 10_000)]
    fitted = made(True).compact(messages, dialect="anthropic", to=40_000, direction="from", pivot=9)
    assert fitted.messages[:9] == messages[:9]


@pytest.mark.parametrize(("tool", "fewer"), [("look_up_order", False), ("Read", True)])
def test_the_last_messages_give_way_to_files_that_were_read_and_to_nothing_else(monkeypatch, tool, fewer):
    """Records that were looked up stay as they came: a log would only quote them line by line."""
    messages = [BEGUN, *steps(0, 60, 200)]
    for message in messages[1::2]:
        message["content"][1] |= {"name": tool, "input": {"file_path": "/src/" + message["content"][1]["id"]}}
    kept = {}
    for more in (0.0, rooms.LOG_MORE):
        monkeypatch.setattr(rooms, "LOG_MORE", more)
        kept[more] = len(made(False).compact(messages, dialect="anthropic", to=6_000).messages)
    without, now = kept.values()
    assert without > 8
    assert (now < without) is fewer


def test_notes_that_would_say_nothing_are_not_bought_with_a_whole_message():
    """Sizes around the one where the message and the barest notes would fill the view."""
    begun, clamped = [asked("Build it."), *steps(0, 12, 300)], set()
    for words in range(3_540, 3_620, 10):
        fitted = made(False, 9_000).fit([*begun, asked(("go on with it " * words)[: words * 5])], dialect="anthropic")
        assert "## How to go on" in fitted.checkpoint.text
        assert not fitted.receipt.notices or fitted.checkpoint.text.count("make part-") > 5
        clamped.add(bool(fitted.receipt.notices))
    assert clamped == {True, False}


def test_where_nothing_can_be_folded_what_fits_the_window_is_no_refusal_although_less_was_asked_for():
    messages = [BEGUN, *steps(0, 12, 40)]
    assert made(False, 8_000).compact(messages, dialect="anthropic", pivot=0, to=500).receipt.action == "rest"
    with pytest.raises(CannotFit):
        made(False, 4_000).compact(messages, dialect="anthropic", pivot=0, to=500)


@pytest.mark.parametrize(("words", "size"), [(40, 1_500), (100, 1_000)])
def test_beside_a_model_s_summary_large_results_are_shortened_before_the_notes_lose_anything(words, size):
    told = [(asked(f"Table {n} has rows that Marta owns; its name is t{n}."), *step(100 + n, 10)) for n in range(words)]
    said = [message for turn in told for message in turn]
    messages = [BEGUN, *said, *steps(0, 3, 300), *step(50, size), *step(51, size), asked("Go on."), *step(52, 20)]
    fitted = made(True, 30_000).compact(messages, dialect="anthropic", to=6_000)
    assert fitted.receipt.author == "fake"
    assert fitted.receipt.left_out == ()
    assert all(f"its name is t{n}." in fitted.view.messages[0].text for n in range(words - 1))


@pytest.mark.parametrize("size", [600, 1_200, 2_000])
@pytest.mark.parametrize("behind", [0, 2, 30])
def test_the_newest_message_of_the_user_is_counted_once_where_it_stands_among_the_last(size, behind):
    asking = asked(f"Go on. {WORDS * (size // 13)}")
    messages = [BEGUN, *steps(0, 60 - behind, 200), asking, *steps(60, 60 + behind, 200)]
    fitted = made(False, 30_000).compact(messages, dialect="anthropic", to=6_000)
    assert asking["content"][0]["text"] in json.dumps(fitted.messages)
    assert 5_500 < fitted.receipt.tokens_after <= 6_000
