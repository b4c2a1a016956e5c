"""Checks: pure functions of a figure's table, one for each kind of :class:`resaudit.ledger.Check`."""

from collections.abc import Callable
from typing import Any

import pandas as pd

from resaudit import ledger
from resaudit.claims.checks import depths, epochs, losses, rates, theory
from resaudit.claims.checks.measured import Measured

_MEASURES: dict[type[ledger.Check], Callable[[Any, pd.DataFrame, int], Measured]] = {
    ledger.RatioAcrossDepths: depths.ratio_across_depths,
    ledger.GrowthExponent: depths.growth_exponent,
    ledger.GrowthDifference: depths.growth_difference,
    ledger.AtEveryLoss: losses.at_every_loss,
    ledger.LargeAgainstSmallLoss: losses.large_against_small_loss,
    ledger.AtTheEnd: losses.at_the_end,
    ledger.EarlyFall: epochs.early_fall,
    ledger.PeakAtDrop: epochs.peak_at_drop,
    ledger.CurveRatio: epochs.curve_ratio,
    ledger.FinalExcess: rates.final_excess,
    ledger.FinalLossRatio: rates.final_loss_ratio,
    ledger.FinalLossAcrossDepths: rates.final_loss_across_depths,
    ledger.BestRateRatio: rates.best_rate_ratio,
    ledger.BestRateKept: rates.best_rate_kept,
    ledger.SpreadOverRates: rates.spread_over_rates,
    ledger.IdentitiesHold: theory.identities_hold,
    ledger.Magnitude: theory.magnitude,
}


def measure(check: ledger.Check, table: pd.DataFrame, least_runs: int) -> Measured:
    """Measure what a check asks for.

    Args:
        check: with its parameters.
        table: of the figure that is the evidence.
        least_runs: places with fewer runs are left out.

    Raises:
        ResauditError: the table lacks a column, or a value that should be there.
    """
    return _MEASURES[type(check)](check, table, least_runs)
