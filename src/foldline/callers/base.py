"""Asking a model over HTTP: Caller (what the rest sees), Wire (what a provider must say), Credential, HttpCaller.

A Wire is pure: it builds a request and reads a reply. HttpCaller carries them, in a sync and an async way of the same
few lines; when to try again is in `retry`, what an error means in `foldline.overflow`. No redirect is followed.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from foldline.callers.retry import Answer, Clock, Outcome, Post, Retry, Step, persist
from foldline.callers.sending import Call, asend, send
from foldline.core.asking import Ask, Reply
from foldline.core.words.text import sendable
from foldline.errors import AuthRejected, CallerError, InvalidSetting, Refused, StreamBroken
from foldline.overflow import overflow_in, understand

_PORTS = {"http": 80, "https": 443}


@runtime_checkable
class Caller(Protocol):
    """Someone who can ask a model. `window` is the model's, in tokens, when known."""

    @property
    def name(self) -> str: ...

    @property
    def window(self) -> int | None: ...

    def ask(self, ask: Ask) -> Reply: ...

    async def aask(self, ask: Ask) -> Reply: ...


class Wire(Protocol):
    """One provider's way of asking. Pure."""

    @property
    def key_header(self) -> str: ...

    @property
    def key_prefix(self) -> str: ...

    def request(self, ask: Ask) -> tuple[str, dict[str, str], dict[str, Any]]:
        """Path below the base URL, headers without the key, and the body."""
        ...

    def reply(self, said: Mapping[str, Any]) -> Reply | None:
        """What the model answered; None when `said` is not of this provider's form."""
        ...


class Credential:
    """A key and the one origin it may go to. It shows itself to nobody, and cannot be copied out by pickling."""

    __slots__ = ("__secret", "origin")

    def __init__(self, secret: str, url: str) -> None:
        secret = secret.strip()
        if not secret or not secret.isascii() or not secret.isprintable():
            raise AuthRejected("the key is empty or has characters that no header may carry; copy it anew")
        self.__secret, self.origin = secret, origin_of(url)

    def header(self, url: str, prefix: str = "") -> str:
        """The header's value, for a request to the key's own origin."""
        if origin_of(url) != self.origin:
            raise AuthRejected(f"this key belongs to {self.origin} and is sent nowhere else")
        return prefix + self.__secret

    def __repr__(self) -> str:
        return f"Credential(hidden, for {self.origin})"

    def __reduce__(self) -> str:
        raise TypeError("a Credential is not pickled: give the key where it is needed")


@dataclass(frozen=True)
class HttpCaller:
    """Asks one model. Holds no connection: each call opens its own, so it may be shared by threads and event loops."""

    name: str
    wire: Wire = field(repr=False)
    base_url: str
    credential: Credential | None = None
    deadline: float = 60.0
    window: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    retry: Retry = field(default_factory=Retry)
    clock: Clock = field(default_factory=Clock, repr=False)

    def ask(self, ask: Ask) -> Reply:
        call, steps, outcome = self._call(ask), self._steps(), None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, Post):
                    outcome = send(call, step.seconds)
                else:
                    self.clock.sleep(step.seconds)
        except StopIteration as done:
            return _reply(done)

    async def aask(self, ask: Ask) -> Reply:
        call, steps, outcome = self._call(ask), self._steps(), None
        try:
            while True:
                step = steps.send(outcome)
                if isinstance(step, Post):
                    outcome = await asend(call, step.seconds)
                else:
                    await self.clock.asleep(step.seconds)
        except StopIteration as done:
            return _reply(done)

    def _steps(self) -> Generator[Step, Outcome | None, Reply]:
        return persist(self.retry, self.clock, self.deadline, self.hear)

    def _call(self, ask: Ask) -> Call:
        path, headers, fields = self.wire.request(ask)
        return Call(
            name=self.name,
            url=self.base_url.rstrip("/") + path,
            headers={"content-type": "application/json", **headers},
            body=encoded({**fields, **self.extra}),
            key=self.credential.header if self.credential is not None else None,
            key_header=self.wire.key_header,
            key_prefix=self.wire.key_prefix,
        )

    def hear(self, outcome: Outcome) -> Reply | CallerError:
        """The reply in an answer, or the error it is."""
        if isinstance(outcome, CallerError):
            return outcome
        if 300 <= outcome.status < 400:
            return Refused(
                f"{self.name} answers with a redirect ({outcome.status}), and a key follows none; "
                "give the final address as base_url",
                status=outcome.status,
            )
        if outcome.status != 200:
            return self._understand(outcome, outcome.body)
        said = _decoded(self.name, outcome.body)
        if isinstance(said, CallerError):
            return said
        if said.get("error") or said.get("type") == "error":
            return self._understand(outcome, said)
        return self.wire.reply(said) or self._formless(said)

    def _understand(self, answer: Answer, said: object) -> CallerError:
        now = self.clock.wall()
        return understand(said, status=answer.status, headers=answer.headers, provider=self.name, now=now)

    def _formless(self, said: Mapping[str, Any]) -> CallerError:
        form = Refused(
            f"{self.name} answered 200 in an unknown form; check the provider's name and base_url", status=200
        )
        return overflow_in(said, status=200, provider=self.name) or form


def origin_of(url: str) -> str:
    """Scheme, host and port. Raises InvalidSetting for what is no plain http(s) address."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # its words are kept back: they quote the URL
        said = "the base URL cannot be read; give scheme://host:port, with a number from 0 to 65535 for the port"
        raise InvalidSetting(said) from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise InvalidSetting("the base URL must begin with http:// or https:// and name a host")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


def checked(url: str) -> str:
    """A base URL that holds nothing but an address. What is wrong is said without showing it."""
    origin_of(url)
    parts = urlsplit(url)
    try:
        (parts.hostname or "").encode("idna")
    except UnicodeError:
        raise InvalidSetting("the base URL's host is no name a network knows") from None
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise InvalidSetting("the base URL may hold no user, password, query or fragment; give the key apart from it")
    return url.rstrip("/")


def encoded(fields: Mapping[str, Any]) -> bytes:
    """JSON in UTF-8; halves of surrogate pairs, which no provider takes, become U+FFFD."""
    return sendable(json.dumps(fields, ensure_ascii=False)).encode()


def _decoded(name: str, body: bytes) -> Mapping[str, Any] | CallerError:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        said = None
    if isinstance(said, Mapping):
        return said
    if not body.strip() or body.lstrip()[:1] == b"{":
        return StreamBroken(f"{name} broke off before the end of its reply; try again", status=200)
    return Refused(f"{name} answered 200 with something that is no JSON object; check base_url", status=200)


def _reply(done: StopIteration) -> Reply:
    reply = done.value
    assert isinstance(reply, Reply)
    return reply


def items(value: object) -> tuple[Mapping[str, Any], ...]:
    """The objects of a list; nothing of anything else."""
    return tuple(item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def words(value: object) -> str:
    """A string, or nothing."""
    return value if isinstance(value, str) else ""
