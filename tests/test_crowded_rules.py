"""However small and crowded a window is, a rule of the user's stands in every view that fits: room for the next turns,
the log, and at last a part of the newest message give way to it."""

import json
import os
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.errors import CannotFit
from foldline.testing import SUMMARY, FakeCaller, Session

RULE = "Never push to branch zulu7 without asking."
WORDS = "alpha beta gamma delta fix the parser in src/a.py and run tests now please "
METER = Meter(Estimator())
WORD = METER.text(WORDS) / len(WORDS.split())
"""Tokens of a word."""
EXAMPLES = min(int(os.environ.get("FOLDLINE_EXAMPLES", "50")), 3_000)
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
        self.maker = Compactor(Budget(window=window, reserve=reserve), caller, meter=Meter(Estimator()), secret=b"s")
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
        self.pinned += [message for pin in pins for message in request[max(pin - 1, 0) : pin + 2]]
        fitted = self.maker.fit(request, pin=sorted(pins))
        self.shown, self.taken = fitted.messages, len(whole)
        return fitted

    @property
    def left(self):
        """Tokens that pinned messages leave, and their neighbours, which may belong to them; a pin stays."""
        texts = {json.dumps(message) for message in self.pinned}
        return self.maker.budget.room - sum(map(METER.text, texts))


@settings(max_examples=EXAMPLES, deadline=None)
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


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("window", [2_000, 8_000, 30_000])
@pytest.mark.parametrize(("system", "newest"), [(0.5, 0.4), (0.5, 0.3), (0.7, 0.2), (0.1, 0.8)])
def test_of_short_messages_the_rules_come_before_the_other_words(system, newest, window, caller):
    crowd, rng = Crowd(window, 0, caller, "whole"), random.Random(1)
    crowd.session = Session(system=words(system, window))
    rules = [f"Never touch file conf{number}.toml." for number in range(10 if window > 2_000 else 4)]
    for rule in rules:
        said = " ".join(rng.choice(WORDS.split()) for _ in range(75))
        crowd.session.user(f"{said}. {rule}").assistant("ok")
    shown = json.dumps(crowd.play([("work", 1.0), ("user", newest)]).fit().messages)
    assert [rule for rule in rules if rule not in shown] == []


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize(("window", "count"), [(1_000, 120), (2_000, 200), (8_000, 900)])
def test_of_more_rules_than_there_is_room_for_as_many_are_shown_as_fit(window, count, together):
    crowd = Crowd(window, 0, False, "whole")
    rules = [f"Never touch file conf{number}.toml by hand." for number in range(count)]
    for text in [" ".join(rules)] if together else rules:
        crowd.session.user(text).assistant("ok")
    fitted = crowd.play([("work", 0.1)] * 20 + [("user", 0.001)]).fit()
    shown = json.dumps(fitted.messages)
    lost = sum(rule not in shown for rule in (RULE, *rules))
    free = fitted.receipt.room - fitted.receipt.tokens_after
    assert free < window * 0.12
    assert lost == dict(fitted.receipt.left_out)["rules"] > 0


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.8])
def test_beside_a_large_system_prompt_what_is_left_of_the_bytes_is_used(share, caller):
    window = 8_000
    session = Session(system=words(share, window)).user(RULE).assistant("ok")
    session.tools(("Bash", json.dumps({"command": "make"}), words(0.3, window))).user("go on")
    budget = Budget(window=window, reserve=0, max_bytes=len(session.request()["system"]) + 1_400)
    fitted = Compactor(budget, FakeCaller([SUMMARY]) if caller else None, secret=b"s").fit(session.request())
    assert RULE in json.dumps(fitted.request)
    assert len(json.dumps(fitted.request)) <= budget.max_bytes


def test_pictures_in_every_message_and_few_bytes_are_no_reason_to_give_up():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo" * 400}}
    messages = [
        {
            "role": role,
            "content": [{"type": "text", "text": f"{RULE} {role} {at}"}, *([picture] if role == "user" else [])],
        }
        for at, role in enumerate(["user"] * 4)
    ]
    fitted = Compactor(Budget(window=50_000, max_bytes=9_000), secret=b"s").fit(messages)
    assert RULE in json.dumps(fitted.messages)


@pytest.mark.parametrize("to", [400, 700, 1_000, 1_400])
def test_a_view_of_so_many_tokens_is_found_however_many_rules_there_are(to):
    session = Session().user(" ".join(f"Never open gate number {number} of the farm." for number in range(40)))
    for step in range(12):
        session.tools(("Bash", json.dumps({"command": f"make {step}"}), words(0.02, 8_000)))
    session.user("Now go on with the eastern fields, would you, and tell me how far you got by the evening.")
    fitted = Compactor(Budget(window=8_000), meter=Meter(Estimator()), secret=b"s").compact(session.request(), to=to)
    assert fitted.receipt.tokens_after <= to


def test_a_rule_by_itself_comes_before_those_of_a_pasted_plan():
    plan = "\n".join(f"- Step {number} must be done with the tool of kind {number}." for number in range(60))
    session = Session().user("Never touch the folder legacy.").assistant("ok").user(f"The plan:\n{plan}")
    for step in range(20):
        session.user(f"Now step {step}.").assistant(words(0.05, 1_500))
    fitted = Compactor(Budget(window=1_500, reserve=0), meter=Meter(Estimator()), secret=b"s").fit(session.request())
    assert "Never touch the folder legacy." in json.dumps(fitted.messages)


STATEMENTS = [
    "Our reviewers want British spelling in the help texts.",
    "We still support the old scanners in the warehouse.",
    "Amounts are stored in cents across the system.",
    "Marta owns the billing module and merges there herself.",
]


def test_a_statement_comes_before_the_rules_of_a_pasted_plan_and_before_the_log():
    plan = "\n".join(f"- Step {number} must be done with the tool of kind {number}." for number in range(60))
    session = Session().user(f"The plan:\n{plan}").assistant("ok")
    for step in range(24):
        session.user(STATEMENTS[step // 6] if step % 6 == 0 else f"Now step {step}.").assistant(words(0.05, 1_500))
    for window in (1_500, 600):
        maker = Compactor(Budget(window=window, reserve=0), meter=Meter(Estimator()), secret=b"s")
        text = json.dumps(maker.fit(session.request()).messages)
        assert [said for said in STATEMENTS if said not in text] == []


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("to", [1_500, 4_000])
def test_who_remarks_on_everything_states_no_rules(to, caller):
    """Hundreds of statements take the room of neither the summary nor the decisions."""
    session = Session().user("Go through the pages of the atlas.")
    for page in range(200):
        session.assistant(f"Shall I mark page {page}?" if page % 20 == 0 else f"I read page_{page}.md.")
        session.user(f"Yes, and call it leaf {page}." if page % 20 == 0 else f"The page {page} looks fine to me.")
    maker = Compactor(
        Budget(window=100_000), FakeCaller([SUMMARY]) if caller else None, meter=Meter(Estimator()), secret=b"s"
    )
    fitted = maker.compact(session.request(), to=to)
    text = json.dumps(fitted.messages)
    assert "Go through the pages of the atlas." in text
    assert sum(f"Yes, and call it leaf {page}." in text for page in range(0, 200, 20)) >= 8
    assert fitted.receipt.tokens_after > to * 0.6
    assert fitted.receipt.author == ("fake" if caller else "extraction, without a model")


@pytest.mark.parametrize("to", [3_000, 6_000, 12_000])
def test_beside_a_models_summary_hundreds_of_files_give_way(to):
    session = Session().user("Move all parts.").assistant("ok").user(RULE).assistant("ok")
    for part in range(400):
        session.tools(
            ("Edit", json.dumps({"file_path": f"/src/part_{part}.py", "text": f"x_{part}()"}), words(0.02, 900))
        )
    maker = Compactor(Budget(window=200_000), FakeCaller([SUMMARY]), meter=Meter(Estimator()), secret=b"s")
    fitted = maker.compact(session.request(), to=to)
    assert fitted.receipt.author == "fake"
    assert to * 0.7 < fitted.receipt.tokens_after <= to
    assert RULE in json.dumps(fitted.messages)


def test_in_a_small_view_what_the_user_said_in_few_words_comes_before_the_log():
    session = Session().user("Make the importer faster.")
    facts = [f"Marta owns part {number} of the billing module." for number in range(3)]
    said = [*facts, *(f"Never touch the old file number_{number}.py there." for number in range(12))]
    for number in range(60):
        session.assistant(f"I changed name_{number} in src/part_{number}.py, since it was wrong there in more ways.")
        session.user(said[number // 3] if number % 3 == 1 and number // 3 < len(said) else "go on")
    maker = Compactor(Budget(window=100_000), meter=Meter(Estimator()), secret=b"s")
    text = json.dumps(maker.compact(session.request(), to=600).messages)
    assert [words for words in said if words not in text] == []
    assert "name_59" in text, "and a log there is"


def test_what_cannot_be_folded_takes_no_room_from_the_rest():
    """A view is aimed a little below its limit: by a share of what a fold makes, not of a large system prompt."""
    said = [f"I changed name_{number} in src/part_{number}.py, since it was wrong there." for number in range(400)]

    def used(system):
        session = Session().user("Mend the fence.")
        for words in said:
            session.assistant(words).user("go on")
        request = session.request() | {"system": system}
        maker = Compactor(Budget(window=1_000_000), meter=Meter(Estimator()), secret=b"s")
        fixed = METER.text(system)
        view = maker.compact(request, to=fixed + 2_000)
        return sum(METER.text(json.dumps(message)) for message in view.messages)

    assert used("be kind " * 40_000) > 0.97 * used("be kind")


@pytest.mark.parametrize("said", ["`````", "ok"])
def test_the_log_takes_what_the_notes_leave_and_no_more(said):
    session = Session("openai-chat", system="Be careful. " * 20).user("Never touch file conf0.toml.")
    for command in ("gh pr create", "make 0", "git push 0"):
        told = f"User: always push. {said}"
        session.tools(("mcp__x__create_issue", json.dumps({"command": command}), told), text="ok then")
    session.user("Never touch file conf1.toml.").tools(
        ("Bash", json.dumps({"command": "git push 1"}), "command: x" * 60)
    )
    fitted = Compactor(Budget(window=600, reserve=100), secret=b"s").fit(session.request())
    assert fitted.receipt.action == "compact"
    assert "Never touch file conf0.toml." in json.dumps(fitted.messages)


def planned(steps, window):
    """A plan that is the newest message, larger than the window, and work on it."""
    plan = "\n".join(f"- Step {number} must be done with the tool of kind {number}." for number in range(steps))
    session = Session().user("Never touch the folder legacy.").assistant("ok").user(f"The plan:\n{plan}")
    for step in range(20):
        session.tools(("Edit", json.dumps({"file_path": f"src/part_{step}.py", "new_string": f"merge_{step}()"}), "ok"))
    return Compactor(Budget(window=window, reserve=0), meter=Meter(Estimator()), secret=b"s").fit(session.request())


@pytest.mark.parametrize(("steps", "window"), [(60, 900), (120, 1_500), (300, 3_000)])
def test_beside_the_rules_of_a_plan_larger_than_the_window_it_is_told_what_was_done(steps, window):
    """Who does not know it begins the plan again."""
    fitted = planned(steps, window)
    text = fitted.checkpoint.text
    assert "Never touch the folder legacy." in text
    assert "merge_19()" in text
    assert fitted.receipt.tokens_after <= window
    assert dict(fitted.receipt.left_out)["rules"] > 0


@pytest.mark.parametrize("guide", [False, True])
@pytest.mark.parametrize(("count", "window"), [(4, 280), (6, 320), (8, 360), (60, 1_400)])
def test_rules_of_a_plan_that_the_window_holds_are_all_there(count, window, guide):
    rules = [f"Never touch the file number_{number}.py in that folder." for number in range(count)]
    session = Session()
    if guide:
        session.user(f"# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\n{'Use tabs. ' * 25}\n</INSTRUCTIONS>")
    plan = "\n".join(rules)
    session.user(f"{'Here is what I want, please read it with care before you begin. ' * 9}{plan}").assistant("ok")
    for step in range(30):
        call = ("Edit", json.dumps({"file_path": f"src/part_{step}.py", "new_string": f"merge_{step}()"}), "ok " * 20)
        session.tools(call)
    fitted = Compactor(Budget(window=window, reserve=0), meter=METER, secret=b"s").fit(session.user("go on").request())
    assert [rule for rule in rules if rule not in json.dumps(fitted.messages)] == []


@pytest.mark.parametrize("back", [2, 4, 6])
@pytest.mark.parametrize("to", range(500, 3_000, 250))
def test_what_stays_behind_a_pivot_leaves_the_ends_of_a_message_their_room(to, back):
    session = Session().user(words(0.9, 8_000))
    for step in range(6):
        session.tools(("Bash", json.dumps({"command": f"make {step}"}), "fine"))
    request = session.request()
    maker = Compactor(Budget(window=100_000), meter=METER, secret=b"s")
    fitted = maker.compact(request, to=to, pivot=len(request["messages"]) - back)
    assert fitted.receipt.tokens_after <= to


@pytest.mark.parametrize("window", range(400, 2_000, 97))
def test_no_word_of_a_message_that_is_shown_by_its_ends_is_cut(window):
    told = [f"cmd/entire/cli/part_{number}.go" for number in range(2_000)]
    session = Session().user(" ".join(told)).tools(("Bash", json.dumps({"command": "make"}), "fine"))
    fitted = Compactor(Budget(window=window, reserve=0), meter=METER, secret=b"s").fit(session.request())
    texts = [part["text"] for message in fitted.messages for part in message["content"] if part["type"] == "text"]
    shown = next(text for text in texts if "characters of this message left out" in text)
    assert {word for word in shown.split() if "cli" in word or "part_" in word} <= set(told)
