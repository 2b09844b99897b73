"""headroom: compress, without the text model it would download."""

from __future__ import annotations

from headroom import compress
from wire import Ask, Part, serve


def begin(ask: Ask):
    return lambda messages: (
        compress(messages, model="gpt-4o", model_limit=ask.tokens, kompress_model="disabled").messages
    )


serve({"compress": Part(begin, "model_limit=size, kompress_model='disabled' (it is fetched from a hub)", asked="")})
