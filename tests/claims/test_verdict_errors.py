"""Oracle: simulated claims that are just false or just true, judged by the whole procedure and by one that errs.

Sees rates that are chosen on the runs that are measured, or a level that is not the one stated.
"""

import pytest
from benchmarks.verdict_errors import EFFECTS, Effect, error_rates, same_runs, screened_and_confirmed

GEOMETRIC = [effect for effect in EFFECTS if not effect.logarithmic]
SIDE = 0.025
"""An interval at 95 % errs this often on the side of a threshold."""


def most(trials: int) -> float:
    """The rate with three standard errors of its simulation."""
    return SIDE + 3 * float((SIDE * (1 - SIDE) / trials) ** 0.5)


@pytest.mark.parametrize(("comparisons", "trials"), [(1, 500), (6, 150)])
@pytest.mark.parametrize("effect", GEOMETRIC, ids=lambda effect: effect.name)
def test_screened_and_confirmed_errs_no_more_than_stated(effect: Effect, comparisons: int, trials: int) -> None:
    assert max(error_rates(screened_and_confirmed(30), effect, comparisons, trials)) <= most(trials)


@pytest.mark.parametrize("effect", GEOMETRIC, ids=lambda effect: effect.name)
def test_the_best_rate_measured_on_the_runs_that_chose_it_errs_more(effect: Effect) -> None:
    supported_though_false, _ = error_rates(same_runs(10, all_tied=False), effect, 1, 1500)
    assert supported_though_false > most(1500)
