"""JSON in and out for every dialect: fast where the text is clean, tolerant where it is not.

msgspec does the work. What it refuses and real clients send (lone surrogate escapes, numbers beyond a float, bytes
that are not UTF-8) goes through the standard library instead. Nothing here knows what the JSON means.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NoReturn, cast

import msgspec

from foldline.errors import MalformedInput, TooDeep

Path = tuple[str | int, ...]
"""The way from the top of a document to a value inside it."""

_fast = msgspec.json.Decoder()
_raw_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_raw_list = msgspec.json.Decoder(list[msgspec.Raw])
_scanner = json.JSONDecoder()
_BLANK, _BOM = " \t\r\n", "\ufeff"
_SURROGATE = re.compile("[\ud800-\udfff]")
_PIECE = 1 << 16
_DEPTH_ADVICE = "nested too deeply to be read safely; no real message is: check where this input comes from"


def decode(data: bytes) -> Any:
    """The value of some JSON bytes. Raises MalformedInput with the byte offset, or TooDeep."""
    try:
        return _fast.decode(data)
    except RecursionError:
        raise TooDeep(_DEPTH_ADVICE) from None
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _decode_slowly(data)


def encode(value: Any) -> bytes:
    """Compact JSON. Objects of provider SDKs are taken as what they dump themselves to."""
    try:
        try:
            data = _encoder.encode(value)
        except UnicodeEncodeError:
            _refuse_nan(value)
            return _encode_slowly(value).encode()
        if b"null" in data:
            _refuse_nan(value)
        return data
    except RecursionError:
        raise TooDeep(_DEPTH_ADVICE) from None
    except (TypeError, ValueError) as error:
        raise MalformedInput(f"not JSON: {error}; give plain dicts, lists, strings and numbers") from None


def text_of(data: bytes) -> str:
    """The characters of some bytes: UTF-8 as it should be, with surrogates if they were encoded, else U+FFFD."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return data.decode("utf-8", "replace")


def bytes_of(text: str) -> bytes:
    """The inverse of `text_of` for text a caller gave."""
    return text.encode("utf-8", "surrogatepass")


def is_utf8(data: bytes) -> bool:
    """Decoded piece by piece: as characters, a line with one emoji in it takes four times its size."""
    if data.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for at in range(0, len(data), _PIECE):
            decoder.decode(data[at : at + _PIECE], at + _PIECE >= len(data))
    except UnicodeDecodeError:
        return False
    return True


def as_utf8(data: bytes) -> bytes:
    """The same JSON in UTF-8: what could not be decoded is U+FFFD, and surrogates that were encoded are escapes."""
    if is_utf8(data):
        return data
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text_of(data)).encode()


def elements(data: bytes) -> list[bytes]:
    """The elements of a JSON array, each with its own bytes."""
    try:
        return [bytes(raw) for raw in _raw_list.decode(data)]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        _expect(decode(data), list, "an array")
        return [bytes_of(item) for item in _pieces(text_of(data))]
    except RecursionError:
        raise TooDeep(_DEPTH_ADVICE) from None


def fields(data: bytes) -> dict[str, bytes]:
    """The members of a JSON object in their order, each value with its own bytes."""
    try:
        return {key: bytes(raw) for key, raw in _raw_object.decode(data).items()}
    except (msgspec.MsgspecError, UnicodeDecodeError):
        _expect(decode(data), dict, "an object")
        pieces = _pieces(text_of(data))
        return {json.loads(key): bytes_of(item) for key, item in zip(pieces[::2], pieces[1::2], strict=True)}
    except RecursionError:
        raise TooDeep(_DEPTH_ADVICE) from None


def dig(data: bytes, path: Path) -> bytes:
    """The bytes of the value at `path`."""
    for step in path:
        data = elements(data)[step] if isinstance(step, int) else fields(data)[step]
    return data


def splice(data: bytes, path: Path, value: bytes) -> bytes:
    """The document with the value at `path` replaced; all other values keep their bytes."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        items = elements(data)
        items[step] = splice(items[step], rest, value)
        return join_list(items)
    members = fields(data)
    members[step] = splice(members[step], rest, value) if step in members else value
    return join_object(members)


def join_list(items: Sequence[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"


def join_object(members: Mapping[str, bytes]) -> bytes:
    return b"{" + b",".join(encode(key) + b":" + value for key, value in members.items()) + b"}"


def _decode_slowly(data: bytes) -> Any:
    marked = text_of(data)
    text = marked.removeprefix(_BOM)
    try:
        return json.loads(text, parse_float=_number, parse_int=_whole, parse_constant=_refuse_constant)
    except RecursionError:
        raise TooDeep(_DEPTH_ADVICE) from None
    except json.JSONDecodeError as error:
        offset = len(bytes_of(marked[: error.pos + len(marked) - len(text)]))
        raise MalformedInput(f"not JSON: {error.msg}", line=error.lineno, offset=offset) from None


def _number(text: str) -> float | Decimal:
    """A float, unless that would lose the number altogether: 1E400 stays what it is."""
    value = float(text)
    return Decimal(text) if math.isinf(value) else value


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:  # longer than the interpreter converts
        most = sys.get_int_max_str_digits()
        what = f"a number in it has {len(text):,} digits, and {most:,} are the most; send it as a string instead"
        raise MalformedInput(what) from None


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedInput(f"not JSON: {name} is not a number JSON knows; send null or a string instead")


def _pieces(text: str) -> list[str]:
    """The texts of the values inside an array, or of the keys and values inside an object, known to be well formed."""
    found = []
    at = _skip(text, _skip(text, 0, _BLANK + _BOM) + 1, _BLANK)
    while text[at] not in "]}":
        _, end = _scanner.raw_decode(text, at)
        found.append(text[at:end])
        at = _skip(text, end, _BLANK + ",:")
    return found


def _skip(text: str, at: int, marks: str) -> int:
    while text[at] in marks:
        at += 1
    return at


def _encode_slowly(value: Any) -> str:
    """Pure ASCII JSON of anything: lone surrogates stay escapes, numbers beyond a float keep their digits."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json.dumps(str(key))}:{_encode_slowly(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_encode_slowly(item) for item in value) + "]"
    if isinstance(value, Decimal):
        return str(value)
    if value is None or isinstance(value, (str, int, float)):
        return json.dumps(value)
    return _encode_slowly(_dump(value))


def _refuse_nan(value: Any) -> None:
    """msgspec writes NaN and infinity as null, which would change what the caller said without a word."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        for item in value:
            _refuse_nan(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise MalformedInput(f"not JSON: {value}; send null or a string instead")


def _dump(value: Any) -> Any:
    """An SDK object as its own plain form: `to_dict` (anthropic, openai), `model_dump` (pydantic)."""
    for name in ("to_dict", "model_dump"):
        dump = getattr(value, name, None)
        if callable(dump):
            return dump()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _expect(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind):
        raise MalformedInput(f"expected {name}, found {type(value).__name__}")
    return cast("Any", value)


_encoder = msgspec.json.Encoder(enc_hook=_dump, decimal_format="number")
