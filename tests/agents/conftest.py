"""What the tests of real agents share."""

import pytest

pytest.importorskip("aiohttp")

from tests.agents.desk import Desk


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)
