"""Work that nobody has to wait for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from foldline.callers.apart import apart


def test_what_is_done_there_can_be_had():
    assert apart(divmod, 7, 2).result(5) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        apart(divmod, 7, 0).result(5)


def test_a_program_that_is_over_does_not_wait_for_it():
    program = "import time; from foldline.callers.apart import apart; apart(time.sleep, 300)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
