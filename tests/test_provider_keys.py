"""The provider's own key, in a header, in an address, in the environment: whatever fails, it is found nowhere after.

Callers by themselves are in callers/test_keys.py, the keys of a proxy's clients in proxy/test_canary.py; here are those
who have a caller: the Compactor with its archive, receipts and notices, the command line, and the proxy.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import subprocess
import sys

import pytest
from tests.callers.providers import CASES, base_of
from tests.callers.server import Say, closed_port, serving
from tests.cli.conversations import anthropic
from tests.proxy.client import grow, proxy, request, talk
from tests.proxy.provider import Provider
from tests.proxy.test_canary import disk, holds

from foldline import Archive, Budget, Compactor
from foldline.callers import Retry, caller
from foldline.errors import InvalidSetting
from foldline.testing import Session

KEY = "sk-kanarie+/=7f3a9c51d2-own"
PLAIN = "kanarie-7f3a9c51d2-plain"
"""One that can stand anywhere in an address."""
ECHO = {"error": {"message": f"bad key {KEY}", "type": KEY, "code": KEY, "param": KEY}}
OVERFLOW = {"error": {"message": f"prompt is too long: 9000 tokens > 4000 maximum ({KEY})", "type": KEY}}
FAULTS = {
    "rejected": Say(401, ECHO),
    "refused": Say(400, ECHO),
    "forbidden, in HTML": Say(403, f"<html>{KEY}</html>", {"content-type": "text/html"}),
    "too large": Say(400, OVERFLOW),
    "rate limited": Say(429, ECHO, {"retry-after": "0"}),
    "out of order": Say(500, ECHO),
    "no JSON": Say(200, f'{{"text": "{KEY}'),
    "another form": Say(200, {"hello": KEY}),
    "no status line": Say(raw=f"{KEY} is not a status line\r\n\r\n".encode()),
    "cut": Say(200, b"{" + KEY.encode() * 50, cut=100),
    "hung up": Say(hang_up=True),
    "redirected": Say(302, b"", {"location": f"http://127.0.0.1:9/{KEY}"}),
    "late": Say(200, b"{", wait=1.0),
}
FAST = Retry(tries=2, first=0.01, most=0.01)
PROVIDERS = [case.name for case in CASES]


@pytest.fixture
def server():
    with serving() as found:
        yield found


def logged(caplog):
    """All that was logged, but for the words of a server in the HTTP library's own DEBUG lines: who asks for those gets
    its status line and headers, whatever it writes there."""
    records = (record for record in caplog.records if "receive_response_headers" not in record.getMessage())
    return "\n".join(f"{record.getMessage()} {vars(record)!r} {record.exc_text}" for record in records)


def session():
    found = Session(system="You are careful.").user("Sort the handlers.")
    for number in range(12):
        found.tools(
            ("Bash", json.dumps({"command": f"grep -rn handler{number} src"}), f"handler {number} is here\n" * 60)
        )
    return found.user("Go on.")


def assert_nowhere(places, secret=KEY):
    assert [
        name for name, said in places.items() if holds(said if isinstance(said, bytes) else said.encode(), secret)
    ] == []


@pytest.mark.parametrize("case", CASES, ids=PROVIDERS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_compactor_whose_model_fails_shows_it_nowhere(server, tmp_path, caplog, capfd, case, fault):
    caplog.set_level(logging.DEBUG)
    server.says(FAULTS[fault])
    deadline = 0.15 if fault == "late" else 20.0
    asked = caller(case.name, key=KEY, base_url=base_of(case, server.url), retry=FAST, deadline=deadline)
    told = []
    with contextlib.closing(Archive(tmp_path / "archive.db")) as archive:
        compactor = Compactor(Budget(window=6_000, reserve=500), asked, archive=archive, listen=told.append)
        folded = compactor.fit(session().request())
        assert folded.receipt.action == "compact"
        shown = [folded, folded.receipt, folded.view, folded.checkpoint, compactor, vars(compactor), asked, told]
        again = asyncio.run(compactor.ahandoff(session().request()))
        during = disk(tmp_path)
    assert server.heard
    assert all(KEY in heard.headers[case.key_header] for heard in server.heard)
    assert folded.receipt.attempts[0].outcome
    places = {f"value {number}": repr(value) for number, value in enumerate((*shown, again))}
    places |= {"receipt": json.dumps(dataclasses.asdict(folded.receipt), default=repr), "log": logged(caplog)}
    places |= dict(zip(("output", "errors"), capfd.readouterr(), strict=True))
    assert_nowhere({**places, **during, **{f"{name} at the end": data for name, data in disk(tmp_path).items()}})


def test_nobody_there_shows_it_nowhere(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with closed_port() as port, contextlib.closing(Archive(tmp_path / "archive.db")) as archive:
        asked = caller("anthropic:x", key=KEY, base_url=f"http://127.0.0.1:{port}", retry=FAST)
        folded = Compactor(Budget(window=6_000, reserve=500), asked, archive=archive).fit(session().request())
    assert "cannot be reached" in folded.receipt.attempts[0].outcome
    assert_nowhere({"fit": repr(folded), "receipt": repr(folded.receipt), "log": logged(caplog), **disk(tmp_path)})


ADDRESSES = [
    "https://user:{}@api.example.com/v1",
    "https://api.example.com/v1?key={}",
    "https://api.example.com/v1#{}",
    "https://{}@api.example.com/v1",
    "ftp://{}/v1",
    "https://[{}/v1",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_with_a_key_in_it_is_refused_without_showing_it(address, caplog):
    with pytest.raises(InvalidSetting) as caught:
        caller("openai-compatible:x", base_url=address.format(PLAIN))
    assert_nowhere({"error": f"{caught.value} {caught.value!r}", "log": logged(caplog)}, PLAIN)


# --- as programs of their own, with every place they may write to in one folder


def environment(folder, **more):
    (folder / "tmp").mkdir(exist_ok=True)
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"), KEY)
    places = {"HOME": str(folder), "TMPDIR": str(folder / "tmp"), "FOLDLINE_HOME": str(folder / "home")}
    network = dict.fromkeys(("HTTPS_PROXY", "https_proxy"), "http://127.0.0.1:9")
    return {**os.environ, **keys, **places, **network, "FOLDLINE_DEBUG": "1", **more}


def program(folder, *line):
    said = [sys.executable, "-X", "dev", "-m", "foldline.cli.main", *map(str, line)]
    return subprocess.run(said, capture_output=True, timeout=60, cwd=folder, env=environment(folder))


@pytest.mark.parametrize("command", ["compact", "handoff"])
def test_the_command_line_shows_it_nowhere(server, tmp_path, command):
    """In the environment, in the path of an address, and in an address that is refused; with tracebacks on."""
    (tmp_path / "session.json").write_bytes(anthropic(steps=20))
    places, out = {}, ["--to", 20_000, "-o", tmp_path / "out.json", "--force", "--json"]
    for fault, name in (("rejected", "openai-compatible:x"), ("too large", "openai:x"), ("no JSON", "gemini:x")):
        server.says(FAULTS[fault])
        ran = program(
            tmp_path, command, "session.json", "--model", name, "--base-url", f"{server.url}/{PLAIN}/v1", *out
        )
        assert ran.returncode == 0
        assert server.heard
        places |= {f"{fault} output": ran.stdout, f"{fault} errors": ran.stderr}
    for address in ADDRESSES[:2]:
        ran = program(
            tmp_path, command, "session.json", "--model", "openai:x", "--base-url", address.format(PLAIN), *out
        )
        assert ran.returncode
        places |= {f"{address} output": ran.stdout, f"{address} errors": ran.stderr}
    files = disk(tmp_path)
    assert any(name.endswith("archive.db") for name in files) or command == "handoff"
    for secret in (KEY, PLAIN):
        assert_nowhere({**places, **files}, secret)


@pytest.mark.anyio
@pytest.mark.parametrize("fault", ["rejected", "too large", "no JSON", "cut", "hung up", "late"])
async def test_the_proxys_own_model_shows_it_nowhere(server, tmp_path, caplog, capfd, fault):
    """It is asked behind the turns' backs; what comes of that is told in logs, notices and metrics."""
    caplog.set_level(logging.DEBUG)
    server.says(FAULTS[fault])
    shown = []
    asked = caller("anthropic:x", key=KEY, base_url=server.url, retry=FAST, deadline=0.5)
    with contextlib.closing(Archive(tmp_path / "archive.db")) as archive:
        settings = {"window": 8_000, "model": asked, "archive": archive}
        async with Provider(window=8_000) as provider, proxy(provider, **settings) as client:
            talked = talk("anthropic", 1, words=120)
            for number in range(1, 30):
                grow(talked, number, words=120)
                shown.append(await client.ask("anthropic", request(talked)))
                await client.running.door.close_behind()
                await asyncio.sleep(0.01)
            origin = client.base.rsplit("/", 1)[0]
            for page in ("metrics", "status"):
                async with client.session.get(f"{origin}/{page}") as answer:
                    shown.append(await answer.text())
            shown += [client.running, vars(client.running.door), [got.body for got in provider.got]]
            during = disk(tmp_path)
    assert server.heard
    assert all(KEY in heard.headers["x-api-key"] for heard in server.heard)
    places = {f"answer {number}": repr(said) for number, said in enumerate(shown)} | {"log": logged(caplog)}
    places |= dict(zip(("output", "errors"), capfd.readouterr(), strict=True))
    assert_nowhere({**places, **during, **{f"{name} at the end": data for name, data in disk(tmp_path).items()}})
