"""However small and crowded a window is, a rule of the user's stands in every view that fits: room for the next turns,
the log, and at last a part of the newest message give way to it."""

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.errors import CannotFit
from foldline.testing import SUMMARY, FakeCaller, Session

RULE = "Never push to branch zulu7 without asking."
WORDS = "alpha beta gamma delta fix the parser in src/a.py and run tests now please "
WORD = 1.25
"""Tokens of a word, about."""
LEAST = 450
"""Tokens in which the shortest notes and the ends of a message find room."""

users = st.tuples(st.just("user"), st.sampled_from([0.001, 0.02, 0.2, 0.6, 0.8, 0.9, 0.97, 1.1, 3.0]))
work = st.tuples(st.sampled_from(["work", "say"]), st.sampled_from([0.001, 0.05, 0.3, 0.7, 1.5]))


def words(share, window):
    count = max(int(share * window / WORD), 2)
    return " ".join((WORDS * (count // 14 + 1)).split()[:count])


class Crowd:
    """A session in a small window, and the views that its requests got."""

    def __init__(self, window, reserve, caller, way):
        caller = FakeCaller([SUMMARY]) if caller else None
        self.window, self.way = window, way
        self.maker = Compactor(Budget(window=window, reserve=reserve), caller, secret=b"s")
        self.session, self.shown, self.taken, self.pinned = Session().user(RULE), [], 0, []

    def play(self, events):
        for kind, share in events:
            text = words(share, self.window)
            if kind == "user":
                self.session.user(text)
            elif kind == "say":
                self.session.assistant(text)
            else:
                self.session.tools(("Bash", json.dumps({"command": "make"}), text))
        return self

    def fit(self, pins=()):
        whole = self.session.request()["messages"]
        request = [*self.shown, *whole[self.taken :]] if self.way == "fed back" else whole
        pins = {pin % len(request) for pin in pins}
        self.pinned += [request[pin] for pin in pins]
        fitted = self.maker.fit(request, pin=sorted(pins))
        self.shown, self.taken = fitted.messages, len(whole)
        return fitted

    @property
    def left(self):
        """Tokens that pinned messages leave: what was pinned once stays so."""
        texts = {json.dumps(message) for message in self.pinned}
        return self.maker.budget.room - sum(WORD * len(text.split()) for text in texts)


@settings(max_examples=1500, deadline=None)
@given(
    st.sampled_from([1_000, 1_500, 2_000, 3_000, 4_000, 8_000, 16_000]),
    st.sampled_from([0, 100, 500]),
    st.booleans(),
    st.sampled_from(["whole", "fed back"]),
    st.lists(st.lists(st.one_of(users, work), min_size=1, max_size=8), min_size=1, max_size=4),
    st.lists(st.integers(0, 7), max_size=2),
)
@example(2_000, 0, False, "whole", [[("say", 0.001), ("user", 0.001), ("say", 1.5), ("user", 0.8)]], [])
@example(1_000, 0, False, "whole", [[("say", 0.001), ("user", 0.001), ("say", 1.5), ("user", 0.7)]], [])
def test_a_rule_is_in_every_view_that_fits(window, reserve, caller, way, rounds, pins):
    crowd = Crowd(window, reserve, caller, way)
    for events in rounds:
        try:
            fitted = crowd.play(events).fit(pins)
        except CannotFit:
            assert pins  # with what belongs to them they may fill the window
            return
        if crowd.left < LEAST:
            return
        assert fitted.receipt.tokens_after <= crowd.maker.budget.room
        assert "zulu7" in json.dumps(fitted.messages), str(fitted.receipt)


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.98, 1.1, 3])
@pytest.mark.parametrize("window", [1_000, 2_000, 4_000])
def test_beside_a_message_of_any_size(window, share, caller):
    crowd = Crowd(window, 0, caller, "whole").play([("say", 0.01), ("user", 0.001), ("say", 1.3), ("user", share)])
    assert RULE in crowd.fit().messages[0]["content"]
