"""A session as it is served: a request for every turn, each longer than the one before it.

Every view is valid, fits, and begins with the last one, unless its receipt says that it does not: the last one may have
ended in a repair, of a result that was not there yet, or of a turn without its thinking.
"""

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foldline import Budget, Compactor, MemoryArchive, validators
from foldline.core.counting.estimate import Estimator
from foldline.core.counting.meter import Meter
from foldline.core.prune import PruneSettings
from foldline.errors import ArchiveError, CannotFit
from foldline.testing import Session
from strategies import DIALECTS, broken, conversations

SLOTS = {"gemini": "contents", "openai-responses": "input"}
WINDOWS = (1_000_000, 12_000, 7_000, 5_000)
EAGER = PruneSettings(limit=600, head=120, tail=60, protect=2, worthwhile=0)


def served(request, dialect, stops, window, pins, ahead):
    """What is shown, turn by turn. Before every turn in `ahead` a fold is made ahead of need."""
    slot = SLOTS.get(dialect, "messages")
    rows = request[slot]
    maker = Compactor(Budget(window=window, reserve=500), meter=Meter(Estimator()), prune=EAGER, secret=b"s")
    for number, stop in enumerate(sorted({min(stop, len(rows)) for stop in stops})):
        sent, pin = {**request, slot: rows[:stop]}, [at for at in pins if at < stop]
        try:
            if number in ahead:
                maker.prepare(sent, pin=pin)
            foretold = maker.preview(sent, pin=pin)
            fitted = maker.fit(sent, pin=pin)
        except CannotFit:
            continue
        assert (foretold.tokens_after, foretold.rebased) == (fitted.receipt.tokens_after, fitted.receipt.rebased)
        yield fitted


def without_thinking(request):
    """As some clients send it: thinking is asked for, and what was thought is left out."""
    rows = [{**row, "content": _unthought(row["content"])} for row in request["messages"]]
    return {**request, "thinking": {"type": "enabled", "budget_tokens": 1_024}, "messages": rows}


def _unthought(content):
    return content if isinstance(content, str) else [block for block in content if block["type"] != "thinking"]


@pytest.mark.parametrize("requests", [conversations, broken], ids=["sound", "broken"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_view_begins_with_the_last_one_or_its_receipt_says_that_it_does_not(dialect, requests):
    some = st.sets(st.integers(0, 12), max_size=2)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        requests(dialect), st.sets(st.integers(1, 40), min_size=2), st.sampled_from(WINDOWS), some, some, st.booleans()
    )
    def kept(request, stops, window, pins, ahead, thinks):
        if thinks and dialect == "anthropic":
            request = without_thinking(request)
        last = []
        for fitted in served(request, dialect, stops, window, pins, ahead):
            shown = [json.dumps(row) for row in fitted.messages]
            assert fitted.receipt.rebased or shown[: len(last)] == last
            assert fitted.receipt.tokens_after <= fitted.receipt.room
            assert validators.check(fitted.request, dialect) == []
            last = shown

    kept()


class Fails(MemoryArchive):
    """An archive whose disk is full while `full`."""

    full = False

    def keep(self, conversation, scope=""):
        self._write()
        super().keep(conversation, scope)

    def recall(self, digests, scope=""):
        self._write()
        return super().recall(digests, scope)

    def save(self, effect, scope=""):
        self._write()
        return super().save(effect, scope)

    def _write(self):
        if self.full:
            raise ArchiveError("the disk is full")


def marked(rows, place):
    """The rows with a cache mark on one of them, where it can stand."""
    content = [block for row in rows[place : place + 1] for block in row["content"] if isinstance(block, dict)]
    blocks = [block for block in content if block["type"] != "thinking" and block.get("text") != ""]
    for block in blocks[-1:]:
        block["cache_control"] = {"type": "ephemeral"}
    return rows


def plain(value):
    """The value without cache marks."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items() if key != "cache_control"}
    return [plain(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("dialect", DIALECTS)
def test_so_it_does_where_clients_rewind_and_move_their_marks_and_the_disk_is_full_now_and_then(dialect):
    """A view that goes further than all before it begins with the last one, or with the one that it goes on from."""
    moves = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 40), st.booleans()), min_size=2, max_size=8)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(conversations(dialect), moves, st.sampled_from(WINDOWS[1:]))
    def kept(request, moves, window):
        slot, archive, shown = SLOTS.get(dialect, "messages"), Fails(), []
        request = plain(request)
        maker = Compactor(
            Budget(window=window, reserve=500), archive=archive, meter=Meter(Estimator()), prune=EAGER, secret=b"s"
        )
        for stop, mark, archive.full in moves:
            rows = copy.deepcopy(request[slot][:stop])
            try:
                fitted = maker.fit({**request, slot: marked(rows, mark) if dialect == "anthropic" else rows})
            except CannotFit:
                continue
            view = plain(fitted.messages)
            goes_on = shown and all(count <= len(rows) for count, _ in shown)
            before = [last for _, last in shown]
            assert fitted.receipt.rebased or not goes_on or any(view[: len(last)] == last for last in before)
            assert fitted.receipt.tokens_after <= fitted.receipt.room
            assert validators.check(fitted.request, dialect) == []
            shown.append((len(rows), view))

    kept()


def turns(count, marks=(), *, inside=False):
    """A request for every turn of a session. The client marks these messages, counted from the end, for the cache;
    `inside` their results, if they have any."""
    session = Session("anthropic").user("Begin.")
    for step in range(count):
        session.tools(("Bash", json.dumps({"command": f"make {step}"}), f"line {step}\n" * 200), text=f"Step {step}.")
        request = copy.deepcopy(session.request())
        for row in (request["messages"][mark] for mark in marks if -mark <= len(request["messages"])):
            row["content"] = (
                [{"type": "text", "text": row["content"]}] if isinstance(row["content"], str) else row["content"]
            )
            marked = row["content"]
            if inside and marked[-1]["type"] == "tool_result":
                marked = marked[-1]["content"]
            marked[-1]["cache_control"] = {"type": "ephemeral"}
        yield request


def rests(maker, request):
    """Whether a turn that changed nothing said that the view is another; None where it changed something."""
    receipt = maker.fit(request).receipt
    return receipt.rebased if receipt.action == "rest" else None


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("marks", [(), (-1,), (-1, -3), (-1, -5, -9), (-1, 0)])
def test_a_plain_session_at_rest_never_says_that_its_view_is_another(marks, inside):
    maker = Compactor(Budget(window=9_000, reserve=500), prune=EAGER, secret=b"s")
    said = [rests(maker, request) for request in turns(60, marks, inside=inside)]
    assert None in said
    assert True not in said


@pytest.mark.parametrize("first", [True, False])
def test_a_repair_that_is_gone_is_told_where_the_mark_on_the_first_message_moved_too(first):
    maker, session = Compactor(Budget(window=9_000, reserve=500), secret=b"s"), Session("anthropic").user("Begin.")
    rows = session.tools(("Bash", json.dumps({"command": "make"}), "ok")).user("Go on.").request()["messages"]
    text = {"type": "text", "text": "Begin."}
    marked = {"role": "user", "content": [{**text, "cache_control": {"type": "ephemeral"}}]}
    plain = {"role": "user", "content": "Begin."}
    early, late = (marked, plain) if first else (plain, marked)
    assert maker.fit({"messages": [early, rows[1], rows[3]]}).receipt.repairs["missing-result"] == 1
    assert maker.fit({"messages": [late, *rows[1:]]}).receipt.rebased


def test_white_space_at_the_very_end_is_gone_for_as_long_as_it_is_refused():
    asked = [{"role": "user", "content": "Write a list."}, {"role": "assistant", "content": "1. one\n"}]
    more = [*asked, {"role": "user", "content": "And?"}]
    maker = Compactor(Budget(window=8_000, reserve=500))
    requests = ({"model": "claude-x", "max_tokens": 9, "messages": some} for some in (asked, more, more))
    cut, whole, again = map(maker.fit, requests)
    assert (cut.messages[1]["content"], dict(cut.receipt.repairs)) == ("1. one", {"trailing-space": 1})
    assert validators.check(cut.request, "anthropic") == []
    assert (whole.messages, whole.receipt.rebased, whole.receipt.repairs) == (more, True, {})
    assert (again.messages, again.receipt.rebased) == (more, False)


@pytest.mark.parametrize("before", ["ok", "line\n" * 500])
def test_a_prune_of_results_that_were_never_shown_keeps_all_that_was(before):
    """The provider's cache holds, and the receipt says so; not where a result becomes a stub that was shown whole."""
    maker = Compactor(Budget(window=9_000, reserve=500), prune=EAGER, secret=b"s")
    session = Session("openai-chat").user("Begin.").tools(("Read", json.dumps({"file_path": "first"}), before))
    last = maker.fit(session.request())
    files = (("Read", json.dumps({"file_path": f"file-{number}"}), "line\n" * 550) for number in range(6))
    fitted = maker.fit(session.tools(*files).request())
    assert (last.receipt.action, fitted.receipt.action) == ("rest", "prune")
    assert fitted.receipt.stubbed >= 4
    assert fitted.receipt.rebased is (fitted.messages[: len(last.messages)] != last.messages) is (before != "ok")
    assert (fitted.receipt.rewritten > 0) is fitted.receipt.rebased
    assert ("cache " in str(fitted.receipt)) is fitted.receipt.rebased
    assert Compactor(Budget(window=9_000, reserve=500), prune=EAGER).fit(session.request()).receipt.rebased


def test_nor_does_it_where_other_sessions_begin_alike():
    """A fork of the session, another that goes another way, and requests for its first message alone."""
    maker = Compactor(Budget(window=9_000, reserve=500), prune=EAGER, secret=b"s")
    other, said = Session("anthropic").user("Begin."), []
    for number, request in enumerate(turns(60)):
        said.append(rests(maker, request))
        alone = {**request, "messages": request["messages"][:1]}
        forked = {**request, "messages": [*request["messages"][:7], {"role": "user", "content": "Now something else."}]}
        said += [rests(maker, beside) for beside in (alone, other.request(), forked)[: number % 4]]
        other.assistant(f"Yes, {number}.").user("Go on.")
    assert None in said
    assert True not in said
