"""What everyone else does without a model, the floor below which no method may fall, and attacks on the metrics.

Each takes a conversation, the tokens it may keep, and chance, and returns a smaller conversation. None of them looks at
the future. The attacks mean nothing to a reader; they are here so that a metric they can please is seen to be pleased.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from foldline.evals import said
from foldline.evals.identifiers import find, identifiers
from foldline.evals.splits import meter
from foldline.evals.units import SPARE, Unit, assembled, newest, noted, units, with_results
from foldline.model import Conversation, Message, Origin

CLIP_HEAD, CLIP_TAIL = 500, 200
"""Characters of a result that clipping keeps: those of the method as published."""
SHORT = 100
"""Characters of a result below which a placeholder would be no shorter."""
MASK = "[an old result of this tool was left out here]"
NAMED = 12
"""Identifiers that a placeholder names."""
BESIDE_WORDS = 3
WITHDRAWN = "All of this was withdrawn: the user wants none of what follows, and none of these steps was taken."
"""What the shuffled lines stand under. No metric reads it."""
BLOCK, NEAR = 4, 3
"""Lines that stay together at most, and how far apart they may have stood."""
NEW, AGAIN, MOST_AGAIN = 0.08, 0.12, 6
"""The share of the lines behind which worth has halved; what each repetition adds to it; how many count."""

_ERROR = re.compile(r"error|fail|exception|traceback|panic", re.I)

Draw = random.Random


def window(given: Conversation, room: int, _: Draw) -> Conversation:
    """The newest messages."""
    return assembled(given, newest(units(given), room - SPARE))


def head_tail(given: Conversation, room: int, _: Draw) -> Conversation:
    """Half of the room for the first messages, the rest for the last."""
    found = units(given)
    first: list[Unit] = []
    left = (room - SPARE) // 2
    for unit in found:
        if unit.tokens > left:
            break
        first.append(unit)
        left -= unit.tokens
    used = sum(unit.tokens for unit in first)
    return assembled(given, [*first, *newest(found[len(first) :], room - SPARE - used)])


def clipped(given: Conversation, room: int, draw: Draw) -> Conversation:
    """Every result cut to its beginning and end, then the newest messages."""
    return window(given.with_messages([with_results(message, _clip) for message in given.messages]), room, draw)


def _clip(text: str) -> str:
    if len(text) <= CLIP_HEAD + CLIP_TAIL:
        return text
    return f"{text[:CLIP_HEAD]}\n[…]\n{text[-CLIP_TAIL:]}"


def masked(given: Conversation, room: int, _: Draw) -> Conversation:
    """Old results behind a placeholder, as many of the newest whole as fit; then the newest messages."""
    return _masked(given, room, lambda text: MASK if len(text) > SHORT else text)


def masked_naming(given: Conversation, room: int, _: Draw) -> Conversation:
    """The same, each placeholder naming what stood in the result."""
    return _masked(given, room, lambda text: _naming(text) if len(text) > SHORT else text)


def _naming(text: str) -> str:
    names = list(dict.fromkeys(name for name, _, _ in find(text)))[:NAMED]
    return f"{MASK[:-1]}: {', '.join(names)}]" if names else MASK


def _masked(given: Conversation, room: int, mask: Callable[[str], str]) -> Conversation:
    """Bisects how many of the last units stay whole."""
    found = units(given)
    short = [Unit(unit.at, tuple(with_results(m, mask) for m in unit.messages)) for unit in found]
    sizes, lengths = [unit.tokens for unit in found], [unit.tokens for unit in short]
    whole, left = 0, room - SPARE - sum(lengths)
    while whole < len(found) and left >= sizes[-1 - whole] - lengths[-1 - whole]:
        left -= sizes[-1 - whole] - lengths[-1 - whole]
        whole += 1
    mixed = [*short[: len(found) - whole], *found[len(found) - whole :]]
    return assembled(given, newest(mixed, room - SPARE))


def told_and_paths(given: Conversation, room: int, _: Draw) -> Conversation:
    """The user's messages, the files touched, the lines with errors, then the newest messages: what tools extract."""
    text = said.shown(given.messages)
    notes = [*said.users(given.messages), "Files:", *_newest_first(name for name in _names(text) if "/" in name)]
    notes += ["Errors:", *_newest_first(line.strip()[:200] for line in text.split("\n") if _ERROR.search(line))]
    kept = _fitting(notes, room * 7 // 10 - SPARE)
    left = room - SPARE - meter().text("\n".join(kept))
    return noted(given, "\n".join(kept), newest(units(given), left) if left > 0 else ())


def _names(text: str) -> list[str]:
    return [name for name, _, _ in find(text)]


def _newest_first(found: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(reversed(list(found))))


def _fitting(texts: Iterable[str], room: int) -> list[str]:
    kept = []
    for text in texts:
        room -= meter().text(text) + 1
        if room < 0:
            break
        kept.append(text)
    return kept


def own_words(given: Conversation, room: int, _: Draw) -> Conversation:
    """What the agent itself wrote, the newest of it, each line once."""
    lines = _newest_first(line for line in said.agents(given.messages).split("\n") if line.strip())
    return noted(given, "\n".join(reversed(_fitting(lines, room - SPARE))))


def both_words(given: Conversation, room: int, _: Draw) -> Conversation:
    """What the user said, the newest of it where all is too much; then what the agent wrote, in the same way."""
    asked = _fitting(list(reversed(said.users(given.messages))), room - SPARE)
    told = "\n".join(reversed(asked))
    lines = _newest_first(line for line in said.agents(given.messages).split("\n") if line.strip())
    return noted(given, "\n".join((told, *reversed(_fitting(lines, room - SPARE - meter().text(told))))))


def random_messages(given: Conversation, room: int, draw: Draw) -> Conversation:
    """The floor: messages drawn at random, with what belongs to them."""
    found = units(given)
    return assembled(given, _drawn(found, room - SPARE, draw))


def _drawn(found: Sequence[Unit], room: int, draw: Draw) -> list[Unit]:
    kept = []
    for unit in draw.sample(found, len(found)):
        if unit.tokens <= room:
            kept.append(unit)
            room -= unit.tokens
    return kept


def identifier_list(given: Conversation, room: int, _: Draw) -> Conversation:
    """An attack: nothing but identifiers, newest first."""
    names = _newest_first(_names(said.shown(given.messages)))
    return noted(given, " ".join(_fitting(names, room - SPARE)))


def identifier_words(given: Conversation, room: int, _: Draw) -> Conversation:
    """An attack: every identifier with three words that stood beside it."""
    text = said.shown(given.messages)
    return noted(given, "\n".join(_fitting(_with_words(text), room - SPARE)))


@lru_cache(maxsize=2)  # the same at every budget
def _with_words(text: str) -> list[str]:
    """Newest first."""
    return _newest_first(_words_beside(text))


def _words_beside(text: str) -> Iterator[str]:
    last = {name: (start, stop) for name, start, stop in find(text)}
    for name, (start, stop) in sorted(last.items(), key=lambda item: item[1]):
        around = f"{text[max(start - 80, 0) : start]} {text[stop : stop + 80]}"
        known = identifiers(around)
        words = [word for word in re.findall(r"[^\W\d_]{3,}", around)[1:-1] if word not in known]
        yield " ".join((name, *words[:BESIDE_WORDS]))


def shuffled_lines(given: Conversation, room: int, draw: Draw) -> Conversation:
    """An attack: what the user said and the agent wrote, without order, and denied as a whole."""
    room -= SPARE + meter().text(WITHDRAWN) + 1
    sentences = said.sentences(said.users(given.messages))[::-1]
    told = [sentences[at] for at in _squeezed(sentences, range(len(sentences)), room * 3 // 4)]
    lines = [line for line in said.agents(given.messages).split("\n") if line.strip()]
    found = [*told, *_blocks(lines, room - sum(meter().text(text) + 1 for text in told))]
    draw.shuffle(found)
    return noted(given, "\n".join((WITHDRAWN, *found)) if room > 0 else "")


def _blocks(lines: Sequence[str], room: int) -> list[str]:
    """The newest and most repeated lines that fit, each once; up to four that stood together stay together."""
    often = Counter(map(str.strip, lines))
    last = {line.strip(): at for at, line in enumerate(lines)}

    def worth(at: int) -> float:
        line = lines[at].strip()
        again = 0 if len(line) < said.SHORTEST_LINE else min(often[line], MOST_AGAIN) - 1
        return 1 / (1 + (len(lines) - at) / (1 + NEW * len(lines))) + AGAIN * again

    ranked = sorted(last.values(), key=worth, reverse=True)
    blocks: list[list[int]] = []
    for at in sorted(_squeezed(lines, ranked, room)):
        if blocks and len(blocks[-1]) < BLOCK and at - blocks[-1][-1] <= NEAR:
            blocks[-1].append(at)
        else:
            blocks.append([at])
    return ["\n".join(lines[at] for at in block) for block in blocks]


def _squeezed(texts: Sequence[str], order: Iterable[int], room: int) -> list[int]:
    """Which texts are taken in this order; what does not fit is passed over."""
    kept = []
    for at in order:
        tokens = meter().text(texts[at]) + 1
        if tokens <= room:
            kept.append(at)
            room -= tokens
        if room < 3:
            break
    return kept


def placebo(other: Sequence[Message]) -> Callable[[Conversation, int, Draw], Conversation]:
    """Another session's messages: what looks like a history and is none of this one's."""

    def fold(given: Conversation, room: int, draw: Draw) -> Conversation:
        text = said.plain(message for message in other if message.origin is not Origin.SYSTEM)
        start = draw.randrange(max(len(text) - 4 * room, 1))
        lines = text[start : start + 6 * room].split("\n")
        return noted(given, "\n".join(_fitting(lines, room - SPARE)))

    return fold
