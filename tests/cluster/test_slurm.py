"""The workflow on a real Slurm, and what goes wrong there. Oracle: the same run on this machine alone, byte by byte.

Sees a profile or a plugin that loses a job, hangs, or gives up where it need not, a rule that works only where
Snakemake itself runs, a group that cannot be formed. Each snakemake is killed if it takes longer than its bound, which
fails the test. All in one file, which is one process's: there is one cluster, and others would wait for it.
"""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cluster.conftest import PROFILES, Run, jobs_of, wait_for_quiet
from tests.cluster.slurm import Cluster, output, wait_until
from tests.conftest import CHECKOUT
from tests.workflow.test_profiles import SITE
from tests.workflow.test_smoke import tables

DATA = f"paths.data={CHECKOUT / 'data'}"
FIG04 = "figure.demystifying_resnet.fig04.protocol.networks=[2-shortcut]"
# At this scale all jobs are small, so that all may be grouped; the profile groups what is small at any scale.
GROUPS = (
    "--groups", "draw=drawings", "train=trainings", "hessians=spectra",
    "--group-components", "drawings=10", "trainings=10", "spectra=10",
)  # fmt: skip
# Trainings of one network and Hessians along them; all figures with -m slow.
SOME = (
    "figures=[demystifying_resnet/fig05]",
    "figure.demystifying_resnet.fig05.protocol.networks=[2-shortcut]",
)


def finished(run: Run, *names: str) -> bool:
    return run.status() == 0 and all((run.folder / "done" / name).is_file() for name in names)


def test_killed_for_memory_it_is_run_again_with_more(tmp_path: Path) -> None:
    run = Run(tmp_path, "memory", seconds=240)
    assert run.status() == 0, run.said()[-3000:]
    assert (tmp_path / "asked").read_text().split() == ["700", "1400"]
    assert (tmp_path / "memory").read_text().strip() == "1400"


TEXT = (PROFILES / "slurm" / "config.yaml").read_text(encoding="utf-8")
WITHOUT, OF_A_KIND, BY_GRES = re.findall(r"\{slurm_partition: .*?\}", TEXT)[:3]


@pytest.mark.parametrize(
    ("line", "asked"),
    [(None, "gpu:1"), (WITHOUT, "gpu:1"), (OF_A_KIND, "gpu:h100:1"), (BY_GRES, "gpu:1")],
    ids=["as proposed", "without the constraint", "of a kind", "by --gres"],
)
def test_with_the_sites_settings_jobs_get_partition_and_gpu(line: str | None, asked: str, tmp_path: Path) -> None:
    """Those that the profile proposes, each without its number sign, and the lines that its comment offers."""
    text = SITE.sub(r"\1", TEXT)
    if line:
        text = re.sub(r"(?<=^  train_images: ).*$", line, text, flags=re.MULTILINE)
    (profile := tmp_path / "site").mkdir()
    (profile / "config.yaml").write_text(text, encoding="utf-8")
    run = Run(tmp_path, "with_gpu", "without_gpu", seconds=240, profile=profile)
    assert run.status() == 0, run.said()[-3000:]
    for file, partition in (("with_gpu", "gpu"), ("without_gpu", "cpu")):
        known = dict(word.split("=", 1) for word in (tmp_path / file).read_text().split() if "=" in word)
        feature = "" if line == WITHOUT and file == "with_gpu" else "avx512"
        assert (known["Partition"], known["Features"], known["Account"]) == (partition, feature, "my-project")
        # Versions of Slurm write gres:gpu:1 or gres/gpu:1.
        gpus = [value[len("gres/") :] for key, value in known.items() if key.startswith("TresPer")]
        assert gpus == ([asked] if file == "with_gpu" else []), known


@pytest.mark.slow
def test_over_its_time_limit_it_is_run_again_with_more(tmp_path: Path) -> None:
    run = Run(tmp_path, "time", seconds=300)
    assert run.status() == 0, run.said()[-3000:]
    assert (tmp_path / "asked").read_text().split() == ["1", "2"]


def test_cancelled_it_is_run_again(tmp_path: Path) -> None:
    run = Run(tmp_path, seconds=240)
    run.wait_for("started/a")
    subprocess.run(["scancel", jobs_of(tmp_path, "a")[0][1]], check=True)
    (tmp_path / "go").touch()
    assert finished(run, "a"), run.said()[-3000:]
    assert len(jobs_of(tmp_path, "a")) == 2


def test_a_preempted_job_is_requeued_by_slurm_under_its_number(tmp_path: Path) -> None:
    run = Run(tmp_path, seconds=240)
    run.wait_for("started/a")
    subprocess.run(["scontrol", "requeue", jobs_of(tmp_path, "a")[0][1]], check=True)
    run.wait_for("terminated")
    (tmp_path / "go").touch()
    assert finished(run, "a"), run.said()[-3000:]
    numbers = [number for _, number in jobs_of(tmp_path, "a")]
    assert len(numbers) == 2
    assert len(set(numbers)) == 1
    assert "to restart" not in run.said()


def test_jobs_survive_a_nodes_daemon(slurm: Cluster, tmp_path: Path) -> None:
    run = Run(tmp_path, seconds=240)
    run.wait_for("started/a")
    node = jobs_of(tmp_path, "a")[0][0]
    slurm.kill(f"slurmd-{node}", signal.SIGKILL)
    time.sleep(2)
    slurm.start_node(node)
    (tmp_path / "go").touch()
    assert finished(run, "a"), run.said()[-3000:]
    assert len(jobs_of(tmp_path, "a")) == 1


@pytest.mark.slow
def test_jobs_of_a_lost_node_are_run_on_another(slurm: Cluster, tmp_path: Path) -> None:
    run = Run(tmp_path, "--config", "names=a+b+c+d", seconds=400)
    run.wait_for(*(f"started/{name}" for name in "abcd"))
    lost = [name for name in "abcd" if jobs_of(tmp_path, name)[0][0] == "n1"]
    assert lost
    slurm.lose_node("n1")
    try:
        wait_until(lambda: "down" in output("sinfo", "-h", "-n", "n1", "-o", "%T"), "n1 is down", slurm, 120)
        (tmp_path / "go").touch()
        assert finished(run, *"abcd"), run.said()[-3000:]
        assert all(jobs_of(tmp_path, name)[-1][0] == "n2" for name in lost)
    finally:
        slurm.start_node("n1")


@pytest.mark.slow
@pytest.mark.parametrize("accounting", [True, False], ids=["sacct", "no accounting"])
def test_a_controller_that_is_away_for_a_while_loses_no_job(accounting: bool, slurm: Cluster, tmp_path: Path) -> None:
    """While it is, the plugin asks sacct: slurmdbd's, or what the profile has in its place."""
    if accounting and not slurm.accounting:
        pytest.skip("no slurmdbd here; apt-get install slurmdbd mariadb-server")
    run = Run(tmp_path, seconds=300, path=None if accounting else PROFILES / "slurm" / "no-accounting")
    run.wait_for("started/a")
    time.sleep(5)  # of a job started within seconds of this, the step may hang
    slurm.kill("slurmctld", signal.SIGTERM)
    (tmp_path / "go").touch()
    time.sleep(25)  # longer than snakemake waits between two looks
    slurm.start_controller()
    assert finished(run, "a"), run.said()[-3000:]
    assert len(jobs_of(tmp_path, "a")) == 1


def test_interrupted_it_cancels_its_jobs_and_goes_on_the_next_time(
    finished: Path, slurm: Cluster, tmp_path: Path
) -> None:
    """The workflow itself, with one network of one figure."""
    figure = "figures/demystifying_resnet/fig04.csv"
    config = ("--config", "scale=smoke", f"overrides=[{DATA},{FIG04}]")
    first = Run(tmp_path, figure, *config, seconds=400, snakefile=CHECKOUT / "Snakefile")
    while len(list(tmp_path.glob("results/hessians/*/spectra.npz"))) < 1:
        assert first.process.poll() is None, first.said()[-3000:]
        time.sleep(0.1)
    os.killpg(first.process.pid, signal.SIGINT)
    assert first.status() not in (0, 124, 137), first.said()[-3000:]
    wait_for_quiet(slurm)
    there = {file: file.stat().st_mtime_ns for file in tmp_path.glob("results/*/*/*.npz")}
    second = Run(tmp_path, figure, *config, seconds=400, snakefile=CHECKOUT / "Snakefile")
    assert second.status() == 0, second.said()[-3000:]
    header, *rows = tables(finished)["fig04.csv"].splitlines()
    of_one = [header, *(row for row in rows if row.startswith(b"2-shortcut,"))]
    assert tables(tmp_path)["fig04.csv"].splitlines() == of_one
    assert there
    assert any(file.stat().st_mtime_ns == when for file, when in there.items())


def results(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.glob("results/*/*/*.npz")}


@pytest.mark.parametrize("chosen", [SOME, pytest.param((), marks=pytest.mark.slow)], ids=["some", "all"])
def test_figures_through_slurm_have_the_local_runs_bytes(
    chosen: tuple[str, ...], finished: Path, tmp_path: Path
) -> None:
    overrides = ",".join((DATA, *chosen))
    config = ("--config", "scale=smoke", f"overrides=[{overrides}]")
    run = Run(tmp_path, *GROUPS, *config, seconds=2400, snakefile=CHECKOUT / "Snakefile")
    assert run.status() == 0, run.said()[-3000:]
    made = results(tmp_path)
    assert not chosen or {name.split("/")[1] for name in made} == {"whiten", "train", "hessians"}
    assert chosen or made.keys() == results(finished).keys()
    assert made == {name: results(finished)[name] for name in made}
    assert chosen or tables(tmp_path) == tables(finished)
    assert (tmp_path / "figures/audit.html").is_file()
    submissions = set(re.findall(r"SLURM jobid (\d+)", run.said()))
    jobs = re.search(r"^total\s+(\d+)$", run.said(), re.MULTILINE)
    assert jobs is not None
    assert 0 < len(submissions) < int(jobs[1])
    assert "another run" not in run.said()
