"""Who gets in: rebinding, cross-site requests, forged targets and smuggling, each by raw bytes to the real server."""

import asyncio
import gzip
import json

import pytest
from tests.proxy.client import proxy, request, talk

from foldline.errors import ForbiddenHost, InputError, Unauthorised, UpstreamNotAllowed
from foldline.proxy.guard import Guard, Refusal, new_secret
from foldline.proxy.serve import Config, start
from foldline.proxy.upstreams import Upstream, Upstreams, configured, made, refuse_itself, upstream

pytestmark = pytest.mark.anyio
BODY = json.dumps(request(talk("anthropic", 1))).encode()


async def raw(client, head: str, body: bytes = b"") -> int:
    """The status of what is answered to these bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", client.running.port)
    writer.write(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)
    await writer.drain()
    line = await asyncio.wait_for(reader.readline(), 5)
    writer.close()
    return int(line.split()[1]) if line else 0


def head(client, *, path=None, host=None, more="", method="POST", length=None, kind="application/json"):
    path = path if path is not None else f"/{client.running.secret}/test/v1/messages"
    host = host if host is not None else f"127.0.0.1:{client.running.port}"
    size = f"\nContent-Length: {len(BODY) if length is None else length}" if length != "" else ""
    return f"{method} {path} HTTP/1.1\nHost: {host}\nContent-Type: {kind}{size}{more}"


async def test_a_good_request_gets_in(provider):
    async with proxy(provider) as client:
        assert await raw(client, head(client), BODY) == 200
        assert len(provider.got) == 1


HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost.evil.example:{port}",
    "127.0.0.1.nip.io:{port}",
    "0.0.0.0:{port}",
    "[::ffff:127.0.0.1]:{port}",
    "127.1:{port}",
    "2130706433:{port}",
    "localhost:{port}@evil.example",
    "localhost:{port}, evil.example",
    "",
]


@pytest.mark.parametrize("host", HOSTS)
async def test_another_name_is_refused(provider, host):
    async with proxy(provider) as client:
        status = await raw(client, head(client, host=host.format(port=client.running.port)), BODY)
        assert status in (400, 403)
        assert not provider.got


@pytest.mark.parametrize("where", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
async def test_the_names_of_the_loopback_are_ours(provider, host, where):
    async with proxy(provider, host=where, token="a-token-that-is-long-enough") as client:
        assert await raw(client, head(client, host=host.format(port=client.running.port)), BODY) == 200


async def test_the_address_that_is_printed_is_one_that_is_served(provider):
    async with proxy(provider, host="0.0.0.0", token="a-token-that-is-long-enough") as client:
        assert (await client.post("/v1/messages", BODY))[0] == 200


PAGES = [
    "\nOrigin: https://evil.example",
    "\nOrigin: null",
    "\nOrigin: http://localhost:3000",
    "\nOrigin: http://127.0.0.1",
    "\nOrigin: chrome-extension://abcdef",
    "\nOrigin: ",
    "\nSec-Fetch-Site: cross-site",
    "\nSec-Fetch-Site: same-site",
    "\nSec-Fetch-Site: same-origin",
    "\nAccess-Control-Request-Method: POST",
]


@pytest.mark.parametrize("more", PAGES)
async def test_a_web_page_is_refused(provider, more):
    async with proxy(provider) as client:
        assert await raw(client, head(client, more=more), BODY) == 403
        assert not provider.got


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
async def test_what_a_form_can_send_is_no_request(provider, kind):
    async with proxy(provider) as client:
        assert await raw(client, head(client, kind=kind), BODY) == 415
        assert not provider.got


@pytest.mark.parametrize("method", ["OPTIONS", "TRACE", "CONNECT"])
async def test_other_methods_are_refused(provider, method):
    async with proxy(provider) as client:
        assert await raw(client, head(client, method=method), BODY) in (400, 403, 405)
        assert not provider.got


SECRETS = [
    "/test/v1/messages",
    "/wrong-secret-of-some-length/test/v1/messages",
    "//test/v1/messages",
    "/metrics",
    "/status",
    "/",
]


@pytest.mark.parametrize("path", SECRETS)
async def test_without_the_secret_nobody_gets_in(provider, path):
    async with proxy(provider) as client:
        assert await raw(client, head(client, path=path), BODY) == 401
        assert not provider.got


async def test_the_secret_may_come_in_a_header(provider):
    async with proxy(provider) as client:
        token = f"\nX-Foldline-Token: {client.running.secret}"
        assert await raw(client, head(client, path="/test/v1/messages", more=token), BODY) == 200
        assert "x-foldline-token" not in provider.got[0].headers


TARGETS = [
    "http://evil.example/v1/messages",
    "http://169.254.169.254/latest/meta-data",
    "/{secret}/evil/v1/messages",
    "/{secret}/http:/evil.example/v1/messages",
    "/{secret}/test/../../etc/passwd",
    "/{secret}/test/%2e%2e/v1/messages",
    "/{secret}/test/v1/%2E/messages",
    "/{secret}/test//evil.example/v1/messages",
    "/{secret}/test/v1%2f..%2fmessages",
    "/{secret}/test/v1/messages%0d%0aX:y",
    "/{secret}/test/v1\\messages",
    "/{secret}/test/v1/messages#x",
    "/{secret}/test@evil.example/v1/messages",
    "/{secret}/testevil.example/v1/messages",
]


@pytest.mark.parametrize("target", TARGETS)
async def test_no_path_leads_elsewhere(provider, target):
    async with proxy(provider) as client:
        path = target.format(secret=client.running.secret)
        assert await raw(client, head(client, path=path), BODY) in (400, 401, 403, 404)
        assert not provider.got


async def test_no_body_or_header_leads_elsewhere(provider):
    async with proxy(provider) as client:
        body = {**request(talk("anthropic", 1)), "api_base": "http://evil.example", "base_url": "http://evil.example"}
        await client.post("/v1/messages", body, x_forwarded_host="evil.example", forwarded="host=evil.example")
        assert len(provider.got) == 1
        assert provider.got[0].headers["host"] == f"127.0.0.1:{provider.port}"
        assert not {"x-forwarded-host", "forwarded"} & provider.got[0].headers.keys()


SMUGGLED = [
    ("\nContent-Length: 5\nTransfer-Encoding: chunked", b"0\r\n\r\n"),
    ("\nTransfer-Encoding: chunked\nContent-Length: 5", b"0\r\n\r\n"),
    ("\nContent-Length: 5\nContent-Length: 6", b"12345"),
    ("\nContent-Length: +5", b"12345"),
    ("\nContent-Length: 0x5", b"12345"),
    ("\nContent-Length: -1", b"12345"),
    ("\nTransfer-Encoding: xchunked", b"0\r\n\r\n"),
    ("\nTransfer-Encoding: chunked, identity", b"0\r\n\r\n"),
    ("\nTransfer-Encoding: gzip, chunked", b"0\r\n\r\n"),
    ("\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked", b"0\r\n\r\n"),
    ("\nTransfer-Encoding : chunked", b"0\r\n\r\n"),
    ("\nContent-Length: 5\n Transfer-Encoding: chunked", b"12345"),
    ("\nContent-Length: 2\nContent-Type: text/plain", b"{}"),
]


@pytest.mark.parametrize(("more", "body"), SMUGGLED)
async def test_what_two_servers_may_read_in_two_ways_is_refused(provider, more, body):
    async with proxy(provider) as client:
        status = await raw(client, head(client, length="", more=more), body)
        assert status in (400, 415, 501)
        assert not provider.got


async def test_what_is_between_two_hops_stays_there(provider):
    async with proxy(provider) as client:
        hops = (
            "\nConnection: close, X-Private\nX-Private: 1\nKeep-Alive: 5\nTE: trailers\nProxy-Authorization: x\nVia: a"
        )
        await raw(client, head(client, more=hops + "\nX-Api-Key: k\nAnthropic-Beta: b"), BODY)
        got = provider.got[0].headers
        assert not {"x-private", "keep-alive", "te", "proxy-authorization", "via"} & got.keys()
        assert (got["x-api-key"], got["anthropic-beta"]) == ("k", "b")


async def test_a_header_goes_on_in_the_bytes_it_came_in(provider):
    async with proxy(provider) as client:
        assert await raw(client, head(client, more="\nX-Title: M\u00c3\u00bcller"), BODY) == 200
        assert provider.got[0].headers["x-title"] == "Müller"


async def test_headers_and_bodies_have_their_limits(provider, monkeypatch):
    async with proxy(provider) as client:
        assert await raw(client, head(client, more="\nX-Big: " + "x" * 100_000), BODY) in (400, 431)
        many = "".join(f"\nX-{number}: {'y' * 1_000}" for number in range(70))
        assert await raw(client, head(client, more=many), BODY) in (400, 431)
        monkeypatch.setattr("foldline.proxy.bodies.take.__defaults__", (1_000,))
        status, said, _ = await client.post("/v1/messages", request(talk("anthropic", 20)))
        assert status == 413
        assert json.loads(said)["error"]["type"] == "request_too_large"
        assert not provider.got


TWINS = [
    b'{"model":"a","model":"b","messages":[{"role":"user","content":"x"}]}',
    b'{"messages":[{"role":"user","content":"x","content":"y"}]}',
    b'{"messages":[{"role":"user","content":"x"}],"messages":[]}',
    b'{"messages":[{"role":"user","content":"x"}],"metadata":{"a":{"b":1,"\\u0062":2}}}',
]


@pytest.mark.parametrize("body", TWINS)
async def test_a_key_that_stands_twice_is_refused(provider, body):
    async with proxy(provider) as client:
        status, said, _ = await client.post("/v1/messages", body)
        assert status == 400
        assert "twice" in json.loads(said)["error"]["message"]
        assert not provider.got


async def test_a_key_that_stands_twice_in_what_is_new_is_refused(provider):
    async with proxy(provider) as client:
        first = b'{"model":"m","messages":[{"role":"user","content":"x"}],"max_tokens":1}'
        assert (await client.post("/v1/messages", first))[0] == 200
        for end in (
            b',{"role":"user","role":"a"}]',
            b'],"max_tokens":2',
            b',{"role":"user","content":"y"}],"model":"b"',
        ):
            assert (await client.post("/v1/messages", first.replace(b"]", end, 1)))[0] == 400, end
        assert len(provider.got) == 1


async def test_bombs_do_not_go_off(provider):
    async with proxy(provider) as client:
        deep = b'{"messages":' + b"[" * 200_000 + b"]" * 200_000 + b"}"
        assert (await client.post("/v1/messages", deep))[0] == 400
        bomb = gzip.compress(b" " * (80 << 20))
        assert (await client.post("/v1/messages", bomb, content_encoding="gzip"))[0] == 413


async def test_a_redirect_is_not_followed_and_not_passed_on(provider):
    from tests.proxy.provider import says

    async with proxy(provider) as client:
        for path in ("/v1/messages", "/v1/other"):
            provider.scripts = [says({}, 307, Location=f"{provider.url}/stolen")]
            status, said, headers = await client.post(path, BODY)
            assert status == 502
            assert "location" not in headers
            assert json.loads(said)["type"] == "error"
        assert len(provider.got) == 2


async def test_no_page_may_read_an_answer(provider):
    from tests.proxy.provider import says

    async with proxy(provider) as client:
        provider.scripts = [says({}, **{"Access-Control-Allow-Origin": "*", "Alt-Svc": "h3", "X-Request-Id": "7"})]
        _, _, headers = await client.post("/v1/messages", BODY)
        assert headers["x-request-id"] == "7"
        assert not [name for name in headers if name.startswith(("access-control", "alt-svc"))]


async def test_an_address_others_can_reach_needs_a_token_of_ones_own(provider):
    upstreams = (Upstream("test", provider.url, "anthropic"),)
    with pytest.raises(Unauthorised):
        async with start(Config(upstreams, host="0.0.0.0")):
            pass
    with pytest.raises(InputError, match="16"):
        async with start(Config(upstreams, host="0.0.0.0", token="short")):
            pass
    async with start(
        Config(upstreams, host="0.0.0.0", token="a-token-that-is-long-enough", names=("box.example",))
    ) as on:
        assert on.url("test").endswith("/a-token-that-is-long-enough/test")


async def test_it_never_sends_to_itself(provider):
    for host in ("127.0.0.1", "localhost", "[::1]", "127.0.0.2", "0.0.0.0", "[::ffff:127.0.0.1]", "0x7f.1"):
        with pytest.raises(UpstreamNotAllowed):
            refuse_itself([Upstream("me", f"http://{host}:8080", "anthropic")], "127.0.0.1", 8080)
    refuse_itself([Upstream("other", "http://127.0.0.1:8081", "anthropic")], "127.0.0.1", 8080)


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/v1",
        "http://[::ffff:169.254.169.254]/",
        "http://169.254.169.254./",
        "http://[fe80::1]/",
        "http://metadata.google.internal/",
        "http://2852039166/",
        "http://0xa9.254.43518/",
        "http://①⑥⑨.254.169.254。/",
        "http://[fd00:ec2::254]/",
        "http://100.100.100.200/",
    ],
)
def test_no_upstream_is_where_clouds_keep_their_keys(url):
    with pytest.raises(UpstreamNotAllowed):
        made("x", url, "anthropic")


@pytest.mark.parametrize(
    ("name", "url", "dialect"),
    [
        ("x", "ftp://host/", "anthropic"),
        ("x", "https://user:secret@host/", "anthropic"),
        ("x", "https://host/?key=secret", "anthropic"),
        ("../x", "https://host/", "anthropic"),
        ("x", "https://host/", "klingon"),
    ],
)
def test_an_upstream_is_checked_and_its_key_is_not_shown(name, url, dialect):
    with pytest.raises(InputError) as caught:
        made(name, url, dialect)
    assert "secret" not in str(caught.value)


def test_a_config_nested_too_deeply_is_refused(tmp_path):
    file = tmp_path / "proxy.toml"
    file.write_text("x = " + "[" * 5_000 + "]" * 5_000)
    with pytest.raises(InputError, match=r"proxy\.toml: nested too deeply"):
        configured(file)


def test_upstreams_come_from_the_table_the_config_or_a_url_with_its_dialect(tmp_path):
    file = tmp_path / "proxy.toml"
    file.write_text('[upstreams.local]\nurl = "http://127.0.0.1:8080"\ndialect = "openai-chat"\n')
    assert upstream("anthropic").base == "https://api.anthropic.com"
    assert upstream("local", config=configured(file)).dialect == "openai-chat"
    assert upstream("https://host.example/api/", "gemini").base == "https://host.example/api"
    for said in ("nobody", "https://host.example/"):
        with pytest.raises(InputError):
            upstream(said, config=configured(file))
    file.write_text('[upstreams.local]\nurl = "http://127.0.0.1:8080"\nkey = "x"\n')
    with pytest.raises(InputError):
        configured(file)
    with pytest.raises(InputError):
        configured(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("base", "path", "found"),
    [
        ("https://a.example", b"/v1/x", "https://a.example/v1/x"),
        ("https://a.example/v1", b"/v1/x", "https://a.example/v1/x"),
        ("https://a.example/api/v1", b"/x", "https://a.example/api/v1/x"),
        ("https://a.example/paas/v4", b"/v1/chat/completions", "https://a.example/paas/v4/chat/completions"),
        ("https://a.example/v1beta", b"/v1beta/models/m:countTokens", "https://a.example/v1beta/models/m:countTokens"),
        ("https://a.example/v1", b"/v1/v1/x", "https://a.example/v1/v1/x"),
        ("https://a.example/v1", b"/models/v1/x", "https://a.example/v1/models/v1/x"),
        ("https://a.example/v1/acme", b"/v1/x", "https://a.example/v1/acme/v1/x"),
        ("http://v1", b"/v1/x", "http://v1/v1/x"),
    ],
)
def test_an_address_that_ends_in_a_version_has_one(base, path, found):
    table = Upstreams([made("a", base, "openai-chat")])
    assert table.url(table.get("a"), path, b"") == found


def test_no_two_upstreams_have_one_name():
    """What is meant for the one, with its key, would go to the other."""
    one, other = (made("upstream", f"https://{host}.example", "anthropic") for host in "ab")
    with pytest.raises(InputError, match="two upstreams have one name"):
        Upstreams([one, other])
    assert Upstreams([one, one]).get("upstream") is one


def test_only_what_is_in_the_table_has_an_address():
    table = Upstreams([Upstream("a", "https://a.example/base", "anthropic")])
    stranger = Upstream("a", "https://b.example", "anthropic")
    with pytest.raises(UpstreamNotAllowed):
        table.url(stranger, b"/v1", b"")
    assert table.url(table.get("a"), b"/v1/x", b"q=1") == "https://a.example/base/v1/x?q=1"


def test_a_refusal_says_what_kind_it_is():
    guard = Guard("127.0.0.1", 80, new_secret())
    scope = {"type": "http", "method": "GET", "path": "/", "raw_path": b"/", "headers": [(b"host", b"x")]}
    said = "this Host is not served here: use the base URL printed at the start, or name it with --name"
    assert guard.admit(scope) == Refusal(403, said, ForbiddenHost)
    named = {**scope, "headers": [(b"host", b"localhost")]}
    assert guard.admit(named).error is Unauthorised
