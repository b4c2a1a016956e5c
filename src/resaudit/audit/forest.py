"""The layout of a forest plot: positions of points and of the claim's region, in per cent of the axis."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from resaudit.base.text import number
from resaudit.claims.records import CheckResult, Comparison

MARGIN = 8.0
TICKS = 4


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic axis from ``start`` to ``end`` (in the axis' own measure), ``MARGIN`` per cent free."""

    logarithmic: bool
    start: float
    end: float

    def place(self, value: float) -> float:
        """A value's position in per cent of the width, within 0 and 100, which infinite ones have."""
        if math.isinf(value):
            return 100.0 if value > 0 else 0.0
        span = self.end - self.start
        share = (self._measure(value) - self.start) / span if span else 0.5
        return round(min(100.0, max(0.0, MARGIN + (100 - 2 * MARGIN) * share)), 2)

    def ticks(self) -> list[float]:
        """A few round values, ascending, within the axis."""
        low, high = self._value(self.start), self._value(self.end)
        if self.logarithmic and high / low >= 100:
            first, last = math.ceil(self.start - 1e-9), math.floor(self.end + 1e-9)
            step = max(1, math.ceil((last - first + 1) / TICKS))
            return [10.0**power for power in range(first, last + 1, step)]
        return _round_values(low, high)

    def _measure(self, value: float) -> float:
        if self.logarithmic:
            return math.log10(value) if value > 0 else -math.inf
        return value

    def _value(self, measure: float) -> float:
        return 10.0**measure if self.logarithmic else measure


def _round_values(low: float, high: float) -> list[float]:
    span = high - low
    if span <= 0:
        return [low]
    magnitude = 10.0 ** math.floor(math.log10(span / TICKS))
    step = next(s for m in (1, 2, 2.5, 5, 10) if span / (s := m * magnitude) <= TICKS)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [float(f"{i * step:.10g}") for i in range(first, last + 1)]


def axis_of(result: CheckResult) -> Axis | None:
    """The axis that contains a result's points and its region's ends; None without points.

    On a logarithmic axis values that are not positive are placed at the left edge.
    """
    logarithmic = result.scale == "log"
    values = [v for p in result.points for v in (p.effect, *p.ends)]
    placed = [v for v in (*values, *result.region) if math.isfinite(v) and (v > 0 or not logarithmic)]
    if not values or not placed:
        return None
    low, high = min(placed), max(placed)
    return Axis(True, math.log10(low), math.log10(high)) if logarithmic else Axis(False, low, high)


@dataclass(frozen=True)
class Mark:
    """A point as drawn, in per cent: ``effect`` None if unknown, ``line`` None without an interval.

    An interval that is unbounded or infinite on one side reaches the edge there (0 or 100) and has an arrow.
    """

    effect: float | None
    line: tuple[float, float] | None
    open_left: bool
    open_right: bool


def mark(point: Comparison, axis: Axis) -> Mark:
    """The positions of a point's effect and interval."""
    dot = None if math.isnan(point.effect) else axis.place(point.effect)
    if point.ends == (-math.inf, math.inf):
        return Mark(dot, None, False, False)
    return Mark(dot, (axis.place(point.low), axis.place(point.high)), point.low == -math.inf, point.high == math.inf)


def region(result: CheckResult, axis: Axis) -> tuple[float, float]:
    """The start and end of the claim's region."""
    low, high = result.region
    return axis.place(low), axis.place(high)


def labelled_ticks(axis: Axis) -> Iterable[tuple[float, str]]:
    """Positions and labels of the axis' ticks."""
    return [(axis.place(value), number(value)) for value in axis.ticks()]
