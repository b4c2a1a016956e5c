"""How far the factors of Theorem 2.1's proof depend on the decomposition: ``python -m benchmarks.decompositions``.

Not a benchmark: the range in docs/findings, small-norm-optimum. The proof takes any singular value decomposition.
The maps and depths are those of the figure at scale laptop, or as Hydra's overrides on the command line say.
"""

import sys
from collections.abc import Callable, Iterator
from math import pi

import numpy as np

from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from residual.identity_matters.jobs.factorize import Factorize
from residual.identity_matters.linear.factorization import (
    Split,
    decomposed,
    equal_values,
    factors_from,
    gamma_of,
    largest_norm,
    least_depth,
    split,
)
from residual.identity_matters.linear.targets import augmented, orthogonal, target

Decomposed = tuple[np.ndarray, np.ndarray, np.ndarray]
CHOICES = 4
LEFT_OUT = ("mnist", "positive")
"""MNIST's map needs its data; a positive map is factored without a singular value decomposition."""


def main() -> None:
    """Print the factors' largest norms, relative to the paper's bound and to those by our decomposition."""
    plan = make_plan(load(["figures=[identity_matters/theorem21]", *sys.argv[1:]]))
    every = [case for job in plan.jobs_of("factorize").values() if job.family not in LEFT_OUT for case in cases(job)]
    bounds = np.array([(4 * pi + 3 * gamma_of(given)) / depth for given, depth, _ in every])
    ours = norms(every, decomposed)
    print(f"{len(every)} cases; ours: {above(ours / bounds)}")
    for choice in range(CHOICES):
        rng = np.random.default_rng(choice)
        theirs = norms(every, lambda given, rng=rng: at_random(given, rng))
        times = theirs / ours
        print(f"choice {choice}: {above(theirs / bounds)}; {times.min():.2f} to {times.max():.2f} times ours")


def cases(job: Factorize) -> Iterator[tuple[np.ndarray, int, Split]]:
    """Each R of one kind with each number of factors, and the proof's p and q."""
    for width in job.sizes.widths:
        for draw in range(job.sizes.draws):
            given = augmented(target(job.family, width, draw, job.seed, job.sizes.condition, np.eye(width)))
            least = least_depth(gamma_of(given))
            for depth in sorted({least, *(depth for depth in job.sizes.depths if depth >= least)}):
                yield given, depth, split(depth, gamma_of(given))


def norms(every: list[tuple[np.ndarray, int, Split]], decompose: Callable[[np.ndarray], Decomposed]) -> np.ndarray:
    """The largest norm of the proof's factors of each case, shape (cases,)."""
    return np.array([largest_norm(factors_from(*decompose(given), parts)) for given, _, parts in every])


def at_random(given: np.ndarray, rng: np.random.Generator) -> Decomposed:
    """A singular value decomposition with random signs, and random bases of equal singular values."""
    left, values, right = decomposed(given)
    for equal in equal_values(values):
        turn = orthogonal(len(equal), rng) * rng.choice([-1.0, 1.0])
        left[:, equal], right[equal] = left[:, equal] @ turn, turn.T @ right[equal]
    return left, values, right


def above(shares: np.ndarray) -> str:
    """How often, and by how much, the paper's bound is exceeded."""
    return f"{(shares > 1).mean():.1%} above the paper's bound, by up to {shares.max() - 1:.1%}"


if __name__ == "__main__":
    main()
