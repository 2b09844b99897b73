"""Models to ask: `caller("anthropic:claude-haiku-4-5")`. Who can be named, and where each one's key may go.

anthropic · openai · openai-responses · gemini · openrouter     with the key of the usual environment variable
ollama                                                          on this machine, without a key
openai-compatible                                               any server that speaks Chat Completions: base_url
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from foldline.callers.anthropic import AnthropicWire
from foldline.callers.base import Caller, Credential, HttpCaller, Wire, checked, origin_of
from foldline.callers.gemini import GeminiWire
from foldline.callers.ollama import OllamaWire
from foldline.callers.openai import ChatWire, ResponsesWire
from foldline.callers.retry import Clock, Retry
from foldline.errors import AuthRejected, InvalidSetting

__all__ = ["PROVIDERS", "Caller", "Clock", "Credential", "HttpCaller", "Retry", "Wire", "by_option", "caller"]

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider is, what its key is called, and how it is spoken to. `suffix` may end a base URL, and goes."""

    wire: Callable[[str, str, int | None], Wire]
    """Model, base URL, window."""
    base_url: str = ""
    keys: tuple[str, ...] = ()
    suffix: str = ""


def _chat(model: str, base_url: str, _window: int | None) -> Wire:
    official = origin_of(base_url) == origin_of(OPENAI)
    return ChatWire(model, limit="max_completion_tokens" if official else "max_tokens")


PROVIDERS: Mapping[str, Provider] = {
    "anthropic": Provider(
        lambda model, *_: AnthropicWire(model), "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "/v1"
    ),
    "openai": Provider(_chat, OPENAI, ("OPENAI_API_KEY",)),
    "openai-responses": Provider(lambda model, *_: ResponsesWire(model), OPENAI, ("OPENAI_API_KEY",)),
    "openai-compatible": Provider(_chat),
    "openrouter": Provider(_chat, "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "gemini": Provider(
        lambda model, *_: GeminiWire(model),
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "ollama": Provider(lambda model, _, window: OllamaWire(model, window), "http://localhost:11434", suffix="/v1"),
}


def caller(
    name: str,
    *,
    key: str | None = None,
    base_url: str | None = None,
    deadline: float = 60.0,
    window: int | None = None,
    extra: Mapping[str, Any] | None = None,
    retry: Retry | None = None,
    clock: Clock | None = None,
) -> Caller:
    """Someone who asks the model `name`, "provider:model". `deadline` is in seconds, all tries and pauses included.

    A key out of the environment goes to its provider's own address only; for any other `base_url`, give `key`, or none
    for a server that wants none. `extra` is added to each request's body (reasoning effort, say).
    """
    provider, model = _named(name)
    if not provider.base_url and not base_url:
        given = f'give foldline.callers.caller("{name}", base_url=…) in its place'
        raise InvalidSetting(f"{name} needs the address of its server; {given}")
    url = checked(base_url or provider.base_url).removesuffix(provider.suffix)
    if deadline <= 0:
        raise InvalidSetting(f"deadline is {deadline}; give the seconds a reply may take")
    return HttpCaller(
        name=name,
        wire=provider.wire(model, url, window),
        base_url=url,
        credential=_credential(provider, key, url, name),
        deadline=deadline,
        window=window,
        extra=dict(extra or {}),
        retry=retry or Retry(),
        clock=clock or Clock(),
    )


def by_option(option: str, name: str, base_url: str | None, where: str) -> Caller:
    """The same for an option of a command, in whose words what is missing is said. `where`: how to give an address."""
    provider, _ = _named(name)
    if not provider.base_url and not base_url:
        raise InvalidSetting(f"{option} {name} needs the address of its server; {where}")
    try:
        return caller(name, base_url=base_url)
    except AuthRejected as error:
        if any(os.environ.get(variable) for variable in provider.keys):
            raise AuthRejected(f"{name} cannot be asked: {error}") from None
        wanted = " or ".join(provider.keys)
        raise AuthRejected(f"{name} needs a key: set {wanted}, or leave out {option} to do without one") from None


def _named(name: str) -> tuple[Provider, str]:
    provider, _, model = name.partition(":")
    if provider not in PROVIDERS or not model:
        said = f'"{name}" names no model; write provider:model, with one of {", ".join(PROVIDERS)}'
        raise InvalidSetting(said)
    return PROVIDERS[provider], model


def _credential(provider: Provider, key: str | None, url: str, name: str) -> Credential | None:
    if key is not None:
        return Credential(key, url)
    if not provider.keys or origin_of(url) != origin_of(provider.base_url):
        return None
    found = next((value for variable in provider.keys if (value := os.environ.get(variable))), None)
    if found is None:
        given = f'give foldline.callers.caller("{name}", key=…) in its place'
        raise AuthRejected(f"there is no key for {name}; set {' or '.join(provider.keys)}, or {given}")
    return Credential(found, url)
