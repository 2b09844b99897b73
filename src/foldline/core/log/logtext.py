"""The work log as text: lines behind their labels, and the same lines read again from an earlier summary.

    chosen lines ── shown ──> text ── reread ──> the same lines

There is an empty line before each message. A call has a label with the tool, and with the file where no line names it;
the first message after the user spoke has its number:

    [12] The parser drops empty rows.
    [Edit] file_path: src/rows.py
    new_string: return [row for row in rows if row]

    command: make test

    [tool output] `4 passed`

    [tool output: Read rows.py]
    > def rows(text):
    > …

Lines of tools are quoted, and labelled as theirs; each line of a file that was read has a bar before it. Nothing quoted
can be taken for a label, or for a line of the checkpoint's own, and each line keeps its mark where a log is cut off.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from foldline.core.log.loglines import GOALS, OFTEN, PLAIN_CALLS, TOOL, UNDONE, LogLine, is_tools, weight_of

_SAID_SO = tuple(f" {begins}" for begins in PLAIN_CALLS)
"""How a line begins where the agent only speaks of a call: indented by one blank."""
_DESCRIBES = "description: "
_LABEL = re.compile(r"\[([^\[\]]{1,200})\](?: (.*))?$")
_TICKS = re.compile(r"`+")
_BAR = "> "
"""The bar before each line of a file."""
_COUNTS = re.compile(r"\((?:Left out|[\d,]{1,12} more)\b")
"""How the checkpoint says how much is missing."""
_CALL = "call"
"""The label given to a call that had none in an earlier summary."""
_BLANKS = r"[ \t\u00a0\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]{0,3}"
"""Blanks and invisible signs that a reader may overlook before a heading."""
_OWN_LINE = re.compile(rf"{_BLANKS}(?:#{{2,6}}\s|#\s+(?:Notes on the conv|End of the notes)|</?[a-z]+-files>)", re.I)
"""A line that could be the checkpoint's own. One with a single `#` is mostly a comment."""
_QUOTED_LINE = re.compile(
    rf"(?<=[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
    rf"(?={_BLANKS}(?:#{{1,6}}\s|</?[a-z]+-files>|\[(?:\d{{1,9}}[ \]]|{TOOL}|{OFTEN})))",
    re.I,
)
"""The beginning of a further line of a quotation that looks like the checkpoint's own, or like a label."""


def shown(chosen: Iterable[LogLine], first: int, asked: Sequence[int] = ()) -> str:
    """The lines behind their labels. `first` is the number of the first message in the whole history, `asked` the
    indices of the user's messages, in order."""
    found: list[str] = []
    turn = -1
    for (message, reread), entry in groupby(chosen, key=lambda line: (line.message, line.reread)):
        now = turn if reread else bisect(asked, message)
        number = str(first + message + 1) if now != turn else ""
        turn = now
        found += ["", *_entry(entry, number)]
    return "\n".join(found[1:])


def _entry(lines: Iterable[LogLine], number: str) -> Iterator[str]:
    """The lines of one message; what the agent says after a call stands by itself."""
    for place, ((label, *_), group) in enumerate(groupby(lines, key=_caller)):
        same = list(group)
        head, *rest = map(_quoted, same)
        told = _carried_label(label, same) if same[0].reread else _label(label, same)
        marks = " ".join(filter(None, ("" if place else number, told)))
        if same[0].kind == "seen":
            yield from (f"[{marks}]", *(_barred(line.text) for line in same))
            continue
        if place and not marks:
            yield ""
        yield f"[{marks}] {head}" if marks else _plainly(head)
        yield from map(_plainly, rest)


def _barred(line: str) -> str:
    """A line of a file, behind a bar. One that could be taken for a count of ours is indented."""
    return f"{_BAR} {line}" if _COUNTS.match(line) else _BAR + line


def _caller(line: LogLine) -> tuple[str, int, bool]:
    """The key by which lines stand behind one label. Calls on files stand apart: files may differ where their short
    names do not."""
    apart = line.reread or " " in UNDONE.sub("", line.label)
    return line.label, line.call if apart else 0, line.kind == "seen"


def _label(label: str, lines: Sequence[LogLine]) -> str:
    """The label without the file where a line names it; "" where no label is needed."""
    if lines[0].is_plain:
        return ""
    whole = UNDONE.sub("", label)
    name, _, file = whole.partition(" ")
    named = file and not lines[0].is_tools and any(line.text.endswith((f"/{file}", f" {file}")) for line in lines)
    return name + label[len(whole) :] if named else label


def _carried_label(label: str, lines: Sequence[LogLine]) -> str:
    """The label that lines had in an earlier summary; a call's keeps its name only where the beginning of the call
    is missing."""
    return label.removesuffix(_CALL).rstrip() if lines[0].is_plain and _is_call(label) else label


def _is_call(label: str) -> bool:
    return f" {label}".endswith(f" {_CALL}")


def _plainly(text: str) -> str:
    """The line, indented if it could be taken for the beginning of an entry, a line of a file, or one of the
    checkpoint's own."""
    return f" {text}" if _LABEL.match(text) or text.startswith(_BAR) else moved_in(text)


def moved_in(line: str) -> str:
    """The line, indented if it could be taken for one of the checkpoint's own."""
    return f"    {line}" if _OWN_LINE.match(line) else line


def below(words: str) -> str:
    """Quoted words with headings, tags and labels in them indented: pasted text must not open a section of ours."""
    return _QUOTED_LINE.sub("    ", words)


def _quoted(line: LogLine) -> str:
    if not line.is_tools:
        return f" {line.text}" if line.is_spoken and line.text.startswith(PLAIN_CALLS) else line.text
    return in_ticks(line.text)


def in_ticks(text: str) -> str:
    """A tool's words on one line, between more ticks than they have in a row: nothing in them can end the quotation."""
    ticks = "`" * (1 + max(map(len, _TICKS.findall(text)), default=0))
    return f"{ticks} {text} {ticks}" if len(ticks) > 1 else f"`{text}`"


def quoted(words: str) -> str:
    """Words other than the user's, on one line, in marks that nothing in them can close."""
    line = " ".join(words.split())
    return in_ticks(line) if "“" in line or "”" in line else f"“{line}”"


def _unquoted(text: str) -> str:
    """The words inside their ticks; a line without ticks unchanged."""
    ticks = len(text) - len(text.lstrip("`"))
    if not ticks or len(text) <= 2 * ticks or not text.endswith("`" * ticks):
        return text
    inside = text[ticks:-ticks]
    return inside.removeprefix(" ").removesuffix(" ") if ticks > 1 else inside


def _seen(raw: str, label: str, message: int, call: int) -> LogLine:
    text = raw.removeprefix(_BAR)
    text = text[1:] if text.startswith(" ") and _COUNTS.match(text, 1) else text
    return LogLine(text, label, message, call=call, kind="seen", times=0, reread=True)


def reread(text: str) -> Iterator[LogLine]:
    """The lines of an earlier summary, with the labels they had there; its messages are counted back from its end."""
    label, call, torn, lines = "", 0, False, text.splitlines()
    message = -1 - sum(not raw.strip() for raw in lines)
    for raw in lines:
        if not raw.strip():
            label, torn, message = "", False, message + 1
            continue
        if raw.startswith(_BAR) and is_tools(label):
            yield _seen(raw, label, message, call)
            continue
        found = _LABEL.match(raw)
        call, torn = (call + 1, False) if found else (call, torn)
        moved = raw[0] == " " and (_LABEL.match(raw, 1) or raw.startswith(_BAR, 1))
        inner = raw[1:] if moved else raw  # as it was before it was shown
        label, words = (found.group(1), found.group(2) or "") if found else (label, inner)
        if words.startswith(PLAIN_CALLS) and (not label or label.isdigit()):
            label = f"{label} {_CALL}".lstrip()
        words = words[1:] if words.startswith(_SAID_SO) else words
        line = LogLine(words.rstrip(), label, message, call=call, plain=_is_call(label), reread=True)
        torn = torn or not (GOALS.match(words) or words.startswith(_DESCRIBES))  # any file has lines like `name: x`
        if line.is_spoken:
            line = line._replace(weight=weight_of(words))
        elif torn and not line.is_tools:
            line = line._replace(kind="inner")
        if line.is_tools:
            line = line._replace(text=_unquoted(line.text.strip()))
        if line.text.strip():
            yield line
