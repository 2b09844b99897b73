"""A validator accepts every valid request and catches every spoiled one, by the rule that was broken."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from foldline.validators import RULES, check

from .mutants import Spoil, Unfit, mutators, spoiled
from .valid import WRITERS, conversation

DIALECTS = tuple(WRITERS)
LISTS = {"openai-responses": "input", "gemini": "contents"}
AT_LEAST = 300
"""Mutants of each dialect that must all be caught."""

TRIES = 400
"""Seeds looked at for requests a mutator fits."""


def requests(dialect: str, count: int) -> Iterator[dict[str, Any]]:
    for seed in range(count):
        rng = random.Random(seed)
        yield conversation(dialect, rng, rng.randint(1, 6))


def mutants(dialect: str, spoil: Spoil, count: int) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []
    for seed, request in enumerate(requests(dialect, TRIES)):
        try:
            made.append(spoiled(request, spoil, random.Random(seed)))
        except Unfit:
            continue
        if len(made) == count:
            break
    return made


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_valid_request_is_accepted(dialect: str) -> None:
    for request in requests(dialect, 300):
        assert check(request, dialect) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_list_of_a_valid_request_is_accepted_alone(dialect: str) -> None:
    for request in requests(dialect, 100):
        assert check(request[LISTS.get(dialect, "messages")], dialect) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_mutant_is_caught_by_its_rule(dialect: str) -> None:
    table = list(mutators(dialect))
    each = -(-AT_LEAST // len(table)) + 1
    caught = 0
    for rule, spoil in table:
        made = mutants(dialect, spoil, each)
        assert len(made) == each, f"{spoil.__name__} fits too few requests"
        for mutant in made:
            found = {violation.rule for violation in check(mutant, dialect)}
            assert rule in found, f"{spoil.__name__} was not caught by {rule}: {sorted(found)}"
            caught += 1
    assert caught >= AT_LEAST


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_rule_has_a_mutant(dialect: str) -> None:
    assert {rule for rule, _ in mutators(dialect)} == set(RULES[dialect])
