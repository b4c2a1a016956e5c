"""How likely a rerun turns a verdict: the chance that is predicted, against how often it happens.

python -m benchmarks.reruns             simulated: runs of a known law, whose mean lies up to 8 standard errors from
                                        the threshold
python -m benchmarks.reruns FOLDER      real: FOLDER/N has the figures of seed N, as those of benchmarks.seeds;
                                        figures/reference those of seed 1

for N in $(seq 101 120); do
  snakemake --cores 1 --config seed=$N "figures=[shortcut_importance/table1,stable_scaling/backward]" \
    "overrides=[paths.figures=FOLDER/$N]"
done
"""

import sys
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from resaudit.claims.checks.depths import GrowthExponent
from resaudit.claims.reruns import turns_on_rerun
from resaudit.claims.verdicts import judge
from resaudit.figures.draw import reference_file
from resaudit.figures.tables import unchanged
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load

SCALE = "laptop"
DISTANCES = np.arange(-8.0, 8.5)
"""From the threshold, in true standard errors."""
FRESH = 20_000
LEAST = 0.05
"""Claims with less than this are only counted."""
Law = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
"""Runs of mean 0 and standard deviation 1, of a shape."""
LAWS: dict[str, Law] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "log-normal, σ = 1": lambda rng, shape: (np.exp(rng.standard_normal(shape)) - np.exp(0.5)) / 2.1612,
}
POSITIVE = Claim(
    statement="It is not negative.", where="here", kind="empirical", evidence="fig04", interpretation="-", reason="-",
    checks={"mean": GrowthExponent(column="value", by="layer", per=["place"], at_least=0)},
)  # fmt: skip


def table(exponents: np.ndarray, places: int = 1) -> pd.DataFrame:
    """Runs of which each has one exponent, shape (runs,); the same at every place."""
    rows = [
        (place, run, layer, layer**exponent)
        for place in range(places)
        for run, exponent in enumerate(exponents)
        for layer in (1.0, 2.0)
    ]
    return pd.DataFrame(rows, columns=["place", "run", "layer", "value"])


def verdicts(runs: np.ndarray) -> np.ndarray:
    """By Student's t: 0 supported, 1 contradicted, 2 open; runs of shape (..., n)."""
    n = runs.shape[-1]
    means, half = runs.mean(axis=-1), stdtrit(n - 1, 0.975) * runs.std(axis=-1, ddof=1) / np.sqrt(n)
    return np.select([means - half >= 0, means + half < 0], [0, 1], 2)


def simulated(law: Law, n: int, trials: int, seed: int = 0) -> np.ndarray:
    """Of each trial the chance that a rerun turns its verdict: the true one, the predicted one, and that of resampling.

    Returns:
        Shape (distances, trials, 3).
    """
    rng, found = np.random.default_rng(seed), []
    for mean in DISTANCES / np.sqrt(n):
        fresh = verdicts(law(rng, (FRESH, n)) + mean)
        for runs in law(rng, (trials, n)) + mean:
            of_trial = table(runs)
            predicted = turns_on_rerun(POSITIVE, of_trial, judge(POSITIVE, of_trial, SCALE))
            resampled = verdicts(runs[rng.integers(n, size=(1000, n))])
            chances = [float(np.mean(each != verdicts(runs))) for each in (fresh, resampled)]
            found.append((chances[0], predicted.chance if predicted else np.nan, chances[1]))
    return np.array(found).reshape(len(DISTANCES), trials, 3)


def main_simulated(trials: int = 100) -> None:
    """Print a row a law and number of runs: means over all distances, and what happens where 0 to 10 % is predicted."""
    print("| runs | n | turned | predicted | by resampling | turned where < 10 % is predicted | where > 30 % |")
    print("|---|---|---|---|---|---|---|")
    for name, law in LAWS.items():
        for n in (3, 5, 10, 30):
            true, predicted, resampled = simulated(law, n, trials).reshape(-1, 3).T
            ends = [true[predicted < 0.1].mean(), true[predicted > 0.3].mean()]
            means = [each.mean() for each in (true, predicted, resampled)]
            print(f"| {name} | {n} | {' | '.join(f'{100 * each:.0f} %' for each in means + ends)} |", flush=True)


def main_real(folder: Path) -> None:
    """Print a row a claim that was judged at several seeds, unless none turned and none was predicted; then means."""
    seeds = sorted((each for each in folder.iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
    print("| claim | verdicts, seed 1 first | pairs that differ | predicted, mean (least to most) | at seed 1 |")
    print("|---|---|---|---|---|")
    every: list[tuple[float, float]] = []
    for paper, claims in load([f"scale={SCALE}"]).claims.items():
        for id_, claim in claims.items():
            name = f"{paper}/{claim.evidence}"
            tables = [csv for csv in (reference_file(name), *(s / f"{name}.csv" for s in seeds)) if csv.is_file()]
            judged = [(claim, one, judge(claim, one, SCALE)) for one in (unchanged(csv, name).table for csv in tables)]
            turns = [(judgement.verdict[0].upper(), turns_on_rerun(*one)) for one in judged for judgement in one[2:]]
            found = "".join(verdict for verdict, of in turns if of)
            if len(found) > 2:
                chances = [of.chance for _, of in turns if of]
                turned = float(np.mean([one != other for one, other in permutations(found, 2)]))
                every.append((turned, float(np.mean(chances))))
                words = f"{np.mean(chances):.2f} ({min(chances):.2f} to {max(chances):.2f})"
                if max(turned, *chances) >= LEAST:
                    print(f"| {id_} | {found} | {turned:.2f} | {words} | {chances[0]:.2f} |", flush=True)
    turned, predicted = np.mean(every, axis=0)
    print(f"\n{len(every)} claims: {turned:.3f} of the pairs differ, {predicted:.3f} predicted.")


if __name__ == "__main__":
    main_real(Path(sys.argv[1])) if sys.argv[1:] else main_simulated()
