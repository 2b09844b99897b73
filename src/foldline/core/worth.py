"""What a line of the log is worth: about how much of it the agent will write again.

    line, how long ago, how often ── use ──> a number, which means something beside those of other lines

A product of a few rows, each with its reason. They were fitted on one half of a hundred real sessions, by how many
characters of a line came again in the agent's next forty turns, and set finer while looking at both (docs/quality.md).
What a line costs is reckoned in choosing.py, what others have told already in wording.py.
"""

from __future__ import annotations

import math

from foldline.core.loglines import CAUSE, Line
from foldline.core.wording import LEAST_TELLING

SAID = 0.6
"""The agent speaks: it goes on in other words."""
INNER = 1.15
"""A line of a file, a patch or a script: what is edited next lies beside it."""
GOAL = 1.7
"""A file, a command, a pattern: the agent comes back to them."""
ARGUMENT = 1.0
"""Any other argument."""
PASSING = 0.6
"""What is told in passing, and what an edit took away."""
TOLD = 0.5
"""What came of a command: it comes again only by being run again."""
SEEN = 0.8
"""A line of a file that was read: what the agent changes it copies from there."""
RECENT = 12
"""Messages after which a line is worth two thirds of what it was worth at first, …"""
FADE = 0.6
"""… the distance counting by this power: then it falls ever more slowly, and after 150 messages a fifth is left."""
CAUSES_FADE = 0.2
"""The same of a line that says what was wrong, for readers: who does not know it does it again."""
SEEN_FADE = 1.2
"""The same of what was read: it was read for what came next."""
AGAIN = 1.2
"""What was written again is worth more, by this power of how often: files and commands that the agent goes back to …"""
MOST_AGAIN = 9
"""… count up to this; what is written more often is a habit."""

WHOLE_LINE = 40
"""Characters that a line counts for besides its own, if it tells something by itself: what is written again is mostly a
whole line, be it short or long."""


def counted(line: Line, length: int) -> int:
    """The characters that a line counts for which tells something in so many of them. How a thing was done does not
    tell anything by itself."""
    return length + WHOLE_LINE * (length >= LEAST_TELLING and line.kind != "aside")


def use(line: Line, back: float, times: int) -> float:
    """What is expected of each character of a line from so many messages ago that was written so many times."""
    fade = SEEN_FADE if line.kind == "seen" else CAUSES_FADE if line.weight >= CAUSE else FADE
    recent = math.pow(1 + max(back, 0.0) / RECENT, -fade)
    return _source(line) * line.weight * recent * math.pow(min(max(times, 1), MOST_AGAIN), AGAIN)


def _source(line: Line) -> float:
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
