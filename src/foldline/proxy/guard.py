"""Who may come in: decided from the head of a request alone, before a byte of its body is read.

    Guard.admit(scope) ──> Entry(name, path, secret already taken off)   or   Refusal(status, why)

Host and Origin first (a web page, a rebound name), then the secret, then what smuggles or is too large. What is said to
whoever is refused names no path, no key and no secret.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from foldline.errors import ForbiddenHost, InputError, ProxyError, Unauthorised
from foldline.proxy.headers import TOKEN, Pairs, value, values

HEADERS_MOST = 65_536
"""Bytes of all headers together: twice what the largest provider takes."""
SECRET_BYTES = 24
"""192 bits: nobody guesses it."""
_SECRET = re.compile(r"[A-Za-z0-9_-]{16,128}")
"""A secret stands in a path, so it has signs that no URL changes; shorter ones could be guessed."""
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
"""OPTIONS is how web pages ask for leave; TRACE and CONNECT are for proxies of another kind."""
_HEADER = re.compile(rb"[!#$%&'*+.^_`|~0-9a-z-]+")
_CONTROLS = re.compile(rb"[\r\n\0]")


@dataclass(frozen=True, slots=True)
class Entry:
    """A request that may come in: the first segment of its path behind the secret, and the rest."""

    name: str
    path: bytes


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request may not come in."""

    status: int
    why: str
    error: type[ProxyError] = ProxyError


def new_secret() -> str:
    return secrets.token_urlsafe(SECRET_BYTES)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Lets in what knows the secret and comes by a name of ours."""

    def __init__(self, host: str, port: int, secret: str, *, chosen: bool = False, names: Iterable[str] = ()) -> None:
        """`chosen`: the user set the secret, so it may guard an address that others can reach."""
        if not is_loopback(host) and not chosen:
            raise Unauthorised(
                f"{host} can be reached by others, so a token of your own has to guard it; set FOLDLINE_TOKEN"
            )
        if not _SECRET.fullmatch(secret):
            raise InputError(
                "the token must have 16 to 128 letters, digits, - or _; set FOLDLINE_TOKEN to such a one, or unset it"
            )
        self._secret = secret.encode()
        self._hosts = frozenset(_hosts(host, port, tuple(names)))

    def admit(self, scope: Mapping[str, Any]) -> Entry | Refusal:
        """The way in, or why there is none."""
        headers: Pairs = list(scope["headers"])
        return self._page(headers) or _broken(scope, headers) or self._known(scope, headers)

    def _page(self, headers: Pairs) -> Refusal | None:
        """A request that a web page made, or that came by a name which is not ours."""
        hosts = values(headers, b"host")
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            said = "this Host is not served here: use the base URL printed at the start, or name it with --name"
            return Refusal(403, said, ForbiddenHost)
        if values(headers, b"origin") or values(headers, b"access-control-request-method"):
            return Refusal(403, "web pages are not served here", ForbiddenHost)
        if value(headers, b"sec-fetch-site") not in (b"", b"none"):
            return Refusal(403, "web pages are not served here", ForbiddenHost)
        return None

    def _known(self, scope: Mapping[str, Any], headers: Pairs) -> Entry | Refusal:
        path = bytes(scope.get("raw_path") or str(scope["path"]).encode()).partition(b"?")[0]
        if not path.startswith(b"/"):
            return Refusal(403, "only paths are served here, no other addresses", ForbiddenHost)
        first, rest = _split(path)
        if hmac.compare_digest(first, self._secret):
            first, rest = _split(rest)
        elif path != b"/healthz" and not hmac.compare_digest(value(headers, TOKEN), self._secret):
            return Refusal(401, "the token is missing or wrong: use the base URL printed at the start", Unauthorised)
        return Entry(first.decode("latin-1"), rest)


def _split(path: bytes) -> tuple[bytes, bytes]:
    """The first segment of a path, and the rest with its slash."""
    first, slash, rest = path[1:].partition(b"/")
    return first, slash + rest


def _broken(scope: Mapping[str, Any], headers: Pairs) -> Refusal | None:
    """What two servers may read in two ways, and what is too large."""
    if scope["type"] == "http" and scope["method"] not in _METHODS:
        return Refusal(405, "this method is not served here")
    if sum(len(key) + len(said) + 4 for key, said in headers) > HEADERS_MOST:
        return Refusal(431, f"the headers are over {HEADERS_MOST:,} bytes")
    if not all(_HEADER.fullmatch(key) and not _CONTROLS.search(said) for key, said in headers):
        return Refusal(400, "a header has signs in it that no header may have")
    return _smuggled(headers)


def _smuggled(headers: Pairs) -> Refusal | None:
    lengths, codings = values(headers, b"content-length"), values(headers, b"transfer-encoding")
    if lengths and codings:
        return Refusal(400, "a request has a Content-Length or a Transfer-Encoding, not both")
    if len(lengths) > 1 or (lengths and not re.fullmatch(rb"[0-9]{1,18}", lengths[0])):
        return Refusal(400, "the Content-Length is not one number")
    if codings and [coding.lower() for coding in codings] != [b"chunked"]:
        return Refusal(400, "the only Transfer-Encoding served here is chunked")
    if len(values(headers, b"content-type")) > 1 or len(values(headers, b"content-encoding")) > 1:
        return Refusal(400, "the content is described twice")
    return None


def _hosts(host: str, port: int, names: tuple[str, ...]) -> Iterable[str]:
    """What a Host header may say. Only the names of this machine's loopback, the address bound to, and those given."""
    everywhere = host in ("0.0.0.0", "::")  # noqa: S104 - compared only
    local = ("127.0.0.1", "localhost", "[::1]") if everywhere or is_loopback(host) else ()
    bound = () if everywhere else (f"[{host}]" if ":" in host else host,)
    for name in (*local, *bound, *names):
        yield f"{name.lower()}:{port}"
        if name in names or port == 80:
            yield name.lower()


__all__ = ["Entry", "Guard", "Refusal", "is_loopback", "new_secret"]
