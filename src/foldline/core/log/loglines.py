"""A line of the work log: whose it is, what it belongs to, and what it weighs beside others.

    LogLine (text, label, message, weight, kind)    no label: the agent says it; "tool output …": a tool; else a call

Values, and what can be derived from them alone. Where lines come from is in worklog.py, which are chosen in
choosing.py, how they are written down and read again in logtext.py.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["whole", "inner", "aside", "told", "seen"]
"""What a line is, in this order: it says something by itself; it is from inside an argument; it was said in passing;
a tool said it in an answer; it stands in a file that was read."""
WHY = 1.5
"""Weight of a line in which the agent says why (what went wrong, what mended it), and of lines it reports when it is
done: readers miss these most."""
CAUSE = 3.0
"""Weight of a line in which the agent says what was wrong."""
LOOKED = 0.8
"""Weight of what was searched for or read: without what was found it says little."""
GAP = "…"
"""The text of a line that stands for lines left out of a text or call."""
TOOL = "tool output"
_TOOLS = re.compile(rf"(?:\d+ )?{TOOL}(?::|$)")
"""A tool's label, perhaps behind a number where it is read again. The whole form is needed: a file may be named so
as well."""
OFTEN = "often used"
"""The label of arguments that were used again and again, in any place."""
FAILED, REFUSED = ", failed", ", refused"
"""Suffixes of the label of a call that did not succeed."""
UNDONE = re.compile(f"(?:{FAILED}|{REFUSED})$")
"""Finds either of these suffixes."""
PLAIN_CALLS = ("command: ", "pattern: ")
"""How the text of a call begins that needs no label: one can see that a command was run or something searched for."""
GOALS = re.compile(
    r"(?:command|cmd|script|pattern|query|url|path|file_path|filePath|absolute_path|target_file|notebook_path): "
)
_CLOSES = re.compile(
    r"\s*(?:[\])}][\])};,]*(?:\s?(?:else|finally|catch)\b[^{}]{0,40}\{)?|(?:else|try|finally):|else|fi|done|esac|end)\s*$"
)
"""A line that only ends or separates what others began: it costs little, and code without it looks torn."""
_BRACKET = re.compile(r"\s*(?:[\])}][\])};,]*|fi|done|esac|end)\s*$")
"""A line that only closes brackets or a block: a reader sees when it is missing."""
LONGEST_HEADING, TELLING_HEADING = 80, 5
"""Characters at most of a line that only announces others; and words from which a heading says something by itself."""
_HEADING = re.compile(r"#{1,6} .*$|\*\*[^*]{1,80}\*\*$")
_INTRODUCES = re.compile(r".*[^:]:(?:\*\*)?$")
_STANDS_OUT = re.compile(r"\s*(?:#{1,6} |\d{1,3}[.)] |(?:[-*] )?\*\*)")
"""How a line begins that stands out: a heading, an item with a number, bold type."""
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


class LogLine(NamedTuple):
    """A line, the label of the entry it is in, and the index of its message (below 0: before the messages at hand)."""

    text: str
    label: str
    message: int
    weight: float = 1.0
    """How much it says to a reader who has only this line, compared with others of its kind."""
    kind: Kind = "whole"
    call: int = 0
    """Which part of its message it is from, where that is a call."""
    plain: bool = False
    """A reader can see from its beginning what kind of call it is."""
    times: int | None = None
    """How often it was written, where an earlier log says so."""
    reread: bool = False
    """It is read from the text of an earlier log: its label is as it stood there, and of its message only the order
    is known."""

    reports: bool = False
    """It is part of what the agent said last before the user spoke again."""

    @property
    def entry(self) -> tuple[int, str, int, bool]:
        """The key by which lines stand together. What was said in passing stands alone."""
        return self.message, self.label, self.call, self.kind != "aside"

    @property
    def is_tools(self) -> bool:
        return is_tools(self.label)

    @property
    def is_quoted(self) -> bool:
        """It is shown in ticks of its own: a tool's words, other than a line of a file."""
        return self.is_tools and self.kind != "seen"

    @property
    def is_text(self) -> bool:
        """It is from inside a file, a patch or a script, and belongs to the lines around it."""
        return self.kind in ("inner", "seen")

    @property
    def is_spoken(self) -> bool:
        """The agent says it. A label that is only a number is that of the message."""
        return not self.label or self.label.isdigit()

    @property
    def is_whole(self) -> bool:
        """It is a whole argument of a call, and says what was done rather than how."""
        return self.kind == "whole" and self.text != GAP and not self.is_spoken and not self.is_tools

    @property
    def is_goal(self) -> bool:
        """It is a whole argument that names a file, a command or a search."""
        return self.is_whole and GOALS.match(self.text) is not None

    @property
    def is_done(self) -> bool:
        """It is from a call that is not known to have failed or been refused."""
        return not UNDONE.search(self.label)

    @property
    def is_plain(self) -> bool:
        """A reader can see without its label what it is. What tools say always has a label."""
        return not self.label or (self.plain and self.text.startswith(PLAIN_CALLS) and not self.is_tools)


@lru_cache(maxsize=1_024)
def is_tools(label: str) -> bool:
    """A label of what a tool said."""
    return TOOL in label and _TOOLS.match(label) is not None


def weight_of(said: str) -> float:
    """The weight of a line that the agent says."""
    return CAUSE if _FINDS.search(said) else WHY if _EXPLAINS.search(said) else 1.0


def announces(line: LogLine) -> bool:
    """The agent's words mean nothing without what comes next: a short heading, or words that end in a colon."""
    text = line.text.strip()
    if not line.is_spoken or len(text) > LONGEST_HEADING:
        return False
    if _INTRODUCES.match(text):
        return True
    return _HEADING.match(text) is not None and len(_WORDS.findall(text)) < TELLING_HEADING


def stands_out(line: str) -> bool:
    """A reader who skims a text reads this line."""
    return _STANDS_OUT.match(line) is not None


def closes(line: str) -> bool:
    return _CLOSES.match(line) is not None


def is_bracket(line: str) -> bool:
    return _BRACKET.match(line) is not None
