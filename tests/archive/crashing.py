"""Processes that die at a chosen point while they keep a session and fold it, and the look at what they left.

    work(path, …)        a few turns through a Compactor; what is durable is acknowledged on a pipe, line by line; every
                         other session leaves the search index for later, as the proxy does
    killed(path, …)      the same in a child that is killed; its acknowledgements
    troubles(path, …)    what of them is not in the file afterwards

Run as a program, with unsynced.c loaded, it cuts the power instead: python crashing.py FOLDER CUTS SYNCHRONOUS
"""

import contextlib
import ctypes
import itertools
import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from foldline import Archive, Budget, Compactor
from foldline.core.checkpoints.checkpoint import Checkpoint
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.errors import ArchiveError
from foldline.model import digest
from foldline.testing import Session

TURNS = 5
"""Enough for two folds in this window."""
SLICE = 2
"""Messages that are indexed at a time: there are more in a turn, so some are always waiting."""
EFFECTS = ("keep", "recall", "known", "save")
POINTS = tuple(f"{when} {effect}" for effect in EFFECTS for when in ("before", "inside", "after"))


class Bomb:
    """Kills the process when it comes to a kind of point for the so-manieth time."""

    def __init__(self, point="", count=0):
        self.point, self.count, self.seen = point, count, {}

    def __call__(self, point):
        self.seen[point] = self.seen.get(point, 0) + 1
        if point == self.point and self.seen[point] == self.count:
            os.kill(os.getpid(), signal.SIGKILL)


class Watched:
    """An archive that passes every point of every effect, and acknowledges what is durable."""

    def __init__(self, archive, bomb, say, late=False):
        self._archive, self._bomb, self._say, self._said, self._late = archive, bomb, say, set(), late

    def _keep_late(self, conversation, scope=""):
        self._archive.catch_up(SLICE)
        self._archive.keep_all([(conversation, scope)], findable=False)

    def __getattr__(self, name):
        call = self._keep_late if self._late and name == "keep" else getattr(self._archive, name)
        return (lambda *args: self._pass(name, call, *args)) if name in EFFECTS else call

    def _pass(self, name, call, *args):
        self._bomb(f"before {name}")
        with self._archive._store.reading() as connection:
            connection.set_trace_callback(lambda _: self._bomb(f"inside {name}"))
        answer = call(*args)
        self._bomb(f"after {name}")
        if name == "keep":
            self._acknowledge("kept", *(message.identity for message in args[0].messages))
        if name == "save" and answer is None and args[0].checkpoint:
            self._acknowledge("saved", args[0].checkpoint.ref)
        return answer

    def _acknowledge(self, what, *names):
        new = [name for name in names if name not in self._said]
        self._said.update(new)
        self._say("".join(f"{what} {name}\n" for name in new))


def is_late(number):
    return number % 2 == 1


def work(path, number, bomb, say, synchronous="FULL"):
    """Some turns of one session, each sent whole, as a client does."""
    archive = Archive(path)
    with archive._store.reading() as connection:
        connection.execute(f"PRAGMA synchronous = {synchronous}")
    say("open\n")
    watched = Watched(archive, bomb, say, late=is_late(number))
    compactor = Compactor(Budget(window=3_000, reserve=300), archive=watched, meter=Meter(Estimator()))
    session = Session()
    for turn in range(TURNS):
        session.user(f"question {number}-{turn}").tools(("Bash", "{}", f"output {number}-{turn}\n" * 150))
        compactor.fit(session.request())
    archive.close()


def child(task):
    """Runs a task in a forked child: its process id, and the end of the pipe it writes its acknowledgements to."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(reading)
            task(lambda text: os.write(writing, text.encode()))
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    return process, reading


def heard(process, reading, patience=None):
    """All that a child said until its end. With patience, it is killed so many seconds after its first word."""
    said = b""
    with open(reading, "rb", buffering=0) as pipe:
        while piece := pipe.read(1 << 16):
            said += piece
            if patience is not None:
                time.sleep(patience)
                os.kill(process, signal.SIGKILL)
                patience = None
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return [tuple(line.split()) for line in said.decode().splitlines() if " " in line], code


def killed(path, number, point="", count=0, patience=None):
    """Killed at a point; or, with patience, so many seconds later, while one session follows another."""

    def task(say):
        work(path, number, Bomb(point, count), say)
        for more in itertools.count(1_000_000 * (number + 1)) if patience is not None else ():
            work(path, more, Bomb(), say)

    return heard(*child(task), patience)


def troubles(path, acknowledged):
    """What is wrong with the file that was left: nothing, if all is well. No repair comes before."""
    try:
        archive = Archive(path)
    except ArchiveError as error:
        return [f"it does not open: {error}"]
    try:
        found = [notice.text for notice in archive.notices]
        found += [str(trouble) for trouble in archive.verify()]
        archive.catch_up()
        found += [f"when all was indexed: {trouble}" for trouble in archive.verify()]
        found += [f"{what} {name} is lost" for what, name in acknowledged if not _there(archive, what, name)]
        with archive._store.reading() as connection:
            refs = [row[0] for row in connection.execute("SELECT ref FROM checkpoints")]
        found += [f"checkpoint {ref} stands for nothing" for ref in refs if not archive.expand(ref)]
    except ArchiveError as error:
        found = [*found, str(error)]
    finally:
        archive.close()
    return found


def _there(archive, what, name):
    if what == "saved":
        with contextlib.suppress(ArchiveError):
            return isinstance(archive.checkpoint(name), Checkpoint)
        return False
    data = archive.original(name)
    return data is not None and digest(data) == name


# --- the power is cut ----------------------------------------------------------------------------------------------


def cut_task(path, number, cut, seed, synchronous):
    """Runs with a disk that forgets what was not synced; in the end, it says how many steps there were."""
    disk = ctypes.CDLL(None)
    disk.unsynced_begin(str(path).encode(), ctypes.c_long(cut), ctypes.c_ulong(seed))

    def task(say):
        work(path, number, Bomb(), say, synchronous)
        say(f"steps {disk.unsynced_steps()}\n")
        disk.unsynced_cut()

    return task


def restore(path):
    """Puts what was durable in the place of what was written."""
    for file in path.parent.iterdir():
        if file.name.endswith("-shm") or (file.suffix != ".durable" and not Path(f"{file}.durable").exists()):
            file.unlink()
    for file in path.parent.glob("*.durable"):
        file.replace(file.with_suffix(""))


def cut(path, number, at, seed, synchronous):
    def task(say):
        cut_task(path, number, at, seed, synchronous)(say)

    said, code = heard(*child(task))
    assert code == 99, f"the power was not cut ({code})"
    restore(path)
    return said


def cuts(folder, count, synchronous):
    """Cuts the power so many times, at every kind of step, and counts what was lost."""
    dice, lost, acknowledged, shown = random.Random(1), 0, 0, []
    path, so_far = folder / "0" / "archive.db", []
    for number in range(count):
        if number % 5 == 0:
            path, so_far = folder / str(number) / "archive.db", []
            steps = int(dict(cut(path, number, 0, 0, synchronous))["steps"])
        said = cut(path, number + 100_000, dice.randrange(1, steps + 1), number % 3, synchronous)
        so_far += [line for line in said if line[0] != "steps"]
        acknowledged += len(said)
        wrong = troubles(path, so_far)
        lost += bool(wrong)
        shown += wrong[:1]
    return {"cuts": count, "acknowledged": acknowledged, "steps": steps, "lost": lost, "shown": shown[:5]}


if __name__ == "__main__":
    print(json.dumps(cuts(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
