"""A key goes where it belongs, and shows itself nowhere else."""

from __future__ import annotations

import base64
import contextlib
import copy
import gc
import logging
import pickle
import traceback
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.callers import PROVIDERS, Credential, caller
from foldline.callers.base import origin_of
from foldline.callers.sending import Call
from foldline.errors import AuthRejected, CallerError, StreamBroken

from .providers import ASK, CASES, base_of
from .server import Say, closed_port

KEY = "sk-canary/+=&7f3a9c51d2"
EACH = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def disguises(key: str) -> list[str]:
    """The key in every form it may be found in, whatever stands around it."""
    encoded = [base64.b64encode(b" " * shift + key.encode()).decode()[4:-4] for shift in range(3)]
    encoded += [base64.urlsafe_b64encode(key.encode()).decode()[:-4], key.encode().hex()]
    return [key, key[3:], urllib.parse.quote(key, safe=""), urllib.parse.quote_plus(key), *encoded]


def assert_hidden(text: str, key: str = KEY) -> None:
    assert [form for form in disguises(key) if form in text] == []


def everything(error: BaseException) -> str:
    """An error as a crash report shows it: chained errors, frames and their variables."""
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "\n".join([*told.format(), repr(error), str(error), repr(vars(error)), repr(error.args)])


def test_the_canary_would_be_found():
    for text in (f"x{KEY}x", f"x{base64.b64encode(b'Bearer ' + KEY.encode()).decode()}x"):
        with pytest.raises(AssertionError):
            assert_hidden(text)


ECHO = {"error": {"message": f"Incorrect API key provided: {KEY}", "type": KEY, "code": KEY, "param": KEY}}
FAULTS = {
    "rejected, and echoed": Say(401, ECHO),
    "refused, and echoed": Say(400, ECHO),
    "an echo that is no JSON": Say(400, f"bad key {KEY}"),
    "an echo inside a 200": Say(200, ECHO),
    "an echo as the whole reply": Say(200, f'"{KEY}"'),
    "an echo in another form": Say(200, {"hello": KEY}),
    "rate limited": Say(429, ECHO, {"retry-after": "99"}),
    "out of order": Say(500, ECHO),
    "cut": Say(200, b"{" + KEY.encode() * 50, cut=100),
    "hung up": Say(hang_up=True),
    "redirected": Say(302, b"", {"location": "http://127.0.0.1:9/"}),
    "late": Say(200, b"{", wait=1.0),
}


@EACH
@pytest.mark.parametrize("fault", FAULTS)
def test_no_error_shows_the_key(server, way, fake_time, caplog, capfd, case, fault):
    caplog.set_level(logging.DEBUG)
    server.says(FAULTS[fault])
    deadline = 0.15 if fault == "late" else 60.0
    asked = caller(case.name, key=KEY, base_url=base_of(case, server.url), clock=fake_time.clock, deadline=deadline)
    with pytest.raises(CallerError) as caught:
        way(asked, ASK)
    assert_hidden(everything(caught.value))
    assert_hidden(caplog.text + "".join(repr(vars(record)) for record in caplog.records))
    assert_hidden("".join(capfd.readouterr()))
    assert_hidden(repr(asked) + str(asked))
    assert KEY in server.heard[0].headers[case.key_header]


@EACH
def test_a_call_that_goes_well_leaves_the_key_in_no_log(server, way, caplog, case):
    caplog.set_level(logging.DEBUG)
    server.says(Say(200, case.reply))
    reply = way(caller(case.name, key=KEY, base_url=base_of(case, server.url)), ASK)
    assert caplog.records
    assert_hidden(caplog.text + repr(reply) + repr([vars(record) for record in caplog.records]))
    assert_hidden(server.heard[0].path)


def test_words_of_the_http_library_are_not_passed_on(server, way, fake_time):
    """It quotes an answer it cannot read, and that may quote the key."""
    server.says(Say(raw=f"{KEY} is not a status line\r\n\r\n".encode()))
    with pytest.raises(StreamBroken) as caught:
        way(caller("anthropic:x", key=KEY, base_url=server.url, clock=fake_time.clock), ASK)
    assert_hidden(everything(caught.value))


def test_nobody_there_shows_no_key(way, fake_time, caplog):
    caplog.set_level(logging.DEBUG)
    with closed_port() as port, pytest.raises(CallerError) as caught:
        way(caller("anthropic:x", key=KEY, base_url=f"http://127.0.0.1:{port}", clock=fake_time.clock), ASK)
    assert_hidden(everything(caught.value) + caplog.text)


# --- the credential itself ----------------------------------------------------------------------------------------

HOME = "https://api.anthropic.com/v1/messages"


def test_a_credential_hides_itself():
    credential = Credential(KEY, HOME)
    shown = [repr(credential), str(credential), f"{credential}", f"{credential!r:>40}", "%s" % credential]  # noqa: UP031
    assert_hidden("".join(shown))
    assert repr(credential) == "Credential(hidden, for https://api.anthropic.com:443)"
    assert not hasattr(credential, "__dict__")


@pytest.mark.parametrize("leak", [pickle.dumps, copy.copy, copy.deepcopy], ids=lambda leak: leak.__name__)
def test_a_credential_is_not_copied_out(leak):
    with pytest.raises(TypeError) as caught:
        leak(Credential(KEY, HOME))
    assert_hidden(str(caught.value))


ELSEWHERE = [
    "https://api.openai.com/v1/messages",
    "http://api.anthropic.com/v1/messages",
    "https://api.anthropic.com:8443/v1/messages",
    "https://api.anthropic.com.evil.example/v1/messages",
    "https://api.anthropic.com@evil.example/v1/messages",
    "https://evil.example/?https://api.anthropic.com",
    "https://evil.example#@api.anthropic.com",
    "https://xn--nthropic-2eb.com/v1",
]


@pytest.mark.parametrize("url", ELSEWHERE)
def test_a_key_is_sent_to_its_own_origin_only(url):
    with pytest.raises(AuthRejected, match=r"belongs to https://api\.anthropic\.com") as caught:
        Credential(KEY, HOME).header(url)
    assert_hidden(everything(caught.value))


@given(st.text(), st.text())
def test_no_address_but_its_own_gets_a_key(host, path):
    with contextlib.suppress(ValueError, AuthRejected):
        url = f"https://{host}/{path}"
        Credential(KEY, HOME).header(url)
        assert origin_of(url) == "https://api.anthropic.com:443"


def test_the_same_origin_may_be_written_in_several_ways():
    credential = Credential(f" {KEY}\n", HOME)
    for url in ("https://API.Anthropic.com/v1", "https://api.anthropic.com:443/x?y=1"):
        assert credential.header(url, "Bearer ") == f"Bearer {KEY}"


def test_the_address_is_looked_at_when_the_request_goes_out(server, way, fake_time):
    """A caller put together wrongly on purpose: key of one, address of another."""
    asked = caller("openai:x", key=KEY, base_url="https://api.openai.com/v1", clock=fake_time.clock)
    object.__setattr__(asked, "base_url", server.url)
    server.says(Say(200, CASES[1].reply))
    with pytest.raises(AuthRejected, match="sent nowhere else") as caught:
        way(asked, ASK)
    assert server.heard == []
    assert_hidden(everything(caught.value))


@pytest.mark.parametrize("key", ["", "  ", "sk-a\r\nx-evil: 1", "sk-\x00", "sk-ключ", "sk-\x7f"])
def test_a_key_no_header_can_carry_is_rejected_and_not_shown(key):
    with pytest.raises(AuthRejected) as caught:
        caller("anthropic:x", key=key)
    assert key.strip() == "" or key not in str(caught.value)


def test_a_call_does_not_show_what_it_carries():
    call = Call("x", HOME, {}, b"the prompt", Credential(KEY, HOME).header)
    assert_hidden(repr(call))
    assert "the prompt" not in repr(call)


# --- keys of the environment --------------------------------------------------------------------------------------


@pytest.fixture
def no_keys(monkeypatch):
    for provider in PROVIDERS.values():
        for variable in provider.keys:
            monkeypatch.delenv(variable, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("anthropic:x", "ANTHROPIC_API_KEY"),
        ("openai:x", "OPENAI_API_KEY"),
        ("openai-responses:x", "OPENAI_API_KEY"),
        ("openrouter:x", "OPENROUTER_API_KEY"),
        ("gemini:x", "GEMINI_API_KEY"),
        ("gemini:x", "GOOGLE_API_KEY"),
    ],
)
def test_the_usual_variable_holds_the_key(no_keys, name, variable):
    with pytest.raises(AuthRejected, match=variable) as caught:
        caller(name)
    assert f'caller("{name}", key=' in str(caught.value)
    no_keys.setenv(variable, KEY)
    asked = caller(name)
    assert asked.credential.header(asked.base_url) == KEY
    assert asked.credential.origin == origin_of(PROVIDERS[name.partition(":")[0]].base_url)


@EACH
def test_a_key_of_the_environment_goes_to_no_other_address(server, no_keys, case):
    for provider in PROVIDERS.values():
        for variable in provider.keys:
            no_keys.setenv(variable, KEY)
    server.says(Say(200, case.reply))
    caller(case.name, base_url=base_of(case, server.url)).ask(ASK)
    assert_hidden(repr(server.heard[0]))


def test_a_key_given_is_used_before_the_environments(no_keys):
    no_keys.setenv("OPENAI_API_KEY", "other")
    assert caller("openai:x", key=KEY).credential.header("https://api.openai.com/v1") == KEY


def test_servers_of_ones_own_need_no_key(no_keys):
    assert caller("ollama:x").credential is None
    assert caller("openai-compatible:x", base_url="http://localhost:8000/v1").credential is None


def test_nothing_keeps_a_request_alive(server):
    """The signed request is gone when the reply is there: no heap dump finds its headers."""
    import httpx2

    server.says(Say(200, CASES[0].reply))
    caller(CASES[0].name, key=KEY, base_url=f"{server.url}/alone").ask(ASK)
    gc.collect()
    requests = [thing for thing in gc.get_objects() if isinstance(thing, httpx2.Request)]
    assert [request for request in requests if "/alone" in str(request.url)] == []
