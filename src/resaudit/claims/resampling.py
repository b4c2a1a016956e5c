"""Bootstrap over runs: means of resampled runs, with draws that are the same on every machine."""

import zlib

import numpy as np

DRAWS = 10_000
SEED = 1


def run_weights(runs: int, group: str) -> np.ndarray:
    """Weights of each run in :data:`DRAWS` resamples with replacement (Efron 1979), shape (draws, runs); rows sum to 1.

    Groups of another name are resampled independently.
    """
    rng = np.random.default_rng([SEED, runs, zlib.crc32(group.encode())])
    return rng.multinomial(runs, np.full(runs, 1 / runs), size=DRAWS) / runs


def weighted_mean(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means over runs: ``weights`` (draws, runs) and ``values`` (runs, k) give (draws, k).

    A NaN is a run that has no value there and does not count; a mean with an infinite run in it is infinite, with runs
    infinite both ways NaN; one without any run is NaN.
    """
    known, infinite = ~np.isnan(values), np.isinf(values)
    total = weights @ np.where(known & ~infinite, values, 0.0)
    weight = weights @ known.astype(float)
    mean = np.divide(total, weight, out=np.full_like(total, np.nan), where=weight > 0)
    above, below = (weights @ (values == end).astype(float) > 0 for end in (np.inf, -np.inf))
    mean = np.where(above, np.inf, np.where(below, -np.inf, mean))
    return np.where(above & below, np.nan, mean)


def all_runs(runs: int) -> np.ndarray:
    """The weights of the sample itself, shape (1, runs)."""
    return np.full((1, runs), 1 / runs)


def resampled_means(values: np.ndarray, group: str) -> np.ndarray:
    """Means over the runs, then over resampled ones: (runs, k) gives (1 + draws, k), (runs,) gives (1 + draws,)."""
    weights = np.concatenate([all_runs(len(values)), run_weights(len(values), group)])
    means = weighted_mean(weights, values if values.ndim == 2 else values[:, None])
    return np.asarray(means if values.ndim == 2 else means[:, 0])


def interval(draws: np.ndarray, level: float) -> tuple[float, float]:
    """Percentile interval of a level; the ends are draws, so that infinite ones are allowed. NaN draws do not count."""
    known = draws[~np.isnan(draws)]
    tail = (1 - level) / 2
    return (
        float(np.quantile(known, tail, method="lower")),
        float(np.quantile(known, 1 - tail, method="higher")),
    )
