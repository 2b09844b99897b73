"""What a shell answers an agent that has no tool calls: it comes under the user's name, and is a tool's word.

    messages ── observed ──> the same, the environment's answers under the origin TOOL

Such agents write their command into their text, and their program sends the answer as a user message. That of
mini-swe-agent is known by its whole form, from beginning to end, behind a step of the model's, in a conversation in
which nothing is called otherwise. Others begin or end in their own way, but not both: a person's words could stand in
them, or the task itself, and these are worth more than a label on a tool's. Transcripts say more: swe_agent.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from foldline.model import Message, Origin, Text

_BEGINS = re.compile(
    r"\s{0,8}(?:<returncode>-?\d{1,5}</returncode>\s*(?:\Z|<(?:output|warning|exception)\b)|The last command <command>|"
    r"Please always provide EXACTLY ONE action in triple backticks, found \d{1,3} actions?\.)"
)
"""What was run, what took too long, and what could not be run."""
_ENDS = (
    *("</returncode>", "</output>", "</output_tail>", "requiring interactive input."),
    *("</response_example>", "working on this task after that).", "replacing them with ```bash."),
)
"""How each of them ends."""
_ONCE = ("</returncode>", "</output>", "</output_tail>", "</response_example>")
"""What stands in an answer once."""
_LOOK = 100
"""Characters of a message's end in which that is sought."""


def observed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, each under its own origin. What was attributed before is the same object again."""
    if any(message.calls for message in messages):
        return tuple(messages)
    found = list(messages)
    for at, (step, message) in enumerate(pairwise(messages), 1):
        if message.origin is Origin.USER and step.role == "assistant" and _is_answer(message, step):
            found[at] = message.as_tools
    return tuple(found)


def _is_answer(message: Message, step: Message) -> bool:
    """The message answers that step as a program would, and says nothing besides."""
    if message.role != "user" or len(message.parts) != 1 or type(message.parts[0]) is not Text:
        return False
    text = message.text
    if not text[-_LOOK:].rstrip().endswith(_ENDS) or not _BEGINS.match(text):
        return False
    if any(text.count(mark) > 1 for mark in _ONCE):  # somebody may speak between two that were pasted
        return False
    return "```" in step.text or text.lstrip().startswith("Please")
