"""What a line of the log is worth: about how much of it the agent will write again.

    line, how long ago, how often ── use ──> a number, which means something beside those of other lines

A product of a few factors, each with its reason. They were fitted on one half of a hundred real sessions, by how many
characters of a line came again in the agent's next forty turns, and refined while looking at both (docs/quality.md).
What a line costs is calculated in shelf.py, what others have told already in wording.py.
"""

from __future__ import annotations

import math

from foldline.core.log.loglines import CAUSE, LogLine
from foldline.core.words.wording import LEAST_TELLING

SAID = 0.6
"""The factor of what the agent says: it goes on in other words."""
INNER = 1.15
"""The factor of a line of a file, a patch or a script: what is edited next lies beside it."""
GOAL = 1.7
"""The factor of a file, a command or a pattern: the agent comes back to them."""
ARGUMENT = 1.0
"""The factor of any other argument."""
PASSING = 0.6
"""The factor of what is said in passing, and of what an edit took away."""
TOLD = 0.5
"""The factor of what a command printed: it comes again only if the command is run again."""
SEEN = 0.8
"""The factor of a line of a file that was read: the agent copies from there what it changes."""
RECENT = 12
"""The distance, in messages, at which a line is worth two thirds of what it was worth at first."""
FADE = 0.6
"""The power by which the distance counts: a line's worth falls ever more slowly, and after 150 messages a fifth is
left."""
CAUSES_FADE = 0.2
"""The power for a line that says what was wrong, for the sake of readers: who does not know it makes the mistake
again."""
SEEN_FADE = 1.2
"""The power for what was read: it was read for what came next."""
AGAIN = 1.2
"""The power by which a line is worth more the more often it was written: the agent goes back to such files and
commands."""
MOST_AGAIN = 9
"""How often a line counts at most: one that is written more often is a habit."""

WHOLE_LINE = 40
"""Characters that a line counts for besides its own if it says something by itself: what is written again is mostly
a whole line, short or long."""


def counted(line: LogLine, length: int) -> int:
    """The characters that a line counts for, given those that say something. How a thing was done says nothing by
    itself."""
    return length + WHOLE_LINE * (length >= LEAST_TELLING and line.kind != "aside")


def use(line: LogLine, back: float, times: int) -> float:
    """The worth of each character of a line that was written so many messages ago, so many times."""
    fade = SEEN_FADE if line.kind == "seen" else CAUSES_FADE if line.weight >= CAUSE else FADE
    recent = math.pow(1 + max(back, 0.0) / RECENT, -fade)
    return _source(line) * line.weight * recent * math.pow(min(max(times, 1), MOST_AGAIN), AGAIN)


def _source(line: LogLine) -> float:
    if line.kind == "seen":
        return SEEN
    if line.is_tools:
        return TOLD
    if line.kind == "inner":
        return INNER
    if line.is_spoken:
        return SAID
    if line.kind == "aside":
        return PASSING
    return GOAL if line.is_goal else ARGUMENT
