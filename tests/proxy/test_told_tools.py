"""An agent that has Foldline's tools is told of them, one that has not is not, and views stay the same bytes."""

import json

import pytest
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, SLOTS, Provider

from foldline import Archive
from foldline.archive.memory import MemoryArchive
from foldline.proxy.rooms import Rooms, Settings
from foldline.testing import Session
from foldline.tools.table import TOOLS

pytestmark = pytest.mark.anyio
each = pytest.mark.parametrize("dialect", DIALECTS)
either = pytest.mark.parametrize("tools", [False, True], ids=["without", "with"])
NAMES = {tool.name for tool in TOOLS}


def named(got):
    """The tools that a request names."""
    said = got.body.decode()
    return {name for name in NAMES if f"{name}(" in said or f"`{name}`" in said}


def long_results(dialect):
    """Results that become stubs before there is need of a checkpoint, in words of about a token each."""
    session = Session(dialect, system="You are a careful agent.", model="" if dialect == "gemini" else "test-model")
    session.user("Please look at all files.")
    for number in range(6):
        session.tools(("read", json.dumps({"path": f"a{number}.py"}), "some plain words about it " * 400))
    return session


@each
@either
async def test_a_stub_names_the_tool_that_shows_its_original(provider, dialect, tools):
    async with proxy(provider, window=16_000, tools=tools) as client:
        session = long_results(dialect)
        status, _, headers = await client.ask(dialect, request(session))
        assert (status, headers["x-foldline-action"]) == (200, "prune")
        assert named(provider.got[0]) == ({"session_read"} if tools else set())
        grow(session, 99, words=5)
        _, _, headers = await client.ask(dialect, request(session))
        assert headers["x-foldline-action"] == "rest"
        before, after = (got.json[SLOTS[dialect]] for got in provider.got)
        assert json.dumps(after[: len(before)]) == json.dumps(before)
        assert not provider.violations


@each
@either
async def test_a_checkpoint_names_search_and_plan(dialect, tools):
    async with Provider(window=8_000) as provider, proxy(provider, window=8_000, tools=tools) as client:
        session = talk(dialect, 40, words=120)
        _, _, headers = await client.ask(dialect, request(session))
        assert headers["x-foldline-action"] == "compact"
        assert named(provider.got[0]) == ({"session_search", "plan"} if tools else set())
        grow(session, 99, words=5)
        await client.ask(dialect, request(session))
        before, after = (got.json[SLOTS[dialect]] for got in provider.got)
        assert json.dumps(after[: len(before)]) == json.dumps(before)
        assert not provider.violations


@each
async def test_a_request_that_fits_goes_on_as_it_came(provider, dialect):
    async with proxy(provider, window=200_000, tools=True) as client:
        session = talk(dialect, 5)
        for number in range(3):
            body = json.dumps(request(session)).encode()
            await client.ask(dialect, body)
            assert provider.got[-1].body == body
            await client.running.door.close_behind()
            grow(session, 10 + number, words=5)


async def test_counts_are_of_the_same_view(provider):
    async with proxy(provider, window=16_000, tools=True) as client:
        body = request(long_results("anthropic"))
        await client.ask("anthropic", body)
        await client.post("/v1/messages/count_tokens", body)
        sent, counted = provider.got
        assert counted.json["messages"] == sent.json["messages"]
        assert named(counted) == {"session_read"}


async def test_another_proxy_with_the_same_archive_shows_the_same_view(provider, tmp_path):
    session = long_results("anthropic")
    for _ in range(2):
        async with proxy(provider, window=16_000, tools=True, archive=Archive(tmp_path / "a.db")) as client:
            await client.ask("anthropic", request(session))
    first, second = provider.got
    assert named(first) == {"session_read"}
    assert first.body == second.body


@either
def test_a_checkpoint_names_the_memory_files_of_the_agents_folder(tmp_path, tools):
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\n## Testing\n\nRun the tests.\n")
    shown, codes = _folded(str(tmp_path), tools)
    assert ("`memory_read`" in shown) is tools
    assert ("CLAUDE.md" in shown) is tools
    assert codes == []


def test_a_folder_that_is_not_on_this_machine_is_no_fault(tmp_path):
    shown, codes = _folded(str(tmp_path / "gone"), True)
    assert "`session_search`" in shown
    assert "memory_read" not in shown
    assert codes == []


def _folded(folder, tools):
    """What a conversation is shown as that was folded, and the codes of the notices."""
    session = Session(model="m").user("Please look at all files.")
    for number in range(30):
        session.tools(("read", "{}", f"line {number} " * 200), text=f"Reading file {number}.")
    session.assistant("Done.").user("And now?")
    settings = Settings(window=8_000, secret=b"s" * 16, tools=tools)
    room = Rooms(settings, MemoryArchive()).room("up", "m", folder)
    fitted, _ = room.fit(session.conversation())
    assert fitted.receipt.action == "compact"
    return json.dumps(fitted.request), [notice.code for notice in fitted.receipt.notices]
