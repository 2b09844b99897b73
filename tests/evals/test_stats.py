"""Means and intervals, computed by hand where that can be done."""

from __future__ import annotations

import pytest

from foldline.evals.stats import difference, figure


def rows(**sessions: list[float | None]) -> list[dict]:
    return [{"session": name, "xf": value} for name, values in sessions.items() for value in values]


def test_a_session_counts_once_however_many_cuts_it_has():
    found = figure(rows(a=[0.0, 0.0, 0.0], b=[1.0]), "xf")
    assert found.mean == 0.5
    assert (found.low, found.high, found.sessions) == (0.0, 1.0, 2)


def test_where_all_agree_the_interval_is_a_point():
    assert figure(rows(a=[0.5], b=[0.5], c=[0.5]), "xf")[:3] == (0.5, 0.5, 0.5)


def test_what_has_no_value_does_not_count():
    assert figure(rows(a=[None, 0.5], b=[None]), "xf").sessions == 1
    assert figure(rows(a=[None]), "xf") is None


def test_the_order_of_rows_does_not_matter():
    given = rows(a=[0.1, 0.3], b=[0.9], c=[0.4, 0.5, 0.6], d=[0.0])
    assert figure(given, "xf") == figure(given[::-1], "xf")


def test_the_interval_holds_the_mean_and_narrows_with_sessions():
    few = figure(rows(**{f"s{n}": [n % 2] for n in range(8)}), "xf")
    many = figure(rows(**{f"s{n}": [n % 2] for n in range(80)}), "xf")
    assert few.low <= few.mean <= few.high
    assert many.high - many.low < few.high - few.low


def test_a_difference_is_taken_session_by_session():
    found = difference(rows(a=[0.5], b=[0.9]), rows(a=[0.4], b=[0.8], c=[0.0]), "xf")
    assert round(found.mean, 9) == round(found.low, 9) == round(found.high, 9) == 0.1
    assert found.sessions == 2


def test_one_session_has_no_interval():
    found = figure(rows(a=[0.2, 0.4]), "xf")
    assert found == (pytest.approx(0.3), None, None, 1)
    assert found.half is None
    assert difference(rows(a=[0.5]), rows(a=[0.4]), "xf").low is None
