"""Statistics of spectra by spectrum slicing, in time linear in the depth; docs/curvature.md derives them."""

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import torch

from resaudit.paper import Moments
from residual.demystifying_resnet.curvature.bracketing import Bracketing, CountsInconsistent, Extrapolation
from residual.demystifying_resnet.curvature.counts import Chain, count_below, library
from residual.demystifying_resnet.curvature.products import BYTES_AT_ONCE, MOST_STEPS, HessianProduct, largest_magnitude
from residual.demystifying_resnet.networks.hessians import SIZEABLE, check_shapes, spectra_along
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.networks.spectra import Spectra

CERTIFIED = 1e-8
"""Counts certify that no absolute eigenvalue exceeds the largest one found by more than this relative distance."""
MOST_MISSED = 1e3
"""If counts show an eigenvalue this many times Lanczos's largest, the counts are doubted."""
TOLERANCE = 1e-7
"""Relative width of bounds around the 10th percentile's eigenvalues; the percentile is accurate to ten times that."""
DANGER = 1e-3
"""A count at t whose fronts have entries above DANGER |t| / eps is trusted only if other pivots agree."""
SECOND_THRESHOLD = 1e-2
"""Threshold of that second count: other pivots, with less growth, at a higher cost."""
LARGEST_DENSE = 3200
"""Up to this many parameters, all eigenvalues are computed if counts are untrusted or there is no kernel."""
LARGEST_ENTRY = 1e100
"""A run with larger entries is diverging; their squares would overflow."""
EPS = float(np.finfo(np.float64).eps)
SHARE = 0.1
_Row = dict[str, float]
"""Statistics of one spectrum by the names of ``Spectra``; those left out are not known."""
_UNKNOWN: _Row = {f.name: math.nan for f in fields(Spectra)} | {"resolved": False}


def structured_spectra_along(weights: Iterable[torch.Tensor], network: Network, moments: Moments) -> Spectra:
    """Spectra of the exact Hessians at each of the weights, from inertia counts; shape (weights, runs).

    The result of :func:`residual.demystifying_resnet.networks.hessians.spectra_along` from about twenty counts each:
    the indices exactly, lambda_max to 1e-8 (certified by counts), lambda_p10 to 1e-6. A percentile under the noise
    floor is NaN, and so is an index whose count was given up. A run that has diverged, or whose Hessian overflows, has
    NaN statistics and is not resolved.

    Args:
        weights: any number of points, each of shape (depth, runs, width, width); computed in float64 on the CPU, also
            from float32. Similar consecutive weights cost less.
        network: shape and shortcuts.
        moments: second moments of the data.

    Raises:
        ValueError: shapes differ from the network's, or the network is not linear.
    """
    vectors: torch.Tensor | None = None
    extrapolations: list[Extrapolation] = []
    rows: list[list[_Row]] = []
    for point in weights:
        check_shapes(point, network, moments)
        at = point.to("cpu", torch.float64)
        image = HessianProduct(at, network, moments)(torch.ones_like(at))
        # Runs that have diverged are computed at zero: products would overflow. NaN compares as not smaller.
        finite = ((at.abs() < LARGEST_ENTRY) & (image.abs() < LARGEST_ENTRY)).all(dim=3).all(dim=2).all(dim=0)
        at = torch.where(finite[None, :, None, None], at, torch.zeros_like(at))

        # Lanczos starts from the previous Hessians' eigenvectors.
        at_once = max(1, BYTES_AT_ONCE // (8 * min(MOST_STEPS, network.parameters) * network.parameters))
        batches = torch.split(torch.arange(at.shape[1]), at_once)
        products = [HessianProduct(at[:, runs], network, moments) for runs in batches]
        largest = [
            largest_magnitude(product, None if vectors is None else vectors[:, runs])
            for runs, product in zip(batches, products, strict=True)
        ]
        magnitudes = [value for batch in largest for value in batch.magnitude.tolist()]
        vectors = torch.cat([batch.vector for batch in largest], dim=1)

        extrapolations = extrapolations or [Extrapolation() for _ in magnitudes]
        chains = [chain for product in products for chain in product.chains()]
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            counted = list(pool.map(_statistics, chains, magnitudes, extrapolations, finite.tolist()))
        rows.append([
            _dense_row(at[:, run], magnitudes[run], network, moments) if row is None else row
            for run, row in enumerate(counted)
        ])  # fmt: skip
    return Spectra(**{name: np.array([[(_UNKNOWN | row)[name] for row in at] for at in rows]) for name in _UNKNOWN})


def _statistics(chain: Chain, lambda_max: float, extrapolation: Extrapolation, finite: bool) -> _Row | None:
    """Statistics of one Hessian; None if counts are untrusted or cost more than all eigenvalues."""
    if not finite:
        return {}
    if lambda_max == 0.0:
        return dict.fromkeys(_UNKNOWN, 0.0) | {"condition_number": math.nan, "resolved": False}
    size = chain.network.parameters
    if library() is None and size <= LARGEST_DENSE:
        return None
    try:
        lambda_max = certified_largest(chain, lambda_max)
        floor = EPS * size * lambda_max
        (certain, _), (sizeable, _) = trusted_counts(chain, [-floor, -SIZEABLE * lambda_max])
        raw = int(count_below(chain, [0.0]).below[0])
        search = Bracketing(lambda t: trusted_counts(chain, t), size, floor, lambda_max * (1 + CERTIFIED), TOLERANCE)
        p10 = search.percentile(SHARE, extrapolation.hint())
    except CountsInconsistent:
        return None
    # A count at zero may have been given up.
    indices = {"index": certain / size, "sizeable_index": sizeable / size} | (
        {"raw_index": raw / size} if raw >= 0 else {}
    )
    row = {"lambda_max": lambda_max, "noise_floor": floor} | indices
    if p10 is None:
        return row
    extrapolation.remember(p10)
    return row | {"lambda_p10": p10.value, "condition_number": lambda_max / p10.value, "resolved": True}


def trusted_counts(chain: Chain, bounds: Sequence[float]) -> list[tuple[int, float]]:
    """Number of eigenvalues below each bound and log |det|; doubtful counts are repeated with other pivots."""
    counts = count_below(chain, bounds)
    doubtful = EPS * counts.largest > DANGER * np.abs(bounds)
    for i in np.flatnonzero(doubtful & (counts.below >= 0)).tolist():
        second = count_below(chain, [bounds[i]], threshold=SECOND_THRESHOLD)
        if second.below[0] != counts.below[i]:
            raise CountsInconsistent(
                f"two counts below {bounds[i]:.3g} differ: {counts.below[i]} and {second.below[0]}"
            )
    if np.any(counts.below < 0):
        raise CountsInconsistent(f"more than {counts.delayed.max()} pivots had to be put off")
    return list(zip(counts.below.tolist(), counts.log_determinant.tolist(), strict=True))


def certified_largest(chain: Chain, lanczos: float) -> float:
    """The largest absolute eigenvalue: Lanczos's if counts show none above it, else bisected by counts."""
    size = chain.network.parameters

    def none_beyond(bound: float) -> bool:
        (below, _), (far_below, _) = trusted_counts(chain, [bound, -bound])
        return below == size and far_below == 0

    if none_beyond(lanczos * (1 + CERTIFIED)):
        return lanczos
    low, high = lanczos, 2 * lanczos
    while not none_beyond(high):
        low, high = high, 2 * high
        if high > MOST_MISSED * lanczos:
            raise CountsInconsistent(f"eigenvalues beyond {MOST_MISSED:.0f} times the largest that Lanczos found")
    while high - low > CERTIFIED * high:
        middle = (low + high) / 2
        low, high = (low, middle) if none_beyond(middle) else (middle, high)
    return (low + high) / 2


def _dense_row(weights: torch.Tensor, lambda_max: float, network: Network, moments: Moments) -> _Row:
    """Statistics without counts: from all eigenvalues, or, if these cost too much, lambda_max alone."""
    if network.parameters > LARGEST_DENSE:
        return {"lambda_max": lambda_max, "noise_floor": EPS * network.parameters * lambda_max}
    dense = spectra_along([weights[:, None]], network, moments)
    row = {name: getattr(dense, name).item() for name in _UNKNOWN}
    return row if row["resolved"] else row | {"lambda_p10": math.nan, "condition_number": math.nan}
