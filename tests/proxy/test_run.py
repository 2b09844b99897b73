"""The README's commands that put an agent behind the proxy, run as they stand, with stand-ins for the agents.

Each stand-in finds the address where the real program looks for it, and nowhere else: Claude Code in its environment,
Codex in its `-c` settings, a script in what the SDKs read. Where the providers are is said by the config file.
"""

import asyncio
import os
import re
import signal
import sys
from pathlib import Path

import pytest
from tests.proxy.provider import Provider

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
