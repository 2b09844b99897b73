"""Folding does not feed on itself: a fold leaves room for the next turns, and where it cannot, that is said and no
model is asked again and again. With FOLDLINE_SESSIONS at a thousand, as at night, every crowded window is played."""

import json
import os
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.policy import MAX_IN_ROW, MIN_NEW, PAYBACK
from foldline.core.prune import PruneSettings
from foldline.errors import CannotFit
from foldline.testing import SUMMARY, FakeCaller, Session

WORDS = "These words must stay as they are. "
LINE = "one more line of what the tool said\n"
METER = Meter(Estimator())
WORDS_TOKENS, LINE_TOKENS = METER.text(WORDS * 100) / 100, METER.text(LINE * 100) / 100


class Played:
    """A session turn by turn, and what each turn did: (tokens of the whole history, receipt)."""

    def __init__(self, room, way="whole", caller=None, **more):
        self.budget = Budget(window=room + 500, reserve=500)
        caller = FakeCaller([SUMMARY]) if caller is None else caller or None
        self.maker = Compactor(self.budget, caller, meter=Meter(Estimator()), secret=b"s", **more)
        self.session, self.way = Session(system="Be kind."), way
        self.shown, self.taken, self.turns, self.pins = [], 0, [], ()

    def user(self, share):
        times = round(share * self.budget.room / WORDS_TOKENS)
        self.session.user(f"Request {len(self.session.messages)}. Never touch legacy.py. {WORDS * times}")
        return self

    def work(self, share):
        """A tool says so much, as a share of the room."""
        number = len(self.session.messages)
        output = f"{number}\n" + LINE * round(share * self.budget.room / LINE_TOKENS)
        self.session.tools(("Bash", json.dumps({"command": f"cat {number}.txt"}), output))
        request = whole = self.session.request()
        if self.way == "fed back":
            request = {**whole, "messages": [*self.shown, *whole["messages"][self.taken :]]}
        fitted = self.maker.fit(request, pin=self.pins)
        self.shown, self.taken = fitted.messages, len(whole["messages"])
        grown = METER.count(self.session.conversation()).tokens
        self.turns.append((grown, fitted.receipt))
        assert fitted.receipt.tokens_after <= self.budget.room
        return self

    @property
    def folds(self):
        return [(grown, receipt) for grown, receipt in self.turns if receipt.action == "compact"]

    @property
    def storms(self):
        return [receipt for _, receipt in self.folds if "storm" in [notice.code for notice in receipt.notices]]

    @property
    def crowded(self):
        """Folds that are one too many: so many came before them in a tenth of the room's growth."""
        tenth = MIN_NEW * self.budget.room
        pairs = zip(self.folds, self.folds[MAX_IN_ROW:], strict=False)
        return [receipt for (first, _), (last, receipt) in pairs if last - first < tenth]


events = st.one_of(
    st.tuples(st.just("user"), st.sampled_from([0.0, 0.02, 0.1, 0.3, 0.6, 0.8, 0.88, 0.93])),
    st.tuples(st.just("work"), st.sampled_from([0.005, 0.01, 0.02, 0.05, 0.15, 0.4])),
    st.tuples(st.just("work"), st.sampled_from([0.005, 0.01, 0.02])),
)


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([3_000, 12_000]),
    st.sampled_from(["whole", "fed back"]),
    st.lists(st.tuples(events, st.integers(1, 12)), min_size=2, max_size=7),
)
@example(12_000, "fed back", [(("user", 0.8), 1), (("work", 0.02), 20)])
def test_of_three_folds_in_a_tenth_of_the_room_the_third_is_told_and_asks_nobody(room, way, shape):
    played = Played(room, way).user(0.01)
    for (what, share), times in shape:
        for _ in range(times if what == "work" else 1):
            getattr(played, what)(share)
    for receipt in played.crowded:
        assert "storm" in [notice.code for notice in receipt.notices]
        assert receipt.attempts == ()


@settings(max_examples=8, deadline=None)
@given(
    st.sampled_from(["whole", "fed back"]),
    st.sampled_from([0.0, 0.3, 0.5, 0.7, 0.8, 0.85]),
    st.lists(st.sampled_from([0.01, 0.03, 0.05]), min_size=10, max_size=30),
)
def test_after_a_fold_there_is_room_for_a_tenth_more(way, share, steps):
    played = Played(20_000, way).user(share)
    for step in steps:
        played.work(step)
    assert played.storms == []
    assert all(receipt.tokens_after <= 0.9 * played.budget.room for _, receipt in played.folds)
    assert all("user-clamped" not in [notice.code for notice in receipt.notices] for _, receipt in played.turns)


@pytest.mark.parametrize(("share", "most"), [(0.5, 3), (0.8, 7), (0.85, 10)])
def test_a_hundred_turns_of_one_percent_fold_seldom(share, most):
    played = Played(20_000).user(share)
    for _ in range(100):
        played.work(0.01)
    assert len(played.folds) <= most


@pytest.mark.parametrize("share", [0.9, 0.95])
def test_a_user_message_that_fits_stays_whole_however_little_room_it_leaves(share):
    played = Played(20_000).user(share)
    words = played.session.messages[0].text
    for _ in range(20):
        played.work(0.01)
        assert any(words in json.dumps(message) for message in played.shown)
    assert len(played.folds) - len(played.storms) <= MAX_IN_ROW
    assert sum(len(receipt.attempts) for _, receipt in played.turns) <= MAX_IN_ROW


def test_a_lower_mark_folds_there_and_then_waits():
    played = Played(20_000)
    played.budget = Budget(window=20_500, reserve=500, compact_at=0.8)
    played.maker = Compactor(played.budget, FakeCaller([SUMMARY]), meter=Meter(Estimator()), secret=b"s")
    played.user(0.01)
    for _ in range(85):
        played.work(0.01)
    first = played.folds[0][1]
    assert 0.8 * 20_000 < first.tokens_before < 0.83 * 20_000
    played.user(0.78)
    for _ in range(12):
        played.work(0.01)
    assert played.crowded == []


@settings(max_examples=12, deadline=None)
@given(
    st.sampled_from([20_000, 60_000]),
    st.sampled_from(["whole", "fed back"]),
    st.lists(st.sampled_from([0.002, 0.01, 0.03, 0.1, 0.2]), min_size=10, max_size=30),
    st.sampled_from([0, 2_000, 8_000]),
)
def test_a_prune_pays_for_the_cache_it_breaks_or_was_needed_to_fit(room, way, steps, worthwhile):
    played = Played(room, way, prune=PruneSettings(worthwhile=worthwhile)).user(0.05)
    for step in steps:
        played.work(step)
    for _, receipt in played.turns:
        if receipt.action == "prune":
            assert receipt.rewritten <= PAYBACK * receipt.saved_per_turn or receipt.tokens_before > room


def test_a_small_gain_far_back_is_not_worth_the_cache_behind_it():
    played = Played(20_000, prune=PruneSettings(protect=2)).user(0.02)
    played.work(0.13)
    for _ in range(62):
        played.work(0.01)
    pruned = [receipt for _, receipt in played.turns if receipt.action == "prune"]
    assert played.turns[-1][1].tokens_after > 0.7 * played.budget.room
    assert pruned == []


def test_there_are_windows_nothing_fits_into():
    with pytest.raises(CannotFit):
        Played(40).user(0.01).work(0.5)


LONG_SUMMARY = SUMMARY + "## Key Decisions\n" + "- go on as before, step by step, with care\n" * 400
CALLERS = {
    "no model": lambda: False,
    "terse": lambda: FakeCaller([SUMMARY]),
    "wordy": lambda: FakeCaller([LONG_SUMMARY]),
}
RULE = "Never touch legacy.py."
FRAME = 430
"""Tokens that a fold needs in any window: the checkpoint's frame, a rule or two, the last step by its ends."""


class Crowded(Played):
    """A session in which something that no fold may take away has a share of the room: user, system or pin."""

    def __init__(self, room, share, what, caller):
        super().__init__(room, caller=CALLERS[caller]())
        self.words = WORDS * round(share * room / WORDS_TOKENS)
        self.session.system += self.words if what == "system" else ""
        self.session.user(self.words if what == "pin" else "Good morning.").assistant("I see.")
        self.session.user(f"Mind the tests. {RULE}").assistant("I shall.")
        self.session.user(f"Now the work. {self.words if what == 'user' else ''}")
        self.pins = (0,) if what == "pin" else ()
        self.begun = METER.count(self.session.conversation()).tokens
        self.left = room - self.begun
        """Tokens beside what has to stay."""
        self.slack = max(min(MIN_NEW * room, self.left / 2, self.left - FRAME), 0)
        """Tokens that every fold leaves free: half of that, as far as frame and rules allow; a tenth of the room will
        do."""

    def work(self, share):
        super().work(share)
        said = json.dumps([self.session.system, self.shown])
        assert self.words.strip() in said
        assert RULE in said
        return self


def crowded_windows():
    """Every kind of crowded window; unless there is a night for it, some of each."""
    rooms, shares, steps = (8_000, 20_000, 50_000, 200_000), (0.5, 0.8, 0.9, 0.95, 0.98), (0.002, 0.01, 0.03)
    every = product(rooms, shares, steps, ("user", "system", "pin"), CALLERS)
    fit = [cell for cell in every if cell[0] * (1 - cell[1]) > FRAME]
    return fit if int(os.environ.get("FOLDLINE_SESSIONS", "12")) >= 1_000 else SOME


SOME = [
    (8_000, 0.8, 0.03, "pin", "wordy"),
    (8_000, 0.9, 0.002, "user", "terse"),
    (8_000, 0.9, 0.03, "system", "no model"),
    (20_000, 0.9, 0.01, "system", "wordy"),
    (20_000, 0.95, 0.01, "user", "no model"),
    (20_000, 0.95, 0.03, "user", "wordy"),
]


@pytest.mark.parametrize(("room", "share", "step", "what", "caller"), crowded_windows())
def test_a_fold_leaves_half_of_what_is_left_and_the_next_waits_until_that_is_used(room, share, step, what, caller):
    played = Crowded(room, share, what, caller)
    for _ in range(60):
        played.work(step)
    grown = METER.count(played.session.conversation()).tokens - played.begun
    assert all(receipt.tokens_before > room for _, receipt in played.folds)
    assert all(room - receipt.tokens_after >= played.slack for _, receipt in played.folds)
    assert len(played.folds) <= grown / max(played.slack, grown / 60) + 1
    if played.slack >= MIN_NEW * room / MAX_IN_ROW:  # so many folds in a tenth of growth, and never one more
        assert played.crowded == []


@pytest.mark.parametrize(("room", "share", "step"), [(20_000, 0.95, 0.01), (20_000, 0.975, 0.02)])
def test_beside_a_large_message_the_agent_sees_its_last_step_all_the_same(room, share, step):
    played = Played(room).user(share)
    for _ in range(20):
        played.work(step)
    assert len(played.folds) >= 5
    assert all(receipt.kept >= 2 for _, receipt in played.folds)


def test_a_message_that_leaves_no_room_for_a_checkpoint_is_shown_by_its_ends_and_then_there_is_rest():
    played = Played(8_000).user(0.985)
    for _ in range(40):
        played.work(0.01)
    assert all("user-clamped" in [notice.code for notice in receipt.notices] for _, receipt in played.folds)
    assert 1 <= len(played.folds) <= 7
    assert played.crowded == []
