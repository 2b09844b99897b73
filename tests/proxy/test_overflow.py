"""Overflow in every form it takes: the client sees one good answer, or the provider's own refusal."""

import base64
import gzip
import itertools
import json

import pytest
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, SLOTS, Provider, events, refusal, reply, says, streams

from foldline import read
from foldline.overflow import TRUNCATED_BELOW
from foldline.recovery import TRIES
from foldline.tokens import meter_for

pytestmark = pytest.mark.anyio
both = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
each = pytest.mark.parametrize("dialect", DIALECTS)


def sizes(provider):
    return [len(got.body) for got in provider.got]


def falling(numbers):
    return all(later < earlier for earlier, later in itertools.pairwise(numbers))


@each
@both
async def test_a_refusal_by_status_is_answered_with_less(dialect, stream):
    async with Provider(window=5_000) as provider, proxy(provider, window=30_000) as client:
        session = talk(dialect, 30, words=120)
        status, said, _ = await client.ask(dialect, request(session), stream=stream)
        assert status == 200, said
        assert b"fine" in said
        assert 2 <= len(provider.got) <= 4
        assert falling(sizes(provider))
        grow(session, 99, words=120)
        before = len(provider.got)
        assert (await client.ask(dialect, request(session), stream=stream))[0] == 200
        assert len(provider.got) == before + 1, "the limit that was told holds from then on"
        assert not provider.violations


@each
@both
async def test_it_is_tried_three_times_and_then_the_refusal_is_passed_on(provider, dialect, stream):
    async with proxy(provider, window=30_000) as client:
        said_last = refusal(dialect, 99_999, 20)
        provider.scripts = [says(refusal(dialect, 30_000 - 1_000 * n, 25_000 - 5_000 * n), 400) for n in range(3)]
        provider.scripts += [says(said_last, 400)] * 5
        status, said, _ = await client.ask(dialect, request(talk(dialect, 30, words=120)), stream=stream)
        assert status == 400
        assert json.loads(said) == said_last
        assert len(provider.got) == 1 + TRIES
        assert falling(sizes(provider))


IN_STREAM = {
    "anthropic": [{"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long"}}],
    "openai-chat": [{"error": {"message": "too long", "code": "context_length_exceeded"}}],
    "openai-responses": [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress", "error": None}},
        {"type": "error", "message": "Your input exceeds the context window of this model.", "code": None},
    ],
    "gemini": [{"error": refusal("gemini", 30_000, 20_000)["error"]}],
}


@each
async def test_a_refusal_inside_a_stream_that_began_well_is_answered_with_less(provider, dialect):
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [streams(*(f"data: {json.dumps(event)}\n\n".encode() for event in IN_STREAM[dialect]))]
        _, said, _ = await client.ask(dialect, request(talk(dialect, 30, words=120)), stream=True)
        assert len(provider.got) == 2
        assert falling(sizes(provider))
        assert b"fine" in said
        assert b"error" not in said


async def test_a_failed_response_inside_a_stream_is_an_overflow_too(provider):
    failed = {"code": "context_length_exceeded", "message": "Your input exceeds the context window of this model."}
    event = {"type": "response.failed", "response": {"id": "r", "status": "failed", "error": failed}}
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [streams(f"data: {json.dumps(event)}\n\n".encode())]
        _, said, _ = await client.ask("openai-responses", request(talk("openai-responses", 30, words=120)), stream=True)
        assert b"fine" in said
        assert b"failed" not in said


@both
async def test_a_stop_for_want_of_window_is_answered_with_less(provider, stream):
    stopped = {**reply("anthropic", "half an ans", 20), "stop_reason": "model_context_window_exceeded"}
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [says({**stopped, "usage": {}})]
        if stream:
            start = {"type": "message_start", "message": {**stopped, "content": [], "usage": {}}}
            provider.scripts = [streams(f"data: {json.dumps(start)}\n\n".encode())]
        _, said, _ = await client.ask("anthropic", request(talk("anthropic", 30, words=120)), stream=stream)
        assert b"fine" in said
        assert b"half" not in said


@each
async def test_a_prompt_cut_in_silence_is_noticed(provider, dialect):
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [says(reply(dialect, "what was the question?", 2_050))]
        status, said, _ = await client.ask(dialect, request(talk(dialect, 30, words=120)))
        assert status == 200
        assert b"fine" in said
        assert sizes(provider)[1] < sizes(provider)[0] / 2


async def test_a_prompt_cut_in_silence_is_noticed_in_a_stream_that_says_so_first(provider):
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [streams(*events("anthropic", "what question?", 2_050))]
        _, said, _ = await client.ask("anthropic", request(talk("anthropic", 30, words=120)), stream=True)
        assert b"fine" in said
        assert b"question" not in said


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (1_280).to_bytes(4) + (800).to_bytes(4) + bytes(60)).decode()
PICTURES = {
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    "openai-chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
    "openai-responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    "gemini": {"inlineData": {"mimeType": "image/png", "data": PNG}},
}
CHEAP = 258
"""Tokens of a picture of any size with Gemini; what we count for one of these is five times as much."""


def seen(dialect, pictures):
    """A conversation in which the user shows these many pictures."""
    content, model = ("parts", "model") if dialect == "gemini" else ("content", "assistant")
    text = {"openai-responses": {"type": "output_text", "text": "I see."}, "gemini": {"text": "I see."}}
    told = text.get(dialect, {"type": "text", "text": "I see."})
    shown = [{"role": "user", content: [PICTURES[dialect]]}, {"role": model, content: [told]}] * pictures
    limit = {"max_tokens": 64} if dialect == "anthropic" else {}
    named = {} if dialect == "gemini" else {"model": "test-model"}
    return {**named, **limit, SLOTS[dialect]: [*shown, {"role": "user", content: [PICTURES[dialect]]}]}


@each
@both
async def test_a_provider_that_finds_pictures_cheap_has_cut_nothing(provider, dialect, stream):
    async with proxy(provider, window=100_000, dialect=dialect) as client:
        for pictures in (8, 9, 10, 11):
            body = seen(dialect, pictures)
            tokens = (pictures + 1) * CHEAP + 200
            answer = streams(*events(dialect, "fine", tokens)) if stream else says(reply(dialect, "fine", tokens))
            provider.scripts = [answer]
            status, _, headers = await client.ask(dialect, body, stream=stream)
            await client.running.door.close_behind()
            assert status == 200
            assert provider.got.pop().json[SLOTS[dialect]] == body[SLOTS[dialect]]
            assert not provider.got, "it was asked once"
            assert not [name for name in headers if name.startswith("x-foldline")]


async def test_a_provider_that_leaves_old_thinking_out_has_cut_nothing(provider):
    async with proxy(provider, window=100_000) as client:
        session = talk("anthropic", 8, words=20)
        body = {**request(session), "max_tokens": 4_000, "thinking": {"type": "enabled", "budget_tokens": 2_000}}
        thought = {"type": "thinking", "thinking": "let me see, " * 300, "signature": "c2lnbmVk"}
        for message in body["messages"]:
            if message["role"] == "assistant":
                message["content"] = [thought, *message["content"]]
        provider.scripts = [says(reply("anthropic", "fine", 3_000))]
        assert (await client.ask("anthropic", body))[0] == 200
        assert [got.json for got in provider.got] == [body]


async def test_another_model_by_the_name_of_one_that_makes_more_tokens_has_cut_nothing(provider):
    """Gateways have names of their own for what they serve; of some models a text has half as many tokens more."""
    async with proxy(provider, window=100_000) as client:
        body = {**request(talk("anthropic", 30, words=120)), "model": "claude-opus-4-7"}
        counted = meter_for("claude-opus-4-7").count(read(json.dumps(body).encode()))
        assert counted.raw * 0.9 < counted.tokens * TRUNCATED_BELOW
        provider.scripts = [says(reply("anthropic", "fine", round(counted.raw * 0.9)))]
        assert (await client.ask("anthropic", body))[0] == 200
        assert [got.json for got in provider.got] == [body]


async def test_a_prompt_with_pictures_that_is_cut_in_silence_is_noticed_too(provider):
    async with proxy(provider, window=30_000) as client:
        body = request(talk("anthropic", 30, words=120))
        body["messages"][0]["content"] = [PICTURES["anthropic"], {"type": "text", "text": "Please look."}]
        provider.scripts = [says(reply("anthropic", "what was the question?", 2_050))]
        _, said, _ = await client.ask("anthropic", body)
        assert b"fine" in said


async def test_a_stream_with_nothing_in_it_is_an_overflow_where_the_window_is_nearly_full(provider):
    async with proxy(provider, window=12_000) as client:
        provider.scripts = [streams()]
        session = talk("openai-chat", 16, words=120)
        _, said, _ = await client.ask("openai-chat", request(session), stream=True)
        assert b"fine" in said
        provider.scripts = [streams()]
        _, said, _ = await client.ask("openai-chat", request(talk("openai-chat", 1)), stream=True)
        assert said == b"", "a small prompt was not too large"


async def test_the_output_limit_is_made_smaller_before_anything_is_folded(provider):
    text = "input length and `max_tokens` exceed context limit: 15000 + 64000 > 20000"
    async with proxy(provider, window=100_000) as client:
        provider.scripts = [says({"type": "error", "error": {"type": "invalid_request_error", "message": text}}, 400)]
        body = {**request(talk("anthropic", 10)), "max_tokens": 64_000}
        status, _, _ = await client.ask("anthropic", body)
        assert status == 200
        assert provider.got[1].json == {**body, "max_tokens": 5_000}


@pytest.mark.parametrize("words", [60, 3_000], ids=["at rest", "folded"])
async def test_the_output_limit_of_a_packed_request_is_made_smaller_too(provider, words):
    text = "input length and `max_tokens` exceed context limit: 15000 + 64000 > 20000"
    async with proxy(provider, window=100_000) as client:
        refused = says({"type": "error", "error": {"type": "invalid_request_error", "message": text}}, 400)
        long = says(refusal("anthropic", 15_000, 12_000), 400)
        provider.scripts = [refused, long, refused]
        body = {**request(talk("anthropic", 10, words=words)), "max_tokens": 64_000}
        packed = gzip.compress(json.dumps(body).encode())
        status, _, _ = await client.post("/v1/messages", packed, content_encoding="gzip")
        assert status == 200
        assert [got.json["max_tokens"] for got in provider.got] == [64_000, 5_000, 5_000, 5_000]
        assert falling([len(str(got.json)) for got in provider.got[1:3]])
        assert not any("content-encoding" in got.headers for got in provider.got[1:])
        assert not provider.violations


async def test_it_is_never_clamped_below_what_it_is_to_think(provider):
    text = "input length and `max_tokens` exceed context limit: 15000 + 64000 > 20000"
    async with proxy(provider, window=100_000) as client:
        provider.scripts = [says({"type": "error", "error": {"type": "invalid_request_error", "message": text}}, 400)]
        thinking = {"type": "enabled", "budget_tokens": 8_000}
        body = {**request(talk("anthropic", 30, words=120)), "max_tokens": 64_000, "thinking": thinking}
        await client.ask("anthropic", body)
        assert provider.got[1].json["max_tokens"] == 64_000
        assert len(provider.got[1].body) < len(provider.got[0].body)


async def test_gemini_keeps_its_limit_elsewhere(provider):
    text = "maximum context length is 20000 tokens. However, you requested 79000 tokens (64000 in the completion)"
    async with proxy(provider, window=100_000) as client:
        provider.scripts = [says({"error": {"code": 400, "message": text}}, 400)]
        body = {**request(talk("gemini", 10)), "generationConfig": {"temperature": 1, "maxOutputTokens": 64_000}}
        await client.ask("gemini", body)
        assert provider.got[1].json["generationConfig"] == {"temperature": 1, "maxOutputTokens": 5_000}


@each
@both
@pytest.mark.parametrize("status", [401, 404, 429, 500, 503, 529])
async def test_what_is_no_overflow_is_passed_on_as_it_is(provider, dialect, stream, status):
    async with proxy(provider, window=30_000) as client:
        body = {"error": {"type": "rate_limit_error", "message": "too many tokens: prompt is too long"}}
        provider.scripts = [says(body, status, **{"retry-after": "7"})]
        got, said, headers = await client.ask(dialect, request(talk(dialect, 2)), stream=stream)
        assert (got, json.loads(said), headers["retry-after"]) == (status, body, "7")
        assert len(provider.got) == 1


async def test_a_limit_on_tokens_a_minute_is_no_overflow(provider):
    body = {"error": {"code": "rate_limit_exceeded", "message": "Request too large: tokens per minute"}}
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [says(body, 413)]
        status, said, _ = await client.ask("openai-chat", request(talk("openai-chat", 20)))
        assert (status, json.loads(said)) == (413, body)


@each
async def test_an_error_inside_a_stream_that_is_no_overflow_is_passed_on(provider, dialect):
    event = b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"busy"}}\n\n'
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [streams(event)]
        assert (await client.ask(dialect, request(talk(dialect, 20)), stream=True))[1] == event
        assert len(provider.got) == 1


async def test_when_nothing_fits_the_provider_says_so_itself():
    async with Provider(window=100) as provider, proxy(provider, window=2_000) as client:
        body = {**request(talk("anthropic", 1)), "system": "x " * 4_000}
        status, said, headers = await client.ask("anthropic", body)
        assert status == 400
        assert json.loads(said)["error"]["type"] == "invalid_request_error"
        assert "cannot-fit" in headers["x-foldline-notice"]
