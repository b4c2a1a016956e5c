"""Paths on the unit sphere that go round obstacles (Demystifying ResNet, Lemma 2 and Figure 10)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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
