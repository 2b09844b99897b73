"""Work done by a user without rights, for tests that run as root. Not for what root may do."""

from __future__ import annotations

import os
from collections.abc import Callable

NOBODY = 65_534


def as_nobody(work: Callable[[], object]) -> str:
    """What the work gives, or the error it raises, as it is written in Python."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            os.write(theirs, repr(work()).encode())
        except BaseException as error:
            os.write(theirs, repr(error).encode())
        finally:
            os._exit(0)
    os.close(theirs)
    os.waitpid(child, 0)
    with os.fdopen(ours) as pipe:
        return pipe.read()
