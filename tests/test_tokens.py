"""Counters: exact where splintr-rs is there, estimated and said so where it is not; and the families' priors."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.counting.estimate import Estimator
from foldline.tokens import PRIORS, UNKNOWN, best_counter, meter_for, prior_for

WITHOUT_SPLINTR = """
import json, sys
sys.modules["splintr"] = None
from foldline.core.counting.meter import Usage
from foldline.model import Conversation, Message, Origin, Text
from foldline.tokens import best_counter, meter_for
counter, meter = best_counter(), meter_for("gpt-5")
talk = Conversation("x", (Message("user", Origin.USER, (Text("How long is a piece of string? " * 50),)),))
before = meter.count(talk)
lesson = meter.learn(talk, Usage(400))
after = meter.count(talk)
codes = [notice.code for notice in counter.notices]
print(json.dumps([counter.name, codes, before.low, before.high, lesson.anchored, after.tokens]))
"""
CORE_ALONE = """
import importlib, json, pkgutil, sys
import foldline.core
names = [module.name for module in pkgutil.walk_packages(foldline.core.__path__, "foldline.core.")]
for name in names:
    importlib.import_module(name)
print(json.dumps([names, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def run(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_known_texts_have_their_published_counts():
    count = best_counter().count
    assert [count(""), count("hello world"), count("안녕하세요"), count("<|endoftext|>")] == [0, 2, 2, 7]


@given(st.text())
def test_any_text_can_be_counted_lone_surrogates_included(text):
    assert best_counter().count(text) <= 4 * len(text)


@given(st.text(st.characters(categories=["Cs"]), min_size=1))
def test_a_lone_surrogate_counts_like_a_question_mark(text):
    assert best_counter().count(text) == best_counter().count("?" * len(text))


@pytest.mark.parametrize(
    ("model", "name"),
    [
        *((model, "o200k") for model in ("", "gpt-5", "gpt-4o", "gpt-4.1", "claude-opus-5")),
        *((model, "cl100k") for model in ("gpt-4", "openai/gpt-4-turbo", "gpt-3.5-turbo-16k", "azure/gpt-35")),
    ],
)
def test_openai_models_are_counted_with_their_own_vocabulary(model, name):
    assert best_counter(model).name == name


@pytest.mark.parametrize(
    ("model", "ratio"),
    [
        ("gpt-5-mini", 1.0),
        ("openai:o3", 1.0),
        ("o4-mini", 1.0),
        ("claude-3-5-sonnet-20241022", 1.24),
        ("claude-3-opus-20240229", 1.24),
        ("anthropic:claude-sonnet-4-5", 1.24),
        ("claude-sonnet-4-20250514", 1.24),
        ("claude-opus-4-1-20250805", 1.24),
        ("us.anthropic.claude-opus-4-6-v1", 1.24),
        ("claude-opus-4-7", 1.55),
        ("claude-opus-4.8-fast", 1.55),
        ("anthropic/claude-sonnet-5", 1.55),
        ("claude-fable-5-1", 1.55),
        ("claude-haiku-5.5", 1.55),
        ("models/gemini-2.5-pro", 1.15),
        ("ollama/qwen3:8b", 1.08),
        ("deepseek-v4-pro", 1.04),
        ("kimi-k2", 1.0),
        ("something-new", UNKNOWN.ratio),
        ("", UNKNOWN.ratio),
    ],
)
def test_each_family_has_its_prior(model, ratio):
    assert prior_for(model).ratio == meter_for(model).ratio == ratio


def test_every_prior_gives_its_reason():
    assert all(prior.reason and 0 < prior.spread < 1 for _, prior in PRIORS)
    assert UNKNOWN.spread == max(prior.spread for prior in (UNKNOWN, *(prior for _, prior in PRIORS)))


def test_a_meter_takes_another_counter():
    assert meter_for("gpt-5", Estimator()).counter == Estimator()


def test_without_splintr_everything_works_estimated_and_says_so():
    name, notices, low, high, anchored, tokens = run(WITHOUT_SPLINTR)
    assert (name, notices, anchored, tokens) == ("estimate", ["tokens-estimated"], True, 400)
    assert low <= 408 <= high  # eight tokens a sentence, fifty of them, and the framing


def test_the_core_needs_the_standard_library_alone():
    names, modules = run(CORE_ALONE)
    assert {"foldline.core.counting.meter", "foldline.core.engine", "foldline.core.words.text"} <= set(names)
    assert not {"msgspec", "splintr", "click", "rich", "zstandard"} & set(modules)
