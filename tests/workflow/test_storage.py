"""Runs whose files a storage holds: on this machine, and with jobs that see nothing but the storage.

Oracle: the same run without one. Sees a job that reads a file which its rule does not name, and a path that is right in
the working directory alone.
"""

import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import make_plan, with_inputs
from tests import forked
from tests.conftest import CHECKOUT, Completed, run_snakemake, why_not_offline
from tests.refusals import assert_exits
from tests.workflow.conftest import NOTHING, SHOWN, copied_checkout, rules_in

pytest.importorskip("snakemake_storage_plugin_fs")
pytestmark = pytest.mark.skipif(shutil.which("rsync") is None, reason="no rsync here, by which the plugin copies")

MNIST = f"dataset.folder={CHECKOUT / 'data' / 'mnist'},dataset.sources=[folder]"
THEOREM = "figures=[demystifying_resnet/fig10]"


def run(
    folder: Path,
    *arguments: str,
    checkout: Path = CHECKOUT,
    config: tuple[str, ...] = (),
    overrides: str = MNIST,
    environment: dict[str, str] | None = None,
) -> Completed:
    """``snakemake`` at scale smoke in ``folder/head``, made if it is not there, with its files in ``folder/store``."""
    (folder / "head").mkdir(exist_ok=True)
    arguments = (
        "--cores", "2", "--snakefile", str(checkout / "Snakefile"), *arguments,
        "--default-storage-provider", "fs", "--default-storage-prefix", str(folder / "store"),
        "--config", "scale=smoke", *config, f"overrides=[{overrides}]",
    )  # fmt: skip
    return forked.snakemake(*arguments, cwd=folder / "head", timeout=900, environment=environment)


def figures_as_in(finished: Path, folder: Path) -> set[str]:
    """The figures of a folder, whose tables and drawings have the bytes of the finished run's."""
    kinds = ("csv", "pdf", "svg", "png")
    drawn = {file.relative_to(folder) for kind in kinds for file in folder.glob(f"figures/*/*.{kind}")}
    for file in drawn:
        assert (folder / file).read_bytes() == (finished / file).read_bytes(), file
    names = {file.with_suffix("") for file in drawn}
    assert len(drawn) == len(kinds) * len(names)
    return {name.relative_to("figures").as_posix() for name in names}


@cache
def figures_of_every_kind() -> list[str]:
    """The first figures whose jobs are of all kinds, told apart by the kinds of their inputs too."""
    chosen, known = [], set()
    for name, figure in make_plan(load(["scale=smoke"])).figures.items():
        jobs = with_inputs(figure.jobs.values()).values()
        kinds = {(job.kind, *sorted(each.kind for each in job.inputs.values())) for job in jobs}
        if kinds - known:
            chosen.append(name)
        known |= kinds
    return chosen


@pytest.fixture(scope="module")
def stored(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a figure of every kind in its ``store``."""
    assert finished  # it has fetched the data
    folder = tmp_path_factory.mktemp("stored")
    ran = run(folder, config=(f"figures=[{','.join(figures_of_every_kind())}]",))
    assert ran.returncode == 0, ran.stderr[-3000:]
    return folder


def test_a_storage_gets_figures_of_every_kind_with_the_same_bytes(stored: Path, finished: Path) -> None:
    assert figures_as_in(finished, stored / "store") == set(figures_of_every_kind())
    assert {file.name for file in (stored / "head").iterdir()} == {".snakemake", "results"}
    assert not list((stored / "head" / "results").rglob("provenance.json"))


def test_whoever_comes_uses_what_a_storage_holds_unless_other_code_made_it(
    stored: Path, finished: Path, tmp_path: Path
) -> None:
    (tmp_path / "store").symlink_to(stored / "store")
    assert NOTHING in run(tmp_path, "--dry-run", config=(THEOREM,)).stdout
    edited = copied_checkout(finished, tmp_path / "checkout")
    with (edited / "src/residual/demystifying_resnet/theory/checks.py").open("a", encoding="utf-8") as source:
        source.write("CHANGED = 1\n")
    package = {"PYTHONPATH": str(edited / "src")}
    planned = run(tmp_path, "--dry-run", checkout=edited, config=(THEOREM,), environment=package)
    assert rules_in(planned) == {"theorem", *SHOWN}


def test_a_folder_that_no_storage_can_hold_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "results"
    assert_exits(run(tmp_path, "--dry-run", overrides=f"paths.results={outside}"), "paths.results", outside)
    assert_exits(run(tmp_path, "--dry-run", overrides="dataset.folder=mine"), "dataset.folder", "mine")


QSUB = """#!/bin/bash
# Runs a job in a folder of its own, by the environment of its kind of machine, where that of the head process is empty.
set -euo pipefail
cd {folder}; node=$(mktemp --directory node-XXXXXX); cd "$node"; cp "$1" script
hide='mount --types tmpfs none {folder}/head; exec bash script'
export PYTHONPATH={package}
(unshare --map-root-user --mount bash -euc "$hide" > said 2>&1 && echo 0 > status || echo 1 > status) > /dev/null 2>&1 &
echo "$node"
"""
QSTAT = """#!/bin/bash
status=$(cat {folder}/"$1"/status 2> /dev/null || true)
case $status in "") echo running;; 0) echo success;; *) echo failed;; esac
"""
FIGURE = "figures=[demystifying_resnet/fig05]"
ONE_NETWORK = f"{MNIST},figure.demystifying_resnet.fig05.networks=[2-shortcut]"


def submit(folder: Path, *arguments: str, figure: str = FIGURE, package: Path = CHECKOUT / "src") -> Completed:
    """A run of ``folder/head``, which has the rules alone, that submits its jobs to machines with a package."""
    for name, program in (("qsub", QSUB), ("qstat", QSTAT)):
        (folder / name).write_text(program.format(folder=folder, package=package), encoding="utf-8")
        (folder / name).chmod(0o755)
    if not (folder / "head").exists():
        shutil.copytree(CHECKOUT / "workflow", folder / "head" / "workflow")
        shutil.copy(CHECKOUT / "Snakefile", folder / "head")
    queue = (
        "--executor", "cluster-generic", "--jobs", "2", "--shared-fs-usage", "none", "--job-deploy-sources",
        "--cluster-generic-submit-cmd", str(folder / "qsub"), "--cluster-generic-status-cmd", str(folder / "qstat"),
        "--seconds-between-status-checks", "1",
    )  # fmt: skip
    return run(folder, *queue, *arguments, checkout=folder / "head", config=(figure,), overrides=ONE_NETWORK)


def verdicts(folder: Path) -> dict[str, str]:
    audit = json.loads((folder / "figures" / "audit.json").read_bytes())
    return {claim["id"]: claim["verdict"] for paper in audit["papers"] for claim in paper["claims"]}


@pytest.fixture(scope="module")
def elsewhere(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with Figure 5 of one network in its ``store``: data, whitening, trainings, Hessians, drawing, page."""
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    if reason := why_not_offline():
        pytest.skip(reason)  # the namespaces that hide a network hide a folder too
    assert mnist_config
    folder = tmp_path_factory.mktemp("elsewhere")
    ran = submit(folder)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert rules_in(ran) >= {"fetch_mnist", "whiten", "train", "hessians", "draw", "show", "audit"}
    return folder


def test_jobs_elsewhere_need_nothing_but_the_storage(elsewhere: Path, tmp_path: Path) -> None:
    plain = run_snakemake("--config", "scale=smoke", FIGURE, f"overrides=[{ONE_NETWORK}]", cwd=tmp_path)
    assert plain.returncode == 0, plain.stderr[-3000:]
    assert figures_as_in(tmp_path, elsewhere / "store") == {"demystifying_resnet/fig05"}
    assert verdicts(elsewhere / "store") == verdicts(tmp_path)


def test_what_jobs_elsewhere_do_wrong_is_said_here(elsewhere: Path, tmp_path: Path) -> None:
    """A raw file that is cut, and an environment with other code."""
    raw = elsewhere / "store" / "data" / "mnist" / "train-labels-idx1-ubyte"
    whole = raw.read_bytes()
    raw.write_bytes(whole[:-1])
    failed = submit(elsewhere, "--forcerun", "whiten")
    assert_exits(failed, "1 job failed")
    assert f"failed: whiten: resaudit: error: {raw.relative_to(elsewhere / 'store')}" in failed.stderr
    raw.write_bytes(whole)
    for name in ("src", "config"):
        shutil.copytree(CHECKOUT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "src/residual/demystifying_resnet/theory/checks.py").open("a", encoding="utf-8") as source:
        source.write("CHANGED = 1\n")
    assert_exits(submit(elsewhere, figure=THEOREM, package=tmp_path / "src"), "theorem", "--forcerun")
