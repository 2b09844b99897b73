"""What is read of a body that was read before is what would be read of it alone, however it grew."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foldline import dialects, sources
from foldline.errors import InputError
from foldline.proxy.routes import SLOTS, Route
from foldline.proxy.skim import Skimmer
from foldline.testing import Session

DIALECTS = tuple(SLOTS)


def steps(dialect):
    def act(session, step):
        kind, text = step
        if kind == "user":
            session.user(text)
        elif kind == "assistant":
            session.assistant(text or "said")
        else:
            session.tools(("read", json.dumps({"path": text}), text), text="reading")

    return act


words = st.text(max_size=8)
step = st.tuples(st.sampled_from(["user", "assistant", "tool"]), words)
layout = st.sampled_from([(",", ":"), (", ", ": "), (",\n ", ": ")])


@pytest.mark.parametrize("dialect", DIALECTS)
@settings(max_examples=40, deadline=None)
@given(
    growth=st.lists(st.lists(step, min_size=1, max_size=3), min_size=1, max_size=5),
    layouts=st.lists(layout, min_size=5, max_size=5),
    limits=st.lists(st.integers(1, 3), min_size=5, max_size=5),
    first=st.booleans(),
)
def test_a_body_reads_the_same_whatever_came_before_it(dialect, growth, layouts, limits, first):
    skimmer, route, session = Skimmer(), Route(dialect, "generate"), Session(dialect, "be good", "m")
    act = steps(dialect)
    for number, new in enumerate(growth):
        for one in new:
            act(session, one)
        asked = session.request()
        asked = {"top": limits[number], **asked} if first else {**asked, "top": limits[number]}
        body = json.dumps(asked, separators=layouts[number]).encode()
        found = skimmer.read(route, body).conversation
        alone = sources.read(body, dialect)
        assert found.messages == alone.messages
        assert found.head == alone.head
        changed = found.with_messages(found.messages[:1])
        assert json.loads(dialects.write(changed)) == json.loads(
            dialects.write(alone.with_messages(alone.messages[:1]))
        )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_what_is_new_is_taken_apart_and_the_rest_are_the_same_objects(dialect):
    skimmer, route, session = Skimmer(), Route(dialect, "generate"), Session(dialect, "be good", "m")
    for number in range(50):
        session.tools(("read", json.dumps({"path": str(number)}), "text"), text="reading")
    before = skimmer.read(route, json.dumps(session.request()).encode()).conversation
    parsed = skimmer.parsed
    session.user("and now?")
    after = skimmer.read(route, json.dumps(session.request()).encode()).conversation
    assert skimmer.parsed == parsed + 1
    assert all(new is old for new, old in zip(after.messages, before.messages, strict=False))


def gemini_without_ids(count):
    """Bodies of one conversation, each a step longer than the one before it, as clients of Gemini's send them."""
    contents = [{"role": "user", "parts": [{"text": "go"}]}]
    for number in range(count):
        call, answer = {"name": "read", "args": {"n": number}}, {"name": "read", "response": {"output": "so"}}
        contents.append({"role": "model", "parts": [{"functionCall": call}]})
        contents.append({"role": "user", "parts": [{"functionResponse": answer}]})
        yield contents


def test_calls_without_ids_are_numbered_the_same_whatever_came_before_and_wherever_it_forks():
    skimmer, route = Skimmer(), Route("gemini", "generate")
    other = {"role": "user", "parts": [{"text": "and now?"}]}
    for contents in gemini_without_ids(12):
        for sent in (contents, [*contents[:-4], other], [*contents, other]):
            body = json.dumps({"contents": sent}).encode()
            assert skimmer.read(route, body).conversation.messages == sources.read(body, "gemini").messages


@pytest.mark.speed
def test_calls_without_ids_do_not_make_a_glance_long():
    skimmer, route = Skimmer(), Route("gemini", "generate")
    *_, contents = gemini_without_ids(5_000)
    skimmer.read(route, json.dumps({"contents": contents[:-20]}).encode())
    spent = []
    for end in range(len(contents) - 18, len(contents), 2):
        body = json.dumps({"contents": contents[:end]}).encode()
        before = time.process_time()
        assert skimmer.glance(route, body)
        spent.append(time.process_time() - before)
    assert sorted(spent)[len(spent) // 2] < 0.015


def test_sessions_that_begin_alike_do_not_mix():
    skimmer, route = Skimmer(), Route("anthropic", "generate")
    bodies = []
    for end in ("one", "two", "three"):
        session = Session("anthropic", "", "m").user("the same").assistant("also").user(end)
        bodies.append(json.dumps(session.request()).encode())
    for _ in range(2):
        for body, end in zip(bodies, ("one", "two", "three"), strict=True):
            assert skimmer.read(route, body).conversation.messages[-1].text == end


def test_what_is_remembered_has_a_limit():
    skimmer, route = Skimmer(bodies=4, most=20_000), Route("anthropic", "generate")
    for number in range(50):
        session = Session("anthropic", "", f"model-{number}").user("x" * 1_000 + str(number))
        skimmer.read(route, json.dumps(session.request()).encode())
    assert skimmer._count() <= 4
    assert skimmer._held <= 20_000


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_damaged_body_is_never_taken_for_a_good_one(data):
    skimmer, route = Skimmer(), Route("anthropic", "generate")
    session = Session("anthropic", "", "m").user("one").assistant("two").user("three")
    good = json.dumps(session.request(), separators=(",", ":")).encode()
    skimmer.read(route, good)
    at = data.draw(st.integers(0, len(good)))
    damage = data.draw(st.sampled_from([b"", b",", b"]", b"}", b"[", b"{", b'"', b":", b"1", b"{}", b"[]", b" "]))
    cut = data.draw(st.integers(0, 3))
    body = good[:at] + damage + good[at + cut :]
    try:
        expected = sources.read(body, "anthropic").messages if not _twins(body) else None
    except InputError:
        expected = None
    try:
        found = skimmer.read(route, body).conversation.messages
    except InputError:
        found = None
    assert found == expected


def _twins(body):
    def unique(pairs):
        seen.append(len({key for key, _ in pairs}) != len(pairs))

    seen = []
    try:
        json.loads(body, object_pairs_hook=unique)
    except ValueError:
        return False
    return any(seen)
