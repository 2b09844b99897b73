"""`validate`: what a provider would refuse in a request, a message list or a transcript.

Reads the input as its dialect says and hands it to the validators, which know nothing of the reader. A transcript is
judged as the request its agent would send next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foldline import sources, validators
from foldline.dialects import jsontext
from foldline.dialects.convert import api_of, as_request
from foldline.validators import Violation


def validate(given: Any, dialect: str | None = None) -> list[Violation]:
    """Every violation in it, in order; none for a request that a provider accepts."""
    if dialect is not None and dialect in validators.RULES and isinstance(given, (Mapping, list, tuple)):
        return validators.check(jsontext.decode(jsontext.encode(given)), dialect)
    conversation = sources.read(given, dialect)
    return validators.check(as_request(conversation), api_of(conversation.dialect))
