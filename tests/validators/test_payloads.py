"""Real demands and real refusals: the validators side with the providers."""

from __future__ import annotations

import pytest

from foldline.errors import UnknownDialect
from foldline.validators import RULES, Violation, check

from .payloads import ACCEPTED, REJECTED, Case


def name(case: Case) -> str:
    return f"{case.dialect}: {case.name}"


@pytest.mark.parametrize("case", ACCEPTED, ids=name)
def test_what_a_provider_accepts_is_accepted(case: Case) -> None:
    assert check(case.payload, case.dialect) == []


@pytest.mark.parametrize("case", REJECTED, ids=name)
def test_what_a_provider_refused_is_refused(case: Case) -> None:
    assert (case.rule, case.message) in {(found.rule, found.message) for found in check(case.payload, case.dialect)}


@pytest.mark.parametrize("case", REJECTED, ids=name)
def test_a_refusal_is_not_a_cascade(case: Case) -> None:
    """One fault gives its own violation and at most two that follow from it."""
    assert len(check(case.payload, case.dialect)) <= 3


def test_there_are_enough_payloads() -> None:
    assert len(ACCEPTED) >= 12
    assert len(REJECTED) >= 25
    assert all(case.says and case.source for case in REJECTED)


def test_rules_about_the_request_need_the_request() -> None:
    whole = next(case.payload for case in REJECTED if case.rule == "thinking-first")
    assert check(whole, "anthropic") != []
    assert check(whole["messages"], "anthropic") == []


def test_a_violation_reads_as_place_text_and_rule() -> None:
    violation = Violation("role", 3, "messages[3].role", "must be user or assistant")
    assert str(violation) == "messages[3].role: must be user or assistant [role]"


def test_an_unknown_dialect_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownDialect, match=r"no validator for 'cohere'.*anthropic, openai-chat"):
        check([], "cohere")


def test_every_rule_says_what_it_demands() -> None:
    for rules in RULES.values():
        assert all(rule == rule.lower() and " " not in rule for rule in rules)
        assert all(text.endswith(".") and "\n" not in text for text in rules.values())
