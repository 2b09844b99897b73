"""One form in which a line is judged, whatever its letters and marks look like.

    text ── unmasked ──> its letters as they are read ── plainly ──> and without the marks of emphasis and layout

Nothing made here is ever shown: a summary stays as it was written.
"""

from __future__ import annotations

import html
import re
import unicodedata

_CYRILLIC = "авсеԁһіјӏкмнорԛѕтуѵԝхАВСЕНІЈКМОРЅТУХ"
_READ_AS = "abcedhijlkmhopqstyvwxABCEHIJKMOPSTYX"
_GREEK = "αικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"
_READ_AS_TOO = "aikvoptuxABEZHIKMNOPTYX"
_LOOK_ALIKES = str.maketrans(f"{_CYRILLIC}{_GREEK}ıɡℓ‘’ʼ“”„", f"{_READ_AS}{_READ_AS_TOO}igl'''\"\"\"")
"""Letters of other scripts that look like Latin ones, and quotation marks, with what they are read as."""
_QUOTES = str.maketrans("‘’ʼ“”„", "'''\"\"\"")
_WORD = re.compile(r"\w+")
_LATIN, _OTHER = re.compile(r"[A-Za-z]"), re.compile(r"[\u0370-\u052f]")
"""Latin letters, and Greek or Cyrillic ones. A word with both is meant to look like another word."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_TAGS = r"</?(?:b|i|u|s|p|em|strong|code|span|font|div|mark|small|sub|sup|del|ins|kbd|tt|h[1-6])(?:\s[^<>]{0,200})?>"
_MARKS = re.compile(rf"[*`]|~~|<!--[^>]{{0,200}}-->|{_TAGS}|(?<!\w)_{{1,3}}(?=\w+_{{1,3}}(?!\w))", re.I)
_TAIL = re.compile(r"(?<=[^\W_])_{1,3}(?!\w)")
_LINE_BREAK = re.compile(r"<br\s{0,9}/?>", re.I)
_BLANKS = re.compile(r"\s+")


def unmasked(text: str) -> str:
    """The text as a reader sees it: no hidden characters, no entities, each letter in its own script."""
    if "&" in text:
        text = html.unescape(text)
    if text.isascii():
        return text
    text = _UNSEEN.sub("", text)
    text = text.translate({ord(character): _letter(character) for character in set(text)})
    latin = text.translate(_LOOK_ALIKES)
    if latin.isascii():
        return latin
    return _WORD.sub(_in_one_script, text.translate(_QUOTES))


def _in_one_script(word: re.Match[str]) -> str:
    is_mixed = _LATIN.search(word.group()) and _OTHER.search(word.group())
    return word.group().translate(_LOOK_ALIKES) if is_mixed else word.group()


def _letter(character: str) -> str:
    """A letter or digit in its usual form; other signs keep theirs, for it has a meaning."""
    if character < "\u00aa" or unicodedata.category(character) not in _LETTERS:
        return character
    return unicodedata.normalize("NFKC", character)


_LETTERS = frozenset({"Lu", "Ll", "Lt", "Lm", "Lo", "Nd", "Zs"})


def plainly(text: str) -> str:
    """The words of a text, with single blanks."""
    text = _LINE_BREAK.sub(" ", unmasked(text))
    return _BLANKS.sub(" ", _TAIL.sub("", _MARKS.sub("", text))).strip()
