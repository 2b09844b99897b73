"""The program's own part of a checkpoint: rules, the user's words, tasks, errors, files. Quoted, never generated.

    facts, ledger, room ── notes ──> Notes (text, what was left out)

Every line is a piece with a rank; pieces are taken in the order of rank while there is room, and shown in the order of
their sections. What did not fit is counted and said.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter
from typing import NamedTuple

from foldline.core.errors_seen import REFUSED
from foldline.core.facts import Fact, Facts
from foldline.core.ledger import Ledger
from foldline.core.sentences import bears_rule, sentences, turns
from foldline.core.text import beginning, head
from foldline.core.worklog import below, in_ticks

LONG_MESSAGE = 1_500
"""Characters of a user message above which its pasted blocks are named instead of shown."""
SHORT_MESSAGE = 500
"""Characters of a user message up to which a rule or a decision in it is shown with the whole of it."""
LONGEST_WORDS = 6_000
"""Characters of the user's own words in one message that are shown: ten times what people type, a tenth of a dump."""
LONGEST_ERROR = 200
"""Characters of an error: what went wrong stands at its beginning."""
LONGEST_TASK = 300
"""Characters of a task: what goes on longer is a plan, and would take the room of the user's words."""
PRESSING = 1_000_000_000
"""Added to what must not be left out while anything else of its kind is in: more than any message's number."""
TOGETHER = 30
"""Pieces have a thirtieth fewer tokens together than each by itself."""
LEAST_ROOT = 12
"""Characters of a common folder that are worth a line of their own."""
SNAPSHOT_LENGTH = 400
"""Characters of each message that the snapshot shows."""

_TITLES = {
    "rules": "Rules and preferences, in the user's words",
    "earlier": "From an earlier summary, as it stood",
    "decisions": "What the user decided",
    "said": "What else the user said, in order",
    "tasks": "Tasks",
    "errors": "Errors met",
    "commands": "Commands run",
    "waiting": "Waiting for the user",
}
_WORD = re.compile(r"[^\W\d_]+")
_STRETCH = re.compile(r".{1,200}(?=\s|$)|.{1,200}", re.S)
"""Some words of a sentence that does not end."""
_THINKS = re.compile(r"<analysis>|^Analysis:", re.M)
_TELLS = re.compile(r"</analysis>|^Summary:", re.M)
"""Where a summary that was left in the conversation reasons, and where it tells what it found."""
_QUOTES = ("## Goal\nFirst asked: ", "## Immediate Task\nCONTINUE: ")
"""Where a summary made without a model quotes the user."""
_ROOT = -1
"""The place of the folder that the paths below it are in."""
_CLOSING = re.compile(
    r"^(?:If you need specific details from before compaction|Please continue the conversation)", re.M
)
"""Where it turns from telling to telling the agent what to do: that was for then."""
_RANKS = {
    "waiting": 0,
    "first tasks": 0,  # short, and what is being done
    "rules": 0,
    "tasks": 1,
    "decisions": 2,
    "said": 3,  # nothing else can bring the user's words back
    "again": 4,  # from messages that are plans: only where they do not stand there as a whole
    "files": 5,  # short, and what the next step will touch
    "open errors": 5,
    "earlier": 5,  # all that is left of what it stands for
    "errors": 6,  # cured ones, and old ones
    "done": 6,
    "commands": 7,
    "read": 8,
}
NEEDED = 5
"""The last rank of what a checkpoint should not be without."""
MOST_AGAIN = 3
"""Rules and decisions of one long message that are shown by themselves as well: who says more of them tells a plan."""
FIRST_TASKS = 5
"""Open tasks that come before everything else."""
FRESH_ERRORS = 3
"""Errors that are not cured, the newest: what is older has been lived with."""


class Piece(NamedTuple):
    """A line of a section. Lower ranks are taken first; within one rank, higher `worth` first."""

    section: str
    text: str
    rank: int
    worth: float
    order: int
    shorter: tuple[str, ...] = ()
    """What may stand in its place where it does not fit."""
    whole: str = ""
    """The same with what was pasted into it: shown where there is room for that when all of its rank are in."""
    inner: str = ""
    """Words of the user's that it shows once more, …"""

    @property
    def is_again(self) -> bool:
        """… though they are one of many in their message, …"""
        return self.rank == _RANKS["again"]

    def is_told(self, said: Mapping[int, str]) -> bool:
        """… and can be read there, where that message stands as a whole."""
        return self.is_again and self.inner in said.get(self.order, "")

    def cut(self) -> Iterator[Piece]:
        """The same, shorter; nothing where it cannot be."""
        if self.shorter:
            yield self._replace(text=self.shorter[0], shorter=self.shorter[1:])

    def grown(self) -> Piece:
        """The same as a whole."""
        return self._replace(text=self.whole, whole="", shorter=(self.text, *self.shorter)) if self.whole else self


@dataclass(frozen=True, slots=True)
class Notes:
    """The sections as text, and how many pieces of each found no room."""

    text: str
    tokens: int
    left_out: tuple[tuple[str, int], ...] = ()


def notes(facts: Facts, ledger: Ledger, room: int, size: Callable[[str], int], told: str = "", whole: int = 0) -> Notes:
    """As much as fits, the most important first. Where there is no room even to say what is missing, nothing.

    What stands in `told`, the summary above the notes, is not said again. A user message of up to `whole` characters is
    shown as it is, pasted blocks and all.
    """
    found = [*_said(facts, told, max(whole, LONG_MESSAGE)), *_states(facts), *_files(ledger, told)]
    noted, kept = _within(_ranked(found), room, size)
    said, shown = _standing(kept), set(kept)
    if any(piece.is_again and piece not in shown and not piece.is_told(said) for piece in found):
        first = [piece._replace(rank=_RANKS[piece.section]) if piece.is_again else piece for piece in found]
        noted, _ = _within(_ranked(first), room, size)
    return noted


def _standing(pieces: Iterable[Piece]) -> dict[int, str]:
    """What the user's messages show, by their places."""
    return {piece.order: piece.text for piece in pieces if piece.section == "said"}


def _ranked(pieces: Iterable[Piece]) -> list[Piece]:
    return sorted(pieces, key=lambda piece: (piece.rank, -piece.worth))


def _within(pieces: Sequence[Piece], room: int, size: Callable[[str], int]) -> tuple[Notes, Sequence[Piece]]:
    """The pieces that fit, as text, the last ones shorter or left out if need be."""
    kept: Sequence[Piece] = _choose(pieces, room + room // TOGETHER, size)
    while True:
        said = _standing(kept)
        left = _counted([piece for piece in pieces if not piece.is_told(said)], kept)
        text = "\n\n".join(_sections(kept, left))
        tokens = size(text)
        if tokens <= room:
            return Notes(text, tokens, tuple(left.items())), kept
        if not kept:
            return Notes("", 0, tuple(left.items())), kept
        kept = _fewer(kept, tokens - room, size)


def _fewer(kept: Sequence[Piece], over: int, size: Callable[[str], int]) -> list[Piece]:
    """Without the last pieces that take half of what is too much; where they take more, with the last one shorter.

    By halves, for together pieces have fewer tokens than each by itself: so no more go than must.
    """
    stop, over = len(kept), over // 2
    while stop and (over := over - size(kept[stop - 1].text)) >= 0:
        stop -= 1
    return list(kept[:stop]) if stop < len(kept) else [*kept[:-1], *kept[-1].cut()]


def needed(facts: Facts, ledger: Ledger, size: Callable[[str], int], whole: int) -> int:
    """Tokens of the notes that a checkpoint should not be without."""
    changed = tuple((path, done) for path, done in ledger.files if done != {"read"})
    found = [*_said(facts, "", max(whole, LONG_MESSAGE)), *_states(facts), *_files(Ledger(changed, ledger.moves), "")]
    said = _standing(found)
    needed = (piece.grown() for piece in found if piece.rank <= NEEDED and not piece.is_told(said))
    pieces = sorted(needed, key=lambda piece: piece.order)
    return size("\n\n".join(_sections(pieces, {})))


def _choose(pieces: Sequence[Piece], room: int, size: Callable[[str], int]) -> list[Piece]:
    """Those that fit, by rank; the first of a section brings its heading."""
    kept: list[Piece] = []
    opened: set[str] = set()
    closed: set[str] = set()
    said: dict[int, str] = {}
    for before, piece in pairwise((*pieces[:1], *pieces)):
        if before.rank < piece.rank:
            room = _grow(kept, room, size)
            said = _standing(kept)
        if piece.section in closed or piece.is_told(said):
            continue
        heading = 0 if piece.section in opened else size(_framed(piece.section, [])) + 1
        form: Piece | None = piece
        while form and size(form.text) + 1 + heading > room:
            form = next(form.cut(), None)
        if form:
            kept.append(form)
            opened.add(form.section)
            room -= size(form.text) + 1 + heading
        elif piece.order == _ROOT:  # the paths say nothing without it
            closed.add(piece.section)
    _grow(kept, room, size)
    return kept


def _grow(kept: list[Piece], room: int, size: Callable[[str], int]) -> int:
    """Shows what was pasted as far as there is room; what is left then."""
    for place, piece in enumerate(kept):
        more = size(piece.whole) - size(piece.text) if piece.whole else 0
        if piece.whole and more <= room:
            kept[place] = piece.grown()
            room -= more
    return room


def _counted(pieces: Sequence[Piece], kept: Sequence[Piece]) -> dict[str, int]:
    """How many pieces of each section are not kept."""
    left = Counter(piece.section for piece in pieces if piece.order != _ROOT)
    left.subtract(piece.section for piece in kept if piece.order != _ROOT)
    return {section: count for section, count in left.items() if count}


def _said(facts: Facts, told: str, whole: int) -> Iterator[Piece]:
    """The user's messages, each at one place: a short one that rules or decides stands whole where rules or decisions
    do; of a long one they are shown there once more, so that they cannot be overlooked."""
    telling: dict[int, list[Fact]] = {}
    for fact in facts.of("rule", "decision"):
        telling.setdefault(fact.at, []).append(fact)
    places = {message.at: place for message in facts.of("user") if (place := _place(message, telling))}
    many = Counter(fact.at for fact in facts.of("rule", "decision"))
    for fact in facts.of("rule", "decision"):
        section = "rules" if fact.kind == "rule" else "decisions"
        if fact.at not in places:
            rank = _RANKS["again" if many[fact.at] > MOST_AGAIN else section]
            yield Piece(section, f"- {_quoted(fact)}{_asked(fact)}", rank, fact.at, fact.at, inner=below(fact.text))
    for fact in facts.of("earlier"):
        for order, line in enumerate(_retold(fact.text, whole // 2)):
            yield Piece("earlier", f"> {line}", _RANKS["earlier"], -order, order)
    messages = facts.of("user")
    ruling = {fact.at for fact in facts.of("rule")}
    for fact, worth in zip(messages, _worths(messages), strict=True):
        section = places.get(fact.at, "")
        if section:
            about = next((_asked(found) for found in telling[fact.at] if found.about), "")
            shorter = "\n".join(f"- {_quoted(found)}{_asked(found)}" for found in telling[fact.at])
            yield Piece(section, f"- {_quoted(fact)}{about}", _RANKS[section], fact.at, fact.at, (shorter,))
        elif fact.about or not _is_quoted(fact.text, told):
            pressing = PRESSING if fact.at in ruling or fact is messages[0] else 0
            media = f" (pictures or files: {fact.about}, not shown here)" if fact.about else ""
            text, *forms = (f"[{fact.at + 1}] {below(words)}{media}" for words in _forms(fact.text))
            longer = f"[{fact.at + 1}] {below(fact.text)}{media}" if len(fact.text) <= whole else ""
            longer = "" if longer == text else longer
            yield Piece("said", text, _RANKS["said"], pressing + worth, fact.at, tuple(forms), longer)


def _retold(text: str, length: int) -> list[str]:
    """The lines of an earlier summary without its working, by turns from its beginning and its end."""
    thinks, closing = _THINKS.search(text), _CLOSING.search(text)
    tells = _TELLS.search(text, thinks.end()) if thinks else None
    told = text[tells.end() if tells else 0 : closing.start() if closing else None]
    lines = deque(beginning(line, length // 2) for line in told.splitlines() if line.strip())
    first: list[str] = []
    last: list[str] = []
    while lines and len(lines[-1 if len(first) > len(last) else 0]) <= length:
        ends = len(first) > len(last)
        line = lines.pop() if ends else lines.popleft()
        length -= len(line)
        (last if ends else first).append(line)
    missing = [f"({len(lines):,} more lines left out here)"] if lines else []
    return [*first, *missing, *reversed(last)]


def _is_quoted(text: str, told: str) -> bool:
    """The summary shows it as the user's words: that somebody says the same elsewhere in it is not enough."""
    return any(f"{lead}“{below(text)}”" in told for lead in _QUOTES)


def _forms(text: str) -> list[str]:
    """The words of a user message without what was pasted; how it begins."""
    words = shown_words(text)
    beginning = head(words, SHORT_MESSAGE)
    if len(beginning) < len(words) and len(words) > 2 * SHORT_MESSAGE:
        kept = beginning.rsplit(None, 1)[0]
        return [words, f"{kept} …\n({len(text) - len(kept):,} more characters left out here)"]
    return [words]


def _place(message: Fact, telling: Mapping[int, Sequence[Fact]]) -> str:
    """Where a short message stands whole; "" for others."""
    kinds = {fact.kind for fact in telling.get(message.at, ()) if fact.text in message.text}
    if not kinds or len(message.text) > SHORT_MESSAGE or message.about:
        return ""
    return "rules" if "rule" in kinds else "decisions"


def _asked(fact: Fact) -> str:
    return f" (asked: “{head(_line(fact.about), 120)}”)" if fact.kind == "decision" and fact.about else ""


def _worths(messages: Sequence[Fact]) -> Iterator[float]:
    """What each user message is worth beside the others: how lately it was said, and how unlike them it is.

    What a user says in one form again and again is routine; what is said once, in words of its own, may be a rule that
    no list of words knows.
    """
    words = [set(_WORD.findall(fact.text.casefold())) for fact in messages]
    spread = Counter(word for found in words for word in found)
    most = math.log(len(messages) + 1)
    for number, found in enumerate(words):
        rare = math.fsum(math.log((len(messages) + 1) / spread[word]) for word in found) / (len(found) or 1)
        yield rare / most + number / len(messages)


def _quoted(fact: Fact) -> str:
    return f"“{below(_gist(fact.text))}” [{fact.at + 1}]"


def _gist(text: str) -> str:
    """The words; where they go on without an end, those of them that rule or decide."""
    if len(text) <= LONG_MESSAGE:
        return text
    stretches = _STRETCH.findall(text)
    telling = [bears_rule(stretch) or turns(stretch) for stretch in stretches]
    shown = map(any, pairwise((False, *telling)))  # what is ruled may stand behind the words that rule
    runs = groupby(zip(shown, stretches, strict=True), key=itemgetter(0))
    words = "".join("".join(stretch for _, stretch in run) if shows else " … " for shows, run in runs)
    return beginning(words.strip() if any(telling) else text, LONG_MESSAGE)


def _line(text: str) -> str:
    """Words that are not the user's, on one line: they cannot open a section of their own."""
    return " ".join(text.split())


def shown_words(text: str) -> str:
    """A user message as the notes show it: all of it, or, when it is long, its words without the pasted blocks."""
    if len(text) <= LONG_MESSAGE:
        return text
    shown: list[str] = []
    pasted = 0
    for sentence in sentences(text):
        if sentence.pasted:
            pasted += len(sentence.text)
        else:
            shown.append(sentence.text)
    words = "\n".join(shown)
    first = head(words, LONGEST_WORDS)
    missing = [f"{len(words) - len(first):,} more characters"] if len(first) < len(words) else []
    missing += [f"pasted text of {pasted:,} characters"] if pasted else []
    return f"{first}\n({' and '.join(missing)} left out here)".lstrip() if missing else first


def _states(facts: Facts) -> Iterator[Piece]:
    first = facts.of("open")[:FIRST_TASKS]
    for number, fact in enumerate(facts.of("open", "done")):
        mark = "[x]" if fact.kind == "done" else "[ ]"
        status = f" ({head(_line(fact.about), LONGEST_TASK)})" if fact.about else ""
        rank = _RANKS["first tasks" if fact in first else "tasks" if fact.kind == "open" else "done"]
        yield Piece(
            "tasks", f"- {mark} {beginning(_line(fact.text), LONGEST_TASK)}{status}", rank, PRESSING - number, number
        )
    for fact in facts.of("approval"):
        text = f"- The assistant asked, and has no answer yet: “{_line(fact.text)}” [{fact.at + 1}]"
        yield Piece("waiting", text, _RANKS["waiting"], PRESSING, fact.at)
    fresh = [fact for fact in facts.of("error") if fact.about in ("", REFUSED)][-FRESH_ERRORS:]
    for fact in facts.of("error"):
        rank = _RANKS["open errors" if fact in fresh else "errors"]
        yield Piece("errors", f"- {_trouble(fact)} [{fact.at + 1}]", rank, fact.at, fact.at)


def _trouble(fact: Fact) -> str:
    """What was tried, what it gave, and whether that is over. The cure names what was tried."""
    text = in_ticks(beginning(_line(fact.text), LONGEST_ERROR))
    if fact.about == REFUSED:
        return f"{text} — said when {_line(fact.key)} was refused"
    if fact.about:
        return f"{text} — {_line(fact.about)}"
    tried = f" (of {_line(fact.key)})" if fact.key else ""
    return f"{text} — not seen to be cured{tried}"


def _files(ledger: Ledger, told: str) -> Iterator[Piece]:
    """Files newest first, what was changed before what was only read; then commands."""
    yield from _paths("modified-files", _once(ledger.modified), _RANKS["files"])
    for order, (old, new) in enumerate(ledger.moved):
        yield Piece("moved-files", f"{_line(old)} → {_line(new)}", _RANKS["files"], order, order)
    yield from _paths("deleted-files", _once(ledger.deleted), _RANKS["files"])
    yield from _paths("read-files", _once(ledger.read_only), _RANKS["read"])
    untold = (command for command in ledger.commands if not _is_told(command.text, told))
    for order, command in enumerate(untold):
        line = head(" ⏎ ".join(command.text.strip().splitlines()), 200)
        yield Piece("commands", f"- {in_ticks(line)} — {command.verdict}", _RANKS["commands"], order, order)


def _paths(section: str, paths: Sequence[str], rank: int) -> Iterator[Piece]:
    """Paths that share a folder, with that folder said once, before them; those that do not lie in it come first."""
    root = _root([path for path in paths if path.startswith("/")])
    if root:
        yield Piece(section, f"in {_line(root)}", rank, len(paths), _ROOT)
    for order, path in enumerate(paths):
        below_it = path.startswith(root)
        yield Piece(section, _line(path.removeprefix(root)), rank, order, order if below_it else order - PRESSING)


def _root(paths: Sequence[str]) -> str:
    """The folder that all of several paths lie in, if its name is long enough to be worth a line."""
    if len(paths) < 2:
        return ""
    root = f"{posixpath.commonpath([posixpath.dirname(path) for path in paths])}/"
    return root if len(root) >= LEAST_ROOT else ""


def _is_told(command: str, told: str) -> bool:
    first = command.strip().split("\n", 1)[0]
    return bool(told) and first in told


def _once(paths: Sequence[str]) -> tuple[str, ...]:
    """Without the short form of a path that is there in full."""
    whole = tuple(path for path in paths if path.startswith("/"))
    return tuple(path for path in paths if path in whole or not any(long.endswith(f"/{path}") for long in whole))


def _sections(kept: Sequence[Piece], left: dict[str, int]) -> Iterator[str]:
    """Each section with what it has and how much it lacks; those that have nothing share one line."""
    for section in (*_TITLES, "modified-files", "moved-files", "deleted-files", "read-files"):
        lines = [piece.text for piece in sorted(kept, key=lambda piece: piece.order) if piece.section == section]
        missing = left.get(section, 0)
        if lines:
            yield _framed(section, [*lines, _missing(missing)] if missing else lines)
    absent = left.keys() - {piece.section for piece in kept}
    if absent:
        counts = ", ".join(f"{section} {left[section]:,}" for section in left if section in absent)
        yield f"(Left out for want of room: {counts})"


def _missing(count: int) -> str:
    return f"({count:,} more left out for want of room)"


def _framed(section: str, lines: Sequence[str]) -> str:
    body = "\n".join(lines)
    return f"## {_TITLES[section]}\n{body}" if section in _TITLES else f"<{section}>\n{body}\n</{section}>"
