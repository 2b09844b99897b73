"""What a shell command that succeeded did to files, where there is no doubt.

    command ── touches ──> Touch, Touch, …

Plain commands are understood: words, quotes, `&&`, `;`, `|`, redirections, heredocs, a leading `cd`. A loop, a
condition, a subshell or a substitution makes the whole command uncertain; a variable or a glob, the simple command it
stands in; `||` and `&`, the commands they join. Of those nothing is said. One pass, whatever the command.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

LONGEST = 4_000
"""Characters of a command that are looked at, heredocs aside; longer ones are scripts."""
_TOKEN = re.compile(
    r"(?P<space>(?:[ \t\r]|\\\n)+)"
    r"|(?P<arrow>\d?(?:&>>?|>>|>\||>&|>|<&|<<<|<))"
    r"|(?P<joint>&&|\|\||\|&|[;&|\n])"
    r"|(?P<single>'[^']*')"
    r"|(?P<double>\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<escape>\\.)"
    r"|(?P<bare>[^\s'\"\\;&|<>]+)",
    re.S,
)
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")
_MANY = frozenset("$*?[]{}~")
"""Outside quotes, these may make a word stand for others."""
_SCRIPTS = frozenset(
    "if then else elif fi for while until do done case esac function select { } [[ ! exit return exec eval".split()
)
"""A command that begins with one of these is part of a script: what ran is not certain."""
_STEPS = frozenset({"cd", "pushd", "popd"})
_READERS = {"cat": "", "head": "nc", "tail": "nc", "less": "", "more": "", "nl": "bdfhilnsvw", "wc": "", "bat": "rlHm"}
"""Commands that show files, and the letters of those of their options that take the next word."""
_PLAIN_FLAGS = {"rm": "rRfvd", "mv": "fv", "cp": "rRafpvL", "touch": "", "tee": "a", "git rm": "rfq", "git mv": "fv"}
"""Commands that change files, and the options that do not change what is meant by their words."""


class Touch(NamedTuple):
    """Something done to a file: read, written, edited, deleted, or moved `to` elsewhere."""

    action: str
    path: str
    to: str = ""


class _Word(NamedTuple):
    """`sure`: it stands for itself. `sign`: it is an arrow or a joint, no word."""

    text: str
    sure: bool = True
    sign: str = ""


class _Uncertain(Exception):
    """The command is not one that can be read."""


def touches(command: str, folder: str = "") -> Iterator[Touch]:
    """What the command, run in `folder`, did to which files, as far as certain."""
    try:
        words = list(_words(_without_heredocs(command)))
    except _Uncertain:
        return
    chains = _split(words, {";", "\n"})
    for number, chain in enumerate(chains):
        simple = _split(chain, {"&&", "||", "|", "|&", "&"})
        if any(commands and commands[0].text in _SCRIPTS for commands in simple):
            return
        conditional = {word.text for word in chain if word.sign == "joint"}
        doubtful = bool(conditional & {"||", "&"})
        piped = bool(conditional & {"|", "|&"})
        for nth, command_words in enumerate(simple):
            if command_words[0].text in _STEPS:
                step = _texts(command_words)
                if doubtful or piped or not step or len(step) != 2 or step[0] != "cd" or step[1] == "-":
                    return  # from here on nobody knows where it runs
                folder = posixpath.join(folder, step[1])
