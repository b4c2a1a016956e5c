"""How far results of two classes of machine may be apart: one table, by kind of job and array.

Arrays that the table does not name are settings, counts or names: they must be equal. The numbers start from the
tolerances of the figures' tables (``tolerances`` in their YAML, which ``resaudit compare`` uses); the reasons, where
they are wider too, stand beside them. A kind that is not in the table is compared by its bytes alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from resaudit.jobs.hessians import Hessians
from resaudit.jobs.train import Train
from resaudit.plan.job import Job


@dataclass(frozen=True)
class Tolerance:
    """How far an array may be from another machine's: |ours − theirs| ≤ absolute + relative · |theirs|.

    Attributes:
        relative: to the other machine's value.
        absolute: in the array's unit.
        differing: share of the runs that may be farther apart.
        runs: the axis of runs, which agree as a whole or not; None: each entry counts for itself. Runs that diverge
            agree from the epoch on from which both stay inf or NaN to the end.
        first: epochs at the start, and how far apart every run may be there, relative: chaos has not set in yet.
        epochs: the axis of epochs.
        rounding: the array of the same file that says how large an entry may be by rounding alone, where it is finite;
            it is added to the tolerance.
        limit: the array of the same file that an error is judged by: where it is finite, both errors must lie on the
            same side of it, and may be apart by any amount.
        rows: a column of texts of the same file and the text in it of the rows that this is for; None: of all.
        others: for the other rows.
        chaotic: whether it is this wide because trainings or searches amplify rounding, so that it bounds no rounding.
    """

    relative: float = 0.0
    absolute: float = 0.0
    differing: float = 0.0
    runs: int | None = None
    first: tuple[int, float] | None = None
    epochs: int = 0
    rounding: str | None = None
    limit: str | None = None
    rows: tuple[str, str] | None = None
    others: "Tolerance | None" = None
    chaotic: bool = False

    def of_rounding(self) -> "Tolerance":
        """The same without what chaos may do: how far each entry may be apart on one class of machine."""
        relative = 0.0 if self.chaotic else self.relative if self.first is None else min(self.relative, self.first[1])
        absolute = 0.0 if self.chaotic else self.absolute
        others = self.others and self.others.of_rounding()
        return replace(self, relative=relative, absolute=absolute, differing=0.0, runs=None, first=None, others=others)


# Rounding that nothing amplifies; the figures' tables allow as much.
_CLOSE = Tolerance(relative=1e-6, absolute=1e-9)
# An error of rounding's size has other digits on every machine; the measuring function derived how large it may be.
_ERROR = Tolerance(relative=1e-6, absolute=1e-12, limit="tolerance")
# What judges an error is far below every absolute tolerance.
_LIMIT = Tolerance(relative=1e-6)
EIGENVALUES = 8
"""Near the noise floor, as counted in the smallest network; that many may lie on the other side of it elsewhere."""

TOLERANCES: Mapping[str, Mapping[str, Tolerance]] = {
    # Eigenvectors turn by eps over the gaps of the eigenvalues.
    "whiten": dict.fromkeys(("inputs", "explained_variance", "xx", "yx", "trace_yy", "summary.json"), _CLOSE),
    "train": {
        "baseline_loss": Tolerance(relative=1e-9),
        # Near the edge of stability gradient descent amplifies rounding in some runs.
        "excess_loss": Tolerance(relative=1e-6, absolute=1e-12, differing=0.05, runs=1),
        # It vanishes at the optimum, where its relative error grows.
        "gradient_norm": Tolerance(relative=1e-3, absolute=1e-9, differing=0.05, runs=1),
        "mean_frobenius_norm": Tolerance(relative=1e-2, differing=0.05, runs=1),
        # Directions that change the loss little are known less well than the loss.
        "snapshots": Tolerance(relative=1e-3, absolute=1e-4, differing=0.05, runs=2),
    },
    "train, with activations": {
        # float32, and ReLUs' kinks amplify a last digit. Measured with vectors of half the width, at depths 4 and 16:
        # up to 11 of 18 runs part, those at large rates, after 3 to 966 epochs. In the first three they are at most
        # 2e-5, 5e-4 and 3e-7 apart, where another seed's are at least 1e-2 in the loss or 1e-3 in the norm.
        "excess_loss": Tolerance(relative=1e-3, differing=0.7, runs=1, first=(3, 1e-3)),
        "gradient_norm": Tolerance(relative=1e-2, absolute=1e-6, differing=0.7, runs=1, first=(3, 1e-2)),
        "mean_frobenius_norm": Tolerance(relative=1e-2, differing=0.5, runs=1, first=(3, 1e-5)),
        "snapshots": Tolerance(relative=1e-2, absolute=1e-3, differing=0.7, runs=2),
    },
    # Measured with other instructions: a fifth of the runs at depth 10, those at large rates, differ by up to 4 %.
    "train_scaled": {"loss": Tolerance(relative=1e-3, differing=0.3, runs=1)},
    "train_images": {
        # Minibatch training is chaotic: after some epochs two machines share statistics, not weights. Measured with
        # AVX in place of AVX2, four ResNets of depth 8, four epochs of 10 000 images: test losses at most 34 % apart,
        # errors 0.1, norms 4 %. Before the first step norms are equal; another seed's differ by up to 2 to 7 %.
        "train_loss": Tolerance(relative=0.3, differing=0.1, chaotic=True),
        "test_loss": Tolerance(relative=0.3, differing=0.1, chaotic=True),
        "train_error": Tolerance(absolute=0.1, differing=0.1, chaotic=True),
        "test_error": Tolerance(absolute=0.1, differing=0.1, chaotic=True),
        "test_error_halves": Tolerance(absolute=0.1, differing=0.1, chaotic=True),
        "norms": Tolerance(relative=0.05, differing=0.05, first=(1, 1e-6), epochs=1),
    },
    "hessians": {
        "lambda_max": Tolerance(relative=1e-6, differing=0.05),
        "noise_floor": Tolerance(relative=1e-6, differing=0.05),
        # The smallest tenth of the eigenvalues, relative to rounding of the largest.
        "lambda_p10": Tolerance(relative=1e-3, absolute=2e-9, differing=0.05),
        "condition_number": Tolerance(relative=1e-3, differing=0.15),
        # In eigenvalues; tolerances_of gives the share.
        "index": Tolerance(absolute=EIGENVALUES, differing=0.05),
        "sizeable_index": Tolerance(absolute=EIGENVALUES, differing=0.05),
        # The signs of eigenvalues under the noise floor are rounding.
        "raw_index": Tolerance(absolute=1.0),
        "resolved": Tolerance(differing=0.05),
    },
    "theorem": {
        "value": Tolerance(relative=1e-6, absolute=1e-9, differing=0.1, rounding="tolerance"),
        "expected": _CLOSE,
        "error": _ERROR,
        "tolerance": _LIMIT,
        **{name: Tolerance(absolute=1e-9) for name in ("path", "direct", "obstacles", "rho")},
    },
    "simulate": {
        # A start on the border of two basins falls to either side.
        "outcomes": Tolerance(differing=0.01),
        "states": Tolerance(relative=1e-6, absolute=1e-6, differing=0.01, runs=-1, epochs=1),
    },
    "factorize": {
        # With other instructions norms of factors were at most 1e-12 apart, those of searches 0.1 %.
        "norm": Tolerance(relative=0.05, rows=("method", "search"), others=Tolerance(relative=1e-9), chaotic=True),
        # An orthogonal map has gamma 0, up to rounding.
        **dict.fromkeys(("gamma", "paper", "whole", "least"), _CLOSE),
        "tolerance": _LIMIT,
        "error": _ERROR,
    },
    "dominance": {
        "log_ratio": Tolerance(absolute=1e-4, differing=0.1, rounding="rounding"),
        "error": _ERROR,
        "tolerance": Tolerance(relative=1e-3, differing=0.1),
        "rounding": Tolerance(relative=1e-3, absolute=1e-9, differing=0.1),
    },
    "descents": {
        name: Tolerance(relative=1e-6, absolute=1e-4, differing=0.1)
        for name in ("learning_rate", "smallest", "largest", "excess", "log_ratio", "rounding")
    },
    "proposition": {"error": _ERROR, "tolerance": _LIMIT},
    "lemma": {"error": _ERROR, "tolerance": _LIMIT},
    "express": {
        "rho": Tolerance(relative=1e-6),
        # Without a bound, in single precision, it is the error that the network has.
        "error": Tolerance(relative=1e-3, absolute=1e-9, differing=0.1, limit="tolerance"),
        "tolerance": Tolerance(relative=1e-3),
        "moved_error": Tolerance(relative=1e-3, absolute=1e-6, differing=0.1),
        "disturbance": Tolerance(relative=1e-3, absolute=1e-6, differing=0.1),
        "nested_rho": Tolerance(relative=1e-6),
    },
    "propagate": {name: Tolerance(relative=1e-6) for name in ("squared_norms", "start", "least", "largest")},
    "backpropagate": {name: Tolerance(relative=1e-6) for name in ("middle", "largest", "last")},
    "multiply": {"norms": Tolerance(relative=1e-6), "error": Tolerance(absolute=1e-6)},
    "count": {},
}


def tolerances_of(job: Job) -> Mapping[str, Tolerance] | None:
    """The tolerances of a job; None if its kind has none, so that only equal bytes count."""
    # float64 and no kink keep linear networks close.
    if isinstance(job, Train) and not job.ensemble.network.is_linear:
        return TOLERANCES["train, with activations"]
    table = TOLERANCES.get(job.kind)
    if table is None or not isinstance(job, Hessians):
        return table
    share = (EIGENVALUES + 0.5) / job.ensemble.network.parameters
    return {**table, **{name: replace(table[name], absolute=share) for name in ("index", "sizeable_index")}}
