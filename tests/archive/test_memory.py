"""The archive in memory: what is its own. What it does as every archive does is in test_conformance.py."""

from hypothesis import given
from hypothesis import strategies as st

from foldline import MemoryArchive
from foldline.testing import Session


@given(st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=8))
def test_every_message_and_every_result_comes_back_as_it_was(texts):
    session = Session()
    for text in texts:
        session.user(text).tools(("Bash", "{}", text * 2))
    conversation = session.conversation()
    archive = MemoryArchive()
    archive.keep(conversation)
    archive.keep(conversation)
    for message in conversation.messages:
        assert archive.original(message.identity) == message.raw
        for result in message.results:
            assert archive.original(result.ref) == result.text.encode("utf-8", "surrogatepass")


def test_the_same_words_in_two_sessions_are_two_finds_and_in_two_branches_one():
    archive = MemoryArchive()
    for number in range(2):
        archive.append(Session().user(f"question {number}").assistant("a flange").conversation())
    for number in range(2):
        archive.append(Session().user("question").assistant("a widget").user(f"branch {number}").conversation())
    assert len(archive.search("flange")) == 2
    assert len(archive.search("widget")) == 1
