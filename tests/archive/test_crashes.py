"""Killed at every point, or without power: what was acknowledged is there, and no repair is needed (row 1)."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from . import crashing
from .crashing import POINTS, Bomb, is_late, killed, troubles, work

KILLS = int(os.environ.get("FOLDLINE_KILLS", "700"))
"""A night's run takes many times as many."""
SHARDS = 10
"""Parts that can run beside one another."""
IN_A_ROW = 20
"""Kills that one file suffers, one after the other."""
HERE = Path(__file__).parent


@pytest.fixture
def folder():
    """In memory where that is possible: a killed process leaves its writes to the system, and no disk is needed."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def counts(tmp_path_factory):
    """How often each kind of point is passed in one run: in one that indexes at once, and in one that does so later."""
    bombs = Bomb(), Bomb()
    for number, bomb in enumerate(bombs):
        work(tmp_path_factory.mktemp("counted") / "archive.db", number, bomb, lambda _: None)
    return [bomb.seen for bomb in bombs]


def test_every_effect_is_passed_through(counts):
    needed = {f"{when} {effect}" for effect in ("keep", "recall", "save") for when in ("before", "inside", "after")}
    assert all(needed <= passed.keys() <= set(POINTS) for passed in counts)
    assert counts[0]["inside keep"] != counts[1]["inside keep"]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_row_01_whenever_it_is_killed_what_was_acknowledged_is_there(shard, counts, folder):
    """Nine tenths die at a chosen point of an effect, every kind in turn; the others at a random moment."""
    dice, points = random.Random(shard), sorted(counts[0])
    path, acknowledged = folder, []
    for number in range(KILLS // SHARDS):
        if number % IN_A_ROW == 0:
            path, acknowledged = folder / str(number) / "archive.db", []
        point = points[(number * SHARDS + shard) % len(points)]
        chosen = {"point": point, "count": dice.randint(1, counts[is_late(number)][point])}
        said, code = killed(path, number, **(chosen if number % 10 else {"patience": dice.uniform(0, 0.1)}))
        assert code == -9, f"{number}: {chosen}: it was to die, and ended with {code}"
        acknowledged += said
        assert troubles(path, acknowledged) == [], f"{number}: {chosen}"
    assert acknowledged, "a test in which nothing is acknowledged shows nothing"


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """The library that plays a disk which forgets what was not synced."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("needs a C compiler and a loader that knows LD_PRELOAD")
    library = tmp_path_factory.mktemp("disk") / "unsynced.so"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", library, HERE / "unsynced.c", "-ldl"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return library


def without_power(disk, folder, count, synchronous):
    done = subprocess.run(
        [sys.executable, crashing.__file__, folder, str(count), synchronous],
        env={**os.environ, "LD_PRELOAD": str(disk)},
        capture_output=True,
        text=True,
        timeout=60 + count,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_row_01_when_the_power_is_cut_what_was_acknowledged_is_there(disk, folder):
    found = without_power(disk, folder, KILLS // 10, "FULL")
    assert found["lost"] == 0, found["shown"]
    assert found["acknowledged"] > found["cuts"]


def test_row_01_the_test_above_fails_where_nothing_is_synced(disk, folder):
    assert without_power(disk, folder, 10, "OFF")["lost"] > 5
