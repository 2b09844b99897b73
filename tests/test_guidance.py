"""The project's own instructions, which an agent sends once, stand in every view: nobody would send them again."""

import json

import pytest

from foldline import Budget, Compactor, validators
from foldline.testing import SUMMARY, FakeCaller, Session

RULE = "Never paint the barn blue."
CODEX = f"# AGENTS.md instructions for /home/dev/farm\n\n<INSTRUCTIONS>\n{RULE}\n</INSTRUCTIONS>"
OLDER = f"<user_instructions>\n\n{RULE}\n\n</user_instructions>"
CLAUDE = (
    "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\n"
    f"Contents of /home/dev/farm/CLAUDE.md (project instructions):\n\n{RULE}\n</system-reminder>\n"
)
FORMS = [
    ("openai-responses", CODEX),
    ("openai-chat", OLDER),
    ("anthropic", CLAUDE),
    ("anthropic", f"{CLAUDE}Mend the fence."),
    ("gemini", CLAUDE),
]
FILLER = "alpha beta gamma delta "


def worked(session, steps):
    for step in range(steps):
        session.user(f"Now field {step}.").tools(
            ("Bash", json.dumps({"command": "make"}), FILLER * 40), text=f"ok {step} {FILLER * 80}"
        )
    return session


def list_of(request):
    return next(request[slot] for slot in ("messages", "input", "contents") if slot in request)


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize(("dialect", "form"), FORMS)
@pytest.mark.parametrize("way", ["whole", "fed back"])
def test_they_stand_in_every_view(dialect, form, caller, way):
    maker = Compactor(Budget(window=12_000, reserve=1_000), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    session, shown, taken, folds = Session(dialect, system="You are careful.").user(form), [], 0, 0
    for _ in range(40):
        request = worked(session, 1).request()
        whole = list_of(request)
        if way == "fed back":
            given = [*shown, *whole[taken:]]
            request = {key: given if value is whole else value for key, value in request.items()}
        fitted = maker.fit(request)
        shown, taken = list_of(fitted.request), len(whole)
        folds += fitted.receipt.action == "compact"
        assert json.dumps(fitted.request).count(RULE) == 1
        assert validators.check(shown, dialect) == []
    assert folds >= 2


@pytest.mark.parametrize(("dialect", "form"), FORMS)
def test_what_they_want_of_summaries_holds_for_every_fold(dialect, form):
    model = FakeCaller([SUMMARY])
    maker = Compactor(Budget(window=12_000, reserve=1_000), model, secret=b"s")
    session = Session(dialect).user(form.replace(RULE, f"{RULE}\n\n## Compact Instructions\nKeep the gate's number."))
    for _ in range(40):
        maker.fit(worked(session, 1).request())
    assert len(model.asked) >= 2
    assert all("Keep the gate's number." in ask.prompt for ask in model.asked)


def test_what_comes_first_stays_first():
    maker = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s")
    session = worked(Session().user(CLAUDE), 40)
    view = maker.fit(session.request()).messages
    assert view[0] == session.request()["messages"][0]
    assert "# Notes on the conversation" in json.dumps(view[1])


def test_where_there_is_no_room_for_them_they_are_folded_and_counted():
    maker = Compactor(Budget(window=6_000, reserve=500), secret=b"s")
    session = worked(Session().user(CLAUDE.replace(RULE, f"{RULE} {FILLER * 400}")).user("Always whistle."), 40)
    fitted = maker.fit(session.request())
    assert dict(fitted.receipt.left_out)["project instructions"] == 1
    assert "Always whistle." in json.dumps(fitted.messages)


def test_a_rule_of_the_users_comes_before_them():
    maker = Compactor(Budget(window=2_000, reserve=100), secret=b"s")
    session = Session().user(CLAUDE.replace(RULE, f"{RULE} {FILLER * 40}"))
    rules = [f"Never open gate number {number}." for number in range(60)]
    for rule in rules:
        session.user(rule).assistant("ok")
    fitted = maker.fit(worked(session, 20).request())
    shown = json.dumps(fitted.messages)
    assert [rule for rule in rules if rule not in shown] == []


def test_they_stay_where_no_rule_would_find_room_without_them():
    maker = Compactor(Budget(window=6_000, reserve=500), secret=b"s")
    session = Session().user(CLAUDE)
    for number in range(40):
        session.user(f"Never open gate number {number} {FILLER * 30}.").assistant("ok")
    fitted = maker.fit(worked(session, 10).user("Go on.").request())
    assert dict(fitted.receipt.left_out)["rules"] > 0
    assert RULE in json.dumps(fitted.messages)


def test_a_model_that_was_asked_for_a_fold_with_them_is_told_of_where_they_give_way():
    model = FakeCaller([SUMMARY])
    session = Session().user(CLAUDE.replace(RULE, f"{RULE} {FILLER * 40}"))
    for number in range(150):
        session.user(f"Never open gate number {number}.").assistant("ok")
    fitted = Compactor(Budget(window=2_500, reserve=100), model, secret=b"s").fit(worked(session, 20).request())
    assert dict(fitted.receipt.left_out)["project instructions"] == 1
    assert len(model.asked) == 1
    told = [attempt.outcome for attempt in fitted.receipt.attempts]
    assert told == ["not taken: beside the project's instructions it left no room, or no room for a rule"]


def test_what_the_user_pastes_beside_them_does_not_weigh_on_them():
    maker = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s")
    session = worked(Session().user("Hello.").user("Go."), 40)
    request = session.request()
    log = {"type": "text", "text": f"Look at this log: {FILLER * 800}"}
    request["messages"][0]["content"] = [{"type": "text", "text": CLAUDE}, log]
    view = maker.fit(request).messages
    assert view[0] == {"role": "user", "content": [{"type": "text", "text": CLAUDE}]}
    assert "Look at this log" in json.dumps(view[1])


def test_a_pin_on_the_message_that_brings_them_holds_when_the_view_comes_back():
    maker = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s")
    session = worked(Session().user(f"{CLAUDE}Mend the fence."), 40)
    request = session.request()
    view = list(maker.fit(request, pin=[0]).messages)
    more = worked(Session(), 30).request()["messages"]
    assert maker.fit({**request, "messages": [*view, *more]}).messages[0] == request["messages"][0]


def test_of_two_the_newer_is_enough():
    maker = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s")
    session = worked(Session("openai-responses").user(CODEX.replace("blue", "green")), 2)
    worked(session.user(CODEX), 40)
    shown = json.dumps(maker.fit(session.request()).request)
    assert RULE in shown
    assert "green" not in shown


def test_a_list_that_is_divided_otherwise_keeps_them():
    maker, session = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s"), worked(Session().user(CLAUDE), 40)
    maker.fit(session.request())
    request = session.user("Go on.").request()
    request["messages"].insert(1, {"role": "user", "content": "<system-reminder>be nice</system-reminder>"})
    assert RULE in json.dumps(maker.fit(request).request)


def test_sent_again_and_again_they_stand_once():
    maker, session, folds = Compactor(Budget(window=8_000, reserve=1_000), secret=b"s"), Session().user(CLAUDE), 0
    long = CLAUDE.replace(RULE, f"{RULE} {FILLER * 60}")
    for turn in range(60):
        if turn % 6 == 5:
            session.user(long)
        fitted = maker.fit(worked(session, 1).request())
        folds += fitted.receipt.action == "compact"
    assert json.dumps(fitted.messages).count(RULE) <= 2  # in front, and in what is behind the cut
    assert folds < 30


@pytest.mark.parametrize("limit", [900, 1_500])
def test_once_shown_they_give_way_all_the_same(limit):
    maker = Compactor(Budget(window=8_000, reserve=1_000), secret=b"s")
    session = Session().user(CLAUDE.replace(RULE, f"{RULE} {FILLER * 100}")).user("Always whistle.")
    first = maker.fit(worked(session, 40).request())
    assert RULE in json.dumps(first.messages)
    smaller = maker.compact(worked(session, 1).request(), to=limit)
    assert smaller.receipt.tokens_after <= limit
    assert "Always whistle." in json.dumps(smaller.messages)


def test_when_the_client_changes_them_the_view_shows_what_they_are_now_and_the_receipt_says_so():
    maker, session = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s"), worked(Session().user(CLAUDE), 40)
    first = maker.fit(session.request())
    request = session.user("Go on.").request()
    request["messages"][0]["content"][0]["text"] = CLAUDE.replace("blue", "green")
    second = maker.fit(request)
    assert second.receipt.rebased
    assert "green" in json.dumps(second.messages[0])
    third = maker.fit({**request, "messages": [*request["messages"], {"role": "assistant", "content": "Yes."}]})
    assert not third.receipt.rebased
    assert third.messages[: len(second.messages)] == second.messages
    assert first.receipt.action == "compact"


def test_what_changes_beside_them_leaves_the_view_as_it_is():
    maker, session = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s"), worked(Session().user(CLAUDE), 40)
    request = session.request()
    guide, words = request["messages"][0]["content"][0], {"type": "text", "text": "Mend the fence."}
    request["messages"][0]["content"] = [guide, {**words, "cache_control": {"type": "ephemeral"}}]
    first = maker.fit(request)
    more = [{"role": "assistant", "content": "Yes."}]
    request["messages"][0] = {
        "role": "user",
        "content": [guide, words, {"type": "text", "text": "<skill>jump</skill>"}],
    }
    second = maker.fit({**request, "messages": [*request["messages"], *more]})
    assert second.messages[: len(first.messages)] == first.messages
    assert not second.receipt.rebased


def test_the_users_words_beside_them_are_told_when_they_travel_apart():
    maker, words = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s"), "Mend the fence by the old pond."
    session = worked(Session().user(f"{CLAUDE}{words}"), 40)
    assert words in json.dumps(maker.fit(session.request()).messages[1])
    request = session.user("Go on.").request()
    request["messages"][:1] = [{"role": "user", "content": CLAUDE}, {"role": "user", "content": words}]
    assert words in json.dumps(maker.fit(request).messages)


@pytest.mark.parametrize("paste", [f"What is this?\n{OLDER}", f"<bash-stdout>\n{OLDER}\n</bash-stdout>"])
@pytest.mark.parametrize("newest", [False, True])
def test_a_paste_does_not_take_their_place(paste, newest):
    maker = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s")
    guide = CLAUDE.replace("barn", "stable")
    session = worked(Session().user(guide), 40)
    session = session.user(paste) if newest else worked(session.user(paste), 1)
    assert "stable blue" in json.dumps(maker.fit(session.request()).messages)


@pytest.mark.parametrize("text", ["<INSTRUCTIONS></INSTRUCTIONS>", "What does <user_instructions> mean?", "# claudeMd"])
def test_what_only_looks_like_them_is_folded_like_the_rest(text):
    maker = Compactor(Budget(window=12_000, reserve=1_000), secret=b"s")
    view = maker.fit(worked(Session().user(text).user("Go."), 40).request()).messages
    assert "# Notes on the conversation" in json.dumps(view[0])
