"""The tree of all histories in plain dicts: what nodes.py and ways.py are to a file. Plans are in memory.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from foldline.archive import rebuild
from foldline.archive.base import SessionInfo, Stored
from foldline.archive.keys import Path, Way, named
from foldline.errors import ArchiveError
from foldline.model import REF_LENGTH, Message


@dataclass(slots=True)
class Node:
    """One message in the tree, in all the bytes it came in, the first ones first."""

    parent: int
    position: int
    session: str
    dialect: str
    time: float
    versions: dict[str, Message] = field(default_factory=dict)

    @property
    def first(self) -> Message:
        return next(iter(self.versions.values()))


class Grove:
    """Not for several threads at once."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.homes: dict[str, int] = {}
        """The node where each identity first came."""
        self.results: dict[str, str] = {}
        """The texts of all tool results, by their references."""
        self.sessions: dict[str, SessionInfo] = {}
        self._children: dict[tuple[int, bytes], int] = {}
        self._ends: dict[int, str] = {}
        """The sessions by the node each ends at."""

    def __len__(self) -> int:
        return len(self.nodes)

    def grow(self, way: Way, scope: str, time: float) -> Path:
        """Holds what is new of a way, and gives back the path it has taken."""
        nodes = self._walk(way)
        known = len(nodes)
        session = self._session(way, nodes, scope, time)
        for at in range(known, len(way.messages)):
            parent, number = nodes[-1] if nodes else 0, len(self.nodes) + 1
            self._children[parent, way.keys[at]] = number
            self.nodes[number] = Node(parent, at, session, way.dialect, time)
            nodes.append(number)
        for at in range(way.same, len(nodes)):
            self._hold(nodes[at], way.messages[at])
        if known < len(nodes):
            self._ends.pop(nodes[known - 1] if known else 0, None)
            self._ends[nodes[-1]] = session
        return Path(way.messages, way.keys, tuple(nodes), session)

    def meets_another(self, way: Way, project: str) -> bool:
        """A history that begins so is another project's."""
        root = self._children.get((0, way.keys[0]))
        ends = (name for node, name in self._ends.items() if root and self.path(node)[0] is self.nodes[root])
        return any(self.sessions[name].project not in ("", project) for name in ends)

    def _walk(self, way: Way) -> list[int]:
        nodes = list(way.near.nodes[: way.same]) if way.near else []
        for key in way.keys[way.same :]:
            child = self._children.get((nodes[-1] if nodes else 0, key))
            if child is None:
                break
            nodes.append(child)
        return nodes

    def _hold(self, node: int, message: Message) -> None:
        self.nodes[node].versions.setdefault(message.identity, message)
        self.homes.setdefault(message.identity, node)
        for result in message.results:
            self.results.setdefault(result.ref, result.text)

    def _session(self, way: Way, known: Sequence[int], scope: str, time: float) -> str:
        """The session this path belongs to: moved on where it ended, else a new one that branches off, or begins."""
        count, ends = len(way.messages), self._ends.get(known[-1] if known else 0)
        if len(known) == count:
            return ends or self.nodes[known[-1]].session
        if ends is not None:
            there = self.sessions[ends]
            self.sessions[ends] = replace(there, messages=count, updated=max(there.updated, time))
            return ends
        name = named(way, len(known))
        forked = self.nodes[known[-1]].session if known else ""
        project = self.sessions[forked].project if forked else ""
        self.sessions[name] = SessionInfo(name, scope, project, "", way.dialect, "", time, time, count, forked=forked)
        return name

    def path(self, leaf: int) -> list[Node]:
        """The nodes from the beginning to this one."""
        found: list[Node] = []
        while leaf:
            found.append(self.nodes[leaf])
            leaf = found[-1].parent
        return found[::-1]

    def end_of(self, session: str) -> int:
        for node, name in self._ends.items():
            if name == session:
                return node
        raise ArchiveError(f"there is no session {session} in this archive; sessions() lists those there are")

    def covered(self, identities: Sequence[str], leaf: int, stop: int | None = None) -> list[Message]:
        """These messages of the history that ends at a node, looked for backwards from `stop`."""
        places = reversed(self.path(leaf)[:stop])
        names = identities[::-1]
        found = [next((node.versions[name] for node in places if name in node.versions), None) for name in names]
        return [message or self._anywhere(name) for name, message in zip(names, found, strict=True)][::-1]

    def _anywhere(self, identity: str) -> Message:
        if identity not in self.homes:
            what = f"message {identity[:REF_LENGTH]} was folded and never kept"
            raise ArchiveError(f"{what}: the archive failed at that time")
        return self.nodes[self.homes[identity]].versions[identity]

    def original(self, identity: str) -> bytes | None:
        return rebuild.said(self._anywhere(identity)) if identity in self.homes else None

    def beginning(self, prefix: str) -> list[Stored]:
        """Up to two messages whose identity begins so."""
        names = sorted(name for name in self.homes if name.startswith(prefix))[:2]
        nodes = [(name, self.nodes[self.homes[name]]) for name in names]
        return [stored(node, node.versions[name], node.session) for name, node in nodes]


def stored(node: Node, message: Message, session: str) -> Stored:
    ref, said = message.identity[:REF_LENGTH], rebuild.said(message)
    origin = message.origin.value
    return Stored(ref, session, node.position, message.role, origin, node.dialect, node.time, said, message)
