"""Starts of simulations: independent of the number of runs and of all else that is simulated."""

import numpy as np

from residual.shortcut_importance.reduced.setting import CNN, Setting

OUTPUT, RADIUS, FILTER = 1, 2, 3
"""The purposes of random streams: each is drawn from (seed, purpose, k or p), one run after the other."""
LAWS = ("ball", "sphere", "worst", "grid")


def starts(network: str, law: str, setting: Setting, seed: int, runs: int) -> np.ndarray:
    """The states at the start, shape (4, runs) as in :mod:`residual.shortcut_importance.reduced.reduced`.

    A ResNet's filter starts at the shortcut 1/sqrt(p); a CNN's is uniform on the unit sphere.

    Args:
        network: one of :data:`~residual.shortcut_importance.reduced.setting.NETWORKS`.
        law: where a starts: uniform in the ``ball`` of radius |1.a*|/sqrt(k) or on its ``sphere``, or at its ``worst``
            point, opposite to a*; or, for both layers, a square ``grid``: phi from 0 to pi, a from -a* to a*.
        setting: the teacher.
        seed: the seed of all draws.
        runs: a square number for a ``grid``.
    """
    if law == "grid":
        side = int(runs**0.5)
        phi, shares = np.meshgrid(np.linspace(0, np.pi, side), np.linspace(-1, 1, side), indexing="ij")
        share = shares.ravel()
        return np.stack([phi.ravel(), share * setting.total, share * setting.across, 0 * share])
    angles = np.full(runs, setting.angle)
    if network == CNN:
        # The angle of a uniform unit vector to a fixed one.
        along, others = np.random.default_rng([seed, FILTER, setting.filter_size]).spawn(2)
        rest = np.sqrt(2 * others.standard_gamma((setting.filter_size - 1) / 2, runs))
        angles = np.arctan2(rest, along.standard_normal(runs))
    if law == "worst":
        share = -setting.radius / setting.squared_norm**0.5
        output = np.outer([share * setting.total, share * setting.across, 0.0], np.ones(runs))
    else:
        output = setting.radius * _unit_ball(setting.patches, seed, runs, surface=law == "sphere")
        output[0] *= setting.patches**0.5
    return np.vstack([angles, output])


def _unit_ball(dimension: int, seed: int, runs: int, surface: bool) -> np.ndarray:
    """Uniform points in the unit ball or on its surface: two coordinates and the length of the others."""
    normal = np.random.default_rng([seed, OUTPUT, dimension]).standard_normal((runs, 2)).T
    others, radius = np.random.default_rng([seed, RADIUS, dimension]).spawn(2)
    rest = 2 * others.standard_gamma((dimension - 2) / 2, runs)
    length = 1.0 if surface else radius.random(runs) ** (1 / dimension)
    return np.asarray(np.vstack([normal, np.sqrt(rest)]) * length / np.sqrt((normal**2).sum(axis=0) + rest))
