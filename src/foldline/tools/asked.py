"""The arguments of a call, held against the tool's schema: what fits comes back clean, what does not is refused.

Kinder than the schema where the meaning is plain: null is the same as nothing, and so is an empty condition; "3" and
"#3" are numbers; JSON text is the object or the list that it says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from foldline.agenda.asked import Refused
from foldline.core.words.text import head
from foldline.tools.shown import whole_characters
from foldline.tools.table import Schema, Tool

_WHOLE = re.compile(r"\s*[+#]?(\d{1,18})\s*", re.A)
_QUOTED = 60
"""Characters of a wrong value that its refusal repeats."""


def checked(tool: Tool, given: Any) -> dict[str, Any]:
    """The arguments of a call. Raises Refused, with what to do."""
    known: Mapping[str, Schema] = tool.schema["properties"]
    arguments = {name: value for name, value in _object(tool, given).items() if not _says_nothing(tool, name, value)}
    unknown = [_shown(name) for name in arguments if name not in known]
    if unknown:
        takes = f"it takes {', '.join(known)}" if known else "it takes none"
        raise Refused(f"{tool.name} has no argument {', '.join(unknown[:5])}; {takes}")
    missing = [name for name in tool.schema["required"] if name not in arguments]
    if missing:
        what = known[missing[0]]["description"]
        raise Refused(f"{tool.name} needs {' and '.join(missing)}. {missing[0]}: {what}")
    return {name: _value(name, value, known[name]) for name, value in arguments.items()}


def _object(tool: Tool, given: Any) -> Mapping[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            raise Refused(f"the arguments of {tool.name} are not JSON; give one JSON object") from None
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise Refused(f"the arguments of {tool.name} are {type(given).__name__}; give one JSON object")
    return given


def _says_nothing(tool: Tool, name: str, value: Any) -> bool:
    """Some models fill in every argument. What is empty is no condition, and no word of a few; a text it may be."""
    if value is None or name in tool.schema["required"]:
        return value is None
    schema = tool.schema["properties"].get(name, {})
    condition = tool.read_only or "enum" in schema or schema.get("type") == "integer"
    return condition and isinstance(value, str) and not value.strip()


def _value(name: str, value: Any, schema: Schema) -> Any:
    if schema["type"] == "integer":
        return _integer(name, value, schema)
    if schema["type"] == "string":
        return _text(name, value, schema)
    return _list(value)


def _list(value: Any) -> Any:
    """A list as it came: the agenda says more precisely what is wrong with one. JSON text of one is that one."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        with suppress(ValueError, RecursionError):  # else it is the title of a task
            return json.loads(value)
    return value


def _integer(name: str, value: Any, schema: Schema) -> int:
    if isinstance(value, str) and (whole := _WHOLE.fullmatch(value)):
        value = int(whole[1])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    lowest, highest = schema["minimum"], schema["maximum"]
    if not isinstance(value, int) or isinstance(value, bool) or not lowest <= value <= highest:
        raise Refused(f"{name} is {_shown(value)}; give a whole number from {lowest} to {highest:,}")
    return value


def _text(name: str, value: Any, schema: Schema) -> str:
    if not isinstance(value, str):
        raise Refused(f"{name} is {_shown(value)}; give text")
    if len(value) > schema["maxLength"]:
        raise Refused(f"{name} has {len(value):,} characters; give at most {schema['maxLength']:,}")
    text = whole_characters(value)
    if "enum" not in schema:
        return text
    word = text.strip().lower().replace("_", " ").replace("-", " ")
    if word not in schema["enum"]:
        raise Refused(f"{name} is {_shown(value)}; give one of {', '.join(schema['enum'])}. {schema['description']}")
    return word


def moment(name: str, text: str) -> float:
    """A date or a time as unix seconds; UTC unless it says otherwise."""
    try:
        when = datetime.fromisoformat(text.strip())
        return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise Refused(f"{name} is {_shown(text)}; give a date as 2026-03-01 or a time as 2026-03-01T14:30") from None


def _shown(value: Any) -> str:
    """A value in a refusal: short, on one line, in plain characters."""
    if isinstance(value, (str, int, float)):
        text = ascii(value if not isinstance(value, str) else value[: 2 * _QUOTED])
    else:
        text = f"of type {type(value).__name__}"
    return text if len(text) <= _QUOTED else f"{head(text, _QUOTED)}…"
