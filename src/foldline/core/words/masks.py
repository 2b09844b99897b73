"""Masks: `[masked github-token 5be1f0]` stands in the place of a secret. What was masked once is left alone.

    text ── masked ──> the text without secrets        text, length ── begun, ended ──> its beginning, its end without
                                                                       ── ends_of ──> both; a short text whole

A mask shows no character of the secret. For keys, which are random, it ends in a piece of their hash, so that a reader
sees which ones are equal; for passwords it does not, since whoever has the hash could try words until one fits.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence

from foldline.core.words.secretfinder import KINDS, MASK, Secret, secrets
from foldline.core.words.text import head

BEHIND = 2_000
"""Characters behind the end of a beginning that are looked at too: longer than any secret but a whole private key, of
which each line is one."""
_BEFORE = 4_000
"""Characters before an end that are looked at too: more than a whole private key has, whose lines do not show what they
are without its first one."""
_SHOWN = 6
"""Hex digits of a key's hash in its mask: enough to tell the keys of one conversation apart."""
_MASK = re.compile(rf"{re.escape(MASK)}(?:{'|'.join(sorted(KINDS))})(?: [0-9a-f]{{{_SHOWN}}})?\]")
_GUESSABLE = frozenset({"password", "secret", "api-key", "url-password", "authorization"})
"""Kinds that people make up, so that a hash would help to guess them."""


def masked(text: str) -> str:
    """The text with every secret in it masked; the same object if there were none."""
    found = merged(secrets(text))
    return replaced(text, found) if found else text


def begun(text: str, length: int) -> str:
    """So many characters of the text's beginning, masked before they are cut: half a secret does not look like one."""
    near = text[: length + BEHIND]
    found = [secret for secret in merged(secrets(near)) if secret.start < length]
    stop = max([length, *(secret.end for secret in found[-1:])])  # what a mask makes room for is not filled from behind
    return head(replaced(near[:stop], found), length)


def ended(text: str, length: int) -> str:
    """So many characters of the text's end; where they begin inside a secret, its whole mask."""
    near = text[-(length + _BEFORE) :]
    border = max(len(near) - length, 0)
    found = [secret for secret in merged(secrets(near)) if secret.end > border]
    start = min([border, *(secret.start for secret in found[:1])])
    moved = [secret._replace(start=secret.start - start, end=secret.end - start) for secret in found]
    return replaced(near[start:], moved)


def ends_of(text: str, length: int) -> str:
    """The text, masked; of a long one so many characters of its beginning, and as many of its end on a new line."""
    return masked(text) if len(text) <= 2 * length else f"{begun(text, length)}\n{ended(text, length)}"


def without_masks(text: str) -> str:
    """The text with nothing in the place of its masks. What only looks like one stays."""
    return _MASK.sub("", text) if MASK in text else text


def mask(kind: str, secret: str) -> str:
    """What stands in the place of a secret."""
    if kind in _GUESSABLE:
        return f"{MASK}{kind}]"
    digest = hashlib.blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{MASK}{kind} {digest[:_SHOWN]}]"


def merged(found: Sequence[Secret]) -> list[Secret]:
    """Overlapping secrets as one, named after the first, or after the longer of two that begin together."""
    apart: list[Secret] = []
    for secret in found:
        if apart and secret.start < apart[-1].end:
            apart[-1] = apart[-1]._replace(end=max(apart[-1].end, secret.end))
        else:
            apart.append(secret)
    return apart


def replaced(text: str, found: Sequence[Secret], by: Callable[[str, str], str] = mask) -> str:
    """The text with a mask, or what else its kind and it are shown `by`, for each secret in it; these are in order and
    do not overlap."""
    pieces: list[str] = []
    at = 0
    for kind, start, end in found:
        pieces += text[at:start], by(kind, text[start:end])
        at = end
    return "".join((*pieces, text[at:]))
