"""Wrong settings of callers: an error of ours that is a ValueError too, and that shows nothing of an address."""

from __future__ import annotations

import pytest

from foldline.callers import Retry, caller
from foldline.errors import FoldlineError, InvalidSetting


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
    ],
)
def test_a_wrong_setting_of_a_caller_is_an_error_of_ours(wrong):
    with pytest.raises(FoldlineError) as raised:
        wrong()
    assert isinstance(raised.value, InvalidSetting)
    assert isinstance(raised.value, ValueError)


def test_a_password_that_is_taken_for_a_port_is_not_shown():
    with pytest.raises(InvalidSetting, match="base URL cannot be read") as raised:
        caller("openai-compatible:x", base_url="https://user:hunter2/x@example.com")
    assert "hunter2" not in str(raised.value)
    assert raised.value.__suppress_context__
