"""Secrets in a text, masked: `[masked github-token 5be1f0]`. JSON stays JSON, and what was masked once is left alone.

    text ── redact ──> Redacted(text, found)        value ── redact_value ──> value        RedactingFilter: for logging

A mask shows no character of the secret. For keys, which are random, it ends in a piece of their hash, so that a reader
sees which ones are equal; for passwords it does not, since whoever has the hash could try words until one fits.

Knows nothing of archives, messages or files. Finding secrets is in core/secretfinder.py.
"""

from __future__ import annotations

import hashlib
import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldline.core.secretfinder import MASK, Secret, secrets
from foldline.core.secretforms import NAMES, Trust, names_key, secretive

__all__ = ["MASK", "Redacted", "RedactingFilter", "Secret", "redact", "redact_value"]

_SHOWN = 6
"""Hex digits of a key's hash in its mask: enough to tell the keys of one conversation apart."""
_GUESSABLE = frozenset({"password", "secret", "api-key", "url-password", "authorization"})
"""Kinds that people make up, so that a hash would help to guess them."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text with its secrets masked; the same object if there were none."""

    text: str
    found: tuple[Secret, ...] = ()


def redact(text: str) -> Redacted:
    """Masks every secret in a text."""
    found = _merged(secrets(text))
    if not found:
        return Redacted(text)
    pieces: list[str] = []
    at = 0
    for secret in found:
        pieces += text[at : secret.start], _mask(secret.kind, text[secret.start : secret.end])
        at = secret.end
    return Redacted("".join((*pieces, text[at:])), tuple(found))


def redact_value(value: Any) -> Any:
    """A JSON value with the secrets in its strings masked, including those that only their key gives away."""
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, Mapping):
        return {key: _member(key, inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_value(inner) for inner in value]
    return value


class RedactingFilter(logging.Filter):
    """For a logging handler: what it writes, tracebacks included, has its secrets masked."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = redact(record.getMessage()).text, None
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
        if record.exc_text:
            record.exc_text = redact(record.exc_text).text
        return True


def _member(key: Any, value: Any) -> Any:
    """A value beside its key. A password may be a number, too."""
    named = _name_at_end(key) if isinstance(key, str) and isinstance(value, (str, int)) else None
    if named is None or isinstance(value, bool) or (isinstance(value, int) and named[1] != "password"):
        return redact_value(value)
    kind, trust = named
    said = str(value)
    if MASK not in said and len(said.split()) == 1 and secretive(said, trust, literal=isinstance(value, int)):
        return _mask(kind, said)
    return redact_value(value)


def _name_at_end(key: str) -> tuple[str, Trust] | None:
    for word, (kind, trust) in NAMES.items():
        if key.lower().endswith(word) and (kind != "api-key" or names_key(key[: -len(word)], key[-len(word) :])):
            return kind, trust
    return None


def _mask(kind: str, secret: str) -> str:
    if kind in _GUESSABLE:
        return f"{MASK}{kind}]"
    digest = hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{MASK}{kind} {digest[:_SHOWN]}]"


def _merged(found: list[Secret]) -> list[Secret]:
    """Overlapping secrets as one, named after the first, or after the longer of two that begin together."""
    merged: list[Secret] = []
    for secret in found:
        if merged and secret.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(merged[-1].end, secret.end))
        else:
            merged.append(secret)
    return merged
