"""The workflow on a real Slurm. Oracle: the same run on this machine alone, byte by byte.

Sees a rule that works only where Snakemake itself runs, a job that takes the lock of the run it belongs to, a profile
that Slurm or the plugin refuses, a group that Snakemake cannot form.
"""

import re
from pathlib import Path

import pytest

from tests.cluster.conftest import Run
from tests.conftest import CHECKOUT
from tests.workflow.test_smoke import tables

# At this scale all jobs are small, so that all may be grouped; the profile groups what is small at any scale.
GROUPS = (
    "--groups", "draw=drawings", "train=trainings", "hessians=spectra",
    "--group-components", "drawings=25", "trainings=10", "spectra=10",
)  # fmt: skip
# Trainings of one network, Hessians along them, and a theorem; all figures with -m slow.
SOME = (
    "figures=[demystifying_resnet/fig05,theorem1]",
    "figure.demystifying_resnet.fig05.protocol.networks=[2-shortcut]",
)


def results(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("results/*/*/*.npz")}


@pytest.mark.parametrize("chosen", [SOME, pytest.param((), marks=pytest.mark.slow)], ids=["some", "all"])
def test_figures_through_slurm_have_the_local_runs_bytes(chosen: tuple[str, ...], smoked: Path, tmp_path: Path) -> None:
    overrides = ",".join((f"paths.data={CHECKOUT / 'data'}", *chosen))
    config = ("--config", "scale=smoke", f"overrides=[{overrides}]")
    run = Run(tmp_path, *GROUPS, *config, seconds=1200, snakefile=CHECKOUT / "Snakefile")
    assert run.status() == 0, run.said()[-3000:]
    made = results(tmp_path)
    assert {name.split("/")[1] for name in made} == {"whiten", "train", "hessians", "theorem"}
    assert made == {name: results(smoked)[name] for name in made}
    assert chosen or tables(tmp_path) == tables(smoked)
    assert (tmp_path / "figures/audit.html").is_file()
    submissions = set(re.findall(r"SLURM jobid (\d+)", run.said()))
    jobs = re.search(r"^total\s+(\d+)$", run.said(), re.MULTILINE)
    assert jobs is not None
    assert 0 < len(submissions) < int(jobs[1])
    assert "another run" not in run.said()
