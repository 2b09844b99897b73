"""Which of the agent's lines a log has room for.

    lines, what tools said ── Stock ── within(room) ──> the chosen lines, in order
                                    ── kept(room) ────> more of them, which the next fold chooses from

First come lines that say what was wrong, the heads of what the agent reported, a few of those it said last, and the
newest lines, each with the piece of code that it begins. Then older lines, a few that stand together at a time, by
their worth for their tokens: how much of them the agent will write again (worth.py), less where other chosen lines say
the same (wording.py). Lines of files that it read compete with these. Last comes what tools said otherwise. Each line
stands once, where it was written last, except lines that hold code together. What does not depend on the room is worked
out once: a fold may try several rooms. Where lines come from is in worklog.py and readings.py, the order they stand in
is in laying.py, and what the chosen ones cost is in shelf.py.
"""

from __future__ import annotations

import heapq
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, groupby, islice

from foldline.core.log.laying import laid_out
from foldline.core.log.loglines import CAUSE, GAP, GOALS, OFTEN, WHY, LogLine, announces, closes, stands_out
from foldline.core.log.shelf import Shelf, SizeOf
from foldline.core.log.worth import counted, use
from foldline.core.words.wording import LEAST_TELLING, Covered, Wording, telling

CAUSES_SHARE = 0.05
"""Share of the log's room for lines in which the agent says what was wrong: readers miss these most."""
APART = 12
"""Messages that lie between two such lines at least: nearer ones are mostly about the same thing."""
REPORTS_SHARE = 0.07
"""Share of the log's room for what the agent reported when it was done: readers see by it what the user then spoke
of."""
OF_A_REPORT, SKIMMED = 3, 240
"""Lines of each report that are taken so, and the most characters of such a line."""
SPOKEN_SHARE = 0.03
"""Share of the log's room for what the agent said last: it says what was done, where a file that was written whole
would take the room."""
SHARED = 700
"""Tokens from which a log is divided into these shares: in a shorter one each part would get a line, and the newest
lines say more."""
NEWEST_SHARE = 0.45
"""Share of the log's room for all of these and the newest lines, before anything else is weighed: the log ends as
the work did."""
OFTEN_BEFORE = 2
"""How many more times a line counts as written where an earlier log says that it was often used, and not how often."""
KEPT = 3
"""How many times as long as the shown log the one is that the next fold chooses from."""
LEAST_TOLD = 200
"""Tokens that must be left before what tools said is quoted."""
TOGETHER = 6
"""Older lines of one text or call that are weighed as one: a line by itself is hard to understand."""
OF_A_CALL = 48
"""The first lines of a call's text that all count as new: code is read as a whole or not at all. The rest is on the
disk."""
SHORT = 24
"""The most characters of a line of code that is repeated in its place."""
LEAST_CODE = 3
"""A run of code of no more lines than this is not divided to fill the last gap."""
OFFERED, CHARACTERS = 6, 4
"""Only the likeliest lines are weighed exactly, of OFFERED times the room. Their tokens are first guessed, CHARACTERS
characters to each."""
NEARLY = 0.999
"""A run of lines is taken without being weighed again if its worth is still at least this share of what it was."""
MOST_MISSES = 100
"""Runs of lines that did not fit, after which no more are tried."""
NEWEST_MISSES = 3
"""Newest lines that did not fit, after which no more are tried: a much older line that fits is not new."""


class Stock:
    """The lines of some messages. `tool_lines` gives the lines of tools when they are wanted; `before` is how many
    messages come before these, `count` how many these are."""

    def __init__(
        self, lines: Sequence[LogLine], tool_lines: Callable[[], Iterable[LogLine]], before: int = 0, count: int = 0
    ) -> None:
        self.lines, self.tool_lines = lines, tool_lines
        self.before, self.count = before, count
        self._wording = Wording()

    def within(self, room: int, size: SizeOf) -> list[LogLine]:
        """What was wrong, the newest of the agent's lines, the rest by worth, then what tools said last."""
        shelf = Shelf(max(room, 0), size)
        recent = self._take_own(shelf)
        self._take_told(shelf)
        return laid_out(self.lines, shelf.chosen, self._often(shelf.chosen, recent))

    def kept(self, room: int, size: SizeOf) -> list[LogLine]:
        """What the next fold chooses from, where this one shows a log in `room`: the lines of a longer log. Their
        messages are counted back from the end, and each line says how often it was written."""
        shelf = Shelf(room * KEPT, size)
        self._take_own(shelf)
        shelf.room -= room * (KEPT - 1)
        self._take_told(shelf)
        chosen = {place: line._replace(times=self._written(place, line)) for place, line in shelf.chosen.items()}
        laid = laid_out(self.lines, chosen, frozenset())
        apart = max(self._apart, 1.0)  # so that no two messages get the same number
        return [line._replace(message=round(_place(line, apart)) - self.count) for line in laid]

    def _written(self, place: int, line: LogLine) -> int | None:
        """How often a line was written: the count stands at one of its copies, the others have 0. Unknown for what
        tools said."""
        if place >= len(self.lines):
            return None
        return self._times[line.text, line.is_spoken] if place in self._once else 0

    def _take_own(self, shelf: Shelf) -> frozenset[int]:
        """Takes the agent's lines, and returns which of them were taken for being new."""
        room = shelf.room
        if room >= SHARED:
            self._take_telling(shelf)
        newest = {place: line for place, line in self._newest.items() if place not in shelf.chosen}
        shelf.take_newest(newest, int(room * (1 - NEWEST_SHARE)), NEWEST_MISSES, self._closing, self._heads)
        recent = frozenset(shelf.chosen)
        self._take_by_worth(shelf, self._runs(shelf.chosen))
        return recent

    def _take_telling(self, shelf: Shelf) -> None:
        """Takes what readers miss most: what was wrong, how reports began, what was said last."""
        room = shelf.room
        self._take_by_worth(shelf, self._causes, int(room * (1 - CAUSES_SHARE)))
        shelf.take_newest(self._reported, shelf.room - int(room * REPORTS_SHARE), NEWEST_MISSES)
        spoken = {place: line for place, line in self._newest.items() if line.is_spoken}
        least = int(room * (1 - CAUSES_SHARE - REPORTS_SHARE - SPOKEN_SHARE))
        shelf.take_newest(spoken, least, NEWEST_MISSES, self._closing)

    def _take_told(self, shelf: Shelf) -> None:
        if shelf.room > LEAST_TOLD:
            shelf.take_newest(self._untold, 0, MOST_MISSES)

    def _often(self, chosen: Mapping[int, LogLine], recent: Container[int]) -> frozenset[int]:
        """Files and commands of older calls that were used more than once, and of which nothing else is shown."""
        shown = Counter(line.entry for line in chosen.values())
        alone = (place for place, line in chosen.items() if line.is_goal and line.is_done and shown[line.entry] == 1)
        return frozenset(place for place in alone if place not in recent and self._times[chosen[place].text, False] > 1)

    @cached_property
    def _once(self) -> dict[int, LogLine]:
        return _once(self.lines)

    @cached_property
    def _causes(self) -> list[tuple[int, ...]]:
        """Lines that say what was wrong; of several close to one another the last, which knows most."""
        found: list[int] = []
        for place in reversed(self._once):
            line = self._once[place]
            if line.weight >= CAUSE and not (found and self._once[found[-1]].message - line.message < APART):
                found.append(place)
        return [(place,) for place in found]

    @cached_property
    def _reported(self) -> dict[int, LogLine]:
        """The lines by which a reader skims the reports: the first of each, and those that stand out. Whatever is to
        be taken first comes last: how the last report begins, and before that how the others do."""
        reported = ((place, line) for place, line in self._once.items() if line.reports and _is_skimmed(line))
        ranked: list[tuple[int, int]] = []
        for _, report in groupby(reported, key=lambda item: item[1].message):
            (first, _), *others = report
            outstanding = (place for place, line in others if stands_out(line.text))
            ranked += [(-nth, place) for nth, place in enumerate((first, *islice(outstanding, OF_A_REPORT - 1)))]
        return {place: self._once[place] for _, place in sorted(ranked)}

    @cached_property
    def _newest(self) -> dict[int, LogLine]:
        lines = ((place, line) for place, line in self._once.items() if line.kind in ("whole", "inner"))
        return {place: line for place, line in lines if place not in self._late}

    @cached_property
    def _heads(self) -> dict[int, int]:
        """For each line of a call the place of the line that says what the call is about: arguments alone say
        nothing."""
        first: dict[tuple[int, str, int, bool], int] = {}
        newest = self._newest
        for place, line in newest.items():
            if line.entry not in first and not line.is_spoken and GOALS.match(line.text):
                first[line.entry] = place
        return {place: first[line.entry] for place, line in newest.items() if line.entry in first}

    @cached_property
    def _late(self) -> frozenset[int]:
        """The lines inside an argument that come after the first `OF_A_CALL` of their call."""
        inner: Counter[tuple[int, str, int, bool]] = Counter()
        found = set()
        for place, line in enumerate(self.lines):
            inner[line.entry] += line.kind == "inner"
            if inner[line.entry] > OF_A_CALL:
                found.add(place)
        return frozenset(found)

    @cached_property
    def _closing(self) -> dict[int, LogLine]:
        """Repeated lines that are shown with the line before them, though they say nothing new: code looks torn
        without them."""
        once, late = self._once, self._late
        found = ((place, line) for place, line in enumerate(self.lines) if place not in once)
        shown = ((place, line, place in late or line.kind == "seen") for place, line in found)
        return {place: line for place, line, far in shown if closes(line.text) or _is_code(line, far=far)}

    @cached_property
    def _ends(self) -> dict[int, LogLine]:
        """Those of these lines that only end or separate what others began, and short ones of files that were read."""
        found = self._closing.items()
        return {place: line for place, line in found if closes(line.text) or line.kind == "seen"}

    @cached_property
    def _untold(self) -> dict[int, LogLine]:
        """What tools said, that of an earlier log first."""
        known = {line.text for line in self._once.values()}
        before = {place: line for place, line in self._once.items() if line.kind == "told"}
        return before | _once((line for line in self.tool_lines() if line.text not in known), len(self.lines))

    @cached_property
    def _uses(self) -> dict[int, float]:
        """About how many characters of each line will be written again. Of the lines about one fault, the last is
        worth more."""
        causes = {place for run in self._causes for place in run}
        return {
            place: self._use(line, place in causes) * counted(line, length)
            for (place, line), length in zip(self._once.items(), self._lengths.values(), strict=True)
        }

    @cached_property
    def _lengths(self) -> dict[int, int]:
        return {place: telling(line.text) for place, line in self._once.items()}

    def _use(self, line: LogLine, is_cause: bool) -> float:
        line = line if is_cause else line._replace(weight=min(line.weight, WHY))
        times = 1 if line.kind == "aside" else self._times[line.text, line.is_spoken]
        return use(line, self.count - 1 - _place(line, self._apart), times)

    @cached_property
    def _apart(self) -> float:
        """How many messages lie between two lines of an earlier log. Only their order is known, so they are taken to
        be spread evenly over its messages."""
        return self.before / max(-min((line.message for line in self._once.values() if line.reread), default=0), 1)

    @cached_property
    def _times(self) -> Counter[tuple[str, bool]]:
        """How often each line was written, in speech or in calls, as far as is known."""
        found: Counter[tuple[str, bool]] = Counter()
        for line in self.lines:
            found[line.text, line.is_spoken] += line.is_done if line.times is None else line.times
            found[line.text, False] += OFTEN_BEFORE * (line.label == OFTEN and line.times is None)
        return found

    def _take_by_worth(self, shelf: Shelf, runs: Iterable[tuple[int, ...]], least: int = 0) -> None:
        """Takes runs greedily by worth for tokens while `least` tokens stay free. A run's worth falls as other lines
        say the same, so a stale one is weighed again."""
        lines, uses = self._once, self._uses
        covered = Covered(self._wording, (line.text for line in shelf.chosen.values()))

        def value(run: tuple[int, ...]) -> float:
            tokens = shelf.label(lines[run[0]]) + sum(shelf.size(lines[place].text) + 1 for place in run)
            return sum(uses[place] * covered.left(lines[place].text) for place in run) / tokens

        heap = [(-value(run), run) for run in self._likely(runs, shelf.room * OFFERED)]
        heapq.heapify(heap)
        misses = 0
        while heap and misses < MOST_MISSES:
            stale, run = heapq.heappop(heap)
            now = -value(run)
            if now > stale * NEARLY:
                heapq.heappush(heap, (now, run))
            elif shelf.takes_all(new := {at: lines[at] for at in (*self._head(run, shelf.chosen), *run)}, least):
                shelf.take_between(run, self._ends, least)
                covered.add(line.text for line in new.values())
            elif len(run) > (LEAST_CODE if lines[run[0]].is_text else 1):
                for half in (run[: len(run) // 2], run[len(run) // 2 :]):
                    heapq.heappush(heap, (-value(half), half))
            else:
                misses += 1

    def _head(self, run: Sequence[int], chosen: Container[int]) -> tuple[int, ...]:
        """The line that says what the call of these arguments is about, unless it is chosen already."""
        head = self._heads.get(run[0], run[0])
        return () if self._once[run[0]].is_text or head in run or head in chosen else (head,)

    def _likely(self, runs: Iterable[tuple[int, ...]], most: int) -> list[tuple[int, ...]]:
        """Of very many runs those that may be chosen, judged by their lengths: counting the tokens of all would take
        long."""
        lines, uses, found = self._once, self._uses, list(runs)
        length = {run: sum(len(lines[place].text) for place in run) / CHARACTERS + len(run) for run in found}
        if sum(length.values()) <= most:
            return found
        found.sort(key=lambda run: sum(uses[place] for place in run) / length[run], reverse=True)
        return found[: bisect(list(accumulate(map(length.__getitem__, found))), most) + 1]

    def _runs(self, chosen: Container[int]) -> Iterator[tuple[int, ...]]:
        """The lines that are not chosen yet, by their places, in runs of lines that stand together in one text or
        call."""
        own = ((place, line) for place, line in self._once.items() if line.kind != "told")
        free = ((place, line) for place, line in own if place not in chosen)
        for _, group in groupby(free, key=lambda item: item[1].entry):
            places = [place for place, _ in group]
            runs = [tuple(places[at : at + TOGETHER]) for at in range(0, len(places), TOGETHER)]
            if len(runs) > 1 and not self._tells(runs[-1]):
                runs[-2:] = [runs[-2] + runs[-1]]
            seen = self._once[places[0]].kind == "seen"  # a line of a file counts even if it is one word
            yield from runs if seen else filter(self._tells, runs)

    def _tells(self, run: Sequence[int]) -> bool:
        """The run names something, and has more than a word."""
        named = any(self._wording.names(self._once[place].text) for place in run)
        return named and sum(map(self._lengths.__getitem__, run)) >= LEAST_TELLING


def _is_skimmed(line: LogLine) -> bool:
    """It says something in few words by itself: it is no row of a table, and does not only announce something."""
    short = len(line.text) <= SKIMMED and not line.text.startswith("|")
    return short and telling(line.text) >= LEAST_TELLING and not announces(line)


def _place(line: LogLine, apart: float) -> float:
    """About which message it is from, counted from the first one at hand."""
    return line.message * apart if line.reread else line.message


def _is_code(line: LogLine, *, far: bool) -> bool:
    """A line that belongs to the piece of code it stands in; far behind the beginning of its call only short lines
    do."""
    return line.is_text and line.text != GAP and (not far or len(line.text) <= SHORT)


def _once(lines: Iterable[LogLine], first: int = 0) -> dict[int, LogLine]:
    """Each line where it was written last, by its place, without lines that only close others and without marks of
    gaps. What the agent wrote counts as its own even if it was read again later."""
    found = ((place, line) for place, line in enumerate(lines, first) if line.text != GAP and not closes(line.text))
    last: dict[str, tuple[int, LogLine]] = {}
    for place, line in found:
        if line.kind != "seen" or line.text not in last or last[line.text][1].kind == "seen":
            last[line.text] = place, line
    return dict(sorted(last.values(), key=lambda item: item[0]))
