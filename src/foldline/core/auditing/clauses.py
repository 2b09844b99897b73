"""A line without what it claims for the user: the deed it reports may be true where the leave for it is not borne out.

    line, judge of pieces ── without ──> what is left of the line, and the pieces that were cut

Only what stands beside a deed is cut: brackets, "with the user's permission", a clause or sentence of its own. Where
no deed is left there is nothing to keep. Which pieces are wrong is decided by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from foldline.core.words.plainly import plainly

_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?P<box>\[[ xX]?\]\s*)?")
SEPARATE = (
    r"(?<=[.!;。；])\s+|(?<=[。；])|"
    r",\s+(?:and|so|then)\s+(?=(?:[^\s,;]+\s+){1,6}(?:was|were|is now|has been|have been|had been)\s+\w+(?:ed|n|t)\b)"
)
"""Where a clause or sentence begins that is judged by itself."""
_PIECES = re.compile(f"({SEPARATE})")
_WHO = r"(?:the |our |explicit )*(?:user|customer|client|owner|human|operator)"
_ASIDES = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        r"\s*[(（][^()（）]{1,200}[)）]",
        rf",?\s+(?:after|since|as|with|following|upon|on|at|per|by|under|because)\s+{_WHO}\b[^,;:.()]{{0,80}}(?!\w),?",
        rf"^(?:after|since|as|with|following|upon|on|at|per)\s+{_WHO}\b[^,;:.()]{{0,80}},\s*",
        r",?\s*\bnach\s+(?:zustimmung|freigabe|bestätigung|rücksprache)\b(?:\s+(?:des|durch|mit)\s+(?:de[nmrs]\s+)?\w+)?",
        r"(?:经|在|经过)?(?:用户|客户)[^，。；、（）]{0,8}(?:同意|批准|允许|授权|确认|许可)(?:之后|后|下)[，]?",
    )
)
"""Asides: what can be left out of a sentence."""
_BY = re.compile(rf"\b(?:by|with|from)\s+{_WHO}\b(?!')", re.I)
"""Who gave the leave that is named before: this alone claims nothing."""
_DEED = re.compile(
    r"\b(?:\w{2,}ed|ran|wrote|built|made|sent|done|found|got|took|gave|kept|chose|began|rewrote|passing|"
    r"is on|are on)\b|[✔✓✅]",
    re.I,
)
"""Words for something that was done."""

_LEAVE = re.compile(
    r"\W*(?:was |were |is |been )?(?:approved|authori[sz]ed|confirmed|agreed|granted|permitted|cleared|allowed)"
    r"(?: to| for)?\W*$",
    re.I,
)
"""A piece that only gives leave, once it is cut who gave it."""

LONGEST, PIECES = 2_000, 16
"""Characters and pieces of a line that is cut at most: one with more is a whole story, not a deed and the leave for
it."""


class Trimmed(NamedTuple):
    """What is left of a line, what was cut, and the deed alone: what is left when every aside is taken away."""

    rest: str
    cut: tuple[str, ...]
    deed: str


def without(line: str, wrong: Callable[[str, str], bool]) -> Trimmed | None:
    """The line without the pieces that are wrong, each judged with what is before it; None where no deed is left."""
    if len(line) > LONGEST or len(_PIECES.findall(line)) + line.count("(") + line.count("（") > PIECES:
        return None
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    text = line[start:]
    if not any(pattern.search(text) for pattern in (_PIECES, *_ASIDES)) and wrong(plainly(text), ""):
        return None
    kept, cut, stripped = _kept(text, wrong)
    done = lead is not None and (lead["box"] or "").strip() in ("[x]", "[X]")
    if wrong(plainly(stripped), "") or not (done or _DEED.search(plainly(stripped))):
        return None
    return Trimmed(
        line[:start] + kept.strip(_LOOSE), tuple(piece.strip(_LOOSE) for piece in cut), plainly(line[:start] + stripped)
    )


_LOOSE = " ,;:—–-"
"""Signs that joined the rest to a piece that was cut."""


def _kept(text: str, wrong: Callable[[str, str], bool]) -> tuple[str, list[str], str]:
    """What is left, what was cut, and what is left without any asides."""
    found, stripped, cut = "", "", list[str]()
    pieces = _PIECES.split(text)
    for piece, between in zip(pieces[::2], (*pieces[1::2], ""), strict=True):
        before = plainly(found)
        left, core, gone = _without_asides(piece, wrong) if wrong(plainly(piece), before) else (piece, piece, [])
        loose = bool(gone) or _BY.search(left) is not None
        if wrong(plainly(core), before) or (loose and wrong(plainly(left), before)) or _LEAVE.match(core):
            cut.append(piece)
            continue
        found, stripped, cut = found + left + between, stripped + core + between, cut + gone
    return found, cut, stripped


def _without_asides(piece: str, wrong: Callable[[str, str], bool]) -> tuple[str, str, list[str]]:
    """A piece without its wrong asides, the piece without any asides, and the wrong asides."""
    left, core, cut = piece, piece, list[str]()
    for pattern in _ASIDES:
        for aside in pattern.findall(core)[:PIECES]:
            core = _cut(core, aside)
        for aside in pattern.findall(left)[:PIECES]:
            if aside in left and wrong(plainly(aside), plainly(left.partition(aside)[0].strip(_LOOSE) or core)):
                left = _cut(left, aside)
                cut.append(aside)
    return left, core, cut


def _cut(text: str, aside: str) -> str:
    before, _, behind = text.partition(aside)
    return f"{before} {behind}" if before[-1:].isalnum() and behind[:1].isalnum() else before + behind
