"""Who may ask over HTTP: whoever has the token, on this machine, by its own name. Nobody else gets a word."""

from __future__ import annotations

import json
from pathlib import Path

import httpx2
import pytest

from foldline.cli.main import run

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
TAKES = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def _post(served, path="/mcp", **headers):
    return httpx2.post(f"{served.address}{path}", headers={**TAKES, **headers}, content=json.dumps(LIST))


def test_the_token_opens_as_a_bearer_and_as_a_path(served):
    assert "session_search" in _post(served, **served.headers).text
    assert "session_search" in _post(served, f"/{served.token}/mcp").text


@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer wrong",
        "Basic {token}",
        "bearer{token}",
        "{token}",
        "Bearer {token}x",
        "Bearer é",
    ],
)
def test_without_the_token_everything_is_denied(served, authorization):
    given = {"Authorization": authorization.format(token=served.token).encode()} if authorization is not None else {}
    for path in ("/mcp", "/", "/wrong/mcp", f"/{served.token[:-1]}/mcp", f"/{served.token}", "/mcp/../mcp", "//mcp"):
        answer = _post(served, path, **given)
        assert answer.status_code == 401
        assert "session_search" not in answer.text
        assert "Authorization: Bearer" in answer.text


def test_two_tokens_are_none(served):
    both = [*TAKES.items(), ("Authorization", f"Bearer {served.token}"), ("Authorization", "Bearer x")]
    assert httpx2.post(f"{served.address}/mcp", headers=both, content=json.dumps(LIST)).status_code == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1:1", "[::1]:{port}"]
)
@pytest.mark.parametrize("path", ["/mcp", "/{token}/mcp"])
@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_another_host_is_refused_even_with_the_token(served, host, path, method):
    headers = {**TAKES, **served.headers, "Host": host.format(port=served.port)}
    address = f"{served.address}{path.format(token=served.token)}"
    answer = httpx2.request(method, address, headers=headers, content=json.dumps(LIST) if method == "POST" else None)
    assert answer.status_code == 421
    assert "session_search" not in answer.text


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost", "http://localhost"]
)
def test_another_origin_is_refused_even_with_the_token(served, origin):
    answer = _post(served, **served.headers, Origin=origin)
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_its_own_names_are_let_in(served):
    for name in (f"127.0.0.1:{served.port}", f"localhost:{served.port}"):
        assert _post(served, **served.headers, Host=name, Origin=f"http://{name}").status_code == 200


def test_a_body_too_large_is_refused(served):
    answer = httpx2.post(f"{served.address}/mcp", headers={**TAKES, **served.headers}, content=b"x" * ((1 << 20) + 1))
    assert answer.status_code == 413


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff" * 100])
def test_a_body_that_makes_no_sense_is_an_error_and_no_more(served, body):
    answer = httpx2.post(f"{served.address}/mcp", headers={**TAKES, **served.headers}, content=body)
    assert 400 <= answer.status_code < 500
    assert _post(served, **served.headers).status_code == 200


def test_a_method_that_is_not_there_is_an_error(served):
    body = json.dumps({**LIST, "method": "rm"})
    answer = httpx2.post(f"{served.address}/mcp", headers={**TAKES, **served.headers}, content=body)
    assert answer.json()["error"]["code"] == -32601


def test_it_listens_on_the_loopback_address_only(served):
    found = Path("/proc/net/tcp").read_text()
    port = f":{served.port:04X}"
    listening = [line.split()[1] for line in found.splitlines()[1:] if line.split()[3] == "0A"]
    assert [name for name in listening if name.endswith(port)] == [f"0100007F{port}"]


def _run(house, *more):
    return run([*house.line[3:], "--http", *more])


def test_a_port_that_is_taken_is_said(house, served, capsys):
    assert _run(house, "--port", str(served.port)) == 4
    said = capsys.readouterr().err
    assert f"port {served.port} of 127.0.0.1 cannot be had" in said
    assert "give another --port" in said


def test_a_weak_token_is_refused(house, monkeypatch, capsys):
    monkeypatch.setenv("FOLDLINE_MCP_TOKEN", "hunter2")
    assert _run(house, "--port", "0") == 4
    said = capsys.readouterr().err
    assert "set FOLDLINE_MCP_TOKEN to such a one, or unset it" in said
    assert "hunter2" not in said
