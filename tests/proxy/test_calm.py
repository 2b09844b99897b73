"""What surely goes on as it came goes on at once; and the engine, asked afterwards, would have done the same."""

import asyncio
import json
import threading
import time
from concurrent.futures import Future

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.proxy.client import MODEL, grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, PATHS, Provider, begin, reply, says

from foldline.archive.memory import MemoryArchive
from foldline.errors import CannotFit, Full, Overflow
from foldline.proxy.door import LONG
from foldline.proxy.health import Health
from foldline.proxy.rooms import Rooms, Settings
from foldline.proxy.routes import Route
from foldline.proxy.turn import Read, Turns
from foldline.proxy.upstreams import Upstream

each = pytest.mark.parametrize("dialect", DIALECTS)
UP = Upstream("test", "http://127.0.0.1:1", "anthropic")
GENERATE = Route("anthropic", "generate")
PICTURE = {"type": "image", "source": {"type": "url", "url": "https://example.org/p.png"}}


def turns(window=20_000):
    return Turns(Rooms(Settings(window=window, secret=b"s" * 16), MemoryArchive()), Health())


def body(messages, **more):
    return json.dumps({"model": "m", "max_tokens": 64, **more, "messages": messages}).encode()


def settled(thinker, sent, route=GENERATE):
    """A turn on the long way, to its end."""
    read = thinker.read(route, UP, sent, "")
    if not isinstance(read, Read):
        return read
    turn = thinker.fitted(read)
    read.room.make_ready(read.conversation)
    return turn


def resting(thinker, sent, coding=""):
    """The turn of a request that is seen to rest, if it is."""
    read = thinker.glance(GENERATE, UP, sent, coding)
    return thinker.at_rest(read) if read else None


def said(role, *content):
    return {"role": role, "content": list(content)}


def text(words):
    return {"type": "text", "text": words}


def call(name):
    return {"type": "tool_use", "id": name, "name": "read", "input": {"path": name}}


def result(name, content="fine"):
    return {"type": "tool_result", "tool_use_id": name, "content": content}


BEGIN = [said("user", text("go on")), said("assistant", call("c0")), said("user", result("c0"))]
names = st.sampled_from(["c0", "c1", "c2"])
words = st.one_of(
    st.sampled_from(
        [
            "",
            "[",
            "# Notes on the conversation so far",
            "[Nothing was said.]",
            "中" * 300,
            "word " * 2_000,
            "\n" * 3_000,
        ]
    ),
    st.text(max_size=40),
)
parts = st.one_of(
    st.builds(text, words),
    st.builds(call, names),
    st.builds(result, names, words),
    st.builds(result, names, st.just([PICTURE])),
    st.just(PICTURE),
    st.just({"type": "thinking", "thinking": "hm", "signature": "s" * 40}),
    st.just({"type": "odd", "of": "x"}),
)
messages = st.builds(
    lambda role, content: said(role, *content), st.sampled_from(["user", "assistant"]), st.lists(parts)
)
steps = st.one_of(
    st.builds(lambda name: [said("assistant", call(name)), said("user", result(name))], names),
    st.lists(messages, max_size=3),
)


@given(st.lists(steps, min_size=1, max_size=4), st.sampled_from([300, 3_000, 20_000]))
@settings(max_examples=50, deadline=None)
def test_whatever_is_seen_to_rest_the_engine_leaves_as_it_came(grown, window):
    thinker, so_far = turns(window), list(BEGIN)
    settled(thinker, body(so_far))
    for step in grown:
        so_far += step
        sent = body(so_far)
        seen = resting(thinker, sent)
        weighed = thinker.weigh(seen).about if seen is not None else 0
        fitted = settled(thinker, sent)
        if seen is not None:
            assert weighed == fitted.tokens
            assert seen.body is sent
            assert fitted.body is sent
            assert fitted.ready.action == "rest"
            assert not fitted.ready.notices
            assert fitted.ready.conversation.messages == seen.ready.conversation.messages
    thinker.close()


def test_the_next_step_of_an_agent_is_seen_to_rest():
    thinker, so_far = turns(), list(BEGIN)
    settled(thinker, body(so_far))
    for number in range(1, 9):
        so_far += [said("assistant", call(f"n{number}")), said("user", result(f"n{number}", "line " * 20))]
        seen = resting(thinker, body(so_far))
        assert seen is not None
        settled(thinker, body(so_far))
    thinker.close()


MORE = [said("assistant", text("well")), said("user", text("and?"))]


@pytest.mark.parametrize(
    "sent",
    [
        body([*BEGIN, *MORE], system="another"),
        body([*BEGIN, *MORE], tools=[{"name": "read", "input_schema": {}}]),
        body([*BEGIN, *MORE], context_management={"edits": [{"type": "compact_20260112"}]}),
        body([*BEGIN, said("assistant", call("c1")), said("user", text("never mind"))]),
        body([*BEGIN, said("assistant", text("well")), said("user", text("# Notes on the conversation so far"))]),
        body([*BEGIN, said("assistant", text("well")), said("user", text("x" * 60_000))]),
        body([said("user", text("something else")), *BEGIN[1:], *MORE]),
        body([*BEGIN, *MORE]).replace(b'"text": "and?"', b'"text": "and?", "text": "or"'),
        body([*BEGIN, *MORE])[:-2],
        body([*BEGIN, *MORE]).replace(b'"model": "m"', b'"model": "n"'),
    ],
)
def test_what_is_otherwise_is_not(sent):
    thinker = turns()
    settled(thinker, body(BEGIN))
    assert resting(thinker, sent) is None
    thinker.close()


def test_what_was_taken_back_and_comes_again_is_not_when_it_is_long():
    thinker = turns(window=100_000)
    long = [*BEGIN, *MORE, said("assistant", text("word " * 6_000)), said("user", text("so?"))]
    for messages in (long, BEGIN):
        settled(thinker, body(messages))
    assert resting(thinker, body([*long, *MORE])) is None
    settled(thinker, body([*long, *MORE]))
    assert resting(thinker, body([*long, *MORE, *MORE])) is not None
    thinker.close()


def test_a_packed_request_and_one_that_counts_are_not():
    thinker = turns()
    settled(thinker, body(BEGIN))
    assert resting(thinker, body([*BEGIN, *MORE]), "gzip") is None
    assert thinker.glance(Route("anthropic", "count"), UP, body([*BEGIN, *MORE]), "") is None
    assert resting(thinker, body([*BEGIN, *MORE])) is not None
    thinker.close()


def test_a_conversation_that_was_refused_or_is_being_worked_on_is_not():
    thinker = turns()
    turn = settled(thinker, body(BEGIN))
    seat = turn.room._seat(turn.ready.conversation)
    holds, held = threading.Event(), threading.Event()

    def work():
        with seat.lock:
            held.set()
            assert holds.wait(10)

    worker = threading.Thread(target=work)
    worker.start()
    assert held.wait(10)
    assert resting(thinker, body([*BEGIN, *MORE])) is None
    holds.set()
    worker.join()
    assert resting(thinker, body([*BEGIN, *MORE])) is not None
    assert resting(thinker, body([*BEGIN, *MORE])) is None, "the turn before has not ended"
    turn = settled(thinker, body([*BEGIN, *MORE]))
    with pytest.raises(CannotFit):  # nothing is smaller than these few messages
        turn.room.again(turn.ready.fitted, Overflow("too long", tokens=9_000, limit=40))
    assert resting(thinker, body([*BEGIN, *MORE, *MORE])) is None
    thinker.close()


def test_what_a_provider_reports_counts_from_then_on():
    thinker = turns(window=10_000)
    first = body([said("user", text("word " * 3_000)), *BEGIN[1:]])
    turn = settled(thinker, first)
    longer = first.replace(b"}]}]}", b"}]}, " + json.dumps(MORE)[1:-1].encode() + b"]}")
    assert resting(thinker, longer) is not None
    turn = settled(thinker, first)
    turn.room.learn(turn.ready.fitted, {"usage": {"input_tokens": 6_500}})
    assert resting(thinker, longer) is None, "that is more than the mark"
    thinker.close()


class Slow(MemoryArchive):
    """Waits at a gate, where it is told to."""

    def __init__(self, *where):
        super().__init__()
        self.where, self.gate, self.inside = set(), threading.Event(), threading.Event()
        self.kept, self.recalls = [], 0

    def _wait(self, where):
        if where in self.where:
            self.inside.set()
            assert self.gate.wait(20)

    def keep(self, conversation, scope=""):
        self._wait("keep")
        super().keep(conversation, scope)
        self.kept.append(conversation)

    def recall(self, digests, scope=""):
        self._wait("recall")
        self.recalls += 1
        return super().recall(digests, scope)


async def first_turn(client, session, dialect="anthropic"):
    """After this the next one is seen to rest."""
    assert (await client.ask(dialect, request(session)))[0] == 200
    await client.running.door.close_behind()
    grow(session, 77, words=5)


@each
@pytest.mark.anyio
async def test_it_goes_on_before_anything_is_recalled(provider, dialect):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        session = talk(dialect, 3)
        await first_turn(client, session, dialect)
        archive.where.add("recall")
        status, said, headers = await asyncio.wait_for(client.ask(dialect, request(session)), 10)
        assert status == 200
        assert b"fine" in said
        assert provider.got[-1].body == json.dumps(request(session)).encode()
        assert "x-foldline-action" not in headers
        archive.gate.set()
        await client.running.door.close_behind()
        counts = client.running.health.state()["counts"]
        assert (counts["requests"], counts["rest"]) == (2, 2)
    assert not provider.violations


@pytest.mark.anyio
async def test_what_comes_before_the_work_behind_the_last_answer_has_ended_waits_for_that_and_goes_on_at_once(provider):
    archive, recalls = Slow(), []
    async with proxy(provider, archive=archive) as client:
        session = talk("anthropic", 3)
        await first_turn(client, session)
        archive.where.add("recall")
        assert (await client.ask("anthropic", request(session)))[0] == 200
        grow(session, 78, words=5)

        async def noting(*arguments):
            recalls.append(archive.recalls)
            return await says(reply("anthropic", "fine", 900))(*arguments)

        provider.scripts = [noting]
        asking = asyncio.create_task(client.ask("anthropic", request(session)))
        await asyncio.to_thread(archive.inside.wait, 10)
        await asyncio.sleep(0.1)
        assert not asking.done()
        archive.gate.set()
        assert (await asyncio.wait_for(asking, 10))[0] == 200
        assert recalls == [2], "it was sent before it was fitted"
        await client.running.door.close_behind()
        assert archive.recalls == 3


@pytest.mark.anyio
async def test_behind_short_answers_one_thing_is_done_at_a_time_and_a_thread_is_left_for_requests(provider):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        sessions = [talk("anthropic", 3, secret=f"number {number}") for number in range(2)]
        for session in sessions:
            await first_turn(client, session)
        archive.where.add("recall")
        for session in sessions:
            assert (await client.ask("anthropic", request(session)))[0] == 200
        await asyncio.to_thread(archive.inside.wait, 10)
        archive.where.clear()
        await asyncio.sleep(0.1)
        assert archive.recalls == 2, "the second waits for the first"
        other = talk("anthropic", 3, secret="another one")
        assert (await asyncio.wait_for(client.ask("anthropic", request(other)), 5))[0] == 200
        assert archive.recalls == 3
        archive.gate.set()
        await client.running.door.close_behind()
        assert archive.recalls == 5


@pytest.mark.anyio
async def test_what_is_done_behind_a_long_answer_holds_up_no_other_conversation(provider, monkeypatch):
    gate, inside, real = threading.Event(), threading.Event(), Turns.after

    def slow(self, turn, relay):
        if sum(map(len, relay.kept)) > LONG:
            inside.set()
            gate.wait(10)
        return real(self, turn, relay)

    monkeypatch.setattr(Turns, "after", slow)
    async with proxy(provider, archive=Slow()) as client:
        long, other = (talk("anthropic", 3, secret=secret) for secret in ("one", "two"))
        for session in (long, other):
            await first_turn(client, session)
        provider.scripts = [says(reply("anthropic", "word " * LONG, 900))]
        assert (await client.ask("anthropic", request(long)))[0] == 200
        assert await asyncio.to_thread(inside.wait, 10)
        for number in range(2):
            grow(other, 78 + number, words=5)
            assert (await asyncio.wait_for(client.ask("anthropic", request(other)), 5))[0] == 200
        gate.set()
        await client.running.door.close_behind()


@pytest.mark.anyio
async def test_each_turn_is_kept_once_and_its_answer_once(provider):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        session = talk("anthropic", 3)
        await first_turn(client, session)
        assert len(archive.kept) == 2
        assert (await client.ask("anthropic", request(session)))[0] == 200
        await client.running.door.close_behind()
    assert len(archive.kept) == 4


@pytest.mark.anyio
async def test_an_answer_that_cannot_be_kept_is_told_of(provider, monkeypatch):
    tells = Future._invoke_callbacks

    def late(future):
        if isinstance(future._exception, Full):
            time.sleep(0.05)
        tells(future)

    monkeypatch.setattr(Future, "_invoke_callbacks", late)

    class Refusing(Slow):
        def keep(self, conversation, scope=""):
            if conversation.messages[-1].role == "assistant":
                time.sleep(0.05)  # until somebody waits to hear of it
                raise Full("no room")
            super().keep(conversation, scope)

    async with proxy(provider, archive=Refusing()) as client:
        assert (await client.ask("anthropic", request(talk("anthropic", 3))))[0] == 200
        await client.running.door.close_behind()
        assert client.running.health.state()["counts"]["notice: archive-failed"] == 1, "at once, though it tells late"


@pytest.mark.anyio
async def test_its_reply_does_not_end_before_it_is_kept(provider):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        session = talk("anthropic", 3)
        await first_turn(client, session)
        archive.where.add("keep")
        asking = asyncio.create_task(client.ask("anthropic", request(session)))
        await asyncio.to_thread(archive.inside.wait, 10)
        await asyncio.sleep(0.1)
        assert len(provider.got) == 2, "the provider has it"
        assert not asking.done()
        archive.gate.set()
        assert (await asyncio.wait_for(asking, 10))[0] == 200
        assert any(len(each.messages) == len(session.conversation().messages) for each in archive.kept)


@pytest.mark.anyio
@pytest.mark.parametrize("trouble", ["cannot-fit", "fit-failed"])
async def test_nor_where_it_cannot_be_fitted(provider, trouble):
    archive = Slow()
    if trouble == "fit-failed":
        archive.recall = lambda *_: 1 / 0
    archive.where.add("keep")
    async with proxy(provider, archive=archive, window=30 if trouble == "cannot-fit" else 9_000) as client:
        session = talk("anthropic", 3)
        asking = asyncio.create_task(client.ask("anthropic", request(session)))
        await asyncio.to_thread(archive.inside.wait, 10)
        await asyncio.sleep(0.1)
        assert provider.got, "the provider has it"
        assert not asking.done()
        archive.gate.set()
        status, _, headers = await asyncio.wait_for(asking, 10)
        assert (status, trouble in headers["x-foldline-notice"]) == (200, True)


@pytest.mark.anyio
@pytest.mark.parametrize("when", ["waiting", "streaming"])
async def test_who_leaves_is_kept_all_the_same(provider, when):
    archive, there = Slow(), asyncio.Event()

    async def endless(request_, _):
        there.set()
        if when == "streaming":
            response = await begin(request_)
            await response.write(b'event: ping\ndata: {"type": "ping"}\n\n')
        await asyncio.sleep(20)

    async with proxy(provider, archive=archive) as client:
        session = talk("anthropic", 3)
        await first_turn(client, session)
        provider.scripts = [endless]
        asking = asyncio.create_task(client.ask("anthropic", request(session)))
        await asyncio.wait_for(there.wait(), 10)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert any(len(each.messages) == len(session.conversation().messages) for each in archive.kept)


@each
@pytest.mark.anyio
async def test_a_refusal_of_it_is_answered_with_less(dialect):
    async with Provider() as provider, proxy(provider, window=100_000) as client:
        session = talk(dialect, 30, words=120)
        provider.scripts = [says(reply(dialect, "fine", 20_000))]
        await first_turn(client, session, dialect)
        provider.window = 6_000
        status, said, headers = await client.ask(dialect, request(session))
        assert status == 200, said
        assert headers["x-foldline-action"] == "compact"
        assert len(provider.got[1].body) == len(json.dumps(request(session))), "it went on as it came, and was refused"
        assert len(provider.got[-1].body) < len(provider.got[1].body)
    assert not provider.violations


@pytest.mark.anyio
async def test_where_somebody_folds_the_same_history_meanwhile_the_refusal_is_answered_with_that(provider):
    async with proxy(provider, window=100_000) as client:
        session = talk("anthropic", 30, words=120)
        await first_turn(client, session)
        door = client.running.door
        room = door.rooms.room("test", MODEL)
        folded = threading.Event()

        async def refusing(*arguments):
            if not folded.is_set():
                folded.set()
                conversation = talk("anthropic", 30, words=120).conversation()
                await asyncio.to_thread(room._seat(conversation).turns.compact, conversation)
            return await says({"type": "error", "error": {"message": "prompt is too long: 9 tokens > 8 maximum"}}, 400)(
                *arguments
            )

        provider.scripts = [refusing]
        status, _, _ = await client.ask("anthropic", request(session))
        assert folded.is_set()
        assert status == 200
        assert len(provider.got[2].body) < len(provider.got[1].body)


@pytest.mark.anyio
async def test_where_somebody_folds_the_same_history_meanwhile_the_answer_is_kept_all_the_same(provider):
    archive = Slow()
    async with proxy(provider, archive=archive, window=100_000) as client:
        session = talk("anthropic", 30, words=120)
        await first_turn(client, session)
        room = client.running.door.rooms.room("test", MODEL)

        async def folding(*arguments):
            conversation = talk("anthropic", 30, words=120).conversation()
            await asyncio.to_thread(room._seat(conversation).turns.compact, conversation)
            return await says(reply("anthropic", "an answer", 9_000))(*arguments)

        provider.scripts = [folding]
        assert (await client.ask("anthropic", request(session)))[0] == 200
        await client.running.door.close_behind()
    assert archive.kept[-1].messages[-1].text == "an answer"


@pytest.mark.anyio
async def test_a_provider_that_is_not_there_does_not_keep_it_from_the_archive(provider):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        session = talk("anthropic", 3)
        await first_turn(client, session)
        await provider.__aexit__(None, None, None)
        assert (await client.ask("anthropic", request(session)))[0] == 502
        await client.running.door.close_behind()
    assert any(len(each.messages) == len(session.conversation().messages) for each in archive.kept)


@pytest.mark.anyio
async def test_turns_of_one_conversation_leave_a_thread_for_the_others(provider):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        archive.where.add("recall")
        session = talk("anthropic", 3)
        same = [asyncio.create_task(client.ask("anthropic", request(session))) for _ in range(4)]
        await asyncio.to_thread(archive.inside.wait, 10)
        await asyncio.sleep(0.05)
        archive.where.clear()
        other = talk("anthropic", 3, secret="another one")
        assert (await asyncio.wait_for(client.ask("anthropic", request(other)), 5))[0] == 200
        assert not any(task.done() for task in same)
        archive.gate.set()
        assert [status for status, _, _ in await asyncio.wait_for(asyncio.gather(*same), 10)] == [200] * 4


@pytest.mark.anyio
async def test_who_left_in_mid_turn_is_kept_though_the_proxy_stops(provider):
    archive = Slow()
    async with proxy(provider, archive=archive) as client:
        archive.where.add("recall")
        session = talk("anthropic", 3)
        asking = asyncio.create_task(client.post(PATHS["anthropic"], request(session)))
        await asyncio.to_thread(archive.inside.wait, 10)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        threading.Timer(0.3, archive.gate.set).start()
    assert [len(each.messages) for each in archive.kept] == [len(session.conversation().messages)]
