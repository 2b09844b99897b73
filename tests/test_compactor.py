"""The façade: plain dicts in, plain dicts out; what each door does, and what it leaves untouched."""

import asyncio
import base64
import copy
import inspect
import json
import threading
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline import Archive, Budget, CannotFit, Compactor, MemoryArchive, sources, validators
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.errors import FoldlineError, InputError, InvalidSetting, Overloaded
from foldline.model import Text
from foldline.testing import SUMMARY, FakeCaller, Session

DIALECTS = ("anthropic", "openai-chat", "openai-responses", "gemini")
SLOTS = {"gemini": "contents", "openai-responses": "input"}
ROOM = Budget(window=4_000, reserve=500)
LISTING = "\n".join(f"src/module_{number}.py: def handler_{number}(request): return {number}" for number in range(40))
RULE = "Whatever comes, legacy.py stays as it is."


def working(turns=12, dialect="anthropic", **head):
    session = Session(dialect, system="You are careful.", **head).user(f"Sort the handlers. {RULE}")
    for number in range(turns):
        work(session, number)
    return session


def work(session, number):
    return session.tools(("Bash", json.dumps({"command": f"cat part_{number}.txt"}), f"{number}\n{LISTING}"))


def compactor(budget=ROOM, **options):
    return Compactor(budget, meter=Meter(Estimator()), secret=b"s", **options)


def written(value):
    return json.dumps(value, sort_keys=True)


class Refusal(Exception):
    """An SDK's error: what the provider said, and its status."""

    def __init__(self, body, status=400):
        self.body, self.status_code = body, status
        super().__init__(written(body))


def too_long(tokens, limit):
    said = f"prompt is too long: {tokens} tokens > {limit} maximum"
    return Refusal({"type": "error", "error": {"type": "invalid_request_error", "message": said}})


# --- checkpoints ----------------------------------------------------------------------------------------------------


def test_what_failed_before_one_fold_and_succeeds_before_the_next_is_told_as_cured():
    make = ("Bash", json.dumps({"command": "make all"}))
    session = working(2).tools((*make, "Exit code 2\nmake: *** no rule for it"), failed=True)
    for number in range(2, 12):
        work(session, number)
    folding = compactor()
    first = folding.compact(session.request(), to=1_500).checkpoint.text
    session.tools((*make, "done"))
    for number in range(12, 20):
        work(session, number)
    second = folding.compact(session.request(), to=1_500).checkpoint.text
    assert "`make: *** no rule for it` — not seen to be cured (of `make all`)" in first
    assert "`make: *** no rule for it` — `make all` succeeded later" in second


# --- fit ----------------------------------------------------------------------------------------------------------


def test_what_the_caller_said_is_neither_changed_nor_written_anew():
    request = working().request()
    before = copy.deepcopy(request)
    fitted = compactor().fit(request)
    assert fitted.receipt.action == "compact"
    newest = request["messages"][-1]
    assert fitted.messages[-1] is not newest
    assert fitted.messages[-1]["content"] is newest["content"]
    fitted.messages[-1]["content"] = "spoilt"
    fitted.messages.clear()
    assert request == before


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_view_is_given_back_as_it_would_be_written(dialect):
    session = working(dialect=dialect)
    fitted = compactor().fit(session.request())
    assert fitted.receipt.action == "compact"
    assert fitted.request == sources.write(fitted.view)


def test_what_is_changed_while_a_model_writes_is_given_back_as_it_was_read():
    request = working().request()
    expected = compactor(model=FakeCaller()).fit(copy.deepcopy(request)).request

    def meddle(_):
        request["messages"][-1]["content"] = "changed meanwhile"
        return SUMMARY

    assert compactor(model=FakeCaller([meddle])).fit(request).request == expected


@pytest.mark.parametrize("model", [None, FakeCaller()])
def test_one_who_could_not_fit_a_request_is_as_good_as_new(model):
    """Asked again it says the same, and what it can fit it fits as another would."""
    session = working(turns=6)
    maker = compactor(model=model)
    hopeless = {**session.request(), "system": "Be careful. " * 4_000}
    said = []
    for ask in (maker.fit, maker.fit, maker.compact, maker.compact):
        with pytest.raises(CannotFit) as raised:
            ask(hopeless)
        said.append((raised.value.tokens, raised.value.allowed))
    assert said[0] == said[1]
    assert said[2] == said[3]
    with pytest.raises(CannotFit):
        asyncio.run(maker.afit(hopeless))
    fitted = maker.compact(session.request())
    assert fitted.receipt.action == "compact"
    assert fitted.request == compactor(model=model).compact(session.request()).request


def test_a_text_much_larger_than_the_window_is_fitted_in_a_moment():
    lines = "".join(f"{number}: never say that the handler must fail.\n" for number in range(100_000))
    session = Session().user("Start.").assistant("Yes.").user(f"Look at this. Always be brief. {lines}")
    began = time.process_time()
    fitted = compactor(model=FakeCaller()).fit(session.request())
    assert "user-clamped" in [notice.code for notice in fitted.receipt.notices]
    assert fitted.receipt.tokens_after <= ROOM.room
    assert time.process_time() - began < 8  # two, where nobody else uses the machine; it was twenty


def test_a_request_that_fits_comes_back_as_the_very_object():
    request = Session().user("hello").request()
    fitted = compactor().fit(request)
    assert fitted.request is request
    assert (fitted.receipt.action, fitted.receipt.rebased, fitted.checkpoint) == ("rest", False, None)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_that_does_not_fit_is_folded_into_one_its_provider_accepts(dialect):
    request = working(dialect=dialect).request()
    before = copy.deepcopy(request)
    fitted = compactor().fit(request)
    assert request == before, "the request given is never changed"
    assert fitted.receipt.action == "compact"
    assert fitted.receipt.tokens_after <= ROOM.room < fitted.receipt.tokens_before
    assert validators.check(fitted.messages, dialect) == []
    assert fitted.messages is fitted.request[SLOTS.get(dialect, "messages")]
    assert RULE in written(fitted.request)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_list_of_messages_comes_back_as_a_list(dialect):
    messages = working(dialect=dialect).request()[SLOTS.get(dialect, "messages")]
    fitted = compactor().fit(messages, dialect=dialect)
    assert isinstance(fitted.request, list)
    assert fitted.messages is fitted.request
    assert len(fitted.messages) < len(messages)
    assert validators.check(fitted.messages, dialect) == []


def test_the_rest_of_the_request_is_untouched():
    request = {**working().request(), "metadata": {"user_id": "u"}, "tools": [{"name": "Bash", "input_schema": {}}]}
    shown = compactor().fit(request).request
    assert {key: value for key, value in shown.items() if key != "messages"} == {
        key: value for key, value in request.items() if key != "messages"
    }


def test_the_reply_s_limit_takes_room_from_the_prompt():
    session = working(4)
    small = compactor().fit(session.request())
    large = compactor().fit({**session.request(), "max_tokens": 1_900})
    assert small.receipt.action == "rest"
    assert large.receipt.action == "compact"
    assert large.receipt.room == ROOM.window - 1_900


def test_views_extend_one_another_until_the_receipt_says_otherwise():
    maker = compactor(Budget(window=6_000, reserve=500), model=FakeCaller())
    session, last, rebased = working(1), "", 0
    for number in range(1, 60):
        work(session, number)
        fitted = maker.fit(session.request())
        shown = written(fitted.messages)[:-1]
        if fitted.receipt.rebased:
            rebased += 1
        else:
            assert shown.startswith(last)
        last = shown
    assert 3 < rebased < 20


def test_objects_of_provider_sdks_may_stand_in_the_content():
    class Block:
        def __init__(self, **fields):
            self.fields = fields

        def to_dict(self):
            return dict(self.fields)

    class Dumped(Block):
        to_dict = None

        def model_dump(self):
            return dict(self.fields)

    request = working().request()
    plain = compactor().fit(request).request
    for message in request["messages"]:
        if isinstance(message["content"], list):
            kind = Block if message["role"] == "user" else Dumped
            message["content"] = [kind(**block) for block in message["content"]]
    assert compactor().fit(request).request == plain


def test_nothing_legal_fits_and_the_smallest_view_is_handed_over():
    session = Session(system="rules " * 5_000).user("hello").assistant("hi").user("more")
    with pytest.raises(CannotFit) as error:
        compactor().fit(session.request())
    smallest = error.value.smallest
    assert error.value.tokens == Meter(Estimator()).count(smallest).tokens > error.value.allowed == ROOM.room
    assert validators.check(compactor()._reader.write(smallest)["messages"], "anthropic") == []


def test_every_original_can_be_had_back():
    archive = MemoryArchive()
    maker = compactor(archive=archive)
    session = working()
    fitted = maker.fit(session.request())
    messages = session.conversation().messages
    assert [archive.original(message.identity) for message in messages] == [message.raw for message in messages]
    assert archive.expand(fitted.receipt.checkpoint) == messages[: fitted.receipt.folded]


def test_two_models_of_one_compactor_are_counted_each_by_its_own_reports():
    maker = Compactor(ROOM, secret=b"s")
    request = working(3, model="one").request()
    fitted = maker.fit(request)
    maker.learn(fitted, {"usage": {"input_tokens": int(fitted.receipt.tokens_after * 1.4), "output_tokens": 1}})
    again = maker.fit({**request, "model": "two"})
    assert again.receipt.tokens_before == fitted.receipt.tokens_before
    assert maker.fit(request).receipt.tokens_before == int(fitted.receipt.tokens_after * 1.4)


# --- compact ------------------------------------------------------------------------------------------------------


def test_compact_folds_what_fit_would_leave():
    session = working(4)
    maker = compactor(model=FakeCaller())
    assert maker.fit(session.request()).receipt.action == "rest"
    folded = maker.compact(session.request(), focus="the handlers", to=1_200)
    assert folded.receipt.action == "compact"
    assert folded.receipt.tokens_after <= 1_200
    assert folded.checkpoint.recipe.focus == "the handlers"
    assert folded.checkpoint.recipe.kind == "manual"
    assert maker.fit(session.request()).messages == folded.messages, "and the fold holds from then on"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_fold_that_nobody_asked_for_knows_an_agent_amid_its_work_from_one_between_turns(dialect):
    amid = working(30, dialect)
    between = working(30, dialect).user("And now the writer, please.")
    assert compactor().fit(amid.request()).checkpoint.recipe.kind == "mid-loop"
    assert compactor().fit(between.request()).checkpoint.recipe.kind == "regular"
    assert compactor().prepare(amid.request()).checkpoint.recipe.kind == "mid-loop"
    assert compactor().compact(amid.request(), kind="regular").checkpoint.recipe.kind == "regular"


def test_words_of_the_users_beside_a_result_begin_a_turn():
    request = working(30).request()
    said = {"type": "text", "text": "And now the writer, please."}
    last = {**request["messages"][-1], "content": [*request["messages"][-1]["content"], said]}
    fitted = compactor().fit({**request, "messages": [*request["messages"][:-1], last]})
    assert fitted.checkpoint.recipe.kind == "regular"


@pytest.mark.parametrize("model", [None, FakeCaller([SUMMARY])])
@given(st.lists(st.integers(60, 2_500), min_size=2, max_size=4), st.booleans())
def test_what_was_folded_can_be_folded_smaller_though_nothing_is_new(model, sizes, comes_back):
    maker, request = compactor(model=model), working(6).request()
    for to in sizes:
        with suppress(CannotFit):
            folded = maker.compact(request, to=to)
            assert folded.receipt.tokens_after <= to
            assert RULE in written(folded.request)
            request = folded.request if comes_back else request


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_is_told_as_answered_only_where_the_answer_is_the_last_of_all(dialect):
    session = working(12, dialect).user("Push it, please.").assistant("Pushed.")
    told = compactor().compact(session.request(), to=2_000).checkpoint.text
    assert "LAST ASKED, perhaps done: “Push it, please.”" in told
    for number in range(20, 23):  # it goes on without a word of the user's, and without a word of its own
        work(session, number)
    maker = compactor()
    for to in (2_500, 2_000):
        told = maker.compact(session.request(), to=to).checkpoint.text
        assert "LAST ASKED" not in told
        assert "CONTINUE: “Push it, please.”" in told


@pytest.mark.parametrize("dialect", ["anthropic", "openai-responses", "gemini"])
def test_without_messages_there_is_nothing_to_fold_however_large_the_rest_is(dialect):
    request = {**Session(dialect, system="You are careful. " * 4_000).request(), SLOTS.get(dialect, "messages"): []}
    with pytest.raises(CannotFit):
        compactor().fit(request, dialect=dialect)


@pytest.mark.parametrize("model", [None, FakeCaller([SUMMARY])])
@pytest.mark.parametrize("to", [600, 3_000])
def test_behind_a_question_without_an_answer_nobody_is_told_to_go_on(model, to):
    asked = working(6).assistant("That was the last one. Shall I delete legacy.py now?").request()
    going_on = compactor(model=model).compact(asked, to=to).checkpoint.text.split("How to go on")[-1]
    assert "wait for it" in going_on
    assert "Go on with" not in going_on
    answered = working(6).assistant("Shall I delete legacy.py now?").user("No, leave it.").request()
    assert "wait for it" not in compactor(model=model).compact(answered, to=to).checkpoint.text


@pytest.mark.parametrize("messages", [[], [{"role": "user", "content": "hello"}]])
def test_where_there_is_nothing_to_fold_the_input_comes_back(messages):
    request = {"model": "m", "messages": messages}
    fitted = compactor().compact(request, dialect="anthropic")
    assert fitted.request is request
    assert fitted.receipt.action == "rest"


def test_a_fold_that_is_not_smaller_is_not_taken():
    session = Session().user("hello").assistant("hi").user("and?").assistant("well").user("go on")
    fitted = compactor(model=FakeCaller()).compact(request := session.request())
    assert fitted.request is request
    assert [notice.code for notice in fitted.receipt.notices] == ["no-progress"]
    outcomes = [attempt.outcome for attempt in fitted.receipt.attempts]
    assert outcomes == ["not taken: a view with it would not be smaller"]


@pytest.mark.parametrize("times", [1, 30, 300])
@pytest.mark.parametrize("to", [700, 900, 1_100, 1_300, 1_600])
def test_what_a_model_wrote_is_shown_or_said_to_be_left(times, to):
    folding = compactor(model=FakeCaller([SUMMARY * times]))
    receipt = folding.compact(working().user("log line 4711 failed\n" * 80).request(), to=to).receipt
    [attempt] = receipt.attempts
    if receipt.author == "fake":
        assert attempt.outcome == "written"
    else:
        assert attempt.outcome.startswith("not taken: a view with it has ")


@pytest.mark.parametrize("style", ["checkpoint", "full", "report", "brief"])
def test_each_style_is_asked_for_and_rendered_in_its_own_sections(style):
    replies = {
        "checkpoint": SUMMARY,
        "full": "## Primary Request and Intent\nSort.\n\n## Current Work\nIt.\n\n## Immediate Task\nCONTINUE: sort",
        "report": "## User Intent\nSort.\n\n## Current State\nSorting.\n\n## Immediate Task\nCONTINUE: sort",
        "brief": "## Key Decisions\n- to sort\n\n## Immediate Task\nCONTINUE: sort",
    }
    model = FakeCaller([replies[style]])
    folded = compactor(Budget(window=8_000), model=model).compact(working().request(), style=style)
    assert folded.checkpoint.recipe.style == style
    assert folded.receipt.author == "fake"
    heading = replies[style].split("\n")[0]
    assert heading in model.asked[0].prompt
    assert heading in folded.checkpoint.text


def test_up_to_a_pivot_everything_before_it_is_folded_and_nothing_after():
    session = working(6)
    folded = compactor().compact(session.request(), pivot=7)
    assert folded.receipt.folded == 7
    assert folded.messages[-6:] == session.request()["messages"][-6:]


def test_from_a_pivot_the_beginning_stays_word_for_word():
    session = working(6)
    request = session.request()
    maker = compactor()
    folded = maker.compact(request, direction="from", pivot=7)
    assert folded.messages[:7] == request["messages"][:7]
    assert len(folded.messages) == 8
    assert "cat part_5.txt" in folded.messages[7]["content"][0]["text"]
    later = maker.fit(session.user("and now?").request())
    assert later.messages[:8] == folded.messages
    assert later.messages[8:] == session.request()["messages"][-1:]
    assert validators.check(later.messages, "anthropic") == []


def test_from_a_pivot_behind_a_fold_the_view_is_folded_and_the_whole_history_refused():
    session = working(8)
    maker = compactor()
    folded = maker.compact(session.request(), pivot=9)
    shown = folded.messages
    with pytest.raises(InputError, match=f"first {folded.receipt.folded} messages are folded already"):
        maker.compact(session.request(), direction="from", pivot=13)
    again = maker.compact({**session.request(), "messages": shown}, direction="from", pivot=len(shown) - 4)
    assert again.messages[: len(shown) - 4] == shown[:-4]
    assert len(again.messages) == len(shown) - 3
    assert validators.check(again.messages, "anthropic") == []


def test_where_nothing_is_small_enough_the_smallest_view_may_be_what_was_given():
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with pytest.raises(CannotFit, match="a larger `to`") as raised:
        compactor().compact(request, to=1)
    assert [message.text for message in raised.value.smallest.messages] == ["hi"]
    assert raised.value.tokens < 20


@pytest.mark.parametrize("door", ["fit", "compact", "acompact", "preview", "prepare"])
def test_an_unknown_option_is_refused_by_the_name_of_the_door(door):
    with pytest.raises(TypeError, match=rf"Compactor\.{door}\(\) got an unexpected keyword argument 'speed'"):
        getattr(compactor(), door)(working().request(), speed="high")


def test_both_ways_to_fold_and_the_preview_take_the_same():
    named = [
        list(inspect.signature(getattr(Compactor, door)).parameters) for door in ("compact", "acompact", "preview")
    ]
    assert named[0] == named[1] == named[2]
    assert "**" not in str(inspect.signature(Compactor.compact))


def test_the_docstring_tells_of_every_parameter():
    for name in inspect.signature(Compactor).parameters:
        assert f"\n    {name:<12}" in inspect.getsource(Compactor), name
    for name in [*inspect.signature(Compactor.compact).parameters][2:]:
        assert f"\n        {name:<12}" in inspect.getsource(Compactor.compact), name


@pytest.mark.parametrize(
    ("budget", "advice"),
    [
        (128_000, r"budget is 128000; give Budget\(window=128_000\), or Budget\.for_model\("),
        ("gpt-5", r"Budget\.for_model\('gpt-5'\)"),
        (None, r"Budget\(window=200_000\)"),
        (True, r"Budget\(window=200_000\)"),
    ],
)
def test_what_is_no_budget_is_refused_at_once_with_what_to_give(budget, advice):
    with pytest.raises(InvalidSetting, match=advice):
        Compactor(budget)


@pytest.mark.parametrize("switch", ["silent", "approval", "questions", "mask_secrets"])
@pytest.mark.parametrize("value", ["no", None, 0, []])
def test_a_switch_that_is_neither_on_nor_off_is_refused(switch, value):
    with pytest.raises(InvalidSetting, match=rf"{switch} is .*; give True or False"):
        Compactor(ROOM, **{switch: value})


@pytest.mark.parametrize("patience", [-1, "5", None, True, float("nan")])
def test_a_patience_that_is_none_is_refused(patience):
    with pytest.raises(InvalidSetting, match=r"patience is .*; give the seconds"):
        Compactor(ROOM, patience=patience)


def test_a_request_in_the_place_of_what_fit_returned_is_refused_with_what_to_give():
    sent, maker = working().request(), compactor()
    for wrong in (lambda: maker.learn(sent, {}), lambda: maker.on_overflow(sent, too_long(9_000, 8_000))):
        with pytest.raises(InvalidSetting, match="fitted is a dict; give what fit, compact or on_overflow returned"):
            wrong()
    with pytest.raises(InvalidSetting, match="fitted is a dict"):
        asyncio.run(maker.aon_overflow(sent, too_long(9_000, 8_000)))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Budget(window=0),
        lambda: Budget(window="8k"),
        lambda: Budget(window=8_000, reserve=8_000),
        lambda: Budget(window=8_000, reserve="many"),
        lambda: Budget(window=8_000, target="half"),
        lambda: Compactor(ROOM, "nonsense"),
        lambda: Compactor(ROOM, style="prose"),
        lambda: Compactor(ROOM, style=["report"]),
        lambda: Compactor(ROOM, style="up-to"),
        lambda: Compactor(ROOM, archive="folds.db"),
        lambda: Compactor(ROOM, 5),
        lambda: Compactor(ROOM, fallback=object()),
        lambda: Compactor(ROOM, scope=5),
        lambda: Compactor(ROOM, root=5),
        lambda: Compactor(ROOM, agenda=True),
        lambda: Compactor(ROOM, memory="CLAUDE.md"),
        lambda: Compactor(ROOM, memory=[5]),
        lambda: Compactor(ROOM, secret="s"),
        lambda: Compactor(ROOM, prune=500),
        lambda: compactor().compact(working().request(), style=["x"]),
        lambda: compactor().call(print, [{"role": "user", "content": "hi"}]),
        lambda: compactor().compact(working().request(), to=0),
        lambda: compactor().fit(working().request(), pin=[99]),
    ],
)
def test_a_wrong_setting_is_an_error_of_ours_and_a_value_error(wrong):
    with pytest.raises(FoldlineError) as raised:
        wrong()
    assert isinstance(raised.value, ValueError)
    assert isinstance(raised.value, InvalidSetting)


def test_a_model_reads_in_pieces_that_its_window_holds_as_its_caller_says_or_the_table_or_else_its_server():
    session = Session("anthropic")
    for number in range(30):
        session.user(f"Part {number}: " + " ".join(f"the row {number}-{row} is sound." for row in range(400)))
    asked = {}
    for name, window in (("openai:gpt-5", None), ("ollama:gpt-5", None), ("ollama:gpt-5", 272_000)):
        model = FakeCaller(name=name, window=window)
        compactor(Budget(window=40_000), model=model).compact(session.request(), to=8_000)
        asked[name, window] = len(model.asked)
    assert asked["openai:gpt-5", None] == asked["ollama:gpt-5", 272_000] == 1
    assert asked["ollama:gpt-5", None] > 1


def test_a_turn_whose_patience_is_over_asks_nobody_and_is_extracted():
    heard, model = [], FakeCaller(name="anthropic:claude-haiku-4-5")
    fitted = compactor(model=model, patience=0, listen=heard.append).fit(working().request())
    assert (model.asked, fitted.receipt.author) == ([], "extraction, without a model")
    assert "give the Compactor a longer patience=" in str(fitted.receipt)
    over = "no request, the 0 seconds for all questions of one turn are over"
    assert [notice.text for notice in heard] == [f"anthropic:claude-haiku-4-5: {over}"]


def test_conversations_that_begin_alike_are_fitted_at_the_same_time_as_each_by_itself():
    requests = [working(12 + number).request() for number in range(4)]
    wanted = [compactor(model=FakeCaller()).fit(request).request for request in requests]
    together = threading.Barrier(len(requests), timeout=30)

    def all_at_once(_):
        together.wait()
        return SUMMARY

    class Waiting(FakeCaller):
        def ask(self, ask):
            return FakeCaller([all_at_once]).ask(ask)

    maker, found = compactor(model=Waiting()), {}
    threads = [
        threading.Thread(target=lambda n=number: found.update({n: maker.fit(requests[n]).request}))
        for number in range(len(requests))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [found.get(number) for number in range(len(requests))] == wanted


# --- pins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pinned_messages_stay_with_their_cycle_through_every_fold(dialect):
    session = working(dialect=dialect)
    step = 2 if dialect == "openai-chat" else 1
    maker = compactor(Budget(window=5_000, reserve=500))
    for number in range(12, 40):
        fitted = maker.fit(work(session, number).request(), pin=[step])
        shown = fitted.view.messages
        assert validators.check(fitted.messages, dialect) == []
        assert {"command": "cat part_0.txt"} in [call.parsed() for message in shown for call in message.calls]
        assert f"0\n{LISTING}" in [result.text for message in shown for result in message.results]
    assert fitted.receipt.generation > 2


@pytest.mark.parametrize("pins", [[1], [2], [1, 2]])
@pytest.mark.parametrize("asked", [0, 40])
def test_the_notes_do_not_repeat_what_is_pinned(pins, asked):
    session = Session().user("Mend the parser.").tools(("bash", '{"command": "ls"}', "a.py"))
    session.messages[-1] = session.messages[-1].with_parts((*session.messages[-1].parts, Text("It feels slow to me.")))
    for number in range(41):
        work(session.user("Now the lexer.") if number == asked else session, number)
    fitted = Compactor(Budget(window=6_000, reserve=500)).compact(session.request(), pin=pins)
    assert json.dumps(fitted.messages).count("It feels slow to me.") == 1


def test_a_call_that_was_pinned_before_its_result_came_is_shown_with_it():
    session = working().tools(("make", "{}", "built"))
    messages, maker = session.request()["messages"], compactor()
    waiting = maker.compact(messages[:-1], dialect="anthropic", pin=[-1], pivot=len(messages) - 1)
    assert waiting.receipt.repairs["missing-result"] == 1
    later = maker.compact(work(session, 12).request())
    assert later.receipt.generation == 2
    assert "missing-result" not in later.receipt.repairs
    assert next(result.text for message in later.view.messages for result in message.results) == "built"


def test_a_message_pinned_after_it_was_folded_is_shown_again():
    session = working()
    maker = compactor()
    first = maker.fit(session.request())
    assert "cat part_2.txt" not in written([m["content"] for m in first.messages if m["role"] == "assistant"])
    again = maker.fit(session.request(), pin=[5])
    assert again.receipt.rebased
    assert again.receipt.rewritten > 0
    assert again.receipt.tokens_before == first.receipt.tokens_after < again.receipt.tokens_after
    assert session.request()["messages"][5] in again.messages
    third = maker.fit(session.user("go on").request())
    assert third.messages[: len(again.messages)] == again.messages
    assert not third.receipt.rebased


def test_pins_count_from_the_end_too_and_must_name_a_message():
    session = working()
    fitted = compactor().fit(session.request(), pin=[-len(session.messages)])
    assert fitted.messages[0] == session.request()["messages"][0]
    with pytest.raises(InputError, match="pin 25 names no message: there are 25"):
        compactor().fit(session.request(), pin=[25])


# --- preview, prepare ---------------------------------------------------------------------------------------------


def test_a_preview_asks_no_model_keeps_nothing_and_says_nothing():
    heard = []
    model, archive = FakeCaller(), MemoryArchive()
    maker = compactor(Budget(window=4_000, reserve=500), model=model, archive=archive, listen=heard.append)
    session = working().user("log line 4711 failed\n" * 1_500)
    receipt = maker.preview(session.request())
    assert receipt.action == "compact"
    assert receipt.tokens_after <= ROOM.room
    assert (model.asked, heard) == ([], [])
    assert not any(vars(archive)[name] for name in vars(archive) if name != "_lock")
    assert maker.fit(session.request()).receipt.generation == 1


def test_a_preview_with_any_argument_of_a_fold_is_one_of_a_fold():
    request = working(4).request()
    assert compactor().preview(request, pin=[0], dialect="anthropic").action == "rest"
    for how in ({"kind": "manual"}, {"focus": ""}, {"style": "report"}, {"direction": "up-to"}, {"pivot": 5}):
        assert compactor().preview(request, **how).reason == "asked for"


def test_the_reason_of_a_receipt_tells_why_nothing_was_done():
    maker, small = compactor(), Session(system="You are careful.").user("hello")
    receipt = maker.compact(small.request()).receipt
    assert (receipt.action, receipt.reason) == ("rest", "a fold would make it no smaller")
    above_the_mark = compactor().fit(Session().user("word " * 2_700).request()).receipt
    assert (above_the_mark.action, above_the_mark.tokens_before > ROOM.at(ROOM.prune_at)) == ("rest", True)
    assert above_the_mark.reason.endswith("% of 3,500, but no more results are worth shortening")


def test_the_reason_of_a_fold_after_a_refusal_is_the_refusal():
    maker = compactor(Budget(window=40_000))
    again = maker.on_overflow(maker.fit(working().request()), too_long(9_000, 8_000))
    assert (again.receipt.action, again.receipt.reason) == ("compact", "the provider refused the request as too long")


def test_of_an_emergency_that_a_program_asks_for_nobody_says_that_the_provider_refused():
    maker, small = compactor(Budget(window=40_000)), talk(1)[:1]
    assert maker.compact(working().request(), kind="emergency").receipt.reason == "asked for"
    assert maker.preview(working().request(), kind="emergency").reason == "asked for"
    assert maker.compact(small, kind="emergency").receipt.reason == "a fold would make it no smaller"


def test_where_the_reply_takes_the_room_the_error_says_so():
    request, tight = {**working().request(), "system": "Be careful. " * 400}, Budget(window=300, reserve=60)
    with pytest.raises(CannotFit, match="a larger window, a smaller system prompt"):
        compactor(tight).fit(request)
    with pytest.raises(CannotFit, match="a larger window, a smaller limit for the reply, a smaller system prompt"):
        compactor(tight).fit({**request, "max_tokens": 3_000})


def test_a_preview_of_a_fold_on_demand():
    receipt = compactor().preview(working(4).request(), to=1_200)
    assert (receipt.action, receipt.reason) == ("compact", "asked for")
    assert receipt.tokens_after <= 1_200


def test_a_prepared_fold_is_shown_only_when_there_is_need_of_it():
    model = FakeCaller()
    maker = compactor(model=model)
    session = working(5)
    before = maker.fit(session.request())
    prepared = maker.prepare(session.request())
    assert prepared.receipt.author == "fake"
    quiet = maker.fit(session.user("go on").request())
    assert quiet.messages[:-1] == before.messages
    assert not quiet.receipt.rebased
    asked = len(model.asked)
    while (fitted := maker.fit(work(session, len(session.messages)).request())).receipt.action != "compact":
        assert fitted.messages[: len(before.messages)] == before.messages
    assert len(model.asked) == asked, "the summary was there already"
    assert fitted.receipt.checkpoint == prepared.receipt.checkpoint
    assert fitted.receipt.rebased
    assert validators.check(fitted.messages, "anthropic") == []
    later = maker.fit(session.assistant("done").request())
    assert later.messages[:-1] == fitted.messages


# --- learn, overflow, call ----------------------------------------------------------------------------------------


def test_what_the_provider_reports_corrects_the_count():
    maker = compactor()
    fitted = maker.fit(working(3).request())
    maker.learn(fitted, {"usage": {"input_tokens": 3_000, "output_tokens": 5}})
    assert maker.fit(working(3).request()).receipt.tokens_before == 3_000
    maker.learn(fitted, {"no": "usage"})
    assert maker.fit(working(3).request()).receipt.tokens_before == 3_000


def test_an_error_that_is_no_overflow_is_passed_on_as_it_is():
    error = Refusal({"error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)
    maker = compactor()
    with pytest.raises(Refusal) as raised:
        maker.on_overflow(maker.fit(working().request()), error)
    assert raised.value is error
    with pytest.raises(Overloaded):
        maker.on_overflow(maker.fit(working().request()), error.body)


def test_a_refused_history_that_lies_with_the_provider_ends_in_its_own_error():
    maker, error = compactor(), RuntimeError("prompt is too long: 90000 tokens > 4000 maximum")
    request = {"model": "m", "previous_response_id": "resp_1", "input": [{"role": "user", "content": "Go on."}]}
    with pytest.raises(RuntimeError) as raised:
        maker.on_overflow(maker.fit(request), error)
    assert raised.value is error


def test_a_refusal_whose_numbers_cannot_be_is_believed_in_its_limit_only():
    maker, other = compactor(), Session().user("Count the handlers. " * 60).request()
    fitted = maker.fit(working().request())
    again = maker.on_overflow(fitted, RuntimeError("prompt is too long: 10 tokens > 4000 maximum"))
    assert again.receipt.tokens_after < min(fitted.receipt.tokens_after, 4_000)
    assert maker.fit(other).receipt.tokens_before == compactor().fit(other).receipt.tokens_before


class Provider:
    """Refuses prompts over its limit, by its own count, as Anthropic does; remembers what it was sent."""

    def __init__(self, limit, ratio=1.0, always=False):
        self.limit, self.ratio, self.always = limit, ratio, always
        self.sent, self.sizes = [], []

    def create(self, **request):
        self.sent.append(request)
        size = int(len(written(request)) / 4 * self.ratio)
        self.sizes.append(size)
        if size > self.limit or self.always:
            raise too_long(size, self.limit)
        return {"content": [{"type": "text", "text": "ok"}], "usage": {"input_tokens": size, "output_tokens": 1}}

    async def acreate(self, **request):
        return self.create(**request)


@pytest.mark.parametrize("ratio", [0.8, 1.0, 1.6, 2.4])
def test_a_refused_prompt_is_made_smaller_by_the_provider_s_own_numbers(ratio):
    provider = Provider(9_000, ratio)
    maker = compactor(Budget(window=200_000))
    session = working(40)
    assert maker.call(provider.create, session.request())["content"]
    assert len(provider.sent) == 2
    assert provider.sizes[1] <= 9_000 < provider.sizes[0]
    for number in range(40, 120):
        maker.call(provider.create, work(session, number).request())
    refused = sum(size > 9_000 for size in provider.sizes)
    assert refused <= 3, "its limit and its count are remembered"


def test_a_count_too_far_from_ours_to_learn_from_still_says_how_much_smaller():
    provider = Provider(9_000, ratio=5.0)
    compactor(Budget(window=200_000)).call(provider.create, working(40).request())
    assert [size > 9_000 for size in provider.sizes] == [True, False]


def test_each_try_is_strictly_smaller_and_after_three_the_provider_s_own_error_is_raised():
    provider = Provider(9_000, always=True)
    with pytest.raises(Refusal):
        compactor(Budget(window=200_000)).call(provider.create, working(40).request())
    assert len(provider.sent) == 4
    assert provider.sizes == sorted(set(provider.sizes), reverse=True)


def test_a_provider_that_gives_no_numbers_is_believed_too():
    sent = []

    def create(**request):
        sent.append(len(written(request)))
        if len(sent) < 3:
            raise Refusal({"error": {"message": "Your input exceeds the context window of this model"}})
        return {"output": []}

    compactor(Budget(window=200_000)).call(create, working(40, "openai-responses").request())
    assert sent == sorted(set(sent), reverse=True)


def test_the_output_limit_is_clamped_before_anything_is_folded():
    sent = []

    def create(**request):
        sent.append(request)
        if request["max_tokens"] > 1_000:
            said = "input length and `max_tokens` exceed context limit: 3000 + 64000 > 4000, decrease input length"
            raise Refusal({"type": "error", "error": {"type": "invalid_request_error", "message": said}})
        return {"content": []}

    request = {**working(3).request(), "max_tokens": 64_000}
    compactor(Budget(window=200_000)).call(create, request)
    assert [one["max_tokens"] for one in sent] == [64_000, 1_000]
    assert sent[1]["messages"] == request["messages"]
    assert request["max_tokens"] == 64_000


def test_a_view_that_cannot_be_smaller_ends_in_cannot_fit_with_the_refusal_behind_it():
    provider = Provider(50)
    with pytest.raises(CannotFit) as raised:
        compactor(Budget(window=200_000)).call(provider.create, Session().user("word " * 400).request())
    assert isinstance(raised.value.__cause__, Refusal)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_sync_and_async_give_the_same_bytes(dialect):
    async def both():
        one, other = (compactor(model=FakeCaller(), fallback=FakeCaller(name="dear")) for _ in range(2))
        session = working(3, dialect)
        for number in range(3, 30):
            request = work(session, number).request()
            fitted, afitted = one.fit(request), await other.afit(request)
            assert written(fitted.request) == written(afitted.request)
            assert fitted.receipt == afitted.receipt
        assert fitted.receipt.generation > 1
        folded, afolded = one.compact(request, to=1_500), await other.acompact(request, to=1_500)
        assert written(folded.request) == written(afolded.request)
        assert one.prepare(request).receipt == (await other.aprepare(request)).receipt

    asyncio.run(both())


def test_acall_recovers_as_call_does():
    provider, other = Provider(9_000), Provider(9_000)
    request = working(40).request()
    compactor(Budget(window=200_000)).call(provider.create, request)
    asyncio.run(compactor(Budget(window=200_000)).acall(other.acreate, request))
    assert provider.sent == other.sent
    refusing = Provider(9_000, always=True)
    with pytest.raises(Refusal):
        asyncio.run(compactor(Budget(window=200_000)).acall(refusing.acreate, request))
    with pytest.raises(CannotFit):
        asyncio.run(compactor(Budget(window=200_000)).acall(Provider(50).acreate, Session().user("w " * 99).request()))


# --- work ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", DIALECTS)
def test_one_more_message_after_two_thousand_costs_a_bounded_amount_of_work(dialect):
    maker = compactor(Budget(window=2_000_000))
    session = Session(dialect, model="claude-x" if dialect == "anthropic" else "m").user("Start.")
    for number in range(700):
        session.user(f"question {number}").tools(("Bash", "{}", f"answer {number}"))
    maker.fit(session.request())
    meter, chain = maker._meters[session.model], next(reversed(maker._threads.values())).chain
    for number in range(3):
        work_before, hashed, parsed = meter.work, chain.hashed, maker._reader.parsed
        maker.fit(session.assistant(f"done {number}").user(f"next {number}").request())
        assert meter.work.messages - work_before.messages <= 4
        assert meter.work.characters - work_before.characters <= 100
        assert chain.hashed - hashed <= 2
        assert maker._reader.parsed - parsed == 2


def test_a_client_that_changes_its_first_message_each_turn_is_not_read_anew():
    maker = compactor(Budget(window=2_000_000))
    session = Session().user("Start.")
    for number in range(300):
        session.assistant(f"answer {number}").user(f"question {number}")
    request = session.request()
    maker.fit(request)
    for clock in range(3):
        parsed = maker._reader.parsed
        request["messages"][0] = {"role": "user", "content": f"It is {clock} o'clock. Start."}
        maker.fit(request)
        assert maker._reader.parsed - parsed <= 1 + len(request["messages"]) * (clock == 0)


def test_a_fold_asks_the_model_once_however_many_attempts_it_takes():
    model = FakeCaller()
    session = working(3).user("log line 4711 failed\n" * 800)
    fitted = compactor(model=model).fit(session.request())
    assert len(model.asked) == 1
    assert [attempt.outcome[:9] for attempt in fitted.receipt.attempts] == ["not taken"]


def talk(turns: int = 8) -> list[dict]:
    filler = "we looked at this area and it went as expected. " * 30
    messages = [{"role": "user", "content": "the goal"}]
    for number in range(turns):
        messages += [
            {"role": "assistant", "content": f"{number} {filler}"},
            {"role": "user", "content": f"next {number}"},
        ]
    return messages


def test_a_pin_behind_the_pivot_stays_when_the_later_part_is_folded():
    messages = talk()
    fitted = Compactor(Budget(window=20_000)).compact(messages, direction="from", pivot=3, pin=[6])
    assert messages[6] in fitted.messages
    assert messages[:3] == fitted.messages[:3]


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "zzz"},
        {"style": "zzz"},
        {"direction": "sideways"},
        {"pivot": 99},
        {"pivot": "x"},
        {"to": 0},
        {"to": -5},
        {"to": "5"},
        {"to": 1.5},
        {"to": float("nan")},
        {"to": True},
        {"pivot": True},
        {"focus": 5},
        {"focus": None},
        {"pin": "0"},
        {"pin": [1.0]},
        {"pin": ["0"]},
        {"pin": [True]},
        {"pin": [[1]]},
        {"pin": 5},
        {"pin": None},
    ],
)
def test_what_compact_does_not_know_is_refused_with_what_it_knows(wrong):
    with pytest.raises(InputError, match=str(next(iter(wrong)))):
        Compactor(Budget(window=20_000)).compact(talk(), **wrong)


@pytest.mark.parametrize("pin", ["0", [1.0], 5, None])
def test_every_door_refuses_pins_that_are_no_indices(pin):
    folding = Compactor(Budget(window=20_000))
    for door in (folding.fit, folding.preview, folding.prepare):
        with pytest.raises(InputError, match=r"pin is .*; give a list"):
            door(talk(), pin=pin)


def test_pins_may_come_in_any_iterable():
    folding = Compactor(Budget(window=20_000))
    for pin in ([2], (2,), {2}, range(2, 3), iter([2])):
        assert talk()[2] in folding.compact(talk(), pin=pin).messages


def test_a_pivot_may_count_from_the_end():
    receipt = Compactor(Budget(window=20_000)).compact(talk(), direction="from", pivot=-9).receipt
    assert (receipt.kept, receipt.folded) == (8, 9)


def test_a_picture_that_is_folded_away_is_spoken_of():
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "see picture"}, picture]}, *talk(12)[1:]]
    fitted = Compactor(Budget(window=4_000, reserve=500)).fit({"model": "gpt-4o", "messages": messages})
    assert "see picture (pictures or files: 1 attached, not shown here)" in json.dumps(fitted.messages)


def test_what_the_archive_has_to_say_is_passed_on_once(tmp_path):
    path = tmp_path / "archive.db"
    Archive(path).close()
    path.write_bytes(bytes(16) + path.read_bytes()[16:])
    heard = []
    maker = Compactor(Budget(window=64_000), archive=Archive(path), listen=heard.append)
    first = maker.fit(Session(model="m").user("Hello.").request())
    assert [notice for notice in first.receipt.notices if notice.code == "archive-damaged"] == heard
    assert heard
    assert not maker.fit(Session(model="m").user("Hello.").assistant("Hm.").user("Again.").request()).receipt.notices


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
@pytest.mark.parametrize("caller", [None, FakeCaller([SUMMARY])])
def test_folding_the_end_of_a_view_keeps_the_rules_of_its_own_checkpoint(dialect, caller):
    session, maker = Session(dialect), Compactor(Budget(window=8_000), caller, secret=b"s")
    rules = [f"Never touch file conf{number}.toml." for number in range(5)]
    for rule in rules:
        session.user(rule).assistant("ok")
    for step in range(30):
        session.tools(("Bash", "{}", "alpha beta gamma " * 100), text=f"step {step} {'alpha beta gamma ' * 10}")
    view = maker.fit(session.user("go on").request()).request
    more = Session(dialect).assistant("Done.").user("Now the next file.").request()
    name = next(key for key in ("messages", "input", "contents") if key in view)
    again = maker.compact({**view, name: [*view[name], *more[name]]}, direction="from", pivot=0)
    assert [rule for rule in rules if rule not in json.dumps(again.request)] == []


def test_a_view_that_is_too_heavy_is_folded_though_that_saves_no_tokens():
    dot = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89" + bytes(150_000)
    data = base64.b64encode(dot).decode()
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    messages = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "Always write the tests first, and never push to zulu7: ask before you do that."},
    ]
    fitted = Compactor(Budget(window=100_000, max_bytes=50_000)).fit(messages)
    assert len(json.dumps(fitted.messages)) < 50_000
    assert fitted.messages[-1] == messages[-1]


def test_where_bytes_are_the_limit_they_are_used():
    budget = Budget(window=200_000, max_bytes=60_000)
    session = Session().user("Never touch legacy.py.")
    for step in range(60):
        session.tools(
            ("Bash", json.dumps({"command": f"cat {step}.txt"}), "one more line\n" * 100), text=f"step {step}"
        )
    fitted = Compactor(budget).fit(session.user("go on").request())
    assert 10_000 < len(json.dumps(fitted.messages)) < 60_000
    assert "Never touch legacy.py." in json.dumps(fitted.messages)


def test_a_message_with_more_bytes_than_are_allowed_is_shown_by_its_ends():
    messages = [*talk(12), {"role": "user", "content": "These words must stay. " * 8_000}]
    fitted = Compactor(Budget(window=100_000, max_bytes=50_000)).fit(messages)
    assert len(json.dumps(fitted.messages)) < 50_000
    told = {notice.code: notice.text for notice in fitted.receipt.notices}
    assert told["user-clamped"] == "the newest user message of 184,000 characters is shown by its ends only"


def user(text):
    return {"role": "user", "content": text}


def figures(count):
    """Turns with many tokens for their bytes."""
    counted = {"role": "assistant", "content": "1234 " * 300}
    return [message for at in range(count) for message in (user(f"How many in {at}?"), counted)]


@pytest.mark.parametrize("most", [5_000, 50_000])
@pytest.mark.parametrize("before", [0, 12, 40])
@pytest.mark.parametrize("fill", ["=", " " * 400 + "go on\n", "These words must stay. "])
def test_nor_does_it_matter_how_many_tokens_these_bytes_are(fill, before, most):
    text = "Draw this again. " + fill * (120_000 // len(fill)) + "And one below it."
    maker, given = Compactor(Budget(window=100_000, max_bytes=most)), [*figures(before), user(text)]
    fitted = maker.fit(given)
    assert most * 0.75 < len(json.dumps(fitted.messages, separators=(",", ":"))) < most
    told = {notice.code: notice.text for notice in fitted.receipt.notices}
    assert told["user-clamped"].endswith(" characters is shown by its ends only")
    shown = fitted.view.messages[-1].text
    assert (shown[:16], shown[-17:]) == (text[:16], text[-17:])
    again = maker.fit([*given, {"role": "assistant", "content": "Drawn."}])
    assert again.messages[: len(fitted.messages)] == fitted.messages
    assert "user-clamped" in [notice.code for notice in again.receipt.notices]


def test_a_message_that_these_bytes_can_hold_stays_whole_and_what_came_before_it_is_told():
    text = "Draw this again. " + "=" * 40_000
    fitted = Compactor(Budget(window=100_000, max_bytes=50_000)).fit([*figures(40), user(text)])
    assert fitted.messages[-1] == user(text)
    assert fitted.receipt.tokens_after > 1_000
    assert [notice.code for notice in fitted.receipt.notices] == []


def test_results_of_many_bytes_and_few_tokens_leave_room_for_a_checkpoint():
    session = Session().user("Go on with the table.")
    for step in range(40):
        session.tools(("Bash", json.dumps({"command": f"cat {step}.txt"}), "=" * 5_000), text=f"step {step}")
    fitted = Compactor(Budget(window=100_000, max_bytes=5_000)).fit(session.user("What now?").request())
    assert len(json.dumps(fitted.messages)) < 5_000
    assert fitted.view.messages[-1].text == "What now?"


@pytest.mark.parametrize("count", [1, 3, 12])
def test_pictures_with_more_bytes_than_are_allowed_go_from_a_message_that_has_room(count):
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBOR" + "A" * 60_000}}
    asked = {"role": "user", "content": [{"type": "text", "text": "Draw these anew."}, *[picture] * count]}
    maker = Compactor(Budget(window=100_000, max_bytes=50_000))
    fitted = maker.fit([*talk(12), asked])
    assert len(json.dumps(fitted.messages)) < 50_000
    shown = f"Draw these anew.\n[… {count} pictures or files of this message left out here"
    assert shown in json.loads(json.dumps(fitted.messages))[-1]["content"][0]["text"]
    assert [notice.code for notice in fitted.receipt.notices] == ["user-clamped"]
    again = maker.fit([*talk(12), asked, {"role": "assistant", "content": "Drawn."}])
    assert again.messages[: len(fitted.messages)] == fitted.messages


def test_what_would_help_against_too_many_bytes_is_told():
    session = Session(system="Be kind. " * 10_000).user("Go on.")
    with pytest.raises(CannotFit, match=r"bytes, and 50,000 are allowed; a larger max_bytes, .*would help"):
        Compactor(Budget(window=100_000, max_bytes=50_000)).fit(session.request())


def test_a_message_that_is_shown_in_part_is_counted():
    long = {
        "role": "user",
        "content": " ".join(f"Please look at row {number} of the table." for number in range(1_000)),
    }
    fitted = Compactor(Budget(window=6_000)).fit([long, *talk(30)])
    assert "characters left out here)" in json.dumps(fitted.messages)
    assert dict(fitted.receipt.left_out)["messages in part"] == 1
    assert "in part  1 of the user's messages" in str(fitted.receipt)


@pytest.mark.parametrize("dialect", ["anthropic", "openai-chat", "openai-responses", "gemini"])
def test_of_two_checkpoints_in_a_view_that_comes_back_no_rule_is_lost(dialect):
    rule, output = "Never push to branch zulu7 without asking.", "alpha beta gamma " * 150
    session, maker = Session(dialect), Compactor(Budget(window=4_000, reserve=400), secret=b"s")
    session.user(rule)
    for step in range(4):
        session.tools(("Bash", '{"command": "make"}', output), text=f"step {step}")
    first = maker.compact(session.user("look at the parser").request()).request
    name = next(key for key in ("messages", "input", "contents") if key in first)
    taken = len(session.request()[name])
    session.assistant("I look.").user("now the lexer").tools(("Bash", "{}", output), text="lexer").user("and?")
    grown = [*first[name], *session.request()[name][taken:]]
    second = maker.compact({name: grown}, direction="from", pivot=len(grown) - 4).request
    taken = len(session.request()[name])
    for step in range(5):
        session.tools(("Bash", '{"command": "make again"}', output), text=f"more {step}")
    third = maker.fit({name: [*second[name], *session.user("go on").request()[name][taken:]]})
    assert third.receipt.action == "compact"
    assert rule in json.dumps(third.request)


OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "ok"}


@pytest.mark.parametrize(
    "request_",
    [
        {"model": "m", "previous_response_id": "resp_1", "input": [OUTPUT]},
        {"model": "m", "conversation": {"id": "conv_1"}, "input": [OUTPUT, {"role": "user", "content": "Go on."}]},
        {"model": "m", "input": [{"role": "user", "content": "a"}, {"type": "item_reference", "id": "fc_1"}, OUTPUT]},
    ],
)
def test_the_answer_to_a_call_that_lies_with_the_provider_goes_out_as_it_came(request_):
    maker = compactor()
    sent = [{"role": "user", "content": "a"}, {**OUTPUT, "call_id": "call_0"}]
    maker.fit({"model": "m", "input": sent})  # one that begins alike, and has everything in sight
    fitted = maker.fit(request_)
    assert fitted.request is request_
    assert not fitted.receipt.repairs
    assert maker.fit({"model": "m", "input": [OUTPUT]}).receipt.repairs == {"orphan-result": 1}


def with_programs(turns):
    """Claude calls a tool from a program on the provider's servers, whose result comes after the tool's."""
    messages = [{"role": "user", "content": f"Sort the handlers. {RULE}"}]
    for turn in range(turns):
        program = {"type": "server_tool_use", "id": f"srv_{turn}", "name": "code_execution", "input": {"code": "x"}}
        caller = {"type": "code_execution_20250825", "tool_id": f"srv_{turn}"}
        call = {"type": "tool_use", "id": f"toolu_{turn}", "name": "read", "input": {"n": turn}, "caller": caller}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn}", "content": LISTING}
        ended = {"type": "code_execution_tool_result", "tool_use_id": f"srv_{turn}", "content": {"stdout": "done"}}
        said = {"type": "text", "text": f"Part {turn} is read."}
        messages += [
            {"role": "assistant", "content": [program, call]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": [ended, said]},
            {"role": "user", "content": f"And the next after {turn}?"},
        ]
    return {"model": "m", "tools": [{"name": "read"}], "messages": messages}


@pytest.mark.parametrize("to", [600, 1_500, 4_000])
def test_a_program_on_the_provider_s_servers_stays_with_its_result(to):
    request = with_programs(8)
    assert validators.check(request, "anthropic") == []
    for count in range(4, len(request["messages"]) + 1):
        shorter = {**request, "messages": request["messages"][:count]}
        folded = compactor(Budget(64_000)).compact(shorter, to=to)
        assert validators.check(folded.request, "anthropic") == []
    pinned = compactor(Budget(64_000)).compact(request, to=6_000, pin=[7])
    assert all(message in pinned.messages for message in request["messages"][5:8])
    assert validators.check(pinned.request, "anthropic") == []


def test_a_refusal_may_be_an_event_of_an_sdk():
    class Event:
        def model_dump(self):
            return {"type": "error", "code": "context_length_exceeded", "message": "It exceeds the context window."}

    maker = compactor(Budget(64_000))
    fitted = maker.fit(working().request())
    assert maker.on_overflow(fitted, Event()).receipt.tokens_after < fitted.receipt.tokens_after


def test_usage_that_sums_over_searches_does_not_make_prompts_look_larger():
    maker = compactor(Budget(64_000))
    fitted = maker.fit(working().request())
    summed = {"input_tokens": fitted.receipt.tokens_after * 2, "server_tool_use": {"web_search_requests": 3}}
    maker.learn(fitted, {"usage": summed})
    assert maker.fit(working().request()).receipt.tokens_before == fitted.receipt.tokens_after


def squeezed():
    """A session whose checkpoint was made in so little room that it lacks the user's rules, and its compactor."""
    session = Session("anthropic", system="S").user("Fix it. Never push to main without asking me. Always use German.")
    for number in range(12):
        session.tools(("Bash", json.dumps({"command": f"ls {number}"}), "a file\n" * 60), text="Looking.")
    made = compactor(Budget(window=20_000, reserve=300))
    assert dict(made.compact(session.user("and now?").request(), to=80).receipt.left_out)["rules"]
    return session, made


def test_rules_that_found_no_room_come_back_as_soon_as_there_is_room():
    session, made = squeezed()
    actions = []
    for _ in range(5):
        session.tools(("Bash", "{}", "a file\n" * 60), text="More.")
        fitted = made.fit(session.request())
        actions.append(fitted.receipt.action)
        assert "Never push to main without asking me." in str(fitted.messages)
        assert fitted.receipt.left_out == ()
    assert actions == ["compact", *["rest"] * 4]


def test_until_then_every_receipt_says_that_they_are_missing():
    session, made = squeezed()
    small = compactor(Budget(window=150, reserve=0), archive=made.archive)
    fitted = small.fit(session.request())
    assert dict(fitted.receipt.left_out)["rules"]


def test_what_was_pinned_once_is_let_go_of_where_it_leaves_no_room():
    session = Session("openai-chat", system="You are an agent.").user("Fix the parser.")
    for name in "ab":
        session.tools(("Bash", json.dumps({"command": f"cat {name}"}), "line of a long log\n" * 800))
    for number in range(12):
        session.tools(("Bash", json.dumps({"command": f"ls {number}"}), "a file\n" * 150), text="Looking.")
    made, codes = compactor(Budget(window=8_000, reserve=1_000)), []
    for pin in (3, 5):
        session.user("next").tools(("Bash", "{}", "x y z\n" * 100))
        fitted = made.fit(session.request(), pin=[pin])
        codes.append([notice.code for notice in fitted.receipt.notices])
        assert session.request()["messages"][pin] in fitted.messages
    assert codes == [[], ["unpinned"]]


def test_what_is_pinned_now_and_leaves_no_room_is_an_error():
    session = Session("openai-chat").user("Fix the parser.")
    for name in "ab":
        session.tools(("Bash", json.dumps({"command": f"cat {name}"}), "line of a long log\n" * 800))
    made = compactor(Budget(window=8_000, reserve=1_000))
    made.fit(session.user("next").request(), pin=[2])
    with pytest.raises(CannotFit, match="fewer pins"):
        made.fit(session.request(), pin=[2, 4])


@pytest.mark.parametrize("model", [None, FakeCaller([SUMMARY * 40])], ids=["extracted", "written"])
@pytest.mark.parametrize("pivot", [None, 10, 30, 40])
def test_who_asks_for_a_fold_gets_one_though_the_first_try_is_no_smaller(pivot, model):
    session = Session("anthropic")
    for number in range(25):
        session.user(f"Please do part {number}.").assistant(
            f"Part {number}: " + f"row {number} is read, and table {number} is kept. " * 20
        )
    made = compactor(Budget(window=200_000), model=model)
    before = made.preview(session.request()).tokens_before
    fitted = made.compact(session.request(), pivot=pivot)
    assert fitted.receipt.action == "compact"
    assert fitted.receipt.tokens_after < before
    assert fitted.checkpoint is not None
    shown = json.dumps(fitted.messages)
    assert [number for number in range(25) if f"Please do part {number}." not in shown] == []


@pytest.mark.parametrize("reply", [None, SUMMARY, Overloaded("busy")], ids=["extracted", "written", "failed"])
@pytest.mark.parametrize("words", [1, 20, 60, 100, 200])
@pytest.mark.parametrize("dialect", ["openai-chat", "anthropic"])
def test_no_fold_of_little_takes_the_users_words(dialect, words, reply):
    """What the first try would replace says nothing of how large the next one may be, if that cuts elsewhere."""
    session = Session(dialect, system="You are careful.").user("Read this: " + "alpha beta gamma delta " * words)
    session.user("Fix the parser.").assistant("Shall I?").user("And?")
    made = compactor(Budget(window=8_000, reserve=500), model=reply and FakeCaller([reply]))
    fitted = made.compact(session.request())
    assert "Fix the parser." in json.dumps(fitted.messages)
    assert fitted.receipt.tokens_after <= fitted.receipt.tokens_before


@pytest.mark.parametrize("form", [json.dumps, lambda request: json.dumps(request).encode(), dict])
def test_messages_are_a_list_of_whatever_request(form):
    request = working().request()
    assert compactor().fit(form(request)).messages == compactor().fit(request).request["messages"]


def test_a_transcript_has_no_list_of_messages_to_send():
    row = {"type": "user", "uuid": "a", "message": {"role": "user", "content": "hi"}}
    with pytest.raises(InputError, match="transcript has no list of messages"):
        _ = compactor().fit(json.dumps(row) + "\n").messages


@pytest.mark.parametrize("to", [None, 1_500, 500])
def test_an_answer_is_not_lost_because_the_newest_message_has_the_same_words(to):
    """What the view itself shows is not repeated in the notes: that message, and not all that read like it."""
    session = Session("openai-chat").user("Clean up.").assistant("Shall I delete the old table?").user("do it")
    for part in range(6):
        session.assistant(f"Working on {part}. " + "alpha beta " * 60).user(f"go on with part {part}")
    session.assistant("Deleted. Shall I push?").user("do it")
    for step in range(12):
        session.tools(("run", json.dumps({"command": f"make {step}"}), "line of output\n" * 60))
    fitted = Compactor(Budget(window=8_000, reserve=500)).compact(session.request(), to=to)
    assert "- “do it” [3] (asked: “Shall I delete the old table?”)" in fitted.checkpoint.text
    assert "“do it” [17]" not in fitted.checkpoint.text
    assert "do it" in [message.text for message in fitted.view.messages]
