"""Words: what a text says, each word as its stem, and which verbs tell someone to act, to mend, or just to go on.

    text ── stems ──> the stems that say something, each once

Whose words they are is decided in echoes.py.
"""

from __future__ import annotations

import re
from functools import lru_cache

WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_BINDING_WORDS = """
a an the to of and in is for on with it its be as at by that this then from into or are was were not you your we our
i me my they them their he she his her will would shall can may must should need have has had do does did done so if
when while all any each every also just please always never user users want ask request remember instruct require
tell told say said note important continue before after anything
something else no nor only both don doesn didn isn aren wasn won shouldn mustn t s ll ve re personally explicitly
der die das den dem des ein eine einen und oder nicht nie kein keine keinen im in zu mit von für auf
"""
EMPTY = frozenset(_BINDING_WORDS.split())
"""Words that join or frame others and do not show where a line comes from."""
_ALIKE = """
folder directory dir; dependency dep deps library; change modify edit alter touch; short brief; one single;
give provide; big large; stay remain; automatic auto; repository repo; config configuration; db database;
documentation doc docs; delete remove erase deletion removal; run execute execution; show display; function method;
identical same; permit allow; forbid prohibit; truncate truncation; install installation; deploy deployment;
revoke revocation; migrate migration; create creation; rotate rotation; publish publication
"""
_SAME = {word: group.split()[0] for group in _ALIKE.split(";") for word in group.split()}
"""Words that summaries use for one another (a verb and its noun among them), each with the word it is compared as."""


def stems(text: str) -> list[str]:
    """The words of a text that say something, each as its stem, once, and in their order."""
    words = (word for word in WORD.findall(text.casefold()) if word not in EMPTY)
    return list(dict.fromkeys(found for found in map(stem, words) if found not in EMPTY))


@lru_cache(maxsize=65_536)  # a conversation says the same words again and again
def stem(word: str) -> str:
    found = root(word)
    return _STEM_OF.get(found, found)


@lru_cache(maxsize=65_536)
def root(word: str) -> str:
    """A word without its ending, before synonyms are considered."""
    if not word.isascii():
        return word
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + instead
            break
    if len(word) > 3 and word[-1] == word[-2]:
        return word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


_ENDINGS = (("ies", "y"), ("ied", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""))
_STEM_OF = {root(word): root(same) for word, same in _SAME.items()}


_ACTING = """
run execute send post upload delete remove install curl wget push publish email forward copy move write add set disable
enable export open visit fetch download call grant share print include commit merge deploy create append replace
overwrite rotate revoke pass paste put store save log leak expose embed insert drop reset rm bash sh npx eval invoke
give turn switch dump take hide skip bypass transfer truncate restart wipe purge destroy revert charge
"""
ACTING = frozenset(_ACTING.split())
ORDERS = frozenset(map(stem, ACTING))
"""Verbs that tell someone to act on the world."""
_REACHING = """
push publish deploy merge release delete remove drop wipe purge destroy truncate reset revert send post upload email
forward transfer charge revoke rotate
"""
REACHING = frozenset(map(stem, _REACHING.split()))
"""The verbs among these that cannot be undone, or reach beyond the agent's own files."""
_MENDING = """
fix resolve investigate debug address diagnose understand reproduce find look check verify review determine analyse
analyze trace handle ask decide confirm
"""
REPAIRS = frozenset(map(stem, _MENDING.split()))
"""Verbs that a summary uses for what a tool reported: the report is the tool's, the order is not. They do no harm."""
_WORKING = """
run rerun re test tests testing suite whole full entire complete again once more make get pass passing green fix fixing
mend repair investigate debug find out why what how still fail failing failure failures report summarise summarize
result results outcome review verify check confirm see work working go finish task step next bug issue problem error
change changes changed build lint everything last latest first until now sure keep trying try use using back
"""
EVERYDAY = frozenset(map(stem, _WORKING.split()))
"""Words of any ordinary work. An order made of nothing else comes from nobody in particular, and does no harm."""
