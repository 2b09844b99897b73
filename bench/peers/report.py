"""The figures as lines in the terminal and as docs/benchmarks.md. Nothing is measured here."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from judge import Exam
from roster import PEERS, US
from rows import Measured, Row, Speed, kept

TARGET = Path(__file__).parents[2] / "docs" / "benchmarks.md"
SMALL, LARGE = 1_000, 10_000
COLUMNS = {"1k ms": 8, "next": 7, "10k ms": 9, "next ": 8, "MB": 6, "refused": 9, "over": 6, "XF": 6, "UIR": 6}
HEAD = "part".ljust(58) + "".join(name.strip().rjust(width) for name, width in COLUMNS.items())
TIMES = ("first", "next")
METRICS = ("xf", "gfrr", "vas", "uir", "constraints")
TOO_MUCH = 0.2
"""Who kept more than twice what was asked for is not called better."""

INTRO = """# Beside the others

This page is written by `make bench-peers`: do not edit it. The same conversations go through Foldline and through the
parts of other packages that make conversations smaller. The packages are installed from PyPI, each into an environment
of its own, and each is measured beside ours, in the same minutes; a peer can be measured again alone, so the list at
the end says when each was. The settings there are our choice: the defaults, or what comes nearest to the size that is
asked for; a maintainer would perhaps choose better. Rows in which somebody else is better stay here.

Models are scripted: they answer at once, always the same. So *with a model* the time is what the package itself spends.
"""

SPEED = """## Speed and memory

A made-up session of an agent, of 1,000 and of {large:,} messages, about 90 tokens each; a fifth of it is asked for.
*First* is the first call that ever sees the history, *next* the turn after it, with two messages more. CPU
milliseconds, the median of {rounds} rounds. *Ratio* is the peer's time divided by ours at {large:,} messages, measured
in the same minutes: ours without a model for parts without one, ours with a model for the others. Above 1 Foldline is
faster. *Peak* is memory above what the process had when the call began, at {large:,} messages.

Messages are turned into the package's own objects before the clock runs, while ours are plain dicts and are read inside
it. Peers that an agent goes on from are given what they kept and the two new messages at the next turn; the others, and
ours, the whole history again. Foldline's first call also keeps every message in its archive, pairs calls with results,
and writes the checkpoint; the peers that drop messages do none of that.
"""

CUTS = """## Would a provider take it?

{count} short conversations that are hard to cut: several calls in a step, results from nothing to thousands of tokens,
answers out of order, ids that come again, one user message for all of it; 8 to 60 % of their tokens are asked for.

- *Refused*: a strict validator of the OpenAI chat API finds a fault in what came back; beside it the commonest fault.
- *Raised*: an exception, of whatever kind. Ours is `CannotFit`, which names the smallest size there is.
- *Over*: larger than asked by more than 2 % (o200k tokens for all), and returned all the same. Parts that take no size
  in tokens are marked: *m* is told a number of messages, the same share of them; *–* cannot be told a size at all.
- *Reached*: the median of what came back, as a share of what was asked.

Many peers take four characters for a token unless they are given a tokenizer; paths and listings have fewer.
"""

QUALITY = """## What is kept, without a model

A tenth of each conversation is asked for. The metrics are those of `foldline eval`: *XF* is how much of what the agent
then wrote the view explains, *gFRR* the share of the names it then used that stand in the view with their surroundings,
*VAS* the lines it wrote again that stand there word for word, *UIR* the user's sentences, *constraints* fifteen planted
side remarks. *Kept* is the size of what came back, as a share: compare at that. *Sound* is the share of the sessions
that came back in a form a provider takes; all others score 0.
"""

REAL = """### Real sessions

{count} sessions of people at work with coding agents, most of them with Claude Code, each cut once at random, of about
{tokens:,} tokens before the cut. They lie beside the checkout this page was made from and are no part of it.
"""

MADE_UP = """### Made-up sessions

{count} sessions of a made-up programmer, of about {tokens:,} tokens before the cut, which anybody can measure. They
show the mechanics, no more: this programmer copies what he changes out of files, half of them read lately and half read
at any time before, and explains nothing. With none or all of them read lately single figures move by up to .4, so small
gaps mean nothing. Real agents go on from what they said and did.
"""

BETTER = """## Where somebody else is better

Of what is kept, only those who kept at most twice the size that was asked for. *(made up)* is of made-up sessions.
"""

MACHINE = """Measured on {cores} cores of {cpu}, {system}, Python {python}. The machine is shared, so
trust ratios and ranks, not milliseconds. To repeat: `make bench-peers` (half an hour, and some 3 GB in
`~/.cache/foldline-bench`, which may be deleted).
"""


def line(row: Row) -> str:
    """One part, for the terminal."""
    small, large = row.small, row.large
    cells = [f"{row.peer}: {row.part}"[:57].ljust(58), _ms(small, "first").rjust(8), _ms(small, "next").rjust(7)]
    cells += [_ms(large, "first").rjust(9), _ms(large, "next").rjust(8), _ms(large, "peak").rjust(6)]
    cells.append(f"{row.cuts.refused}/{row.cuts.count}".rjust(9) if row.cuts else "-".rjust(9))
    cells.append(str(row.cuts.over).rjust(6) if row.cuts else "-".rjust(6))
    return "".join([*cells, *(_share((row.real or row.kept).get(name)).rjust(6) for name in ("xf", "uir"))])


def page(missing: Mapping[str, str], exams: Mapping[str, Exam], cuts: int, rounds: int) -> str:
    """The whole page, from what was measured last of everyone."""
    measured = {peer.name: found for peer in (US, *PEERS) if peer.name not in missing and (found := kept(peer))}
    rows = [row for found in measured.values() for row in found.rows]
    parts = [
        INTRO,
        _machine(),
        SPEED.format(large=LARGE, rounds=rounds),
        _table(
            ("", "first 1k", "next 1k", "first 10k", "next 10k", "ratio first", "ratio next", "peak MB"),
            map(_fast, rows),
        ),
        CUTS.format(count=cuts),
        _table(("", "refused", "mostly", "raised", "over", "reached"), [_cut(row) for row in rows if row.cuts]),
        QUALITY,
        *(part for name, text in (("real", REAL), ("kept", MADE_UP)) for part in _scores(rows, name, text, exams)),
        BETTER,
        _losses(rows),
        "## Versions and settings\n",
        _table(("part", "settings"), [(_name(row), f"`{row.settings}`{_with(row)}") for row in rows]),
        _versions(measured, missing),
    ]
    return "\n".join(parts)


def _machine() -> str:
    names = [row.partition(":")[2].strip() for row in _cpuinfo() if row.startswith("model name")]
    return MACHINE.format(
        cores=os.cpu_count(),
        cpu=names[0] if names else platform.machine(),
        system=platform.system(),
        python=platform.python_version(),
    )


def _cpuinfo() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _name(row: Row) -> str:
    shown = f"{row.peer} `{row.part}`"
    return f"**{shown}**" if row.peer == "foldline" else shown


def _with(row: Row) -> str:
    return ", scripted model" if row.scripted else ""


def _fast(row: Row) -> list[str]:
    times = [_ms(speed, key) for speed in (row.small, row.large) for key in TIMES]
    return [_name(row), *times, *(_ratio(row, key) for key in TIMES), _ms(row.large, "peak")]


def _cut(row: Row) -> list[str]:
    cuts = row.cuts
    assert cuts is not None
    mark = {"tokens": "", "messages": " *m*", "": " *–*"}[row.asked]
    reached = "-" if cuts.reached is None else f"{cuts.reached:.2f}"
    return [_name(row), str(cuts.refused), cuts.why, str(cuts.raised), f"{cuts.over}{mark}", reached]


def _scores(rows: Sequence[Row], name: str, text: str, exams: Mapping[str, Exam]) -> list[str]:
    """One table of scores; nothing where these sessions were not there."""
    if name not in exams:
        return []
    exam = exams[name]
    return [
        text.format(count=len(exam.rulers), tokens=exam.tokens),
        _table(
            ("", "kept", "XF", "gFRR", "VAS", "UIR", "constraints", "sound"),
            [_kept(row, found) for row in rows if (found := getattr(row, name))],
        ),
    ]


def _kept(row: Row, found: Mapping[str, float | None]) -> list[str]:
    share = found["share"]
    scores = [_share(found[name]) for name in (*METRICS, "sound")]
    return [_name(row), "-" if share is None else f"{share:.1%}", *scores]


def _losses(rows: Sequence[Row]) -> str:
    """Every column in which the best row is not ours."""
    columns: list[tuple[str, Callable[[Row], float | None]]] = [
        *((f"{key} call, {size:,} messages", _time(size, key)) for size in (SMALL, LARGE) for key in TIMES),
        (f"peak memory, {LARGE:,} messages", _time(LARGE, "peak")),
        ("refused", lambda row: float(row.cuts.refused) if row.cuts else None),
        ("raised", lambda row: float(row.cuts.raised) if row.cuts else None),
        ("over the size asked", lambda row: float(row.cuts.over) if row.cuts and row.asked == "tokens" else None),
        *((name, _metric("real", name)) for name in METRICS),
        *((f"{name} (made up)", _metric("kept", name)) for name in METRICS),
    ]
    lines = [text for name, value in columns if (text := _loss(rows, name, value))]
    return "\n".join(lines or ["Nowhere in this run."]) + "\n"


def _time(size: int, key: str) -> Callable[[Row], float | None]:
    def value(row: Row) -> float | None:
        found = row.small if size == SMALL else row.large
        return found[key] if isinstance(found, dict) else None

    return value


def _metric(exam: str, name: str) -> Callable[[Row], float | None]:
    """Higher is better, so it is turned round; who kept far too much is not compared."""

    def value(row: Row) -> float | None:
        scores = getattr(row, exam)
        found, share = scores.get(name), scores.get("share")
        return None if found is None or share is None or share > TOO_MUCH else -found

    return value


def _loss(rows: Sequence[Row], name: str, value: Callable[[Row], float | None]) -> str:
    found = [(score, row) for row in rows if (score := value(row)) is not None]
    ours = min((score for score, row in found if row.peer == "foldline"), default=None)
    better = [(score, row) for score, row in found if ours is not None and score < ours]
    if not better:
        return ""
    named = ", ".join(
        f"{row.peer} `{row.part}` {abs(score):.3g}" for score, row in sorted(better, key=lambda b: b[0])[:4]
    )
    more = f" and {len(better) - 4} more" if len(better) > 4 else ""
    return f"- {name}: {named}{more} (ours {abs(ours or 0):.3g})"


def _versions(measured: Mapping[str, Measured], missing: Mapping[str, str]) -> str:
    lines = [f"- {found.version}, measured {found.day}{_remark(name)}" for name, found in measured.items()]
    lines += [f"- {name}: not measured. {why}" for name, why in missing.items()]
    return "\n".join(lines) + "\n"


def _remark(name: str) -> str:
    return next((f": {peer.remark}" for peer in PEERS if peer.name == name and peer.remark), "")


def _ratio(row: Row, key: str) -> str:
    theirs = row.large
    return f"{theirs[key] / row.beside[key]:.3g}" if isinstance(theirs, dict) and row.beside else ""


def _ms(found: Speed, key: str) -> str:
    if isinstance(found, str):
        return found if found.startswith(">") else "fails"
    return f"{found[key]:,.0f}" if found[key] >= 10 else f"{found[key]:.2g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
