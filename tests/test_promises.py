"""The promises that concern the pure core, over generated conversations of every request dialect.

A promise is a function of one read conversation that raises when it is broken; its name and the dialect stand in the
failure. All of them are checked on each example, which is drawn only once. `FOLDLINE_EXAMPLES` sets how many there are.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pytest
from hypothesis import HealthCheck, find, given, settings

from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.history.cuts import choose, legal
from foldline.core.history.cycles import Pairer, pair
from foldline.core.history.repair import Repaired, repair
from foldline.core.prune import PruneSettings, prune
from foldline.core.select import Strategy, is_users, select
from foldline.dialects import jsontext
from foldline.dialects.anthropic import Anthropic
from foldline.dialects.base import Source
from foldline.dialects.gemini import Gemini
from foldline.dialects.openai_chat import OpenAIChat
from foldline.dialects.openai_responses import OpenAIResponses
from foldline.model import Conversation, Message, Origin, Text, Thinking, ToolCall, ToolResult
from foldline.validators import check
from strategies import DIALECTS, broken, conversations

EXAMPLES = int(os.environ.get("FOLDLINE_EXAMPLES", "1400"))
BY_NAME = {dialect.name: dialect for dialect in (Anthropic(), OpenAIChat(), OpenAIResponses(), Gemini())}
EAGER = PruneSettings(limit=600, head=120, tail=60, protect=2, worthwhile=0)
STRATEGIES = (
    Strategy(keep_recent=2, keep_keywords=("fix",), keep_tool_results=False),
    Strategy(keep_recent=0, keep_keywords=("exit", "look"), keep_tool_results=False, keep_system=False),
    Strategy(keep_recent=1, keep_keywords=("all",)),
)
CHECKPOINT = Message("user", Origin.SUMMARY, (Text("[what happened so far]"),))

runs = settings(
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)


@dataclass(frozen=True)
class Case:
    """A request, what its dialect read, the mended list, and what pruning and selection make of that."""

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

    @cached_property
    def pairing(self):
        return pair(self.messages, self.grammar)

    @cached_property
    def pruned(self):
        return prune(self.messages, EAGER)

    @cached_property
    def chosen(self):
        """One of the strategies, each in its turn."""
        strategy = STRATEGIES[len(self.source) % len(STRATEGIES)]
        return select(self.messages, strategy, self.grammar, measure, self.pairing)

    def written(self, messages):
        return self.dialect.write(self.conversation.with_messages(messages))

    def refusals(self, messages):
        return check(jsontext.decode(self.written(messages)), self.dialect.name)


def make_case(name, request):
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


# --- the promises -----------------------------------------------------------------------------------------------------


def promise_1_every_message_comes_back_as_it_came(case):
    rows = jsontext.elements(jsontext.dig(case.source, (case.dialect.slot,)))
    assert [message.raw for message in case.conversation.messages] == rows
    assert case.pruned.messages
    assert case.chosen.messages
    assert [message.raw for message in case.conversation.messages] == rows
    kept = {id(message) for message in case.conversation.messages}
    assert all(message.raw is None or id(message) in kept for message in case.messages)


def promise_2_a_mended_list_is_accepted(case):
    assert case.refusals(case.messages) == []


def promise_2_a_pruned_list_is_accepted(case):
    assert not case.pruned.stubs or case.refusals(case.pruned.messages) == []


def promise_2_a_selected_list_is_accepted(case):
    assert case.chosen.messages is case.messages or case.refusals(case.chosen.messages) == []


def promise_2_what_is_left_by_a_legal_cut_is_accepted(case):
    positions = sorted(legal(case.messages, case.pairing) - {0})
    few = {*positions[:1], *positions[-1:], *positions[len(case.source) % 3 :: 3]}  # each place has its turn
    for cut in few:
        assert case.refusals(cut_view(case.messages, cut)) == []


def cut_view(messages, cut):
    """What a fold leaves: leading system messages, a checkpoint, the tail."""
    leading = next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))
    return (*messages[:leading], CHECKPOINT, *messages[cut:])


def promise_4_system_and_newest_user_message_stay_unchanged(case):
    protected = [message for message in case.messages if message.role == "system"]
    protected += [message for message in case.messages if is_users(message)][-1:]
    for message in protected:
        assert any(message is kept for kept in case.chosen.messages)
    for before, after in zip(case.messages, case.pruned.messages, strict=True):
        own = [part for part in before.parts if not isinstance(part, ToolResult)]
        assert all(
            mine is part for mine, part in zip(own, (p for p in after.parts if type(p) is not ToolResult), strict=True)
        )
        assert before is after or before.results


def promise_5_a_view_is_smaller_or_is_the_input(case):
    whole = len(case.written(case.messages))
    for messages in (case.pruned.messages, case.chosen.messages):
        assert messages is case.messages or len(case.written(messages)) < whole


def promise_6_the_same_input_gives_the_same_bytes(case):
    again = make_case(case.dialect.name, case.request)
    assert case.written(again.messages) == case.written(case.messages)
    assert case.written(again.pruned.messages) == case.written(case.pruned.messages)
    assert again.chosen.indices == case.chosen.indices


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
    for messages in (case.messages, case.pruned.messages):
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
    @settings(runs, max_examples=EXAMPLES)
    @given(conversations(dialect))
    def kept(request):
        sound = make_case(dialect, request)
        assert sound.messages is sound.conversation.messages, sound.repaired.repairs
        keep(SOUND, sound)

    kept()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_broken_conversations_keep_every_promise_once_mended(dialect):
    @settings(runs, max_examples=EXAMPLES // 2)
    @given(broken(dialect))
    def kept(request):
        keep(MENDED, make_case(dialect, request))

    kept()


# --- and that none of this is for nothing -----------------------------------------------------------------------------


def share(dialect, requests, counts, holds):
    """Among the cases that count, how many hold."""
    found = Counter()

    @settings(runs, max_examples=200)
    @given(requests(dialect))
    def look(request):
        one = make_case(dialect, request)
        if counts(one):
            found[holds(one)] += 1

    look()
    print(f"{dialect}: {found[True]} of {found.total()}")
    assert found.total() >= 20
    return found[True] / found.total()


def has_old_bulk(case):
    old = case.messages[: max(0, len(case.messages) - EAGER.protect)]
    return any(len(result.text) > 2 * EAGER.limit for message in old for result in message.results)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_old_bulk_is_really_pruned(dialect):
    def shorter(case):
        return len(case.written(case.pruned.messages)) < len(case.written(case.messages)) - EAGER.limit

    assert share(dialect, conversations, has_old_bulk, shorter) >= 0.9


@pytest.mark.parametrize("dialect", DIALECTS)
def test_selection_really_selects(dialect):
    def fewer(case):
        return case.chosen.count_after < len(case.messages)

    assert share(dialect, conversations, lambda case: len(case.messages) > 12, fewer) >= 0.5


@pytest.mark.parametrize("dialect", DIALECTS)
def test_broken_conversations_are_really_broken(dialect):
    def refused(case):
        return bool(case.refusals(case.conversation.messages))

    assert share(dialect, broken, lambda case: case.messages, refused) >= 0.5


SABOTAGE = {
    "promise_1": lambda case: replace(case, source=case.source.replace(b"go on", b"go off", 1)),
    "promise_2": lambda case: replace(case, repaired=Repaired(tuple(m for m in case.messages if not m.results))),
    "promise_4": lambda case: with_pruned(case, tuple(replace(m, origin=m.origin) for m in case.messages)),
    "promise_5": lambda case: with_pruned(case, (*case.messages, CHECKPOINT)),
    "promise_6": lambda case: with_pruned(case, case.messages[::-1]),
    "promise_7": lambda case: replace(case, repaired=Repaired((*case.messages, as_user(case.messages)))),
    "promise_8": lambda case: replace(case, request=case.request | {"x_other": 1}),
}


def with_pruned(case, messages):
    spoilt = replace(case)
    spoilt.__dict__["pruned"] = replace(case.pruned, messages=messages)
    return spoilt


def as_user(messages):
    """What the last tool said, as if the user had."""
    said = [result.text for message in messages for result in message.results][-1]
    return Message("user", Origin.USER, (Text(f"I say: {said}"),))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", SABOTAGE)
def test_each_promise_can_be_broken(dialect, name):
    request = find(conversations(dialect), lambda request: spoilable(make_case(dialect, request)), settings=runs)
    spoilt = SABOTAGE[name](make_case(dialect, request))
    with pytest.raises(AssertionError, match=f"{dialect}: {name}.* is broken"):
        keep([promise for promise in SOUND if promise.__name__.startswith(name)], spoilt)


def spoilable(case):
    """Has a result worth stealing, and ends with words of the user that the sabotage looks for."""
    said = [result.text for message in case.messages for result in message.results]
    return bool(said) and len(said[-1]) > 9 and case.messages[-1].text == "go on"


# --- cuts that were thought out to hurt -------------------------------------------------------------------------------

SHAPES = """
    u t u t u t u
    s u c:a r:a t u
    s s u c:a r:a S c:b r:b t u
    u S t u S c:a r:a S t u S c:b r:b
    u S k:a r:a S k:b,c r:c,b u S
    u c:a,b,c r:a,b,c t u c:d,e r:d,e
    u c:a,b,c r:c r:a r:b t u
    u c:a,b r:b,a c:c,d r:d r:c
    u c:a r:a c:b r:b c:c r:c c:d r:d
    u k:a r:a k:b r:b k:c,d r:d,c
    u t u c:a,b r:a,b
    u c:a x:a c:b x:b t u
    u c:a s r:a t u
    u c:a u r:a t u c:b r:b
    u c:a c:b r:a r:b t u
    u c:a c:b r:b r:a t u
    u c:a u c:b r:b u r:a t u
    u c:a,b r:a u c:c r:c r:b t u
    u c:a r:a c:a r:a c:a r:a
    u c:a,a r:a,a t u
    u c:a r:a r:a t u c:a r:a
    u r:z c:a r:z r:a t r:z u
    r:z u c:a r:a t
    u c:a,b r:b
    u c:a
    u c:a r:a c:b
    u c:a t u c:b r:b
    t c:a r:a u t
    c:a r:a c:b r:b c:c r:c
    s
    s s u
    u k:a r:a c:b r:b k:c r:c c:d,e r:e,d
    u u u c:a r:a u u t t u
    u c:a,b,c,d,e,f r:f,e,d r:c,b,a s u
    s u c:a s r:a s t s u
"""


def shaped(shape, grammar):
    """u: user, t: text, c: calls, k: calls after thinking, r: results, x: results with words beside them.

    S: a system message where every provider takes one, s: where only those do that have no other place for it.
    """
    for token in shape.split():
        kind, _, ids = token.partition(":")
        names = ids.split(",") if ids else []
        if kind == "u":
            yield Message("user", Origin.USER, (Text("go on"),))
        elif kind in "sS":
            if kind == "S" or not grammar.user_first:
                yield Message("system", Origin.SYSTEM, (Text("be kind"),))
        elif kind in "tck":
            thought = (Thinking("hm", "c2ln" if grammar.merges else ""),) if kind == "k" else ()
            calls = tuple(ToolCall(name, "read", "{}") for name in names)
            yield Message("assistant", Origin.ASSISTANT, (*thought, Text("so"), *calls))
        else:
            yield from answers(names, ("and",) if kind == "x" else (), grammar)


def answers(names, words, grammar):
    results = [ToolResult(name, (Text("fine"),), name="read") for name in names]
    said = tuple(map(Text, words))
    if grammar.results == "joined" and grammar.texts_beside_results:
        yield Message("user", Origin.USER if said else Origin.TOOL, (*results, *said))
        return
    groups = [results] if grammar.results == "joined" else [[result] for result in results]
    yield from (Message(grammar.results_role, Origin.TOOL, tuple(group)) for group in groups)
    yield from (Message("user", Origin.USER, (text,)) for text in said)


def refusals(dialect, messages, thinking=False):
    """What a strict validator says of the list; with thinking, of a request that demands it."""
    written = jsontext.decode(dialect.write(Conversation(dialect.name, tuple(messages), grammar=dialect.grammar)))
    head = {"model": "claude-opus-4-8", "max_tokens": 4096, "tools": []}
    mode = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    return check({**head, **mode, "messages": written} if thinking else written, dialect.name)


def every_cut(dialect, messages, thinking=False):
    """Each place, whether it is legal, and what a validator says of the view that a cut there makes."""
    allowed = legal(messages, pair(messages, dialect.grammar))
    for cut in range(1, len(messages) + 1):
        yield cut, cut in allowed, refusals(dialect, cut_view(messages, cut), thinking)


def hard_histories(dialect, thinking=False):
    for shape in filter(None, map(str.strip, SHAPES.splitlines())):
        messages = tuple(shaped(shape, dialect.grammar))
        if messages:
            yield shape, repair(messages, dialect.grammar, thinking=thinking).messages


@pytest.mark.parametrize("name", DIALECTS)
def test_every_legal_cut_of_a_hard_history_is_accepted_and_most_others_are_not(name):
    dialect, found = BY_NAME[name], Counter()
    for shape, messages in hard_histories(dialect):
        for cut, is_legal, refused in every_cut(dialect, messages):
            assert not (is_legal and refused), (shape, cut, refused)
            found["legal" if is_legal else "refused" if refused else "tolerated"] += 1
    print(dict(found))
    assert found["legal"] >= 100
    assert found["refused"] >= 0.8 * (found["refused"] + found["tolerated"])


def test_where_thinking_is_demanded_every_legal_cut_has_it_at_the_beginning():
    dialect, found = BY_NAME["anthropic"], Counter()
    for shape, messages in hard_histories(dialect, thinking=True):
        for cut, is_legal, refused in every_cut(dialect, messages, thinking=True):
            assert not (is_legal and refused), (shape, cut, refused)
            found["legal"] += is_legal
            found["unthinking"] += any(violation.rule == "thinking-first" for violation in refused)
    assert found["legal"] >= 100
    assert found["unthinking"] >= 2


@pytest.mark.parametrize("thinking", [False, True])
@pytest.mark.parametrize("name", DIALECTS)
def test_every_selection_of_a_hard_history_is_accepted(name, thinking):
    dialect, thinks = BY_NAME[name], thinking and name == "anthropic"
    for shape, messages in hard_histories(dialect, thinks):
        for recent in range(len(messages)):
            strategy = Strategy(recent, ("fine",) if recent % 2 else (), keep_tool_results=recent % 3 == 0)
            chosen = select(messages, strategy, dialect.grammar, measure)
            refused = refusals(dialect, chosen.messages, thinks)
            assert not refused or not any(m.role != "system" for m in messages), (shape, recent, refused)


# --- and that a long history costs what is new in it ------------------------------------------------------------------


def work(run):
    """How many calls a run makes, Python's and C's: the same on every machine."""
    count = 0

    def see(_frame, event, _argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


def long_history(length):
    """Steps whose results are late, so that cycles overlap, and bulky, so that they are pruned."""
    messages = [Message("user", Origin.USER, (Text("go on"),))]
    for number in range(length // 4):
        call, name = ToolCall(f"c{number}", "read", "{}"), f"c{max(0, number - 1)}"
        messages.append(Message("assistant", Origin.ASSISTANT, (Text("so"), call)))
        messages.append(Message("user", Origin.TOOL, (ToolResult(name, (Text(f"{number} fine" * 400),)),)))
    return tuple(messages)


GRAMMAR = BY_NAME["anthropic"].grammar
JOBS = {
    "pair": lambda messages: pair(messages, GRAMMAR),
    "cut": lambda messages: choose(legal(messages, pair(messages, GRAMMAR)), [1] * len(messages), tokens=50),
    "prune": lambda messages: prune(messages, EAGER),
    "repair": lambda messages: repair(messages, GRAMMAR),
    "select": lambda messages: select(messages, STRATEGIES[0], GRAMMAR, measure),
}


@pytest.mark.parametrize("job", JOBS)
def test_ten_times_the_messages_are_ten_times_the_work(job):
    small, large = (work(partial(JOBS[job], long_history(length))) for length in (400, 4_000))
    assert large < 11 * small


def test_one_message_more_is_the_work_of_one_message():
    messages, more = long_history(2_000), Message("user", Origin.USER, (Text("and now?"),))
    meter, pairer = Meter(Estimator()), Pairer(GRAMMAR)
    meter.count(Conversation("anthropic", messages, grammar=GRAMMAR))
    pairer.pair(messages)
    counted = meter.work.messages
    meter.count(Conversation("anthropic", (*messages, more), grammar=GRAMMAR))
    assert meter.work.messages == counted + 1
    assert work(lambda: pairer.pair((*messages, more))) < 50
