"""Exit codes, and which error ends with which. Nothing is printed here."""

from __future__ import annotations

from foldline.errors import FoldlineError, InputError

FINE = 0
VIOLATIONS = 1
USAGE = 2
UNREADABLE = 3
OTHER = 4
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
BROKEN_PIPE = 141  # 128 + SIGPIPE: whoever read our output has gone, which is no fault of ours

DOORS = ("mcp", "proxy", "run")
"""Commands that read no FILE: what they refuse is an input only where it is a file, such as a configuration."""

HELP = """\
\b
Exit codes:
  0    fine
  1    violations found (validate), or trouble (verify)
  2    wrong usage
  3    the input, or some of it, cannot be read
  4    it cannot be made to fit, cannot be written, or anything else
  130  interrupted
  141  whoever read the output has gone
"""


def code_of(error: BaseException, command: str = "") -> int:
    """The exit code an error of a command ends with."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    if not isinstance(error, InputError) or (command in DOORS and not error.source):
        return OTHER
    return UNREADABLE


class CannotWrite(FoldlineError):
    """The output cannot be written. The message says why, and what was left untouched."""
