"""Measurements of linear residual networks, and their sizes. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from resaudit.paper import Tolerance, arrays

KNOWN = 0.1
"""A logarithm of eq. 2.3's ratio that rounding may change by more is not known."""
Seen = Annotated[arrays.Float, Tolerance(relative=1e-6, absolute=1e-4, differing=0.1)]
"""A column of descents."""


@dataclass(frozen=True)
class Factored:
    """Factorizations as columns, each of shape (rows,)."""

    method: arrays.Text  # proof (Appendix A.1), polar (ours) or search (the smallest largest norm found)
    width: arrays.Int  # d of R, before an augmentation
    draw: arrays.Int  # number of the random draw of R
    depth: arrays.Int  # l, the number of factors
    # Max(|log s_max|, |log s_min|) of R; 0 of an orthogonal map, up to rounding.
    gamma: Annotated[arrays.Float, Tolerance.CLOSE]
    # max |A_i|_2 over the factors I + A_i. With other instructions norms of factors were at most 1e-12 apart, those of
    # searches 0.1 %.
    norm: Annotated[
        arrays.Float, Tolerance(relative=0.05, rows=("method", "search"), others=Tolerance(relative=1e-9), chaotic=True)
    ]
    # The theorem's bound, (4 pi + 3 gamma)/l, or 3 gamma/l for positive semidefinite R.
    paper: Annotated[arrays.Float, Tolerance.CLOSE]
    # The proof's bound with whole p and q, max(pi/q, 3 gamma/p); NaN of other methods.
    whole: Annotated[arrays.Float, Tolerance.CLOSE]
    least: Annotated[arrays.Float, Tolerance.CLOSE]  # a bound below which no factorization has its largest norm
    error: Annotated[arrays.Float, Tolerance.ERROR]  # Frobenius norm of the product minus R
    tolerance: Annotated[arrays.Float, Tolerance.LIMIT]  # what rounding allows there


@dataclass(frozen=True)
class Factorizations:
    """Which maps R are factored, and into how many factors."""

    widths: tuple[int, ...]  # every d; MNIST's map has the width of its data instead
    depths: tuple[int, ...]  # every l; those below max(3 gamma, 5) are excluded, and that least one is added
    draws: int  # random R of each width
    condition: float  # s_max/s_min of ill-conditioned and positive R, whose s_max s_min is 1
    searched_widths: tuple[int, ...]  # every d at which the smallest largest norm is searched
    searched_depths: tuple[int, ...]  # every l there
    iterations: int  # L-BFGS steps for each smoothing of the maximum


@dataclass(frozen=True)
class Dominated:
    """Points A at which eq. 2.3 was evaluated, as columns of shape (rows,)."""

    width: arrays.Int  # d
    depth: arrays.Int  # l
    radius: arrays.Float  # tau of the domain that A lies in
    draw: arrays.Int  # number of the random draw or of the search's start
    # Natural logarithm of the left side of eq. 2.3 over its right side, with exponent 2(l - 1).
    log_ratio: Annotated[arrays.Float, Tolerance(absolute=1e-4, differing=0.1, rounding="rounding")]
    # Largest difference of eq. 2.5 to autograd, Frobenius norm over all layers.
    error: Annotated[arrays.Float, Tolerance.ERROR]
    # What rounding allows of that difference.
    tolerance: Annotated[arrays.Float, Tolerance(relative=1e-3, differing=0.1)]
    # What it allows of log_ratio.
    rounding: Annotated[arrays.Float, Tolerance(relative=1e-3, absolute=1e-9, differing=0.1)]


@dataclass(frozen=True)
class Points:
    """The points A at which eq. 2.3 is evaluated."""

    widths: tuple[int, ...]  # every d
    depths: tuple[int, ...]  # every l
    radii: tuple[float, ...]  # every tau
    draws: int  # random A, R and Sigma, or starts of a search
    condition: float  # condition number of Sigma, whose largest eigenvalue is 1
    iterations: int  # L-BFGS steps of a search; 0: the random points themselves


@dataclass(frozen=True)
class Descended:
    """Runs of gradient descent, seen at some of their steps until they arrive, as columns of shape (rows,)."""

    depth: arrays.Int  # l
    start: arrays.Float  # c; every A_i starts with spectral norm c/l
    draw: arrays.Int  # number of the random draw
    epoch: arrays.Int  # number of steps taken
    learning_rate: Seen  # the rate for f/2
    smallest: Seen  # sigma_min(Sigma)
    largest: Seen  # max |A_i|_2; infinite once a run has diverged, as is the next
    excess: Seen  # f - C_opt
    # Natural logarithm of the left side of eq. 2.3 over its right side for tau = max |A_i|_2; NaN where that is not
    # below 1, or where rounding allows no statement.
    log_ratio: Seen
    rounding: Seen  # what rounding allows of log_ratio; NaN likewise


@dataclass(frozen=True)
class Runs:
    """Runs of gradient descent on maps R of one kind."""

    depths: tuple[int, ...]  # every l
    width: int  # d of random maps
    starts: tuple[float, ...]  # each c gives runs whose A_i all have spectral norm c/l, if that is below 1
    draws: int  # runs for each of them
    condition: float  # condition number of a random map R, with s_max s_min = 1
    rate: float  # learning rate of f/2 times its curvature at the start or the optimum
    epochs: int  # steps, unless a run arrives before
    kept: int  # number of steps that are measured

    @property
    def steps(self) -> list[int]:
        """The steps that are measured, evenly spaced on a logarithmic scale."""
        steps: list[int] = (np.unique(np.geomspace(1, self.epochs + 1, self.kept).round().astype(int)) - 1).tolist()
        return steps

    def starts_of(self, target: str, depth: int, draw: int) -> list[float]:
        """The starts of one draw; from zero every draw on MNIST is the same."""
        return [c for c in self.starts if c < depth and (c or draw == 0 or target != "mnist")]
