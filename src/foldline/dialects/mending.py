"""JSON with escapes that JSON does not know: read as its writer must have meant it.

Tools that replace words in a transcript without parsing it leave such escapes behind. Everything else that is no JSON
is refused here as everywhere.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from foldline.dialects import jsontext
from foldline.errors import MalformedInput

_ESCAPE = re.compile(rb'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})?')
_fast = msgspec.json.Decoder()


def decode(data: bytes) -> Any:
    """The value of a record. Escapes JSON does not know are taken literally, as their writer must have meant them."""
    try:
        return jsontext.decode(data)
    except MalformedInput:
        mended = mend(data)
        if mended == data:
            raise
        return jsontext.decode(mended)


def decode_raw(raw: msgspec.Raw) -> Any:
    """The value of a field that was left undecoded; a clean one is not copied for it."""
    try:
        return _fast.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return decode(bytes(raw))


def clean(data: bytes) -> bytes:
    """The same record as JSON that can be decoded, if mending its escapes is enough for that."""
    try:
        jsontext.decode(data)
    except MalformedInput:
        return mend(data)
    return data


def mend(data: bytes) -> bytes:
    r"""The same JSON with each escape it does not know (\d) doubled into a plain backslash (\\d)."""
    return _ESCAPE.sub(lambda found: found[0] if found[1] else b"\\\\", data)
