"""Oracle: tables by hand, and what impossible settings must be answered with.

It sees a check that holds whatever the numerics say (sabotage: a factor, the exponent of eq. 2.3 or a run's end made
wrong must turn the verdict), a run counted at the wrong end, and a plan file whose job is not the one planned.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from resaudit.base.errors import ConfigError
from resaudit.claims.verdicts import judge
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Moments, Whiten
from resaudit.plan.experiment import at
from resaudit.plan.figure import Figure
from residual.identity_matters import theorem21, theorem22
from residual.identity_matters.linear import dominance as dominance_at
from residual.identity_matters.linear import factorization
from residual.identity_matters.linear.dominance import dominated
from residual.identity_matters.linear.factorization import factored
from residual.identity_matters.linear.measured import Descended, Factorizations, Points
from tests.conftest import assert_read_back, configured, smoke_figure
from tests.refusals import refused

PAPER = "identity_matters"
REAL = Moments(np.eye(4), np.diag([0.5, 0.3, 0.1, 0.0]), np.array(1.0))


def figure(name: str, *overrides: str) -> Figure:
    return smoke_figure(f"{PAPER}/{name}", *overrides)


def verdict(claim: str, table: pd.DataFrame) -> str:
    return judge(configured().claims_of(PAPER)[claim], table, "laptop").verdict


@pytest.fixture(scope="module")
def factors() -> pd.DataFrame:
    sizes = Factorizations((3,), (64, 128, 256, 512), 3, 100.0, (), (), 1)
    kinds = ("gaussian", "half-turns", "positive")
    return theorem21.table({at(target=kind): factored(kind, sizes, 1, REAL.optimal_map) for kind in kinds})


def descents(share: float, largest: float = 0.5, pace: float = 1.0) -> Descended:
    """Three runs of four layers with Sigma = I that fall at so many times the guaranteed pace, or end at a share."""
    rate, tau, steps = 0.01, largest, np.array([0.0, 1.0, 2.0])
    each = pace * rate * 2 * 4 * (1 - tau) ** 6
    excess = np.concatenate([np.exp(-each * steps), [share]])
    columns = {
        "depth": 4, "start": 0.0, "draw": 0, "epoch": [0, 1, 2, 1000], "learning_rate": rate, "smallest": 1.0,
        "largest": largest, "excess": excess, "log_ratio": 0.1, "rounding": 1e-12,
    }  # fmt: skip
    frame = pd.concat([pd.DataFrame(columns | {"draw": draw}) for draw in range(3)], ignore_index=True)
    return Descended(**{name: frame[name].to_numpy() for name in columns})


def dominance(**kinds: Descended) -> pd.DataFrame:
    points = [dominated(Points((2,), (1, 3), (0.5,), 2, 4.0, iterations), 1) for iterations in (0, 20)]
    found: dict[Any, Any] = {at(part=part): each for part, each in zip(("random", "search"), points, strict=True)}
    found |= {at(part="descent", target=name.replace("_", " ")): runs for name, runs in kinds.items()}
    return theorem22.table((0.9, found))


@pytest.mark.parametrize(
    ("name", "override", "key"),
    [
        ("theorem21", "protocol.families=[vgg]", "protocol.families[0]"),
        ("theorem21", "protocol.widths=[1]", "protocol.widths[0]"),
        ("theorem21", "protocol.condition=0.5", "protocol.condition"),
        ("theorem21", "protocol.searched_depths=[4]", "protocol.searched_depths[0]"),
        ("theorem22", "protocol.radii=[1.0]", "protocol.radii[0]"),
        ("theorem22", "protocol.radius=0.0", "protocol.radius"),
        ("theorem22", "protocol.rate=2.0", "protocol.rate"),
        ("theorem22", "protocol.starts=[4.0]", "protocol"),
        ("theorem22", "protocol.targets=[zero]", "protocol.targets[0]"),
    ],
)
def test_impossible_settings_are_refused_by_their_key(name: str, override: str, key: str) -> None:
    with refused(ConfigError, f"{key} "):
        figure(name, override)


@pytest.mark.parametrize("name", ["theorem21", "theorem22"])
def test_a_job_comes_back_from_its_plan_file(name: str, tmp_path: Path) -> None:
    drawn = figure(name)
    assert drawn.dataset is not None
    data = Whiten(Fetch(drawn.dataset, "data"), 10, centered=True)
    assert_read_back(drawn.protocol.jobs(data, 1).values(), tmp_path)


def test_claims_on_factors_hold_and_turn_when_the_factors_are_wrong(factors: pd.DataFrame) -> None:
    of_21 = ("small-norm-optimum", "small-norm-optimum-psd", "norms-fall-with-depth")
    assert [verdict(claim, factors) for claim in of_21] == ["supported"] * 3
    off = factors["error"].where(factors["property"] != theorem21.PRODUCT, 2 * factors["tolerance"])
    assert verdict("small-norm-optimum", factors.assign(error=off)) == "contradicted"
    # Norms five times as large: no better than one factor less in five.
    larger = factors.assign(value=5 * factors["value"])
    assert verdict("small-norm-optimum", larger) == "contradicted"
    assert verdict("small-norm-optimum-psd", larger) == "contradicted"
    constant = factors["value"].where(factors["property"] != theorem21.PROOF_NORM, 0.1)
    assert verdict("norms-fall-with-depth", factors.assign(value=constant)) == "contradicted"
    slow = factors["value"].where(factors["property"] != theorem21.PROOF_NORM, factors["depth"] ** -0.5)
    assert verdict("norms-fall-with-depth", factors.assign(value=slow)) == "contradicted"


def test_the_best_of_the_factorizations_built_is_judged(factors: pd.DataFrame) -> None:
    at_row = ["target", "width", "draw", "depth"]
    built = factors[factors["property"] == theorem21.BUILT].set_index(at_row)["value"]
    norms = factors[(factors["property"] == theorem21.NORM) & (factors["target"] != "positive")]
    least = (norms["value"] / norms["paper"]).groupby([norms[key] for key in at_row]).min()
    assert built.sort_index().tolist() == pytest.approx(least.sort_index().tolist())
    printed = factors.loc[factors["property"] == theorem21.AS_PRINTED, "value"]
    assert len(printed) == len(built)
    assert (norms["value"] >= norms["least"]).all()


def test_claims_on_dominance_hold_and_turn() -> None:
    honest = dominance(positive_definite=descents(1e-9), negative_determinant=descents(0.3))
    assert verdict("gradient-dominance", honest) == "supported"
    assert verdict("no-bad-critical-points", honest) == "supported"
    # Half of eq. 2.3's left side, and a gradient that is not the derivative.
    halved = honest["value"] - np.log(2)
    wrong = honest.assign(value=halved, error=(-halved).clip(lower=0).where(honest["property"] == theorem22.SEARCH, 0))
    assert verdict("gradient-dominance", wrong) == "contradicted"
    off = honest["error"].where(honest["property"] != theorem22.AUTOGRAD, 1e-3)
    assert verdict("gradient-dominance", honest.assign(error=off)) == "contradicted"
    # Runs that have not arrived may still do so; one that falls too slowly breaks eq. 2.3.
    assert verdict("no-bad-critical-points", dominance(positive_definite=descents(1e-3))) == "inconclusive"
    resting = dominance(positive_definite=descents(1e-9), negative_determinant=descents(0.3, pace=0.3))
    assert verdict("no-bad-critical-points", resting) == "contradicted"


def test_wrong_numerics_turn_the_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    right = factorization.rotation
    monkeypatch.setattr(factorization, "rotation", lambda angles, width: right(0.999 * angles, width))
    found = factored("gaussian", Factorizations((3,), (64,), 3, 100.0, (), (), 1), 1, REAL.optimal_map)
    assert verdict("small-norm-optimum", theorem21.table({at(target="gaussian"): found})) == "contradicted"
    derivative = dominance_at.gradient
    monkeypatch.setattr(dominance_at, "gradient", lambda point: derivative(point)[::-1])
    assert verdict("gradient-dominance", dominance(positive_definite=descents(1e-9))) == "contradicted"


def test_runs_are_counted_where_they_end() -> None:
    ends = theorem22.ends(
        dominance(positive_definite=descents(1e-9), positive_determinant=descents(0.1, 0.95), mnist=descents(1e-3))
    )
    assert ends.loc["positive definite"].tolist() == [3, 0, 0]
    assert ends.loc["positive determinant"].tolist() == [0, 0, 3]
    assert ends.loc["mnist"].tolist() == [0, 3, 0]


def test_the_pace_is_that_of_the_guarantee() -> None:
    table = dominance(positive_definite=descents(1e-300, pace=1.7))
    paces = table.loc[table["property"] == theorem22.PACE, "value"]
    assert paces.tolist() == pytest.approx([1.7] * 3)


def test_what_rounding_hides_is_not_judged() -> None:
    hidden = replace(descents(1e-9), rounding=np.ones(12))
    table = dominance(positive_definite=hidden)
    assert theorem22.ALONG not in set(table["property"])
    assert verdict("gradient-dominance", table) == "inconclusive"
