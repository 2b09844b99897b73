"""Where the tokens are: every table adds up to the whole."""

from __future__ import annotations

import copy

from hypothesis import example, given, settings
from hypothesis import strategies as st

from cli.conversations import anthropic, broken, chat
from foldline.cli.report import QUARTERS, UNKNOWN_TOOL, Inspection, Scale, inspect
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.prune import prune
from foldline.core.select import Strategy, select
from foldline.dialects import jsontext
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import Source
from foldline.dialects.openai_chat import OpenAIChat
from foldline.model import (
    Conversation,
    Head,
    Media,
    Message,
    Notice,
    Opaque,
    Origin,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
)

texts = st.text("ab \n{}1中", max_size=200)
media = st.builds(Media, st.sampled_from(["image", "document"]), data=st.just("AAAA"))
results = st.builds(
    ToolResult, st.sampled_from("abc"), st.lists(st.builds(Text, texts) | media, max_size=2).map(tuple), st.booleans()
)
parts = st.one_of(
    st.builds(Text, texts),
    st.builds(Thinking, texts, texts),
    st.builds(ToolCall, st.sampled_from("abc"), st.sampled_from(["read", "", "bash"]), texts),
    results,
    media,
    st.builds(Opaque, st.just("own"), st.dictionaries(texts, texts, max_size=2)),
)
messages = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool", "system"]),
    st.sampled_from(Origin),
    st.lists(parts, max_size=4).map(tuple),
)
heads = st.builds(
    Head,
    system=st.lists(st.builds(Text, texts), max_size=2).map(tuple),
    tools=st.lists(st.builds(Tool, texts, texts), max_size=2).map(tuple),
)
conversations = st.builds(Conversation, st.just("anthropic"), st.lists(messages, max_size=12).map(tuple), heads)
ratios = st.sampled_from([1.0, 1.24, 2.0])


def meter(ratio: float = 1.0) -> Meter:
    return Meter(Estimator(), prior=ratio)


def read(data: bytes, dialect=None) -> Conversation:
    return (dialect or Anthropic()).read(Source(data), jsontext.decode(data))


def total(shares) -> int:
    return sum(share.tokens for share in shares)


@settings(max_examples=50, deadline=None)
@given(conversations, ratios)
def test_every_token_is_someones(conversation, ratio):
    found = inspect(conversation, meter(ratio))
    assert abs(total(found.by_origin) - found.tokens) <= len(found.by_origin)


@settings(max_examples=50, deadline=None)
@given(conversations, ratios)
def test_the_quarters_are_the_messages(conversation, ratio):
    found = inspect(conversation, meter(ratio))
    assert [share.name for share in found.by_age] == list(QUARTERS)
    assert sum(share.count for share in found.by_age) == len(conversation)
    whole = Scale(meter(ratio)).messages(conversation.messages)
    assert abs(total(found.by_age) - whole) <= len(QUARTERS)


@settings(max_examples=50, deadline=None)
@given(conversations, ratios)
def test_sizes_and_tools_count_every_result_once(conversation, ratio):
    found = inspect(conversation, meter(ratio))
    parts_ = {share.name: share for share in found.by_origin}
    counted = parts_.get("tool results")
    number = sum(len(message.results) for message in conversation.messages)
    calls = sum(len(message.calls) for message in conversation.messages if message.role == "assistant")
    assert sum(share.count for share in found.by_size) == number == (counted.count if counted else 0)
    assert sum(share.count for share in found.by_tool) == calls


@settings(max_examples=50, deadline=None)
@given(conversations, ratios)
def test_no_tier_frees_more_than_there_is(conversation, ratio):
    found = inspect(conversation, meter(ratio))
    for tier in found.tiers:
        assert tier.left == max(0, found.tokens - tier.freed)
        assert tier.freed <= found.tokens + len(conversation)


@settings(max_examples=50, deadline=None)
@example(read(anthropic(steps=6)), 1.25)
@given(conversations, ratios)
def test_pruning_and_selecting_free_what_was_said_of_them(conversation, ratio):
    found, counts = inspect(conversation, meter(ratio)), meter(ratio)
    chosen = select(conversation.messages, Strategy(), conversation.grammar, counts.message)
    for tier, messages in zip(found.tiers, (prune(conversation.messages).messages, chosen.messages), strict=False):
        after = counts.count(conversation.with_messages(messages)).tokens
        assert tier.freed == counts.count(conversation).tokens - after


@settings(max_examples=50, deadline=None)
@given(conversations)
def test_looking_changes_neither_the_conversation_nor_the_meter(conversation):
    before, one = copy.deepcopy(conversation), meter()
    found = inspect(conversation, one)
    assert conversation == before
    assert inspect(conversation, one) == found


def test_a_request_of_known_shape():
    found = inspect(read(anthropic(steps=6)), meter(), window=200_000)
    assert (found.dialect, found.model, found.messages, found.cycles) == ("anthropic", "claude-sonnet-4-5", 15, 6)
    assert found.cuts == 9  # after each of 6 cycles, the first message, and the last two
    assert found.repairs == {}
    assert found.full == round(found.tokens / 200_000, 4)
    assert found.by_origin[0].name == "tool results"
    assert found.by_origin[0].count == 6
    assert [(share.name, share.count) for share in found.by_tool] == [("read_file", 6)]


def test_each_tier_says_what_it_would_do():
    pruned, _, last, quarter = inspect(read(anthropic(steps=12)), meter()).tiers
    assert (pruned.name, pruned.detail) == ("prune", "11 results shortened")
    assert pruned.freed > 5_000
    assert (last.name, last.detail) == ("cut, last 4 messages kept", "23 messages folded")
    assert last.freed > quarter.freed > 0


def test_a_short_history_cannot_be_cut():
    found = inspect(read(chat(steps=0), OpenAIChat()), meter())
    assert found.tiers[2].detail == "too short to cut"
    assert found.tiers[2].freed == 0


def test_needed_repairs_are_counted_by_kind():
    assert inspect(read(broken()), meter()).repairs == {"missing-result": 1}


def test_a_result_without_a_call_has_no_tool():
    orphan = Message("user", Origin.TOOL, (ToolResult("x", (Text("hi"),)),))
    found = inspect(Conversation("anthropic", (orphan,)), meter())
    assert [(share.name, share.count) for share in found.by_tool] == [(UNKNOWN_TOOL, 0)]


def test_the_json_has_every_field_and_nothing_but_plain_values():
    conversation = Conversation("anthropic", (), notices=(Notice("bom", "skipped", 1, 0),))
    shape = inspect(conversation, meter()).to_json()
    assert list(shape) == list(Inspection.__slots__)
    assert shape["notices"] == ({"code": "bom", "text": "skipped", "line": 1, "offset": 0},)
    assert jsontext.decode(jsontext.encode(shape))["tokens"] == shape["tokens"]


def test_turns_are_the_user_s_own_messages_by_number():
    conversation = Anthropic().read(Source(anthropic(steps=2)), jsontext.decode(anthropic(steps=2)))
    found = inspect(conversation, meter())
    assert [(turn.number, turn.text) for turn in found.turns] == [
        (1, "Please find the bug in the parser."),
        (7, "Thanks, mend it."),
    ]
    assert found.turns[0].tokens_before == 0
    assert found.turns[1].tokens_before == round(Scale(meter()).messages(conversation.messages[:6]))
