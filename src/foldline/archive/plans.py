"""Checkpoints and view plans as rows that are only ever added, and which of them hold.

    recall      the newest plan for the longest prefix, leaving out what was undone
    save        compare and set: inside a transaction, one of two that saved at once wins

The pointers are small and are kept at hand; each call reads only the rows that were added since, by whoever. Plans made
ahead of need stand beside those in use.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from foldline.archive.base import no_checkpoint, storable
from foldline.archive.blobs import Blobs, absent
from foldline.archive.keys import span_stop
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.effects import Recalled, Save, ViewPlan
from foldline.core.prune import PruneSettings
from foldline.dialects import jsontext
from foldline.errors import ArchiveError, Corrupt, InputError
from foldline.model import REF_LENGTH, digest

AT_HAND = 64
"""Checkpoints, and plans, that are kept read."""


WITHOUT_PICTURES = 1 << 62
"""What stood for `bare` in plans that have no such field: so many characters, which no message has."""


class Span(NamedTuple):
    """Messages by their identities; the node where their history ends; the place in it right behind them."""

    identities: tuple[str, ...]
    leaf: int
    stop: int | None


class Plans:
    """The plans of one archive. Not for several threads at once."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._active: dict[tuple[str, bool], dict[str, list[tuple[int, str]]]] = {}
        self._undone: dict[str, bool] = {}
        self._last_active = self._last_undone = 0
        self._plans: dict[int, ViewPlan] = {}
        self._checkpoints: dict[str, Checkpoint] = {}

    def recall(self, connection: sqlite3.Connection, digests: Sequence[str], scope: str) -> Recalled | None:
        self._refresh(connection)
        scope = storable(scope)
        plan = self._longest(connection, digests, scope, ready=False)
        ready = self._longest(connection, digests, scope, ready=True)
        prepared = self._recalled(connection, ready) if ready else None
        if plan is None:
            return Recalled(ViewPlan("", 0), ready=prepared) if prepared else None
        return Recalled(plan, self.checkpoint(connection, plan.checkpoint), prepared)

    def save(self, connection: sqlite3.Connection, effect: Save, scope: str, node: int, time: float) -> Recalled | None:
        """None when it is saved. What someone else saved in its place, when that is not what it was made over."""
        self._refresh(connection)
        plan, scope = effect.plan, storable(scope)
        there = self._newest(connection, plan.skeleton, scope, ready=plan.ready)
        if there is not None and there != effect.over and not plan.ready:
            return self._recalled(connection, there)
        if effect.checkpoint is not None:
            self._must_be_kept(connection, effect.covered)
            self._put(connection, effect.checkpoint, effect.covered, node, scope, time)
            if self._undone.get(effect.checkpoint.ref):  # the same fold made anew: it holds again
                self.mark(connection, effect.checkpoint.ref, False, time)
        cursor = connection.execute(
            "INSERT INTO plans(scope, skeleton, checkpoint, ready, data, time) VALUES (?, ?, ?, ?, ?, ?)",
            (scope, plan.skeleton, plan.checkpoint, plan.ready, _written(plan), time),
        )
        connection.execute(
            "INSERT INTO active(scope, skeleton, ready, plan, time) VALUES (?, ?, ?, ?, ?)",
            (scope, plan.skeleton, plan.ready, cursor.lastrowid, time),
        )
        return None

    def known(self, connection: sqlite3.Connection, text: str) -> Checkpoint | None:
        """The checkpoint that says exactly this."""
        row = connection.execute(
            "SELECT ref FROM checkpoints WHERE text_hash = ? ORDER BY id DESC LIMIT 1", (_hash(text),)
        ).fetchone()
        return self.checkpoint(connection, row[0]) if row else None

    def checkpoint(self, connection: sqlite3.Connection, ref: str) -> Checkpoint | None:
        row = connection.execute(
            "SELECT blob, gone FROM checkpoints LEFT JOIN blobs ON blobs.id = blob WHERE ref = ?", (ref,)
        ).fetchone()
        if row is None:
            return None
        if row[1] is not None:  # by whichever process
            raise ArchiveError(f"checkpoint {ref} was {absent(0, row[1])}, with a message that it may quote")
        if ref not in self._checkpoints:
            _at_hand(self._checkpoints, ref, read_checkpoint(ref, self._blobs.get(connection, row[0])))
        return self._checkpoints[ref]

    def lineage(self, connection: sqlite3.Connection, ref: str) -> tuple[str, ...]:
        """A checkpoint and its ancestors, the oldest last. Raises UnknownCheckpoint where one is missing."""
        found: list[str] = []
        while ref and ref not in found:
            row = connection.execute("SELECT parent FROM checkpoints WHERE ref = ?", (ref,)).fetchone()
            if row is None:
                raise no_checkpoint(ref)
            found.append(ref)
            ref = row[0]
        return tuple(found)

    def covered(self, connection: sqlite3.Connection, ref: str) -> Span:
        """The messages a checkpoint stands for without its ancestors."""
        row = connection.execute(
            "SELECT covered, node, gone FROM checkpoints LEFT JOIN blobs ON blobs.id = blob WHERE ref = ?", (ref,)
        ).fetchone()
        names = self._blobs.get(connection, row[0])
        first = connection.execute("SELECT min(id) FROM plans WHERE checkpoint = ?", (ref,)).fetchone()[0]
        made = self.checkpoint(connection, ref) if row[2] is None else None
        plan = self._plan(connection, first) if first is not None else None
        stop = span_stop(plan, made) if plan and made else None
        return Span(tuple(names[at : at + 16].hex() for at in range(0, len(names), 16)), row[1], stop)

    def undone(self, connection: sqlite3.Connection) -> frozenset[str]:
        self._refresh(connection)
        return frozenset(ref for ref, gone in self._undone.items() if gone)

    def mark(self, connection: sqlite3.Connection, ref: str, undone: bool, time: float) -> None:
        connection.execute("INSERT INTO undone(checkpoint, undone, time) VALUES (?, ?, ?)", (ref, undone, time))

    def showing(self, connection: sqlite3.Connection, ref: str) -> ViewPlan | None:
        """The newest plan that shows this checkpoint."""
        row = connection.execute("SELECT max(id) FROM plans WHERE checkpoint = ?", (ref,)).fetchone()
        return self._plan(connection, row[0]) if row[0] is not None else None

    def _must_be_kept(self, connection: sqlite3.Connection, covered: Sequence[str]) -> None:
        """No checkpoint stands for messages that there was no room for: nobody could bring them back."""
        there = self._blobs.ids(connection, map(bytes.fromhex, covered))
        missing = [name for name in covered if bytes.fromhex(name) not in there]
        if missing:
            many = f"{len(missing):,} messages that it stands for were not kept, the first {missing[0][:REF_LENGTH]}"
            raise ArchiveError(f"{many}; with the next turn they are kept again")

    def _put(
        self,
        connection: sqlite3.Connection,
        checkpoint: Checkpoint,
        covered: Sequence[str],
        node: int,
        scope: str,
        time: float,
    ) -> None:
        """The row of a checkpoint. Where its secrets are masked, it is found under the masked text too."""
        data = jsontext.encode(checkpoint.to_dict())
        names = b"".join(map(bytes.fromhex, covered))
        hashes = bytes.fromhex(digest(data)), bytes.fromhex(digest(names))
        ids = self._blobs.put(connection, {hashes[0]: data}) | Blobs().put(connection, {hashes[1]: names})
        masked = read_checkpoint(checkpoint.ref, self._blobs.get(connection, ids[hashes[0]]))
        said = {checkpoint.ref: checkpoint.text, masked.ref: masked.text}
        row = (checkpoint.generation, checkpoint.parent, ids[hashes[0]])
        connection.executemany(
            """INSERT OR IGNORE INTO checkpoints(ref, scope, skeleton, generation, parent, blob, text_hash, covered,
                node, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            [
                (ref, scope, checkpoint.skeleton, *row, _hash(text), ids[hashes[1]], node, time)
                for ref, text in said.items()
            ],
        )

    def _recalled(self, connection: sqlite3.Connection, plan: ViewPlan) -> Recalled:
        return Recalled(plan, self.checkpoint(connection, plan.checkpoint))

    def _longest(
        self, connection: sqlite3.Connection, digests: Sequence[str], scope: str, *, ready: bool
    ) -> ViewPlan | None:
        there = self._active.get((scope, ready))
        found = (name for name in reversed(digests) if name in there) if there else ()
        plans = (self._newest(connection, name, scope, ready=ready) for name in found)
        return next((plan for plan in plans if plan is not None), None)

    def _newest(self, connection: sqlite3.Connection, skeleton: str, scope: str, *, ready: bool) -> ViewPlan | None:
        """The plan that holds for this very history."""
        rows = self._active.get((scope, ready), {}).get(skeleton, [])
        holding = (number for number, ref in reversed(rows) if not self._is_undone(connection, ref))
        return next((self._plan(connection, number) for number in holding), None)

    def _is_undone(self, connection: sqlite3.Connection, ref: str) -> bool:
        """It, or one that it builds on."""
        if not ref or not any(self._undone.values()):
            return False
        return any(self._undone.get(name) for name in self.lineage(connection, ref))

    def _plan(self, connection: sqlite3.Connection, number: int) -> ViewPlan:
        if number not in self._plans:
            row = connection.execute("SELECT data FROM plans WHERE id = ?", (number,)).fetchone()
            _at_hand(self._plans, number, read_plan(number, row[0] if row else ""))
        return self._plans[number]

    def _refresh(self, connection: sqlite3.Connection) -> None:
        """What was added since the last time, by this process or another."""
        rows = connection.execute(
            """SELECT active.id, active.scope, active.skeleton, active.ready, plan, plans.checkpoint FROM active
                JOIN plans ON plans.id = plan WHERE active.id > ? ORDER BY active.id""",
            (self._last_active,),
        )
        for number, scope, skeleton, ready, plan, checkpoint in rows.fetchall():
            self._active.setdefault((scope, bool(ready)), {}).setdefault(skeleton, []).append((plan, checkpoint))
            self._last_active = number
        marks = connection.execute(
            "SELECT id, checkpoint, undone FROM undone WHERE id > ? ORDER BY id", (self._last_undone,)
        )
        for number, checkpoint, undone in marks.fetchall():
            self._undone[checkpoint], self._last_undone = bool(undone), number


def _hash(text: str) -> bytes:
    return bytes.fromhex(digest(text.encode("utf-8", "surrogatepass")))


def _at_hand(memory: dict[Any, Any], key: Any, value: Any) -> None:
    memory[key] = value
    while len(memory) > AT_HAND:
        del memory[next(iter(memory))]


def _written(plan: ViewPlan) -> str:
    return jsontext.text_of(jsontext.encode({**asdict(plan), "stubs": sorted(plan.stubs)}))


def read_plan(number: int, data: str) -> ViewPlan:
    try:
        saved: Mapping[str, Any] = jsontext.decode(jsontext.bytes_of(data))
        settings = PruneSettings(**saved["settings"]) if saved["settings"] else None
        kept = {"stubs": frozenset(saved["stubs"]), "pins": tuple(saved["pins"]), "settings": settings}
        bare = {"clamped": 0, "bare": True} if saved.get("clamped") == WITHOUT_PICTURES else {}
        return ViewPlan(**{**saved, **kept, **bare})
    except (InputError, KeyError, TypeError) as error:
        raise Corrupt(f"plan {number} cannot be read; run verify to see what else cannot ({error})") from error


def read_checkpoint(ref: str, data: bytes) -> Checkpoint:
    try:
        return Checkpoint.from_dict(jsontext.decode(data))
    except (InputError, KeyError, TypeError, ValueError) as error:
        raise Corrupt(f"checkpoint {ref} cannot be read; run verify to see what else cannot ({error})") from error
