"""The door's small parts, each by itself: bodies, signals, replies, routes, headers, summaries ahead of need."""

import asyncio
import gzip
import json
import threading
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.proxy import provider
from tests.proxy.client import proxy, request, talk
from tests.proxy.provider import DIALECTS, Provider

from foldline.archive.memory import MemoryArchive
from foldline.drive import Glass
from foldline.errors import MalformedInput, Overflow, RateLimited, TooLarge
from foldline.proxy import headers as heads
from foldline.proxy import routes
from foldline.proxy.ahead import PAUSE, Ahead
from foldline.proxy.beside import Beside
from foldline.proxy.bodies import Crowded, Gone, Pool, take, unpacked
from foldline.proxy.replies import reply
from foldline.proxy.rooms import Rooms, Settings
from foldline.proxy.shapes import shaped
from foldline.proxy.signals import Events, Silent, Watch, truncated, whole
from foldline.testing import SUMMARY, FakeCaller, Session

each = pytest.mark.parametrize("dialect", DIALECTS)


# --- bodies


@given(st.binary(max_size=500))
def test_packed_bodies_come_out_as_they_went_in(data):
    for coding, packed in {
        "": data,
        "identity": data,
        "gzip": gzip.compress(data),
        "deflate": zlib.compress(data),
        "zstd": zstandard.compress(data),
    }.items():
        assert unpacked(packed, coding) == data


def test_packed_bodies_have_their_limit_and_their_faults():
    big = b" " * 5_000
    for coding, packed in {
        "gzip": gzip.compress(big),
        "deflate": zlib.compress(big),
        "zstd": zstandard.compress(big),
    }.items():
        with pytest.raises(TooLarge):
            unpacked(packed, coding, most=4_000)
        with pytest.raises(MalformedInput):
            unpacked(packed[: len(packed) // 2] if coding != "zstd" else b"nonsense", coding)
    with pytest.raises(MalformedInput):
        unpacked(big, "br")


def test_the_pool_takes_back_what_it_gave():
    pool = Pool(10)
    with pool.share() as take:
        take(6)
        with pool.share() as another, pytest.raises(Crowded):
            another(5)
        assert pool.held == 6
    assert pool.held == 0


@pytest.mark.anyio
async def test_a_body_of_many_pieces_comes_whole_and_at_the_given_pace():
    async def body(*pieces, left=False):
        paced, counted, coming = [], [], iter(pieces)

        async def receive():
            piece = next(coming, None)
            if piece is None:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": piece, "more_body": left or piece is not pieces[-1]}

        async def pace():
            paced.append(len(counted))

        return await take(receive, counted.append, pace, most=9), paced, counted

    assert await body(b"abc") == (b"abc", [], [3])
    assert await body(b"abc", b"", b"def", b"gh") == (b"abcdefgh", [1, 2, 3], [3, 0, 3, 2])
    with pytest.raises(TooLarge):
        await body(b"abcdef", b"ghij")
    with pytest.raises(Gone):
        await body(b"abc", left=True)


@pytest.mark.anyio
async def test_of_many_large_bodies_one_piece_is_taken_in_each_round_of_the_event_loop():
    """A hundred kilobytes are copied several times on their way: sixteen connections at once would hold the loop up."""
    async with Provider() as upstream, proxy(upstream) as client:
        rounds, real = [], client.running.door._in_round

        async def noted():
            await real()
            rounds.append(1)
            asyncio.get_running_loop().call_soon(rounds.append, 0)

        client.running.door._in_round = noted
        talks = [talk("anthropic", 6, words=8_000, secret=f"number {number}") for number in range(6)]
        answers = await asyncio.gather(*(client.ask("anthropic", request(one)) for one in talks))
        assert [status for status, *_ in answers] == [200] * 6
        assert sum(rounds) > 12, "they came in pieces"
        assert "11" not in "".join(map(str, rounds)), "two in one round"


# --- signals


@each
@given(cuts=st.lists(st.integers(1, 60), max_size=30))
def test_a_stream_is_heard_the_same_however_it_was_cut(dialect, cuts):
    said = b"".join(provider.events(dialect, "grüße 你好 🎉", 4_321))
    watch, feed, at = Watch(dialect), Events(), 0
    for cut in (*cuts, len(said)):
        for data in feed.feed(said[at : at + cut]):
            watch.see(data)
        at += cut
    assert watch.good
    assert watch._input == 4_321


@given(cuts=st.lists(st.integers(1, 40), max_size=30))
def test_geminis_array_is_heard_the_same_however_it_was_cut(cuts):
    items = [provider.reply("gemini", text, 99) for text in ("a", "{[,]}", "ü\u2028")]
    said = json.dumps(items, indent=1, ensure_ascii=False).encode()
    feed, at, found = Events(framed=True), 0, []
    for cut in (*cuts, len(said)):
        found += [json.loads(data) for data in feed.feed(said[at : at + cut])]
        at += cut
    assert found == items


@each
def test_a_whole_reply_is_heard(dialect):
    watch = whole(dialect, json.dumps(provider.reply(dialect, "fine", 77)).encode(), 80)
    assert (watch.good, watch._input, watch.refusal) == (True, 77, None)
    assert not whole(dialect, b"no JSON", 80).ended


def test_a_low_report_tells_something_only_where_it_can():
    assert isinstance(truncated(2_050, 8_000), Silent)
    assert truncated(2_050, 8_000).limit == 2_050
    assert truncated(7_000, 8_000) is None
    assert truncated(5, 8_000) is None, "no server is so small"
    assert truncated(500, 1_000) is None


def test_errors_are_told_apart():
    def judged(dialect, value):
        watch = Watch(dialect)
        return watch.see(json.dumps(value).encode()), watch.refusal

    verdict, refusal = judged("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "x"}})
    assert verdict == "refused"
    assert not isinstance(refusal, Overflow)
    verdict, refusal = judged("openai-chat", {"error": {"code": "rate_limit_exceeded", "message": "tokens per minute"}})
    assert isinstance(refusal, RateLimited)
    content = {"choices": [{"delta": {"content": "prompt is too long: 5 tokens > 3 maximum"}}]}
    assert judged("openai-chat", content) == ("good", None), "what a model says is no signal"
    assert judged("openai-chat", {"choices": [{"delta": {"role": "assistant", "content": ""}}]}) == ("wait", None)


# --- replies


@each
def test_a_streams_reply_is_that_of_the_whole_one(dialect):
    text = "one two three "
    body = json.dumps(provider.reply(dialect, text, 5)).encode()
    streamed = b"".join(provider.events(dialect, text, 5))
    first, second = reply(dialect, body, streamed=False), reply(dialect, streamed, streamed=True)
    assert first
    assert first == second
    assert reply(dialect, b"", streamed=True) == reply(dialect, b"x", streamed=False) == ()


def test_tool_calls_and_thinking_are_put_together_from_a_stream():
    def said(*events):
        return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)

    start = {
        "type": "content_block_start",
        "index": 0,
        "content_block": {"type": "thinking", "thinking": "", "signature": ""},
    }
    tool = {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t", "name": "n", "input": {}},
    }
    delta = [
        (0, {"type": "thinking_delta", "thinking": "hm"}),
        (0, {"type": "signature_delta", "signature": "sig"}),
        (1, {"type": "input_json_delta", "partial_json": '{"a":'}),
        (1, {"type": "input_json_delta", "partial_json": "1}"}),
    ]
    deltas = [{"type": "content_block_delta", "index": index, "delta": value} for index, value in delta]
    (message,) = reply("anthropic", said(start, tool, *deltas), streamed=True)
    assert message["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig"},
        {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}},
    ]
    calls = [
        {"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}},
        {"index": 0, "function": {"arguments": "{}"}},
    ]
    chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]} for call in calls]
    (message,) = reply("openai-chat", said(*chunks), streamed=True)
    assert message["tool_calls"] == [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]


# --- routes, headers, shapes


@pytest.mark.parametrize(
    ("path", "dialect", "operation"),
    [
        (b"/v1/messages", "anthropic", "generate"),
        (b"/v1/messages/count_tokens", "anthropic", "count"),
        (b"/v1/messages/batches", "x", "pass"),
        (b"/v1/chat/completions", "openai-chat", "generate"),
        (b"/v1/responses", "openai-responses", "generate"),
        (b"/v1/responses/resp_1", "x", "pass"),
        (b"/v1/responses/compact", "x", "pass"),
        (b"/v1/threads/t/messages", "x", "pass"),
        (b"/v1beta/models/gemini-2.5-pro:generateContent", "gemini", "generate"),
        (b"/v1beta/models/gemini-2.5-pro:streamGenerateContent", "gemini", "generate"),
        (b"/v1beta/models/gemini-2.5-pro%3AcountTokens", "gemini", "count"),
        (b"/v1beta/models/gemini-2.5-pro:embedContent", "x", "pass"),
        (b"/v1/models", "x", "pass"),
    ],
)
def test_paths_have_their_operations(path, dialect, operation):
    found = routes.find("POST", path, b"", [], "x")
    assert (found.dialect, found.operation) == (dialect, operation)
    assert routes.find("GET", path, b"", [], "x").operation == "pass"
    assert found.model == ("gemini-2.5-pro" if dialect == "gemini" else "")


def test_a_stream_of_gemini_that_is_no_events_is_known():
    path = b"/v1beta/models/g:streamGenerateContent"
    assert routes.find("POST", path, b"", [], "x").framed
    assert not routes.find("POST", path, b"alt=sse&key=k", [], "x").framed


@given(st.lists(st.tuples(st.sampled_from([b"te", b"x-a", b"host", b"via", b"x-foldline-token"]), st.just(b"v"))))
def test_no_header_of_a_hop_goes_on(pairs):
    kept = {key for key, _ in heads.onward([*pairs, (b"connection", b"close, X-B"), (b"x-b", b"1")])}
    assert kept <= {"x-a"}


@each
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 415, 429, 500, 502, 503, 504])
def test_our_refusals_have_the_providers_shape(dialect, status):
    body = json.loads(shaped(dialect, status, "why"))
    assert body["error"]["message"] == "foldline: why"
    assert body["error"].get("type") or body["error"]["code"] == status


# --- the archive beside, summaries ahead


def test_what_is_kept_beside_is_waited_for_and_its_failure_is_told():
    class Slow(MemoryArchive):
        def keep(self, conversation, scope=""):
            gate.wait(5)
            super().keep(conversation, scope)

    gate, archive = threading.Event(), Slow()
    beside = Beside(archive)
    conversation = talk("anthropic", 1).conversation()
    with beside.turn() as kept:
        beside.keep(conversation)
    assert not kept.pending[0].done()
    gate.set()
    assert kept.settle() is None
    assert archive.original(conversation.messages[0].identity)
    Glass(archive).keep(conversation)
    beside.close()


class _Clock:
    now = 0.0

    def __call__(self):
        return self.now


def _room(*replies):
    settings = Settings(window=4_000, model=FakeCaller(replies), secret=b"s" * 16)
    return Rooms(settings, MemoryArchive()).room("up", "m")


def test_a_summary_is_prepared_once_and_again_when_stale():
    counts = []
    ahead, room = Ahead(counts.append), _room(SUMMARY)
    conversation = talk("anthropic", 12).conversation()
    room_tokens = room.budget.room
    assert not ahead.consider(room, conversation, int(room_tokens * 0.5)), "not armed yet"
    ahead.consider(room, conversation, int(room_tokens * 0.7)).result()
    assert not ahead.consider(room, conversation, int(room_tokens * 0.75)), "what is ready is fresh"
    ahead.consider(room, conversation, int(room_tokens * 0.85)).result()
    assert counts == ["written", "written"]
    ahead.close()


def test_a_summary_that_failed_is_not_tried_again_at_once():
    counts, clock = [], _Clock()
    ahead, room = Ahead(counts.append, clock), _room(RateLimited("later"))
    conversation = talk("anthropic", 12).conversation()
    tokens = room.budget.room
    ahead.consider(room, conversation, int(tokens * 0.7)).result()
    assert not ahead.consider(room, conversation, int(tokens * 0.9))
    clock.now += PAUSE + 1
    ahead.consider(room, conversation, int(tokens * 0.9)).result()
    assert "written" not in counts
    ahead.close()


def test_a_fold_that_would_not_pay_is_no_failure():
    """The model is well, so nothing has to be waited for: the next growth is looked at again."""
    counts: list[str] = []
    ahead, room = Ahead(counts.append, _Clock()), _room(SUMMARY)
    short = Session("anthropic").user("Hello.").conversation()
    ahead.consider(room, short, int(room.budget.room * 0.7)).result()
    assert counts == ["unneeded"]
    assert ahead.consider(room, short, int(room.budget.room * 0.9))
    ahead.close()


def test_without_a_model_nothing_is_prepared():
    room = Rooms(Settings(window=4_000, secret=b"s" * 16), MemoryArchive()).room("up", "m")
    assert not Ahead(print).consider(room, Session("anthropic").user("x").conversation(), 10**9)
