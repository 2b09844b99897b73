"""The figures of a view together: validity rules them all."""

from __future__ import annotations

import pytest
from tests.evals.sessions import coding

from foldline.evals import said
from foldline.evals.metrics import SCORES, Ruler, World, background, families
from foldline.evals.splits import Session, splits
from foldline.model import Message, Origin, Text, ToolCall


@pytest.fixture(scope="module")
def ruler() -> Ruler:
    session = Session("one", coding(3, 40).conversation())
    return Ruler(next(splits(session, 1, 0, 1_000)), World())


def test_the_whole_prefix_scores_one_everywhere(ruler):
    scores = ruler.score(ruler.split.prefix)
    assert {scores[name] for name in ("xf", "frr", "gfrr", "far", "vas", "uir", "faithful", "valid")} <= {1.0, None}
    assert scores["xf"] == scores["vas"] == scores["uir"] == 1.0


def test_a_view_the_provider_would_refuse_scores_nothing(ruler):
    hanging = Message("assistant", Origin.ASSISTANT, (ToolCall("c1", "Read", "{}"),))
    view = ruler.split.prefix.append(hanging)
    scores = ruler.score(view)
    asked = [name for name in SCORES if name != "gxf" and not name.startswith("kept")]
    assert {scores[name] for name in (*asked, "valid")} == {0.0}
    assert scores["tokens"] > 0
    assert set(ruler.survived(view).values()) == {0.0}


def test_of_a_refused_view_too_nothing_is_told_that_was_not_asked(ruler):
    view = ruler.split.prefix.append(Message("assistant", Origin.ASSISTANT, (ToolCall("c1", "Read", "{}"),)))
    assert ruler.score(view)["gxf"] is None
    assert ruler.score(view, grounded=True)["gxf"] == 0.0


def test_what_was_made_up_is_unfaithful(ruler):
    known = next(iter(ruler.references.names))
    made = Message("user", Origin.USER, (Text(f"{known} and never_seen_name"),))
    assert ruler.score(ruler.split.prefix.with_messages([made]))["faithful"] == 1 / 2


def test_a_strategys_own_frame_is_set_aside(ruler):
    made = Message("user", Origin.USER, (Text("note-4711 stands for all"),))
    view = ruler.split.prefix.with_messages([made])
    assert ruler.score(view)["faithful"] == 0.0
    assert ruler.score(view, lambda text: text.replace("note-4711", ""))["faithful"] is None


def test_a_system_prompt_earns_nothing():
    session = Session("one", coding(3, 40, "openai-chat").conversation())
    ruler = Ruler(next(splits(session, 1, 0, 1_000)), World())
    system = Message("system", Origin.SYSTEM, (Text(said.plain(ruler.planted.prefix.messages)),))
    user = Message("user", Origin.USER, (Text("Go on."),))
    scores = ruler.score(ruler.split.prefix.with_messages([system, user]))
    assert scores["frr"] == scores["vas"] == scores["uir"] == 0.0
    assert ruler.survived(ruler.planted.prefix.with_messages([system, user]))["kept"] == 0.0


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_a_system_prompt_among_the_messages_is_no_part_of_what_can_be_explained(dialect):
    built = coding(3, 40, dialect)
    system = Message("system", Origin.SYSTEM, (Text(built.conversation().messages[-2].text + "\nBe careful." * 40),))
    whole = built.conversation()
    ruler = Ruler(next(splits(Session("one", whole.with_messages([system, *whole.messages])), 1, 0, 1_000)), World())
    assert ruler.split.prefix.messages[0].role == "system"
    scores = ruler.score(ruler.split.prefix)
    assert scores["xf"] == scores["vas"] == 1.0
    assert "Be careful" not in ruler.text


def test_background_is_what_stands_in_three_of_ten_sessions():
    sessions = [{"everywhere", f"only_{n}"} | ({"often"} if n < 3 else set()) | ({"seldom"} if n < 2 else set())
                for n in range(10)]  # fmt: skip
    assert background(sessions) == {"everywhere", "often"}


def test_with_few_sessions_nothing_is_background():
    assert background([{"a_b"}, {"a_b"}]) == frozenset()


def test_two_sessions_make_no_background_however_few_there_are():
    sessions = [{"shared", "everywhere"}, {"shared", "everywhere"}, {"everywhere"}, {"other"}, {"third"}]
    assert background(sessions) == {"everywhere"}


def test_sessions_that_share_half_of_their_messages_are_one_family():
    resumed = [{"a", "b", "c"}, {"a", "b", "c", "d", "e", "f", "g"}, {"d", "e", "x", "y"}, {"a", "k", "l", "m"}]
    assert families(resumed) == [0, 0, 0, 3]  # the third shares half of its own with the second
    assert families([]) == []
