"""Oracle: records made by hand, and the same with one thing wrong: the claims about trainings on images must turn.

Sees a check that would hold whatever the evidence says, and a gap within the spread of runs that decides a claim.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from resaudit.claims.records import Judgement
from resaudit.claims.verdicts import judge
from resaudit.claims.words import why
from resaudit.figures.drawing import figure_module
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load
from resaudit.plan.figure import Figure
from resaudit.plan.plan import plan_figure
from residual.images.jobs import TrainImages
from residual.images.setting import AllConvolutional, PostActivation, PreActivation
from tests.claims.made import mentions
from tests.conftest import configured
from tests.residual.images.made_records import made, write

Error = Callable[[TrainImages], float]


@cache
def on_images() -> dict[str, Claim]:
    """The claims about images, by ``paper/claim``."""
    config = configured()
    return {
        f"{paper}/{name}": claim
        for paper, claims in config.claims.items()
        for name, claim in claims.items()
        if (figure := config.figure.get(f"{paper}/{claim.evidence}")) and figure.protocol.needs_gpu
    }


def as_claimed(job: TrainImages) -> float:
    """Test errors that agree with every claim."""
    network = job.network
    if isinstance(network, PreActivation):
        return 0.06 * (network.depth / 110) ** (-0.1 if network.shortcut_depth == 2 else 0.1)
    if isinstance(network, PostActivation):
        error = {None: 0.08, 0.5: 0.06, 1.0: 0.09, 0.25: 0.5}[network.power]
        gains = network.batch_norm and network.power == 0.5
        return error * (network.depth / 20) ** (-0.05 * gains) * (1 + 0.1 * np.log2(job.recipe.learning_rate / 0.1))
    assert isinstance(network, AllConvolutional)
    error = 0.0635 if job.data.dataset.name == "cifar10" else 0.246
    return error * (1.0 if network.small else 1.5) * (1.2 if network.projection == "trained" else 1.0)


@cache
def at_paper(name: str) -> Figure:
    return load(["scale=paper"], only=[name]).figure[name]


def table_of(claim: str, folder: Path, error: Error, spread: float = 0.01) -> pd.DataFrame:
    name = f"{claim.split('/')[0]}/{on_images()[claim].evidence}"
    part = plan_figure(at_paper(name), "data")
    for job in part.jobs.values():
        assert isinstance(job, TrainImages)
        write(job, made(job, error, spread), folder)
    table: pd.DataFrame = figure_module(name).table(part.figure.protocol.read(part.jobs, folder))
    return table


def judged(claim: str, table: pd.DataFrame, scale: str = "paper", dataset: str = "") -> Judgement:
    (own,) = on_images()[claim].needs.datasets
    return judge(on_images()[claim], table, scale, dataset or own)


def swapped(one: str, other: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(network=table["network"].replace({one: other, other: one}))


def reversed_depths(table: pd.DataFrame) -> pd.DataFrame:
    depths = sorted(table["depth"].unique())
    return table.assign(depth=table["depth"].map(dict(zip(depths, reversed(depths), strict=True))))


def worse(column: str, factor: float) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(**{column: factor * table[column]})


SABOTAGE = {
    "demystifying_resnet/weights-shrink-with-depth-resnet": reversed_depths,
    "demystifying_resnet/shortcut-2-unique": swapped("2-shortcut", "4-shortcut"),
    "stable_scaling/quarter-power-cannot-train": swapped("L^-0.25", "L^-0.5"),
    "stable_scaling/inverse-depth-is-worse": swapped("L^-1", "L^-0.5"),
    "stable_scaling/trains-without-normalization": swapped("batch-norm", "L^-0.5"),
    "stable_scaling/tau-helps-batch-norm": swapped("batch-norm", "batch-norm-tau"),
    "identity_matters/cifar10-error": worse("error", 1.2),
    "identity_matters/cifar100-error": worse("error", 1.2),
    "identity_matters/better-than-all-cnn": worse("error", 1.2),
    "identity_matters/better-than-all-cnn-cifar100": worse("error", 1.4),
    "identity_matters/smaller-init-helps": swapped("published", "usual-init"),
    "identity_matters/fixed-projection-helps": swapped("published", "trained-projection"),
}


def test_every_claim_about_images_is_sabotaged() -> None:
    assert set(SABOTAGE) == set(on_images())


@pytest.mark.parametrize("claim", SABOTAGE)
def test_sabotage_turns_the_verdict(claim: str, tmp_path: Path) -> None:
    table = table_of(claim, tmp_path, as_claimed)
    honest, sabotaged = judged(claim, table), judged(claim, SABOTAGE[claim](table))
    assert honest.verdict == "supported", why(honest)
    assert sabotaged.verdict == "contradicted", why(sabotaged)


def test_gaps_within_the_spread_of_seeds_decide_nothing(tmp_path: Path) -> None:
    """Seeds spread by .15 to .20 points at 6 %, and five runs of each cannot tell .05 points."""
    claim = "stable_scaling/tau-helps-batch-norm"

    def error(job: TrainImages) -> float:
        assert isinstance(job.network, PostActivation)
        return 0.0600 if job.network.power is None else 0.0595

    judgement = judged(claim, table_of(claim, tmp_path, error, spread=0.03))
    assert judgement.verdict == "inconclusive", why(judgement)


def test_a_diverged_run_has_an_error_of_100_but_no_loss_that_makes_another_the_better(tmp_path: Path) -> None:
    def quarter(job: TrainImages) -> float:
        return np.inf if getattr(job.network, "power", None) == 0.25 else as_claimed(job)

    def usual(job: TrainImages) -> float:
        return np.inf if not getattr(job.network, "small", True) else as_claimed(job)

    for claim, error, expected in (("stable_scaling/quarter-power-cannot-train", quarter, "supported"),
                                   ("identity_matters/smaller-init-helps", usual, "inconclusive")):  # fmt: skip
        judgement = judged(claim, table_of(claim, tmp_path, error))
        assert judgement.verdict == expected, why(judgement)


@pytest.mark.parametrize("claim", SABOTAGE)
def test_a_thinned_run_or_other_images_decide_nothing(claim: str, tmp_path: Path) -> None:
    table = table_of(claim, tmp_path, as_claimed)
    thinned, others = judged(claim, table, "laptop"), judged(claim, table, dataset="cifar10_jpeg")
    assert (thinned.verdict, others.verdict) == ("inconclusive", "inconclusive")
    assert mentions(thinned.obstacle, "paper", "laptop")
    assert mentions(others.obstacle, "cifar10_jpeg")
    assert re.search(r"\bcifar100?\b", others.obstacle)
