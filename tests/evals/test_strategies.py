"""Every strategy: valid, within its budget, the same for the same chance; and the attacks seen for what they are."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.evals.sessions import coding

from foldline.evals import baselines
from foldline.evals import strategies as found
from foldline.evals.metrics import Ruler, World
from foldline.evals.splits import Session, faults, size, splits
from foldline.evals.strategies import adapted, placebo, strategies

ALL = strategies()
SIZED = [name for name, strategy in ALL.items() if strategy.sized and name != "foldline select"]
"""Selection keeps what its words ask for, also beyond a budget; its size is told."""
DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")


def ruler(number: int = 5, dialect: str = "anthropic") -> Ruler:
    session = Session("one", coding(number, 60, dialect).conversation())
    return Ruler(next(splits(session, 1, 3, 4_000)), World())


@pytest.fixture(scope="module")
def ruled() -> Ruler:
    return ruler()


def fold(name: str, on: Ruler, share: float, seed: int = 0):
    return ALL[name].start()(on.split.prefix, round(on.split.tokens * share), random.Random(seed))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ALL)
def test_every_view_is_valid(name, dialect):
    on = ruler(7, dialect)
    for share in (0.001, 0.1, 0.4):
        assert not faults(fold(name, on, share))


@pytest.mark.parametrize("name", SIZED)
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
def test_a_view_keeps_to_its_budget(name, share, ruled):
    assert size(fold(name, ruled, share).messages) <= ruled.split.tokens * share * 1.02


@pytest.mark.parametrize(
    ("made_by", "version"),
    [("evals.metrics, foldline.evals.units", found.RULER), ("compactor", found._inside())],
)
def test_the_version_of_a_row_is_that_of_all_code_that_makes_it(made_by, version):
    script = f"import sys, foldline.{made_by}; print(*(m.__file__ for n, m in sys.modules.items() if 'foldline' in n))"
    used = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    root = Path(found.foldline.__file__).parent
    known = {root / name for name in version}
    inside = {Path(path) for path in used if Path(path).name != "__init__.py"}
    assert root / "core" / "history" / "cycles.py" in inside
    assert [path for path in inside if not known & {path, *path.parents}] == []


VIEWS = """
from tests.evals.test_strategies import ALL, fold, ruler

on = ruler()
for name in ALL:
    print(name, fold(name, on, 0.2, seed=4))
"""


def test_the_same_chance_gives_the_same_views_in_another_process():
    """However that process orders its sets, and whatever its own chance is."""
    views = {
        subprocess.run(
            [sys.executable, "-c", VIEWS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    (shown,) = views
    assert all(f"{name} Conversation(".encode() in shown for name in ALL)


def test_random_messages_differ_with_the_seed(ruled):
    assert fold("random messages", ruled, 0.2, seed=1) != fold("random messages", ruled, 0.2, seed=2)


def test_the_bare_list_pleases_frr_alone(ruled):
    scores = ruled.score(fold("attack: identifiers", ruled, 0.25))
    assert scores["frr"] > 0.9
    assert scores["gfrr"] < 0.2
    assert scores["vas"] == scores["uir"] == 0.0


def test_identifiers_with_words_please_gfrr_and_explain_less_than_random_messages(ruled):
    attack = ruled.score(fold("attack: identifiers, words", ruled, 0.25))
    floor = ruled.score(fold("random messages", ruled, 0.25))
    assert attack["gfrr"] > 0.6
    assert attack["vas"] == attack["uir"] == 0.0
    assert attack["xf"] < floor["xf"]


def test_the_placebo_keeps_nothing_of_this_session(ruled):
    other = placebo(coding(6, 60).conversation())
    scores = ruled.score(other.start()(ruled.split.prefix, ruled.split.tokens // 4, random.Random(0)))
    assert scores["uir"] == 0.0
    assert scores["frr"] < 0.3  # what the made-up sessions have in common
    assert scores["valid"] == 1.0


def test_a_sliding_window_is_the_end_of_the_session(ruled):
    kept = fold("sliding window", ruled, 0.3).messages
    assert kept[-5:] == ruled.split.prefix.messages[-5:]


def test_head_and_tail_has_both(ruled):
    kept = fold("head + tail", ruled, 0.3).messages
    assert kept[0] == ruled.split.prefix.messages[0]
    assert kept[-1] == ruled.split.prefix.messages[-1]


def test_masking_keeps_every_step_when_there_is_room_for_masks(ruled):
    view = fold("old results masked", ruled, 0.7)
    steps = [message for message in ruled.split.prefix.messages if message.role == "assistant"]
    assert [message for message in view.messages if message.role == "assistant"] == steps


def test_a_plain_function_can_be_a_strategy(ruled):
    def last_words(messages, budget):
        assert isinstance(messages[0], dict)
        return messages[:1] if budget else messages

    view = adapted(last_words)(ruled.split.prefix, 100, random.Random(0))
    assert view.messages[0].text == ruled.split.prefix.messages[0].text
    assert len(view) == 1


def test_a_plain_function_may_answer_with_a_text(ruled):
    view = adapted(lambda messages, _: f"{len(messages)} messages")(ruled.split.prefix, 100, random.Random(0))
    assert view.messages[0].text == f"{len(ruled.split.prefix)} messages"
    assert not faults(view)


def summarised(messages, budget):
    """What an entry point names."""
    return f"{len(messages)} messages in {budget}"


def test_a_plug_in_is_found_by_its_entry_point(monkeypatch, ruled):
    point = EntryPoint("mine", "tests.evals.test_strategies:summarised", found.GROUP)
    monkeypatch.setattr(found, "entry_points", lambda group: [point] if group == found.GROUP else [])
    mine = strategies()["mine"]
    view = mine.start()(ruled.split.prefix, 500, random.Random(0))
    assert mine.kind == "plugin"
    assert view.messages[0].text.endswith("messages in 500")


def test_a_plug_in_is_another_one_when_its_code_has_changed(monkeypatch, tmp_path):
    (tmp_path / "changing.py").write_text("def fold(messages, budget):\n    return 'one'\n")
    monkeypatch.syspath_prepend(tmp_path)
    point = EntryPoint("mine", "changing:fold", found.GROUP)
    monkeypatch.setattr(found, "entry_points", lambda **_: [point])
    first = strategies(["mine"])["mine"].version
    assert strategies(["mine"])["mine"].version == first
    (tmp_path / "changing.py").write_text("def fold(messages, budget):\n    return 'two'\n")
    assert strategies(["mine"])["mine"].version != first


def test_only_plug_ins_that_are_asked_for_are_loaded(monkeypatch):
    points = [EntryPoint("broken", "tests.evals.nowhere:fold", found.GROUP)]
    monkeypatch.setattr(found, "entry_points", lambda **_: points)
    assert list(strategies(["sliding window"])) == ["sliding window"]
    assert "ModuleNotFoundError" in strategies(["broken"])["broken"].fault
    assert {"broken", "placebo", "foldline"} <= found.known()


def test_shuffled_lines_please_every_metric_and_deny_all_of_it(ruled):
    view = fold("attack: shuffled lines", ruled, 0.25)
    scores = ruled.score(view)
    assert scores["xf"] > 0.6
    assert scores["gfrr"] > 0.9
    assert scores["vas"] == scores["uir"] == 1.0
    assert view.messages[0].text.startswith(baselines.WITHDRAWN)
    assert scores["valid"] == 1.0
    assert size(view.messages) <= ruled.split.tokens * 0.25
    assert ALL["attack: shuffled lines"].kind == "attack"


def test_no_more_than_four_lines_stay_together():
    blocks = baselines._blocks([f"this is line number {number} of the agent" for number in range(10)], 1_000)
    assert [block.count("\n") + 1 for block in blocks] == [4, 4, 2]


def test_shuffled_lines_differ_with_the_seed(ruled):
    assert fold("attack: shuffled lines", ruled, 0.2, seed=1) != fold("attack: shuffled lines", ruled, 0.2, seed=2)
