"""Where requests may go: a fixed table of providers, made once at the start. Nothing a client sends adds to it.

    Upstream(name, base, dialect)     base is an address without key, query or fragment
    Upstreams(table)                  by name; `url(name, path)` is an address below the base, or UpstreamNotAllowed

Nothing is sent here.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from foldline.callers.base import checked, origin_of
from foldline.errors import InputError, UpstreamNotAllowed
from foldline.proxy.guard import is_loopback

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}")
"""Names stand in paths and in metrics, so they are plain and short."""
_DOTS = re.compile(rb"(?i)(?:^|/)(?:\.|%2e){1,2}(?:/|$)")
_NEVER = re.compile(rb"[^\x21-\x7e]|[\\#?]|(?i:%2f|%5c|%00|%0d|%0a)")
"""Nothing that another server may read as a second slash, a line end or the end of the path."""
_QUERY = re.compile(rb"[^\x21-\x7e]|#")
_BARE = frozenset({b"/messages", b"/messages/count_tokens"})
"""Paths of clients that take Anthropic's base to end in /v1, as the AI SDK does: what opencode and others are built on.
At the root of a server there is nothing else that they could mean."""
_VERSION = re.compile(r"v[0-9][a-z0-9]*")
_VERSIONED = re.compile(rb"\A/v[0-9][a-z0-9]*(?=/)")
"""A version, as addresses end in it and paths begin with it: the address has the last word. People write theirs as
the provider does (`https://openrouter.ai/api/v1`), and clients of ours add one of their own."""
_SWITCHES = ("tools", "mask_secrets")
"""What a config file may say besides its upstreams."""
METADATA = frozenset({"metadata.google.internal", "metadata", "instance-data", "fd00:ec2::254", "100.100.100.200"})
"""Where clouds give out credentials to whoever asks, besides at link-local addresses."""


origin = lru_cache(maxsize=256)(origin_of)
"""Agents ask at the same few addresses all day."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A provider: its name in our paths, its address, and the dialect its errors are written in."""

    name: str
    base: str
    dialect: str

    @property
    def origin(self) -> str:
        return origin(self.base)

    @property
    def shown(self) -> str:
        """Its name and where it is, for people: without the path and the user, which may be secrets."""
        return f"{self.name} at {self.base.partition('://')[0]}://{urlsplit(self.base).netloc.rpartition('@')[2]}"

    @property
    def official(self) -> bool:
        """One of the providers that never drop a part of a prompt in silence."""
        return self.origin in _LOUD


_LOUD = frozenset(
    {"https://api.anthropic.com:443", "https://api.openai.com:443", "https://generativelanguage.googleapis.com:443"}
)
KNOWN: Mapping[str, Upstream] = MappingProxyType(
    {
        upstream.name: upstream
        for upstream in (
            Upstream("anthropic", "https://api.anthropic.com", "anthropic"),
            Upstream("openai", "https://api.openai.com", "openai-responses"),
            Upstream("gemini", "https://generativelanguage.googleapis.com", "gemini"),
        )
    }
)


class Upstreams:
    """The table. It does not change while the proxy runs."""

    def __init__(self, table: Iterable[Upstream]) -> None:
        given = tuple(dict.fromkeys(table))
        self._table = {upstream.name: upstream for upstream in given}
        if not self._table:
            raise InputError("no upstream is named; give --upstream anthropic, openai, gemini, or a URL")
        if len(self._table) < len(given):
            raise InputError("two upstreams have one name; give one URL, and name others in the config file")

    def get(self, name: str) -> Upstream | None:
        return self._table.get(name)

    def url(self, upstream: Upstream, path: bytes, query: bytes) -> str:
        """The address of a path below an upstream's base. Raises UpstreamNotAllowed where it would lead elsewhere."""
        if self._table.get(upstream.name) is not upstream:
            raise UpstreamNotAllowed("this upstream is not in the table")
        if not path.startswith(b"/") or path.startswith(b"//") or _DOTS.search(path) or _NEVER.search(path):
            raise UpstreamNotAllowed("the path may hold no dot segments, second slashes at its start or control signs")
        if _QUERY.search(query):
            raise UpstreamNotAllowed("the query may hold no control signs and no #")
        if upstream.dialect == "anthropic" and path in _BARE and not urlsplit(upstream.base).path:
            path = b"/v1" + path
        if _VERSION.fullmatch(urlsplit(upstream.base).path.rpartition("/")[2]):
            path = _VERSIONED.sub(b"", path)
        address = upstream.base + path.decode("ascii")
        if origin(address) != upstream.origin:  # without the query: keys in it are not to be remembered
            raise UpstreamNotAllowed("the path leads to another origin")
        return f"{address}?{query.decode('latin-1')}" if query else address


@dataclass(frozen=True, slots=True)
class Configured:
    """What a config file says, and what holds where there is none."""

    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    tools: bool = False
    mask_secrets: bool = True


NOTHING = Configured()


def upstream(said: str, dialect: str | None = None, config: Configured = NOTHING) -> Upstream:
    """The upstream that was named: a known one, one of the config file, or a URL (then with its dialect)."""
    if "://" in said:
        if dialect is None:
            raise InputError(f"an upstream given as a URL needs its dialect: one of {', '.join(DIALECTS)}")
        return made("upstream", said, dialect)
    named = {**KNOWN, **config.upstreams}
    if said not in named:
        raise InputError(f"there is no upstream {said!r}; give {', '.join(named)}, or a URL with its dialect")
    return named[said]


def configured(path: Path) -> Configured:
    """What a TOML file says: `[upstreams.NAME]` with `url` and `dialect`, and switches. Anything else is refused."""
    try:
        return _configured(tomllib.loads(path.read_text("utf-8")))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; check the name", source=str(path)) from None
    except InputError as error:
        raise InputError(error.what, source=str(path)) from None
    except RecursionError:
        raise InputError("nested too deeply to be read safely", source=str(path)) from None
    except ValueError as error:
        raise InputError(f"this is not TOML: {error}; mend it, or name another file", source=str(path)) from None


def _configured(said: dict[str, Any]) -> Configured:
    tables = said.pop("upstreams", {})
    if not isinstance(tables, dict):
        raise InputError("upstreams are tables: [upstreams.NAME] with `url` and `dialect`")
    for name, value in said.items():
        if name not in _SWITCHES:
            takes = ", ".join(("[upstreams.NAME]", *(f"`{switch}`" for switch in _SWITCHES)))
            raise InputError(f"`{name}` is not known here; the file takes {takes}, and nothing else")
        if not isinstance(value, bool):
            raise InputError(f"`{name}` is true or false, without quotes")
    return Configured({name: _entry(name, entry) for name, entry in tables.items()}, **said)


def _entry(name: str, entry: Any) -> Upstream:
    if not isinstance(entry, dict) or not {"url", "dialect"} <= entry.keys() <= {"url", "dialect"}:
        raise InputError(f"[upstreams.{name}] needs `url` and `dialect`, and takes nothing else")
    try:
        return made(name, str(entry["url"]), str(entry["dialect"]))
    except (InputError, UpstreamNotAllowed) as error:
        raise InputError(f"[upstreams.{name}]: {error}") from None


def made(name: str, url: str, dialect: str) -> Upstream:
    """An upstream, checked. What is wrong with a URL is said without showing it: it may hold a key."""
    if not _NAME.fullmatch(name):
        raise InputError("an upstream's name has small letters, digits, - and _, at most 32 of them")
    if dialect not in DIALECTS:
        raise InputError(f"there is no dialect {dialect!r} for an upstream; give one of {', '.join(DIALECTS)}")
    try:
        base = checked(url)
    except ValueError as error:
        raise InputError(str(error)) from None
    _refuse_metadata(urlsplit(base).hostname or "")
    return Upstream(name, base, dialect)


def _refuse_metadata(host: str) -> None:
    """Link-local addresses are where clouds keep credentials; no model is served there."""
    plain = _plain(host)
    try:
        local = ipaddress.ip_address(plain).is_link_local
    except ValueError:  # a name
        local = False
    if local or plain in METADATA:
        raise UpstreamNotAllowed("this address is one that clouds give credentials out at; name the provider's own")


def refuse_itself(table: Iterable[Upstream], host: str, port: int) -> None:
    """A proxy that sends to itself would do so for ever."""
    for upstream in table:
        parts = urlsplit(upstream.base)
        there = _plain(parts.hostname or "")
        same = (parts.port or {"http": 80, "https": 443}[parts.scheme]) == port
        if same and (there in (host, "0.0.0.0", "::") or is_loopback(there)):  # noqa: S104 - compared with only
            raise UpstreamNotAllowed(f"the upstream {upstream.name} is this proxy itself; give the provider's address")


def _plain(host: str) -> str:
    """The host in one spelling: the system also takes `2852039166` and `0xa9.0xfe.43518` for an address."""
    host = host.encode("idna").decode().rstrip(".").lower()
    with suppress(OSError):
        host = socket.inet_ntoa(socket.inet_aton(host))
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    return str(getattr(address, "ipv4_mapped", None) or address)


__all__ = [
    "DIALECTS",
    "KNOWN",
    "NOTHING",
    "Configured",
    "Upstream",
    "Upstreams",
    "configured",
    "made",
    "origin",
    "refuse_itself",
    "upstream",
]
