"""The program's own part of a checkpoint: rules, the user's words, tasks, deeds, errors, files. Quoted, all of it.

    facts, ledger, room ── notes ──> Composed (text, what was left out)

Every line is a piece with a rank. Pieces are taken in the order of rank while there is room, and shown in the order of
their sections. What did not fit is counted, and the notes say how much that is.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from foldline.core.checkpoints.pieces import RANKS, ROOT, TITLES, Piece, files, states
from foldline.core.checkpoints.user_pieces import LONG_MESSAGE, said
from foldline.core.facts import Facts
from foldline.core.work.ledger import Ledger

TOGETHER = 30
"""Pieces have about one part in thirty fewer tokens together than one by one."""
TRIES = 3
"""How many times more pieces are tried where the chosen ones leave room."""
NEARLY = 2
"""Another try is made if the next piece has at most so many times the tokens left: together with others it takes
fewer than by itself."""
WHOLE = 3
"""Characters, for each token of a checkpoint, up to which a user message is shown as it is, pasted blocks included,
where the other pieces leave room: about three quarters of the checkpoint. What a user pasted is mostly what is to be
done."""
SNAPSHOT_LENGTH = 400
"""Characters of each message that the snapshot shows."""
WORDS, NEEDED = RANKS["earlier"], RANKS["reached"]
"""The last rank of what nothing else can bring back (the user's words, and what stands for folded ones), and the
last rank of what a checkpoint should always have."""


@dataclass(frozen=True, slots=True)
class Composed:
    """Text that was composed for a room: the notes, or the whole checkpoint around them. With it, how many pieces of
    each section found no room, how many of the user's messages are shown in part, and how many rules are missing,
    those of plans not counted."""

    text: str
    tokens: int
    left_out: tuple[tuple[str, int], ...] = ()
    in_part: int = 0
    lost: int = 0

    @property
    def missing(self) -> int:
        """How many rules found no room, those of plans included."""
        return dict(self.left_out).get("rules", 0)


def notes(
    facts: Facts, ledger: Ledger, room: int, size: Callable[[str], int], summary_text: str = "", whole: int = 0
) -> Composed:
    """As much as fits, the most important first; "" where there is no room even to say what is missing.

    What stands in `summary_text`, the summary above the notes, is not repeated. A user message of up to `whole`
    characters is shown as it is, pasted blocks included.
    """
    found = [
        *said(facts, summary_text, max(whole, LONG_MESSAGE)),
        *states(facts, summary_text),
        *files(ledger, summary_text),
    ]
    noted, kept = _best(found, room, size)
    standing, shown = _standing(kept), set(kept)
    if any(piece.is_again and piece not in shown and not piece.is_told(standing) for piece in found):
        # a plan has no room as a whole: its rules come by themselves, behind single rules
        ranks = {**RANKS, "rules": RANKS["plan"]}
        first = [piece._replace(rank=ranks[piece.section]) if piece.is_again else piece for piece in found]
        noted, _ = _best(first, room, size)
    return noted


def _best(found: Sequence[Piece], room: int, size: Callable[[str], int]) -> tuple[Composed, Sequence[Piece]]:
    """The most important pieces that fit. Where a rule does not fit, a long one gives way to several short ones."""
    best = _within(_ranked(found), room, size)
    if not best[0].missing:
        return best
    short = sorted(_ranked(found), key=lambda piece: (piece.rank, size(piece.text) * (piece.section == "rules")))
    return min(best, _within(short, room, size), key=lambda one: one[0].missing)


def _rules(pieces: Iterable[Piece]) -> int:
    """How many rules there are, those of plans not counted."""
    return sum(piece.section == "rules" and piece.rank == RANKS["rules"] for piece in pieces)


def _standing(pieces: Iterable[Piece]) -> dict[int, str]:
    """What is shown of the user's messages, by their places."""
    return {piece.order: piece.text for piece in pieces if piece.section == "said"}


def _ranked(pieces: Iterable[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: (piece.rank, -piece.worth))


def _within(pieces: Sequence[Piece], room: int, size: Callable[[str], int]) -> tuple[Composed, Sequence[Piece]]:
    """The pieces that fit, as text, the last ones shortened or left out if need be. It tries again where short
    pieces left room that their sum did not show, or where a long message was chosen and had to go in the end."""
    aim = room + room // TOGETHER
    chosen = _choose(pieces, aim, size)
    best = _fitted(pieces, chosen, room, size)
    for _ in range(TRIES):
        noted, kept = best
        spare, first = room - noted.tokens, _first_left(pieces, kept)
        if not noted.left_out or first is None or size(first.text) > spare * NEARLY:
            break
        fewer = _as_kept(pieces, kept)  # shortened pieces leave room for others, and stay short
        aim += 0 if fewer != list(pieces) else spare
        again = _fitted(pieces, _choose(fewer, aim, size), room, size)
        if again[0].tokens <= noted.tokens:
            break
        best = again
    others, kept = list(pieces), best[1]
    for _ in range(TRIES):
        there = {*map(_where, kept)}
        gone = next((piece for piece in chosen if _where(piece) not in there), None)
        if gone is None or gone.section != "said":  # a lost rule's room goes to nothing of lower rank
            break
        others = [piece for piece in others if _where(piece) != _where(gone)]
        chosen = _choose(others, room, size)
        noted, kept = _fitted(pieces, chosen, room, size)
        best = max(best, (noted, kept), key=lambda one: one[0].tokens)
    return best


def _where(piece: Piece) -> tuple[str, int, float]:
    """What identifies a piece, however short it is."""
    return piece.section, piece.order, piece.rank


def _first_left(pieces: Sequence[Piece], kept: Sequence[Piece]) -> Piece | None:
    """The most important piece that is left out."""
    said = _standing(kept)
    there = Counter(map(_where, kept))
    for piece in pieces:
        there[_where(piece)] -= 1
        if there[_where(piece)] < 0 and not piece.is_told(said):
            return piece
    return None


def _as_kept(pieces: Sequence[Piece], kept: Sequence[Piece]) -> list[Piece]:
    """The pieces with those that were shortened in their shorter form. A piece that could not stay grown does not
    grow again."""
    short = {_where(piece): piece for piece in kept if piece.section == "said"}
    forms = [short.get(_where(piece), piece) for piece in pieces]
    found = [form if len(form.text) < len(piece.text) else piece for form, piece in zip(forms, pieces, strict=True)]
    cut = {(piece.section, piece.order, piece.text) for piece in kept if not piece.whole}
    settled = ((piece.section, piece.order, piece.text) in cut for piece in found)
    return [piece._replace(whole="") if stays else piece for stays, piece in zip(settled, found, strict=True)]


def _fitted(
    pieces: Sequence[Piece], kept: Sequence[Piece], room: int, size: Callable[[str], int]
) -> tuple[Composed, Sequence[Piece]]:
    while True:
        said = _standing(kept)
        left = _counted([piece for piece in pieces if not piece.is_told(said)], kept)
        text = "\n\n".join(_sections(kept, left))
        tokens = size(text)
        if tokens <= room:
            in_part = sum(piece.section in ("said", "rules") and piece.is_in_part for piece in kept)
            return Composed(text, tokens, tuple(left.items()), in_part, _rules(pieces) - _rules(kept)), kept
        if not kept:
            return Composed("", 0, tuple(left.items()), lost=_rules(pieces)), kept
        kept = _fewer(kept, tokens - room, size)


def _fewer(kept: Sequence[Piece], over: int, size: Callable[[str], int]) -> list[Piece]:
    """Fewer or shorter pieces: those of the last rank that can be are shortened; if none can, the last pieces go. It
    makes up for half the excess, since pieces together have fewer tokens than one by one and no more should go than
    must."""
    over //= 2
    shorter = list(kept)
    for place in range(len(kept) - 1, -1, -1):
        if over < 0 or kept[place].rank < kept[-1].rank:
            break
        for form in kept[place].cut():
            shorter[place] = form
            over -= size(kept[place].text) - size(form.text)
    if shorter != list(kept):
        return shorter
    stop = len(kept) - 1
    over -= size(kept[stop].text)
    while stop and (over := over - size(kept[stop - 1].text)) >= 0:
        stop -= 1
    return shorter[:stop]


def needed(facts: Facts, ledger: Ledger, size: Callable[[str], int], whole: int) -> tuple[int, int]:
    """Tokens of the notes that nothing else can bring back, and of all notes that a checkpoint should always have."""
    changed = tuple((path, done) for path, done in ledger.files if done != {"read"})
    found = [*said(facts, "", max(whole, LONG_MESSAGE)), *states(facts), *files(Ledger(changed, ledger.moves), "")]
    standing = _standing(found)
    pieces = sorted((piece for piece in found if not piece.is_told(standing)), key=lambda piece: piece.order)

    def tokens(rank: float) -> int:
        shown = [piece for piece in pieces if piece.rank <= rank]
        return size("\n\n".join(_sections([piece.grown() for piece in shown], _counted(pieces, shown))))

    return tokens(WORDS), tokens(NEEDED)


def _choose(pieces: Sequence[Piece], room: int, size: Callable[[str], int]) -> list[Piece]:
    """The pieces that fit, by rank; the first of a section brings its heading. A long piece takes no more room than
    leaves the others of its rank theirs."""
    kept: list[Piece] = []
    others = _others(pieces, size)
    opened: set[str] = set()
    closed: set[str] = set()
    said: dict[int, str] = {}
    for (before, piece), rest in zip(pairwise((*pieces[:1], *pieces)), others, strict=True):
        if before.rank < piece.rank:
            room = _grow(kept, room, size)
            said = _standing(kept)
        if piece.section in closed or piece.is_told(said):
            continue
        heading = 0 if piece.section in opened else size(_framed(piece.section, [])) + 1
        form: Piece | None = piece
        while form and size(form.text) + 1 + heading > (room - rest if form.shorter else room):
            form = next(form.cut(), None)
        if form:
            kept.append(form)
            opened.add(form.section)
            room -= size(form.text) + 1 + heading
        elif piece.order == ROOT:  # the paths below it say nothing without their folder
            closed.add(piece.section)
    _grow(kept, room, size)
    return kept


def _others(pieces: Sequence[Piece], size: Callable[[str], int]) -> list[int]:
    """For each piece, the tokens of the later pieces of its rank, all as short as they can be."""
    found: list[int] = []
    rank, rest = math.nan, 0
    for piece in reversed(pieces):
        rest = rest if piece.rank == rank else 0
        found.append(rest)
        rank, rest = piece.rank, rest + size((piece.text, *piece.shorter)[-1]) + 1
    return found[::-1]


def _grow(kept: list[Piece], room: int, size: Callable[[str], int]) -> int:
    """Shows pasted text as far as there is room; returns the room that is left."""
    for place, piece in enumerate(kept):
        more = size(piece.whole) - size(piece.text) if piece.whole else 0
        if piece.whole and more <= room:
            kept[place] = piece.grown()
            room -= more
    return room


def _counted(pieces: Sequence[Piece], kept: Sequence[Piece]) -> dict[str, int]:
    """How many pieces of each section are not kept."""
    left = Counter(piece.section for piece in pieces if piece.order != ROOT)
    left.subtract(piece.section for piece in kept if piece.order != ROOT)
    return {section: count for section, count in left.items() if count}


def _sections(kept: Sequence[Piece], left: dict[str, int]) -> Iterator[str]:
    """Each section with its pieces and how many it lacks; sections without any piece share one line."""
    for section in (*TITLES, "modified-files", "moved-files", "deleted-files", "read-files"):
        pieces = [piece for piece in sorted(kept, key=lambda piece: piece.order) if piece.section == section]
        missing = left.get(section, 0)
        if any(piece.order != ROOT for piece in pieces):  # a folder alone says nothing
            lines = [piece.text for piece in pieces]
            yield _framed(section, [*lines, _missing(missing)] if missing else lines)
    absent = left.keys() - {piece.section for piece in kept if piece.order != ROOT}
    if absent:
        counts = ", ".join(f"{section} {left[section]:,}" for section in left if section in absent)
        yield f"(Left out for want of room: {counts})"


def _missing(count: int) -> str:
    return f"({count:,} more left out for want of room)"


def _framed(section: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"## {TITLES[section]}\n{body}" if section in TITLES else f"<{section}>\n{body}\n</{section}>"
