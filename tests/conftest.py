"""What holds for every test: nobody's real archive is touched, and a busy machine is no failure."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

if not os.environ.get("CI"):  # there, Hypothesis has a profile of its own, without a deadline too
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")


@pytest.fixture(autouse=True, scope="session")
def _home_of_its_own(tmp_path_factory):
    """Each run has a home of its own; a test that looks into it sets one for itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDLINE_HOME", str(tmp_path_factory.mktemp("foldline-home")))
        yield
