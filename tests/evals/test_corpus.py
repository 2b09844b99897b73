"""A few real sessions, where they are: everything valid, the attacks seen through, real summaries beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from foldline.evals.report import summary
from foldline.evals.run import run
from foldline.evals.settings import Settings

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FILES = sorted(CORPUS.glob("claude-code/cli-0*.gz"))

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif(not FILES, reason=f"no real sessions in {CORPUS}"),
]


@pytest.fixture(scope="module")
def cells():
    found = run(FILES, Settings(("10%", "real"), cuts=1, chains=False, replays=False, jobs=2))
    return {(cell.budget, cell.strategy): cell for cell in summary(found)}


def test_every_view_of_every_strategy_is_valid(cells):
    assert {cell.figures["valid"].mean for cell in cells.values()} == {1.0}


def test_no_view_is_larger_than_was_asked(cells):
    for (budget, name), cell in cells.items():
        if budget == "10%" and name != "foldline select":
            assert cell.share.mean <= 0.101


def test_the_attacks_explain_less_than_our_views(cells):
    ours = cells["10%", "foldline"].figures["xf"].mean
    for name in ("attack: identifiers", "attack: identifiers, words", "placebo"):
        assert cells["10%", name].figures["xf"].mean < ours


def test_real_summaries_are_scored_at_their_own_size(cells):
    real = cells["real", "the agent's own summary"]
    assert 0.01 < real.share.mean < 0.10
    assert cells["real", "foldline"].share.mean <= real.share.mean * 1.02
