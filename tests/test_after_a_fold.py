"""The turn after a fold of any kind: what the fold showed, and what it left to others to show, is still there."""

import json
import re

import pytest

from foldline import Archive, Budget, Compactor, validators
from foldline.errors import CannotFit
from foldline.testing import SUMMARY, FakeCaller, Session

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SLOTS = ("messages", "input", "contents")
SAID = ("Build the csv export for team quokka.", "Never push to branch zulu.", "The deadline is the ninth of yankee.")
FILLER = "alpha beta gamma delta "


def begun(dialect):
    session = Session(dialect, system="You are careful.")
    for words in SAID:
        session.user(words).assistant("ok")
    return session


def worked(session, first, last):
    for step in range(first, last):
        session.user(f"Step {step}, please.").tools(("Bash", json.dumps({"command": "make"}), FILLER * 60), text="ok")
    return session


def messages_of(request):
    return next(request[slot] for slot in SLOTS if slot in request)


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("later", ["fit", "compact", "to"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_stood_before_a_pivot_is_told_when_that_is_folded_too(dialect, later, caller):
    maker = Compactor(Budget(window=12_000, reserve=1_500), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    session = worked(begun(dialect), 0, 12)
    maker.compact(session.request(), direction="from", pivot=6)
    worked(session, 12, 60 if later == "fit" else 13)
    how = {"fit": maker.fit, "compact": maker.compact, "to": lambda request: maker.compact(request, to=1_400)}[later]
    fitted = how(session.request())
    shown = json.dumps(fitted.request)
    assert [words for words in SAID if words not in shown] == []


def agents_work(session, first, last, bulk=20):
    """Steps of which each is about a file of its own, with results that nobody needs again."""
    for step in range(first, last):
        call = ("Edit", json.dumps({"file_path": f"/src/part_{step}.py", "text": f"merge_{step}()"}), FILLER * bulk)
        session.tools(call, text=f"Part {step} needs merge_{step} before it can be sent.")
    return session


def named(shown, last):
    return {step for step in range(last) if f"merge_{step}()" in shown}


@pytest.mark.parametrize("whole", [True, False], ids=["whole history", "view fed back"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_small_log_left_out_comes_back_when_there_is_room(dialect, whole, tmp_path):
    """Also when another process goes on, which has nothing but the archive."""
    session = agents_work(begun(dialect).user("Send all parts, please."), 0, 40)
    first = Compactor(Budget(window=200_000, reserve=3_000), archive=Archive(tmp_path / "a.db"), secret=b"s")
    small = first.compact(session.request(), to=1_300)
    assert len(named(json.dumps(small.request), 40)) < 30
    done = len(messages_of(session.request()))
    later = agents_work(session, 40, 44, bulk=600).request()
    if not whole:
        messages_of(later)[:done] = messages_of(small.request)
    second = Compactor(Budget(window=200_000, reserve=3_000), archive=Archive(tmp_path / "a.db"), secret=b"t")
    large = second.compact(later, to=6_000)
    assert large.receipt.generation == 2
    assert len(named(json.dumps(large.request), 44)) >= 40


@pytest.mark.parametrize("to", [2_500, 6_000, 12_000])
def test_what_all_fits_into_a_log_is_all_shown_however_often_it_is_folded(to):
    """The messages that stay take only what a log of everything leaves."""
    maker, session = Compactor(Budget(window=200_000, reserve=3_000), secret=b"s"), begun("anthropic")
    session.user("Send all parts, please.")
    each = to // 300
    for fold in range(6):
        fitted = maker.compact(agents_work(session, each * fold, each * (fold + 1)).request(), to=to)
    assert len(named(json.dumps(fitted.request), 6 * each)) >= 6 * each * 0.95


@pytest.mark.parametrize("dialect", DIALECTS)
def test_folded_again_and_again_by_compactors_that_know_nothing_of_each_other_the_users_words_stay(dialect):
    """And they stay quotations: nobody's word is taken for it that a text is the user's."""
    session, view, done = begun(dialect), [], 0
    for fold in range(5):
        session.user(f"Now the parts of group {fold}, the sooner the better.")
        request = agents_work(session, 8 * fold, 8 * fold + 8, bulk=60).request()
        whole = messages_of(request)
        fed = [*view, *whole[done:]]
        done = len(whole)
        whole[:] = fed
        fitted = Compactor(Budget(window=200_000, reserve=3_000), secret=b"s").compact(request, to=3_000)
        assert validators.check(messages_of(fitted.request), dialect) == []
        view = messages_of(fitted.request)
    text = json.dumps(view, ensure_ascii=False)
    assert len(named(text, 40)) > 25
    said = [*SAID, *(f"Now the parts of group {fold}, the sooner the better." for fold in range(5))]
    assert [words for words in said if words not in text] == []
    assert re.search(r"\\n> - “Never push to branch zulu\.”", text)
    assert not re.search(r"\\n- “Never push to branch zulu\.”", text)
    assert text.count("From an earlier summary, as it stood") == 1


def test_the_messages_that_stay_leave_an_earlier_log_its_room():
    maker, session = Compactor(Budget(window=200_000, reserve=3_000), secret=b"s"), begun("anthropic")
    agents_work(session.user("Send all parts, please."), 0, 60)
    maker.compact(session.request(), to=6_000)
    twice = maker.compact(agents_work(session, 60, 72).request(), to=6_000)
    once = Compactor(Budget(window=200_000, reserve=3_000), secret=b"s").compact(session.request(), to=6_000)
    assert len(named(json.dumps(twice.request), 72)) >= len(named(json.dumps(once.request), 72)) * 0.95


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_that_is_divided_otherwise_loses_nothing_behind_a_pivot(dialect):
    maker, session = Compactor(Budget(window=24_000, reserve=3_000), secret=b"s"), worked(begun(dialect), 0, 6)
    maker.compact(session.request(), direction="from", pivot=5)
    request = session.user("Go on.").request()
    note = "<system-reminder>be nice</system-reminder>"
    messages_of(request).insert(
        1, {"role": "user", "parts": [{"text": note}]} if dialect == "gemini" else {"role": "user", "content": note}
    )
    shown = json.dumps(maker.fit(request).request)
    assert [words for words in SAID if words not in shown] == []
    assert "Step 5" in shown


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_pinned_result_behind_the_cut_is_whole_now_and_later(dialect, caller):
    maker = Compactor(Budget(window=24_000, reserve=3_000), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    session = Session(dialect).user("Build the export. " + FILLER * 200)
    for step in range(3):
        session.user(f"Step {step} {FILLER * 200}").assistant("fine")
    session.tools(*(("Read", json.dumps({"file_path": name}), FILLER * 1_450) for name in ("spec.md", "a.md", "b.md")))
    listed = messages_of(session.request())
    pin = next(place for place, message in enumerate(listed) if len(json.dumps(message)) > 20_000)
    first = maker.fit(session.user("Go on with it.").request(), pin=[pin])
    second = maker.fit(session.user("And?").request(), pin=[pin])
    assert listed[pin] in messages_of(first.request)
    assert second.messages[: len(first.messages)] == first.messages
    assert validators.check(messages_of(second.request), dialect) == []


@pytest.mark.parametrize(
    "words", ["Now build the export.", f"Now build the export. {FILLER * 900}"], ids=["short", "long"]
)
def test_what_stands_behind_a_checkpoint_in_part_is_whole_once_it_is_pinned(words):
    """Without the results that stood beside it, and by its ends alone, a message is not there word for word."""
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "spec.md"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": FILLER * 20}
    said = {"role": "user", "content": [result, {"type": "text", "text": words}]}
    listed = [{"role": "user", "content": SAID[0]}, {"role": "assistant", "content": [call]}, said]
    for step in range(12):
        used = {"type": "tool_use", "id": f"u{step}", "name": "Bash", "input": {"command": f"make {step}"}}
        answer = {"type": "tool_result", "tool_use_id": f"u{step}", "content": f"{step} {FILLER * 60}"}
        listed += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [answer]}]
    maker, request = Compactor(Budget(window=6_000, reserve=500), secret=b"s"), {"messages": listed}
    folded = maker.compact(request, to=2_400)
    assert said not in folded.messages
    assert words[:200] in json.dumps(folded.messages)
    pinned = maker.fit(request, pin=[2])
    assert [message for message in listed[1:3] if message not in pinned.messages] == []
    assert validators.check(pinned.messages, "anthropic") == []
    assert pinned.receipt.tokens_after <= pinned.receipt.room
    assert maker.fit(request, pin=[2]).messages == pinned.messages


def parted(listed, at):
    """The list with the texts of one message in messages of their own."""
    return [*listed[:at], *({"role": "user", "content": [part]} for part in listed[at]["content"]), *listed[at + 1 :]]


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("pin", [(), (2,)], ids=["carried", "pinned"])
def test_what_was_shown_beside_a_checkpoint_is_not_lost_when_a_client_divides_it(pin, caller):
    """The checkpoint leaves out what the view shows itself: the user's newest message, and what is pinned."""
    said = [{"type": "text", "text": "Never push to branch zulu."}, {"type": "text", "text": "Now build the export."}]
    later = [{"role": "user", "content": "Go on with it."}] if pin else []
    listed = [{"role": "user", "content": SAID[0]}, {"role": "assistant", "content": "ok"}]
    listed += [{"role": "user", "content": said}, {"role": "assistant", "content": "Sure."}, *later]
    for step in range(12):
        used = {"type": "tool_use", "id": f"u{step}", "name": "Bash", "input": {"command": f"make {step}"}}
        answer = {"type": "tool_result", "tool_use_id": f"u{step}", "content": f"{step} {FILLER * 60}"}
        listed += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [answer]}]
    maker = Compactor(Budget(window=6_000, reserve=500), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    folded = maker.compact({"messages": listed}, to=900, pin=pin)
    again = maker.fit({"messages": parted(listed, 2)})
    for fitted in (folded, again):
        shown = json.dumps(fitted.messages)
        assert [part["text"] for part in said if part["text"] not in shown] == []
        assert fitted.receipt.tokens_after <= fitted.receipt.room


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reminder_that_a_client_takes_back_does_not_cost_the_fold(dialect):
    """It stood at the end of what was folded. A result that is gone from there is another matter."""
    maker = Compactor(Budget(window=24_000, reserve=2_000), secret=b"s")
    session = Session(dialect).user(f"Build it. {FILLER * 100}").assistant(FILLER * 100)
    session.tools(("Read", json.dumps({"file_path": "f.py"}), FILLER * 1_000))
    request, note = session.request(), "<system-reminder>be nice</system-reminder>"
    said = {"parts": [{"text": note}]} if dialect == "gemini" else {"content": note}
    messages_of(request).append({"role": "user", **said})
    folded = maker.compact(request, to=390)
    assert folded.receipt.kept == 0
    later = session.assistant("ok").user("And now?").request()
    again = maker.fit(later)
    assert again.receipt.checkpoint == folded.receipt.checkpoint
    assert again.receipt.rebased
    del messages_of(later)[-3]
    assert maker.fit(later).receipt.folded == 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stub_that_is_pinned_is_whole_from_then_on_and_the_receipt_says_that_the_view_is_another(dialect):
    maker, session = Compactor(Budget(window=24_000, reserve=2_000), secret=b"s"), Session(dialect).user("Build it.")
    for step in range(12):
        session.tools(("Read", json.dumps({"file_path": f"f{step}.py"}), f"{step} {FILLER * 300}"))
    pruned = maker.fit(session.request())
    bulky = messages_of(session.request())[2]
    assert (pruned.receipt.action, bulky in pruned.messages) == ("prune", False)
    session.assistant("ok").user("And now?")
    pinned, later = maker.fit(session.request(), pin=[2]), maker.fit(session.request())
    assert bulky in pinned.messages
    assert (pinned.receipt.rebased, later.receipt.rebased) == (True, False)
    assert later.messages == pinned.messages


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stub_that_is_pinned_when_a_fold_made_ahead_is_shown_stays_whole_too(dialect):
    maker = Compactor(Budget(window=24_000, reserve=2_000), FakeCaller(), secret=b"s")
    session = Session(dialect).user("Build it.")
    for part in range(26):
        session.assistant(f"Part {part} needs this: {FILLER * 60}").user(f"Then part {part + 1}.")
    for step in range(16):
        session.tools(("Read", json.dumps({"file_path": f"f{step}.py"}), f"{step} {FILLER * 130}"))
    assert maker.fit(session.request()).receipt.action == "prune"
    ready = maker.prepare(session.request())
    for part in range(29):
        session.assistant(f"Part {part} needs this: {FILLER * 70}").user(f"Then part {part + 1}.")
    given = messages_of(session.request())
    at = next(at for at, message in enumerate(given) if f"12 {FILLER}" in json.dumps(message))
    pinned, later = maker.fit(session.request(), pin=[at]), maker.fit(session.request())
    assert (pinned.receipt.action, pinned.receipt.checkpoint) == ("compact", ready.receipt.checkpoint)
    assert given[at] in pinned.messages
    assert later.messages == pinned.messages


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_is_pinned_for_a_fold_ahead_that_comes_to_nothing_does_not_change_the_view(dialect):
    maker = Compactor(Budget(window=24_000, reserve=2_000), secret=b"s")
    session = Session(dialect).user(f"Build it. {FILLER * 100}").assistant(FILLER * 100)
    session.tools(("Read", json.dumps({"file_path": "f.py"}), FILLER * 1_000))
    folded = maker.compact(session.request(), to=390)
    ahead = maker.prepare(session.request(), pin=[1])
    assert (folded.receipt.kept, ahead.receipt.action) == (0, "rest")
    assert maker.fit(session.request()).messages == folded.messages


def test_a_system_message_that_is_pinned_behind_a_fold_stood_there_already():
    maker = Compactor(Budget(window=24_000, reserve=2_000), secret=b"s")
    session = worked(begun("openai-chat"), 0, 12)
    folded = maker.compact(session.request(), to=1_400)
    pinned = maker.fit(session.request(), pin=[0])
    assert (pinned.messages, pinned.receipt.rebased) == (folded.messages, False)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fold_that_was_made_ahead_leaves_room_when_it_is_shown_at_last(dialect):
    """What came since is pruned in the same turn: else the very next one would give up the cache again."""
    budget = Budget(window=16_000, reserve=1_600, target=0.2)
    maker, session = Compactor(budget, secret=b"s"), Session(dialect).user("Build it.")
    for part in range(40):
        session.assistant(f"Part {part} needs this: {FILLER * 50}").user(f"Then part {part + 1}.")
    ready = maker.prepare(session.request())
    for step in range(8):
        session.tools(("Read", json.dumps({"file_path": f"f{step}.py"}), f"{step} {FILLER * 230}"))
    fitted = maker.fit(session.request())
    assert (fitted.receipt.action, fitted.receipt.checkpoint) == ("compact", ready.receipt.checkpoint)
    assert fitted.receipt.tokens_after < 0.7 * fitted.receipt.room
    again = maker.fit(session.request())
    assert (again.receipt.action, again.messages) == ("rest", fitted.messages)
    assert validators.check(fitted.messages, dialect) == []


class TooLong(Exception):
    def __init__(self):
        super().__init__("prompt is too long")


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_refusal_beside_a_large_head_costs_no_rule(dialect, caller):
    maker = Compactor(Budget(window=50_000, reserve=6_000), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    session = Session(dialect, system=f"You are careful. {FILLER * 5_000}").user("Build it.")
    rules = [f"Never touch file conf{number}.toml." for number in range(7)]
    for rule in rules:
        session.assistant("ok").user(rule)
    worked(session, 0, 4)
    sent = []

    def refuse(**request):
        sent.append(json.dumps(request))
        raise TooLong

    with pytest.raises((TooLong, CannotFit)):
        maker.call(refuse, session.request())
    sizes = list(map(len, sent))
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(sizes) > 1
    after = maker.fit(session.user("Go on.").request()).request
    assert [rule for rule in rules for view in (*sent, json.dumps(after)) if rule not in view] == []


def test_what_is_said_again_with_a_picture_is_not_what_was_folded():
    maker, session = Compactor(Budget(window=8_000, reserve=1_000), secret=b"s"), Session().user("Build it.")
    for _ in range(10):
        session.user("continue").tools(("Bash", json.dumps({"command": "make"}), FILLER * 60), text="ok")
    request = session.request()
    last = max(place for place, message in enumerate(request["messages"]) if "continue" in json.dumps(message))
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    request["messages"][last]["content"] = [{"type": "text", "text": "continue"}, picture]
    fed_back = list(maker.compact(request, pivot=last).messages)
    for step in range(6):
        fed_back += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": f"now {step} {FILLER * 200}"}]
    fitted = maker.fit({**request, "messages": fed_back})
    assert fitted.receipt.action == "compact"
    kept = maker.archive.expand(fitted.receipt.checkpoint)
    assert any(b"iVBORw0KGgo=" in (message.raw or b"") for message in kept)
    assert "1 attached" in json.dumps(fitted.messages)


def test_a_message_shown_by_its_ends_stays_the_same_when_the_client_moves_its_cache_marks():
    maker, session = Compactor(Budget(window=3_000, reserve=200), secret=b"s"), worked(begun("anthropic"), 0, 3)
    request = session.user(f"Look at this: {FILLER * 2_000}").request()
    marked = {"cache_control": {"type": "ephemeral"}}
    request["messages"][-1]["content"] = [{**request["messages"][-1]["content"][0], **marked}]
    first = maker.fit(request)
    assert "user-clamped" in [notice.code for notice in first.receipt.notices]
    second = maker.fit(session.assistant("Yes.").user("Go on.").request())
    assert second.receipt.action == "rest"
    assert second.messages[: len(first.messages)] == first.messages
    name = json.dumps(first.messages).partition("original ")[2].split()[0]
    assert b"cache_control" in maker.archive.original(name)


def test_pictures_of_a_message_shown_by_its_ends_are_said_to_be_gone():
    maker, session = Compactor(Budget(window=3_000, reserve=200), secret=b"s"), worked(begun("anthropic"), 0, 3)
    request = session.user(f"Look at this: {FILLER * 2_000}").request()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
    request["messages"][-1]["content"].append(picture)
    fitted = maker.fit(request)
    assert "iVBORw0KGgo=" not in json.dumps(fitted.messages)
    assert "characters and 1 pictures or files of this message left out" in json.dumps(fitted.messages)
    assert [notice for notice in fitted.receipt.notices if "1 attached" in notice.text]


def joined(messages, dialect):
    """The messages as some clients send them: what the user says in a row is one message."""
    slot, found = "parts" if dialect == "gemini" else "content", []
    for message in messages:
        if not found or not all(one.get("role") == "user" and slot in one for one in (message, found[-1])):
            found.append(message)
        elif isinstance(found[-1][slot], str):
            found[-1] = {**found[-1], slot: f"{found[-1][slot]}\n\n{message[slot]}"}
        else:
            found[-1] = {**found[-1], slot: [*found[-1][slot], *message[slot]]}
    return found


@pytest.mark.parametrize("caller", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_view_that_comes_back_joined_loses_nothing(dialect, caller):
    maker = Compactor(Budget(window=6_000, reserve=500), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    session, shown, taken, folds = begun(dialect), [], 0, 0
    for step in range(30):
        request = worked(session, step, step + 1).request()
        whole = messages_of(request)
        given = joined([*shown, *whole[taken:]], dialect)
        fitted = maker.fit({key: given if value is whole else value for key, value in request.items()})
        shown, taken = messages_of(fitted.request), len(whole)
        folds += fitted.receipt.action == "compact"
        text = json.dumps(fitted.request)
        assert [words for words in SAID if words not in text] == []
        assert text.count("# Notes on the conversation so far") == bool(folds)
        assert validators.check(shown, dialect) == []
    assert fitted.receipt.generation == folds > 1
    assert len(maker.archive.expand(fitted.receipt.checkpoint)) > 20


def folded_notes(maker):
    """The checkpoint of another session."""
    request = worked(begun("anthropic"), 0, 30).request()
    texts = [part["text"] for message in maker.fit(request).messages for part in message["content"] if "text" in part]
    return next(text for text in texts if text.startswith("# Notes on the conversation so far"))


@pytest.mark.parametrize("form", ["See:\n\n{}\n\nThat is all.", "{}\n\nTranslate that.", "{}"])
@pytest.mark.parametrize("steps", [2, 10, 30])
def test_a_checkpoint_that_somebody_quotes_takes_nothing_over(form, steps):
    maker = Compactor(Budget(window=8_000, reserve=500), secret=b"s")
    quoted = form.format(folded_notes(maker))
    session = worked(Session("anthropic").user("Review it. Never touch conf9.toml."), 100, 100 + steps).user(quoted)
    fitted = maker.fit(session.request())
    texts = [part.get("text") for message in fitted.messages for part in message["content"]]
    assert quoted in texts, "the newest message stands as it is"
    if fitted.receipt.action == "rest":
        assert fitted.messages == session.request()["messages"]
    folds = 0
    for step in range(12):
        again = maker.fit(worked(session.assistant("ok"), 200 + step, 201 + step).request())
        folds += again.receipt.action == "compact"
        assert "Never touch conf9.toml." in json.dumps(again.messages)
    assert folds < 6, "it does not fold in every turn"


@pytest.mark.parametrize("deep", [False, True])
def test_a_checkpoint_that_a_client_quotes_in_an_element_of_its_own_takes_nothing_over(deep):
    maker = Compactor(Budget(window=8_000, reserve=500), secret=b"s")
    reminder = f"<system-reminder>\nnotes.md was changed. It has now:\n{folded_notes(maker)}\n</system-reminder>"
    messages = [{"role": "user", "content": [{"type": "text", "text": "Build billing. Never touch conf9.toml."}]}]
    messages += worked(Session("anthropic"), 100, 101).request()["messages"][1:] if deep else []
    messages[-1]["content"].append({"type": "text", "text": reminder})
    for step in range(30):
        messages.append({"role": "assistant", "content": [{"type": "text", "text": f"did {step} {FILLER * 20}"}]})
        messages.append({"role": "user", "content": [{"type": "text", "text": f"Next is part {step}."}]})
    told = json.dumps(maker.compact(messages, to=3_000, dialect="anthropic").messages)
    assert "Never touch conf9.toml." in told
    assert not [words for words in SAID if words in told]


def test_what_begins_alike_before_a_joined_checkpoint_does_not_hide_it():
    maker, session = Compactor(Budget(window=8_000, reserve=500), secret=b"s"), worked(begun("anthropic"), 0, 30)
    shown = maker.fit(session.request()).messages
    lead = "# Notes on the build\nUse make.\n\n# Notes on the conversation so far, by Bob"
    first = {"role": "user", "content": f"{lead}\n\n{shown[0]['content'][0]['text']}"}
    more = [{"role": "user", "content": [{"type": "text", "text": f"more {n} {FILLER * 40}"}]} for n in range(25)]
    answers = [{"role": "assistant", "content": [{"type": "text", "text": f"did {n}"}]} for n in range(25)]
    view = [first, *shown[1:], *(one for pair in zip(answers, more, strict=True) for one in pair)]
    fitted = maker.fit(view)
    assert fitted.receipt.action == "compact"
    assert json.dumps(fitted.messages).count("These notes stand for ") == 1


def test_cache_marks_are_not_multiplied_when_a_message_is_divided():
    maker, session = Compactor(Budget(window=8_000, reserve=500), secret=b"s"), worked(begun("anthropic"), 0, 30)
    shown = joined(maker.fit(session.request()).messages, "anthropic")
    text = "\n\n".join(part["text"] for part in shown[0]["content"])
    shown[0] = {"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]}
    answer = {"role": "assistant", "content": [{"type": "text", "text": "yes"}]}
    fitted = maker.fit([*shown, answer, {"role": "user", "content": "Go on."}])
    assert json.dumps(fitted.messages).count("cache_control") == 1


@pytest.mark.parametrize("client", ["prepends", "joins"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_view_with_pinned_steps_is_known_whatever_a_client_puts_before_or_together(dialect, client):
    """One puts today's date before the messages, another joins pinned messages that now stand side by side."""
    maker = Compactor(Budget(window=5_000, reserve=600), secret=b"s")
    session = begun(dialect).tools(("Read", '{"file_path": "spec.md"}', "PINNED spec."), text="reading").assistant("ok")
    kept = ("PINNED", *(SAID[:2] if client == "joins" else ()))
    shown, taken, folds = [], 0, 0
    for step in range(30):
        request = worked(session, step, step + 1).request()
        whole = messages_of(request)
        given = [*shown, *whole[taken:]]
        pins = [at for at, one in enumerate(given) if any(word in json.dumps(one) for word in kept) and not folds]
        date = messages_of(Session(dialect).user(f"Today is day {step}.").request()) if client == "prepends" else []
        given = given if not folds else joined(given, dialect) if client == "joins" else [*date, *given]
        fitted = maker.fit({key: given if value is whole else value for key, value in request.items()}, pin=pins)
        shown, taken = [one for one in messages_of(fitted.request) if one not in date], len(whole)
        folds += fitted.receipt.action == "compact"
        text = json.dumps(fitted.request)
        assert [words for words in SAID if words not in text] == []
        assert text.count("# Notes on the conversation so far") == bool(folds)
    assert fitted.receipt.generation == folds > 1


@pytest.mark.parametrize("caller", [False, True])
def test_what_the_user_says_while_a_tool_runs_does_not_cost_the_room_of_its_result(caller):
    """Agents send what was typed in the meantime in one message with the result that they waited for."""
    messages = [{"role": "user", "content": "Why do the tests take so long?"}]
    for n in range(30):
        used = {"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"go test ./part_{n}/..."}}
        said = {"type": "text", "text": f"Part {n} builds its own binary in setup_{n}.go."}
        result = {"type": "tool_result", "tool_use_id": f"t{n}", "content": f"ok part_{n} 3.2s\n" * 200}
        typed = [{"type": "text", "text": "and look at the fixtures too"}] if n == 20 else []
        messages += [{"role": "assistant", "content": [said, used]}, {"role": "user", "content": [result, *typed]}]
    maker = Compactor(Budget(window=100_000, reserve=3_000), FakeCaller([SUMMARY]) if caller else None, secret=b"s")
    fitted = maker.compact(messages, dialect="anthropic", to=1_200)
    text = json.dumps(fitted.messages)
    assert "and look at the fixtures too" in text
    assert text.count("go test ./part_") > 5
    assert 600 < fitted.receipt.tokens_after <= 1_200


def test_after_a_fold_from_a_pivot_everything_keeps_its_number_and_its_order():
    maker = Compactor(Budget(window=60_000, reserve=600), secret=b"s")
    texts = [
        "Build the importer. Always indent with tabs.",
        "FIRST I begin with the parser.",
        "Go on with the reader.",
        "SECOND the reader is done.",
        "I changed my mind: never indent with tabs, always use spaces.",
        "THIRD spaces it is.",
        "Now write the tests.",
        "FOURTH the tests are written.",
        "And the docs please.",
        "FIFTH the docs are written.",
        "Thanks. Now release it, please.",
        "SIXTH it is released.",
        "Tell the others.",
    ]
    said = [
        {"role": ("user", "assistant")[number % 2], "content": f"{text} {FILLER * 150 * (number % 2)}".strip()}
        for number, text in enumerate(texts)
    ]
    shown = maker.compact(said[:9], to=3_000, direction="from", pivot=4, dialect="anthropic").messages
    text = maker.compact([*shown, *said[9:]], to=2_000, dialect="anthropic").checkpoint.text
    assert "These notes stand for 12 messages." in text
    assert f"First asked: “{texts[0]}”" in text
    numbers = {words: at + 1 for at, words in enumerate(texts)}
    lines = re.findall(r"^\[(\d+)\] (\w+ .*?\.)(?: |$)|^- “(.*?)” \[(\d+)\]", text, re.M)
    told = [(log or rule, int(number or ruled)) for number, log, rule, ruled in lines]
    assert {words: number for words, number in told if words in numbers}.items() <= numbers.items()
    assert [text.count(words) for words in texts[2:11:2]] == [1] * 5
    places = [text.index(word) for word in ("FIRST", "SECOND", "THIRD", "FOURTH", "FIFTH", "SIXTH") if word in text]
    assert places == sorted(places)
    assert len(places) > 3


def did(number, name, result="ok", **arguments):
    call = {"id": f"call-{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    answer = {"role": "tool", "tool_call_id": f"call-{number}", "content": result}
    return [{"role": "assistant", "content": f"Step {number}.", "tool_calls": [call]}, answer]


@pytest.mark.parametrize(
    ("last", "told"), [(True, "No file is known to have changed"), (False, "Changed after the agent's")]
)
def test_what_is_committed_is_told_as_of_now(last, told):
    """The commit stands in the step that stays."""
    messages = [{"role": "user", "content": "Mend the rows."}]
    steps = [did(n, "Edit", file_path=f"/repo/rows_{n}.py", old_string="a", new_string="b") for n in range(40)]
    commit = did(99, "Bash", "[main 1a2b3c4] Mend the rows", command="git commit -am 'Mend the rows'")
    steps = [*steps, commit] if last else [commit, *steps]
    messages += [message for step in steps for message in step]
    folded = Compactor(Budget(window=1 << 30, reserve=0)).compact(messages, to=1_800)
    assert told in folded.checkpoint.text
    assert len(folded.messages) < 8


def put_together(request, how):
    """The last two messages, both the user's, as one."""
    rows = messages_of(request)
    one, other = (row.get("parts") or row["content"] for row in rows[-2:])
    if isinstance(one, str):
        one, other = [{"type": "text", "text": one}], [{"type": "text", "text": other}]
    joined = [*one, *other]
    if how == "a text":
        joined = [{**one[0], "text": "\n\n".join(part["text"] for part in joined)}]
    rows[-2:] = [{**rows[-1], "parts" if "parts" in rows[-1] else "content": joined}]
    return request


@pytest.mark.parametrize("how", ["a text", "parts"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_a_client_puts_into_the_message_before_it_does_not_cost_the_fold(dialect, how, tmp_path):
    """Also when another process goes on."""
    archive = Archive(tmp_path / "a.db")
    maker, session = Compactor(Budget(window=60_000, reserve=2_000), archive=archive), worked(begun(dialect), 0, 12)
    maker.compact(session.request())
    folded = maker.compact(session.assistant("Well.").user("One.").request(), to=900)
    request = put_together(session.user("Two.").request(), how)
    later = Compactor(Budget(window=60_000, reserve=2_000), archive=Archive(tmp_path / "a.db"))
    for fitted in (maker.fit(request), later.fit(request)):
        assert fitted.receipt.generation == 2
        assert not fitted.receipt.rebased
        assert fitted.messages[:-1] == folded.messages[:-1]
        assert fitted.messages[-1] == messages_of(request)[-1]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fold_that_ends_within_a_message_by_now_is_not_shown_and_the_receipt_says_that_the_view_is_another(dialect):
    maker, session = Compactor(Budget(window=60_000, reserve=2_000)), worked(begun(dialect), 0, 12)
    maker.compact(session.request())
    folded = maker.compact(session.user("One." + " Look at all of it." * 60).request(), to=700)
    assert folded.receipt.kept == 0
    fitted = maker.fit(put_together(session.user("Two.").request(), "a text"))
    assert (fitted.receipt.generation, fitted.receipt.rebased) == (1, True)
    assert "Two." in json.dumps(fitted.messages[-1])
