"""The agent's work in its own lines: what it said, and what it called with which arguments. And what tools answered.

    messages ── entries, answers ──> Line, Line, …    chosen lines ── shown ──> text ── carried ──> the same lines

A line keeps its words and its indentation. There is an empty line before each message. A call stands behind a label
with the tool, and the file where no line names it; the first message after the user spoke has its number:

    [12] The parser drops empty rows.
    [Edit] file_path: src/rows.py
    new_string: return [row for row in rows if row]

    command: make test

    [tool output] `4 passed`

Lines of tools are quoted, and labelled as theirs. A later summary carries the labels on. Which lines are worth their
tokens is decided in extract.py.
"""

from __future__ import annotations

import json
import posixpath
import re
from bisect import bisect
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, islice
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from foldline.core.deeds import Deed, judges
from foldline.core.errors_seen import closing_line, is_refused, last_line, telling_line
from foldline.core.plans import plans
from foldline.core.reaching import reaches
from foldline.core.text import beginning, head
from foldline.core.tools import call_touches, command_of, hands_over, reads, searches
from foldline.model import Message, Origin, Text, ToolCall, ToolResult

LONGEST = 2_000
"""Characters of a line: longer than any paragraph, shorter than a dump."""
MOST_LINES = 160
"""Lines of one text or argument, from both ends: a file that was written whole is on the disk."""
DEEPEST = 4
"""Levels of an argument that are taken apart; below, it stands as JSON."""
PASSING = frozenset(
    {"prompt", "activeForm", "explanation", "justification", "subagent_type"}  # for a person or a helper, in passing
    | {"output_mode", "head_limit", "timeout", "limit", "offset", "-A", "-B", "-C", "-n", "-i"}  # how, not what
    | {"old_string", "old_str", "old_text", "oldString", "oldText"}  # what was there before an edit is there no more
)
"""Arguments that are seldom taken up again, or tell a reader little."""
_PLAIN_CALLS = ("command: ", "pattern: ")
"""How a call begins that needs no label: that a command was run and something searched for is seen …"""
_SAID_SO = tuple(f" {begins}" for begins in _PLAIN_CALLS)
"""… and how a line is shown in which the agent only speaks of one: moved in."""
ASIDE = 0.3
"""Weight of their lines."""
TORN = 0.5
"""Weight of a line from inside an argument: mostly a file's, which says little without the others."""
LOOKED = 0.4
"""The same of what was searched for or read: without what was found it tells little."""
REPORTED = 16
"""Lines of a helper's report: what it found and did stands first."""
WHY = 2.0
"""Weight of a line in which the agent says why: what went wrong, what mended it. Readers miss that most. And of what it
said last before the user spoke again: there it tells what was done."""
CAUSE = 3.0
"""The same of a line in which it says what was wrong."""
GAP = "…"
"""A line that stands for those left out of a text or call."""
TOOL = "tool output"
OFTEN = "often used"
"""The label of arguments that were used again and again, wherever that was."""
_NUMBERED = re.compile(r"\s*\d{1,6}(?:→|\t|\s?\|)")
"""A line number before a line of a file, as tools that read files show it."""
_COLOURS = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]")
_CLOSES = re.compile(
    r"\s*(?:[\])}][\])};,]*(?:\s?(?:else|finally|catch)\b[^{}]{0,40}\{)?|(?:else|try|finally):|else|fi|done|esac|end)\s*$"
)
"""A line that only ends what others began, or parts it: it costs little, and without it code looks torn."""
_WORD = re.compile(r"\w{3}|[^\W\x00-\x7f]")
"""Three letters or digits; one letter of a script in which words may be shorter, or have signs between letters."""
_IMPORTS = re.compile(
    r"\s*(?:import\b|from\s+\S+\s+import\b|#include\b|use\s+[\w:]+|using\s+\w|(?:const|let|var)\s.*=\s*require\(|"
    r"package\s+\w|(?:[\w.]+\s+)?\"[\w.@-]+(?:/[\w.@-]+)*\"[,;]?\s*$)"
)
"""A line of a file that only says what it needs."""
_ARGUMENT = re.compile(r"[\w.-]{1,40}: ")
"""How an argument begins."""
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
_LABEL = re.compile(r"\[([^\[\]]{1,200})\](?: (.*))?$")
_TICKS = re.compile(r"`+")
FAILED, REFUSED = ", failed", ", refused"
"""Behind the label of a call that did not succeed …"""
_UNDONE = re.compile(f"(?:{FAILED}|{REFUSED})$")
"""… whichever it was."""
_CALL = "call"
"""The label of a call that had none, in an earlier summary."""
_BLANKS = r"[ \t\u00a0\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]{0,3}"
"""What a reader may overlook before a heading."""
_OWN_LINE = re.compile(rf"{_BLANKS}(?:#{{2,6}}\s|#\s+(?:Notes on the conv|End of the notes)|</?[a-z]+-files>)", re.I)
"""A line that a checkpoint could have of its own. One with `# ` is mostly a comment."""
_QUOTED_LINE = re.compile(
    rf"(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
    rf"(?={_BLANKS}(?:#{{1,6}}\s|</?[a-z]+-files>|\[(?:\d{{1,9}}[ \]]|{TOOL}|{OFTEN})))",
    re.I,
)
"""The same, or a label, on a further line of what is quoted."""
_FENCES = ("```", "~~~")


Called: TypeAlias = tuple[int, str, str]
"""A call by its message, id and arguments: ids may be used again."""


class Line(NamedTuple):
    """A line, the label of the entry it is in, and the index of its message (below 0: of an earlier summary)."""

    text: str
    label: str
    message: int
    weight: float = 1.0
    """What it tells a reader who has only this line, beside what others tell."""
    call: int = 0
    """Which part of its message it is from, if it is from a call."""
    plain: bool = False
    """What kind of call that is can be seen where it begins."""

    @property
    def entry(self) -> tuple[int, str, int, bool]:
        """What lines stand together by. What was told in passing stands alone."""
        return self.message, self.label, self.call, self.weight > ASIDE

    @property
    def is_tools(self) -> bool:
        return TOOL in self.label

    @property
    def is_spoken(self) -> bool:
        """The agent says it; a number before what it says is that of the message."""
        return not self.label or self.label.isdigit()

    @property
    def is_whole(self) -> bool:
        """It is an argument of a call as a whole, and says what was done rather than how."""
        return not self.is_spoken and not self.is_tools and self.weight in (1.0, LOOKED)

    @property
    def is_done(self) -> bool:
        """It is of a call that is not known to have failed, or to have been refused."""
        return not _UNDONE.search(self.label)

    @property
    def is_plain(self) -> bool:
        """What it is can be seen without its label. What tools say always has one."""
        return not self.label or (self.plain and self.text.startswith(_PLAIN_CALLS) and not self.is_tools)


def entries(messages: Sequence[Message], undone: Mapping[Called, str] = MappingProxyType({})) -> Iterator[Line]:
    """Every line of the agent's, in order, its lists of tasks aside: the notes have those.

    `undone` are the calls that did not succeed, and what is said of each.
    """
    for index, message in enumerate(messages):
        if message.origin is not Origin.ASSISTANT:
            continue
        reports = index + 1 < len(messages) and messages[index + 1].origin is Origin.USER
        for nth, part in enumerate(message.parts):
            if isinstance(part, Text):
                told = _lines(part.text, closing=True)
                yield from (Line(line, "", index, max(WHY * reports, _weight(line))) for line in told)
            elif isinstance(part, ToolCall) and not plans(part.name):
                outcome = undone.get((index, part.id, part.arguments), "")
                plain = not outcome and (bool(command_of(part)) or "pattern" in part.parsed())
                yield from (line._replace(call=nth, plain=plain) for line in _called(part, index, outcome))


def _weight(said: str) -> float:
    return CAUSE if _FINDS.search(said) else WHY if _EXPLAINS.search(said) else 1.0


def outcomes(done: Iterable[Deed], start: int) -> Iterator[Line]:
    """What each command came to when it was last run, in a line of its own output: why it failed, how a check ended.
    And what helpers reported. What was done beyond the files at hand is in the notes.

    `start` is where deeds count from.
    """
    last = {deed.goal: deed for deed in done if deed.result is not None and not is_refused(deed)}
    for deed in last.values():
        if deed.result is None or (not deed.failed and reaches(deed)):
            continue
        if hands_over(deed.call):
            report = islice(_lines(deed.result.text), REPORTED)
            yield from (Line(line, f"{TOOL}: {subject(deed.call)}", deed.answer - start) for line in report)
        elif deed.command:
            told = telling_line(deed.result) if deed.failed else closing_line(deed.result)
            told = told or (last_line(deed.result) if deed.verdict == "ok" and judges(deed.command) else "")
            yield from (Line(line, TOOL, deed.answer - start, TORN) for line in _lines(told))


def answers(messages: Sequence[Message]) -> Iterator[Line]:
    """Every line of a tool, in order."""
    asked: dict[str, deque[ToolCall]] = {}
    for index, message in enumerate(messages):
        asked |= {call.id: deque() for call in message.calls}
        for call in message.calls:
            asked[call.id].append(call)
        for part in message.parts:
            if isinstance(part, ToolResult):
                answered = _next(asked.get(part.call_id))
                label = f"{TOOL}: {subject(answered) if answered else 'a tool'}"
                numbered = answered is not None and reads(answered)
                yield from (Line(line, label, index) for line in _lines(part.text, numbered))
            elif isinstance(part, Text) and message.origin is Origin.TOOL:
                yield from (Line(line, TOOL, index) for line in _lines(part.text))


def _next(calls: deque[ToolCall] | None) -> ToolCall | None:
    """The call that a result answers: where several of a step share an id, the first that waits."""
    if not calls:
        return None
    return calls.popleft() if len(calls) > 1 else calls[0]


def _called(call: ToolCall, index: int, outcome: str) -> Iterator[Line]:
    """The arguments of a call, each by its name."""
    label, tells = subject(call) + outcome, LOOKED if reads(call) or searches(call) else 1.0
    arguments = call.parsed()
    if not arguments:
        yield from (Line(line, label, index) for line in _lines(call.arguments, closing=True))
    for name, value in arguments.items():
        if value is False:  # what was not asked for tells nothing
            continue
        lines = tuple(_lines(f"{name}: {_plain(value)}", closing=True))
        for number, line in enumerate(lines):
            aside = name in PASSING or isinstance(value, bool) or (number and _IMPORTS.match(line))
            yield Line(line, label, index, ASIDE if aside else TORN if len(lines) > 1 else tells)


def subject(call: ToolCall) -> str:
    """The tool, and the file it is about."""
    path = next((touch.path for touch in call_touches(call)), "")
    file = head(posixpath.basename(path), 40)
    return re.sub(r"[\[\]\s]+", " ", f"{head(call.name, 60)} {file}").strip()


def _plain(value: Any, depth: int = 1) -> str:
    """A value as a reader would note it, with its line ends as they are."""
    if isinstance(value, str):
        return value
    if depth > DEEPEST or not isinstance(value, (Mapping, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return "\n".join(_plain(inner, depth + 1) for inner in value)
    return "\n".join(f"{name}: {_plain(inner, depth + 1)}" for name, inner in value.items())


def _lines(text: str, numbered: bool = False, closing: bool = False) -> Iterator[str]:
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        lines = lines[: MOST_LINES * 3 // 4] + lines[-MOST_LINES // 4 :]
    for raw in lines:
        number = _NUMBERED.match(raw) if numbered else None
        line = cleaned(raw[number.end() :] if number else raw)
        told = _WORD.search(line) or (closing and closes(line))
        if told and not line.lstrip().startswith(_FENCES):
            yield line


def closes(line: str) -> bool:
    return _CLOSES.match(line) is not None


def cleaned(line: str) -> str:
    """The line's own words, cut at a word's end where it is very long."""
    if "\x1b" in line:
        line = _COLOURS.sub("", line)
    return beginning(line.rstrip(), LONGEST)


def shown(chosen: Iterable[Line], first: int, asked: Sequence[int] = ()) -> str:
    """The lines behind their labels. `first` is the number of the first message in the whole history, `asked` are the
    indices of the user's messages, in order."""
    found: list[str] = []
    turn = -1
    for message, entry in groupby(chosen, key=lambda line: line.message):
        now = bisect(asked, message)
        number = str(first + message + 1) if now != turn and message >= 0 else ""
        turn = now if message >= 0 else turn
        found += ["", *_entry(entry, number)]
    return "\n".join(found[1:])


def _entry(lines: Iterable[Line], number: str) -> Iterator[str]:
    """The lines of one message; what it says behind a call stands by itself."""
    for place, ((label, _), group) in enumerate(groupby(lines, key=_caller)):
        same = list(group)
        head, *rest = map(_quoted, same)
        told = _carried_label(label, same) if same[0].message < 0 else _label(label, same)
        marks = " ".join(filter(None, ("" if place else number, told)))
        if place and not marks:
            yield ""
        yield f"[{marks}] {head}" if marks else _plainly(head)
        yield from map(_plainly, rest)


def _caller(line: Line) -> tuple[str, int]:
    """What lines stand together by. Calls on files stand apart: the files may differ where their names do not."""
    return line.label, line.call if " " in _UNDONE.sub("", line.label) else 0


def _label(label: str, lines: Sequence[Line]) -> str:
    """The label without the file, where a line has that; none where none is needed."""
    if lines[0].is_plain:
        return ""
    whole = _UNDONE.sub("", label)
    name, _, file = whole.partition(" ")
    named = file and not lines[0].is_tools and any(line.text.endswith((f"/{file}", f" {file}")) for line in lines)
    return name + label[len(whole) :] if named else label


def _carried_label(label: str, lines: Sequence[Line]) -> str:
    """The label that lines had in an earlier summary; that of a call where its beginning is there no more."""
    return label.removesuffix(_CALL).rstrip() if lines[0].is_plain else label


def _plainly(text: str) -> str:
    """A line that could be taken for the beginning of an entry, or for a line of the checkpoint's own, is moved in."""
    if _OWN_LINE.match(text):
        return f"    {text}"
    return f" {text}" if _LABEL.match(text) else text


def below(words: str) -> str:
    """Quoted words, with headings, tags and labels in them moved in: what was pasted opens no section of ours."""
    return _QUOTED_LINE.sub("    ", words)


def _quoted(line: Line) -> str:
    if not line.is_tools:
        return f" {line.text}" if line.is_spoken and line.text.startswith(_PLAIN_CALLS) else line.text
    return in_ticks(line.text)


def in_ticks(text: str) -> str:
    """A tool's words on one line, in more ticks than they have in a row: they cannot end their quotation."""
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks} {text} {ticks}" if len(ticks) > 1 else f"`{text}`"


def _unquoted(text: str) -> str:
    """The words inside their ticks; a line that has none as it is."""
    ticks = len(text) - len(text.lstrip("`"))
    if not ticks or len(text) <= 2 * ticks or not text.endswith("`" * ticks):
        return text
    inside = text[ticks:-ticks]
    return inside.removeprefix(" ").removesuffix(" ") if ticks > 1 else inside


def carried(text: str) -> Iterator[Line]:
    """The lines of an earlier summary, with the labels they had there; its messages are counted back from its end."""
    label, lines = "", text.splitlines()
    message = -1 - sum(not raw.strip() for raw in lines)
    for raw in lines:
        if not raw.strip():
            label, message = "", message + 1
            continue
        found = _LABEL.match(raw)
        inner = raw[1:] if raw[0] == " " and _LABEL.match(raw, 1) else raw  # moved in when it was shown
        label, words = (found.group(1), found.group(2) or "") if found else (label, inner)
        if words.startswith(_PLAIN_CALLS) and (not label or label.isdigit()):
            label = f"{label} {_CALL}".lstrip()
        words = words[1:] if words.startswith(_SAID_SO) else words
        line = Line(words.rstrip(), label, message, plain=label.endswith(_CALL))
        whole = line.is_tools or _ARGUMENT.match(words)
        line = line._replace(weight=_weight(words) if line.is_spoken else 1.0 if whole else TORN)
        if line.is_tools:
            line = line._replace(text=_unquoted(line.text.strip()))
        if line.text.strip():
            yield line
