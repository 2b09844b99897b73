"""Fifty folds in a row: nothing goes uncovered, no rule of the user's is lost, every view is one its provider accepts.

Coverage is shown by content: every message carries a mark of its own, and each mark is found in the view or in what the
archive expands the checkpoint to. FOLDLINE_SESSIONS sets how many sessions are played (8; a thousand at night).
"""

import json
import os
import random
import re
from collections import Counter

import pytest

from foldline import Budget, Compactor, MemoryArchive, validators
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.prune import PruneSettings
from foldline.core.said.sentences import bears_rule
from foldline.testing import SUMMARY, FakeCaller, Session

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
WAYS = ("whole", "fed back")
SESSIONS = int(os.environ.get("FOLDLINE_SESSIONS", "8"))
FOLDS = 50
BUDGET = Budget(window=24_000, reserve=2_000)
MARK, CALL = re.compile(r"mark-\d+-[0-9a-f]{10}"), re.compile(r"cat (mark-\d+-[0-9a-f]{10})")

ODD_RULES = (
    "Tabs make our linter cry; four blanks are what it likes.",
    "Legal reads every line of LICENSE, so that file is theirs.",
    "Anyone who edits schema.sql by hand buys the team cake.",
    "Port 8081 belongs to the neighbours.",
    "I sleep better when commits are small.",
    "Our customers pay in cents: floats and money are strangers here.",
    "The word 'simply' makes our writers wince.",
    "Production has feelings; it hears about changes on Tuesdays.",
    "Everything public wears a docstring.",
    "Pretend the network is gone while the tests run.",
    "My colleague Ruth owns the billing folder.",
    "We sign our commits, all of them.",
    "Green builds first, opinions later.",
    "There is one logger, and its name is audit.",
    "Dates are spoken in ISO around here.",
    "The vendor folder is somebody else's garden.",
    "Two reviewers see each migration.",
    "Think of Windows users when paths are joined.",
    "Release notes speak Dutch.",
    "Kies hier altijd voor de kortste naam van een functie.",
    "Los nombres de las tablas van en singular.",
    "変数名は英語でお願いします。",
    "数据库的密码由运维保管。",
    "Les dépendances nouvelles passent par moi.",
    "Испытания идут на второй машине.",
    "Testy biegną po zmroku.",
    "Kod yorumları Türkçe olsun.",
    "Die Schnittstelle bleibt, wie sie ist, bis der Kunde anruft.",
    "Colours are spelled with a u.",
    "A retry costs money, and three of them cost my patience.",
    "Whoever logs a token writes the post-mortem.",
    "Caches are warm at nine; before that we leave the servers in peace.",
)


def split_over_lines(rule):
    words = rule.split(" ")
    half = len(words) // 2
    return " ".join(words[:half]) + "\n" + " ".join(words[half:]) if half else rule


def in_the_middle(rule, rng):
    before = " ".join(f"Then the page {number} came up and looked fine." for number in range(rng.randint(3, 8)))
    return f"{before} {rule} {before.replace('page', 'form')}"


class Play:
    """A session that goes on until it was folded fifty times. Every message has its mark."""

    def __init__(self, seed, dialect, way):
        self.rng, self.dialect, self.way = random.Random(f"{seed} {dialect} {way}"), dialect, way
        self.archive = MemoryArchive()
        self.maker = Compactor(
            BUDGET,
            FakeCaller([SUMMARY]) if seed % 3 == 1 else None,
            archive=self.archive,
            prune=PruneSettings() if seed % 10 == 4 else PruneSettings(worthwhile=1 << 40),
            meter=Meter(Estimator()),
            secret=b"s",
        )
        model = "claude-x" if dialect == "anthropic" else "m"
        self.session = Session(dialect, system="Mark zero: be kind.", model=model)
        self.marks, self.rules, self.waiting = [], [], list(self.rng.sample(ODD_RULES, 30))
        self.slot = {"gemini": "contents", "openai-responses": "input"}.get(dialect, "messages")
        self.shown, self.taken = [], 0
        self.last, self.folds, self.generation = "", 0, 0

    def mark(self):
        self.marks.append(f"mark-{len(self.marks)}-{self.rng.getrandbits(40):010x}")
        return self.marks[-1]

    def speak(self):
        """The user says something; often enough a rule, put in an odd way."""
        text = f"Look at {self.mark()}, will you."
        if self.waiting and self.rng.random() < 0.7:
            rule = self.waiting.pop()
            shape = self.rng.randrange(3)
            said = (rule, split_over_lines(rule), in_the_middle(rule, self.rng))[shape]
            self.rules.append(said.split("\n")[0] if shape == 1 else rule)
            if shape == 1:
                self.rules.append(said.split("\n")[-1])
            text = f"{text} {said}"
        self.session.user(text)

    def work(self):
        """A step with one or two calls, and sometimes a word after it."""
        calls = []
        for _ in range(self.rng.choice((1, 1, 2))):
            output = f"{self.mark()}\n" + f"line {self.rng.random()} of output\n" * self.rng.randint(60, 300)
            calls.append(("Bash", json.dumps({"command": f"cat {self.mark()}"}), output))
        self.session.tools(*calls, text=self.mark() if self.rng.random() < 0.5 else "")
        if self.rng.random() < 0.3:
            self.session.assistant(f"Done with {self.mark()}.")

    def turn(self):
        if self.rng.random() < 0.3 or not self.session.messages:
            self.speak()
        self.work()
        fitted = self.maker.fit(self.request())
        self.judge(fitted)
        self.shown, self.taken = fitted.messages, len(self.session.request()[self.slot])
        return fitted

    def request(self):
        """The whole history again; or the last view, and what is new."""
        whole = self.session.request()
        if self.way == "whole":
            return whole
        return {**whole, self.slot: [*self.shown, *whole[self.slot][self.taken :]]}

    def judge(self, fitted):
        assert validators.check(fitted.messages, self.dialect) == []
        assert fitted.receipt.tokens_after <= BUDGET.room
        text = "\n".join(json.dumps(message, ensure_ascii=False) for message in fitted.messages)
        if not fitted.receipt.rebased:
            assert text.startswith(self.last), "the view does not extend the last one, and does not say so"
        self.last = text
        if fitted.receipt.generation > self.generation:
            self.generation, self.folds = fitted.receipt.generation, self.folds + 1
            self.covered(text, fitted.checkpoint)
            assert "summary" not in dict(fitted.receipt.left_out), "an extract chosen for its room was cut once more"
        self.obeyed(text)

    def covered(self, shown, checkpoint):
        """Every mark is in the tail or in the lineage; and the lineage holds each message once."""
        expanded = self.archive.expand(checkpoint.ref)
        assert len(expanded) == checkpoint.stop
        told = "\n".join(message.raw.decode() for message in expanded)
        assert set(self.marks) - {*MARK.findall(shown), *MARK.findall(told)} == set(), f"after {self.folds} folds"
        calls = Counter(CALL.findall(told))
        assert [mark for mark, times in calls.items() if times > 1] == [], f"after {self.folds} folds"
        said = [self.marks.index(MARK.findall(fact.text)[0]) for fact in checkpoint.facts.of("user")]
        assert said == sorted(set(said)), "the user's words are out of order, or told twice"

    def obeyed(self, shown):
        plain = shown.replace("\\n", "\n").replace('\\"', '"')
        lost = [rule for rule in self.rules if rule not in plain]
        assert lost == [], f"rules lost after {self.folds} folds of {len(self.rules)}"


CASES = [(seed, DIALECTS[seed % 4], WAYS[seed // 4 % 2]) for seed in range(SESSIONS)]


def test_no_word_list_knows_the_odd_rules():
    assert len(ODD_RULES) >= 30
    known = [rule for rule in ODD_RULES if bears_rule(rule)]
    assert len(known) <= len(ODD_RULES) // 6, known


@pytest.mark.parametrize(("seed", "dialect", "way"), CASES)
def test_fifty_folds_leave_nothing_uncovered_and_lose_no_rule(seed, dialect, way):
    play = Play(seed, dialect, way)
    while play.folds < FOLDS:
        play.turn()
    assert len(play.rules) >= 30
