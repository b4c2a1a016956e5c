"""Theorem 1 of Demystifying ResNet: a residual network of R units with small weights that maps X to Y, built.

Lemma 1 gives a unit that moves one column; Lemma 2 chains such units, column by column, along paths on the unit sphere
at a distance of at least rho/2 from all other columns (Figure 10).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from residual.demystifying_resnet.theory.records import Finding, Samples, SpherePath, least_distance

EPS = float(np.finfo(np.float64).eps)
AT_MOST_TOLERANCE = 16 * EPS
"""Of a value relative to its bound."""


@dataclass(frozen=True)
class Arc:
    """Points centre + radius (cos t u + sin t v), 0 <= t <= angle, with orthonormal u and v, each of shape (d,)."""

    centre: np.ndarray
    radius: float
    u: np.ndarray
    v: np.ndarray
    angle: float

    @property
    def length(self) -> float:
        """Its length on the sphere."""
        return self.radius * self.angle

    def at(self, t: np.ndarray) -> np.ndarray:
        """Points at angles t of shape (k,), shape (k, d)."""
        around = np.outer(np.cos(t), self.u) + np.outer(np.sin(t), self.v)
        return np.asarray(self.centre + self.radius * around)


@dataclass(frozen=True)
class Way:
    """A path of connected arcs from a start to an end."""

    start: np.ndarray
    end: np.ndarray
    arcs: tuple[Arc, ...]

    @property
    def length(self) -> float:
        """The sum of its arcs' lengths."""
        return sum(arc.length for arc in self.arcs)

    @property
    def detours(self) -> tuple[Arc, ...]:
        """The arcs that go round obstacles."""
        return self.arcs[1::2]

    def points(self, steps: int) -> np.ndarray:
        """Points at equal distances along the path, including its ends, shape (steps + 1, d)."""
        ends = np.cumsum([arc.length for arc in self.arcs])
        distances = np.linspace(0.0, ends[-1], steps + 1)
        arc_of = np.minimum(np.searchsorted(ends, distances), len(self.arcs) - 1)
        result = np.empty((steps + 1, len(self.start)))
        for number, arc in enumerate(self.arcs):
            on_arc = arc_of == number
            result[on_arc] = arc.at((distances[on_arc] - (ends[number] - arc.length)) / arc.radius)
        result[0], result[-1] = self.start, self.end
        return result


def great_circle(start: np.ndarray, end: np.ndarray) -> Arc:
    """The minor arc from one unit vector to another; between opposite ones, one of many."""
    return _minor_arc(np.zeros_like(start), 1.0, start, end)


def way_round(start: np.ndarray, end: np.ndarray, obstacles: np.ndarray, distance: float) -> Way:
    """The great circle from start to end, with a minor arc at ``distance`` round every obstacle on it.

    Lemma 2: "draw a minor arc on the unit sphere connecting the starting and the ending point, bypassing each
    obstacle by a minor arc with a radius of rho/2 if needed". The points at Euclidean distance r from a unit vector
    o are those with o.x = 1 - r^2/2: in d dimensions a sphere of d - 2, on which the minor arc between the points
    where the great circle enters and leaves it is drawn. It needs d >= 3.

    Args:
        start: unit vector, shape (d,), at least ``distance`` from every obstacle, as is ``end``.
        end: unit vector, shape (d,).
        obstacles: unit vectors in columns, shape (d, k), at least 2 ``distance`` from each other.
        distance: Euclidean distance to keep from the obstacles.
    """
    direct, arcs, done = great_circle(start, end), [], 0.0
    height = 1 - distance**2 / 2
    for enters, leaves, number in sorted(_in_the_way(direct, obstacles, height)):
        arcs.append(_part(direct, done, enters))
        near, far = direct.at(np.array([enters, leaves]))
        obstacle = obstacles[:, number]
        arcs.append(_minor_arc(height * obstacle, float(np.sqrt(1 - height**2)), near, far, across=obstacle))
        done = leaves
    return Way(start, end, (*arcs, _part(direct, done, direct.angle)))


def _in_the_way(direct: Arc, obstacles: np.ndarray, height: float) -> Sequence[tuple[float, float, int]]:
    """Angles at which the great circle enters and leaves the cap above a height round each obstacle that it meets."""
    crossings = []
    for number, obstacle in enumerate(obstacles.T):
        along, across = float(obstacle @ direct.u), float(obstacle @ direct.v)
        # obstacle . point = top cos(t - nearest): largest, hence nearest, at t = nearest.
        top, nearest = np.hypot(along, across), np.arctan2(across, along)
        if top > height and 0 < nearest < direct.angle:
            half = float(np.arccos(height / top))
            crossings.append((nearest - half, nearest + half, number))
    return crossings


def _minor_arc(
    centre: np.ndarray, radius: float, start: np.ndarray, end: np.ndarray, across: np.ndarray | None = None
) -> Arc:
    """The minor arc about a centre, in the directions that are orthogonal to ``across``."""
    against = [] if across is None else [across]
    u = _orthonormal((start - centre) / radius, against)
    towards = (end - centre) / radius
    sideways = _orthogonal(towards, [*against, u])
    angle = float(np.arctan2(np.linalg.norm(sideways), towards @ u))
    if np.linalg.norm(sideways) < 1e-12:
        # Opposite points: all half circles are equally short. Take the most nearly orthogonal axis.
        axes = [_orthogonal(axis, [*against, u]) for axis in np.eye(len(start))]
        sideways = max(axes, key=lambda axis: float(np.linalg.norm(axis)))
    return Arc(centre, radius, u, _orthonormal(sideways, [*against, u]), angle)


def _orthogonal(vector: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    # Twice: once leaves rounding errors of a long component in a short remainder.
    for other in (*others, *others):
        vector = vector - (vector @ other) * other
    return vector


def _orthonormal(vector: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    # Scaled in between, so that the second pass works on the remainder.
    rest = _orthogonal(vector, others)
    rest = _orthogonal(rest / np.linalg.norm(rest), others)
    return np.asarray(rest / np.linalg.norm(rest))


def _part(arc: Arc, first: float, last: float) -> Arc:
    """The arc from one angle to another."""
    cosine, sine = np.cos(first), np.sin(first)
    return Arc(arc.centre, arc.radius, cosine * arc.u + sine * arc.v, cosine * arc.v - sine * arc.u, last - first)


@dataclass(frozen=True)
class Unit:
    """A residual unit x -> W^2 ReLU(W^1 x + b) + x (eq. 3)."""

    first: np.ndarray  # W^1, shape (d, d)
    second: np.ndarray  # W^2, shape (d, d)
    bias: np.ndarray  # b, shape (d,)

    def __call__(self, columns: np.ndarray) -> np.ndarray:
        """Apply it to samples in columns, shape (d, m)."""
        return np.asarray(self.second @ np.maximum(self.first @ columns + self.bias[:, None], 0.0) + columns)


def residual_unit(before: np.ndarray, after: np.ndarray, rho: float) -> Unit:
    """Lemma 1 (eqs. 15 to 17): the unit that moves ``before`` to ``after`` and no point rho/2 or more away from it.

    With d = |after - before|: W^1 = (sqrt(8d)/rho) e_1 before^T, W^2 = (sqrt(8/d)/rho) (after - before) e_1^T and
    b = (sqrt(8d)/rho)(rho^2/8 - 1) in every row. A unit vector at least rho/2 from ``before`` has a product of at
    most 1 - rho^2/8 with it, which the bias makes negative.

    >>> start, end = np.array([1.0, 0.0, 0.0]), np.array([0.8, 0.6, 0.0])
    >>> moved = residual_unit(start, end, rho=1.0)(np.stack([start, [0.0, 0.0, 1.0]], axis=1))
    >>> bool(np.allclose(moved.T, [end, [0.0, 0.0, 1.0]], atol=1e-15))
    True
    """
    step, size = float(np.linalg.norm(after - before)), len(before)
    first, second = np.zeros((size, size)), np.zeros((size, size))
    first[0] = np.sqrt(8 * step) / rho * before
    second[:, 0] = np.sqrt(8 / step) / rho * (after - before)
    return Unit(first, second, np.full(size, np.sqrt(8 * step) / rho * (rho**2 / 8 - 1)))


@dataclass(frozen=True)
class ConstructionStep:
    """One unit of the chain: which column it moves, and all columns before and after, each of shape (d, m)."""

    column: int
    before: np.ndarray
    after: np.ndarray

    @property
    def length(self) -> float:
        """The Euclidean distance that the column moves: Lemma 1's d."""
        return float(np.linalg.norm(self.after[:, self.column] - self.before[:, self.column]))

    def unit(self, rho: float) -> Unit:
        """Lemma 1's unit for it."""
        return residual_unit(self.before[:, self.column], self.after[:, self.column], rho)


def ways(samples: Samples, rho: float) -> list[Way]:
    """Lemma 2: the path of each column of X to its column of Y; the columns move one after the other."""
    state, result = samples.inputs.copy(), []
    for column in range(samples.count):
        others = np.delete(state, column, axis=1)
        result.append(way_round(samples.inputs[:, column], samples.targets[:, column], others, rho / 2))
        state[:, column] = samples.targets[:, column]
    return result


def chain(samples: Samples, ways_: Sequence[Way], steps: int) -> Iterator[ConstructionStep]:
    """Lemma 2: X_0 = X, ..., X_s = Y, with the same number of steps for every column, as in eq. 19."""
    state = samples.inputs
    for column, way in enumerate(ways_):
        for point in way.points(steps)[1:]:
            after = state.copy()
            after[:, column] = point
            yield ConstructionStep(column, state, after)
            state = after


def rho_of(samples: Samples) -> float:
    """The minimum distance between all inputs and targets (eq. 5)."""
    return least_distance(np.concatenate([samples.inputs, samples.targets], axis=1))


def path_bound(rho: float, samples: int) -> float:
    """Lemma 2: a way is shorter than (rho (m-1)/2 + 1) pi."""
    return (rho * (samples - 1) / 2 + 1) * np.pi


def norm_bound(rho: float, samples: int, units: int) -> float:
    """Eq. 20 with its constant: eq. 14's norm at the step length that eq. 19 has for this number of units.

    R = m ceil(l/d) with l = :func:`path_bound` gives d = m l / R, hence sqrt(8 m l / R) / rho, which is
    O(sqrt(m/(R rho) (m + 1/rho))).
    """
    return float(np.sqrt(8 * samples * path_bound(rho, samples) / units) / rho)


def moved_tolerance(width: Any, rho: Any, step: Any) -> Any:
    """What rounding allows where a unit moves a column by a step (eq. 13); numbers or columns, as of the next two."""
    return EPS * (width + 4) * 8 / rho**2 * step + 4 * EPS


def norm_tolerance(width: Any) -> Any:
    """What rounding allows of a norm, relatively."""
    return EPS * (width + 8)


def distance_tolerance(width: Any, rho: Any) -> Any:
    """What rounding allows of a distance of rho/2."""
    return EPS * (width + 16) / (rho / 2)


def measure_construction(samples: Samples, steps: int) -> Iterator[Finding]:
    """Lemma 1, Lemma 2 and Theorem 1 on the network of R = m ``steps`` units.

    Tolerances: a product of unit vectors in d dimensions is off by at most (d + 4) eps, and Lemma 1 multiplies it
    by 8 step/rho^2 (eq. 13). Run as a whole, the network multiplies such errors further, by :func:`amplification`.
    Distances of rho/2 between unit vectors are off by (d + 16) eps / (rho/2).
    """
    rho, width = rho_of(samples), len(samples.inputs)
    paths, units = ways(samples, rho), samples.count * steps
    state, rows = samples.inputs, []
    for step in chain(samples, paths, steps):
        unit, stated = step.unit(rho), np.sqrt(8 * step.length) / rho
        wrong = float(np.abs(unit(step.before) - step.after).max())
        norms = [float(np.linalg.norm(matrix)) for matrix in (unit.first, unit.second)]
        norm_error = max(abs(norm - stated) / stated for norm in norms)
        others = np.delete(step.after, step.column, axis=1)
        apart = np.linalg.norm(others - step.after[:, step.column : step.column + 1], axis=0)
        rows.append((step.length, wrong, max(norms), norm_error, float(np.linalg.norm(unit.bias)), float(apart.min())))
        state = unit(state)
    *columns, distances = zip(*rows, strict=True)
    longest_step, moved_wrongly, norm, norm_error, bias = map(max, columns)
    nearest = min(distances)
    longest, bound = max(way.length for way in paths), path_bound(rho, samples.count)
    product = EPS * (width + 4) * 8 / rho**2
    moved = moved_tolerance(width, rho, longest_step)
    yield Finding("lemma 1, eq. 13: a unit moves its column and leaves the others", moved_wrongly, 0.0,
                  moved_wrongly, moved)  # fmt: skip
    yield Finding("lemma 1, eq. 14: both norms are sqrt(8d)/rho", norm, np.sqrt(8 * longest_step) / rho,
                  norm_error, norm_tolerance(width))  # fmt: skip
    yield Finding("lemma 2: every step keeps a distance of rho/2", nearest, rho / 2,
                  max(0.0, rho / 2 - nearest), distance_tolerance(width, rho))  # fmt: skip
    yield _at_most("lemma 2: the longest path is below its bound", longest, bound)
    yield _at_most("lemma 2, eq. 19: every step is shorter than d", longest_step, bound / steps)

    growths = [amplification(way.points(steps), rho) for way in paths]
    along = max(growth.sum() * moved for growth in growths)
    growth = float(max(growth.max() for growth in growths))
    # A unit that passes an obstacle at the least distance may move it by rounding.
    beside = product * sum(arc.length for way in paths for arc in way.detours) * growth
    distance = float(np.abs(state - samples.targets).max())
    yield Finding("theorem 1: the whole network maps X to Y", distance, 0.0, distance, float(along + beside))
    yield Finding("largest growth of an input's rounding error through the network", growth, np.nan, 0.0, EPS)

    yield _at_most("theorem 1, eq. 6: every norm is below the bound", norm,
                   norm_bound(rho, samples.count, units))  # fmt: skip
    yield Finding("theorem 1, eq. 7: largest Frobenius norm by units", norm, np.nan, norm_error,
                  norm_tolerance(width))  # fmt: skip
    yield Finding("largest norm of a bias by units", bias, np.nan, 0.0, EPS)


def amplification(points: np.ndarray, rho: float) -> np.ndarray:
    """How much a small error in a column grows, at most, from each of its steps to the end of its way.

    The derivative of a unit at the column that it moves is I + W^2 diag(ReLU') W^1 = I + (8/rho^2)(a' - a) a^T. Of
    the column's ``points``, shape (steps + 1, d), the result has spectral norms from before each step on, the last
    step's first, shape (steps,).
    """
    product, norms = np.eye(points.shape[1]), []
    for before, after in zip(points[-2::-1], points[:0:-1], strict=True):
        product = product + 8 / rho**2 * np.outer(product @ (after - before), before)
        norms.append(np.linalg.norm(product, 2))
    return np.array(norms)


def _at_most(name: str, value: float, bound: float) -> Finding:
    """A value that must not exceed a bound; the error is the relative excess."""
    return Finding(name, value, bound, max(0.0, value / bound - 1), AT_MOST_TOLERANCE)


def longest_detour(draws: Sequence[Samples], steps: int) -> SpherePath:
    """The path that goes round most obstacles, over all columns and draws in three dimensions.

    Among equals, the longest.
    """
    every = [(samples, column, rho, way) for samples in draws for rho in [rho_of(samples)]
             for column, way in enumerate(ways(samples, rho))]  # fmt: skip
    samples, column, rho, way = max(every, key=lambda path: (len(path[3].detours), path[3].length))
    others = np.concatenate([samples.targets[:, :column], samples.inputs[:, column + 1 :]], axis=1)
    direct = Way(way.start, way.end, (great_circle(way.start, way.end),))
    return SpherePath(way.points(steps), direct.points(steps), others.T, np.array(rho))
