"""What bytes that are no JSON document seem to be, and what to do about it. In words: nothing is mended here."""

from __future__ import annotations

import codecs
import re

import msgspec

from foldline.dialects import jsontext
from foldline.errors import InputError, MalformedInput, UnknownDialect
from foldline.model import Notice

ADVICE = "give a request body, its list of messages or a session file; or name its dialect if you know it"
_WIDE = {
    "UTF-32": ((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), (b"{\0\0\0", b"[\0\0\0", b"\0\0\0{", b"\0\0\0[")),
    "UTF-16": ((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), (b"{\0", b"[\0", b"\0{", b"\0[")),
}
"""How text in other encodings begins: with its mark, or with the bracket of a document."""
_BLANK = codecs.BOM_UTF8 + b" \t\r\n"
_LOOK = 1024
"""Bytes that are looked at to tell text from other data."""
_EXTRA = "not JSON: Extra data"
"""What the standard library says where a second document follows."""
_UNDECODED = re.compile("[\udc80-\udcff]")
_json = msgspec.json.Decoder()


def refusal(data: bytes, mended: bytes, error: MalformedInput, name: str, *, is_named: bool) -> InputError:
    """What to raise for a document that was refused with `error`, also with its escapes mended. `is_named`: its dialect
    was given."""
    wide = _encoding(data)
    if wide:
        what = f"the input is {wide} text, and JSON is UTF-8; save it as UTF-8 and give that"
        return MalformedInput(what, source=name)
    if not data.lstrip(_BLANK).startswith((b"{", b"[")):
        kind = MalformedInput if is_named else UnknownDialect
        return kind(f"{_looks(data)}; {ADVICE}", source=name)
    if _ends_early(mended):
        what = "the JSON ends here, in the middle; it was cut off, so fetch or save the whole of it again"
        return MalformedInput(what, source=name, line=data.count(b"\n") + 1, offset=len(data))
    offset = error.offset if mended == data else None  # that of what was given, or none
    return MalformedInput(_worded(error), source=name, line=error.line, offset=offset)


def undecoded(data: bytes) -> tuple[Notice, ...]:
    """What is to be said of a document that was read although it is not UTF-8. Surrogates that were encoded are."""
    if jsontext.is_utf8(data):
        return ()
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        number = len(_UNDECODED.findall(data.decode("utf-8", "surrogateescape")))
        what = f"the document is not UTF-8: what could not be decoded stands as U+FFFD ({number:,} bytes)"
        return (Notice("bad-utf8", what, data.count(b"\n", 0, error.start) + 1, error.start),)
    return ()


def _worded(error: MalformedInput) -> str:
    if error.line is None:
        return error.what
    if error.what == _EXTRA:
        return "a whole JSON document ends here, and more follows; give one by itself, or name the dialect of its lines"
    return f"{error.what}; correct it there, or write it anew with a program that writes JSON"


def _encoding(data: bytes) -> str:
    """The encoding of text that is not in UTF-8, where its beginning tells; "" where it does not."""
    for name, (marks, brackets) in _WIDE.items():
        if data.startswith(brackets) or (data.startswith(marks) and _is_text(data, name)):
            return name
    return ""


def _is_text(data: bytes, encoding: str) -> bool:
    try:
        codecs.getincrementaldecoder(encoding)().decode(data[:_LOOK], len(data) <= _LOOK)
    except UnicodeDecodeError:
        return False
    return True


def _ends_early(data: bytes) -> bool:
    try:
        _json.decode(data.removeprefix(codecs.BOM_UTF8))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return "truncated" in str(error)
    return False


def _looks(data: bytes) -> str:
    """What it is, in words."""
    start = data.lstrip()[:64]
    if not start:
        return "the input is empty"
    if start.startswith(b"<"):
        return "the input looks like HTML or XML"
    if b"\0" in data[:_LOOK] or not start.isascii():
        return f"the input looks like binary data (it begins with {data[:8].hex(' ')})"
    return f"the input is no JSON (it begins with {start[:32].decode('ascii', 'replace')!r})"
