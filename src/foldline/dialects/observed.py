"""What a shell answers an agent that has no tool calls: it comes under the user's name, and is a tool's word.

    messages ── observed ──> the same, the environment's answers under the origin TOOL

Such agents write their command into their text, and their program sends the answer as a user message. It is known by
the whole form that these programs give it, from beginning to end, behind a step of the model's, in a conversation in
which nothing is called otherwise. Where a person may have said a part of it, all of it stays that person's words: what
a tool said among them is the lesser harm. Transcripts of such agents say more: swe_agent.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from foldline.model import Message, Origin, Text

_RETURNED = re.compile(r"\s{0,8}<returncode>-?\d{1,5}</returncode>\s*(?:\Z|<(?:output|warning|exception)\b)")
_KILLED = "The last command <command>"
_ENDS = ("</returncode>", "</output>", "</output_tail>", "requiring interactive input.")
"""mini-swe-agent: how its answers begin, and how they end."""
_ILL_FORMED = re.compile(r"Please always provide EXACTLY ONE action in triple backticks, found \d{1,3} actions?\.")
"""What it says to a step that it cannot run."""
_PROMPT = re.compile(r"\(Open file: [^\n]{0,400}\)\s{1,4}\(Current directory: [^\n]{0,400}\)\s{1,4}bash-\$\s*\Z")
"""SWE-agent: what each answer ends with, …"""
_OBSERVES = re.compile(r"\s{0,8}OBSERVATION:[ \t]*\r?\n")
"""… or begins with, and …"""
_FIXED = re.compile(
    r"\s*(?:Your command ran successfully and did not produce any output\.|"
    r"Old environment output: \(\d{1,9} lines omitted\))\s*\Z"
)
"""… what it says in the place of an output."""
_EXECUTED = re.compile(r"\s{0,8}EXECUTION RESULT of \[[^\]\n]{1,80}\]:")
"""OpenHands."""
_ACTS = re.compile(r"(?:```|</[\w-]{1,40}>)\s*\Z")
"""How a step ends that wants something done."""
_LOOK = 1_000
"""Characters of a message's end in which an end is sought."""


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
    if _ILL_FORMED.match(text):
        return True
    if _RETURNED.match(text) or text.startswith(_KILLED):
        return text.rstrip().endswith(_ENDS) and "```" in step.text
    stated = (
        _OBSERVES.match(text)
        or _EXECUTED.match(text)
        or _FIXED.match(text)
        or _PROMPT.search(text, max(len(text) - _LOOK, 0))
    )
    return stated is not None and _ACTS.search(step.text[-_LOOK:]) is not None
