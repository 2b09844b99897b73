"""Reading the tree: the history that ends at a node, one message of it, the messages a checkpoint stands for.

Messages come back as they were given: their bytes checked against their hash, read by their dialect at their place.
Nothing is written here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from foldline.archive import blobs, rebuild
from foldline.archive.base import SessionInfo, Stored, storable
from foldline.dialects.convert import REQUESTS
from foldline.errors import ArchiveError, Corrupt, InputError
from foldline.model import REF_LENGTH, Message, ToolResult

_UP = """WITH RECURSIVE up(id, parent) AS (SELECT id, parent FROM nodes WHERE id = ?
    UNION ALL SELECT nodes.id, nodes.parent FROM nodes JOIN up ON nodes.id = up.parent) """
_VERSIONS = _UP + "SELECT node, hash, blobs.id FROM up JOIN versions ON node = up.id JOIN blobs ON blobs.id = blob"  # noqa: S608
_NODE = """nodes.id, position, role, origin, nodes.dialect, nodes.time, name, blobs.id, hash"""
_JOINED = " JOIN sessions ON sessions.id = session "


@dataclass(frozen=True, slots=True)
class Step:
    """One node of a history, with the blob it is to be read from."""

    node: int
    position: int
    role: str
    origin: str
    dialect: str
    time: float
    session: str
    blob: int
    hash: bytes


def path(connection: sqlite3.Connection, leaf: int) -> list[Step]:
    """The history that ends at a node, from its beginning, each message in the bytes it first came in."""
    rows = connection.execute(
        f"{_UP} SELECT {_NODE} FROM up JOIN nodes ON nodes.id = up.id {_JOINED}"  # noqa: S608 - constants
        "JOIN blobs ON blobs.id = blob ORDER BY position",
        (leaf,),
    )
    return [Step(*row) for row in rows]


def holding(connection: sqlite3.Connection, prefix: str, limit: int = 2) -> list[Step]:
    """Nodes whose message's identity begins so, one for each identity, in bytes that have it."""
    low, high = bytes.fromhex(prefix.ljust(32, "0")), bytes.fromhex(prefix.ljust(32, "f"))
    found = []
    for (blob,) in connection.execute(
        "SELECT id FROM blobs WHERE hash BETWEEN ? AND ? ORDER BY hash", (low, high)
    ).fetchall():
        row = connection.execute(
            f"""SELECT {_NODE} FROM nodes {_JOINED} JOIN blobs ON blobs.id = ?1 WHERE nodes.id =
            (SELECT min(id) FROM (SELECT id FROM nodes WHERE blob = ?1 UNION SELECT node FROM versions WHERE blob = ?1))
            """,  # noqa: S608 - constants
            (blob,),
        ).fetchone()
        if row is not None:
            found.append(Step(*row))
        if len(found) == limit:
            break
    return found


def message(connection: sqlite3.Connection, step: Step) -> Message:
    """One message at its place. Where ids in it were made by counting, the history before it is read too."""
    found = alone(connection, step)
    if not rebuild.depends_on_place(found):
        return found
    before = path(connection, step.node)
    return messages(connection, [*before[:-1], step])[-1]


def messages(connection: sqlite3.Connection, steps: Sequence[Step]) -> tuple[Message, ...]:
    """A history from its beginning."""
    found = [kept(connection, step) for step in steps]
    with _readable(f"the history of {len(steps)} messages"):
        return rebuild.reread(steps[0].dialect, found) if steps else ()


def alone(connection: sqlite3.Connection, step: Step) -> Message:
    """One message by itself: ids in it that were made by counting are not yet right."""
    found = kept(connection, step)
    with _readable(step.hash.hex()[:REF_LENGTH]):
        return rebuild.alone(step.dialect, found)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Bytes that are right, and cannot be read all the same: what is stored beside them is not."""
    try:
        yield
    except (InputError, *rebuild.DAMAGED) as error:
        raise Corrupt(f"{name} cannot be read: what lies beside its bytes is damaged; run verify ({error})") from error


def stored(step: Step, found: Message, session: str = "") -> Stored:
    """With the name of the session it was asked for in, or of the one it first came in."""
    return Stored(
        step.hash.hex()[:REF_LENGTH],
        session or step.session,
        step.position,
        step.role,
        step.origin,
        step.dialect,
        step.time,
        rebuild.said(found),
        found,
    )


def covered(
    connection: sqlite3.Connection, identities: Sequence[str], leaf: int, stop: int | None = None
) -> tuple[Message, ...]:
    """These messages of the history that ends at a node, in the bytes they had when they were folded.

    They are looked for backwards from `stop`: the same words may stand at several places.
    """
    steps = path(connection, leaf)
    chosen = dict(_matched(connection, leaf, steps[:stop], identities))
    if len(chosen) < len(identities):
        return tuple(message(connection, _anywhere(connection, identity)) for identity in identities)
    found = [alone(connection, step) for _, step in sorted(chosen.items())]
    if any(map(rebuild.depends_on_place, found)):
        whole = messages(connection, [chosen.get(at, step) for at, step in enumerate(steps)])
        return tuple(whole[at] for at in sorted(chosen))
    return tuple(found)


def _matched(
    connection: sqlite3.Connection, leaf: int, steps: Sequence[Step], identities: Sequence[str]
) -> Iterator[tuple[int, Step]]:
    """Each identity, from the last on, at the next place of the history where a message has it in some version."""
    others: dict[int, dict[str, int]] = {}
    for node, name, blob in connection.execute(_VERSIONS, (leaf,)):
        others.setdefault(node, {})[name.hex()] = blob
    places = reversed(list(enumerate(steps)))
    for identity in reversed(identities):
        for at, step in places:
            blob = step.blob if step.hash.hex() == identity else others.get(step.node, {}).get(identity)
            if blob is not None:
                yield at, replace(step, blob=blob, hash=bytes.fromhex(identity))
                break


def _anywhere(connection: sqlite3.Connection, identity: str) -> Step:
    found = holding(connection, identity, 1)
    if not found:
        raise ArchiveError(
            f"message {identity[:REF_LENGTH]} was folded and never kept: the archive failed at that time"
        )
    return found[0]


def end_of(connection: sqlite3.Connection, count: int, identity: str) -> int:
    """The end of the newest history of that many messages with this one among them.

    Where there is none, the newest node of this message; 0 when it was never kept.
    """
    found = connection.execute(
        """SELECT nodes.id, leaf FROM nodes JOIN blobs ON blobs.id = blob JOIN sessions ON sessions.id = session
            WHERE hash = ? ORDER BY nodes.id DESC""",
        (bytes.fromhex(identity),),
    ).fetchall()
    for node, leaf in found:
        whole = [step.node for step in path(connection, leaf)][:count]
        if len(whole) == count and node in whole:
            return whole[-1]
    return int(found[0][0]) if found else 0


def original(connection: sqlite3.Connection, identity: str) -> bytes | None:
    """The bytes of a message as they came."""
    found = holding(connection, identity, 1)
    if not found:
        return None
    one = kept(connection, replace(found[0], role=""))
    return one.raw if one.parts is None else rebuild.said(rebuild.load(one.parts, one.raw))


def result_text(connection: sqlite3.Connection, ref: str) -> str | None:
    """The text of a tool result, by its reference."""
    row = connection.execute(
        """SELECT results.node, position, dialect, results.blob, part FROM results
            JOIN nodes ON nodes.id = results.node WHERE ref = ?""",
        (ref,),
    ).fetchone()
    if row is None:
        return None
    step = Step(row[0], row[1], "", "", row[2], 0.0, "", row[3], b"")
    with _readable(ref):
        part = alone(connection, step).parts[row[4]]
        return part.text if isinstance(part, ToolResult) else None


def holder_of(connection: sqlite3.Connection, ref: str) -> str:
    """The message that a tool result stands in; "" when there is no such result."""
    row = connection.execute("SELECT hash FROM results JOIN blobs ON blobs.id = blob WHERE ref = ?", (ref,)).fetchone()
    return str(row[0].hex()[:REF_LENGTH]) if row else ""


def held(connection: sqlite3.Connection, node: int, blob: int) -> Any:
    """What is stored of a message: the row of its bytes, and its parts."""
    row = connection.execute(
        """SELECT hash, codec, size, blobs.data, gone, parts.data FROM blobs
            LEFT JOIN parts ON parts.blob = blobs.id AND node = ? WHERE blobs.id = ?""",
        (node, blob),
    ).fetchone()
    if row is None:
        raise blobs.missing(blob)
    return row


def kept(connection: sqlite3.Connection, step: Step) -> rebuild.Kept:
    """The bytes of a step, checked, with its parts. Where they are not there any more, a note that says so."""
    row = held(connection, step.node, step.blob)
    with _readable(step.hash.hex()[:REF_LENGTH]):
        absent = blobs.absent(row[1], row[4])
        if absent and step.role:
            return rebuild.Kept(b"", rebuild.dump(rebuild.noted(step.role, step.origin, absent)), step.position)
        if not row[5] and step.dialect not in REQUESTS:
            raise LookupError("its parts are missing")
        return rebuild.Kept(blobs.unpacked(*row[:5]), blobs.unpack(row[5]) if row[5] else None, step.position)


def sessions(
    connection: sqlite3.Connection, *, name: str | None, scope: str | None, project: str | None, limit: int
) -> list[SessionInfo]:
    """Sessions, the newest first; those of one name, scope or project where one is given."""
    wanted = {"sessions.name": name, "sessions.scope": scope, "sessions.project": project}
    asked = {column: storable(value) for column, value in wanted.items() if value is not None}
    where = " AND ".join(f"{column} = ?" for column in asked) or "1"
    rows = connection.execute(
        f"""SELECT sessions.name, sessions.scope, sessions.project, sessions.title, sessions.dialect, sessions.source,
            sessions.started, sessions.updated, sessions.messages, coalesce(made.count, 0), coalesce(origin.name, '')
            FROM sessions LEFT JOIN sessions AS origin ON origin.id = sessions.forked LEFT JOIN
            (SELECT session, count(DISTINCT checkpoints.blob) AS count FROM checkpoints CROSS JOIN nodes
                ON nodes.id = node GROUP BY session) AS made ON made.session = sessions.id
            WHERE {where} ORDER BY sessions.updated DESC, sessions.id DESC LIMIT ?""",  # noqa: S608 - own columns
        (*asked.values(), limit),
    )
    return [SessionInfo(*row) for row in rows]


def leaf_of(connection: sqlite3.Connection, session: str) -> int:
    row = connection.execute("SELECT leaf FROM sessions WHERE name = ?", (storable(session),)).fetchone()
    if row is None:
        raise ArchiveError(f"there is no session {session} in this archive; `foldline sessions` lists those there are")
    return int(row[0])
