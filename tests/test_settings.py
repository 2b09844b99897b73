"""Wrong settings: an error of ours that is a ValueError too, and that shows nothing of an address."""

from __future__ import annotations

import pytest

from foldline import Archive, Budget, Compactor, MemoryArchive, read, write
from foldline.callers import Retry, caller
from foldline.errors import FoldlineError, InputError, InvalidSetting


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: caller("nonsense"),
        lambda: caller("ollama:x", deadline=0),
        lambda: caller("openai-compatible:x", base_url="ftp://example.com"),
        lambda: caller("openai-compatible:x", base_url="https://a..b/v1"),
        lambda: caller("openai-compatible:x", base_url="https://[x"),
        lambda: caller("openai-compatible:x", base_url="https://example.com:99999"),
        lambda: caller("openai-compatible:x", base_url="https://example.com/?key=secret"),
        lambda: Retry(tries=0),
        lambda: Compactor(Budget(64_000), listen="print"),
        lambda: Archive(3),
        lambda: Archive("never-made.db", cap="1G"),
        lambda: Archive("never-made.db", cap=-1),
        lambda: Archive("never-made.db", wait="5"),
        lambda: MemoryArchive().search("it", after="2026-06-18"),
        lambda: MemoryArchive().search("it", role="me"),
        lambda: read([], history="everything"),
    ],
)
def test_a_wrong_setting_is_an_error_of_ours(wrong):
    with pytest.raises(FoldlineError) as raised:
        wrong()
    assert isinstance(raised.value, InvalidSetting)
    assert isinstance(raised.value, ValueError)


def test_a_password_that_is_taken_for_a_port_is_not_shown():
    with pytest.raises(InvalidSetting, match="base URL cannot be read") as raised:
        caller("openai-compatible:x", base_url="https://user:hunter2/x@example.com")
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__


def test_a_server_whose_address_is_missing_is_named_with_how_to_give_it():
    with pytest.raises(InvalidSetting, match=r"openai-compatible:x needs the address of its server; .*base_url="):
        caller("openai-compatible:x")


def test_what_is_no_conversation_is_not_written():
    with pytest.raises(InputError, match=r"cannot write dict; give a Conversation, as read\(\) returns it"):
        write({"messages": []})
