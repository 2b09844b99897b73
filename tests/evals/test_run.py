"""Whole runs over sessions made for the purpose: the same whatever the order, the cores and the cache."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evals.plugs import plug
from tests.evals.sessions import coding, transcript, write

from foldline.errors import FoldlineError, InputError
from foldline.evals import run as running
from foldline.evals import sample
from foldline.evals.cache import Cache
from foldline.evals.report import failures, summary
from foldline.evals.run import run
from foldline.evals.sample import labels
from foldline.evals.settings import Settings
from foldline.evals.splits import Place

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
    kept = sorted(tmp_path.rglob("*.json"))
    damage = ["{", "{}", "[]", "[" * 100_000, '{"tokens": "many"}', '{"xf": NaN}', '{"valid": true}', None]
    for number, path in enumerate(kept):
        one = json.loads(path.read_text())
        what = damage[number % len(damage)]
        if what is None:
            path.unlink()
            path.mkdir()
        elif what.startswith('{"'):
            path.write_text(json.dumps({**one, **json.loads(what)}))
        else:
            path.write_text(what)
    assert len(kept) > len(damage)
    assert run([folder], cached).rows == first.rows


def test_a_damaged_cost_is_measured_anew(folder, tmp_path):
    cached = replace(QUICK, names=("sliding window",), replays=True, cache=tmp_path)
    first = run([folder / "session-1.json"], cached)
    for damage in ({}, {"costs": 3}, {"costs": {}}, {"costs": {"sliding window": "little"}}):
        for path in tmp_path.rglob("*.json"):
            if "costs" in path.read_text() or path.read_text() == "{}":
                path.write_text(json.dumps(damage))
        assert run([folder / "session-1.json"], cached).replays == first.replays


def test_a_cache_that_cannot_be_written_is_told_once_and_all_is_measured(folder, first, tmp_path):
    (tmp_path / "file").write_text("no folder")
    found = run([folder], replace(QUICK, cache=tmp_path / "file"))
    assert found.rows == first.rows
    assert [note for note in found.notes if "cannot be kept" in note] == list(found.notes)
    assert len(found.notes) == 1


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


def test_a_session_and_its_copy_are_in_the_same_half(tmp_path):
    write(tmp_path, range(4), steps=36)
    for number in range(4):
        request = coding(number, 36).request()
        (tmp_path / f"part-{number}.json").write_text(json.dumps({**request, "messages": request["messages"][:-8]}))
    halves = [run([tmp_path], replace(QUICK, budgets=("10%",), half=half)).rows for half in ("first", "second")]
    one, other = ({row["session"].split("-")[1] for row in rows} for rows in halves)
    assert not one & other
    assert one | other == {"0.json", "1.json", "2.json", "3.json"}


def test_a_placebo_of_another_session_is_measured_anew(tmp_path):
    one, other, third = write(tmp_path, range(3), steps=36)
    cached = replace(QUICK, names=("placebo",), budgets=("10%",), cache=tmp_path / "cache")
    before = run([one, other], cached).rows
    after = run([one, third], cached).rows
    assert run([one, third], replace(cached, cache=None)).rows == after
    assert before != after


def test_a_placebo_needs_another_session_and_a_copy_is_none(tmp_path):
    whole = coding(1, 40).request()
    part = {**whole, "messages": whole["messages"][:-12]}
    for name, request in (("whole.json", whole), ("part.json", part)):
        (tmp_path / name).write_text(json.dumps(request))
    with pytest.raises(InputError, match="another session"):
        run([tmp_path], replace(QUICK, names=("placebo",)))
    assert "another session" in run([tmp_path], replace(QUICK, names=("placebo", "foldline"))).notes[0]


def test_a_copy_of_a_scored_session_gives_no_generic_text(tmp_path):
    for number in range(5):
        whole = coding(number, 40).request()
        for name, stop in (("whole", None), ("part", -12)):
            request = {**whole, "messages": whole["messages"][:stop]}
            (tmp_path / f"{name}-{number}.json").write_text(json.dumps(request))
    assert run([tmp_path], QUICK).held_out == ()


def test_a_session_and_its_copies_count_once_for_what_stands_everywhere():
    names = [{"copied"}, {"copied", "everywhere"}, {"copied"}, {"everywhere"}, {"everywhere"}, {"other"}]
    surveys = [sample.Survey(Place(Path(f"{at}")), f"{at}", names=frozenset(each)) for at, each in enumerate(names)]
    apart = {f"{at}": at for at in range(6)}
    assert sample._background(surveys, apart) == {"copied", "everywhere"}
    assert sample._background(surveys, {**apart, "1": 0, "2": 0}) == {"everywhere"}


def test_sessions_with_the_same_file_name_are_told_apart(tmp_path):
    for number in range(2):
        place = tmp_path / f"run-{number}"
        place.mkdir()
        (place / "trajectory.json").write_text(json.dumps(coding(number, 36).request()))
    found = run([tmp_path], replace(QUICK, budgets=("10%",)))
    assert {row["session"] for row in found.rows} == {"run-0/trajectory.json", "run-1/trajectory.json"}
    assert summary(found)[0].share.sessions == 2


def test_a_file_that_holds_several_sessions_counts_as_if_each_had_one_of_its_own(tmp_path):
    several = [coding(number, 36, "openai-chat").request()["messages"] for number in range(3)]
    apart, together = tmp_path / "apart", tmp_path / "together"
    for folder in (apart, together):
        folder.mkdir()
    for number, messages in enumerate(several):
        (apart / f"{number}.json").write_text(json.dumps(messages))
    (together / "all.json").write_text(json.dumps([{"traj": messages} for messages in several]))
    one, other = (run([folder], replace(QUICK, budgets=("10%",))) for folder in (apart, together))
    assert [{**row, "session": f"all.json#{row['session'].removesuffix('.json')}"} for row in one.rows] == [*other.rows]
    assert len({row["session"] for row in other.rows}) == 3


def test_a_list_of_short_sessions_decides_neither_what_is_scored_nor_what_stands_everywhere(tmp_path):
    write(tmp_path, range(10), steps=36)
    short = [{"traj": coding(number, 4, "openai-chat").request()["messages"]} for number in range(20, 60)]
    samples = []
    for several in (short[:1], short):
        (tmp_path / "short.json").write_text(json.dumps(several))
        surveys = [each for path in sorted(tmp_path.iterdir()) for each in sample.survey(path, QUICK)]
        samples.append(sample.sampled(surveys, QUICK))
    one, many = samples
    assert (many.scored, many.held, many.world) == (one.scored, one.held, one.world)
    assert len(many.short) == len(one.short) + 39


def test_a_path_is_shown_by_the_shortest_end_that_tells_it_apart():
    paths = [Path("/a/x.json"), Path("/a/b/y.json"), Path("/a/c/y.json"), Path("/c/c/y.json")]
    assert list(labels([*map(Place, paths)]).values()) == ["x.json", "b/y.json", "a/c/y.json", "c/c/y.json"]


def test_a_name_that_is_not_utf8_is_shown_with_replacements_and_stays_apart():
    paths = [Path(os.fsdecode(b"/a/caf\xe9.json")), Path(os.fsdecode(b"/a/caf\xe8.json")), Path("/a/b\udce9.json")]
    one, other, third = labels([*map(Place, paths)]).values()
    assert one.startswith("caf\ufffd.json")
    assert one != other
    assert third == "b\ufffd.json"


@pytest.mark.parametrize(
    ("name", "why"),
    [("raises", "ValueError: out of tea"), ("none", "gave back None"), ("number", "gave back 42"),
     ("numbers", "is int"), ("exits", "SystemExit: 3"), ("ends", "Odd: neither")],
)  # fmt: skip
def test_a_plug_in_that_fails_is_named_and_all_else_is_measured(name, why, folder, first, monkeypatch):
    plug(monkeypatch, name, "fine")
    found = run([folder], replace(QUICK, names=(*QUICK.names, name, "fine")))
    assert tuple(row for row in found.rows if row["strategy"] in QUICK.names or row["kind"] == "real") == first.rows
    (told,) = failures(found)
    assert told[0] == name
    assert why in told[1]
    assert told[2] == sum(row["strategy"] == "fine" for row in found.rows)


def test_a_plug_in_that_fails_in_one_session_is_measured_in_the_others(folder, monkeypatch):
    plug(monkeypatch, "odd")
    found = run([folder], replace(QUICK, names=("odd",), budgets=("10%",)))
    assert [row["session"] for row in found.rows if "failed" in row] == ["session-1.json"]
    assert summary(found)[0].cuts == len(found.rows) - 1


def test_what_failed_is_not_kept(folder, monkeypatch, tmp_path):
    plug(monkeypatch, "raises")
    run([folder], replace(QUICK, names=("raises",), budgets=("10%",), replays=True, chains=True, cache=tmp_path))
    assert not list(tmp_path.rglob("*.json"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_plug_in_that_ends_the_process_is_named_with_its_session(jobs, folder, monkeypatch):
    plug(monkeypatch, "dies")
    with pytest.raises(FoldlineError, match=r"'dies' in session-\d.json") as caught:
        run(sorted(folder.glob("session-[1-4].json")), replace(QUICK, names=("dies",), budgets=("10%",), jobs=jobs))
    assert jobs == 1 or "--jobs 1" in str(caught.value) or str(caught.value).count("'dies'") == 1


def test_a_plug_in_that_does_not_load_is_left_out_unless_it_was_asked_for(folder, monkeypatch):
    plug(monkeypatch, "missing")
    one = [folder / "session-1.json"]
    monkeypatch.setattr(running.strategies, "_baselines", list)  # all that is there is ours, to be quick
    found = run(one, replace(QUICK, names=()))
    assert {row["kind"] for row in found.rows} == {"ours"}
    assert "'missing' does not load" in found.notes[0]
    with pytest.raises(InputError, match="'missing' does not load: AttributeError"):
        run(one, replace(QUICK, names=("missing",)))


@pytest.mark.parametrize(
    ("how", "why"),
    [({"budgets": ("100%",)}, "less than the whole history"), ({"budgets": ("900k",)}, "less than the whole"),
     ({"budgets": ("own",)}, "no budget"), ({"budgets": ("real",)}, "compacted"), ({"cuts": 0}, "without cuts"),
     ({"half": "second"}, "has no second half"), ({"names": ("placebo",)}, "another session")],
)  # fmt: skip
def test_where_nothing_applies_the_reason_is_told(how, why, folder):
    with pytest.raises(InputError, match=why):
        run([folder / "session-1.json"], replace(QUICK, **how))


def test_a_budget_that_applies_nowhere_is_told_beside_those_that_do(folder):
    found = run([folder / "session-1.json"], replace(QUICK, budgets=("10%", "200%", "real")))
    assert found.notes == ("the budget 200% applies at no cut", "the budget real applies at no cut")


def test_a_folder_without_files_is_told_as_such(tmp_path):
    with pytest.raises(InputError, match="there is no file in"):
        run([tmp_path], QUICK)


@pytest.mark.parametrize("budget", ["9" * 400, "\u0663\u0663", "10%%", "-3", "1e3", ""])
def test_what_is_no_size_is_no_budget(budget):
    with pytest.raises(InputError, match="is no budget"):
        run([], replace(QUICK, budgets=(budget,)))
