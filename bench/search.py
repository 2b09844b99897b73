"""How fast the search index is filled and asked, at a million messages.

    python bench/search.py [messages]

Beside its own figures it prints how fast plain SQLite stores the same texts on this machine, and the ratio: the former
move with the machine, the latter does not. Messages are made up: words by Zipf's law, with identifiers and paths.
"""

from __future__ import annotations

import bisect
import itertools
import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from foldline.archive import schema
from foldline.archive.index import Index
from foldline.archive.search import search
from foldline.model import Message, Origin, Text, ToolCall

VOCABULARY, WORDS, BATCH = 50_000, 51, 1_000
SYLLABLES = [a + b for a in "bcdfghklmnprstvw" for b in ("a", "e", "i", "o", "u", "an", "er", "in")]


class Writer:
    """Makes up messages of about 460 bytes; every fifth is a call of a tool."""

    def __init__(self) -> None:
        self.rng = random.Random(11)
        self.words = sorted({self._word() for _ in range(VOCABULARY)})
        self.rng.shuffle(self.words)
        self.weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(self.words))))

    def _word(self) -> str:
        return "".join(self.rng.choices(SYLLABLES, k=self.rng.randint(1, 4)))

    def pick(self) -> str:
        return self.words[bisect.bisect(self.weights, self.rng.random() * self.weights[-1])]

    def message(self, number: int) -> Message:
        words = [self.pick() for _ in range(WORDS)]
        words[7] = f"{words[7]}{words[8].title()}"
        words[20] = f"src/{words[20]}/{words[21]}_{words[22]}.py:{number % 997}"
        words[40] = f"{words[40]}_{words[41]}"
        if number % 10_000 == 0:
            words[3] = f"needle{number}"
        text = " ".join(words)
        if number % 5:
            return Message("user", Origin.USER, (Text(text),))
        call = ToolCall(f"c{number}", "Edit", json.dumps({"file_path": words[20].partition(":")[0], "text": text}))
        return Message("assistant", Origin.ASSISTANT, (call,))


def batches(writer: Writer, count: int) -> Iterator[list[tuple[int, Message]]]:
    for start in range(1, count + 1, BATCH):
        yield [(node, writer.message(node)) for node in range(start, start + BATCH)]


def timed(work: Callable[[], object]) -> float:
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def store(connection: sqlite3.Connection, rows: list[tuple[int, Message]], index: Index | None) -> float:
    """One transaction, either of plain rows or of what the index writes."""
    plain = [(node, str(message.parts[0])) for node, message in rows]

    def work() -> None:
        connection.execute("BEGIN IMMEDIATE")
        if index:
            index.add(connection, rows)
        else:
            connection.executemany("INSERT INTO plain VALUES (?, ?)", plain)
        connection.execute("COMMIT")

    return timed(work)


def nodes(connection: sqlite3.Connection, rows: list[tuple[int, Message]]) -> None:
    connection.execute("BEGIN")
    connection.executemany(
        "INSERT INTO nodes VALUES (?, ?, ?, ?, 1, ?, ?, ?, 'anthropic', '', ?)",
        [(node, node - 1, b"", node, node, said.role, said.origin.value, float(node)) for node, said in rows],
    )
    connection.executemany(
        "INSERT INTO blobs VALUES (?, ?, 0, 0, x'', NULL)", [(node, node.to_bytes(16)) for node, _ in rows]
    )
    connection.execute("COMMIT")


def fill(folder: Path, writer: Writer, count: int) -> sqlite3.Connection:
    ours, plain = opened(folder / "ours.db"), opened(folder / "plain.db")
    schema.migrate(ours)
    ours.execute("INSERT INTO sessions VALUES (1,'s','','','','','',1,1,NULL,NULL,0,0,0)")
    plain.execute("CREATE TABLE plain(id INTEGER PRIMARY KEY, text TEXT)")
    index, spent, base, recent = Index(), 0.0, 0.0, []
    for rows in batches(writer, count):
        took = store(ours, rows, index)
        spent, base = spent + took, base + store(plain, rows, None)
        recent.append(BATCH / took)
        nodes(ours, rows)
    print(f"{count:,} messages indexed: {count / spent:,.0f} a second (median batch {statistics.median(recent):,.0f});")
    print(f"    plain SQLite {count / base:,.0f} a second, ratio {spent / base:.1f}")
    for table, size in ours.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 4"):
        print(f"    {table}: {size / count:,.0f} bytes a message")
    plain.close()
    return ours


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    writer = Writer()
    with tempfile.TemporaryDirectory(prefix="foldline-search-") as folder:
        ours = fill(Path(folder), writer, count)
        top, middle = writer.words[:3], writer.words[300]
        asked = {
            "a rare word": f"needle{count // 20_000 * 10_000}",
            "a common word": top[0],
            "two common words": f"{top[0]} {top[1]}",
            "a phrase of common words": f'"{top[0]} {top[1]}"',
            "a middling word": middle,
            "an identifier": f"{top[0]}_{middle}",
            "nothing": "qqqqqqqq zzzzzzz",
        }
        for name, query in asked.items():
            runs = [timed(lambda query=query: search(ours, query)) * 1_000 for _ in range(7)]
            print(f"{name:26} {min(runs):7.1f} ms best, {max(runs):7.1f} worst, {len(search(ours, query))} found")
        common = timed(lambda: search(ours, top[0], role="user", after=count * 0.9)) * 1_000
        print(f"{'a common word, filtered':26} {common:7.1f} ms")
        ours.close()


if __name__ == "__main__":
    main()
