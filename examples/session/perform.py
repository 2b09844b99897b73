"""From the acts to beats: what was said when, and what each call answered.

Knows no message format. Bundles hold many small files in one readable text: a line `=== name` opens each.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from session import feeds
from session.script import Call, Item, Prompt
from session.stage import Outcome, Shell, Stage, Take, play

HERE = Path(__file__).resolve().parent
TAKES = HERE / "takes.json"
BEGIN = datetime(2025, 4, 9, 6, 47, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Beat:
    at: datetime
    item: Item
    outcomes: tuple[Outcome, ...] = ()


def bundle(name: str) -> Mapping[str, str]:
    parts = ("\n" + (HERE / name).read_text(encoding="utf-8")).split("\n=== ")[1:]
    return {head: body + "\n" for head, _, body in (part.rstrip("\n").partition("\n") for part in parts)}


DRAFTS = bundle("drafts.txt")
"""Files the agent writes during the session, by label."""


def draft(label: str) -> str:
    return DRAFTS[label]


def opening() -> Stage:
    """The project as the session finds it."""
    return Stage({}).with_files({**{p: t.encode("utf-8") for p, t in bundle("waybill.txt").items()}, **feeds.samples()})


def perform(
    items: Iterable[Item], shell: Shell, stage: Stage, begin: datetime = BEGIN
) -> tuple[tuple[Beat, ...], Stage]:
    """The beats, and the project as they leave it."""
    at, beats = begin, []
    for number, item in enumerate(items):
        at += pause(item, number)
        outcomes: list[Outcome] = []
        if isinstance(item, Prompt):
            stage = stage.with_files(item.files or {})
        else:
            for call in item.calls:
                stage, outcome = play(stage, call, shell)
                outcomes.append(outcome)
        beats.append(Beat(at, item, tuple(outcomes)))
    return tuple(beats), stage


def pause(item: Item, number: int) -> timedelta:
    """People take minutes, the model seconds."""
    span, least = (960_000, 180_000) if isinstance(item, Prompt) else (19_000, 3_500)
    away = timedelta(minutes=item.away if isinstance(item, Prompt) else 0)
    return away + timedelta(milliseconds=feeds.draw("pause", number) % span + least)


class Replay:
    """A shell that answers from recorded takes, in order, and refuses a script that has moved on without them."""

    def __init__(self) -> None:
        self.takes = iter([Take(**take) for take in json.loads(TAKES.read_text(encoding="utf-8"))])

    def __call__(self, _: Stage, call: Call) -> Take:
        take = next(self.takes, None)
        if take is None or take.command != call.input["command"]:
            raise SystemExit(f"no recorded answer for {call.input['command']!r}: run make_session.py --record")
        return take
