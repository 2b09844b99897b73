"""The report: a summary whose parts are fields, for programs that want more than text.

    Summary ── Report.of ──> Report ── summary ──> the same Summary, up to layout ── Report.of ──> the same Report

Any value can stand in any field: lines after the first are indented, and those that look like a label are guarded.
A value that says nothing ("None", "(none)") becomes "", whoever wrote it. Which sections a report has is in styles.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from foldline.core.summaries.styles import REPORT
from foldline.core.summaries.summary import Summary, says_nothing
from foldline.core.words.markup import ITEM, guarded, unguarded
from foldline.errors import MalformedInput

_INDENT = "  "
_LABELS = ("file", "change", "rationale", "impact", "error", "location", "solution", "prevention")
_LABEL = re.compile(
    rf"\s*(?:#{{1,6}}[ \t]*|(?:[-*+]|\d{{1,3}}[.)])[ \t]+)?(?P<opens>[*_]*)(?P<label>{'|'.join(_LABELS)})"
    r"(?P<closes>[*_]*[ \t]*:[*_]*)(?P<text>.*)",
    re.I | re.S,
)
_BOLD = re.compile(r"\*\*(?P<text>[^*]+?):?\*\*:?")
_MARKED = re.compile(r"#{1,6}[ \t]+(?P<text>.*)", re.S)


@dataclass(frozen=True, slots=True)
class CodeChange:
    """What was done to one file, why, and what that affects."""

    file: str = ""
    change: str = ""
    rationale: str = ""
    impact: str = ""

    def __post_init__(self) -> None:
        _clean_fields(self)


@dataclass(frozen=True, slots=True)
class SolvedError:
    """An error, where it occurred, what solved it, and how to avoid it."""

    error: str = ""
    location: str = ""
    solution: str = ""
    prevention: str = ""

    def __post_init__(self) -> None:
        _clean_fields(self)


@dataclass(frozen=True, slots=True)
class Report:
    """A report on a conversation. Values are trimmed; a text that says nothing becomes "", and an item that does is
    dropped."""

    intent: str = ""
    decisions: tuple[str, ...] = ()
    changes: tuple[CodeChange, ...] = ()
    errors: tuple[SolvedError, ...] = ()
    debugging: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    state: str = ""
    next_steps: tuple[str, ...] = ()
    immediate: str = ""

    def __post_init__(self) -> None:
        _clean_fields(self)

    @classmethod
    def of(cls, summary: Summary) -> Report:
        """The fields of a summary. Never raises; text that fits no field stays with what comes before it."""
        changes = _blocks(summary.get("changes"), _LABELS[:4], plain="change")
        errors = _blocks(summary.get("errors"), _LABELS[4:], plain="error")
        return cls(
            summary.get("intent"),
            tuple(_items(summary.get("decisions"))),
            tuple(CodeChange(**block) for block in changes),
            tuple(SolvedError(**block) for block in errors),
            tuple(_items(summary.get("debugging"))),
            tuple(_items(summary.get("warnings"))),
            summary.get("state"),
            tuple(_items(summary.get("next"))),
            summary.get("immediate"),
        )

    def summary(self, version: str = "") -> Summary:
        """The report as a summary, to be rendered for the conversation."""
        texts = {
            "intent": self.intent,
            "decisions": _listed(self.decisions),
            "changes": "\n".join(_block("File", change) for change in self.changes),
            "errors": "\n".join(_block("Error", error) for error in self.errors),
            "debugging": _listed(self.debugging, numbered=True),
            "warnings": _listed(self.warnings),
            "state": self.state,
            "next": _listed(self.next_steps, numbered=True),
            "immediate": self.immediate,
        }
        summary = Summary(REPORT.name, (), version)
        for key, text in texts.items():
            summary = summary.with_section(key, text)
        return summary

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Report:
        try:
            value = json.loads(text)
            changes = tuple(CodeChange(**item) for item in value.pop("changes", ()))
            errors = tuple(SolvedError(**item) for item in value.pop("errors", ()))
            return cls(**value, changes=changes, errors=errors)
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            raise MalformedInput(f"not a saved report: {error}") from None


def _clean_fields(value: CodeChange | SolvedError | Report) -> None:
    for field in fields(value):
        given = getattr(value, field.name)
        if isinstance(given, (tuple, list)) != isinstance(field.default, tuple):
            raise TypeError(
                f"{field.name} is {'a list' if isinstance(field.default, tuple) else 'a text'}, not {given!r}"
            )
        object.__setattr__(value, field.name, _clean(given))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return "" if says_nothing(value) else value.strip()
    if isinstance(value, (tuple, list)):
        return tuple(item for item in map(_clean, value) if item)
    if isinstance(value, (CodeChange, SolvedError)):
        return value
    raise TypeError(f"{value!r} is no text")


def _listed(items: Iterable[str], *, numbered: bool = False) -> str:
    return "\n".join(
        f"{number}. {_indented(item)}" if numbered else f"- {_indented(item)}" for number, item in enumerate(items, 1)
    )


def _indented(value: str) -> str:
    return value.replace("\n", f"\n{_INDENT}")


def _items(text: str) -> Iterator[str]:
    """The items of a list. A line without a mark continues the item above it; the first line always begins one."""
    item: list[str] = []
    for line in text.split("\n") if text else ():
        mark = ITEM.match(line)
        if mark and item:
            yield "\n".join(item)
            item = []
        item.append(line[mark.end() :] if mark else line.removeprefix(_INDENT))
    yield from ["\n".join(item)] if item else []


def _block(title: str, value: CodeChange | SolvedError) -> str:
    name, *rest = ((field.name, _guarded(getattr(value, field.name))) for field in fields(value))
    labelled = [f"- **{label.capitalize()}**: {text}" for label, text in rest if text]
    return "\n".join([f"### {title}: {name[1]}".rstrip(), *labelled])


def _guarded(value: str) -> str:
    first, *rest = value.split("\n")
    return _indented("\n".join([first, *(guarded(line, _is_label) for line in rest)]))


def _is_label(line: str) -> bool:
    return _LABEL.match(line) is not None


def _blocks(text: str, labels: tuple[str, ...], plain: str) -> list[dict[str, str]]:
    """Blocks of labelled fields. The first label or a heading opens a block; so does an item where the first label is
    not in use: what stands in it before other labels is the name."""
    blocks: list[dict[str, list[str]]] = []
    now, listed, unnamed = "", False, False
    for line in text.split("\n") if text else ():
        label, said = _labelled(line, labels)
        item = ITEM.match(line) if not label else None
        if label == labels[0] or not blocks or (item and listed):
            blocks.append({name: [] for name in labels})
            now, listed, unnamed = label or plain, not label, item is not None
        if label:
            if unnamed and label != labels[0]:
                name, blocks[-1][plain] = _named(blocks[-1][plain]), []
                blocks[-1][labels[0]] = [name]
            now, unnamed = label, False
        elif now == labels[0] and not listed and not line.startswith(_INDENT):
            now = labels[1]  # what stands below a heading is not part of it
        blocks[-1][now].append(said if label else _plain_line(line, item if listed else None))
    return [{name: "\n".join(lines) for name, lines in block.items()} for block in blocks]


def _named(lines: Sequence[str]) -> str:
    """The lines of an item as a name, such as `**a.py**:`."""
    text = "\n".join(lines).strip()
    bold = _BOLD.fullmatch(text)
    return bold["text"] if bold else text.removesuffix(":")


def _labelled(line: str, labels: tuple[str, ...]) -> tuple[str, str]:
    """The field a line opens and what it says there; "" when it opens none."""
    match = _LABEL.match(line)
    if match and match["label"].lower() in labels:
        text = match["text"].lstrip(" \t")  # `**File: a.py**` is bold as a whole
        whole = match["opens"] and match["closes"].strip() == ":"
        return match["label"].lower(), text.rstrip().removesuffix(match["opens"]) if whole else text
    marked = _MARKED.match(line)
    return (labels[0], marked["text"]) if marked else ("", "")


def _plain_line(line: str, item: re.Match[str] | None) -> str:
    return line[item.end() :] if item else unguarded(line.removeprefix(_INDENT), _is_label)
