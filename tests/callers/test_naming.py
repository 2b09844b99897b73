"""Naming a model: which provider, which address, and what is said when it names none."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.callers import PROVIDERS, caller
from foldline.callers.base import checked, encoded, origin_of


def test_a_name_is_a_provider_and_a_model():
    asked = caller("ollama:llama3.2:3b", window=8_192, deadline=5)
    assert (asked.name, asked.window, asked.deadline) == ("ollama:llama3.2:3b", 8_192, 5)
    assert asked.wire.model == "llama3.2:3b"


@pytest.mark.parametrize("name", ["", "claude", "anthropic", "anthropic:", ":x", "nobody:x"])
def test_a_name_that_names_nothing_is_said(name):
    with pytest.raises(ValueError, match="provider:model"):
        caller(name)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.com",
        "ftp://example.com",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@example.com/v1",
        "https://secret@example.com",
        "https://example.com/v1?key=secret",
        "https://example.com/v1#secret",
        "https://example.com:port/v1",
        "https://a..b/v1",
    ],
)
def test_a_base_url_is_an_address_and_nothing_else(url):
    with pytest.raises(ValueError, match=r"base URL|base_url|Port") as caught:
        caller("openai-compatible:x", base_url=url or None)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("deadline", [0, -1])
def test_a_deadline_lies_ahead(deadline):
    with pytest.raises(ValueError, match="deadline"):
        caller("ollama:x", deadline=deadline)


@pytest.mark.parametrize(
    ("name", "given", "base"),
    [
        ("ollama:x", "http://localhost:11434/v1/", "http://localhost:11434"),
        ("anthropic:x", "https://gateway.example/v1", "https://gateway.example"),
        ("anthropic:x", "https://gateway.example/anthropic/", "https://gateway.example/anthropic"),
        ("openai:x", "https://gateway.example/v1/", "https://gateway.example/v1"),
    ],
)
def test_a_base_url_may_be_written_as_others_write_it(name, given, base):
    assert caller(name, base_url=given).base_url == base


@pytest.mark.parametrize("name", [name for name, provider in PROVIDERS.items() if provider.base_url])
def test_keys_go_over_tls_or_stay_on_this_machine(name):
    provider = PROVIDERS[name]
    assert provider.base_url.startswith("https://") or not provider.keys
    assert checked(provider.base_url) == provider.base_url


def test_an_origin_is_scheme_host_and_port():
    assert origin_of("https://Example.com/x") == "https://example.com:443"
    assert origin_of("http://[::1]:8000/x") == "http://[::1]:8000"


@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_can_be_sent(text):
    sent = json.loads(encoded({"x": text}))["x"]
    assert len(sent) <= len(text)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert sent == text


def test_naming_a_model_loads_no_http_library():
    heavy = "[name for name in ('httpx2', 'asyncio') if name in sys.modules]"
    code = f"import sys, foldline.callers as c; c.caller('ollama:x'); print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
