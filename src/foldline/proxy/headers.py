"""Headers on their way through: what is between two hops stays there, what is ours goes no further. Pure."""

from __future__ import annotations

from collections.abc import Iterable

Pairs = list[tuple[bytes, bytes]]

_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
        b"expect",
    }
)
OURS = b"x-foldline-"
"""Headers to us and from us begin so."""
BYPASS = b"x-foldline-bypass"
TOKEN = b"x-foldline-token"
NOTICE = b"x-foldline-notice"
ACTION = b"x-foldline-action"
CHECKPOINT = b"x-foldline-checkpoint"
_ADDED = (b"host", b"content-length", b"forwarded", b"x-real-ip", b"via")
_PAGES = (b"access-control-", b"alt-svc")
"""What would let a web page read the answer, or send a client past us."""


def values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    """All values of a header; names are in small letters, as ASGI gives them."""
    return [value for key, value in headers if key == name]


def value(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes:
    """The first value of a header, or nothing."""
    return next((value for key, value in headers if key == name), b"")


def onward(headers: Pairs, *, without: Iterable[bytes] = ()) -> list[tuple[str, str]]:
    """The client's headers as the provider is to have them. Length and host are set anew."""
    dropped = _HOP | _named(headers) | set(_ADDED) | set(without)
    kept = ((key, value) for key, value in headers if key not in dropped)
    return [(key.decode("latin-1"), _text(value)) for key, value in kept if not key.startswith((OURS, b"x-forwarded-"))]


def _text(value: bytes) -> str:
    """Such that its bytes are the same again: what sends headers writes them in UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def back(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """The provider's headers as the client is to have them, the length too: its body is passed on as it is."""
    pairs = [(key.lower(), value) for key, value in headers]
    dropped = _HOP | _named(pairs)
    return [(key, value) for key, value in pairs if key not in dropped and not key.startswith((*_PAGES, OURS))]


def _named(headers: Pairs) -> frozenset[bytes]:
    """Headers that a Connection header names are between two hops too."""
    named = b",".join(values(headers, b"connection")).lower().split(b",")
    return frozenset(name.strip() for name in named)
