"""A model that writes notes is shown masks in place of secrets, whoever said them: every kind of secret, at every
distance from where the record is cut, in every request. Of anything else it is shown no less."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.test_quoted_secrets import LISTING, OWN, PLANTED, leaks, notes_of, planted
from tests.test_redact import NAMED, SERVICE_KEYS

from foldline import Budget, Compactor
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.facts import Facts
from foldline.core.history.cycles import pair
from foldline.core.options import Options, Writer
from foldline.core.summarise import MARGIN, Span, summarise
from foldline.core.words import masks
from foldline.errors import Overflow
from foldline.model import Grammar
from foldline.redact import MASK
from foldline.testing import SUMMARY, FakeCaller, Session

KEY = f"ghp_{'a8Fk2Lq9Zx0P' * 3}"
EVERY = [*((key.values[1] + key.values[2], key.values[2]) for key in SERVICE_KEYS), *NAMED]
"""Every kind of secret: a text, and what is secret in it."""


def compactor(model, window=9_000, **more):
    budget = Budget(window=window, reserve=500)
    return Compactor(budget, model, meter=Meter(Estimator()), secret=b"s" * 16, **more)


def asked(model):
    return "\n".join(f"{ask.system}\n{ask.prompt}" for ask in model.asked)


def halves(text, key=KEY):
    """Pieces of the key that stand in the text."""
    return [key[at : at + 6] for at in range(4, len(key) - 5) if key[at : at + 6] in text]


def saying(said):
    """A session in which everybody says this, and which is worth a fold."""
    session = Session(system="You are careful.").user(f"Sort the handlers. I have this:\n{said}\nGo on.")
    session.tools(("Bash", json.dumps({"command": f"run\n{said}\n"}), f"this:\n{said}\nthat"), text=f"I try:\n{said}\n")
    session.tools(("Bash", json.dumps({"command": "grep -rn handler src"}), LISTING), text="I look.")
    return session.user(f"When compacting, keep this:\n{said}\n").assistant("Good.").user("Go on.")


@pytest.mark.parametrize(("said", "secret"), EVERY)
def test_no_kind_of_secret_is_shown_whoever_says_it(said, secret):
    model = FakeCaller()
    compactor(model).compact(saying(said).request(), focus=f"what is said of\n{said}\n")
    assert len(model.asked) == 1
    assert secret not in asked(model)
    assert asked(model).count(MASK) >= 5


def test_where_masks_are_not_wanted_it_is_shown_everything():
    model = FakeCaller()
    compactor(model, mask_secrets=False).compact(saying(KEY).request(), focus=KEY)
    assert asked(model).count(KEY) >= 5
    assert MASK not in asked(model)


@pytest.mark.parametrize("style", ["checkpoint", "brief"])
@pytest.mark.parametrize("before", range(0, 48, 3))
def test_half_a_secret_is_not_shown_either(style, before):
    """Results, arguments and what a project says of compaction are cut, each at a length of its own."""
    session = Session().user("Sort them.")
    for limit in (500, 2_000):
        text = f"{'x' * (limit - before - 1)} {KEY} {'y' * 3_000}"
        session.tools(("Bash", json.dumps({"command": text}), text))
    session.tools(("Bash", json.dumps({"command": f"{'x' * (484 - before)} {KEY} and on {'y' * 200}"}), LISTING))
    session.user(f"When compacting, {'x' * (2_000 - len('When compacting, ') - before - 1)} {KEY} {'y' * 300}")
    model = FakeCaller()
    compactor(model).compact(session.assistant("Good.").user("Go on.").request(), style=style)
    assert "more characters]" in asked(model)
    assert halves(asked(model)) == []


def sometimes_wrong(seen):
    """Refuses what is large, then writes nonsense, then notes with all the masks it was shown."""

    def write(ask):
        seen.append(ask)
        if len(ask.prompt) > 24_000:
            raise Overflow("too large", tokens=9_000, limit=6_000)
        if len(seen) % 3 == 0:
            return "I cannot say."
        shown = sorted(set(re.findall(rf"{re.escape(MASK)}[^]]*\]", ask.prompt)))
        return f"{SUMMARY}\n## Critical Context\n" + "\n".join(f"- the agent used {mask}" for mask in shown)

    return write


@settings(max_examples=25)
@given(PLANTED, PLANTED, st.sampled_from((6_000, 12_000, 100_000)))
def test_no_request_shows_one_be_it_for_a_piece_a_repair_an_update_or_a_merge(first, second, most):
    bodies, runs = [], []
    one, two = planted(first, bodies), planted(second, bodies)
    for _ in range(2):
        model = FakeCaller([sometimes_wrong([])], window=most)
        writing = compactor(model, memory=[f"## Compact instructions\nKeep {OWN}."])
        folded = writing.compact(one.request())
        whole = {"messages": [*folded.request["messages"], *two.request()["messages"]]}
        writing.compact(whole, style="checkpoint")
        writing.handoff(whole, to=4_000)
        assert leaks(asked(model), bodies) == []
        assert OWN not in asked(model)
        runs.append(model.asked)
    assert runs[0] == runs[1]


def test_an_earlier_checkpoint_is_masked_too():
    """One that was extracted may quote what a user said; one that was kept long ago may hold anything."""
    session = saying(KEY)
    first = compactor(None).compact(session.request())
    summary = first.checkpoint.summary.with_section("goal", f"Use {KEY}.")
    kept = replace(first.checkpoint, summary=summary)
    span = Span(tuple(session.messages), pair(session.messages, Grammar()), 0, Facts(), previous=kept)
    options = Options(Budget(window=9_000), model=Writer("m"), secret=b"s")
    asks = next(summarise(span, options, 500, Meter(Estimator()).text)).asks
    assert any("[previous checkpoint" in ask.prompt for ask in asks)
    assert not [ask for ask in asks if KEY in ask.prompt]


def test_masks_that_are_longer_than_the_secrets_are_counted():
    meter = Meter(Estimator())
    session = Session().user("Sort them.")
    for number in range(60):
        session.assistant(f"This is number {number}.").user("DBPASS=hunter " * 130)
    model = FakeCaller(window=6_000)
    compactor(model).compact(session.assistant("Good.").user("Go on.").request())
    sizes = [meter.text(ask.system) + meter.text(ask.prompt) + ask.max_tokens for ask in model.asked]
    assert len(sizes) > 3
    assert max(sizes) <= 6_000 * MARGIN


HONEST = """## Goal
Deploy with {key}.
## Constraints & Preferences
- Use {key} for all uploads
- Don't print {key}
- Leave DB_PASSWORD=[masked password] in deploy/settings.env alone
## Key Decisions
- The user wants {key}
## Next Steps
1. Upload with {key}
## Critical Context
- The login is postgres://app:[masked url-password]@db.internal:5432/x
- The agent used https://[masked token]@git.example.com/x/y
- The current token is {key}
## Immediate Task
Deploy with {key}
"""
NUMBERED = next(key for n in range(1_000) if masks.masked(key := f"{KEY[:-4]}{n:04}")[-7:-1].isdecimal())
"""A key whose mask ends in a number."""


@pytest.mark.parametrize("key", [KEY, NUMBERED])
def test_honest_notes_may_quote_the_masks_and_keep_them(key):
    user = (
        f"Deploy with {key}. Use {key} for all uploads. Don't print {key}. Leave DB_PASSWORD=tr0ub4dor3x alone, please."
    )
    login = "postgres://app:tr0ub4dor3x@db.internal:5432/x\nDB_PASSWORD=tr0ub4dor3x"
    remote = "https://token=8fK2Lq9Zx0Pa8Fk2Lq9@git.example.com/x/y"
    session = Session().user(user)
    session.tools(("Bash", json.dumps({"command": "cat deploy/settings.env"}), f"{login}\n{remote}"))
    session.tools(("Bash", json.dumps({"command": "grep -rn handler src"}), LISTING)).assistant("Good.").user("Go on.")
    notes = HONEST.replace("https://[masked token]@git.example.com/x/y", masks.masked(remote))
    folded = compactor(FakeCaller([notes.format(key=masks.masked(key))])).compact(session.request())
    assert folded.receipt.findings == ()
    written = notes_of(folded.request)
    assert [line for line in notes.format(key=masks.masked(key)).splitlines() if line not in written] == []


def test_a_mask_that_the_model_was_not_shown_is_invented():
    line = f"- The agent used {masks.masked(NUMBERED)}"
    notes = f"{SUMMARY}\n## Critical Context\n- KEY={masks.masked(KEY)}\n{line}\n"
    folded = compactor(FakeCaller([notes])).compact(saying(KEY).request())
    assert [finding.text for finding in folded.receipt.findings if MASK in finding.text] == [line]


def test_what_is_looked_through_is_what_is_shown(monkeypatch):
    """Of a large result only the beginning is."""
    read = []
    whole = masks.secrets
    monkeypatch.setattr(masks, "secrets", lambda text: read.append(len(text)) or whole(text))

    def cost(session, **more):
        read.clear()
        model = FakeCaller()
        compactor(model, window=30_000, **more).compact(session.request())
        return sum(read), len(asked(model))

    session = Session().user("Sort the handlers.")
    for number in range(40):
        session.tools(("Read", json.dumps({"file_path": f"/w/{number}.py"}), f"x = {number}\n" * 20_000))
    session.assistant("Good.").user("Go on.")
    masking, shown = cost(session)
    plain, _ = cost(session, mask_secrets=False)
    assert 0 < masking - plain <= 3 * shown + 80 * masks.BEHIND
