"""What holds for every test: nobody's real archive is touched."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def _home_of_its_own(tmp_path_factory):
    """Each run has a home of its own; a test that looks into it sets one for itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDLINE_HOME", str(tmp_path_factory.mktemp("foldline-home")))
        yield
