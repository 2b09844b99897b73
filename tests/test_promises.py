"""The promises that concern the pure core, over generated conversations of every request dialect.

A promise is a function of one read conversation that raises when it is broken; its name and the dialect stand in the
failure. All of them are checked on each example, which is drawn only once. `FOLDLINE_EXAMPLES` sets how many there are.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings

from foldline.core.cuts import legal
from foldline.core.cycles import pair
from foldline.core.prune import PruneSettings, prune
from foldline.core.repair import repair
from foldline.core.select import Strategy, is_users, select
from foldline.dialects import jsontext
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import Source
from foldline.dialects.gemini import Gemini
from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.openai_responses import OpenAIResponses
from foldline.model import Message, Origin, Text, ToolResult
from foldline.validators import check
from strategies import DIALECTS, broken, conversations

EXAMPLES = int(os.environ.get("FOLDLINE_EXAMPLES", "2000"))
BY_NAME = {dialect.name: dialect for dialect in (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())}
EAGER = PruneSettings(limit=600, head=120, tail=60, protect=2, worthwhile=0)
STRATEGIES = (
    Strategy(keep_recent=2, keep_keywords=("fix",), keep_tool_results=False),
    Strategy(keep_recent=0, keep_keywords=("exit", "look"), keep_tool_results=False, keep_system=False),
    Strategy(keep_recent=1, keep_keywords=("all",)),
)
CHECKPOINT = Message("user", Origin.SUMMARY, (Text("[what happened so far]"),))

runs = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Case:
    """A request, what its dialect read, and the mended list everything else starts from."""

    dialect: object
    request: dict
    source: bytes
    conversation: object
    repaired: object

    @property
    def messages(self):
        return self.repaired.messages

    @property
    def grammar(self):
        return self.conversation.grammar

    def written(self, messages):
        return self.dialect.write(self.conversation.with_messages(messages))

    def refusals(self, messages):
        return check(jsontext.decode(self.written(messages)), self.dialect.name)


def case(name, request):
    dialect, source = BY_NAME[name], jsontext.encode(request)
    conversation = dialect.read(Source(source), request)
    must_think = name == "anthropic" and request.get("thinking", {}).get("type") == "enabled"
    return Case(
        dialect,
        request,
        source,
        conversation,
        repair(conversation.messages, conversation.grammar, thinking=must_think),
    )


def measure(message):
    return sum(len(part.text) for part in message.parts if isinstance(part, Text)) + sum(
        len(result.text) for result in message.results
    )


def selections(case):
    pairing = pair(case.messages, case.grammar)
    return [select(case.messages, strategy, case.grammar, measure, pairing) for strategy in STRATEGIES]


# --- the promises -----------------------------------------------------------------------------------------------------


def promise_1_every_message_comes_back_as_it_came(case):
    rows = jsontext.elements(jsontext.dig(case.source, (case.dialect.slot,)))
    assert [message.raw for message in case.conversation.messages] == rows
    prune(case.messages, EAGER)
    selections(case)
    assert [message.raw for message in case.conversation.messages] == rows
    kept = {id(message) for message in case.conversation.messages}
    assert all(message.raw is None or id(message) in kept for message in case.messages)


def promise_2_a_mended_list_is_accepted(case):
    assert case.refusals(case.messages) == []


def promise_2_a_pruned_list_is_accepted(case):
    pruned = prune(case.messages, EAGER)
    assert not pruned.stubs or case.refusals(pruned.messages) == []


def promise_2_a_selected_list_is_accepted(case):
    for chosen in selections(case):
        assert case.refusals(chosen.messages) == []


def promise_2_what_is_left_by_a_legal_cut_is_accepted(case):
    for messages in cut_views(case.messages, case.grammar):
        assert case.refusals(messages) == []


def cut_views(messages, grammar):
    """Every view that a legal cut makes: leading system messages, a checkpoint, the tail."""
    leading = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    for cut in sorted(legal(messages, pair(messages, grammar)) - {0}):
        yield (*messages[:leading], CHECKPOINT, *messages[cut:])


def promise_4_system_and_newest_user_message_stay_unchanged(case):
    protected = [message for message in case.messages if message.role == "system"]
    protected += [message for message in case.messages if is_users(message)][-1:]
    pruned = prune(case.messages, EAGER)
    for message in protected:
        assert all(any(message is kept for kept in chosen.messages) for chosen in selections(case))
    for before, after in zip(case.messages, pruned.messages, strict=True):
        own = [part for part in before.parts if not isinstance(part, ToolResult)]
        assert all(
            mine is part for mine, part in zip(own, (p for p in after.parts if type(p) is not ToolResult), strict=True)
        )
        assert before is after or before.results


def promise_5_a_view_is_smaller_or_is_the_input(case):
    whole = len(case.written(case.messages))
    for messages in (prune(case.messages, EAGER).messages, *(chosen.messages for chosen in selections(case))):
        assert messages is case.messages or len(case.written(messages)) < whole


def promise_6_the_same_input_gives_the_same_bytes(case):
    again = repair(case.conversation.messages, case.grammar, pair(case.conversation.messages, case.grammar))
    if case.dialect.name != "anthropic":
        assert case.written(again.messages) == case.written(case.messages)
    assert case.written(prune(case.messages, EAGER).messages) == case.written(
        prune(list(case.messages), EAGER).messages
    )
    assert [chosen.indices for chosen in selections(case)] == [chosen.indices for chosen in selections(case)]


def promise_6_a_view_extends_the_one_before(case):
    """Grown by one message at a time: stubs stay those stubs; with the same plan, the old view begins the new one."""
    rows, plan = [], frozenset()
    for length in range(1, len(case.messages) + 1):
        pruned = prune(case.messages[:length], EAGER, plan)
        new_rows = [
            case.dialect.row(message) if message.raw is not None else repr(message) for message in pruned.messages
        ]
        assert plan <= pruned.plan
        if pruned.plan == plan:
            assert new_rows[: len(rows)] == rows
        stubbed = {stub.message for stub in pruned.stubs if stub.key in plan}
        fresh = {stub.message for stub in pruned.stubs if stub.key not in plan}
        assert all(new_rows[index] == rows[index] for index in stubbed - fresh)
        rows, plan = new_rows, pruned.plan


def promise_7_trust_never_rises(case):
    results = [result.text for message in case.conversation.messages for result in message.results]
    said = {part.text for message in case.conversation.messages for part in message.parts if isinstance(part, Text)}
    for messages in (case.messages, prune(case.messages, EAGER).messages):
        for message in messages:
            for part in message.parts:
                if isinstance(part, Text) and part.text not in said:
                    assert message.origin.trust <= Origin.PROGRAM.trust
                    quotes = [text for text in results if len(text) > 9 and text in part.text]
                    assert not quotes or (message.origin is Origin.TOOL and part.text.startswith("[a tool's "))
    before = Counter(
        message.origin for message in case.conversation.messages if message.origin.trust >= Origin.USER.trust
    )
    after = Counter(message.origin for message in case.messages if message.origin.trust >= Origin.USER.trust)
    assert after <= before


def promise_8_what_is_read_is_written_again(case):
    dialect, request, source = case.dialect, case.request, case.source
    spaced = b" " + source.replace(b'":', b'" : ', 1) + b"\n"
    for given_, form in ((source, "bytes"), (spaced, "bytes"), (source.decode(), "text"), (request, "value")):
        data = given_ if isinstance(given_, bytes) else source
        read = Source(data, form)
        assert read.give(dialect.write(dialect.read(read, jsontext.decode(data)))) == given_


def promise_8_and_also_when_rebuilt_from_its_parts(case):
    bare = [replace(message, raw=None) for message in case.conversation.messages]
    assert jsontext.decode(case.written(bare)) == case.request


SOUND = [promise for name, promise in sorted(globals().items()) if name.startswith("promise_")]
MENDED = [promise for promise in SOUND if not promise.__name__.startswith("promise_8")]


def keep(promises, case):
    for promise in promises:
        try:
            promise(case)
        except AssertionError as error:
            raise AssertionError(f"{case.dialect.name}: {promise.__name__} is broken: {error}") from error


# --- and that they are kept -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sound_conversations_keep_every_promise(dialect):
    @runs
    @given(conversations(dialect))
    def kept(request):
        sound = case(dialect, request)
        assert sound.messages is sound.conversation.messages, sound.repaired.repairs
        keep(SOUND, sound)

    kept()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_broken_conversations_keep_every_promise_once_mended(dialect):
    @runs
    @given(broken(dialect))
    def kept(request):
        keep(MENDED, case(dialect, request))

    kept()
