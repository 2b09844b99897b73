"""In which order the chosen lines of a log stand, and where it says that some are missing.

    lines, the chosen ones ── laid_out ──> the chosen ones in order, marks between them

What was often used stands together at the top, since its place in the log says nothing. A mark follows a line if later
lines of the same text or call are missing; a heading that says little by itself is dropped if what it announces is.
Which lines are chosen is decided in choosing.py, and what they look like in logtext.py.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from foldline.core.log.loglines import GAP, OFTEN, LogLine, announces, closes, is_bracket


def laid_out(lines: Sequence[LogLine], chosen: Mapping[int, LogLine], often: Container[int]) -> list[LogLine]:
    """The chosen lines in order, with marks for gaps; `often` are the places of those that were often used."""
    first = min((line.message for line in chosen.values()), default=0)
    top = [chosen[place] for place in sorted(chosen) if place in often]
    rest = {place: line for place, line in chosen.items() if place not in often}
    told = {line.text for line in rest.values()}
    for place in sorted(rest, reverse=True):
        if announces(rest[place]) and _is_gap(lines, place, rest, told):
            del rest[place]
    found = [line._replace(label=OFTEN, message=min(first, 0) - 1, call=0, plain=False, reread=True) for line in top]
    for place in sorted(rest, key=lambda place: (rest[place].message, place)):
        found.append(rest[place])
        if _is_gap(lines, place, rest, told):
            found.append(rest[place]._replace(text=GAP))
    return found


def _is_gap(lines: Sequence[LogLine], place: int, chosen: Container[int], told: Container[str]) -> bool:
    """True if lines that follow this one in the same text or call are missing, so that a mark is needed. Code needs
    one for any missing line but a bracket; speech and arguments need none for lines shown elsewhere, nor for whole
    arguments. What tools said needs none: each line is quoted by itself."""
    for after in range(place + 1, len(lines)):
        line, entry = lines[after], lines[place].entry
        if after in chosen or line.is_quoted:
            return False
        if line.kind == "aside" and line.entry != entry and line.entry[:3] == entry[:3]:
            continue  # said in passing, between the other lines
        if line.entry != entry:
            return False
        silent = is_bracket(line.text) if line.is_text else closes(line.text)
        if not (silent or line.is_whole or (not line.is_text and line.text in told)):
            return True
    return False
