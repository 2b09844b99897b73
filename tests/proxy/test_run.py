"""The README's commands that put an agent behind the proxy, run as they stand, with stand-ins for the agents.

Each stand-in finds the address where the real program looks for it, and nowhere else: Claude Code in its environment,
Codex in its `-c` settings, a script in what the SDKs read. Where the providers are is said by the config file.
"""

import asyncio
import json
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from tests.proxy.client import request, talk
from tests.proxy.provider import Provider

from foldline.proxy import commands

ROOT = Path(__file__).parents[2]
SHOWN = re.findall(r"^foldline run -- .*$", (ROOT / "README.md").read_text("utf-8"), re.M)
CLAUDE = """
import json, os, urllib.request
body = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
headers = {"content-type": "application/json", "x-api-key": "of claude"}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true"
said = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
print(json.load(said)["content"][0]["text"])
"""
CODEX = """
import json, sys, tomllib, urllib.request
assert sys.argv[1::2] == ["-c", "-c"], sys.argv
assert sys.argv[2] == "model_provider=openai"
base = tomllib.loads(sys.argv[4])["openai_base_url"]
item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
body = {"model": "gpt-5-codex", "input": [item], "stream": True, "store": False}
headers = {"content-type": "application/json", "authorization": "Bearer of-codex"}
url = base + "/responses"
said = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
print("fine" if b"fine" in said and b"response.completed" in said else said)
"""
SCRIPT = """
import json, os, urllib.request
assert "127.0.0.1" in os.environ["GOOGLE_GEMINI_BASE_URL"]
body = {"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}
headers = {"content-type": "application/json", "authorization": "Bearer of-script"}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
said = urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers))
print(json.load(said)["choices"][0]["message"]["content"])
raise SystemExit(7)
"""
CODES = {"claude": 0, "codex": 0, "python": 7}
KEYS = {
    "/v1/messages": ("x-api-key", "of claude"),
    "/v1/responses": ("authorization", "Bearer of-codex"),
    "/v1/chat/completions": ("authorization", "Bearer of-script"),
}


@pytest.fixture
def desk(tmp_path):
    """A home, a folder to be in, and programs of the agents' names."""
    (tmp_path / "my_agent.py").write_text(SCRIPT)
    (tmp_path / "bin").mkdir()
    for name, code in {"claude": CLAUDE, "codex": CODEX}.items():
        program = tmp_path / "bin" / name
        program.write_text(f"#!{sys.executable}\n{code}")
        program.chmod(0o755)
    return tmp_path


def environment(desk, provider):
    config = desk / ".config" / "foldline" / "proxy.toml"
    config.parent.mkdir(parents=True)
    known = {"anthropic": "anthropic", "openai": "openai-responses"}
    tables = (f'[upstreams.{name}]\nurl = "{provider.url}"\ndialect = "{said}"\n' for name, said in known.items())
    config.write_text("".join(tables))
    path = os.pathsep.join((str(desk / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    return {**os.environ, "HOME": str(desk), "FOLDLINE_HOME": str(desk / "data"), "PATH": path}


@pytest.mark.anyio
async def test_the_commands_of_the_readme_put_each_agent_behind_the_proxy(desk):
    assert [line.split()[3] for line in SHOWN] == list(CODES)
    async with Provider() as provider:
        env = environment(desk, provider)

        async def ran(line):
            child = await asyncio.create_subprocess_shell(
                line, cwd=desk, env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
            )
            out, err = await asyncio.wait_for(child.communicate(), 60)
            return line, child.returncode, out.decode().strip(), err.decode()

        for line, code, out, err in await asyncio.gather(*map(ran, SHOWN)):
            assert (code, out) == (CODES[line.split()[3]], "fine"), f"{line}: {err}"
        assert not provider.violations
        got = {request.path: request for request in provider.got}
        assert got.keys() == KEYS.keys()
        assert got["/v1/messages"].query == "beta=true"
        for path, (header, key) in KEYS.items():
            assert got[path].headers[header] == key
    assert (desk / "data" / "archive.db").stat().st_size > 0
    assert list((desk / "data" / "proxies").iterdir()) == [], "each was stopped with its command"


@pytest.mark.anyio
async def test_a_hang_up_leaves_the_command_its_proxy(desk):
    """A terminal that goes tells the command itself, which may still have something to ask."""
    asking = "import signal, sys; signal.signal(signal.SIGHUP, lambda *_: None); print('up', flush=True); input()\n"
    (desk / "late.py").write_text(asking + SCRIPT)
    async with Provider() as provider:
        env, pipe = environment(desk, provider), asyncio.subprocess.PIPE
        command = ("foldline", "run", "--", "python", "late.py")
        child = await asyncio.create_subprocess_exec(*command, cwd=desk, env=env, stdin=pipe, stdout=pipe)
        assert await child.stdout.readline() == b"up\n"
        child.send_signal(signal.SIGHUP)
        out, _ = await asyncio.wait_for(child.communicate(b"go on\n"), 60)
        assert (child.returncode, out) == (7, b"fine\n")
    assert list((desk / "data" / "proxies").iterdir()) == []


@pytest.mark.anyio
async def test_a_summary_that_is_being_written_keeps_nobody(desk):
    """The command has ended: no answer will have the summary in it, and the shell is wanted back."""
    session = talk("anthropic", 9, words=300)
    (desk / "body.json").write_text(json.dumps(request(session)))
    (desk / "long.py").write_text(CLAUDE.replace("json.dumps(body)", "open('body.json').read()"))
    asked = asyncio.Event()

    async def writes_for_ever(*_):
        asked.set()
        await asyncio.sleep(300)

    async with Provider() as provider, Provider() as model:
        model.scripts = [writes_for_ever] * 9
        model_options = ("--model", "ollama:slow", "--model-url", model.url)
        command = (
            "foldline",
            "run",
            "--window",
            "20000",
            "--reserve",
            "500",
            *model_options,
            "--",
            "python",
            "long.py",
        )
        child = await asyncio.create_subprocess_exec(*command, cwd=desk, env=environment(desk, provider))
        await asyncio.wait_for(asked.wait(), 60)
        assert await asyncio.wait_for(child.wait(), 20) == 0


ASKING = """
import json, os, sys, urllib.request
for variable, path, key in json.loads(sys.argv[1]):
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    if path.endswith("/responses"):
        body = {"model": "m", "input": [{"role": "user", "content": "hi"}]}
    elif "models/" in path:
        body = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    headers = {"content-type": "application/json", "authorization": "Bearer " + key}
    url = os.environ[variable].rstrip("/") + path
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
"""
"""A client: it asks at the address that a variable says, with a path of its own behind it."""
VARIABLES = {variable for bases in commands._BASES.values() for variable, _ in bases}


async def asked(desk, said, asks, runs=1):
    """What a client asks behind `foldline run`, in an environment that says these addresses."""
    (desk / "asking.py").write_text(ASKING)
    env = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    env |= {"HOME": str(desk), "FOLDLINE_HOME": str(desk / "data"), **said}
    run = (sys.executable, "-m", "foldline.cli.main", "run", "--archive", "memory", "--")
    client = (sys.executable, str(desk / "asking.py"), json.dumps(asks))
    child = await asyncio.create_subprocess_exec(*run * runs, *client, env=env)
    assert await asyncio.wait_for(child.wait(), 120) == 0


GEMINI = "/models/m:generateContent"


@pytest.mark.anyio
async def test_requests_to_a_gateway_have_the_path_they_would_have_had(desk):
    """Whatever its address ends in: a client adds to it what it always does."""
    cases = [
        ("OPENAI_BASE_URL", "/v1beta/openai", "/chat/completions"),
        ("OPENAI_BASE_URL", "", "/chat/completions"),
        ("OPENAI_BASE_URL", "/v1/acct/gw/openai", "/responses"),
        ("OPENAI_BASE_URL", "/openai/deployments/d", "/chat/completions?api-version=1"),
        ("OPENAI_API_BASE", "/paas/v4", "/chat/completions"),
        ("GEMINI_API_BASE", "/g", GEMINI),
    ]
    async with Provider() as provider:
        runs = (asked(desk, {name: provider.url + base}, [(name, path, "k")]) for name, base, path in cases)
        await asyncio.gather(*runs)
        got = {f"{got.path}?{got.query}".rstrip("?") for got in provider.got}
        assert got == {base + path for _, base, path in cases}
        assert len(provider.got) == len(cases)
        assert not provider.violations


@pytest.mark.anyio
async def test_a_key_goes_to_the_gateway_of_its_own_variable(desk):
    """Two variables for one provider may say two addresses."""
    async with Provider() as one, Provider() as other:
        said = {"OPENAI_BASE_URL": f"{one.url}/v1", "OPENAI_API_BASE": f"{other.url}/gate"}
        said |= {"GOOGLE_GEMINI_BASE_URL": one.url, "GEMINI_API_BASE": f"{other.url}/v1beta"}
        asks = [
            ("OPENAI_BASE_URL", "/chat/completions", "one"),
            ("OPENAI_API_BASE", "/chat/completions", "other"),
            ("GOOGLE_GEMINI_BASE_URL", f"/v1beta{GEMINI}", "one"),
            ("GEMINI_API_BASE", GEMINI, "other"),
        ]
        await asked(desk, said, asks)
        for provider, key, paths in (
            (one, "one", ["/v1/chat/completions", f"/v1beta{GEMINI}"]),
            (other, "other", ["/gate/chat/completions", f"/v1beta{GEMINI}"]),
        ):
            assert [got.path for got in provider.got] == paths
            assert {got.headers["authorization"] for got in provider.got} == {f"Bearer {key}"}


@pytest.mark.anyio
async def test_a_run_within_a_run_asks_the_same(desk):
    async with Provider() as provider:
        said = {"OPENAI_BASE_URL": f"{provider.url}/openai", "GOOGLE_GEMINI_BASE_URL": provider.url}
        asks = [("OPENAI_BASE_URL", "/chat/completions", "k"), ("GEMINI_API_BASE", GEMINI, "k")]
        await asked(desk, said, asks, runs=2)
        assert [got.path for got in provider.got] == ["/openai/chat/completions", f"/v1beta{GEMINI}"]
