"""XF, the explained future: how much of what the agent then wrote a view foretells, beyond what any agent writes.

    XF = [K(F | G) − K(F | G, X)] / [K(F | G) − K(F | G, P)]

K is the size of F packed with zstd, the given text being its dictionary. G is agents' text from other sessions: what is
in it (the phrases of the trade) earns nothing. 1 is as good as the whole prefix; a view can be better than that, since
a packer finds near things more cheaply than far ones; 0 is no better than nothing.

gXF is XF of those parts of a view that stand in the prefix too. Who wrote a summary and then goes on from it uses its
words again, those it coined as well: they foretell the future because they made it. The whole prefix has none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import zstandard

LEVEL = 15
WINDOW_LOG = 24
"""Sixteen megabytes: the whole of any prefix is within reach."""
GENERIC = 400_000
"""Bytes of agents' text that count as known to everyone."""
FROM_EACH = 80_000
"""Bytes of it from one session at most, so that no single project is taken for what everyone knows."""
RUN = 12
"""Characters in a row that stand in the prefix too: two or three words; with 8 or 20 they are nearly the same."""
LEAST_GIVEN = 9
"""Bytes below which zstd takes no dictionary and packs in another way, a few per cent better: what is given is filled
up, so that nothing given and a word given are told apart by what they say alone."""
LEAST_GAIN = 64
"""Bytes that the whole prefix must save: below, the future had nothing to do with it, and a share would be noise."""


def packed(text: bytes, given: bytes) -> int:
    """K(text | given), in bytes."""
    known = zstandard.ZstdCompressionDict(given.ljust(LEAST_GIVEN, b"\n"), dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    how = zstandard.ZstdCompressionParameters.from_level(LEVEL, window_log=WINDOW_LOG, write_checksum=False)
    return len(zstandard.ZstdCompressor(compression_params=how, dict_data=known).compress(text))


class Explainer:
    """One future, its prefix and the generic text, with what does not depend on a view worked out once."""

    def __init__(self, future: str, prefix: str, generic: bytes) -> None:
        self._future, self._prefix, self._generic = _bytes(future), prefix, generic
        self._without = packed(self._future, generic)
        self._gain = self._without - packed(self._future, generic + _bytes(prefix))

    def share(self, view: str) -> float | None:
        """XF of a view; None where even the whole prefix explains nothing."""
        if self._gain < LEAST_GAIN:
            return None
        return (self._without - packed(self._future, self._generic + _bytes(view))) / self._gain

    def grounded(self, view: str) -> float | None:
        """gXF of a view."""
        return self.share("\n".join(self._known(view)))

    def _known(self, view: str) -> Iterator[str]:
        """The longest parts of a view, from its beginning on, all of whose runs stand in the prefix."""
        start = stop = 0
        for at in range(len(view) - RUN + 1):
            if view[at : at + RUN] not in self._runs:
                continue
            if at > stop:
                yield from filter(None, (view[start:stop],))
                start = at
            stop = at + RUN
        yield view[start:stop]

    @cached_property
    def _runs(self) -> frozenset[str]:
        return frozenset(self._prefix[at : at + RUN] for at in range(len(self._prefix) - RUN + 1))


def generic(texts: Sequence[str]) -> bytes:
    """The generic text, from what agents wrote in sessions that are not scored."""
    return b"\n".join(_bytes(text)[:FROM_EACH] for text in texts)[:GENERIC]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
