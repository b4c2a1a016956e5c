"""One network's sweep of learning rates as checks measure it: the choice of the rate, and what it may have missed."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Self
from zlib import crc32

import numpy as np

from resaudit.claims.checks.measured import UNKNOWN, Effect, Measured, drawn_anew
from resaudit.figures.rates import LEVEL, BestRate, is_only_bounded, least_diverged
from resaudit.figures.sweeps import by_rate, fresh, is_confirmed, screened

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Sweep:
    """One network's sweep at one depth."""

    where: str  # network and depth
    rates: np.ndarray  # learning rates, ascending, shape (k,); of fresh runs those that the screening left
    losses: np.ndarray  # final losses or excess losses, shape (runs, k); infinite where a run diverged
    runs: np.ndarray  # the runs' numbers, shape (runs,)
    grid: np.ndarray  # the rates of the screening, ascending
    trains: bool  # whether the screening has a rate at which no run diverged

    @cached_property
    def only_bounded(self) -> bool:
        """Whether its fresh runs bound the loss, as :func:`~resaudit.figures.rates.is_only_bounded` says."""
        return is_only_bounded(self.trains, self.grid, self.rates, self.choice())

    def choice(self, level: float = LEVEL) -> BestRate:
        """The best rate and those tied with it."""
        return BestRate.choose(self.rates, self.losses, level, self.grid)

    def order(self, level: float = LEVEL) -> tuple[float, ...]:
        """The rate shown, then those tied with it; none if some run diverges at every rate.

        If the sweep is :attr:`only_bounded`, all that the screening left, that with the fewest diverged runs first.
        """
        if not self.only_bounded:
            return self.choice(level).order
        first = least_diverged(self.rates, self.losses)
        return tuple(sorted(self.rates.tolist(), key=lambda rate: (rate != first, rate)))

    def is_at_edge(self, level: float = LEVEL) -> bool:
        """Whether the grid's first or last rate is one of :meth:`order`, so that rates outside it may be as good."""
        if not self.only_bounded:
            return self.choice(level).at_edge
        return bool({self.grid[0], self.grid[-1]} & set(self.rates))

    def finals(self, level: float = LEVEL) -> "list[pd.Series]":
        """Losses by run at each rate of :meth:`order`, without diverged runs if they are :attr:`only_bounded`.

        If some run diverged at every rate: the losses at the rate with the fewest diverged runs, the best of these.
        """
        losses = [self.at(rate) for rate in self.order(level) or (least_diverged(self.rates, self.losses),)]
        return [each[np.isfinite(each)] for each in losses] if self.only_bounded else losses

    def at(self, rate: float) -> "pd.Series":
        """Losses by run at a rate of the grid."""
        import pandas as pd

        return pd.Series(self.losses[:, self.rates == rate][:, 0], index=self.runs, name=rate)

    def again(self, number: int) -> Self:
        """The sweep in a simulated rerun, of whole runs drawn anew; the same in every comparison."""
        rng = np.random.default_rng([number, crc32(self.where.encode())])
        return replace(self, losses=self.losses[drawn_anew(len(self.losses), rng)])


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
        left = (
            set(BestRate.to_confirm(grid, screening)) ^ set(swept[0]) if len(screening) and not at_every_rate else set()
        )
        measured.missing.extend(
            f"{where}, rate {rate:.3g}: left by the screening or confirmed, not both" for rate in sorted(left)
        )
    rates, losses = swept
    if not measured.has_enough(where, len(losses) if len(rates) else 0, least_runs):
        return None
    trains = BestRate.choose(grid, screening).shown is not None
    return Sweep(where, rates, losses, np.sort(fresh(rows)["run"].unique()), grid, trains)


def _every_run(rows: "pd.DataFrame", where: str, column: str, measured: Measured) -> tuple[np.ndarray, np.ndarray]:
    """The rates that every run tried (k,), and its losses (runs, k)."""
    rates, losses = by_rate(rows, column) if len(rows) else (np.empty(0), np.empty((0, 0)))
    skipped = sorted(set(rows["learning_rate"]) - set(rates))
    measured.missing.extend(f"{where}, rate {rate:.3g}: not every run tried it" for rate in skipped)
    return rates, losses


def beyond_the_grid(sweeps: list[Sweep], measured: Measured) -> list[Effect]:
    """:data:`UNKNOWN` if a rate beyond the grid may be better, else nothing."""
    beyond = [one.where for one in sweeps if (one.is_at_edge() if one.only_bounded else one.choice().still_falling)]
    measured.excluded.extend(f"{where}: the loss still falls at the edge of the grid" for where in beyond)
    return [UNKNOWN] if beyond else []


def open_ends(above: Sweep, below: Sweep | None, measured: Measured, most: float = np.inf) -> tuple[float, ...]:
    """The ends, up to ``most`` and down to 0, of an effect that grows with a network's loss and falls with another's.

    It is open on the side of a network whose loss is only bounded.
    """
    ends = {most: above, 0.0: below}
    return ends_of_bounds({end: one.where for end, one in ends.items() if one and one.only_bounded}, measured)


def ends_of_bounds(bounded: Mapping[float, str], measured: Measured) -> tuple[float, ...]:
    """The ends towards which an effect is open, given with the networks whose losses are only bounded; it is said."""
    measured.excluded.extend(
        f"{where}: fresh runs diverge at every rate that the sweep left; those that do not bound its loss from below"
        for where in bounded.values()
    )
    return tuple(bounded)
