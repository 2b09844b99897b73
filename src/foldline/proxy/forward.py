"""Towards the provider: one request to an address of the table, no redirect followed, no cookie kept. Tries once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from foldline.errors import UpstreamNotAllowed
from foldline.proxy.upstreams import Upstream, origin

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS = 10.0
READ_SECONDS = 600.0
"""Between two bytes of an answer: what the SDKs themselves wait for."""
IDLE_SECONDS = 4.0
"""A connection is not used again after this: common servers hang up after five, and a request must not meet that."""
FIELD_MOST = 65_536
"""Bytes of one header of an answer."""
_ALL_SAID = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
"""What the client did not say is not said for it."""


class Forwarder:
    """Holds the connections to the providers."""

    def __init__(self) -> None:
        import aiohttp

        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=READ_SECONDS),
            auto_decompress=False,
            trust_env=False,
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
        from multidict import CIMultiDict
        from yarl import URL

        if origin(url) != upstream.origin:
            raise UpstreamNotAllowed("this address is not the upstream's")
        return await self._session.request(
            method,
            URL(url, encoded=True),
            headers=CIMultiDict(headers),
            data=body,
            allow_redirects=False,
            skip_auto_headers=_ALL_SAID,
        )

    @property
    def session(self) -> aiohttp.ClientSession:
        return self._session

    async def close(self) -> None:
        await self._session.close()
