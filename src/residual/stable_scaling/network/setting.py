"""What is propagated through networks at initialisation. Imports only NumPy, so that plans and tables need no torch."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log
from typing import Annotated, NamedTuple

import numpy as np

from resaudit.paper import Tolerance, arrays

PerRun = Annotated[arrays.Float, arrays.Shape("networks", "runs"), Tolerance(relative=1e-6)]
UNITS, INPUTS, READOUT, FORWARD, BACKWARD = range(1, 6)
"""The purposes of random streams; each run draws from (seed, purpose, run)."""


class Variances(NamedTuple):
    """Variances of the entries, as multiples of 1/m (``readout``: of 1/outputs).

    Section 2: the defaults; that of A is presumed. Plain networks need ``middle=2`` to keep the norm (He et al. 2015).
    """

    first: float = 2.0
    middle: float = 1.0
    last: float = 2.0
    readout: float = 1.0


PLAIN = Variances(middle=2.0)


@dataclass(frozen=True)
class Network:
    """A network at initialisation, as :mod:`residual.stable_scaling.plain` defines it."""

    width: int  # m
    depth: int  # L, layers h_1 ... h_L
    tau: float | None  # factor of the branches; None: the plain feedforward network, with W_l ~ N(0, 2/m)
    # "plain": W_l h; else its entries normalised to mean square 1/m: by the batch's moments (each unit), by the units'
    # (each sample), or by what is expected over W_l.
    branch: str = "plain"
    start: str = "gaussian"  # law of h_0: gaussian: A ~ N(0, 2/m); uniform: the same variance; unit: scaled to norm 1


@dataclass(frozen=True)
class Samples:
    """The inputs of a network; each run has its own."""

    law: str  # mnist: random training images; sphere: uniform on the unit sphere
    count: int  # n
    dimension: int = 784  # entries of an input on the sphere; images keep theirs
    norm: str = (
        "each"  # scale of images: each has norm 1; mean: their mean square is 1 over all; pixels: values in [0, 1]
    )


@dataclass(frozen=True)
class Propagated:
    """Norms of hidden states."""

    # Mean over samples of ||h_l||^2 at the kept layers; NaN beyond a network's depth.
    squared_norms: Annotated[PerRun, arrays.Shape("networks", "runs", "layers")]
    start: PerRun  # the same of h_0
    least: PerRun  # least ||h_l|| over samples and 1 <= l < L
    largest: PerRun  # largest, likewise


@dataclass(frozen=True)
class Backpropagated:
    """Gradients of the loss ||B h_L - y||^2 / 2 of single samples, relative to sqrt(loss * m/d) as in Theorem 6."""

    # Frobenius norm of the gradient of W_l at the kept layers l < L, the largest over samples; over tau, if any.
    middle: Annotated[PerRun, arrays.Shape("networks", "runs", "layers")]
    largest: PerRun  # the largest over all l < L
    last: PerRun  # norm of the gradient of W_L, the largest over samples


@dataclass(frozen=True)
class Products:
    """Spectral norms of D_b (I + tau W_b) ... D_a (I + tau W_a)."""

    first: Annotated[arrays.Int, arrays.Shape("networks", "pairs")]  # a; 0 where there is no such pair
    last: Annotated[arrays.Int, arrays.Shape("networks", "pairs")]  # b, likewise
    norms: Annotated[PerRun, arrays.Shape("networks", "runs", "pairs")]  # the largest over samples


def layers_kept(depth: int, count: int) -> tuple[int, ...]:
    """Layers from 1 to depth - 1, evenly spaced in their logarithm.

    >>> layers_kept(101, 3)
    (1, 10, 100)
    """
    return tuple(sorted({int(layer) for layer in np.geomspace(1, max(1, depth - 1), count).round()}))


def scaling_factor(depth: int, power: float) -> float:
    """The factor tau = L^-power.

    >>> scaling_factor(100, 0.5)
    0.1
    """
    return float(depth**-power)


def stable_tau(depth: int, c: float) -> float:
    """The largest tau of Theorem 2: tau^2 L = log(1/(1 - c)) / 4 (appendix C.1)."""
    return float((-log(1 - c) / 4 / depth) ** 0.5)


def promised(width: int, depth: int, samples: int, c: float) -> float:
    """Theorem 2's probability that no ||h_l|| leaves [1 - c, 1 + c]: 1 - 2 n L^2 exp(-m log(1/(1 - c)) / 32).

    >>> round(promised(2048, 100, 4, 0.5), 6), promised(64, 100, 4, 0.5)
    (1.0, 0.0)
    """
    return max(0.0, 1 - 2 * samples * depth**2 * exp(width * log(1 - c) / 32))


def product_scale(c: float) -> float:
    """The largest tau^2 L for which appendix B bounds every product by 1 + c.

    Its net argument gives (1 + c')/(1 - eps) if tau^2 L <= log(1 + c')/2 and log(1 + c')^2 / (16 tau^2 L) is above
    1 + log(1 + 2/eps). Here 1 + c' = (1 + c)(1 - eps), and eps is the best of a fine grid.
    """
    eps = np.geomspace(1e-6, c / (1 + c), 20_000, endpoint=False)
    logs = np.log((1 + c) * (1 - eps))
    return float(np.minimum(logs / 2, logs**2 / (16 * (1 + np.log1p(2 / eps)))).max())


def streams(seed: int, purpose: int, runs: Sequence[int]) -> list[np.random.Generator]:
    """A generator for each run."""
    return [np.random.default_rng([seed, purpose, run]) for run in runs]
