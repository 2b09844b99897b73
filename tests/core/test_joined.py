"""A checkpoint that comes back in one message with what stood beside it is told apart from it, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foldline.core.checkpoints.joined import divided, notes_in, parted
from foldline.core.counting.budget import Budget
from foldline.core.options import Options
from foldline.model import Conversation, Media, Message, Origin, Text

NOTES = "# Notes on the conversation so far\n\nAll is well.\n\n# End of the notes"
OTHERS = NOTES.replace("All", "Nothing")
PICTURE = Media("image", "image/png", data="iVBORw0KGgo=")


def user(*parts, origin=Origin.USER):
    return Message("user", origin, tuple(Text(part) if isinstance(part, str) else part for part in parts), raw=b"{}")


def said(messages):
    return [[part.text if isinstance(part, Text) else part for part in message.parts] for message in messages]


@pytest.mark.parametrize(
    ("parts", "apart"),
    [
        ((NOTES, "Go on."), [[NOTES], ["Go on."]]),
        ((f"{NOTES}\n\nGo on.",), [[NOTES], ["Go on."]]),
        (("Be kind.", NOTES, "Go on.", PICTURE), [["Be kind."], [NOTES], ["Go on.", PICTURE]]),
        ((f"Be kind.\n{NOTES}\nGo on.\n{NOTES}",), [["Be kind."], [NOTES], ["Go on."], [NOTES]]),
        ((NOTES, PICTURE), [[NOTES], [PICTURE]]),
        ((f"{NOTES}\nGo on.", OTHERS), [[NOTES], ["Go on.", OTHERS]]),
    ],
)
def test_it_is_parted_from_what_stood_beside_it(parts, apart):
    message = user(*parts)
    assert NOTES in notes_in(message)
    assert said(parted(message, {NOTES})) == apart
    assert all(piece.raw is None for piece in parted(message, {NOTES}))


@pytest.mark.parametrize(
    "message",
    [
        user(NOTES),
        user("What are # Notes on the conversation so far?", "Go on."),
        user(f"He wrote: {NOTES}"),
        user(f"<system-reminder>\n{NOTES}\n</system-reminder>\nGo on."),
        user(f"<system-reminder>\n{NOTES}\n</system-reminder>", "Go on."),
        user("# Notes on the conversation so far\n" * 3),
        user(NOTES, "Go on.", origin=Origin.TOOL),
        Message("assistant", Origin.ASSISTANT, (Text(NOTES), Text("Go on."))),
    ],
)
def test_what_is_one_by_itself_or_none_is_not_looked_up(message):
    assert notes_in(message) == ()


TEXTS = ("Go on.", NOTES, OTHERS, f"{NOTES}\nYes.", "# Notes on the conversation so far\n")


@given(st.lists(st.sampled_from(TEXTS), min_size=1))
def test_nothing_that_is_said_is_lost(texts):
    message = user(*texts)
    pieces = parted(message, {NOTES})
    assert "".join("".join(piece.text for piece in pieces).split()) == "".join(message.text.split())
    assert [piece for piece in pieces if NOTES in piece.text and piece.text != NOTES] == []


def test_many_beginnings_without_an_end_are_looked_at_once():
    assert notes_in(user("# Notes on the conversation so far\n" * 200_000, "Go on.")) == ()


def test_places_are_those_in_the_divided_list():
    messages = (user("Hello."), user("Be kind.", NOTES, "Go on."), user("Yes."))
    apart = [(messages[0],), parted(messages[1], {NOTES}), (messages[2],)]
    options = Options(Budget(window=1_000), secret=b"s", pins=(1, 2), pivot=2)
    conversation, placed = divided(Conversation("anthropic", messages), options, apart, {NOTES})
    assert [message.text for message in conversation.messages] == ["Hello.", "Be kind.", NOTES, "Go on.", "Yes."]
    assert placed.pins == (1, 3, 4)
    assert placed.pivot == 4
