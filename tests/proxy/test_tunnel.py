"""WebSockets on their way through: as they are, to the upstream of the table and nowhere else."""

import asyncio

import aiohttp
import pytest
from aiohttp import web
from tests.proxy.client import proxy
from tests.proxy.provider import Provider, absent, says


async def until(true):
    async with asyncio.timeout(5):
        while not true():
            await asyncio.sleep(0.01)


class Echo:
    """Says again what it hears, and remembers how the client left."""

    left: tuple[int | None, str] | None = None

    async def __call__(self, request, _):
        socket = web.WebSocketResponse(max_msg_size=1 << 26, autoclose=False)
        await socket.prepare(request)
        while (frame := await socket.receive()).type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY):
            if frame.data == "leave":
                await socket.close(code=4321, message=b"that is all")
            elif frame.type is aiohttp.WSMsgType.TEXT:
                await socket.send_str("heard " + frame.data)
            else:
                await socket.send_bytes(frame.data[::-1])
        self.left = frame.data, frame.extra
        await socket.close()
        return socket


async def declined(client, path, **headers):
    """The status with which a socket is not opened."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as error:
        await client.session.ws_connect(client.base + path, headers=headers)
    return error.value.status


@pytest.mark.anyio
async def test_a_websocket_passes_untouched_and_not_for_web_pages(provider):
    async with proxy(provider) as client:
        provider.scripts = [Echo(), Echo()]
        url = client.base + "/v1/responses?model=x"
        async with client.session.ws_connect(url, headers={"authorization": "Bearer k"}) as socket:
            await socket.send_str("hello")
            assert await socket.receive_str() == "heard hello"
            await socket.send_bytes(b"abc")
            assert await socket.receive_bytes() == b"cba"
        assert provider.got[0].headers["authorization"] == "Bearer k"
        for bad in (
            {"url": url, "headers": {"origin": "https://evil.example"}},
            {"url": url.replace("/test/", "/no/")},
        ):
            with pytest.raises(aiohttp.WSServerHandshakeError):
                await client.session.ws_connect(**bad)
        assert len(provider.got) == 1


@pytest.mark.anyio
async def test_no_redirect_is_followed_so_no_key_goes_elsewhere(provider):
    async with Provider() as elsewhere, proxy(provider) as client:
        provider.scripts = [says({}, 307, location=f"{elsewhere.url}/v1/realtime")]
        status = await declined(client, "/v1/realtime", **{"x-api-key": "k"})
        assert elsewhere.got == []
        assert (status, len(provider.got)) == (502, 1)


@pytest.mark.anyio
@pytest.mark.parametrize("status", [401, 404, 429, 503])
async def test_a_socket_that_the_provider_does_not_open_is_declined_with_its_status(provider, status):
    async with proxy(provider) as client:
        provider.scripts = [says({}, status)]
        assert await declined(client, "/v1/realtime") == status


@pytest.mark.anyio
async def test_a_provider_that_knows_no_sockets_or_is_not_there_is_told(provider):
    async with proxy(provider) as client:
        provider.scripts = [says({})]
        assert await declined(client, "/v1/realtime") == 502
    with absent() as nobody:
        async with proxy(nobody) as client:
            assert await declined(client, "/v1/realtime") == 502


@pytest.mark.anyio
async def test_a_path_that_leads_elsewhere_is_refused(provider):
    async with proxy(provider) as client:
        assert await declined(client, "/v1/a%2Fb") == 403
        assert provider.got == []


@pytest.mark.anyio
async def test_each_side_hears_how_the_other_one_left(provider):
    echo = Echo()
    async with proxy(provider) as client:
        provider.scripts = [echo, Echo(), Echo()]
        async with client.session.ws_connect(client.base + "/v1/realtime") as socket:
            await socket.close(code=4000, message=b"enough")
        await until(lambda: echo.left == (4000, "enough"))
        async with client.session.ws_connect(client.base + "/v1/realtime") as socket:
            await socket.send_str("leave")
            frame = await socket.receive()
            assert (frame.data, frame.extra) == (4321, "that is all")


@pytest.mark.anyio
async def test_a_client_that_vanishes_is_let_go_at_the_provider(provider):
    echo = Echo()
    async with proxy(provider) as client:
        provider.scripts = [echo]
        socket = await client.session.ws_connect(client.base + "/v1/realtime")
        socket._response.connection.transport.abort()
        await until(lambda: echo.left == (1000, ""))


@pytest.mark.anyio
async def test_large_frames_go_both_ways(provider):
    async with proxy(provider) as client:
        provider.scripts = [Echo()]
        large = bytes(17 << 20)
        async with client.session.ws_connect(client.base + "/v1/realtime", max_msg_size=0) as socket:
            await socket.send_bytes(large)
            assert await socket.receive_bytes() == large


@pytest.mark.anyio
@pytest.mark.parametrize("name", ["codex_exec", "codex-tui", "codex_cli_rs"])
async def test_codex_is_asked_to_do_without_a_websocket(provider, name):
    """It has the whole history, and sends it by HTTP when it hears this."""
    async with proxy(provider) as client:
        with pytest.raises(aiohttp.WSServerHandshakeError) as declined:
            await client.session.ws_connect(client.base + "/v1/responses", headers={"originator": name})
        assert declined.value.status == 426
        assert provider.got == []
