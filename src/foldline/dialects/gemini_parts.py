"""The parts of a Gemini content: text, thoughts, functionCall, functionResponse, inlineData, fileData.

Each kind may be spelled in Google's way or in Python's, and goes back as it came. A part's `extra` holds the fields
beside its data (thought signatures too), and under the data's own name the further fields inside it: a used-up key
in there is only a note. Contents are in `gemini`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldline.dialects import ids, jsontext
from foldline.dialects.base import argument_object, argument_text, is_str, opaque, rest, unopaque
from foldline.errors import MalformedInput
from foldline.model import EMPTY, Media, Opaque, Part, Text, Thinking, ToolCall, ToolResult

KINDS: Mapping[str, str] = {
    "text": "text",
    "functionCall": "call",
    "function_call": "call",
    "functionResponse": "response",
    "function_response": "response",
    "inlineData": "inline",
    "inline_data": "inline",
    "fileData": "file",
    "file_data": "file",
    "executableCode": "own",
    "executable_code": "own",
    "codeExecutionResult": "own",
    "code_execution_result": "own",
    "toolCall": "own",
    "tool_call": "own",
    "toolResponse": "own",
    "tool_response": "own",
}
"""Every name a part's data may have, and what it is; "own" is answered by the provider's servers and stays whole."""
_SIGNATURES = ("thoughtSignature", "thought_signature")
_ANSWERS = ("output", "result", "content", "error")
"""A response that is nothing but one of these with a string is that string."""
_ABSENT, _JSON = "absent", "json"


def read_part(block: Any) -> Part:
    if not isinstance(block, dict):
        return opaque(block)
    keys = [key for key in block if key in KINDS and block[key] is not None]
    if len(keys) != 1:
        return opaque(block)
    found = _READERS[KINDS[keys[0]]](block, keys[0])
    return Opaque(keys[0], block) if found is None else found


def write_part(part: Part) -> Any:
    match part:
        case Text(text, extra):
            return {"text": text, **extra}
        case Thinking(text, seal, extra):
            signed = seal and not any(key in extra for key in _SIGNATURES)
            return {"text": text, "thought": True, **({_SIGNATURES[0]: seal} if signed else {}), **extra}
        case ToolCall():
            return _write_call(part)
        case ToolResult():
            return _write_response(part)
        case Media():
            return _write_media(part)
        case Opaque():
            return unopaque(part)


def _read_text(block: Mapping[str, Any], key: str) -> Part | None:
    if not isinstance(block[key], str):
        return None
    if block.get("thought") is not True:
        return Text(block[key], rest(block, key))
    seal = next((block[name] for name in _SIGNATURES if is_str(block, name)), "")
    return Thinking(block[key], seal, rest(block, key, "thought"))


def _read_call(block: Mapping[str, Any], key: str) -> Part | None:
    call = block[key]
    if not isinstance(call, dict) or not is_str(call, "name"):
        return None
    own = is_str(call, "id") and call["id"] != "" and not ids.is_made(call["id"])
    inner = dict(rest(call, "name", "args", *(("id",) if own else ())))
    arguments = argument_text(call["args"]) if "args" in call else "{}"
    if not isinstance(call.get("args"), dict):
        inner["args"] = _JSON if "args" in call else _ABSENT
    return ToolCall(
        call["id"] if own else ids.made_id(call["name"]), call["name"], arguments, _beside(block, key, inner)
    )


def _write_call(call: ToolCall) -> Mapping[str, Any]:
    key, inner = _spelled(call.extra, "functionCall", "function_call")
    made: dict[str, Any] = {} if ids.is_made(call.id) else {"id": call.id}
    made["name"] = call.name
    if inner.get("args") == _JSON:
        made["args"] = jsontext.decode(jsontext.bytes_of(call.arguments))
    elif inner.get("args") != _ABSENT or call.arguments != "{}":
        made["args"] = argument_object(call.arguments)
    return {**rest(call.extra, key), key: {**made, **rest(inner, "args")}}


def _read_response(block: Mapping[str, Any], key: str) -> Part | None:
    answer = block[key]
    if not isinstance(answer, dict) or not is_str(answer, "name") or not answer["name"]:
        return None
    form, text = _read_answer(answer.get("response"))
    media = answer.get("parts") if form != "other" else None
    listed = isinstance(media, list) and bool(media)
    inner = rest(answer, "name", *(() if form == "other" else ("response",)), *(("parts",) if listed else ()))
    content = (*((Text(text),) if form != "other" else ()), *map(_read_inner, media if listed and media else ()))
    own = is_str(answer, "id") and answer["id"] != "" and not ids.is_made(answer["id"])
    call_id = answer["id"] if own else ids.made_id(answer["name"])
    failed = form == "error" or bool(form == _JSON and answer["response"].get("error"))
    return ToolResult(call_id, content, failed, answer["name"], form, _beside(block, key, dict(inner)))


def _write_response(result: ToolResult) -> Mapping[str, Any]:
    key, inner = _spelled(result.extra, "functionResponse", "function_response")
    made: dict[str, Any] = {"name": result.name or ids.name_in(result.call_id) or "tool"}
    if not ids.is_made(result.call_id) and ("id" in inner or not result.form):
        made["id"] = result.call_id
    if result.content or result.form != "other":
        made["response"] = _write_answer(result)
    media = [write_part(part) for part in result.content if not isinstance(part, Text)]
    made |= {"parts": media} if media else {}
    return {**rest(result.extra, key), key: {**made, **inner, **made}}


def _read_answer(response: Any) -> tuple[str, str]:
    """How the response says what it says, and that as text."""
    if not isinstance(response, dict):
        return "other", ""
    if len(response) == 1:
        key = next(iter(response))
        if key in _ANSWERS and isinstance(response[key], str):
            return key, response[key]
    return _JSON, argument_text(response)


def _write_answer(result: ToolResult) -> Mapping[str, Any]:
    if result.form in _ANSWERS:
        return {result.form: result.text}
    if result.form == _JSON:
        try:
            value = jsontext.decode(jsontext.bytes_of(result.text))
        except MalformedInput:
            value = None
        if isinstance(value, dict):
            return value
    return {"error" if result.is_error else "output": result.text}


def _read_inner(block: Any) -> Media | Opaque:
    """What a response carries beside its text: media; anything else stays whole."""
    part = read_part(block)
    return part if isinstance(part, (Media, Opaque)) else opaque(block)


def _read_inline(block: Mapping[str, Any], key: str) -> Part | None:
    blob = block[key]
    if not isinstance(blob, dict) or not is_str(blob, "data") or not blob["data"]:
        return None
    mime = _mime(blob)
    return Media(_media_kind(mime), mime, blob["data"], extra={**rest(block, key), key: rest(blob, "data")})


def _read_file(block: Mapping[str, Any], key: str) -> Part | None:
    file = block[key]
    if not isinstance(file, dict):
        return None
    url = next((file[name] for name in ("fileUri", "file_uri") if is_str(file, name)), "")
    return Media(_media_kind(_mime(file)), _mime(file), url=url, extra=block)


def _write_media(part: Media) -> Mapping[str, Any]:
    if any(isinstance(part.extra.get(key), Mapping) for key in ("fileData", "file_data")):
        return dict(part.extra)
    if part.url and not part.data:
        return {"fileData": {**({"mimeType": part.mime} if part.mime else {}), "fileUri": part.url}, **part.extra}
    key, inner = _spelled(part.extra, "inlineData", "inline_data")
    further = inner if key in part.extra else {"mimeType": part.mime}
    return {**part.extra, key: {**further, "data": part.data}}


def _mime(blob: Mapping[str, Any]) -> str:
    return next((blob[name] for name in ("mimeType", "mime_type") if is_str(blob, name)), "")


def _media_kind(mime: str) -> str:
    kind = mime.partition("/")[0]
    return kind if kind in ("image", "audio", "video") else "document"


def _beside(block: Mapping[str, Any], key: str, inner: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields beside a part's data, and those inside it where there are any or the spelling is not the usual one."""
    return {**rest(block, key), **({key: inner} if inner or "_" in key else {})} or EMPTY


def _spelled(extra: Mapping[str, Any], usual: str, other: str) -> tuple[str, Mapping[str, Any]]:
    key = other if isinstance(extra.get(other), Mapping) else usual
    return key, extra.get(key) or EMPTY


def _stays_whole(_block: Mapping[str, Any], _key: str) -> None:
    return None


_READERS: Mapping[str, Any] = {
    "text": _read_text,
    "call": _read_call,
    "response": _read_response,
    "inline": _read_inline,
    "file": _read_file,
    "own": _stays_whole,
}
