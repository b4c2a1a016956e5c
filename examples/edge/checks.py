"""How often a quantity rises."""

import numpy as np

from resaudit.claims.checks.measured import Measured
from resaudit.claims.checks.rows import take
from resaudit.claims.intervals import replicate_means
from resaudit.plan.check import Check, Share


class ShareOfRises(Check, name="share_of_rises"):
    """Share of the spans of steps from each to the next of which a property rises, mean over runs.

    Attributes:
        property: the property.
        after: share of the steps that is left out at the start.
        span: share of the steps that a span has; 0: spans of one row.
        until: the first value from which on all is left out.
    """

    reads = ("property", "learning_rate", "run", "step", "value")
    property: str
    after: Share = 0.0
    span: Share = 0.0
    until: float | None = None

    def measure(self, table, least_runs):
        measured = Measured(f"share of spans in which the {self.property} rises", "share", bounds=(0.0, 1.0))
        rows = take(table, *self.reads)[table["property"] == self.property]
        for rate, of_rate in rows.groupby("learning_rate"):
            curves = of_rate.sort_values("step").groupby("run")["value"]
            shares = np.array([share for _, curve in curves if (share := self.share(curve.to_numpy())) is not None])
            if measured.has_enough(f"learning rate {rate:g}", len(shares), least_runs):
                means = replicate_means(shares)
                measured.add(f"learning rate {rate:g}", means[0], means[1:], len(shares))
        return measured

    def share(self, curve):
        used, size = curve[int(self.after * len(curve)) :], max(1, int(self.span * len(curve)))
        if self.until is not None and (used >= self.until).any():
            used = used[: np.argmax(used >= self.until)]
        means = used[: len(used) // size * size].reshape(-1, size).mean(axis=1)
        return np.mean(np.diff(means) > 0) if len(means) > 1 else None
