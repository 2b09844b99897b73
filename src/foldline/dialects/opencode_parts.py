"""The parts of opencode's turns, as far as its model sees them, and how a changed turn is put together again.

A tool part is a call and its result at once. Parts no model is sent (steps' beginnings and ends, snapshots, patches)
have no counterpart here and stay where they are. Which turns are live is `opencode`'s matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from foldline.dialects import jsontext
from foldline.dialects.base import argument_object, argument_text, is_str, rest
from foldline.model import Media, Message, Origin, Part, Text, Thinking, ToolCall, ToolResult, digest

_ASKED = {
    "compaction": "What did we do so far?",
    "subtask": "The following tool was executed by the user",
}
"""The words in which opencode tells its model of such a part."""
_NAMES = ("id", "sessionID", "messageID")
"""What a part is called, and whose it is."""
_NOTED = (Origin.SUMMARY, Origin.PROGRAM)
"""Who speaks in a part made here, where that is noted in its metadata, which opencode keeps to itself."""
_INLINED = ("text/plain", "application/x-directory")
"""Files of these kinds are put to the model as text parts beside them."""


def read_part(part: Any) -> Part | None:
    """What the model sees of a part, its result apart; None when it sees nothing."""
    match part:
        case {"type": "text", "text": str(text)}:
            return None if part.get("ignored") else Text(text, rest(part, "type", "text"))
        case {"type": "reasoning", "text": str(text)}:
            return Thinking(text, "", rest(part, "type", "text"))
        case {"type": "tool", "callID": str(id_), "tool": str(name), "state": {"input": dict(arguments)}}:
            return ToolCall(id_, name, argument_text(arguments))
        case {"type": "file", "mime": str(mime), "url": str(url)} if mime not in _INLINED:
            return _read_file(mime, url, rest(part, "type", "mime", "url"))
        case {"type": "compaction" | "subtask" as kind}:
            return Text(_ASKED[kind], part)
    return None


def read_result(part: Mapping[str, Any]) -> ToolResult | None:
    """The result in a tool part, if it has come to one."""
    match part["state"]:
        case {"status": "completed", "output": str(text)} as state:
            files = [file for file in state.get("attachments") or () if isinstance(file, dict) and is_str(file, "url")]
            media = [_read_file(str(file.get("mime", "")), file["url"], rest(file, "mime", "url")) for file in files]
            return ToolResult(part["callID"], (Text(text), *media), name=part["tool"], form="string")
        case {"status": "error", "error": str(text)}:
            return ToolResult(part["callID"], (Text(text),), True, part["tool"], form="string")
    return None


def origin(part: Mapping[str, Any]) -> Origin:
    """Who speaks in a part of a user's turn: what opencode put beside the user's words is mostly what files say."""
    if part.get("type") in _ASKED:
        return Origin.PROGRAM
    noted = part.get("metadata")
    told = noted.get("origin") if isinstance(noted, dict) else None
    beside = Origin.TOOL if part.get("synthetic") else Origin.USER
    return next((origin for origin in _NOTED if told == origin.value), beside)


def rebuild(turn: Mapping[str, Any], messages: Sequence[Message], *, marks: bool = True) -> Mapping[str, Any]:
    """The turn with these messages in it, its other parts where they were: with `marks`, that of a compaction too."""
    results = {result.call_id: result for message in messages for result in message.results}
    said = [part for message in messages for part in message.parts if not isinstance(part, ToolResult)]
    put: list[tuple[int, int, Any]] = []
    homes: dict[int, Part] = {}
    at = -1
    for part in said:
        home = _home(turn["parts"], part, homes)
        if home is None:
            put.append((at, 1, new_part(part, turn["info"], results)))
        else:
            at, homes[home] = home, part
    for place, part in enumerate(turn["parts"]):
        if place in homes:
            put.append((place, 0, _write(part, homes[place], results)))
        elif read_part(part) is None or (marks and part["type"] == "compaction"):
            put.append((place, 0, part))
    return {**turn, "parts": [part for *_, part in sorted(put, key=lambda placed: placed[:2])]}


def unmarked(turn: Mapping[str, Any]) -> Mapping[str, Any]:
    """The turn with its compaction's mark as plain words."""
    if not any(map(_marks, turn["parts"])):
        return turn
    return {**turn, "parts": [{**_named(part), **_words(part)} if _marks(part) else part for part in turn["parts"]]}


def new_part(part: Part, info: Mapping[str, Any], results: Mapping[str, ToolResult]) -> Mapping[str, Any]:
    """A part made here, in a turn."""
    told = isinstance(part, Text) and part.extra.get("type") in _ASKED
    made = _words(part.extra) if told else rest(_made(part, results), *_NAMES)
    names = {"sessionID": info.get("sessionID", ""), "messageID": info.get("id", "")}
    return {"id": f"prt_{digest(jsontext.encode([names, made]))[:26]}", **names, **made}


def _marks(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "compaction"


def _words(part: Mapping[str, Any]) -> dict[str, Any]:
    """What the model is told of a mark, as a part that does nothing but tell it."""
    told = {"synthetic": True, "metadata": {"origin": Origin.PROGRAM.value}}
    return {"type": "text", "text": _ASKED[part["type"]], **told}


def _named(part: Mapping[str, Any]) -> dict[str, Any]:
    return {key: part[key] for key in _NAMES if key in part}


def _home(parts: Sequence[Any], part: Part, taken: Iterable[int]) -> int | None:
    """Where a part stood: the place of the same part, or of the one with its id."""
    free = [(place, read_part(old)) for place, old in enumerate(parts) if place not in taken]
    same = next((place for place, old in free if old == part), None)
    return (
        same
        if same is not None
        else next((p for p, old in free if old and _name(old) and _name(old) == _name(part)), None)
    )


def _name(part: Part) -> str:
    if isinstance(part, ToolCall):
        return part.id
    named = getattr(part, "extra", {}).get("id")
    return named if isinstance(named, str) else ""


def _write(old: Mapping[str, Any], part: Part, results: Mapping[str, ToolResult]) -> Mapping[str, Any]:
    if isinstance(part, ToolCall):
        return _write_tool(old, part, results.get(part.id))
    if part == read_part(old):
        return old
    made = _made(part, results)
    return {**_named(old), **made}


def _write_tool(old: Mapping[str, Any], call: ToolCall, result: ToolResult | None) -> Mapping[str, Any]:
    state = old["state"]
    if call != read_part(old):
        state = {**state, "input": argument_object(call.arguments)}
    before = read_result(old)
    if result is None:
        state = {"status": "pending", "input": state["input"]} if before else state
    elif result != before:
        state = _answered(state, result)
    return {**old, "tool": call.name, "state": state}


def _answered(state: Mapping[str, Any], result: ToolResult) -> dict[str, Any]:
    """The state of a tool part that has come to this result, with all that opencode looks for in such a state."""
    kept = rest(state, "output", "error", "attachments", "raw")
    told = state.get("time")
    times = told if isinstance(told, dict) else {}
    start = times.get("start", 0)
    timed = {"time": {"start": start, "end": start, **times}}
    if result.is_error:
        return {**kept, **timed, "status": "error", "error": result.text}
    files = [_write_file(part) for part in result.content if isinstance(part, Media)]
    media = {"attachments": files} if files else {}
    return {"title": "", "metadata": {}, **kept, **timed, "status": "completed", "output": result.text, **media}


def _made(part: Part, results: Mapping[str, ToolResult]) -> dict[str, Any]:
    match part:
        case Text(text, extra):
            return {"type": "text", "text": text, **extra}
        case Thinking(text, _, extra):
            return {"type": "reasoning", "text": text, **extra}
        case ToolCall(id_, name, arguments):
            state: dict[str, Any] = {"status": "pending", "input": argument_object(arguments)}
            answered = _answered(state, results[id_]) if id_ in results else state
            return {"type": "tool", "callID": id_, "tool": name, "state": answered}
        case Media():
            return _write_file(part)
        case ToolResult():
            return {"type": "text", "text": part.text, "synthetic": True}
    return dict(part.extra)


def _read_file(mime: str, url: str, extra: Mapping[str, Any]) -> Media:
    kind = "image" if mime.startswith("image/") else "file"
    start = f"data:{mime};base64,"
    if url.startswith(start):
        return Media(kind, mime, data=url.removeprefix(start), extra=extra)
    return Media(kind, mime, url=url, extra=extra)


def _write_file(part: Media) -> dict[str, Any]:
    url = f"data:{part.mime};base64,{part.data}" if part.data else part.url
    return {"type": "file", "mime": part.mime, "url": url, **part.extra}


def steps(parts: Sequence[Any]) -> Iterator[list[int]]:
    """The places of the parts of each step of the model."""
    run: list[int] = []
    for place, part in enumerate(parts):
        if isinstance(part, dict) and part.get("type") == "step-start" and run:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
