"""The tree of all histories: what of a conversation is new, and where it is put.

    Way ── grow ──> new nodes, versions of known ones, and a session moved on or branched off

A node is the same message when its parent and its key are (keys.py), so a session of n turns costs n nodes; an edit, a
fork or a rewind branches off and shares what stands before. A path whose beginning is remembered is walked from there
on only. Transactions are the caller's.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from foldline.archive import rebuild
from foldline.archive.base import storable
from foldline.archive.blobs import FORGOTTEN, LOST, Blobs
from foldline.archive.index import Index
from foldline.archive.keys import Path, Way, apart, named
from foldline.model import REF_LENGTH, Message, ToolResult, digest

FEW = 32
"""Messages of one conversation that may be indexed later: a whole history takes less time in one piece."""


@dataclass(frozen=True, slots=True)
class About:
    """What is known of a conversation besides its messages. "" leaves what is stored as it is.

    Histories of several scopes or projects never meet, however alike they begin.
    """

    time: float
    scope: str = ""
    project: str = ""
    title: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        for name in ("scope", "project", "title", "source"):
            object.__setattr__(self, name, storable(getattr(self, name)))

    @property
    def says(self) -> bool:
        return bool(self.project or self.title or self.source)


@dataclass(frozen=True, slots=True)
class _Session:
    id: int
    name: str
    project: str


def grow(
    connection: sqlite3.Connection,
    way: Way,
    about: About,
    blobs: Blobs,
    index: Index,
    *,
    findable: bool = True,
) -> Path:
    """Stores what is new of a way, and gives back the path it has taken.

    Where that need not be `findable` yet, a few new messages are left out of the index (later.py).
    """
    if about.project and _meets_another(connection, way, about.project):
        way = apart(way, about.scope, about.project)
    known, changed = _walk(connection, way, blobs.wanting)
    forgotten, lost = _absent(connection, known, changed)
    changed = [at for at in changed if at not in forgotten]  # it stays so in whatever bytes it comes
    first = len(known)
    nodes = (*known, *_next_ids(connection, len(way.messages) - first))
    findable = findable or len(nodes) - first > FEW
    session = _session(connection, way, nodes, first, about)
    tools = _tools(way)
    touched = [*changed, *range(first, len(nodes))]
    stored, healed = _put(connection, blobs, way.messages, touched)
    new = [_row(way, nodes, at, stored[at], session, tools, about.time) for at in range(first, len(nodes))]
    _each(connection, "INSERT INTO nodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", new)
    _each(connection, "UPDATE nodes SET blob = ? WHERE id = ?", [(stored[at], nodes[at]) for at in lost])
    _each(connection, VERSION, [(nodes[at], stored[at], about.time) for at in changed])
    _describe(connection, blobs, way, nodes, stored, healed)
    again = [at for at in touched if at in lost or stored[at] in healed]
    fresh = _found_again(connection, stored, again)
    fresh |= {nodes[at]: at for at in range(first, len(nodes))} if findable else {}
    if fresh:
        index.add(connection, [(node, way.messages[at]) for node, at in fresh.items()])
    return Path(way.messages, way.keys, nodes, session.name, tools)


def _meets_another(connection: sqlite3.Connection, way: Way, project: str) -> bool:
    """A history that begins so is another project's."""
    root = _child(connection, 0, way.keys[0])
    others = "SELECT 1 FROM sessions WHERE root = ? AND project NOT IN ('', ?)"
    return root is not None and connection.execute(others, (root[0], project)).fetchone() is not None


def _found_again(connection: sqlite3.Connection, stored: dict[int, int], places: Iterable[int]) -> dict[int, int]:
    """The nodes, wherever they are, whose message had been lost and is there again; each with its place here."""
    found: dict[int, int] = {}
    for at in places:
        rows = connection.execute(
            "SELECT id FROM nodes WHERE blob = ? AND id NOT IN (SELECT node FROM said)", (stored[at],)
        )
        found.update((node, at) for (node,) in rows)
    return found


VERSION = """INSERT OR IGNORE INTO versions SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM nodes WHERE id = ?1 AND blob = ?2)"""


def _walk(connection: sqlite3.Connection, way: Way, wanting: int) -> tuple[list[int], list[int]]:
    """The nodes that are there already, and the places among them where the message came in other bytes."""
    nodes = list(way.near.nodes[: way.same]) if way.near else []
    changed = []
    for at in range(way.same, len(way.messages)):
        found = _remembered(way, nodes, at) or _child(connection, nodes[-1] if nodes else 0, way.keys[at], wanting)
        if found is None:
            break
        nodes.append(found[0])
        if found[1] != way.messages[at].identity:
            changed.append(at)
    return nodes, changed


def _absent(
    connection: sqlite3.Connection, nodes: Sequence[int], places: Sequence[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """The places among these whose message was forgotten on request, and those whose message was lost by damage."""
    asked = json.dumps([nodes[at] for at in places])
    rows = dict(connection.execute(_ABSENT, (LOST, asked)).fetchall()) if places else {}
    there = {at: rows[nodes[at]] for at in places if nodes[at] in rows}
    return frozenset(at for at in there if there[at]), frozenset(at for at in there if not there[at])


_ABSENT = """SELECT nodes.id, gone IS NOT NULL FROM nodes JOIN blobs ON blobs.id = blob
    WHERE (gone IS NOT NULL OR codec = ?) AND nodes.id IN (SELECT value FROM json_each(?))"""


def _remembered(way: Way, nodes: Sequence[int], at: int) -> tuple[int, str] | None:
    """The node of this message and its identity, as the remembered path has them: no need to ask."""
    near = way.near
    if near is None or at >= len(near.nodes) or near.keys[at] != way.keys[at]:
        return None
    if at and nodes[-1] != near.nodes[at - 1]:
        return None
    return near.nodes[at], near.messages[at].identity


def _child(connection: sqlite3.Connection, parent: int, key: bytes, wanting: int = 0) -> tuple[int, str] | None:
    """The node that is there, and the identity of its message; "" where its bytes are wanting."""
    row = connection.execute(
        "SELECT nodes.id, hash, codec FROM nodes JOIN blobs ON blobs.id = blob WHERE parent = ? AND key = ?",
        (parent, key),
    ).fetchone()
    return (row[0], "" if row[2] & wanting else row[1].hex()) if row else None


def _next_ids(connection: sqlite3.Connection, count: int) -> range:
    first = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM nodes").fetchone()[0] if count else 0
    return range(first, first + count)


def _session(connection: sqlite3.Connection, way: Way, nodes: Sequence[int], first: int, about: About) -> _Session:
    """The session this path belongs to: moved on where it ended, else a new one that branches off, or begins."""
    end = nodes[first - 1] if first else 0
    session = ended = _ending_at(connection, end)
    if first == len(nodes):
        session = session or _made_in(connection, end)
        assert session is not None  # every node was made in a session
    elif session is None:
        session = _begin(connection, way, nodes, first, about)
    else:
        connection.execute(
            "UPDATE sessions SET leaf = ?, messages = ?, updated = max(updated, ?) WHERE id = ?",
            (nodes[-1], len(nodes), about.time, session.id),
        )
    if about.says and (first < len(nodes) or ended):
        _tell(connection, session, about)
    return session


def _ending_at(connection: sqlite3.Connection, node: int) -> _Session | None:
    row = connection.execute("SELECT id, name, project FROM sessions WHERE leaf = ?", (node,)).fetchone()
    return _Session(*row) if row else None


def _made_in(connection: sqlite3.Connection, node: int) -> _Session | None:
    """The session that a node first came in."""
    row = connection.execute(
        "SELECT id, name, project FROM sessions WHERE id = (SELECT session FROM nodes WHERE id = ?)", (node,)
    ).fetchone()
    return _Session(*row) if row else None


def _begin(connection: sqlite3.Connection, way: Way, nodes: Sequence[int], first: int, about: About) -> _Session:
    name = free_name(connection, named(way, first))
    origin = _made_in(connection, nodes[first - 1]) if first else None
    project = about.project or (origin.project if origin else "")
    cursor = connection.execute(
        """INSERT INTO sessions(name, scope, project, title, dialect, source, root, leaf, forked, fork_node, started,
            updated, messages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
        (
            *(name, about.scope, project, about.title, way.dialect, about.source, nodes[0], nodes[-1]),
            *(origin.id if origin else None, nodes[first - 1] if first else None),
            *(about.time, about.time, len(nodes)),
        ),
    )
    assert cursor.lastrowid is not None
    return _Session(cursor.lastrowid, name, project)


def free_name(connection: sqlite3.Connection, name: str) -> str:
    """The name, unless a damaged file left a session that has it and not its messages."""
    while connection.execute("SELECT 1 FROM sessions WHERE name = ?", (name,)).fetchone():
        name = digest(name.encode())[:REF_LENGTH]
    return name


def _tell(connection: sqlite3.Connection, session: _Session, about: About) -> None:
    """What is known of a session. Of one that only begins with this conversation, nothing is.

    A title that was forgotten stays so: whoever has the transcript still tells it.
    """
    for column, value in {"project": about.project, "title": about.title, "source": about.source}.items():
        if value:
            connection.execute(
                f"UPDATE sessions SET {column} = ? WHERE id = ? AND NOT ({column} GLOB ?)",  # noqa: S608
                (value, session.id, f"*{FORGOTTEN} on ????-??-??"),
            )


def _tools(way: Way) -> dict[str, str]:
    """The names of all tools called so far, by the ids of the calls."""
    tools = way.near.tools if way.near else {}
    tools.update((call.id, call.name) for message in way.messages[way.same :] for call in message.calls)
    return tools


def _row(
    way: Way, nodes: Sequence[int], at: int, blob: int, session: _Session, tools: dict[str, str], time: float
) -> tuple[object, ...]:
    message = way.messages[at]
    names = [call.name for call in message.calls]
    names += [result.name or tools.get(result.call_id, "") for result in message.results]
    return (
        *(nodes[at], nodes[at - 1] if at else 0, way.keys[at], blob, session.id, at),
        *(
            message.role,
            message.origin.value,
            way.dialect,
            storable(" ".join(filter(None, dict.fromkeys(names)))),
            time,
        ),
    )


def _put(
    connection: sqlite3.Connection, blobs: Blobs, messages: Sequence[Message], places: Sequence[int]
) -> tuple[dict[int, int], frozenset[int]]:
    """The blob of each of these messages, and which of them had been lost."""
    names = {at: bytes.fromhex(messages[at].identity) for at in places}
    wanted = {name: rebuild.bytes_of(messages[at]) for at, name in names.items()}
    known = blobs.ids(connection, wanted)
    healed = blobs.heal(connection, wanted, known)
    ids = blobs.put(connection, wanted, known)
    return {at: ids[name] for at, name in names.items()}, healed


def _describe(
    connection: sqlite3.Connection,
    blobs: Blobs,
    way: Way,
    nodes: Sequence[int],
    stored: dict[int, int],
    healed: frozenset[int],
) -> None:
    """Parts of messages that their bytes do not give, and where to find each tool result.

    Of bytes that are whole again this is said anew, wherever they stand: it may have been masked as they were.
    """
    parts, results = [], []
    for at, blob in stored.items():
        message = way.messages[at]
        if not rebuild.rereadable(way.dialect, message, at):
            packed = blobs.pack(rebuild.dump(message))
            parts += [(node, blob, packed) for node in {nodes[at], *_alike(connection, blob, way, healed)}]
        if message.results:
            held = enumerate(message.parts)
            results += [(p.ref, nodes[at], blob, number) for number, p in held if isinstance(p, ToolResult)]
    for table in ("results", "parts"):
        _each(connection, f"DELETE FROM {table} WHERE blob = ?", [(blob,) for blob in healed])  # noqa: S608
    _each(connection, "INSERT OR IGNORE INTO parts VALUES (?, ?, ?)", parts)
    _each(connection, "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", results)


def _each(connection: sqlite3.Connection, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
    """A statement for each row. None for none: SQLite would let other threads go first, and have to wait for them."""
    if rows:
        connection.executemany(statement, rows)


def _alike(connection: sqlite3.Connection, blob: int, way: Way, healed: frozenset[int]) -> set[int]:
    """The other nodes of this dialect that have these bytes, where those are whole again."""
    rows = connection.execute("SELECT id FROM nodes WHERE blob = ? AND dialect = ?", (blob, way.dialect))
    return {node for (node,) in rows} if blob in healed else set()
