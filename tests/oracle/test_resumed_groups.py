"""Oracle: an undisturbed job. Sees a group of runs that is lost or computed otherwise after an interruption."""

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.data.whiten import Moments, Whiten
from resaudit.jobs.checkpoints import Checkpoint
from resaudit.jobs.job import Execution, Job, Work
from residual.demystifying_resnet.jobs import Hessians
from residual.demystifying_resnet.networks.network import network_named
from residual.demystifying_resnet.training.ensemble import Ensemble
from residual.stable_scaling.jobs import Backpropagate, ProductNorms, Propagate
from residual.stable_scaling.network.setting import Network, Samples

NETWORKS = (Network(8, 12, 0.3), Network(8, 5, 0.3), Network(12, 5, 0.4))
AT_INITIALISATION: dict[str, Any] = {
    "data": None, "networks": NETWORKS, "samples": Samples("sphere", 2), "runs": 3, "kept": 3, "seed": 1,
}  # fmt: skip
WHITEN = Whiten(Fetch(Dataset.model_construct(name="made", classes=10, files={}), ""), 10, True)
ENSEMBLE = Ensemble(network_named("2-shortcut", 4, 10), "xavier", 0.3, 1, 7)
JOBS = [
    *(kind(**AT_INITIALISATION) for kind in (Propagate, Backpropagate, ProductNorms)),
    *(Hessians(WHITEN, ENSEMBLE, "float64", method) for method in ("counts", "dense")),
]


@pytest.mark.parametrize("job", JOBS, ids=lambda job: f"{job.kind}-{getattr(job, 'method', '')}")
def test_a_job_that_is_stopped_resumes_to_the_same_bytes(
    job: Job, tmp_path: Path, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Whiten, "moments", lambda *_: moments)
    module = sys.modules[type(job).__module__]
    monkeypatch.setattr(module, "NUMBERS_AT_ONCE", 1, raising=False)
    monkeypatch.setattr(module, "SECONDS_AT_ONCE", 0, raising=False)
    work = Work(tmp_path, Execution(checkpoint_seconds=0), "cpu", tmp_path / "whole", {"device": "cpu"})
    whole = job.run(work)
    keep, kept = Checkpoint.keep, list[Any]()

    def stopping(self: Checkpoint[Any], *state: Any) -> None:
        keep(self, *state)
        kept.append(state)
        if len(kept) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "keep", stopping)
    work = replace(work, checkpoints=tmp_path / "stopped", record={"device": "cpu"})
    with pytest.raises(KeyboardInterrupt):
        job.run(work)
    resumed = job.run(work)
    assert {"resumed from group": 2, "resumed from run": 4}.items() & work.record.items()
    assert len(kept) > 3
    after_the_last_group = job.run(work)
    (theirs,) = whole.values()
    for (ours,) in (resumed.values(), after_the_last_group.values()):
        for field in fields(ours):
            assert getattr(ours, field.name).tobytes() == getattr(theirs, field.name).tobytes()


def test_all_runs_at_once_have_the_bytes_of_groups(
    tmp_path: Path, moments: Moments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Whiten, "moments", lambda *_: moments)
    for job in JOBS:
        found = []
        for seconds, numbers in ((0, 1), (1e9, 10**9)):
            module = sys.modules[type(job).__module__]
            monkeypatch.setattr(module, "NUMBERS_AT_ONCE", numbers, raising=False)
            monkeypatch.setattr(module, "SECONDS_AT_ONCE", seconds, raising=False)
            folder = tmp_path / job.id / str(numbers)
            (result,) = job.run(Work(tmp_path, Execution(), "cpu", folder, {"device": "cpu"})).values()
            found.append([getattr(result, field.name).tobytes() for field in fields(result)])
        assert found[0] == found[1]
