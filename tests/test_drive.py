"""Running the engine: what it asks is done, whoever fails, in time, in both ways."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from foldline import Budget, Compactor
from foldline.archive import MemoryArchive
from foldline.core.asking import Ask, Reply
from foldline.core.effects import Asking, Keep, Known, Recall, Recalled, Save, Tell, ViewPlan
from foldline.drive import AT_ONCE, Glass, World, arun, run
from foldline.errors import Busy, CallerError, RateLimited, TimedOut
from foldline.model import Notice
from foldline.testing import FakeCaller, Session


def asking(count: int):
    """Asks so many questions at once and gives back the answers."""

    def steps():
        return (yield Asking(tuple(Ask("", f"question {number}") for number in range(count))))

    return steps()


def both(steps, world):
    """The same run, sync and async."""
    return run(steps(), world), asyncio.run(arun(steps(), world))


class Slow(FakeCaller):
    """Counts how many ask at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = self.most = 0
        self.lock = threading.Lock()

    def ask(self, ask: Ask) -> Reply:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.02)
        with self.lock:
            self.now -= 1
        return Reply(ask.prompt)

    async def aask(self, ask: Ask) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.02)
        self.now -= 1
        return Reply(ask.prompt)


def test_questions_are_answered_in_their_order_and_a_few_at_once():
    for runner in (run, lambda steps, world: asyncio.run(arun(steps, world))):
        caller = Slow()
        answers = runner(asking(11), World(MemoryArchive(), {"model": caller}))
        assert [answer.text for answer in answers] == [f"question {number}" for number in range(11)]
        assert 1 < caller.most <= AT_ONCE


def test_who_is_interrupted_asks_no_more():
    class Interrupted(FakeCaller):
        def ask(self, ask: Ask) -> Reply:
            asked.append(ask.prompt)
            if ask.prompt == "question 0":
                raise KeyboardInterrupt
            over.wait(20)
            return Reply(ask.prompt)

    asked, over = list[str](), threading.Event()
    with pytest.raises(KeyboardInterrupt):
        run(asking(100), World(MemoryArchive(), {"model": Interrupted()}))
    over.set()
    time.sleep(0.2)
    assert len(asked) <= 1 + AT_ONCE


@pytest.mark.parametrize("error", [RateLimited("slow down"), ValueError("not one of ours"), KeyError("x")])
def test_whatever_a_caller_raises_is_told_as_a_value(error):
    class Broken(FakeCaller):
        def ask(self, ask):
            raise error

    for answers in both(lambda: asking(1), World(MemoryArchive(), {"model": Broken()})):
        assert isinstance(answers[0], CallerError)


@pytest.mark.parametrize("given", [None, "## Goal", b"## Goal", {"text": "## Goal"}, Reply(None), Reply(["## Goal"])])
def test_a_caller_that_gives_no_reply_with_a_text_is_told_as_a_value(given):
    class Careless(FakeCaller):
        def ask(self, ask):
            return given

    for (answer,) in both(lambda: asking(1), World(MemoryArchive(), {"model": Careless()})):
        assert isinstance(answer, CallerError)
        assert str(answer).startswith("the caller gave ")


def test_what_a_caller_of_anyone_s_raised_can_be_found():
    key = "sk-ant-api03-" + "A1b2C3d4" * 8

    class Broken(FakeCaller):
        def ask(self, ask):
            raise KeyError(f"no region for {key} " + "and so on " * 100)

    for (answer,) in both(lambda: asking(1), World(MemoryArchive(), {"model": Broken()})):
        assert str(answer).startswith("the caller failed with KeyError: 'no region for [masked anthropic-key")
        assert key not in str(answer)
        assert len(str(answer)) < 250
        assert isinstance(answer.__cause__, KeyError)
        assert answer.__cause__.__traceback__ is not None


def test_an_error_that_cannot_even_be_shown_does_not_cost_the_turn():
    class Odd(Exception):
        def __str__(self):
            raise RuntimeError

    class Broken(FakeCaller):
        def ask(self, ask):
            raise Odd

    for (answer,) in both(lambda: asking(1), World(MemoryArchive(), {"model": Broken()})):
        assert "Odd" in str(answer)


def test_an_archive_behind_glass_is_read_and_not_written():
    archive = MemoryArchive()
    conversation = Session().user("hello").conversation()
    Glass(archive).keep(conversation)
    assert Glass(archive).save(Save(ViewPlan("a", 1))) is None
    assert archive.recall(("a",)) is None
    archive.keep(conversation)
    archive.save(Save(ViewPlan("a", 1)))
    assert Glass(archive).recall(("a",)) == Recalled(ViewPlan("a", 1))
    ref = conversation.messages[0].identity
    assert Glass(archive).original(ref) == archive.original(ref) is not None


def test_nobody_is_asked_when_the_time_is_over():
    caller = FakeCaller()
    for answers in both(lambda: asking(3), World(MemoryArchive(), {"model": caller}, patience=0)):
        assert [type(answer) for answer in answers] == [TimedOut] * 3
    assert caller.asked == []


def test_who_listens_hears_of_questions_and_notices():
    heard = []

    def steps():
        yield Tell(Notice("hello", "there"))
        yield Asking((Ask("", ""),))

    run(steps(), World(MemoryArchive(), {"model": FakeCaller()}, listen=heard.append))
    assert [notice.code for notice in heard] == ["hello", "asked"]
    assert heard[1].text == "fake: 1 request, 0 failed"
    caller = FakeCaller([RateLimited("later"), "two", "three"], name="anthropic:claude-haiku-4-5")
    run(asking(3), World(MemoryArchive(), {"model": caller}, listen=heard.append))
    assert heard[-1].text == "anthropic:claude-haiku-4-5: 3 requests, 1 failed"


def test_an_archive_s_error_is_told_as_a_value():
    class Locked(MemoryArchive):
        def recall(self, digests, scope=""):
            raise Busy("locked")

    def steps():
        return (yield Recall(()))

    for answer in both(steps, World(Locked(), {})):
        assert isinstance(answer, Busy)


def test_an_effect_nobody_knows_is_a_fault_of_ours():
    def steps():
        yield "nothing"

    with pytest.raises(TypeError, match="no one does str"):
        run(steps(), World(MemoryArchive(), {}))


def test_a_caller_of_anyone_s_that_breaks_does_not_cost_the_turn():
    class Broken(FakeCaller):
        def ask(self, ask):
            raise ZeroDivisionError

    session = Session().user("Never touch legacy.py.")
    for number in range(30):
        session.tools(("Bash", f'{{"command": "cat {number}"}}', "line of text " * 100))
    fitted = Compactor(Budget(window=4_000, reserve=500), model=Broken()).fit(session.request())
    assert fitted.receipt.author == "extraction, without a model"
    assert "ZeroDivisionError" in str(fitted.receipt)


def test_each_effect_is_done_in_its_scope():
    def steps():
        kept = yield Keep(Session().user("hello").conversation())
        saved = yield Save(ViewPlan("a", 1))
        return kept, saved, (yield Recall(("a",), "mine")), (yield Recall(("a",))), (yield Known(("x",)))

    assert run(steps(), World(MemoryArchive(), {}, "mine")) == (None, None, Recalled(ViewPlan("a", 1)), None, {})


def test_one_question_without_an_answer_leaves_the_others_theirs():
    caller = FakeCaller([RateLimited("later"), "two", "three"])
    answers = run(asking(3), World(MemoryArchive(), {"model": caller}))
    assert sorted(getattr(answer, "text", "none") for answer in answers) == ["none", "three", "two"]


def taken_by_another(lock):
    """Whether another thread can have the lock now."""
    had = []

    def other():
        had.append(lock.acquire(blocking=False))
        if had[0]:
            lock.release()

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(10)
    return had[0]


def test_the_lock_is_held_while_the_engine_computes_and_free_while_a_model_writes():
    lock, writing = threading.RLock(), []

    def answer(_):
        writing.append(taken_by_another(lock))
        return "yes"

    def steps():
        before = taken_by_another(lock)
        yield Asking((Ask("", ""),))
        return before, taken_by_another(lock)

    assert run(steps(), World(MemoryArchive(), {"model": FakeCaller([answer])}, lock=lock)) == (False, False)
    assert writing == [True]
