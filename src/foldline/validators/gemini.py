"""What the Gemini API demands of contents: turns of parts, function calls and their responses.

Both spellings of field names are read (functionCall, function_call). Parts whose fields nobody here knows are
accepted. The model's name is used where the request carries it; usually it stands in the address instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from foldline.validators.base import Fault, Payload, Rule, Violation, judge, mapping, sequence, show, string, unwrap

ROLES = frozenset({"user", "model", "function"})

DATA = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
)
"""The fields of which a part has exactly one."""

ABOUT = frozenset({"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"})
"""Fields that say something about a part and are none of its data."""

MODEL = re.compile(r"gemini-(\d+)")
STRICT_SINCE = 3
"""From this generation on, calls need their thought signature, and the last turn must not be the model's."""

WITHOUT_CHECK = "image"
"""Models with this in their name do not check signatures."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part where it stands, its field names in the one spelling."""

    path: str
    body: Mapping[str, Any]

    def get(self, field: str) -> Mapping[str, Any]:
        return mapping(self.body.get(field))


@dataclass(frozen=True, slots=True)
class Turn:
    """A content: who speaks, and the parts."""

    index: int
    role: str
    parts: tuple[Part, ...]

    def of(self, field: str) -> tuple[Part, ...]:
        return tuple(part for part in self.parts if field in part.body)


@dataclass(frozen=True, slots=True)
class Request:
    """What the rules look at."""

    payload: Payload
    turns: tuple[Turn, ...]
    generation: int
    """Of the model; 0 when it is unknown or does not check."""


def cut(payload: Payload) -> Request:
    model = string(payload.head.get("model"))
    found = None if WITHOUT_CHECK in model else MODEL.search(model)
    turns = tuple(_turn(index, mapping(content)) for index, content in enumerate(payload.items))
    return Request(payload, turns, int(found[1][:4]) if found else 0)


def _turn(index: int, content: Mapping[str, Any]) -> Turn:
    return Turn(index, string(content.get("role", "user")), _parts(f"contents[{index}]", content))


def _parts(path: str, content: Mapping[str, Any]) -> tuple[Part, ...]:
    rows = enumerate(sequence(content.get("parts")))
    return tuple(Part(f"{path}.parts[{place}]", _camel(mapping(part))) for place, part in rows)


def _camel(part: Mapping[str, Any]) -> Mapping[str, Any]:
    return {re.sub(r"_([a-z])", lambda found: found[1].upper(), name): value for name, value in part.items()}


def _payload_shape(request: Request) -> Iterator[Fault]:
    if request.payload.fault:
        yield None, "contents", request.payload.fault
    elif not request.turns:
        yield None, "contents", "contents is not specified: at least one is required"


def _role(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        if turn.role not in ROLES:
            text = f"please use a valid role: user, model; got {show(turn.role)}"
            yield turn.index, f"contents[{turn.index}].role", text


def _parts_empty(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        if not turn.parts:
            yield turn.index, f"contents[{turn.index}].parts", "contents.parts must not be empty"


def _part_data(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        for part in turn.parts:
            known = [field for field in DATA if field in part.body]
            unknown = part.body.keys() - ABOUT - set(DATA)
            if len(known) > 1:
                yield turn.index, part.path, f"a part has one data field, this has {', '.join(known)}"
            if not known and not unknown:
                yield turn.index, part.path, "required oneof field 'data' must have one initialized field"


def _part_shape(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        for part in turn.of("text"):
            if not isinstance(part.body["text"], str):
                yield turn.index, f"{part.path}.text", f"expected a string, got {show(part.body['text'])}"
        for field, inner in (("functionCall", "args"), ("functionResponse", "response")):
            for part in turn.of(field):
                if not string(part.get(field).get("name")):
                    yield turn.index, f"{part.path}.{field}.name", "expected the function's name"
                if part.get(field).get(inner) is not None and not isinstance(part.get(field)[inner], dict):
                    yield turn.index, f"{part.path}.{field}.{inner}", "expected an object"


def _text_empty(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        for part in turn.of("text"):
            if part.body["text"] == "" and not part.body.get("thoughtSignature"):
                yield turn.index, f"{part.path}.text", "it has an empty text parameter, and no signature to carry"


def _first_role(request: Request) -> Iterator[Fault]:
    if request.turns and request.turns[0].role == "model":
        yield 0, "contents[0].role", "the first content must be the user's"


def _last_role(request: Request) -> Iterator[Fault]:
    last = request.turns[-1] if request.turns else None
    if last and last.role == "model" and request.generation >= STRICT_SINCE:
        yield last.index, f"contents[{last.index}].role", "requests ending with a model turn are not supported"


def _part_role(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        field, rule = (
            ("functionResponse", "not the model's") if turn.role == "model" else ("functionCall", "the model's")
        )
        for part in turn.of(field):
            yield turn.index, part.path, f"a {field} is {rule} to give"


def _call_place(request: Request) -> Iterator[Fault]:
    for before, turn in _neighbours(request):
        if turn.role == "model" and turn.of("functionCall") and before and before.role == "model":
            text = "a function call turn comes immediately after a user turn or after a function response turn"
            yield turn.index, f"contents[{turn.index}]", text


def _call_unanswered(request: Request) -> Iterator[Fault]:
    nobody = Turn(len(request.turns), "", ())
    for turn, after in zip(request.turns, (*request.turns[1:], nobody), strict=False):
        calls, responses = len(turn.of("functionCall")), len(after.of("functionResponse"))
        if turn.role == "model" and calls > responses:
            text = "the number of function response parts must equal the number of function call parts of the turn: "
            yield turn.index, f"contents[{turn.index}]", f"{text}{calls} calls, {responses} responses"


def _response_without_call(request: Request) -> Iterator[Fault]:
    for before, turn in _neighbours(request):
        calls = len(before.of("functionCall")) if before and before.role == "model" else 0
        responses = len(turn.of("functionResponse"))
        if turn.role != "model" and responses > calls:
            text = (
                f"comes immediately after a function call turn with as many calls: {responses} responses, {calls} calls"
            )
            yield turn.index, f"contents[{turn.index}]", f"a function response turn {text}"


def _response_name(request: Request) -> Iterator[Fault]:
    for before, turn in _neighbours(request):
        called = before.of("functionCall") if before else ()
        given = turn.of("functionResponse")
        for field in ("name", "id"):
            asked = [string(part.get("functionCall").get(field)) for part in called]
            told = [string(part.get("functionResponse").get(field)) for part in given]
            if asked and len(asked) == len(told) and all(asked + told) and Counter(asked) != Counter(told):
                yield turn.index, f"contents[{turn.index}]", f"the {field}s of the responses are not those of the calls"


def _response_mixed(request: Request) -> Iterator[Fault]:
    for turn in request.turns:
        if turn.role != "model" and 0 < len(turn.of("functionResponse")) < len(turn.parts):
            text = "a function response turn holds nothing but responses; other parts go into a content of their own"
            yield turn.index, f"contents[{turn.index}].parts", text


def _signature_missing(request: Request) -> Iterator[Fault]:
    if request.generation < STRICT_SINCE:
        return
    for turn in reversed(request.turns):
        calls = turn.of("functionCall")
        if turn.role != "model" and not turn.of("functionResponse"):
            return  # the user's own words: earlier turns are not checked
        if turn.role == "model" and calls and not string(calls[0].body.get("thoughtSignature")):
            yield turn.index, calls[0].path, "function call is missing a thought_signature"


def _system_text(request: Request) -> Iterator[Fault]:
    system = _camel(request.payload.head).get("systemInstruction")
    if system is None:
        return
    parts = _parts("systemInstruction", mapping(system))
    if not parts:
        yield None, "systemInstruction.parts", "must be a content with at least one text part"
    for part in parts:
        if not string(part.body.get("text")):
            yield None, part.path, "only text parts are supported in the system instruction"


def _neighbours(request: Request) -> Iterator[tuple[Turn | None, Turn]]:
    return zip((None, *request.turns), request.turns, strict=False)


RULES: tuple[Rule[Request], ...] = (
    Rule("payload-shape", "A request has contents, and they are not empty.", _payload_shape),
    Rule("role", "Contents are the user's, the model's or a function's.", _role),
    Rule("parts-empty", "Every content has parts.", _parts_empty),
    Rule("part-data", "Every part has exactly one data field.", _part_data),
    Rule("part-shape", "Text is a string; calls and responses have a name and an object.", _part_shape),
    Rule("part-role", "Calls are the model's, responses are not.", _part_role),
    Rule("text-empty", "Text is not empty, unless its part carries a signature.", _text_empty),
    Rule("first-role", "The first content is the user's.", _first_role),
    Rule("last-role", "From Gemini 3 on, the last content is not the model's.", _last_role),
    Rule("call-place", "A function call turn comes right after a user or function response turn.", _call_place),
    Rule("call-unanswered", "A function call turn is followed by as many responses.", _call_unanswered),
    Rule(
        "response-without-call", "A response turn comes right after a turn with as many calls.", _response_without_call
    ),
    Rule("response-name", "Responses have the names, and the ids, of their calls.", _response_name),
    Rule("response-mixed", "A function response turn holds nothing but responses.", _response_mixed),
    Rule(
        "signature-missing", "From Gemini 3 on, each step's first call has its thought signature.", _signature_missing
    ),
    Rule("system-text", "The system instruction is text.", _system_text),
)


def check(payload: Any) -> list[Violation]:
    """What the Gemini API would refuse in a request, or in a list of contents."""
    return judge(cut(unwrap(payload, "contents")), RULES)
