"""What a shell answers an agent that has no tool calls: it comes under the user's name, and is a tool's word.

    messages ── observed ──> the same, the environment's answers under the origin TOOL

Such agents write their command into their text, and their program sends the answer as a user message. It is known by
the form that these programs give it, and stands behind a step of the model's that called nothing. Whoever imitates the
form is taken for a tool, and gains nothing by it. What the user says in between stays the user's. Transcripts of such
agents say more: swe_agent.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from foldline.model import Message, Origin

_ANSWERS = re.compile(
    r"\s{0,8}(?:<returncode>-?\d{1,5}</returncode>|EXECUTION RESULT of \[[^\]\n]{1,80}\]:|"
    r"The last command <command>|Please always provide EXACTLY ONE action\b)"
)
"""How an answer begins that nobody types: mini-swe-agent's, OpenHands' …"""
_PROMPT = re.compile(r"\(Current directory: [^\n]{0,400}\)\s{1,4}bash-\$\s*\Z")
"""… or ends: SWE-agent's."""
_OBSERVES = re.compile(r"\s{0,8}O(?:BSERVATION|bservation)s?:")
"""How one begins that somebody might type, …"""
_ACTS = re.compile(r"(?:```|</[\w-]{1,40}>)\s*\Z|^Action(?: Input)?:[^\n]*(?:\n[^\n]*){0,40}\Z", re.M)
"""… which is one only behind a step that ends with something to be done."""
_LOOK = 2_000
"""Characters of a message's end in which that is sought."""


def observed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages, each under its own origin. What was attributed before is the same object again."""
    found = list(messages)
    for at, (step, message) in enumerate(pairwise(messages), 1):
        if message.origin is Origin.USER and step.role == "assistant" and not step.calls and _is_answer(message, step):
            found[at] = message.as_tools
    return tuple(found)


def _is_answer(message: Message, step: Message) -> bool:
    """The message answers that step as a program would."""
    if message.role != "user" or message.results:
        return False
    text = message.text
    if _ANSWERS.match(text) or _PROMPT.search(text, max(len(text) - _LOOK, 0)):
        return True
    return _OBSERVES.match(text) is not None and _ACTS.search(step.text[-_LOOK:]) is not None
