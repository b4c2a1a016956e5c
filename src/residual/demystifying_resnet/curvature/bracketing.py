"""Percentiles of absolute eigenvalues by spectrum slicing: inertia counts, then zeros of the determinant.

Inertia counts bracket the eigenvalue of a given rank with certainty. Within bounds that contain only this eigenvalue,
the determinant of H - t I, which each count also yields, has a single zero; a secant-like step finds it in a few counts
(eq. 11). Imports only the standard library.
"""

import itertools
import math
from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

Bounds = tuple[float, float]

Counter = Callable[[Sequence[float]], list[tuple[int, float]]]
"""For each bound, the number of eigenvalues below it and log |det(H - bound I)|."""

CERTAIN = 1e-5
"""Interpolation is trusted once counts enclose an eigenvalue within this relative width."""
SHRUNK = 0.005
"""The bounds must also be this much narrower than those that first isolated the eigenvalue: about two steps."""
MOST_COUNTS = 100
"""Counts for one isolated eigenvalue; bisection alone would need about 30."""
LEAST_CUT = 0.1
"""Least share of a bracket, in log t, that a count cuts off."""
CUTS_BEFORE_TWO = 2
"""Attempts to separate eigenvalues of opposite sign before both are searched: near zero weights they pair up."""
LEAST_WEIGHT = 0.1
"""Least interpolation weight that counts: an eigenvalue with less weight in the percentile needs less accuracy."""
REMEMBERED = 4
"""Previous percentiles: three that the rules of extrapolation need, and one to choose among the rules."""


class CountsInconsistent(ArithmeticError):
    """Counts contradict each other or failed."""


@dataclass(frozen=True)
class Side:
    """A count below t, or below -t, and log |det|."""

    t: float
    count: int
    log_determinant: float


@dataclass(frozen=True, order=True)
class Pair:
    """Counts and log determinants at +t and -t."""

    t: float
    upper: int
    lower: int
    log_upper: float
    log_lower: float

    @property
    def within(self) -> int:
        """Number of eigenvalues of absolute value below t (except for a tie at -t)."""
        return self.upper - self.lower

    def side(self, positive: bool) -> Side:
        """The count at t, or at -t."""
        return Side(self.t, self.upper, self.log_upper) if positive else Side(self.t, self.lower, self.log_lower)


@dataclass(frozen=True)
class Percentile:
    """A percentile with the tightest known bounds around the two eigenvalues between which it is interpolated."""

    value: float
    bounds: Bounds


@dataclass
class Bracketing:
    """The inertia counts of one Hessian so far, and searches among them."""

    count: Counter
    size: int  # number of eigenvalues
    floor: float  # least absolute value to search
    top: float  # absolute value above all eigenvalues
    tolerance: float = 1e-7  # relative width of bounds at which an eigenvalue counts as known
    pairs: list[Pair] = field(default_factory=list)

    def at(self, t: float) -> Pair:
        """Count at +-t."""
        (upper, log_upper), (lower, log_lower) = self.count([t, -t])
        pair = Pair(t, upper, lower, log_upper, log_lower)
        insort(self.pairs, pair)
        place = self.pairs.index(pair)
        for less, more in itertools.pairwise(self.pairs[max(0, place - 1) : place + 2]):
            if less.upper > more.upper or less.lower < more.lower:
                raise CountsInconsistent(f"counts at {less.t:.3g} and {more.t:.3g} contradict each other")
        return pair

    def percentile(self, share: float, hint: Bounds | None = None) -> Percentile | None:
        """Percentile of the absolute eigenvalues, linearly interpolated between ranks; None if it is under the floor.

        Args:
            share: in [0, 1).
            hint: bounds that may enclose the two ranks, such as those of a nearby Hessian.
        """
        position = share * (self.size - 1)
        rank = math.floor(position)
        weight = position - rank
        for bound in hint or (math.sqrt(self.floor * self.top),):
            if self.at(min(max(bound, 1.01 * self.floor), self.top)).within != rank:
                break
        if not (self._enclose(rank) and self._enclose(rank + 2)):
            return None
        first, second = self._both(rank, (1 - weight, weight))
        return Percentile((1 - weight) * first + weight * second, (self._below(rank).t, self._above(rank + 2).t))

    def _below(self, number: int) -> Pair:
        """The largest known bound with at most this number of eigenvalues within."""
        return max(p for p in self.pairs if p.within <= number)

    def _above(self, number: int) -> Pair:
        """The least known bound with at least this number of eigenvalues within."""
        return min(p for p in self.pairs if p.within >= number)

    def _enclose(self, number: int) -> bool:
        """Count until bounds with at most and at least this number within are known; False if the floor hides one."""
        # Steps in log t, as if the number of eigenvalues within were proportional to t.
        step = 0.0
        while (lowest := self.pairs[0]).within > number:
            if lowest.t <= self.floor:
                return False
            step = max(2 * step, 1.2 * (lowest.within - number + 1) / max(number, 1))
            self.at(max(self.floor, lowest.t * math.exp(-step)))
        step = 0.0
        while (highest := self.pairs[-1]).within < number:
            if highest.t >= self.top:
                raise CountsInconsistent(f"only {highest.within} of {self.size} eigenvalues within the largest")
            step = max(2 * step, 1.2 * (number - highest.within + 1) / max(number, 1))
            self.at(min(self.top, highest.t * math.exp(step)))
        return True

    def _both(self, rank: int, weights: tuple[float, float]) -> tuple[float, float]:
        """The absolute eigenvalues with ``rank`` and ``rank + 1`` smaller ones."""
        for tried in itertools.count():
            low, high = self._below(rank), self._above(rank + 2)
            if any(p.within == rank + 1 for p in self.pairs):
                return self._ranked(rank, weights[0]), self._ranked(rank + 1, weights[1])
            if high.t - low.t <= self.tolerance * high.t:
                return low.t, high.t
            if (low.within, high.within) == (rank, rank + 2):
                return self._two(low, high, weights)
            self.at(_cut(low, high, rank if rank > low.within else rank + 2, tried))
        raise AssertionError("unreachable")

    def _two(self, low: Pair, high: Pair, weights: tuple[float, float]) -> tuple[float, float]:
        """The two absolute eigenvalues between two bounds."""
        if high.upper - low.upper == 1:
            ends = [self._zero(low.side(s), high.side(s), s, max(weights)) for s in (True, False)]
            return min(ends), max(ends)
        positive = high.upper > low.upper
        left, right = low.side(positive), high.side(positive)
        while right.t - left.t > self.tolerance * right.t:
            middle = self._one(math.sqrt(left.t * right.t), positive)
            if abs(middle.count - left.count) == 1:
                return (
                    self._zero(left, middle, positive, weights[0]),
                    self._zero(middle, right, positive, weights[1]),
                )
            left, right = (middle, right) if middle.count == left.count else (left, middle)
        return left.t, right.t

    def _ranked(self, rank: int, weight: float) -> float:
        """The absolute eigenvalue with ``rank`` smaller ones."""
        tolerance = self.tolerance / max(weight, LEAST_WEIGHT)
        for tried in itertools.count():
            low, high = self._below(rank), self._above(rank + 1)
            if high.t - low.t <= tolerance * high.t:
                return (low.t + high.t) / 2
            if tried >= CUTS_BEFORE_TWO and high.upper - low.upper == low.lower - high.lower == 1:
                return self._two(low, high, (weight, weight))[rank - low.within]
            if high.within - low.within == 1:
                positive = high.upper > low.upper
                return self._zero(low.side(positive), high.side(positive), positive, weight)
            self.at(_cut(low, high, rank if rank > low.within else rank + 1, tried))
        raise AssertionError("unreachable")

    def _one(self, t: float, positive: bool) -> Side:
        ((count, log_determinant),) = self.count([t if positive else -t])
        return Side(t, count, log_determinant)

    def _zero(self, left: Side, right: Side, positive: bool, weight: float) -> float:
        """The only eigenvalue of one sign between two absolute values, as a zero of det(H - t I) or det(H + t I)."""
        # The interpolation error is proportional to the square of the width.
        most = 1 / math.sqrt(max(weight, LEAST_WEIGHT))
        enough = max(self.tolerance * left.t, min(CERTAIN * left.t, SHRUNK * (right.t - left.t))) * most
        ends = left.count, right.count
        outside: Side | None = None
        widths = [math.inf, math.inf, math.inf]
        for _ in range(MOST_COUNTS):
            t, width = _estimate(left, right, outside), right.t - left.t
            if width <= enough:
                return t
            # Beyond the estimate as seen from the nearer bound, so that the bounds soon enclose it closely.
            margin = 0.4 * enough
            t += margin if t - left.t < right.t - t else -margin
            if width > widths[-3] / 2:
                t = (left.t + right.t) / 2
            widths.append(width)
            side = self._one(t, positive)
            if side.count not in ends:
                raise CountsInconsistent(f"{side.count} eigenvalues below {side.t:.3g}, where only {ends} are possible")
            if side.count == ends[0]:
                left, outside = side, left
            else:
                right, outside = side, right
        raise CountsInconsistent(f"the eigenvalue near {t:.3g} was not found in {MOST_COUNTS} counts")


def _cut(low: Pair, high: Pair, number: int, tried: int) -> float:
    """The next bound to count at, interpolated in log t; every fourth time the middle."""
    share = (number - low.within) / (high.within - low.within)
    share = 0.5 if tried % 4 == 3 else min(max(share, LEAST_CUT), 1 - LEAST_CUT)
    return low.t * math.exp(share * math.log(high.t / low.t))


def _estimate(left: Side, right: Side, outside: Side | None) -> float:
    """Zero between left and right of (r - t) exp(a + c t) through the absolute determinants of three bounds (eq. 11).

    Without a third bound c = 0, the secant. r solves that the second divided differences of log |r - t| and log |det|
    are equal; the former is monotonic in r.
    """
    p, q = left.t, right.t
    if not (math.isfinite(left.log_determinant) and math.isfinite(right.log_determinant)):
        return (p + q) / 2
    if outside is None or not math.isfinite(outside.log_determinant):
        ratio: float = math.exp(min(max(left.log_determinant - right.log_determinant, -700.0), 700.0))
        return p + (q - p) * ratio / (1 + ratio)
    e = outside.t
    weights = 1 / ((p - q) * (p - e)), 1 / ((q - p) * (q - e)), 1 / ((e - p) * (e - q))
    points = tuple(zip(weights, (left, right, outside), strict=True))
    constant = sum(w * at.log_determinant for w, at in points)
    low, high = 0.0, 1.0
    for _ in range(52):
        middle = (low + high) / 2
        r = p + middle * (q - p)
        if r in (p, q):
            break
        excess = sum(w * math.log(abs(r - at.t)) for w, at in points) - constant
        low, high = (middle, high) if (excess > 0) == (weights[0] < 0) else (low, middle)
    return p + (low + high) / 2 * (q - p)


@dataclass
class Extrapolation:
    """The recent percentiles of one run, from which the next Hessian's is predicted: a good guess saves counts."""

    logarithms: list[float] = field(default_factory=list)  # of the last percentiles
    around: Bounds = (1.0, 1.0)  # bounds of the last percentile, as multiples of it

    def remember(self, percentile: Percentile) -> None:
        """Store a percentile."""
        self.logarithms = [*self.logarithms[1 - REMEMBERED :], math.log(percentile.value)]
        self.around = percentile.bounds[0] / percentile.value, percentile.bounds[1] / percentile.value

    def hint(self) -> Bounds | None:
        """Bounds to try first; None without previous values."""
        if not self.logarithms:
            return None
        value = math.exp(extrapolated(self.logarithms))
        return value * self.around[0], value * self.around[1]


def extrapolated(values: list[float]) -> float:
    """Predict the next value by the rule that would have predicted the last one best.

    >>> extrapolated([1.0, 2.0, 3.0, 4.0]), extrapolated([1.0, 5.0, 1.0, 5.0])
    (5.0, 1.0)
    """

    def predictions(known: list[float]) -> Iterator[float]:
        # At a large learning rate a network oscillates from epoch to epoch, hence the rules with a period of two.
        yield known[-1]
        yield known[-2]
        yield 2 * known[-1] - known[-2]
        yield known[-2] + known[-1] - known[-3]

    if len(values) < REMEMBERED:
        return values[-1]
    errors = [abs(value - values[-1]) for value in predictions(values[:-1])]
    return list(predictions(values))[errors.index(min(errors))]
