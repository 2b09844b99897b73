"""What the proxy's tests share: one event loop backend, and a provider that runs for one test."""

import pytest

pytest.importorskip("aiohttp")

from tests.proxy.provider import Provider


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
async def provider():
    async with Provider() as running:
        yield running
