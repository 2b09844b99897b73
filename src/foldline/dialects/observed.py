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

_BEGINS = re.compile(
    r"\s{0,8}(?:"
    r"(?P<ran><returncode>-?\d{1,5}</returncode>\s*(?:\Z|<(?:output|warning|exception)\b)|The last command <command>)|"
    r"(?P<malformed>Please always provide EXACTLY ONE action in triple backticks, found \d{1,3} actions?\.)|"
    r"(?P<stated>OBSERVATION:[ \t]*\r?\n|EXECUTION RESULT of \[[^\]\n]{1,80}\]:|"
    r"Your command ran successfully and did not produce any output\.\s*\Z|"
    r"Old environment output: \(\d{1,9} lines omitted\)\s*\Z))"
)
"""How answers begin: what mini-swe-agent ran, and what it could not run; what SWE-agent and OpenHands state."""
_ENDS = ("</returncode>", "</output>", "</output_tail>", "requiring interactive input.")
"""How those of mini-swe-agent end."""
_PROMPT = re.compile(r"\(Open file: [^\n]{0,400}\)\s{1,4}\(Current directory: [^\n]{0,400}\)\s{1,4}bash-\$\s*\Z")
"""What SWE-agent's end with."""
_ACTS = re.compile(r"(?:```|</[\w-]{1,40}>)\s*\Z")
"""How a step ends that wants something done."""
_LOOK = 1_000
"""Characters of a message's end in which an end is sought …"""
_BLANKS = 40
"""… and blanks that may stand behind one."""


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
    begins = _BEGINS.match(text)
    if begins is None and not text[-_BLANKS:].rstrip().endswith("bash-$"):
        return False
    kind = begins.lastgroup if begins else ""
    if kind == "malformed":
        return True
    if kind == "ran":
        return text[-_LOOK:].rstrip().endswith(_ENDS) and "```" in step.text
    stated = kind == "stated" or _PROMPT.search(text, max(len(text) - _LOOK, 0)) is not None
    return stated and _ACTS.search(step.text[-_LOOK:]) is not None
