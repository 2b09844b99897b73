"""Fit the centre of the vectors, and measure the search by meaning. Needs foldline[semantic].

    python bench/meaning.py ARCHIVE          the centre, for archive/vectors.py: the mean of an archive's messages
    python bench/meaning.py --many 200000    codes a second, and the time of a query among so many messages

The archive is only read. What is made for the second is made in a temporary folder.
"""

from __future__ import annotations

import argparse
import base64
import random
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

from foldline import Archive
from foldline.archive import semantic, vectors
from foldline.testing import Session

QUERIES = ("where did the server run out of memory", "tests that fail now and then", "w123x")
WORDS = 20_000  # different ones, the common ones far more often: about as in a year of sessions
A_MESSAGE = 60
A_SESSION = 500


def centre(path: Path) -> str:
    """As int8 in base64, with the number that the largest stands for."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    texts = (semantic.text_of(data) for (data,) in connection.execute("SELECT text FROM said"))
    rows = [row for row in map(vectors.mean, texts) if row is not None]
    mean = np.mean(rows, axis=0)
    most = float(np.abs(mean).max())
    packed = np.round(mean / most * 127).astype(np.int8).tobytes()
    return f"{len(rows):,} messages, {most:.4f}: {base64.b64encode(packed).decode()}"


def measure(many: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive(Path(folder) / "archive.db")
        source = random.Random(1)
        for number in range(many // A_SESSION):
            archive.append(_session(source, number).conversation())
        before, worked = time.perf_counter(), time.process_time()
        archive.search("first", semantic=True)
        wall, work = time.perf_counter() - before, time.process_time() - worked
        print(f"{many:,} messages: {many / work:,.0f} codes a second of work, {many / wall:,.0f} by the clock")
        for query in QUERIES:
            for kind in (False, True):
                print(f"  {'meaning' if kind else 'words':8}{_quickest(archive, query, kind):8.0f} ms  {query}")


def _session(source: random.Random, number: int) -> Session:
    session = Session().user(f"session {number}")
    for _ in range(A_SESSION // 2):
        for say in (session.assistant, session.user):
            say(" ".join(f"w{int(WORDS ** source.random())}x" for _ in range(A_MESSAGE)))
    return session


def _quickest(archive: Archive, query: str, kind: bool) -> float:
    spent = []
    for _ in range(5):
        before = time.process_time()
        archive.search(query, semantic=kind)
        spent.append(time.process_time() - before)
    return min(spent) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", nargs="?", type=Path)
    parser.add_argument("--many", type=int, default=0)
    asked = parser.parse_args()
    if asked.archive:
        print(centre(asked.archive))
    if asked.many:
        measure(asked.many)


if __name__ == "__main__":
    main()
