"""Measurements of linear residual networks, and their sizes. Imports only NumPy, so that tables need no torch."""

from dataclasses import dataclass

import numpy as np

KNOWN = 0.1
"""A logarithm of eq. 2.3's ratio that rounding may change by more is not known."""


@dataclass(frozen=True)
class Factored:
    """Factorizations as columns, each of shape (rows,).

    Attributes:
        method: ``proof`` (Appendix A.1), ``polar`` (ours) or ``search`` (the smallest largest norm found).
        width: d of R, before an augmentation.
        draw: number of the random draw of R.
        depth: l, the number of factors.
        gamma: max(|log s_max|, |log s_min|) of R.
        norm: max |A_i|_2 over the factors I + A_i.
        paper: the theorem's bound, (4 pi + 3 gamma)/l, or 3 gamma/l for positive semidefinite R.
        whole: the proof's bound with whole p and q, max(pi/q, 3 gamma/p); NaN for other methods.
        least: a bound below which no factorization has its largest norm.
        error: Frobenius norm of the product minus R.
        tolerance: what rounding allows there.
    """

    method: np.ndarray
    width: np.ndarray
    draw: np.ndarray
    depth: np.ndarray
    gamma: np.ndarray
    norm: np.ndarray
    paper: np.ndarray
    whole: np.ndarray
    least: np.ndarray
    error: np.ndarray
    tolerance: np.ndarray


@dataclass(frozen=True)
class Factorizations:
    """Which maps R are factored, and into how many factors.

    Attributes:
        widths: every d; MNIST's map has the width of its data instead.
        depths: every l; those below max(3 gamma, 5) are left out, and that least one is added.
        draws: random R of each width.
        condition: s_max/s_min of ill-conditioned and positive R, whose s_max s_min is 1.
        searched_widths: every d at which the smallest largest norm is searched.
        searched_depths: every l there.
        iterations: of L-BFGS for each smoothing of the maximum.
    """

    widths: tuple[int, ...]
    depths: tuple[int, ...]
    draws: int
    condition: float
    searched_widths: tuple[int, ...]
    searched_depths: tuple[int, ...]
    iterations: int


@dataclass(frozen=True)
class Dominated:
    """Points A at which eq. 2.3 was evaluated, as columns of shape (rows,).

    Attributes:
        width: d.
        depth: l.
        radius: tau of the domain that A lies in.
        draw: number of the random draw or of the search's start.
        log_ratio: natural logarithm of the left side of eq. 2.3 over its right side, with exponent 2(l - 1).
        error: the largest difference of eq. 2.5 to automatic differentiation, Frobenius norm over all layers.
        tolerance: what rounding allows of that difference.
        rounding: what rounding allows of log_ratio.
    """

    width: np.ndarray
    depth: np.ndarray
    radius: np.ndarray
    draw: np.ndarray
    log_ratio: np.ndarray
    error: np.ndarray
    tolerance: np.ndarray
    rounding: np.ndarray


@dataclass(frozen=True)
class Points:
    """The points A at which eq. 2.3 is evaluated.

    Attributes:
        widths: every d.
        depths: every l.
        radii: every tau.
        draws: of A, R and Sigma at random; starts of a search.
        condition: of Sigma, whose largest eigenvalue is 1.
        iterations: of L-BFGS in a search; 0: the random points themselves.
    """

    widths: tuple[int, ...]
    depths: tuple[int, ...]
    radii: tuple[float, ...]
    draws: int
    condition: float
    iterations: int


@dataclass(frozen=True)
class Descended:
    """Runs of gradient descent, seen at some of their steps until they arrive, as columns of shape (rows,).

    Attributes:
        depth: l.
        start: c; every A_i starts with spectral norm c/l.
        draw: number of the random draw.
        epoch: number of steps taken.
        learning_rate: of f/2.
        smallest: sigma_min(Sigma).
        largest: max |A_i|_2; infinite once a run has diverged, as is the next.
        excess: f - C_opt.
        log_ratio: natural logarithm of the left side of eq. 2.3 over its right side for tau = max |A_i|_2; NaN where
            that is not below 1, or where rounding allows no statement.
        rounding: what rounding allows of log_ratio; NaN likewise.
    """

    depth: np.ndarray
    start: np.ndarray
    draw: np.ndarray
    epoch: np.ndarray
    learning_rate: np.ndarray
    smallest: np.ndarray
    largest: np.ndarray
    excess: np.ndarray
    log_ratio: np.ndarray
    rounding: np.ndarray


@dataclass(frozen=True)
class Runs:
    """Runs of gradient descent on maps R of one kind.

    Attributes:
        depths: every l.
        width: d of random maps.
        starts: each c gives runs whose A_i all have spectral norm c/l, if that is below 1.
        draws: runs for each of them.
        condition: of a random map R, with s_max s_min = 1.
        rate: learning rate of f/2 times its curvature at the start or the optimum.
        epochs: steps, unless a run arrives before.
        kept: number of steps that are measured.
    """

    depths: tuple[int, ...]
    width: int
    starts: tuple[float, ...]
    draws: int
    condition: float
    rate: float
    epochs: int
    kept: int
