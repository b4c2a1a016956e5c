"""One network's sweep of learning rates as checks measure it: the choice of the rate, and what it may have missed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from resaudit.claims.checks.measured import UNKNOWN, Effect, Measured
from resaudit.figures.rates import LEVEL, BestRate, choose_rate, least_diverged, rates_to_confirm
from resaudit.figures.sweeps import fresh, is_confirmed, screened, sweep

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sweep:
    """One network's sweep at one depth.

    Attributes:
        where: network and depth.
        rates: learning rates, ascending, shape (k,); of fresh runs those that the screening left.
        losses: final losses or excess losses, shape (runs, k); infinite where a run diverged.
        runs: the runs' numbers, shape (runs,).
        grid: the rates of the screening, ascending.
        trains: whether the screening has a rate at which no run diverged.
    """

    where: str
    rates: np.ndarray
    losses: np.ndarray
    runs: np.ndarray
    grid: np.ndarray
    trains: bool

    def choice(self, level: float = LEVEL) -> BestRate:
        """The best rate and those tied with it."""
        return choose_rate(self.rates, self.losses, level, self.grid)

    def finals(self, level: float = LEVEL) -> "list[pd.Series]":
        """Losses by run at the rate shown, then at those tied with it.

        If some run diverged at every rate: the losses at the rate with the fewest diverged runs, the best of these.
        """
        best = self.choice(level)
        if best.shown is None:
            return [self.at(least_diverged(self.rates, self.losses))]
        return [self.at(rate) for rate in best.order]

    def at(self, rate: float) -> "pd.Series":
        """Losses by run at a rate of the grid."""
        import pandas as pd

        return pd.Series(self.losses[:, self.rates == rate][:, 0], index=self.runs, name=rate)


def sweep_of(
    rows: "pd.DataFrame", network: str, depth: int, column: str, least_runs: int, measured: Measured
) -> Sweep | None:
    """A network's sweep at a depth; None with too few runs.

    Measured are the fresh runs, at the rates that the screening leaves or at all of its rates, or, without a
    confirmation, all runs at the rates that every run tried.
    """
    where = f"{network}, depth {depth}"
    grid, screening = swept = _every_run(screened(rows), where, column, measured)
    if is_confirmed(rows):
        swept = _every_run(fresh(rows), where, column, measured)
        at_every_rate = np.array_equal(swept[0], grid)
        left = set(rates_to_confirm(grid, screening)) ^ set(swept[0]) if len(screening) and not at_every_rate else set()
        measured.missing.extend(
            f"{where}, rate {rate:.3g}: left by the screening or confirmed, not both" for rate in sorted(left)
        )
    rates, losses = swept
    if not measured.has_enough(where, len(losses) if len(rates) else 0, least_runs):
        return None
    trains = choose_rate(grid, screening).shown is not None
    return Sweep(where, rates, losses, np.sort(fresh(rows)["run"].unique()), grid, trains)


def _every_run(rows: "pd.DataFrame", where: str, column: str, measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """The rates that every run tried (k,), and its losses (runs, k)."""
    rates, losses = sweep(rows, column) if len(rows) else (np.empty(0), np.empty((0, 0)))
    skipped = sorted(set(rows["learning_rate"]) - set(rates))
    measured.missing.extend(f"{where}, rate {rate:.3g}: not every run tried it" for rate in skipped)
    return rates, losses


def beyond_the_grid(sweeps: list[Sweep], measured: Measured) -> list[Effect]:
    """:data:`UNKNOWN` if a rate outside of those measured may be better, else nothing."""
    falling = [one.where for one in sweeps if one.choice().still_falling]
    measured.excluded.extend(f"{where}: the loss still falls at the edge of the grid" for where in falling)
    return [UNKNOWN] if falling else left_out_in_error(sweeps, measured)


def left_out_in_error(sweeps: list[Sweep], measured: Measured) -> list[Effect]:
    """:data:`UNKNOWN` if fresh runs diverge at each rate that a screening left: one that it left out may be better."""
    lost = [one.where for one in sweeps if one.trains and one.choice().shown is None]
    measured.excluded.extend(f"{where}: fresh runs diverge at every rate that the sweep left" for where in lost)
    return [UNKNOWN] if lost else []
