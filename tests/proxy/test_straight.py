"""The straight way through the door: at rest the client's own bytes, folded a valid view that fits."""

import json
import tracemalloc
from dataclasses import replace

import aiohttp
import pytest
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, PATHS, Provider, begin, events

from foldline.proxy.serve import Config, start
from foldline.proxy.upstreams import Upstream

pytestmark = pytest.mark.anyio
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
each = pytest.mark.parametrize("dialect", DIALECTS)


@each
@both
async def test_at_rest_the_bytes_are_the_clients_own(provider, dialect, stream):
    async with proxy(provider) as client:
        body = request(talk(dialect, 3))
        status, said, headers = await client.ask(dialect, body, stream=stream)
        assert status == 200
        sent = {**body, "stream": True} if stream and dialect != "gemini" else body
        assert provider.got[0].body == json.dumps(sent).encode()
        assert b"fine" in said
        assert "x-foldline-notice" not in headers or dialect == "gemini", headers
    assert not provider.violations


@each
async def test_a_turn_after_a_fold_says_what_the_client_sent_and_which_checkpoint_stands_for_it(dialect, caplog):
    caplog.set_level("INFO", "foldline.proxy")
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000) as client:
        session, told = talk(dialect, 60, words=120), []
        for number in range(3):
            _, _, headers = await client.ask(dialect, request(session))
            told.append((headers["x-foldline-action"], headers["x-foldline-checkpoint"]))
            grow(session, 100 + number, words=20)
        await client.running.door.close_behind()
    (first, *later), whole = told, len(json.dumps(request(session))) // 4
    assert first[0] == "compact"
    assert later == [("rest", first[1])] * 2
    lines = [record.fields for record in caplog.records if record.msg == "request"]
    assert [(line["action"], line["checkpoint"]) for line in lines] == told
    for line in lines:
        assert line["before"] > 0.7 * whole > 2 * line["after"]


@each
async def test_a_stream_is_relayed_byte_for_byte(provider, dialect):
    async with proxy(provider, window=100_000) as client:
        body = request(talk(dialect, 2))
        _, said, _ = await client.ask(dialect, body, stream=True)
        tokens = len(provider.got[0].body) // 4
        assert said == b"".join(events(dialect, "fine", tokens))


@each
@both
async def test_a_conversation_beyond_the_window_is_folded(dialect, stream):
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000) as client:
        session = talk(dialect, 30, words=300)
        status, said, headers = await client.ask(dialect, request(session), stream=stream)
        assert status == 200, said
        assert headers["x-foldline-action"] == "compact"
        assert len(provider.got) == 1
        assert len(provider.got[0].body) < len(json.dumps(session.request())) / 3
        assert not provider.violations


@each
async def test_a_loop_grows_far_beyond_the_window_and_never_fails(dialect):
    async with Provider(window=6_000) as provider, proxy(provider, window=6_000) as client:
        session = talk(dialect, 1, words=120)
        for number in range(1, 40):
            grow(session, number, words=120)
            status, said, _ = await client.ask(dialect, request(session), stream=number % 2 == 0)
            assert status == 200, said
        assert not provider.violations
        assert "Please look at all files." in provider.got[-1].body.decode()


@each
async def test_views_extend_one_another_between_folds(dialect):
    async with Provider(window=6_000) as provider, proxy(provider, window=6_000) as client:
        session = talk(dialect, 30, words=120)
        await client.ask(dialect, request(session))
        slot = {"openai-responses": "input", "gemini": "contents"}.get(dialect, "messages")
        shared = []
        for number in range(30, 36):
            before = provider.got[-1].json[slot]
            grow(session, number, words=20)
            await client.ask(dialect, request(session))
            after = provider.got[-1].json[slot]
            shared.append(after[: len(before)] == before)
        assert shared.count(True) >= 5


@each
async def test_usage_is_learned_from_whole_replies_and_from_streams(provider, dialect):
    async with proxy(provider, window=100_000) as client:
        session = talk(dialect, 20)
        for stream in (False, True):
            await client.ask(dialect, request(session), stream=stream)
            grow(session, 99)
        await client.running.door.close_behind()
        model = "gemini-test" if dialect == "gemini" else "test-model"
        said = session.conversation()
        fitted, _ = client.running.door.rooms.room("test", model).fit(
            replace(said, head=replace(said.head, model=model))
        )
        reported = len(provider.got[-1].body) // 4
        assert abs(fitted.receipt.tokens_after - reported) < 0.2 * reported


@each
async def test_counting_answers_for_the_view(dialect):
    if dialect not in ("anthropic", "gemini"):
        pytest.skip("this dialect has no such path")
    path = {"anthropic": "/v1/messages/count_tokens", "gemini": PATHS["gemini"].replace(":generate", ":count")}[dialect]
    path = path.replace("countContent", "countTokens")
    async with Provider() as provider, proxy(provider, window=6_000) as client:
        session = talk(dialect, 30, words=300)
        status, said, _ = await client.post(path, request(session))
        assert status == 200
        assert json.loads(said).popitem()[1] < 6_000
        await client.ask(dialect, request(session))
        assert provider.got[0].json == provider.got[1].json


async def test_every_other_path_is_passed_on_as_it_is(provider):
    async with proxy(provider) as client:
        body = bytes(range(256)) * 100
        status, said, _ = await client.post("/v1/files?purpose=x%20y", body, content_type="application/pdf")
        assert (status, said) == (200, body)
        assert provider.got[0].query == "purpose=x%20y"
        async with client.session.get(client.base + "/v1/models") as answer:
            assert await answer.read() == b"nothing"


async def test_what_passes_as_it_is_is_not_held(provider):
    """A file of many megabytes, and a stream that nobody here reads: neither gathers in memory."""
    piece = b"data: " + b"x" * 65_000 + b"\n\n"

    async def long(request, _):
        response = await begin(request, kind="text/event-stream")
        for _ in range(300):
            await response.write(piece)
        return response

    async with proxy(provider) as client:
        provider.scripts = [long]
        tracemalloc.start()
        async with client.session.get(client.base + "/v1/files/f/content") as answer:
            size = sum([len(chunk) async for chunk in answer.content.iter_any()])
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert size == 300 * len(piece)
        assert most < size / 3


async def test_the_bypass_header_leaves_one_request_alone(provider):
    async with proxy(provider, window=2_000) as client:
        body = json.dumps(request(talk("anthropic", 30))).encode()
        await client.post("/v1/messages", body, x_foldline_bypass="1")
        assert provider.got[0].body == body
        assert "x-foldline-bypass" not in provider.got[0].headers
        await client.post("/v1/messages", body)
        assert provider.got[1].body != body


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        ("openai-responses", {"previous_response_id": "resp_1"}),
        ("openai-responses", {"conversation": "conv_1"}),
        ("openai-responses", {"truncation": "auto"}),
        ("openai-responses", {"context_management": [{"type": "compaction"}]}),
        ("anthropic", {"context_management": {"edits": [{"type": "compact_20260112"}]}}),
        ("anthropic", {"context_management": {"edits": [{"type": "clear_thinking_20251015"}, {"type": "new_2027"}]}}),
    ],
)
async def test_what_the_provider_is_asked_to_keep_or_compact_is_left_alone(provider, dialect, more):
    async with proxy(provider, window=2_000) as client:
        body = json.dumps({**request(talk(dialect, 30)), **more}).encode()
        await client.post(PATHS[dialect], body)
        assert provider.got[0].body == body


@pytest.mark.parametrize("edits", [[], [{"type": "clear_thinking_20251015", "keep": "all"}]], ids=["none", "thinking"])
async def test_a_request_that_only_says_what_becomes_of_thinking_is_fitted(provider, edits):
    """Claude Code says it in every request."""
    async with proxy(provider, window=2_000) as client:
        body = {**request(talk("anthropic", 30)), "context_management": {"edits": edits}}
        assert (await client.ask("anthropic", body))[0] == 200
        sent = provider.got[0].json
        assert sent["context_management"] == body["context_management"]
        assert len(sent["messages"]) < len(body["messages"])
    assert not provider.violations


@pytest.mark.parametrize(
    ("base", "asked", "found"),
    [
        ("", "/messages", "/v1/messages"),
        ("", "/messages/count_tokens", "/v1/messages/count_tokens"),
        ("", "/v1/messages", "/v1/messages"),
        ("/own/v1", "/messages", "/own/v1/messages"),
    ],
)
async def test_a_client_that_leaves_out_the_version_finds_the_messages(provider, base, asked, found):
    """The AI SDK takes ANTHROPIC_BASE_URL to end in /v1, and Anthropic's own SDK takes it not to."""
    config = Config((Upstream("test", provider.url + base, "anthropic"),))
    async with start(config) as running, aiohttp.ClientSession() as session:
        answer = await session.post(running.url("test") + asked, json=request(talk("anthropic", 1)))
        assert answer.status == 200
    assert provider.got[0].path == found
