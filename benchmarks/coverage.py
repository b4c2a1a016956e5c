"""How often the intervals of resaudit.claims.intervals cover what they should, beside three bootstraps and Cox's.

``python benchmarks/coverage.py`` writes benchmarks/coverage.csv anew, in a minute or two.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, stdtrit

from resaudit.claims.intervals import LeftOut, half_width, replicate_means, share_interval

TABLE = Path(__file__).with_suffix(".csv")
SEED = 1
SIMULATIONS = 40_000
BOOTSTRAPPED = 2_000
DRAWS = 2_000
RUNS = (3, 5, 10, 30)
MANY_RUNS = (10, 30, 100)
"""Of rare large runs and of pairs."""
RARE, LARGE = 0.05, 1000.0
"""One run in twenty is a thousand times larger."""
LEVELS = {"95 %": 0.95, "99.875 %": 0.99875}
"""One interval, and the 40 of a claim (Bonferroni)."""
OTHERS = ("percentile", "BCa", "bootstrap-t", "Cox")
COLUMNS = [*(("t", level) for level in LEVELS), *((method, "95 %") for method in OTHERS)]
"""Methods and levels."""
COMPARED = "mean of what is positive"
"""The effect of which the table has the other methods."""

Values = tuple[np.ndarray, ...]
"""One or two quantities of every run, each of shape (runs, simulations)."""
Law = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
Shares = dict[tuple[str, str], list[float]]
"""By method and level in words, the share of intervals that cover at each number of runs."""


@dataclass(frozen=True)
class Case:
    """What is measured, on a law of the runs; the effect is a function of means, with a true value.

    Attributes:
        effect: in words.
        law: in words.
        draw: the runs' values.
        of: the effect, on the scale of the interval, of the means of the values.
        truth: on that scale.
    """

    effect: str
    law: str
    draw: Callable[[np.random.Generator, tuple[int, int]], Values]
    of: Callable[..., np.ndarray]
    truth: float


def normal(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_normal(shape)


def heavy(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return rng.standard_t(3, shape)


def alike(law: Law, rng: np.random.Generator, shape: tuple[int, int]) -> Values:
    """Two quantities of the same runs with a correlation of one half."""
    shared, one, other = (law(rng, shape) for _ in range(3))
    return (shared + one) / np.sqrt(2), (shared + other) / np.sqrt(2)


def slopes(law: Law, rng: np.random.Generator, shape: tuple[int, int]) -> Values:
    """Each run's least-squares exponent over depths 2 to 16, of a quantity that grows linearly."""
    depths = np.log([2, 4, 8, 16])
    centred = (depths - depths.mean()) / np.sum((depths - depths.mean()) ** 2)
    noise = sum(weight * law(rng, shape) for weight in centred)
    return (1 + noise,)


def log_ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.log(above) - np.log(below)


def cases() -> Iterator[Case]:
    """Every effect on every law."""
    mean, positive, both = "mean", "mean of what is positive", "ratio of means"
    yield Case(mean, "normal", lambda g, n: (normal(g, n),), same, 0.0)
    yield Case(mean, "log-normal", lambda g, n: (np.exp(normal(g, n)),), same, np.exp(0.5))
    yield Case(mean, "heavy", lambda g, n: (heavy(g, n),), same, 0.0)
    yield Case(positive, "normal", lambda g, n: (1 + 0.1 * normal(g, n),), np.log, 0.0)
    yield Case(positive, "log-normal", lambda g, n: (np.exp(normal(g, n)),), np.log, 0.5)
    yield Case(positive, "log-normal, σ = 2", lambda g, n: (np.exp(2 * normal(g, n)),), np.log, 2.0)
    yield Case(positive, "heavy", lambda g, n: (np.abs(heavy(g, n)),), np.log, float(np.log(2 * np.sqrt(3) / np.pi)))
    yield Case(both, "normal", lambda g, n: tuple(1 + 0.1 * x for x in alike(normal, g, n)), log_ratio, 0.0)
    yield Case(both, "log-normal", lambda g, n: tuple(map(np.exp, alike(normal, g, n))), log_ratio, 0.0)
    yield Case(
        both, "log-normal, σ = 2", lambda g, n: tuple(np.exp(2 * x) for x in alike(normal, g, n)), log_ratio, 0.0
    )
    yield Case(both, "one of them log-normal", lambda g, n: (np.exp(normal(g, n)), np.ones(n)), log_ratio, 0.5)
    yield Case(both, "heavy", lambda g, n: tuple(map(np.abs, alike(heavy, g, n))), log_ratio, 0.0)
    logs = {"normal": lambda g, n: np.log(1 + 0.1 * normal(g, n)), "log-normal": normal, "heavy": heavy}
    for name, law in logs.items():
        yield Case("ratio of geometric means", name, partial(differences, law), same, 0.0)
    for name, law in logs.items():
        yield Case("exponent of growth", name, partial(slopes, law), same, 1.0)


def differences(law: Law, rng: np.random.Generator, shape: tuple[int, int]) -> Values:
    """Each run's logarithm of a ratio."""
    one, other = alike(law, rng, shape)
    return (one - other,)


def same(mean: np.ndarray) -> np.ndarray:
    return mean


def by_t(case: Case, values: Values, level: float) -> float:
    """The share of simulations whose interval, as it is made for a verdict, covers the truth."""
    effects = case.of(*map(replicate_means, values))
    half = half_width([LeftOut((effects[1:] - effects[0]).T, len(values[0]))], level)
    return float(np.mean(np.abs(effects[0] - case.truth) <= half))


def independent_cases() -> Iterator[Case]:
    """Ratios of two networks, whose runs are independent."""
    both, scales = "ratio of means", {"normal": 0.1, "log-normal": 1.0, "log-normal, σ = 2": 2.0}
    for name, scale in scales.items():
        law = partial(_lifted if name == "normal" else _log_normal, scale)
        yield Case(both, name, partial(_apart, law, law), log_ratio, 0.0)
    yield Case(both, "heavy", partial(_apart, _size, _size), log_ratio, 0.0)
    tight, wide = partial(_scaled, 0.1), partial(_scaled, 3.0)
    yield Case("ratio of geometric means", "log-normal", partial(_apart, normal, normal), np.subtract, 0.0)
    yield Case("ratio of geometric means", "log-normal, σ = 0.1 and 3", partial(_apart, tight, wide), np.subtract, 0.0)
    yield Case("ratio of geometric means", "heavy", partial(_apart, heavy, heavy), np.subtract, 0.0)


def _apart(one: Law, other: Law, rng: np.random.Generator, shape: tuple[int, int]) -> Values:
    return one(rng, shape), other(rng, shape)


def _lifted(scale: float, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return 1 + scale * normal(rng, shape)


def _scaled(scale: float, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return scale * normal(rng, shape)


def _log_normal(scale: float, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return np.exp(scale * normal(rng, shape))


def _size(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return np.abs(heavy(rng, shape))


def by_welch(case: Case, values: Values, level: float) -> float:
    """The share of simulations whose interval for two independent groups, as a verdict's, covers the truth."""
    means = [replicate_means(x) for x in values]
    effect = case.of(*(every[0] for every in means))
    without = (case.of(means[0][1:], means[1][0]), case.of(means[0][0], means[1][1:]))
    groups = [LeftOut((each - effect).T, len(x)) for each, x in zip(without, values, strict=True)]
    return float(np.mean(np.abs(effect - case.truth) <= half_width(groups, level)))


def independent(simulations: int = SIMULATIONS) -> list[tuple[Case, Shares]]:
    """What Welch's interval covers of each case."""
    every = []
    for case in independent_cases():
        drawn = [case.draw(np.random.default_rng([SEED, n]), (n, simulations)) for n in RUNS]
        every.append((case, {("t", name): [by_welch(case, x, p) for x in drawn] for name, p in LEVELS.items()}))
    return every


def rare(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Runs with a standard deviation of a tenth of their mean, and rare ones that are far larger."""
    return np.where(rng.random(shape) < RARE, LARGE, 1.0) * _lifted(0.1, rng, shape)


def rare_cases() -> Iterator[tuple[Case, Callable[[Case, Values, float], float]]]:
    """Effects of networks with rare large runs, with what makes their intervals."""
    law, mean = "one in twenty a thousand times larger", float(np.log(1 - RARE + RARE * LARGE))
    yield Case(COMPARED, law, lambda g, n: (rare(g, n),), np.log, mean), by_t
    yield Case("ratio of means", f"{law}, of both networks", partial(_apart, rare, rare), log_ratio, 0.0), by_welch
    one_of_two = partial(_apart, rare, partial(_lifted, 0.1))
    yield Case("ratio of means", f"{law}, of one network", one_of_two, log_ratio, mean), by_welch


def pair_cases() -> Iterator[Case]:
    """Shares of the pairs of two networks' runs of which the first is larger, for logarithms of losses."""
    for truth in (0.5, 0.9):
        ahead = float(np.sqrt(2) * ndtri(truth))
        yield _pairs(f"log-normal, {truth:g}", partial(_ahead, ahead, normal), normal, truth)
    yield _pairs("log-normal, σ = 0.1 and 3, 0.5", partial(_scaled, 0.1), partial(_scaled, 3.0), 0.5)
    yield _pairs("log-normal, σ = 0 and 1, 0.9", partial(_ahead, float(ndtri(0.9)), partial(_scaled, 0.0)), normal, 0.9)
    ahead, size = np.log(3), np.log(LARGE)
    truth = (1 - RARE) * ndtr(ahead / np.sqrt(2)) + RARE * ndtr((ahead - size) / np.sqrt(2))
    law = f"log-normal, of one network one in twenty a thousand times larger, {truth:.2g}"
    yield _pairs(law, partial(_ahead, ahead, normal), _rarely_large, float(truth))


def _pairs(law: str, one: Law, other: Law, truth: float) -> Case:
    return Case("share of pairs", law, partial(_apart, one, other), np.greater, truth)


def _ahead(by: float, law: Law, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return by + law(rng, shape)


def _rarely_large(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return normal(rng, shape) + np.where(rng.random(shape) < RARE, np.log(LARGE), 0.0)


def by_pairs(case: Case, values: Values, level: float) -> float:
    """The share of simulations whose interval of a share of pairs, as a verdict's, covers the truth."""
    (one, other), runs = values, len(values[0])
    hits = sum(case.of(one, run).sum(axis=0) for run in other)
    low, high = np.array([share_interval(((whole, runs),), level) for whole in range(runs + 1)]).T
    # In whole numbers: of runs^2 pairs, scaled to as many as runs.
    return float(np.mean((low[hits // runs] <= case.truth) & (case.truth <= high[-(-hits // runs)])))


def with_many_runs(
    every: Iterator[tuple[Case, Callable[[Case, Values, float], float]]], simulations: int = SIMULATIONS
) -> list[tuple[Case, Shares]]:
    """What the intervals of each case cover, with ten to a hundred runs."""
    found = []
    for case, way in every:
        drawn = [case.draw(np.random.default_rng([SEED, n]), (n, simulations)) for n in MANY_RUNS]
        found.append((case, {("t", name): [way(case, x, p) for x in drawn] for name, p in LEVELS.items()}))
    return found


def all_pairs() -> Iterator[tuple[Case, Callable[[Case, Values, float], float]]]:
    """Every case of pairs, with what makes its interval."""
    return ((case, by_pairs) for case in pair_cases())


def by_cox(case: Case, values: Values, level: float) -> float:
    """Coverage of Cox's interval for the mean of log-normal runs (Land 1972), with Student's t."""
    logs, runs = np.log(values[0]), len(values[0])
    variance = logs.var(axis=0, ddof=1)
    error = np.sqrt(variance / runs + variance**2 / (2 * (runs - 1)))
    off = np.abs(logs.mean(axis=0) + variance / 2 - case.truth)
    return float(np.mean(off <= stdtrit(runs - 1, (1 + level) / 2) * error))


class Bootstrap:
    """Resamples of every simulation of a mean's logarithm; shape (simulations, draws), sorted."""

    def __init__(self, case: Case, values: Values, rng: np.random.Generator) -> None:
        runs = len(values[0])
        weights = rng.multinomial(runs, np.full(runs, 1 / runs), size=DRAWS).T / runs
        self.truth = case.truth
        jackknife = case.of(*map(replicate_means, values))
        self.effect, moved = jackknife[0], jackknife[1:].mean(axis=0) - jackknife[1:]
        means = values[0].T @ weights
        drawn = case.of(means)
        self.below = np.clip((drawn < self.effect[:, None]).mean(axis=1), 0.5 / DRAWS, 1 - 0.5 / DRAWS)
        with np.errstate(invalid="ignore"):
            self.skewness = np.nan_to_num((moved**3).sum(axis=0) / (6 * (moved**2).sum(axis=0) ** 1.5))
        self.error = _linear_error(values, values[0].mean(axis=0)[:, None], np.full((runs, 1), 1 / runs))[:, 0]
        errors = _linear_error(values, means, weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            # A resample of one run alone has no error: its t is infinite.
            self.studentised = np.sort(np.nan_to_num((drawn - self.effect[:, None]) / errors, posinf=1e9, neginf=-1e9))
        self.drawn = np.sort(drawn)

    def percentile(self, level: float) -> float:
        """Coverage of the percentile interval (Efron 1979)."""
        tail = (1 - level) / 2
        return self._covers(*(np.quantile(self.drawn, q, axis=1) for q in (tail, 1 - tail)))

    def bca(self, level: float) -> float:
        """Coverage of the bias-corrected and accelerated interval (Efron 1987)."""
        bias = ndtri(self.below)
        ends = []
        for tail in ((1 - level) / 2, (1 + level) / 2):
            moved = bias + ndtri(tail)
            share = ndtr(bias + moved / (1 - self.skewness * moved))
            place = np.clip(np.round(share * (DRAWS - 1)).astype(int), 0, DRAWS - 1)
            ends.append(np.take_along_axis(self.drawn, place[:, None], axis=1)[:, 0])
        return self._covers(*ends)

    def bootstrap_t(self, level: float) -> float:
        """Coverage of the bootstrap-t interval (Efron 1982)."""
        tail = (1 - level) / 2
        low, high = (np.quantile(self.studentised, q, axis=1) for q in (tail, 1 - tail))
        return self._covers(self.effect - high * self.error, self.effect - low * self.error)

    def _covers(self, low: np.ndarray, high: np.ndarray) -> float:
        return float(np.mean((low <= self.truth) & (self.truth <= high)))


def _linear_error(values: Values, means: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Standard error of the mean's logarithm by the delta method, up to a factor that is the same for all."""
    variance = np.maximum((values[0] ** 2).T @ weights - means**2, 0.0)
    return np.sqrt(variance) / means


def shares_of(case: Case, runs: tuple[int, ...], simulations: int, bootstrapped: int) -> Shares:
    """What Student's t covers at each level, and each other method at 95 %."""
    shares: Shares = {column: [] for column in COLUMNS}
    for n in runs:
        rng = np.random.default_rng([SEED, n])
        values = case.draw(rng, (n, simulations))
        for name, level in LEVELS.items():
            shares["t", name].append(by_t(case, values, level))
        if case.effect == COMPARED:
            resampled = Bootstrap(case, tuple(x[:, :bootstrapped] for x in values), rng)
            shares["percentile", "95 %"].append(resampled.percentile(0.95))
            shares["BCa", "95 %"].append(resampled.bca(0.95))
            shares["bootstrap-t", "95 %"].append(resampled.bootstrap_t(0.95))
            shares["Cox", "95 %"].append(by_cox(case, values, 0.95))
    return shares


def measured(simulations: int = SIMULATIONS, bootstrapped: int = BOOTSTRAPPED) -> pd.DataFrame:
    """A row for each case, method and level: the share that covers, in per cent, at each number of runs."""
    one = [(case, shares_of(case, RUNS, simulations, bootstrapped)) for case in cases()]
    tables = {
        "one network": (RUNS, one),
        "two networks": (RUNS, independent(simulations)),
        "rare large runs": (MANY_RUNS, with_many_runs(rare_cases(), simulations)),
        "pairs of runs": (MANY_RUNS, with_many_runs(all_pairs(), simulations)),
    }
    return pd.DataFrame(
        {"table": table, "effect": case.effect, "runs": case.law, "method": method, "level": level}
        | {f"n = {n}": f"{100 * share:.1f}" for n, share in zip(runs, shares, strict=True)}
        for table, (runs, every) in tables.items()
        for case, of_case in every
        for (method, level), shares in of_case.items()
        if shares
    )


def main() -> None:
    """Write the table anew."""
    measured().to_csv(TABLE, index=False)


if __name__ == "__main__":
    main()
