"""The official client, over both transports: it lists and calls every tool, and mistakes come back as advice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import asynccontextmanager

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from foldline import Archive
from foldline.errors import Busy
from foldline.mcp.server import answered
from foldline.tools import TOOLS, Desk

WAYS = ["stdio", "bearer", "secret path"]
FIRST = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
OFFERED = [tool for tool in TOOLS if not tool.live]


@asynccontextmanager
async def _client(way, house, served, mode="auto"):
    if way == "stdio":
        program = StdioServerParameters(command=house.line[0], args=house.line[1:], env=dict(os.environ))
        async with Client(program, mode=mode) as client:
            yield client
    elif way == "secret path":
        async with Client(f"{served.address}/{served.token}/mcp", mode=mode) as client:
            yield client
    else:
        async with (
            httpx2.AsyncClient(headers=served.headers) as http,
            Client(streamable_http_client(f"{served.address}/mcp", http_client=http), mode=mode) as client,
        ):
            yield client


def _talk(way, house, served, mode, *calls):
    """The tools that are listed, and the answers to some calls."""

    async def talk():
        async with _client(way, house, served, mode) as client:
            listed = (await client.list_tools()).tools
            return listed, [await client.call_tool(name, arguments) for name, arguments in calls]

    with anyio.from_thread.start_blocking_portal() as portal:
        return portal.call(talk)


def _text(result) -> str:
    return "".join(part.text for part in result.content)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("way", WAYS)
def test_every_tool_is_listed_and_can_be_called(way, mode, house, served):
    calls = {
        "session_search": {"query": "commas"},
        "session_read": {"ref": house.message},
        "plan": {"operation": "create", "title": "Commas", "tasks": [{"title": "find the bug"}]},
        "memory_list": {},
        "memory_read": {"name": "CLAUDE.md", "section": "Rules"},
        "context_status": {},
    }
    listed, answers = _talk(way, house, served, mode, *calls.items())
    assert {tool.name: tool.input_schema for tool in listed} == {tool.name: tool.schema for tool in OFFERED}
    assert list(calls) == [tool.name for tool in OFFERED]
    assert not any(answer.is_error for answer in answers)
    expected = ["1 message found", "my key is ghp_", "1. find the bug", "CLAUDE.md", "Be brief.", house.session]
    for answer, words in zip(answers, expected, strict=True):
        assert words in _text(answer)


def test_tools_say_what_they_do_to_the_world(house, served):
    listed, _ = _talk("bearer", house, served, "auto")
    writing = [tool.name for tool in listed if not tool.annotations.read_only_hint]
    assert writing == ["plan"]
    assert not any(tool.annotations.destructive_hint or tool.annotations.open_world_hint for tool in listed)


@pytest.mark.parametrize("way", WAYS[:2])
def test_mistakes_come_back_as_advice(way, house, served):
    wrong = [
        ("session_read", {"ref": "0" * 16}, "Find references with session_search"),
        ("session_read", {}, "session_read needs ref"),
        ("session_search", {"limit": 10**400}, "give a whole number from 1 to 50"),
        ("session_search", {"query": "x", "scope": "other"}, "has no argument 'scope'"),
        ("plan", {"operation": "complete", "task": 99, "evidence": "x"}, "Not done"),
        ("memory_read", {"name": "../../etc/passwd"}, "memory_list shows what there is"),
        ("nothing_like_it", {}, "there are session_search"),
        ("compact_now", {}, "no live session"),
    ]
    _, answers = _talk(way, house, served, "auto", *[(name, asked) for name, asked, _ in wrong])
    for answer, (_, __, words) in zip(answers, wrong, strict=True):
        assert answer.is_error
        assert words in _text(answer)


@pytest.mark.parametrize("way", WAYS[:2])
def test_hostile_input_leaves_the_server_standing(way, house, served):
    hostile = [
        ("session_search", {"query": '" OR 1=1; DROP TABLE nodes; -- \x00 \u202e'}),
        ("session_search", {"query": "a" * 100_000}),
        ("session_search", {"query": "commas", "file": "../../../etc/passwd", "tool": "'; --"}),
        ("session_read", {"ref": "' UNION SELECT 1", "page": -1}),
        ("memory_read", {"name": "/etc/passwd"}),
        ("memory_read", {"name": "CLAUDE.md\x00.txt"}),
        ("plan", {"operation": "create", "title": "\x1b[2J", "tasks": [[[[]]], {"title": {}}]}),
        ("x" * 10_000, {"\u0000": [{}] * 100}),
        ("session_search", {"query": "commas"}),
    ]
    _, answers = _talk(way, house, served, "auto", *hostile)
    assert "1 message found" in _text(answers[-1])
    assert all(len(_text(answer)) <= 24_000 for answer in answers)
    assert not any("root:" in _text(answer) for answer in answers)


def test_other_projects_are_not_found(house, served):
    _, (found,) = _talk("bearer", house, served, "auto", ("session_search", {"query": "another project"}))
    assert "Nothing was found" in _text(found)
    assert "Outside this project, 1 session can be found by a server that the user starts" in _text(found)
    assert "commas" not in _text(found)


def test_nothing_but_the_protocol_is_on_standard_output(house):
    lines = [json.dumps(FIRST), "this is not JSON", '{"jsonrpc": "2.0", "method": "notifications/initialized"}']
    ran = subprocess.run(
        house.line, input="\n".join(lines).encode() + b"\n", capture_output=True, timeout=60, check=True
    )
    answers = [json.loads(line) for line in ran.stdout.splitlines()]
    assert answers[0]["result"]["serverInfo"]["name"] == "foldline"
    assert b"Traceback" not in ran.stderr


def test_an_interrupt_ends_it_at_once(house):
    with subprocess.Popen(house.line, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(json.dumps(FIRST).encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == -signal.SIGINT


class Occupied(Archive):
    """Others write it by the time it is asked what there is."""

    def sessions(self, *_, **__):
        raise Busy("another process holds it")


def test_an_answer_is_told_although_what_lies_outside_cannot_be(house):
    archive = Occupied(house.archive)
    desk = Desk(archive, root=house.root, reach="project")
    for query, words in (("commas", "1 message found"), ("another project", "Nothing was found")):
        answer = answered(desk, "session_search", {"query": query})
        assert answer.ok
        assert words in answer.text
    archive.close()
