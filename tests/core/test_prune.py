"""Old bulky results become stubs: never longer, never the newest, the same bytes every time."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.core.prune import LEAST_GAIN, Pruned, PruneSettings, Stub, prune, shorten
from foldline.core.stubbing import stubbed
from foldline.model import Media, Message, Opaque, Origin, Text, ToolCall, ToolResult

EAGER = PruneSettings(worthwhile=0)
BULK = "".join(f"line {number} of the log\n" for number in range(300))


def result(text=BULK, id_="a", **fields):
    return ToolResult(id_, (Text(text),), **fields)


def carrier(*parts):
    return Message("user", Origin.TOOL, parts)


def talk(count):
    return tuple(Message("user", Origin.USER, (Text(f"word {number}"),)) for number in range(count))


texts = st.one_of(
    st.text(max_size=60),
    st.builds(lambda piece, times: piece * times, st.text(min_size=1, max_size=5), st.integers(0, 300)),
    st.just("fine\n" * 100 + "fatal: it broke\n" + "fine\n" * 100),
    st.just("e\u0301\ud800\U0001f469\u200d" * 60),
)
contents = st.lists(
    st.one_of(
        texts.map(Text),
        st.integers(0, 900).map(lambda size: Media("image", "image/png", "A" * size)),
        st.just(Media("image", url="https://example.org/a.png")),
        st.just(Opaque("odd", {"type": "odd", "body": "B" * 400})),
    ),
    max_size=4,
).map(tuple)
any_result = st.builds(ToolResult, st.sampled_from("abc"), contents, st.booleans())
any_message = st.one_of(
    st.lists(any_result, max_size=3).map(lambda parts: carrier(*parts, Text("and mine"))),
    st.lists(any_result, min_size=1, max_size=2).map(lambda parts: carrier(*parts)),
    st.just(Message("assistant", Origin.ASSISTANT, (Text("so"), ToolCall("a", "read", "{}")))),
    st.just(Message("system", Origin.SYSTEM, (Text("x" * 500),))),
)
any_list = st.lists(any_message, max_size=10).map(tuple)
small = st.integers(-2, 400)
any_settings = st.builds(
    PruneSettings,
    limit=small,
    head=small,
    tail=small,
    protect=st.integers(-1, 6),
    worthwhile=st.sampled_from([0, 0, 1, 500]),
    error_lines=small,
    recall_tool=st.sampled_from(["", "recall"]),
)


def length(parts):
    return sum(len(part.text) for part in parts if isinstance(part, Text)) + sum(
        len(part.data) for part in parts if isinstance(part, Media)
    )


def size(messages):
    return sum(length(result.content) for message in messages for result in message.results)


@given(any_list, any_settings)
@settings(deadline=None, max_examples=300)
def test_a_view_is_smaller_or_is_the_input(messages, settings_):
    pruned = prune(messages, settings_)
    if pruned.stubs:
        assert size(messages) - size(pruned.messages) == pruned.freed >= LEAST_GAIN * len(pruned.stubs)
        assert pruned.freed == sum(stub.removed for stub in pruned.stubs)
    else:
        assert pruned.messages is messages


@given(any_list, any_settings)
@settings(deadline=None, max_examples=300)
def test_nothing_but_old_bulky_results_changes(messages, settings_):
    pruned = prune(messages, settings_)
    stubbed = {stub.message for stub in pruned.stubs}
    newest = max(0, len(messages) - settings_.protect)
    for index, (old, new) in enumerate(zip(messages, pruned.messages, strict=True)):
        if index not in stubbed:
            assert new is old
            continue
        assert index < newest
        assert new.raw is None
        for before, after in zip(old.parts, new.parts, strict=True):
            if after is not before:
                assert isinstance(before, ToolResult)
                assert length(before.content) > settings_.limit
                assert replace(after, content=before.content) == before
                assert [part for part in after.content if isinstance(part, Opaque)] == [
                    part for part in before.content if isinstance(part, Opaque)
                ]


@given(any_list, any_list, any_settings)
@settings(deadline=None, max_examples=300)
def test_a_stub_stays_the_same_stub_while_the_history_grows(messages, more, settings_):
    first = prune(messages, settings_)
    grown = prune(messages + more, settings_, first.plan)
    assert first.plan <= grown.plan
    if grown.plan == first.plan:
        assert grown.messages[: len(messages)] == first.messages
    for index in {stub.message for stub in first.stubs}:
        kept = [
            part
            for part, old in zip(first.messages[index].results, messages[index].results, strict=True)
            if part is not old
        ]
        assert all(part in grown.messages[index].results for part in kept)


@given(any_list, any_settings)
@settings(deadline=None)
def test_the_same_history_and_plan_give_the_same_view(messages, settings_):
    first = prune(messages, settings_)
    again = prune(messages, settings_, first.plan)
    assert again.messages == first.messages
    assert again.plan == first.plan


@given(any_result, any_settings)
@settings(deadline=None, max_examples=300)
def test_a_shortened_text_is_no_longer_and_still_its_own_beginning_and_end(before, settings_):
    after = shorten(before, settings_)
    assert length(after.content) <= length(before.content) + before.text.count("\n")
    if len(after.content) == 1 and isinstance(after.content[0], Text) and after.text != before.text:
        first, _, rest = after.text.partition("[")
        assert before.text.startswith(first.removesuffix("\n")) or "[" in before.text
        assert rest


@given(any_list, any_settings, st.sets(st.integers(0, 9)))
@settings(deadline=None, max_examples=200)
def test_what_is_pinned_is_neither_shortened_nor_remembered_as_a_stub(messages, settings_, pins):
    pinned = [message for at, message in enumerate(messages) if at in pins]
    pruned, spared = prune(messages, settings_), stubbed(messages, settings_, frozenset(), pinned)
    whole = {at for at, message in enumerate(messages) if any(message is pin for pin in pinned)}
    assert spared.stubs == tuple(stub for stub in pruned.stubs if stub.message not in whole)
    assert spared.plan == {stub.key for stub in spared.stubs}
    for at, (before, after, shown) in enumerate(zip(messages, pruned.messages, spared.messages, strict=True)):
        assert shown == (before if at in whole else after)
    assert spared.freed == size(messages) - size(spared.messages)


def test_a_result_over_the_limit_becomes_beginning_marker_and_end():
    text = "a" * 500 + "b" * 4_301 + "c" * 200
    pruned = prune((carrier(result(text)), *talk(4)), EAGER)
    ref = result(text).ref
    shown = "a" * 500 + f"\n[… 4,301 characters left out here; original {ref} …]\n" + "c" * 200
    assert pruned.messages[0].results[0].text == shown
    assert pruned.stubs == (Stub(0, "a", ref, 5_001 - len(shown)),)
    assert pruned.plan == {f"a:{ref}"}


@pytest.mark.parametrize(("count", "stubs"), [(2_000, 0), (2_001, 1)])
def test_the_limit_itself_is_not_bulky(count, stubs):
    assert len(prune((carrier(result("x" * count)), *talk(4)), EAGER).stubs) == stubs


@pytest.mark.parametrize(("after", "stubs"), [(0, 0), (3, 0), (4, 1), (9, 1)])
def test_the_last_four_messages_are_untouched(after, stubs):
    assert len(prune((carrier(result()), *talk(after)), EAGER).stubs) == stubs


def test_a_batch_must_be_worth_the_lost_cache():
    one = (carrier(result(id_="a")), *talk(4))
    two = (carrier(result(id_="a")), carrier(result(BULK + "!", id_="b")), *talk(4))
    assert prune(one) == Pruned(one)
    assert len(prune(two).stubs) == 2


def test_what_is_planned_stays_a_stub_though_nothing_new_pays():
    messages = (carrier(result()), *talk(4))
    plan = prune(messages, EAGER).plan
    assert prune(messages, PruneSettings(worthwhile=10**9), plan).stubs
    assert prune(messages, PruneSettings(worthwhile=10**9)).stubs == ()


def test_the_plan_never_reaches_into_the_newest_messages():
    plan = prune((carrier(result()), *talk(4)), EAGER).plan
    again = (carrier(result()), *talk(2))
    assert prune(again, EAGER, plan).messages is again


def test_the_same_content_under_the_same_id_is_another_result():
    messages = (carrier(result()), *talk(4), carrier(result()), *talk(2))
    first = prune(messages, EAGER)
    assert [stub.again for stub in first.stubs] == [0]
    assert first.messages[5] is messages[5]
    grown = prune((*messages, *talk(4)), EAGER, first.plan)
    assert [stub.again for stub in grown.stubs] == [0, 1]
    assert len(grown.plan) == 2
    lazy = prune((*messages, *talk(4)), PruneSettings(worthwhile=10**9), first.plan)
    assert lazy.messages[5] is messages[5]


def test_two_equal_results_in_one_message_are_both_stubs():
    pruned = prune((carrier(result(), result()), *talk(4)), EAGER)
    assert [len(shown.text) < 1_000 for shown in pruned.messages[0].results] == [True, True]
    assert len(pruned.plan) == 2


def test_a_small_gain_is_left_alone():
    near = PruneSettings(head=1_000, tail=950, worthwhile=0)
    text = "x" * 2_050  # would save three characters and cost a hash
    assert prune((carrier(result(text)), *talk(4)), near).stubs == ()


@pytest.mark.parametrize(("head", "tail"), [(1_500, 1_500), (2_001, 0), (0, 5_000), (10**9, 10**9)])
def test_settings_that_leave_next_to_nothing_out_leave_all_as_it_is(head, tail):
    messages = (carrier(result("x" * 2_050)), *talk(4))
    assert prune(messages, PruneSettings(head=head, tail=tail, worthwhile=0)).messages is messages


@pytest.mark.parametrize("limit", [0, 100, 400, 699])
def test_a_small_limit_never_makes_anything_longer(limit):
    for count in (0, 1, limit, limit + 1, 701, 800):
        messages = (carrier(result("y" * count)), *talk(4))
        pruned = prune(messages, PruneSettings(limit=limit, worthwhile=0))
        assert len(pruned.messages[0].results[0].text) <= count


def test_nothing_but_head_or_tail_or_neither_may_be_kept():
    text = "a" * 1_500 + "b" * 1_500
    only_head = shorten(result(text), PruneSettings(tail=0)).text
    only_tail = shorten(result(text), PruneSettings(head=0)).text
    nothing = shorten(result(text), PruneSettings(head=0, tail=0)).text
    assert only_head.startswith("a" * 500)
    assert only_head.endswith("…]")
    assert only_tail.startswith("[… 2,800")
    assert only_tail.endswith("b" * 200)
    assert nothing.startswith("[… 3,000")
    assert nothing.endswith("…]")


NAMES = [f"src/module_{number}.py" for number in range(200)]


@given(st.integers(0, 400), st.integers(0, 400))
def test_no_name_is_cut_in_two(head, tail):
    shown = shorten(result(" ".join(NAMES)), PruneSettings(limit=1_000, head=head, tail=tail)).text
    before, after = re.split(r"\[….*…\]", shown)
    kept = [*before.split(), *after.split()]
    assert kept == [*NAMES[: len(before.split())], *NAMES[len(NAMES) - len(after.split()) :]]


def test_data_without_blanks_may_be_cut_anywhere():
    shown = shorten(result("0123456789abcdef" * 300), PruneSettings()).text.splitlines()
    assert [len(line) for line in (shown[0], shown[-1])] == [500, 200]


def test_a_text_that_is_not_bulky_stays_whole_beside_an_image_that_is():
    text = Text("a word of it " * 100)
    short = shorten(ToolResult("a", (text, Media("image", "image/png", "A" * 9_000))), PruneSettings())
    assert short.content[0] is text
    assert short.content[1].text.startswith("[image image/png of 9,000 base64 characters")


def test_no_character_is_cut_in_two():
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    shown = shorten(result(family * 600), PruneSettings()).text.splitlines()
    assert set(shown[0].split(family)) == set(shown[2].split(family)) == {""}


def test_lone_surrogates_are_carried_along():
    shown = shorten(result("\ud83d" * 3_000), PruneSettings()).text
    assert shown.startswith("\ud83d" * 500)
    assert shown.endswith("\ud83d" * 200)


def test_an_error_keeps_the_lines_that_tell_why():
    text = "ok\n" * 500 + "ValueError: no such column\n" + "ok\n" * 500 + "error two\n" + "ok\n" * 500
    assert "no such column" not in shorten(result(text), PruneSettings()).text
    shown = shorten(result(text, is_error=True), PruneSettings()).text
    assert "…]\nValueError: no such column\nerror two\n" in shown
    tight = shorten(result(text, is_error=True), PruneSettings(error_lines=30)).text
    assert "no such column" in tight
    assert "error two" not in tight


@pytest.mark.parametrize("end", ["FAIL\tcli/strategy\t3.2s", "3 failed, 9 passed", "Found 2 errors."])
def test_a_check_that_failed_behind_a_pipe_keeps_them_too(end):
    text = "ok\n" * 500 + "--- FAIL: TestCount (0.00s)\n" + "ok\n" * 500
    assert "TestCount" in shorten(result(text + end), PruneSettings()).text
    assert "TestCount" not in shorten(result(text + "0 failed, 9 passed"), PruneSettings()).text


REMINDER = "\n\n<system-reminder>\nYou may look at it, but you MUST NOT change it.\n</system-reminder>\n"


@pytest.mark.parametrize("times", [1, 2])
def test_what_a_client_put_behind_a_result_is_not_shown_by_half(times):
    text = "a line of it\n" * 300
    shown = shorten(result(text + REMINDER * times), PruneSettings()).text
    assert "MUST NOT" not in shown
    assert shown.endswith("a line of it")
    short = shorten(result("a line of it\n" * 40 + REMINDER * times), PruneSettings(limit=300)).text
    assert "system-reminder" not in short
    whole = "one line of it" + "\n<system-reminder>\n" + "word " * 400 + "</system-reminder>"
    shown = shorten(result(whole), PruneSettings()).text
    left_out = len(whole) - len("one line of it")
    assert shown == f"one line of it\n[… {left_out:,} characters left out here; original {result(whole).ref} …]"


def test_many_reminders_take_no_time():
    began = time.process_time()
    shorten(result("word " * 900 + "<system-reminder></system-reminder>\n" * 60_000), PruneSettings())
    shorten(result("word " * 900 + "</system-reminder>\n" * 60_000), PruneSettings())
    assert time.process_time() - began < 2


def test_one_that_says_how_a_reminder_ends_is_shown_as_it_is():
    text = "word " * 900 + "</system-reminder>"
    assert shorten(result(text), PruneSettings()).text.endswith("word </system-reminder>")


def test_the_marker_names_the_tool_that_gives_the_original_back():
    shown = shorten(result(), PruneSettings(recall_tool="recall")).text
    assert f'recall("{result().ref}") shows it whole' in shown


def test_an_old_image_is_named():
    image = Media("image", "image/png", "A" * 5_000)
    before = ToolResult("a", (Text("a shot"), image, Text("below it")))
    after = prune((carrier(before), *talk(4)), EAGER).messages[0].results[0]
    assert after.content[0] == Text("a shot")
    assert after.content[2] == Text("below it")
    assert after.content[1].text.startswith("[image image/png of 5,000 base64 characters left out here; original ")


def test_a_result_of_images_alone_can_be_a_stub_and_a_small_image_stays():
    large, tiny = Media("image", "image/png", "A" * 5_000), Media("image", "image/png", "A" * 50)
    after = shorten(ToolResult("a", (large, tiny)), PruneSettings())
    assert isinstance(after.content[0], Text)
    assert after.content[1] is tiny


def test_several_texts_become_one_and_opaque_parts_stay():
    odd = Opaque("odd", {"type": "odd"})
    mark = {"cache_control": {"type": "ephemeral"}}
    before = ToolResult("a", (odd, Text("x" * 1_500, mark), Text("y" * 1_500)))
    after = shorten(before, PruneSettings())
    assert after.content[0] is odd
    assert len(after.content) == 2
    assert after.content[1].extra == mark
    assert after.text.startswith("x")
    assert after.text.endswith("y")


def test_one_text_object_used_twice_is_shown_once():
    text = Text("z" * 1_500)
    assert len(shorten(ToolResult("a", (text, text)), PruneSettings()).content) == 1


def test_opaque_bulk_is_not_ours_to_cut():
    messages = (carrier(ToolResult("a", (Opaque("odd", {"type": "odd", "body": "B" * 9_000}),))), *talk(4))
    assert prune(messages, EAGER).messages is messages


@pytest.mark.parametrize("messages", [(), talk(1), (Message("system", Origin.SYSTEM, (Text("x" * 9_000),)),)])
def test_a_history_without_results_is_given_back(messages):
    assert prune(messages, EAGER).messages is messages


def test_in_a_view_that_came_back_a_result_that_is_the_same_again_is_another():
    """Some providers use their ids over and over; what stands as a stub already counts as the first of its kind."""
    first = prune((carrier(result()), *talk(4)), EAGER)
    sent = tuple(replace(message, raw=repr(message.parts).encode()) for message in first.messages)
    later = (*sent, carrier(result()), *talk(4))
    assert prune(later, PruneSettings(worthwhile=1 << 62), first.plan).messages == later
    assert [stub.again for stub in prune(later, EAGER, first.plan).stubs] == [1]
