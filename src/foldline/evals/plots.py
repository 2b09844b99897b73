"""Plots as inline SVG, drawn here: lines with intervals, and a strip of sessions. No script, no font, no request.

Values come in between 0 and 1 (a little below or above is drawn as it is); shares kept stand on a logarithmic axis.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from foldline.evals.markup import Markup, join, tag
from foldline.evals.stats import Figure

WIDTH, HEIGHT = 460, 260
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 14, 34
TICKS = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50, 1.0)


class Point(NamedTuple):
    """Where on the x axis, and the figure there."""

    at: float
    value: Figure


class Line(NamedTuple):
    """A strategy's points, with its place among the colours."""

    name: str
    kind: str
    number: int
    points: Sequence[Point]


class Axis(NamedTuple):
    """Values from the first to the last across so many pixels."""

    first: float
    last: float
    start: float
    stop: float

    def place(self, value: float) -> float:
        share = (value - self.first) / ((self.last - self.first) or 1)
        return round(self.start + share * (self.stop - self.start), 1)


def retention(lines: Sequence[Line], label: str) -> Markup:
    """A figure against the share of tokens kept, with its intervals."""
    points = [point for line in lines for point in line.points]
    if not points:
        return Markup("")
    x = _shares([point.at for point in points])
    y = _values(points)
    drawn = [_line(line, Axis(x.first, x.last, x.start, x.stop), y, math.log) for line in lines]
    ticks = [(tick, f"{tick:.0%}") for tick in TICKS if x.first <= math.log(tick) <= x.last]
    marks = [_tick_x(x.place(math.log(tick)), text) for tick, text in ticks]
    return _svg(label, [*_grid(y), *marks, *drawn])


def steps(lines: Sequence[Line], label: str) -> Markup:
    """A figure after one, three and five folds."""
    points = [point for line in lines for point in line.points]
    if not points:
        return Markup("")
    x = Axis(min(p.at for p in points) - 0.3, max(p.at for p in points) + 0.3, LEFT, WIDTH - RIGHT)
    y = _values(points)
    marks = [_tick_x(x.place(at), f"{at:g}") for at in sorted({point.at for point in points})]
    return _svg(label, [*_grid(y), *marks, *(_line(line, x, y, float) for line in lines)])


def strip(values: Sequence[tuple[str, float]], label: str) -> Markup:
    """One dot for each session, with its name in a tooltip, and a line at the mean."""
    if not values:
        return Markup("")
    x = Axis(min(0.0, *(v for _, v in values)), max(1.0, *(v for _, v in values)), 4, WIDTH - 4)
    dots = [
        tag(
            "circle",
            tag("title", f"{name}: {value:.2f}"),
            cx=x.place(value),
            cy=8 + (number * 7) % 15,
            r=2.5,
            class_="dot",
        )
        for number, (name, value) in enumerate(sorted(values))
    ]
    mean = sum(value for _, value in values) / len(values)
    middle = tag("line", x1=x.place(mean), x2=x.place(mean), y1=0, y2=30, class_="mean")
    return tag("svg", middle, *dots, viewBox=f"0 0 {WIDTH} 30", role="img", aria_label=label, class_="strip")


def _shares(shares: Sequence[float]) -> Axis:
    first, last = min(shares), max(shares)
    return Axis(math.log(first) - 0.2, math.log(last) + 0.2, LEFT, WIDTH - RIGHT)


def _values(points: Sequence[Point]) -> Axis:
    low = min(0.0, *(point.value.mean for point in points))
    high = max(value.mean if value.high is None else value.high for _, value in points)
    return Axis(low, max(high, 0.1) * 1.05, HEIGHT - BOTTOM, TOP)


def _grid(y: Axis) -> Iterator[Markup]:
    step = 0.2 if y.last > 0.5 else 0.1 if y.last > 0.2 else 0.05
    for number in range(math.ceil(y.first / step), math.floor(y.last / step) + 1):
        at = y.place(number * step)
        yield tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=at, y2=at, class_="grid")
        yield tag("text", f"{number * step:.2g}", x=LEFT - 6, y=at + 4, text_anchor="end")


def _tick_x(at: float, text: str) -> Markup:
    mark = tag("line", x1=at, x2=at, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4, class_="grid")
    return join((mark, tag("text", text, x=at, y=HEIGHT - BOTTOM + 18, text_anchor="middle")))


def _line(line: Line, x: Axis, y: Axis, scale: object) -> Markup:
    """The line through the means, a bar for each interval, a dot for each mean with its numbers in a tooltip. Of one
    session there is no interval."""
    to = math.log if scale is math.log else float
    points = sorted(line.points, key=lambda point: point.at)
    places = [(x.place(to(point.at)), y.place(point.value.mean), point.value) for point in points]
    way = tag("polyline", points=" ".join(f"{a},{b}" for a, b, _ in places), class_="way")
    bars = [tag("line", x1=a, x2=a, y1=y.place(v.low), y2=y.place(v.high), class_="bar")
            for a, _, v in places if v.low is not None and v.high is not None]  # fmt: skip
    dots = [tag("circle", tag("title", f"{line.name}: {_told(v)}"), cx=a, cy=b, r=3) for a, b, v in places]
    return tag("g", way, *bars, *dots, class_=f"k-{line.kind} c{line.number}")


def _told(value: Figure) -> str:
    return f"{value.mean:.3f}" + ("" if value.half is None else f" ({value.low:.3f} to {value.high:.3f})")


def _svg(label: str, inside: Sequence[Markup]) -> Markup:
    return tag("svg", *inside, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=label)
