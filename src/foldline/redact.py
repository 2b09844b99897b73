"""Secrets in a text, masked: `[masked github-token 5be1f0]`. JSON stays JSON, and what was masked once is left alone.

    text ── redact ──> Redacted(text, found)        value ── redact_value ──> value        RedactingFilter: for logging

Knows nothing of archives, messages or files. Finding secrets is in core/words/secretfinder.py, what a mask says in
core/words/masks.py.
"""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foldline.core.words.masks import mask, merged, replaced
from foldline.core.words.secretfinder import MASK, Secret, secrets
from foldline.core.words.secretforms import NAMES, Trust, secretive, trusted

__all__ = ["MASK", "Redacted", "RedactingFilter", "Secret", "redact", "redact_value"]

_HEADERS = ("authorization", "auth")
"""How the names of headers end that hold logins."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """The text with its secrets masked; the same object if there were none."""

    text: str
    found: tuple[Secret, ...] = ()


def redact(text: str) -> Redacted:
    """Masks every secret in a text."""
    found = tuple(merged(secrets(text)))
    return Redacted(replaced(text, found), found) if found else Redacted(text)


def redact_value(value: Any) -> Any:
    """A JSON value with the secrets in its strings and keys masked, including those that only their key gives away."""
    if isinstance(value, str):
        return redact(value).text
    if isinstance(value, Mapping):
        names = _names(value)
        return {names.get(key, key): _member(key, inner) for key, inner in value.items()}
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


def _names(value: Mapping[Any, Any]) -> dict[Any, str]:
    """The keys that hold a secret, masked. Where two become the same, the later one gets a number: no entry is lost."""
    names: dict[Any, str] = {}
    taken, numbers = set(value), Counter[str]()
    for key in value:
        masked = redact(key).text if isinstance(key, str) else key
        if masked is key:
            continue
        name = masked
        while name in taken:
            numbers[masked] += 1
            name = f"{masked} ({numbers[masked] + 1})"
        taken.add(name)
        names[key] = name
    return names


def _member(key: Any, value: Any) -> Any:
    """A value beside its key, which tells of what is in a list, too."""
    if not isinstance(key, str):
        return redact_value(value)
    if isinstance(value, (list, tuple)):
        return [_member(_one_of(key), inner) for inner in value]
    if isinstance(value, str) and key.lower().endswith(_HEADERS):
        return _header(key, value)
    return _named(key, value) if isinstance(value, (str, int)) else redact_value(value)


def _header(key: str, value: str) -> str:
    """The value of a header, masked as behind its name in a text."""
    before = f"{key}: "
    masked = redact(before + value)
    if any(secret.start < len(before) for secret in masked.found):
        return redact(value).text
    return masked.text[len(before) :]


def _named(key: str, value: str | int) -> Any:
    """What a key may give away. A password may be a number, too; behind "passwords" a number is how many they are."""
    named = _name_at_end(_one_of(key) if isinstance(value, str) else key)
    if named is None or isinstance(value, bool) or (isinstance(value, int) and named[1] != "password"):
        return redact_value(value)
    kind, trust = named
    said = str(value)
    if MASK not in said and len(said.split()) == 1 and secretive(said, trust, literal=isinstance(value, int)):
        return mask(kind, said)
    return redact_value(value)


def _name_at_end(key: str) -> tuple[str, Trust] | None:
    for word, (kind, _) in NAMES.items():
        at = len(key) - len(word)
        if key.lower().endswith(word) and (trust := trusted(word, key[:at], key[at:])):
            return kind, trust
    return None


def _one_of(key: str) -> str:
    """The name of one of those that a name in the plural stands for."""
    return key[:-1] if key.lower().endswith("s") and not key.lower().endswith("ss") else key
