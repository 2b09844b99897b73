"""Processes that measure. They end with their parent, write nothing to stdout, and say what they are at.

    Pool(jobs) ── gathered(function, work) ──> the results, in the order of the work

They end with the first error too, whatever they are at. What is done in them is in run.py.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

from foldline.errors import FoldlineError

Progress: TypeAlias = Callable[[int, int, str], None]
PATROL = 0.5
"""Seconds between two looks at whether the parent is still there."""
DESK = 512
"""Bytes in which a process says what it is at."""
_END = getattr(signal, "SIGKILL", signal.SIGTERM)
"""What no plug-in can catch. Windows has only the other, which none can catch there."""


class Pool:
    """Processes, each with a desk on which stands what it is at: when one dies, nobody else can say."""

    def __init__(self, jobs: int) -> None:
        here = multiprocessing.get_context()
        self._desks, self._taken = here.RawArray("c", DESK * jobs), here.Value("i", 0)
        self._pids = here.RawArray("q", jobs)
        self._pool = ProcessPoolExecutor(jobs, here, _begin, (os.getpid(), self._desks, self._pids, self._taken))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is not None:  # nobody wants the results, and a plug-in may never come to an end
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._end()
        self._pool.shutdown()

    def _end(self) -> None:
        for pid in filter(None, self._pids):
            with suppress(OSError):  # it has ended by itself
                os.kill(pid, _END)

    def gathered(
        self,
        function: Callable[..., Any],
        work: Sequence[tuple[Any, ...]],
        progress: Progress = lambda *_: None,
        what: str = "",
    ) -> list[Any]:
        """The results in the order of the work, or the first error."""
        waiting: dict[Future[Any], int] = {self._pool.submit(function, *each): at for at, each in enumerate(work)}
        found: list[Any] = [None] * len(work)
        progress(0, len(work), what)
        try:
            for number, future in enumerate(as_completed(waiting), 1):
                found[waiting[future]] = future.result()
                progress(number, len(work), what)
        except BrokenProcessPool:
            raise FoldlineError(_died(list(self._busy()))) from None
        return found

    def _busy(self) -> Iterator[str]:
        whole = self._desks.raw
        for start in range(0, len(whole), DESK):
            if text := whole[start : start + DESK].rstrip(b"\0").decode("utf-8", "replace"):
                yield text


def _died(busy: Sequence[str]) -> str:
    if len(busy) == 1:
        return f"a process ended while it was at {busy[0]}; leave that out, or see whether memory ran out"
    which = f"one of these: {'; '.join(busy)}" if busy else "work that it had not named"
    return f"a process ended while it was at {which}; run with --jobs 1 to see which, or whether memory ran out"


_desk: Callable[[str], None] | None = None


def _begin(parent: int, desks: Any, pids: Any, taken: Any) -> None:
    """What a process does first: it takes a desk, keeps what plug-ins print from stdout, and watches its parent."""
    global _desk
    with taken.get_lock():
        number, taken.value = taken.value, taken.value + 1
    pids[number] = os.getpid()
    _desk = partial(_write, desks, number * DESK)
    with suppress(OSError):
        os.dup2(2, 1)
    sys.stdout = sys.stderr
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()


def _write(desks: Any, start: int, text: str) -> None:
    desks[start : start + DESK] = text.encode("utf-8", "replace")[:DESK].ljust(DESK, b"\0")


def _watch(parent: int) -> None:
    """Nobody waits for the results of a process whose parent has gone."""
    while os.getppid() == parent:
        time.sleep(PATROL)
    os._exit(1)


def at(text: str) -> None:
    """Says what this process is at; "" when it is at nothing."""
    if _desk is not None:
        _desk(text)
