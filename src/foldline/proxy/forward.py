"""Towards the provider: one request or WebSocket to an address of the table, no redirect followed, no cookie kept."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from foldline.errors import UpstreamNotAllowed
from foldline.proxy.upstreams import Upstream, origin

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

CONNECT_SECONDS = 10.0
READ_SECONDS = 600.0
"""Between two bytes of an answer: what the SDKs themselves wait for."""
IDLE_SECONDS = 4.0
"""A connection is not used again after this: common servers hang up after five, and a request must not meet that."""
FIELD_MOST = 65_536
"""Bytes of one header of an answer."""
FRAME_MOST = 64 << 20
"""Bytes of one frame of a WebSocket, to us or from us."""
REDIRECT = "answers with a redirect, which is not followed; check its URL"
"""Said of a provider that does."""
_ALL_SAID = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""What the client did not say is not said for it."""


class Forwarder:
    """Holds the connections to the providers."""

    def __init__(self) -> None:
        import aiohttp

        straight = aiohttp.TraceConfig()
        straight.on_request_redirect.append(_refuse)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=_ALL_SAID,
            trace_configs=[straight],
            max_line_size=FIELD_MOST,
            max_field_size=FIELD_MOST,
        )

    async def send(
        self,
        upstream: Upstream,
        url: str,
        method: str,
        headers: list[tuple[str, str]],
        body: bytes | AsyncIterator[bytes] | None,
    ) -> aiohttp.ClientResponse:
        """The answer, its body unread. The headers may hold the client's key, so they go to that origin only."""
        return await self._session.request(
            method, _address(upstream, url), headers=headers, data=body, allow_redirects=False
        )

    async def socket(
        self, upstream: Upstream, url: str, headers: list[tuple[str, str]], protocols: Iterable[str]
    ) -> aiohttp.ClientWebSocketResponse:
        """The same for a WebSocket. Raises aiohttp's WSServerHandshakeError where the provider opens none."""
        return await self._session.ws_connect(
            _address(upstream, url),
            headers=headers,
            protocols=protocols,
            autoclose=False,
            max_msg_size=FRAME_MOST,
        )

    async def close(self) -> None:
        await self._session.close()


def _address(upstream: Upstream, url: str) -> URL:
    from yarl import URL

    if origin(url) != upstream.origin:
        raise UpstreamNotAllowed("this address is not the upstream's")
    return URL(url, encoded=True)


async def _refuse(*_: object) -> None:
    """aiohttp's handshake for a WebSocket follows redirects and cannot be told not to: the key would go along."""
    raise UpstreamNotAllowed(REDIRECT)
