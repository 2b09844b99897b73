"""Puts the same conversations through Foldline and its peers, prints what came of it, and writes docs/benchmarks.md.

    python bench/peers/run.py                          everyone, everything: about half an hour
    python bench/peers/run.py --peers litellm,strands  only those; the others' rows are those of their last run
    python bench/peers/run.py --peers none             nobody: only the page is written again
    python bench/peers/run.py --quick                  few rounds, few cuts, and nothing is written

Peers are installed from PyPI into ~/.cache/foldline-bench (FOLDLINE_BENCH_CACHE), each into an environment of its own.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from typing import Any

import chats
import envs
import report
from judge import Exam, made_up, real, tokens, verdict
from report import LARGE, SMALL
from roster import PEERS, US, Peer
from rows import Row, Speed, keep

ROUNDS, HARD, SESSIONS, REAL = 3, 200, 6, 30
"""Rounds of the clock, conversations that are hard to cut, sessions that are scored: made-up ones and real ones."""
SHARE = 0.2
"""What is asked of the long conversations."""
KEPT = 0.1
"""What is asked of the sessions that are scored."""
ENOUGH = 3_000
"""Milliseconds: what takes longer is measured once."""
LIMIT = 60
"""Seconds of the processor a speed job may take before it is called too slow; the others get four times that."""
OURS = {False: "fit", True: "fit, model"}
"""What a peer's part is compared with: ours without a model, or ours with one."""


class Bench:
    def __init__(self, rounds: int, cuts: int, sessions: int, real_sessions: int) -> None:
        self.rounds = rounds
        self.exams = {"kept": Exam(made_up(sessions), KEPT)}
        if rulers := real(real_sessions):
            self.exams["real"] = Exam(rulers, KEPT)
        self.scored = {name: exam.given() for name, exam in self.exams.items()}
        self.hard = [asked(messages, share) for messages, share in chats.hard_chats(cuts)]
        self.long = {size: asked(chats.long_chat(size), SHARE) for size in (SMALL, LARGE)}

    def speed(self, peer: Peer, part: str, size: int, rounds: int) -> Speed:
        job = {"part": part, "work": "speed", "chat": self.long[size], "more": chats.more(), "small": self.hard[2]}
        try:
            found = envs.send(peer, {**job, "rounds": rounds, "enough": ENOUGH}, LIMIT)
        except envs.Late:
            return f"> {LIMIT} s"
        except envs.Broken as error:
            return f"fails: {error}"
        return {**{key: statistics.median(found[key]) for key in ("first", "next")}, "peak": found["peak"]}

    def peer(self, peer: Peer, say: Callable[[str], None]) -> list[Row]:
        rows = [Row(peer.name, part, **about) for part, about in envs.send(peer, {}, LIMIT).items()]
        beside = self.beside({row.scripted for row in rows}) if peer is not US else {}
        for row in rows:
            row.beside = beside.get(row.scripted, {})
            row.small, row.large = (self.speed(peer, row.part, size, self.rounds) for size in (SMALL, LARGE))
            self.judged(peer, row)
            say(report.line(row))
        return rows

    def beside(self, kinds: set[bool]) -> dict[bool, dict[str, float]]:
        """Ours at the larger size, in the same minutes as the peer: ratios hold where the machine does not."""
        found = {kind: self.speed(US, OURS[kind], LARGE, 1) for kind in kinds}
        return {kind: one for kind, one in found.items() if isinstance(one, dict)}

    def judged(self, peer: Peer, row: Row) -> None:
        job: dict[str, Any] = {"part": row.part, "work": "shrink"}
        try:
            outcomes = envs.send(peer, {**job, "chats": self.hard}, LIMIT * 4)
            row.cuts = verdict([chat["tokens"] for chat in self.hard], outcomes)
            for name, exam in self.exams.items() if not row.scripted else ():
                setattr(row, name, exam.scores(envs.send(peer, {**job, "chats": self.scored[name]}, LIMIT * 4)))
        except (envs.Late, envs.Broken) as error:
            print(f"{peer.name} {row.part}: {type(error).__name__} {error}", file=sys.stderr)


def asked(messages: chats.Chat, share: float) -> dict[str, Any]:
    return {"messages": messages, "tokens": round(tokens(messages) * share), "share": share}


def installed(chosen: list[Peer]) -> dict[str, str]:
    """All of them before any is measured, and whose vocabularies the others use; why some cannot be."""
    missing: dict[str, str] = {}
    for peer in dict.fromkeys((*(peer for peer in PEERS if peer.name == envs.VOCABULARIES), *chosen)):
        try:
            envs.install(peer)
        except envs.Broken as error:
            missing[peer.name] = str(error)
            print(f"{peer.name}: {error}", file=sys.stderr)
    return missing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="", help="only these, by name, with commas between them")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    chosen = [peer for peer in (US, *PEERS) if not options.peers or peer.name in options.peers.split(",")]
    bench = Bench(1, 20, 2, 4) if options.quick else Bench(ROUNDS, HARD, SESSIONS, REAL)
    missing = installed(chosen)
    print(report.HEAD)
    for peer in (peer for peer in chosen if peer.name not in missing):
        try:
            rows = bench.peer(peer, lambda line: print(line, flush=True))
        except envs.Broken as error:
            missing[peer.name] = str(error)
            print(f"{peer.name}: {error}", file=sys.stderr)
        else:
            if not options.quick:
                keep(peer, rows)
    if not options.quick:
        report.TARGET.write_text(report.page(missing, bench.exams, HARD, ROUNDS), "utf-8")
        print(f"written: {report.TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
