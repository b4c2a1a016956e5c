"""Oracle: what impossible settings must be answered with, and plan files read back.

It sees settings that no network or data set allows, and a job that is not the one that was planned.
"""

from pathlib import Path

import numpy as np
import pytest

from resaudit.base.errors import ConfigError, DataError, ResauditError
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import Execution, Work
from resaudit.plan.plan import FigurePlan, plan_figure
from residual.identity_matters.jobs.memorize import Memorize
from tests.conftest import assert_read_back, smoke_figure
from tests.refusals import refused

PAPER = "identity_matters"


def planned(name: str, *overrides: str) -> FigurePlan:
    return plan_figure(smoke_figure(f"{PAPER}/{name}", *overrides), "data")


@pytest.mark.parametrize(
    ("name", "override", "key"),
    [
        ("theorem32", "protocol.samples=1", "protocol.samples"),
        ("theorem32", "protocol.width=0", "protocol.width"),
        ("theorem32", "protocol.share=0.0", "protocol.share"),
        ("theorem32", "protocol.share=1.0", "protocol.share"),
        ("theorem32", "protocol.projection=sparse", "protocol.projection"),
        ("theorem32", "protocol.labels=[shuffled]", "protocol.labels[0]"),
        ("theorem32", "protocol.labels=[given,given]", "protocol.labels"),
        ("theorem32", "protocol.lemma_widths=[33]", "protocol.lemma_widths[0]"),
        ("theorem32", "protocol.lemma_margins=[0.1]", "protocol.lemma_margins[0]"),
        ("theorem32", "protocol.shares=[]", "protocol.shares"),
        ("table1", "protocol.networks.cifar.first_outputs=100", "protocol.networks.cifar"),
    ],
)
def test_impossible_settings_are_refused_by_their_key(name: str, override: str, key: str) -> None:
    with refused(ConfigError, f"{key} "):
        planned(name, override)


@pytest.mark.parametrize("name", ["theorem32", "table1"])
def test_a_job_comes_back_from_its_plan_file(name: str, tmp_path: Path) -> None:
    assert_read_back(planned(name).jobs.values(), tmp_path)


@pytest.mark.parametrize(
    ("override", "light", "kind", "facts"),
    [
        ("protocol.samples=2000", 1, DataError, [2000, 1700, "mnist"]),
        ("protocol.width=800", 1, ConfigError, [800, 784]),
        ("protocol.width=784", 0, DataError, ["mnist", "black"]),
    ],
)
def test_data_that_do_not_suffice_are_refused(
    override: str, light: int, kind: type[ResauditError], facts: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    images, labels = np.full((1700, 28, 28), light, dtype=np.uint8), np.zeros(1700, dtype=np.uint8)
    monkeypatch.setattr(Fetch, "training_set", lambda _: (images, labels))
    (job, *_) = planned("theorem32", override).jobs.values()
    assert isinstance(job, Memorize)
    with refused(kind, *facts):
        job.run(Work(Path(), Execution(), "cpu", Path()))


def test_costs_grow_with_the_networks() -> None:
    small, large = (next(iter(planned("theorem32", f"protocol.samples={n}").jobs.values())) for n in (2000, 60_000))
    assert small.cost(Execution()).seconds < large.cost(Execution()).seconds
    assert large.cost(Execution()).megabytes < 4096
