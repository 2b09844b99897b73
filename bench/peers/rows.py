"""What was measured of one part, and where it is kept until the peer is measured again."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import envs
from judge import Verdict
from roster import Peer

Speed = dict[str, float] | str
"""Milliseconds of the first call and of the next, and megabytes; or why there are none."""


@dataclass
class Row:
    """Everything measured of one part."""

    peer: str
    part: str
    settings: str
    scripted: bool
    asked: str
    small: Speed = ""
    large: Speed = ""
    beside: dict[str, float] = field(default_factory=dict)
    """Ours at the larger size, measured just before it."""
    cuts: Verdict | None = None
    kept: dict[str, float | None] = field(default_factory=dict)
    """The scores on made-up sessions …"""
    real: dict[str, float | None] = field(default_factory=dict)
    """… and on real ones, where they lie beside this checkout."""


@dataclass(frozen=True)
class Measured:
    """A peer's rows, its version and the day."""

    version: str
    day: str
    rows: tuple[Row, ...]


def keep(peer: Peer, rows: Sequence[Row]) -> None:
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    path = envs.CACHE / peer.name / "measured.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(Measured(envs.version(peer), today, tuple(rows)))), "utf-8")


def kept(peer: Peer) -> Measured | None:
    """What was measured last; None when nothing was."""
    path = envs.CACHE / peer.name / "measured.json"
    if not path.exists():
        return None
    found = json.loads(path.read_text("utf-8"))
    rows = [Row(**{**row, "cuts": row["cuts"] and Verdict(**row["cuts"])}) for row in found["rows"]]
    return Measured(found["version"], found["day"], tuple(rows))
