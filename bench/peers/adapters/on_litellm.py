"""litellm: trim_messages."""

from __future__ import annotations

import litellm
from litellm.utils import trim_messages
from wire import Ask, Part, serve

litellm.suppress_debug_info = True


def begin(ask: Ask):
    return lambda messages: trim_messages(messages, model="gpt-4o", max_tokens=ask.tokens)


serve({"trim_messages": Part(begin, "trim_messages(model='gpt-4o', max_tokens=size)")})
