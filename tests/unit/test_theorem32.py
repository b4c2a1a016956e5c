"""Oracle: what impossible settings must be answered with, and plan files read back.

It sees settings that no network or data set allows, and a job that is not the one that was planned.
"""

from pathlib import Path

import numpy as np
import pytest

from resaudit.base.errors import ResauditError
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import Execution, Work
from resaudit.plan.plan import FigurePlan, plan_figure
from residual.identity_matters.jobs.express import Express
from tests.conftest import assert_read_back, assert_refused, smoke_figure

PAPER = "identity_matters"


def planned(name: str, *overrides: str) -> FigurePlan:
    return plan_figure(smoke_figure(f"{PAPER}/{name}", *overrides), "data")


@pytest.mark.parametrize(
    ("name", "override", "message"),
    [
        ("theorem32", "protocol.samples=1", "protocol.samples is 1; allowed: greater than or equal to 2"),
        ("theorem32", "protocol.width=0", "protocol.width is 0; allowed: greater than or equal to 1"),
        ("theorem32", "protocol.share=0.0", "protocol.share is 0.0; allowed: greater than 0"),
        ("theorem32", "protocol.share=1.0", "protocol.share is 1.0; allowed: less than 1"),
        ("theorem32", "protocol.projection=sparse", "protocol.projection is 'sparse'; allowed: 'orthogonal' or"),
        ("theorem32", "protocol.labels=[shuffled]", "protocol.labels[0] is 'shuffled'; allowed: 'given' or 'random'"),
        ("theorem32", "protocol.labels=[given,given]", "protocol.labels names given twice; allowed: each value once"),
        ("theorem32", "protocol.lemma_widths=[33]", "protocol.lemma_widths[0] is 33; allowed: a multiple of 2"),
        ("theorem32", "protocol.lemma_margins=[0.1]", "lemma_margins[0] is 0.1; allowed: less than or equal to 0.03"),
        ("theorem32", "protocol.shares=[]", "protocol.shares is empty; give at least one"),
        (
            "table1",
            "protocol.networks.cifar.first_outputs=100",
            "networks.cifar has channels [100, 64, 128, 256]; allowed: ascending ones",
        ),
    ],
)
def test_impossible_settings_are_refused_in_one_line(name: str, override: str, message: str) -> None:
    assert_refused(planned, name, override, message=message)


@pytest.mark.parametrize("name", ["theorem32", "table1"])
def test_a_job_comes_back_from_its_plan_file(name: str, tmp_path: Path) -> None:
    assert_read_back(planned(name).jobs.values(), tmp_path)


@pytest.mark.parametrize(
    ("override", "images", "message"),
    [
        ("protocol.samples=2000", np.ones((1700, 28, 28)), "theorem32 asks for 2000 images; mnist has 1700"),
        (
            "protocol.width=800",
            np.ones((1700, 28, 28)),
            "width 800 with an orthogonal projection; allowed: at most 784",
        ),
        ("protocol.width=784", np.zeros((1700, 28, 28)), "mnist has an image without any light"),
    ],
)
def test_data_that_do_not_suffice_are_refused(
    override: str, images: np.ndarray, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fetch, "training_set", lambda _: (images.astype(np.uint8), np.zeros(1700, dtype=np.uint8)))
    (job, *_) = planned("theorem32", override).jobs.values()
    assert isinstance(job, Express)
    with pytest.raises(ResauditError, match=message):
        job.run(Work(Path(), Execution(), "cpu", Path()))


def test_costs_grow_with_the_networks() -> None:
    small, large = (next(iter(planned("theorem32", f"protocol.samples={n}").jobs.values())) for n in (2000, 60_000))
    assert small.cost(Execution()).seconds < large.cost(Execution()).seconds
    assert large.cost(Execution()).megabytes < 4096
