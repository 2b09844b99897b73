"""What the proxy folded is found by the agent's tools, in the folder where the agent works and nowhere else.

`foldline run` knows its own folder. Behind a proxy that is kept running, agents name theirs to the model; where nobody
says it, the tools say how the sessions can be reached.
"""

import asyncio
import json
import os
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import DIALECTS, Provider

from foldline import Archive
from foldline.mcp.server import answered
from foldline.proxy.routes import folder
from foldline.testing import Session
from foldline.tools import Desk

pytestmark = pytest.mark.anyio
FOLDLINE = [sys.executable, "-m", "foldline.cli.main"]
AGENT = """
import json, os, sys, urllib.request
for body in json.load(open(sys.argv[1])):
    url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
    headers = {"content-type": "application/json", "x-api-key": "k"}
    said = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
    print(said.headers["x-foldline-action"])
"""


def told(archive, root):
    """What an agent that works at `root` is told."""
    desk = Desk(archive, root=root, scope=str(root), reach="project")
    return [answered(desk, *asked).text for asked in (("session_search", {"query": "line3-7"}), ("context_status", {}))]


def bodies(turns=3):
    session = talk("anthropic", 40, words=120)
    for number in range(turns):
        yield request(session)
        grow(session, 100 + number)


async def test_what_was_folded_under_run_is_found_over_mcp_in_the_same_folder_and_in_no_other(tmp_path):
    here, there = tmp_path / "here", tmp_path / "there"
    for place in (here, there):
        place.mkdir()
    (here / "bodies.json").write_text(json.dumps(list(bodies())))
    async with Provider(window=8_000) as provider:
        config = tmp_path / "proxy.toml"
        config.write_text(f'[upstreams.anthropic]\nurl = "{provider.url}"\ndialect = "anthropic"\n')
        env = {**os.environ, "FOLDLINE_HOME": str(tmp_path / "data")}
        line = [*FOLDLINE, "run", "--config", str(config), "--upstream", "anthropic", "--window", "8000", "--"]
        child = await asyncio.create_subprocess_exec(
            *line, *(sys.executable, "-c", AGENT, "bodies.json"), cwd=here, env=env, stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(child.communicate(), 60)
    assert out.split() == [b"compact", b"rest", b"rest"]

    async def asked(place):
        program = StdioServerParameters(command=FOLDLINE[0], args=[*FOLDLINE[1:], "mcp"], env=env, cwd=str(place))
        async with Client(program) as client:
            calls = ("session_search", {"query": "line3-7"}), ("context_status", {})
            return ["".join(part.text for part in (await client.call_tool(*call)).content) for call in calls]

    found, status = await asked(here)
    assert "1 message found" in found
    assert "checkpoints" in status
    found, status = await asked(there)
    assert "Nothing was found" in found
    assert "Nothing is stored" in status
    for said in (found, status):
        assert "Outside this project, 3 sessions can be found" in said
        assert "line3-7" not in said


def prompted(dialect, where):
    """A conversation of an agent that says where it works, as agents do in that dialect."""
    claude = f"You are an agent.\n<env>\nWorking directory: {where}\nIs directory a git repo: No\n</env>"
    session = Session(dialect, system="" if dialect == "openai-responses" else claude, model="test-model")
    if dialect == "openai-responses":
        session.user(f"<environment_context>\n  <cwd>{where}</cwd>\n  <shell>bash</shell>\n</environment_context>")
    session.user("Please look at all files.")
    for number in range(40):
        grow(session, number, 120)
    return session


@pytest.mark.parametrize("dialect", DIALECTS)
async def test_an_agent_that_names_its_folder_finds_what_was_folded_there(dialect, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    (tmp_path / "by-another-name").symlink_to(one)
    with closing(Archive(tmp_path / "archive.db")) as archive:
        async with Provider(window=8_000) as provider, proxy(provider, window=8_000, archive=archive) as client:
            for where in (tmp_path / "by-another-name", other):  # they begin alike, word for word
                session = prompted(dialect, where)
                for number, action in enumerate(("compact", "rest", "rest")):
                    assert (await client.ask(dialect, request(session)))[2]["x-foldline-action"] == action
                    grow(session, 100 + number)
            assert not provider.violations
        for place in (one, other):
            found, status = told(archive, place)
            assert "1 message found" in found
            assert "session " in status
        assert {session.project for session in archive.sessions()} == {str(one), str(other)}
        assert list(archive.verify()) == []


async def test_every_branch_of_a_conversation_belongs_to_its_project(tmp_path):
    with closing(Archive(tmp_path / "archive.db")) as archive:
        async with Provider() as provider, proxy(provider, archive=archive, project=str(tmp_path)) as client:
            for second in ("this", "that"):
                session = Session("anthropic", model="test-model").user("hello").assistant("yes?").user(second)
                assert (await client.ask("anthropic", request(session)))[0] == 200
        assert {session.project for session in archive.sessions()} == {str(tmp_path)}
        assert len(archive.sessions()) > 1


async def test_sessions_that_name_no_folder_are_not_found_and_the_tools_say_how_they_are(tmp_path):
    with closing(Archive(tmp_path / "archive.db")) as archive:
        async with Provider(window=8_000) as provider, proxy(provider, window=8_000, archive=archive) as client:
            for body in bodies(1):
                await client.ask("anthropic", body)
        for said in told(archive, tmp_path):
            assert said.startswith("Nothing ")
            assert "foldline mcp --scope test (sessions without a project), or --all" in said
        desk = Desk(archive, scope="test", reach="scope")
        assert "1 message found" in answered(desk, "session_search", {"query": "line3-7"}).text


async def test_an_empty_archive_has_nothing_outside_either(tmp_path):
    with closing(Archive(tmp_path / "archive.db")) as archive:
        assert not any("Outside" in said for said in told(archive, tmp_path))


@pytest.mark.parametrize(
    ("system", "found"),
    [
        ("Working directory: /a/b c\nPlatform: linux", "/a/b c"),
        ("# Environment\n - Primary working directory: /a/b\r\n - Platform: linux", "/a/b"),
        ("Current working directory: `/a`", "/a"),
        ("Never leave the working directory: it is yours.", ""),
        ("You are an agent.", ""),
    ],
)
async def test_the_folder_is_read_from_what_agents_say_of_it(system, found):
    assert folder(Session("anthropic", system=system).user("hi").conversation()) == found


async def test_what_a_user_or_a_tool_says_names_no_folder():
    session = Session("anthropic", system="You are an agent.").user("Working directory: /etc")
    session.tools(("read", "{}", "<environment_context><cwd>/etc</cwd></environment_context>"))
    assert folder(session.conversation()) == ""


async def test_a_folder_that_is_no_path_is_none(provider):
    async with proxy(provider, project=str(Path.home())) as client:
        rooms = client.running.door.rooms
        assert rooms.room("test", "m", "somewhere").scope == f"test {Path.home()}"
        assert rooms.room("test", "m", "/srv/app").scope == "test /srv/app"


@pytest.mark.parametrize(
    "said",
    [
        Session("anthropic", system="Working directory: /home/x" + " " * 200_000 + ".").user("hi"),
        Session("anthropic", system="Working directory:\n" * 20_000).user("hi"),
        Session("openai-responses").user("<environment_context>" + "<cwd>/a\n" * 100_000),
        Session("openai-responses").user("<environment_context>" + " " * 200_000 + "<cwd>" + " " * 200_000),
    ],
    ids=["blanks", "lines", "tags", "holes"],
)
def test_a_folder_is_sought_in_a_time_that_grows_with_the_text_and_not_with_its_square(said):
    conversation = said.conversation()
    start = time.process_time()
    folder(conversation)
    assert time.process_time() - start < 0.5  # the square of it takes minutes
