"""Oracle: made losses of a screening and of fresh runs, whose effects differ; jobs of a plan; what a figure draws.

It sees an effect of the runs that chose the rate, a rate tied for want of runs that stays tied, fresh runs that are
missing and not missed, a network that trains at no rate and has no fresh runs, and jobs that more runs recompute.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

from resaudit.claims.checks.depths import RatioAcrossDepths
from resaudit.claims.checks.epochs import CurveRatio
from resaudit.claims.checks.rates import BestRateRatio, FinalExcess, FinalLossPairs, FinalLossRatio
from resaudit.figures.drawing import figure_module
from resaudit.figures.expected import unexpected
from resaudit.figures.rates import BestRate
from resaudit.figures.sweeps import Stage, by_rate, fresh, screened
from resaudit.plan.claim import Check
from resaudit.plan.composition import load
from resaudit.plan.experiment import at
from resaudit.plan.plan import FigurePlan, make_plan
from residual.demystifying_resnet import fig03, fig07, shortcut1, shortcut_depths
from residual.demystifying_resnet.experiments.results import Block, TrainingResults, judged_again
from residual.demystifying_resnet.figures import look
from residual.demystifying_resnet.jobs.train import Train, final_losses, followed_rates
from residual.demystifying_resnet.networks.trajectory import Trajectory
from tests.claims.made import mentions, result, sweep, verdict
from tests.residual.stable_scaling.test_training import PAPER as STABLE_SCALING
from tests.residual.stable_scaling.test_training import steady

Table = pd.DataFrame
OF_FIGURE = "figure.demystifying_resnet."
Factor = Callable[[str, int], float]
NEAR_IT, FAR = "2-shortcut", "orthogonal"
KEYS = [(network, depth) for network in (NEAR_IT, FAR) for depth in (4, 16)]
RATES, EPOCHS = (0.01, 0.1, 1.0, 10.0), 100
SCREENED, FRESH = 6, 20
DRAWN = {"fig03": fig03, "fig07": fig07, "shortcut1": shortcut1, "shortcut_depths": shortcut_depths}


def ends(network: str, depth: int) -> np.ndarray:
    """Final excess losses by learning rate, 0.1 and 1.0 tied; the orthogonal network's are 100 times as large."""
    level = depth / 4 if network == NEAR_IT else 100 * depth / 4
    return level * np.array([9.0, 1.0, 1.05, np.inf])


def trajectory(network: str, depth: int, rates: tuple[float, ...], runs: int, factor: float) -> Trajectory:
    """Losses that fall by a power of the epoch to about :func:`ends` times a factor, and norms of a tenth of them."""
    scatter = 1.01 ** np.random.default_rng(depth + runs).permutation(np.linspace(-1, 1, runs))
    finals = np.outer(ends(network, depth)[np.searchsorted(RATES, rates)] * factor, scatter).ravel()
    epochs = np.arange(EPOCHS + 1)[:, None]
    losses = finals * (1 + 1e3 / (1 + epochs) - 1e3 / (1 + EPOCHS))
    empty = np.empty(0)
    return Trajectory(np.repeat(rates, runs), np.array(1.0), losses, losses, losses / depth**2, empty, empty)


def results(of_screening: Factor = lambda *_: 1.0, of_fresh: Factor = lambda *_: 1.0) -> TrainingResults:
    """A screening and two blocks of fresh runs at the rates that it leaves, with factors on their losses and norms."""
    sweeps = {key: trajectory(*key, RATES, SCREENED, of_screening(*key)) for key in KEYS}
    rates = {key: followed_rates(each, "tied_for_best") for key, each in sweeps.items()}
    blocks = {
        key: [
            Block(first, trajectory(*key, rates[key], FRESH // 2, of_fresh(*key)))
            for first in (SCREENED, SCREENED + FRESH // 2)
        ]
        for key in KEYS
    }
    best = {key: BestRate.choose(*final_losses(each)) for key, each in sweeps.items()}
    return judged_again(TrainingResults(sweeps=sweeps, blocks=blocks, rates=rates, best=best))


def absurd(network: str, depth: int) -> float:
    """A factor that turns every verdict: the network that ended nearer ends further away, the more the deeper."""
    return 1e6 * depth**4 if network == NEAR_IT else 1.0


@dataclass(frozen=True)
class Case:
    figure: str
    check: Check


CASES = [
    Case("fig07", FinalLossRatio(network=NEAR_IT, others=[FAR], at_least=10)),
    Case("fig07", FinalLossPairs(network=NEAR_IT, others=[FAR], factor=10, at_least=0.5)),
    Case("fig07", FinalExcess(networks=[NEAR_IT], at_most=10)),
    Case("fig03", RatioAcrossDepths(networks=[NEAR_IT], column="mean_frobenius_norm", reference="previous",
                                    epochs=[0.1, 1.0], at_most=1)),
    Case("shortcut1", CurveRatio(network=FAR, other=NEAR_IT, epochs=[0.01, 1.0], at_least=10)),
    Case("shortcut_depths", FinalLossRatio(network=NEAR_IT, others=[FAR], at_least=10)),
]  # fmt: skip
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.figure}-{type(case.check).__name__}")


def table_of(figure: str, found: TrainingResults) -> Table:
    table: Table = DRAWN[figure].table(found)
    return table


def judged(check: Check, table: Table) -> tuple[str, list[tuple[float, ...]]]:
    """The verdict, and every effect with its interval."""
    intervals = [(choice.effect, *choice.own) for point in result(check, table).points for choice in point.choices]
    return verdict(check, table), intervals


@EVERY_CASE
def test_effects_come_from_fresh_runs_only(case: Case) -> None:
    table = table_of(case.figure, results())
    honest, effects = judged(case.check, table)
    assert (honest, len(effects) > 0) == ("supported", True)
    planted = table_of(case.figure, results(of_screening=absurd))
    assert not screened(planted).equals(screened(table))
    pd.testing.assert_frame_equal(fresh(planted), fresh(table))
    assert judged(case.check, planted) == (honest, effects)
    assert judged(case.check, table_of(case.figure, results(of_fresh=absurd)))[0] == "contradicted"


@EVERY_CASE
def test_the_numbers_of_runs_within_a_stage_mean_nothing(case: Case) -> None:
    table = table_of(case.figure, results())
    rng = np.random.default_rng(5)
    for stage in (Stage.SCREENING, Stage.CONFIRMATION):
        for _, rows in table[table[Stage.COLUMN] == stage].groupby(["network", "depth"]):
            runs = rows["run"].unique()
            renumbered = dict(zip(runs, rng.permutation(runs), strict=True))
            table.loc[rows.index, "run"] = rows["run"].map(renumbered)
    shuffled = table.sample(frac=1, random_state=5)
    assert verdict(case.check, shuffled) == "supported"
    before = judged(case.check, table_of(case.figure, results()))[1]
    np.testing.assert_allclose(judged(case.check, shuffled)[1], before, rtol=1e-9)


def screened_and_confirmed(screening: Table, other: Table, confirmed_rates: tuple[float, ...] = ()) -> Table:
    """A screening, and fresh runs at the rates that it leaves for each network and depth, or at those given."""
    parts = [screening.assign(stage=Stage.SCREENING)]
    for (network, depth), rows in screening.groupby(["network", "depth"]):
        rates = confirmed_rates or BestRate.to_confirm(*by_rate(rows, "excess_loss"))
        here = other[(other["network"] == network) & (other["depth"] == depth) & other["learning_rate"].isin(rates)]
        parts.append(here.assign(stage=Stage.CONFIRMATION, run=here["run"] + screening["run"].max() + 1))
    return pd.concat(parts, ignore_index=True)


# In the screening 1.0 is tied with 0.1; in the fresh runs of APART the losses there are as the other network's.
TIED = {"a": lambda _, rate: {0.01: 50.0, 0.1: 1.0, 1.0: 1.05}[rate], "b": lambda _, rate: 100 + 50 * (rate != 0.1)}
APART = TIED | {"a": lambda _, rate: {0.01: 50.0, 0.1: 1.0, 1.0: 100.0}[rate]}
A_IS_NEARER = FinalLossRatio(network="a", others=["b"], at_least=10)


@pytest.mark.parametrize(("fresh_runs", "left"), [(TIED, {0.1, 1.0}), (APART, {0.1})])
def test_a_tied_rate_drops_out_where_fresh_runs_say_so(
    fresh_runs: dict[str, Callable[[int, float], float]], left: set[float]
) -> None:
    table = screened_and_confirmed(sweep(TIED), sweep(fresh_runs))
    assert set(fresh(table[table["network"] == "a"])["learning_rate"]) == {0.1, 1.0}
    assert verdict(A_IS_NEARER, table) == "supported"
    for point in result(A_IS_NEARER, table).points:
        assert len(point.choices) == len(left)
    for point in result(BestRateRatio(network="a", others=["b"], at_most=2), table).points:
        assert sorted(choice.effect for choice in point.choices) == pytest.approx(sorted(rate / 0.1 for rate in left))
    # Which of two tied rates is the best is open; fresh runs can close it.
    expected = "supported" if left == {0.1} else "inconclusive"
    assert verdict(BestRateRatio(network="a", others=["b"], at_most=2), table) == expected


@pytest.mark.parametrize("confirmed_rates", [(0.1,), (1.0,), (0.1, 0.01), (0.01,)])
def test_a_rate_that_the_screening_left_and_that_has_no_fresh_runs_is_missing(
    confirmed_rates: tuple[float, ...],
) -> None:
    tied_at_two = {"a": TIED["a"], "b": lambda _, rate: 100.0 * TIED["a"](_, rate)}
    assert verdict(A_IS_NEARER, screened_and_confirmed(sweep(tied_at_two), sweep(tied_at_two))) == "supported"
    table = screened_and_confirmed(sweep(tied_at_two), sweep(tied_at_two), confirmed_rates)
    assert verdict(A_IS_NEARER, table) == "inconclusive"
    lacking = {0.1, 1.0} ^ set(confirmed_rates)
    missing = result(A_IS_NEARER, table).missing
    for network in ("a", "b"):
        assert all(any(mentions(text, network, f"{rate:g}") for text in missing) for rate in lacking)


@pytest.mark.parametrize("stage", [Stage.SCREENING, Stage.CONFIRMATION])
def test_a_table_without_the_runs_of_a_stage_is_not_the_plans(stage: str) -> None:
    part = planned("demystifying_resnet/fig07", "scale=smoke")
    jobs = {where: job for where, job in part.jobs.items() if isinstance(job, Train)}
    rows = [
        {**dict(where), "learning_rate": rate, "run": run, "excess_loss": rate**3 * (1 + run / 100)}
        for where, job in jobs.items()
        for rate in job.learning_rates or (0.01,)
        for run in job.run_numbers
    ]
    table = pd.DataFrame(rows).drop(columns="first").assign(optimal_loss=0.0, initial_loss=2.0)
    table = table.assign(final_loss=table["excess_loss"])
    assert unexpected(table, part) is None
    lost = (table["network"] == FAR) & (table["depth"] == 4) & (table[Stage.COLUMN] == stage)
    assert mentions(str(unexpected(table[~lost], part)), FAR, 4, stage)


def test_a_network_whose_every_rate_has_a_diverged_run_is_confirmed_where_the_fewest_do() -> None:
    infinite = {0.01: [0, 1, 2], 0.1: [3], 1.0: [0, 4]}
    screening = sweep({"a": lambda *_: 1.0, "b": lambda *_: 100.0}, beyond=False)
    diverged = [row.network == "b" and row.run in infinite[row.learning_rate] for row in screening.itertuples()]
    screening["excess_loss"] = screening["excess_loss"].mask(diverged, np.inf)
    rates, losses = by_rate(screening[(screening["network"] == "b") & (screening["depth"] == 4)], "excess_loss")
    made = Trajectory(rates.repeat(len(losses)), np.array(0.0), np.stack([losses.T.ravel()] * 2), *[np.empty(0)] * 4)
    assert followed_rates(made, "tied_for_best") == BestRate.to_confirm(rates, losses) == (0.1,)
    # Fresh runs there are measured, and no others.
    confirmed = screened_and_confirmed(screening, screening)
    assert set(fresh(confirmed[confirmed["network"] == "b"])["learning_rate"]) == {0.1}
    found = result(A_IS_NEARER, confirmed)
    assert found.missing == []
    # Its diverged run, one of eight, does not make the other network's loss the lower.
    assert found.verdict == "inconclusive"
    assert all(choice.diverged == (1, 16) for point in found.points for choice in point.choices)
    elsewhere = confirmed.assign(
        learning_rate=confirmed["learning_rate"].mask(
            (confirmed["network"] == "b") & (confirmed[Stage.COLUMN] == Stage.CONFIRMATION), 1.0
        )
    )
    assert len(result(A_IS_NEARER, elsewhere).missing) > 0


def planned(name: str, *overrides: str) -> FigurePlan:
    return make_plan(load(overrides, only=[name])).figures[name]


@pytest.mark.parametrize(("rate", "followed"), [("best", (0.1,)), ("tenth_of_best", (0.01,))])
def test_ties_of_results_are_judged_again_on_their_fresh_runs(
    rate: str, followed: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    part = planned("demystifying_resnet/fig03", f"{OF_FIGURE}fig03.protocol.rate={rate}")

    def read(job: Train, _: Path) -> Trajectory:
        made = trajectory(NEAR_IT, 4, RATES if job.sweep is None else (0.1, 1.0), 10, 1.0)
        worse = (made.learning_rate == 1.0) & (job.sweep is not None)
        return replace(made, excess_loss=made.excess_loss * np.where(worse, 2, 1))

    swept = next(job for job in part.jobs.values() if isinstance(job, Train))
    assert followed_rates(read(swept, Path()), "tied_for_best") == (0.1, 1.0)
    monkeypatch.setattr(Train, "read", read)
    found = part.figure.protocol.read(part.jobs, Path())
    assert set(found.rates.values()) == {followed}


@pytest.mark.parametrize("figure", ["fig07", "fig03", "shortcut1", "shortcut_depths"])
def test_more_fresh_runs_add_jobs_and_keep_the_ids_of_full_blocks(figure: str) -> None:
    name = f"demystifying_resnet/{figure}"

    def ids(runs: int) -> set[str]:
        confirm = f"{OF_FIGURE}{figure}.protocol.confirm.runs={runs}"
        return {job.id for job in planned(name, "scale=paper", confirm).jobs.values()}

    assert ids(50) < ids(100) < ids(120)
    sweeps = len(ids(50)) // 2
    assert [len(ids(runs)) for runs in (50, 100, 120)] == [2 * sweeps, 3 * sweeps, 4 * sweeps]
    # A block that is not full is trained again, a full one never.
    assert len(ids(70) & ids(100)) == 2 * sweeps


def test_blocks_of_one_network_are_of_its_own_sweep_and_number_their_runs_after_it() -> None:
    name = "demystifying_resnet/fig08"
    jobs = planned(name, "scale=laptop").jobs
    assert {dict(where)["network"] for where in jobs if dict(where)[Stage.COLUMN] == Stage.CONFIRMATION} == {
        "2-shortcut-relu"
    }
    for depth in (4, 16, 64):
        place = {"network": "2-shortcut-relu", "depth": depth}
        swept, block = jobs[at(stage=Stage.SCREENING, **place)], jobs[at(stage=Stage.CONFIRMATION, **place, first=3)]
        assert isinstance(swept, Train)
        assert isinstance(block, Train)
        assert (block.sweep, block.learning_rates, block.rate) == (swept, (), "tied_for_best")
        assert (block.ensemble.first, block.ensemble.runs) == (swept.ensemble.runs, 5)


SMALL = 1.5
"""Size of the dots of screened runs."""


def drawn(axes: Axes) -> list[float]:
    """The heights of all lines and dots of a panel, but for the small dots."""
    lines = [line for line in axes.get_lines() if line.get_markersize() != SMALL]
    return [float(y) for line in lines for y in np.atleast_1d(line.get_ydata())]


@pytest.mark.parametrize(("figure", "panel"), [("fig07", 0), ("shortcut_depths", 1)])
def test_figures_of_final_losses_draw_both_kinds_of_runs_and_the_mean_of_the_fresh(figure: str, panel: int) -> None:
    table = table_of(figure, results(of_fresh=lambda *_: 0.5))
    axes = DRAWN[figure].plot(table).axes[panel]
    final = table[(table["epoch"] == table["epoch"].max()) if "epoch" in table else table["run"] >= 0]
    here = final[(final["network"] == NEAR_IT) & (final["depth"] == 16) & (final["learning_rate"] == 0.1)]
    of_network = [line for line in axes.get_lines() if line.get_color() == look(NEAR_IT)["color"]]
    mean, measured, chose = (np.asarray(line.get_ydata(), float) for line in of_network)
    assert mean[-1] == pytest.approx(fresh(here)["excess_loss"].mean(), rel=1e-12)
    assert sorted(measured)[-FRESH:] == pytest.approx(sorted(fresh(here)["excess_loss"]))
    assert sorted(chose)[-SCREENED:] == pytest.approx(sorted(screened(here)["excess_loss"]))


@pytest.mark.parametrize("figure", ["fig03", "shortcut1"])
def test_curves_are_those_of_fresh_runs(figure: str) -> None:
    def heights(found: TrainingResults, of: Callable[[Table], Table] = lambda table: table) -> list[float]:
        return [y for axes in DRAWN[figure].plot(of(beside(table_of(figure, found)))).axes for y in drawn(axes)]

    def beside(table: Table) -> Table:
        return (
            table.assign(network=table["network"].replace({NEAR_IT: "1-shortcut"})) if figure == "shortcut1" else table
        )

    alone = heights(results())
    assert heights(results(of_screening=absurd)) == alone
    assert heights(results(of_fresh=absurd)) != alone


def test_training_of_stable_scaling_draws_the_fresh_runs() -> None:
    plot = figure_module(f"{STABLE_SCALING}/training").plot
    screening, other = steady("resnet-0.5").assign(stage=Stage.SCREENING), steady("resnet-0.5")
    other = other.assign(stage=Stage.CONFIRMATION, run=other["run"] + 4, loss=0.9 * other["loss"])

    def heights(*parts: Table) -> list[float]:
        return drawn(plot(pd.concat(parts, ignore_index=True)).axes[1])

    doubled = screening.assign(loss=2 * screening["loss"])
    assert heights(doubled, other) == heights(screening, other) != heights(doubled)
