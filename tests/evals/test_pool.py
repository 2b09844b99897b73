"""Processes that measure: what they do is in test_run.py, how they end is here."""

from __future__ import annotations

import subprocess
import sys

import pytest

STUBBORN = """
import time
from foldline.evals.pool import Pool

def work(stays):
    while stays:
        try:
            time.sleep(60)
        except BaseException:
            pass
    {does}

with Pool(2) as pool:
    pool.gathered(work, [(True,), (False,)])
"""


@pytest.mark.parametrize("does", ["raise ValueError('mine')", "raise KeyboardInterrupt('mine')"])
def test_the_first_error_ends_what_never_would(does):
    script = STUBBORN.format(does=does)
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert ended.returncode
    assert "mine" in ended.stderr
