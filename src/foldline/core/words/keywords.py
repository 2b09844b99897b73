"""Keywords as people mean them: whole words, their inflections, and parts of identifiers.

`error` finds `errors`, `Error:`, `TypeError`, `parse_error` and `errorCode`, but not `terror`; `fix` finds `fixed` but
not `prefix`. Words of scripts without spaces, and words with signs in them, are sought as they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_VOWELS = "aeiou"
_LETTER = r"[^\W\d_]"
_SMALL = r"[^\W\d_A-Z]"
"""A letter that continues a part of an identifier; a capital does not: in errorCode, C begins a new part."""


def pattern(words: Iterable[str]) -> re.Pattern[str] | None:
    """One linear-time pattern for all the words; None where there are no words."""
    wanted = [word.strip() for word in words if word.strip()]
    plain = [word for word in wanted if word.isascii() and word.isalpha()]
    choices = [f"(?i:{re.escape(word)})" for word in wanted if word not in plain]
    choices += [_whole(plain)] if plain else []
    return re.compile("|".join(choices)) if choices else None


def _whole(words: Sequence[str]) -> str:
    forms = sorted({form for word in words for form in inflections(word.lower())}, key=len, reverse=True)
    first = "".join(sorted({form[0] for form in forms}))
    small = "|".join(forms)
    large = "|".join([*(form.capitalize() for form in forms), *(word[0].upper() + word[1:] for word in words)])
    choices = (
        f"(?<!{_LETTER})(?i:{small})(?!{_LETTER})",  # a word in any case: error, Errors, ERROR, IO_ERROR
        f"(?<!{_LETTER})(?:{small})(?=[A-Z])",  # the first part of errorCode
        f"(?:{large})(?!{_SMALL})",  # the last part of TypeError
    )
    return (
        f"(?=[{first}{first.upper()}])(?:{'|'.join(choices)})"  # one look at the first letter spares most of the work
    )


def inflections(word: str) -> set[str]:
    """The word with its English endings: plural, past, -ing. Only regular forms; a form that does not exist does no
    harm."""
    stem = word[:-1] if word.endswith("e") and len(word) > 1 else word
    forms = {word, stem + "ed", stem + "ing"}
    if word.endswith("y") and len(word) > 1 and word[-2] not in _VOWELS:
        return forms | {word[:-1] + "ies", word[:-1] + "ied"}
    if word.endswith(("s", "x", "z", "ch", "sh")):
        forms.add(word + "es")
    else:
        forms.add(word + "s")
    if len(word) > 2 and word[-1] not in _VOWELS + "wxy" and word[-2] in _VOWELS and word[-3] not in _VOWELS:
        forms |= {word + word[-1] + "ed", word + word[-1] + "ing"}
    return forms
