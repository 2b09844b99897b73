"""The official SDKs through the proxy, in all they do: sync and async, whole and streamed, tools, counting, errors."""

from __future__ import annotations

import asyncio
import json

import anthropic
import openai
import pytest
from tests.proxy.agents import AGENTS
from tests.proxy.client import proxy
from tests.proxy.provider import Provider, absent, refusal, reply, says, size, streams
from tests.proxy.scripted import answer

from foldline.validators import check

pytestmark = pytest.mark.anyio
each = pytest.mark.parametrize("agent", AGENTS, ids=[agent.dialect for agent in AGENTS])
OPENED = []
HELLO = [{"role": "user", "content": "hello"}]
OUTGROWN = [{"role": "user", "content": f"{number} " + "word " * 600} for number in range(30)]


class Tooled(Provider):
    """A provider whose model calls two tools at once for each of the user's messages."""

    async def _answer(self, dialect, request, sent):
        tokens = size(sent)
        if self.window is not None and tokens > self.window:
            return await super()._answer(dialect, request, sent)
        self.violations += [str(violation) for violation in check(sent, dialect)]
        return await answer(request, dialect, sent, tokens)


@pytest.fixture(autouse=True)
async def _closed():
    """What a test opened is closed while its loop still runs."""
    yield
    while OPENED:
        await OPENED.pop().close()


def of_anthropic(client, retries=0):
    OPENED.append(anthropic.AsyncAnthropic(base_url=client.base, api_key="none", max_retries=retries))
    return OPENED[-1]


def of_openai(client):
    OPENED.append(openai.AsyncOpenAI(base_url=f"{client.base}/v1", api_key="none", max_retries=0))
    return OPENED[-1]


@each
async def test_an_agent_with_parallel_tools_outgrows_its_window(agent):
    async with Tooled(window=4_000) as provider, proxy(provider, window=4_000, dialect=agent.dialect) as client:
        one = agent(client.base)

        def loop():
            return [one.turn(f"Bed {turn}, please.", "carrot beet leek " * 60) for turn in range(15)]

        assert await asyncio.to_thread(loop) == ["The bed is fine."] * 15
        assert not provider.violations
        assert len(str(one.history)) > 2 * max(len(got.body) for got in provider.got)


async def test_anthropic_async_whole_streamed_and_counted():
    async with Provider(window=6_000) as provider, proxy(provider, window=6_000) as client:
        sdk = of_anthropic(client)
        asked = {"model": "m", "max_tokens": 32, "messages": OUTGROWN}
        raw = await sdk.messages.with_raw_response.create(**asked)
        assert raw.headers["x-foldline-action"] == "compact"
        assert (await raw.parse()).content[0].text == "fine"
        async with sdk.messages.stream(**asked) as stream:
            assert "".join([text async for text in stream.text_stream]).strip() == "fine"
        counted = await sdk.messages.count_tokens(model="m", messages=OUTGROWN)
        assert counted.input_tokens < 6_000
        assert not provider.violations


async def test_openai_async_whole_and_streamed():
    async with Provider(window=6_000) as provider, proxy(provider, window=6_000, dialect="openai-chat") as client:
        sdk = of_openai(client)
        said = await sdk.chat.completions.create(model="m", messages=OUTGROWN)
        assert said.choices[0].message.content == "fine"
        stream = await sdk.chat.completions.create(model="m", messages=OUTGROWN, stream=True)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]) == "fine "
        assert (await sdk.responses.create(model="m", input=OUTGROWN)).output_text == "fine"
        assert not provider.violations
        assert (await sdk.responses.create(model="m", input="just a string")).output_text == "fine"


async def test_openai_raw_events_of_a_response(provider):
    async with proxy(provider, dialect="openai-responses") as client:
        stream = await of_openai(client).responses.create(model="m", input=HELLO, stream=True)
        assert [event.type async for event in stream][-1] == "response.completed"


ANTHROPIC_ERRORS = {
    400: anthropic.BadRequestError,
    401: anthropic.AuthenticationError,
    403: anthropic.PermissionDeniedError,
    404: anthropic.NotFoundError,
    413: anthropic.APIStatusError,
    429: anthropic.RateLimitError,
    500: anthropic.InternalServerError,
    529: anthropic.InternalServerError,
}


@pytest.mark.parametrize("status", ANTHROPIC_ERRORS)
async def test_anthropic_sees_its_own_errors(provider, status):
    async with proxy(provider) as client:
        body = {"type": "error", "error": {"type": "told", "message": "said by the provider"}}
        provider.scripts = [says(body, status)]
        with pytest.raises(ANTHROPIC_ERRORS[status], match="said by the provider") as caught:
            await of_anthropic(client).messages.create(model="m", max_tokens=8, messages=HELLO)
        assert caught.value.status_code == status


OPENAI_ERRORS = {
    400: openai.BadRequestError,
    401: openai.AuthenticationError,
    403: openai.PermissionDeniedError,
    404: openai.NotFoundError,
    422: openai.UnprocessableEntityError,
    429: openai.RateLimitError,
    500: openai.InternalServerError,
}


@pytest.mark.parametrize("status", OPENAI_ERRORS)
async def test_openai_sees_its_own_errors(provider, status):
    async with proxy(provider, dialect="openai-chat") as client:
        provider.scripts = [says({"error": {"message": "said by the provider", "type": "t", "code": "c"}}, status)]
        with pytest.raises(OPENAI_ERRORS[status], match="said by the provider"):
            await of_openai(client).chat.completions.create(model="m", messages=HELLO)


async def test_the_sdks_own_retries_work_through_the_proxy(provider):
    async with proxy(provider) as client:
        busy = says(
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 529, **{"retry-after": "0"}
        )
        provider.scripts = [busy, busy]
        sdk = of_anthropic(client, retries=3)
        assert (await sdk.messages.create(model="m", max_tokens=8, messages=HELLO)).content[0].text == "fine"
        assert len(provider.got) == 3


async def test_an_overflow_never_reaches_the_sdk(provider):
    async with proxy(provider, window=30_000) as client:
        provider.scripts = [says(refusal("anthropic", 19_000, 15_000), 400)]
        sdk = of_anthropic(client)
        said = await sdk.messages.create(model="m", max_tokens=8, messages=OUTGROWN)
        assert said.content[0].text == "fine"
        assert len(provider.got) == 2


async def test_our_own_refusals_are_errors_the_sdks_know(provider):
    with absent() as gone:
        async with proxy(gone) as client:
            with pytest.raises(anthropic.APIStatusError, match="cannot be reached") as caught:
                await of_anthropic(client).messages.create(model="m", max_tokens=8, messages=HELLO)
            assert caught.value.body["error"]["type"] == "api_error"
        async with proxy(gone, dialect="openai-chat") as client:
            with pytest.raises(openai.InternalServerError, match="cannot be reached"):
                await of_openai(client).chat.completions.create(model="m", messages=HELLO)


async def test_thinking_with_its_signature_comes_through_and_goes_back_as_it_was(provider):
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"}
    said = {**reply("anthropic", "done", 50), "content": [thought, {"type": "text", "text": "done"}]}
    async with proxy(provider) as client:
        provider.scripts = [says(said)]
        sdk = of_anthropic(client)
        first = await sdk.messages.create(model="m", max_tokens=2_048, messages=HELLO)
        history = [*HELLO, {"role": "assistant", "content": first.content}, {"role": "user", "content": "more"}]
        await sdk.messages.create(model="m", max_tokens=2_048, messages=history)
        assert provider.got[1].json["messages"][1]["content"][0] == thought


async def test_an_image_comes_through_as_it_was(provider):
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgo" * 50}}
    async with proxy(provider, dialect="openai-chat") as client:
        asked = [{"role": "user", "content": [{"type": "text", "text": "what is it?"}, picture]}]
        await of_openai(client).chat.completions.create(model="m", messages=asked)
        assert provider.got[0].json["messages"] == asked


async def test_a_stream_that_is_cut_is_an_error_and_no_short_answer(provider):
    start = b'event: message_start\ndata: {"type":"message_start","message":' + _start() + b"}\n\n"
    block = b'data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n'
    async with proxy(provider) as client:
        provider.scripts = [streams(start, b"event: content_block_start\n" + block, cut=True)]
        sdk = of_anthropic(client)
        with pytest.raises(Exception, match=r"(?i)peer|incomplete|connection|closed"):
            async with sdk.messages.stream(model="m", max_tokens=8, messages=HELLO) as stream:
                await stream.get_final_message()


def _start() -> bytes:
    return json.dumps({**reply("anthropic", "", 9), "content": [], "stop_reason": None}).encode()


async def test_other_paths_of_the_sdks_pass_through(provider):
    async with proxy(provider, dialect="openai-chat") as client:
        provider.scripts = [
            says({"object": "list", "data": [{"id": "m", "object": "model", "created": 0, "owned_by": "x"}]})
        ]
        models = [model.id async for model in of_openai(client).models.list()]
        assert models == ["m"]
        assert provider.got[0].path == "/v1/models"
