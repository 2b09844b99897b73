"""Whole runs over sessions made for the purpose: the same whatever the order, the cores and the cache."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from tests.evals.sessions import transcript, write

from foldline.errors import InputError
from foldline.evals import run as running
from foldline.evals.cache import Cache
from foldline.evals.report import summary
from foldline.evals.run import Settings, run

QUICK = Settings(("10%", "real"), ("foldline", "sliding window", "random messages"), cuts=1, least=1_000, chains=False,
                 replays=False, jobs=1)  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("sessions")
    write(found, range(6), steps=36)
    (found / "folded.jsonl").write_text(transcript())
    return found


@pytest.fixture(scope="module")
def first(folder):
    return run([folder], QUICK)


def test_every_strategy_has_a_row_at_every_cut(first):
    at_ten = [row for row in first.rows if row["budget"] == "10%"]
    assert len(at_ten) == first.splits * 3
    assert {row["strategy"] for row in at_ten} == set(QUICK.names)


def test_a_real_compaction_stands_beside_ours_at_its_own_size(first):
    real = {row["strategy"]: row for row in first.rows if row["budget"] == "real"}
    assert set(real) == {*QUICK.names, "the agent's own summary"}
    assert real["foldline"]["asked"] == real["the agent's own summary"]["tokens"]


def test_neither_order_nor_cores_change_a_figure(folder, first):
    backwards = sorted(folder.iterdir(), reverse=True)
    again = run(backwards, replace(QUICK, jobs=2))
    assert again.rows == first.rows
    assert summary(again) == summary(first)


def test_the_seed_decides(folder, first):
    other = run([folder], replace(QUICK, seed=1))
    assert [row["at"] for row in other.rows] != [row["at"] for row in first.rows]
    assert run([folder], replace(QUICK, seed=1)).rows == other.rows


def test_what_was_measured_is_not_measured_again(folder, first, tmp_path, monkeypatch):
    cached = replace(QUICK, cache=tmp_path)
    assert run([folder], cached).rows == first.rows
    written = list(tmp_path.rglob("*.json"))
    assert len(written) == len(first.rows)
    one = json.loads(written[0].read_text())
    written[0].write_text(json.dumps({**one, "xf": 42.0}))
    again = run([folder], cached)
    assert sum(row["xf"] == 42.0 for row in again.rows) == 1


def test_a_damaged_row_is_measured_anew(folder, first, tmp_path):
    cached = replace(QUICK, cache=tmp_path)
    run([folder], cached)
    for path in tmp_path.rglob("*.json"):
        path.write_text("{")
    assert run([folder], cached).rows == first.rows


def test_a_session_given_twice_counts_once(folder, first, tmp_path):
    copy = tmp_path / "copy.json"
    copy.write_bytes((folder / "session-1.json").read_bytes())
    assert run([folder, copy], QUICK).sessions == first.sessions


def test_what_cannot_be_read_is_named_and_the_rest_measured(folder, first, tmp_path):
    bad = tmp_path / "bad.json"
    bad.write_text("<html>")
    found = run([folder, bad], QUICK)
    assert [name for name, _ in found.left_out] == ["bad.json"]
    assert found.rows == first.rows


def test_generic_text_comes_from_sessions_that_are_not_scored(folder, first):
    assert len(first.held_out) == 1
    assert first.held_out[0] not in {row["session"] for row in first.rows}


def test_chains_and_costs_are_measured_too(folder):
    found = run(
        [folder / "session-1.json"], replace(QUICK, names=("foldline",), budgets=("25%",), chains=True, replays=True)
    )
    assert {row["budget"] for row in found.rows} == {"25%", "1 folds", "3 folds", "5 folds"}
    assert {row["strategy"] for row in found.replays} == {"foldline", "foldline as it comes", "foldline thrifty"}
    assert all(0 < row["replay"] < 1.2 for row in found.replays)


def test_nothing_to_measure_is_an_error_that_says_why(folder):
    with pytest.raises(InputError, match="tokens"):
        run([folder], replace(QUICK, least=10_000_000))


@pytest.mark.parametrize(("wrong", "what"), [({"names": ("nope",)}, "strategy"), ({"budgets": ("lots",)}, "budget")])
def test_what_does_not_exist_is_refused_before_any_work(wrong, what, monkeypatch):
    monkeypatch.setattr(running, "files", lambda _: pytest.fail("began to work"))
    with pytest.raises(InputError, match=what):
        run([], replace(QUICK, **wrong))


def test_without_a_folder_nothing_is_kept():
    cache = Cache(None)
    cache.put({"xf": 1.0}, "key")
    assert cache.get("key") is None


def test_the_halves_share_no_session_and_are_all_of_them(folder, first):
    one, other = (run([folder], replace(QUICK, half=half)) for half in ("first", "second"))
    sessions = [{row["session"] for row in found.rows} for found in (first, one, other)]
    assert sessions[1] | sessions[2] == sessions[0]
    assert not sessions[1] & sessions[2]
    assert one.rows == tuple(row for row in first.rows if row["session"] in sessions[1])
