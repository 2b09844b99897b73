"""A line of the work log: whose it is, what it belongs to, and what it weighs beside others.

    Line (text, label, message, weight, kind)    no label: the agent says it; "tool output …": a tool; else a call

Values, and what can be told from them alone. Where lines come from is in worklog.py, which are chosen in choosing.py,
how they are written down and read again in logtext.py.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["whole", "inner", "aside", "told", "seen"]
"""Says something by itself; is from inside an argument; was told in passing; is a line of what a tool answered; is a
line of a file that was read."""
WHY = 1.5
"""Weight of a line in which the agent says why: what went wrong, what mended it. Readers miss that most. And of what it
reports when it is done."""
CAUSE = 3.0
"""The same of a line in which it says what was wrong."""
LOOKED = 0.8
"""The same of what was searched for or read: without what was found it tells little."""
GAP = "…"
"""A line that stands for those left out of a text or call."""
TOOL = "tool output"
_TOOLS = re.compile(rf"(?:\d+ )?{TOOL}(?::|$)")
"""A label with it, and with a number where it is read again: a file may be called so as well."""
OFTEN = "often used"
"""The label of arguments that were used again and again, wherever that was."""
FAILED, REFUSED = ", failed", ", refused"
"""Behind the label of a call that did not succeed …"""
UNDONE = re.compile(f"(?:{FAILED}|{REFUSED})$")
"""… whichever it was."""
PLAIN_CALLS = ("command: ", "pattern: ")
"""How a call begins that needs no label: that a command was run and something searched for is seen."""
GOALS = re.compile(
    r"(?:command|cmd|script|pattern|query|url|path|file_path|filePath|absolute_path|target_file|notebook_path): "
)
_CLOSES = re.compile(
    r"\s*(?:[\])}][\])};,]*(?:\s?(?:else|finally|catch)\b[^{}]{0,40}\{)?|(?:else|try|finally):|else|fi|done|esac|end)\s*$"
)
"""A line that only ends what others began, or parts it: it costs little, and without it code looks torn."""
_BRACKET = re.compile(r"\s*(?:[\])}][\])};,]*|fi|done|esac|end)\s*$")
"""One of them that only ends: that it is missing can be seen."""
LONGEST_HEADING, TELLING_HEADING = 80, 5
"""Characters of a line that only announces others; and words of a heading that says something by itself."""
_HEADING = re.compile(r"#{1,6} .*$|\*\*[^*]{1,80}\*\*$")
_INTRODUCES = re.compile(r".*[^:]:(?:\*\*)?$")
_STANDS_OUT = re.compile(r"\s*(?:#{1,6} |\d{1,3}[.)] |(?:[-*] )?\*\*)")
"""A heading, an item that has a number, a line that begins in bold type."""
_WORDS = re.compile(r"[^\W\d_]{2,}")
_EXPLAINS = re.compile(
    r"\b(?:because|root cause|turns? out|caused by|due to|which means|(?:that|this) is why|fixed|resolved|works now|"
    r"now pass(?:es)?|instead of|rather than|the (?:real |actual |main |only )?"
    r"(?:issue|problem|bug|reason|cause|culprit|fix|error|failure|solution))\b",
    re.I,
)
_FINDS = re.compile(
    r"\b(?:root cause|found (?:it|the (?:bug|issue|problem|cause|culprit))|turns out|(?:was|were|is) caused by|"
    r"the (?:real |actual |main |underlying |core )?(?:issue|problem|bug|cause|culprit|failure)\W{0,4}"
    r"(?: (?:is|was) |:))",
    re.I,
)


class Line(NamedTuple):
    """A line, the label of the entry it is in, and the index of its message (below 0: before the messages at hand)."""

    text: str
    label: str
    message: int
    weight: float = 1.0
    """What it tells a reader who has only this line, beside others of its kind."""
    kind: Kind = "whole"
    call: int = 0
    """Which part of its message it is from, if it is from a call."""
    plain: bool = False
    """What kind of call that is can be seen where it begins."""
    times: int | None = None
    """How often it was written, where that is known from before."""
    reread: bool = False
    """It is read from the text of an earlier log: its label is as it stood there, and its message known by order."""

    reports: bool = False
    """It is of what the agent said last before the user spoke again."""

    @property
    def entry(self) -> tuple[int, str, int, bool]:
        """What lines stand together by. What was told in passing stands alone."""
        return self.message, self.label, self.call, self.kind != "aside"

    @property
    def is_tools(self) -> bool:
        return is_tools(self.label)

    @property
    def is_quoted(self) -> bool:
        """It stands in ticks of its own: a tool's word, and not a line of a file between fences."""
        return self.is_tools and self.kind != "seen"

    @property
    def is_text(self) -> bool:
        """It is from inside a file, a patch or a script, and belongs to the lines around it."""
        return self.kind in ("inner", "seen")

    @property
    def is_spoken(self) -> bool:
        """The agent says it; a number before what it says is that of the message."""
        return not self.label or self.label.isdigit()

    @property
    def is_whole(self) -> bool:
        """It is an argument of a call as a whole, and says what was done rather than how."""
        return self.kind == "whole" and self.text != GAP and not self.is_spoken and not self.is_tools

    @property
    def is_goal(self) -> bool:
        """It names a file, a command or what was searched for, as a whole."""
        return self.is_whole and GOALS.match(self.text) is not None

    @property
    def is_done(self) -> bool:
        """It is of a call that is not known to have failed, or to have been refused."""
        return not UNDONE.search(self.label)

    @property
    def is_plain(self) -> bool:
        """What it is can be seen without its label. What tools say always has one."""
        return not self.label or (self.plain and self.text.startswith(PLAIN_CALLS) and not self.is_tools)


@lru_cache(maxsize=1_024)
def is_tools(label: str) -> bool:
    """What stands behind it was said by a tool."""
    return TOOL in label and _TOOLS.match(label) is not None


def weight_of(said: str) -> float:
    """What a line weighs that the agent says."""
    return CAUSE if _FINDS.search(said) else WHY if _EXPLAINS.search(said) else 1.0


def announces(line: Line) -> bool:
    """The agent says nothing in it without what comes next: a short heading, or words that end in a colon."""
    text = line.text.strip()
    if not line.is_spoken or len(text) > LONGEST_HEADING:
        return False
    if _INTRODUCES.match(text):
        return True
    return _HEADING.match(text) is not None and len(_WORDS.findall(text)) < TELLING_HEADING


def stands_out(line: str) -> bool:
    """One who skims a text reads it."""
    return _STANDS_OUT.match(line) is not None


def closes(line: str) -> bool:
    return _CLOSES.match(line) is not None


def is_bracket(line: str) -> bool:
    return _BRACKET.match(line) is not None
