"""The profiles, where there is no Slurm and no GPU. Oracle: what profiles/README.md says that they do.

Sees a key that was lost or that Snakemake or the plugin does not know; what the keys do is tried in tests/cluster.
"""

import re
import shutil
from collections import Counter
from math import ceil
from pathlib import Path
from typing import Any

import pytest
import yaml
from snakemake.profiles import ProfileConfigFileParser

from resaudit.plan.composition import load
from resaudit.plan.plan import execution_of, make_plan
from tests import forked
from tests.conftest import CHECKOUT, Completed, run_command, run_snakemake

PROFILES = CHECKOUT / "profiles"
SCALE = ("--config", "scale=smoke")


def profile(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((PROFILES / name / "config.yaml").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize(
    ("asked", "here", "found"),
    [
        ((), True, "workflow specific profile profiles/default"),
        (("--profile", "profiles/workstation"), True, "profiles profiles/workstation and .* profiles/default"),
        (("--workflow-profile", "profiles/workstation"), True, "workflow specific profile profiles/workstation"),
        (
            ("--snakefile", str(CHECKOUT / "Snakefile"), "--directory", "results"),
            False,
            f"workflow specific profile {re.escape(str(PROFILES))}/default",
        ),
    ],
)
def test_snakemake_finds_the_profiles(asked: tuple[str, ...], here: bool, found: str, tmp_path: Path) -> None:
    paths = f"overrides=[paths.results={tmp_path / 'results'}]"
    arguments = ("--cores", "1", "--dry-run", *asked, *SCALE, "figures=[theorem1]", paths)
    run = forked.snakemake(*arguments, cwd=CHECKOUT if here else tmp_path)
    assert run.returncode == 0, run.stderr[-2000:]
    assert re.search(f"Using {found} for", run.stderr), run.stderr[-2000:]


README = (PROFILES / "README.md").read_text(encoding="utf-8")
SITE = re.compile(r"^( *)#(?=[^ #\n])", re.MULTILINE)
"""The # before a setting of the site, which a comment has a space after."""
SLURM = (PROFILES / "slurm" / "config.yaml").read_text(encoding="utf-8")
CHANGED = {"default-resources", "set-resources"}


def parsed(text: str, folder: Path) -> dict[str, Any]:
    """A profile as Snakemake reads it."""
    file = folder / "config.yaml"
    file.write_text(text, encoding="utf-8")
    with file.open(encoding="utf-8") as stream:
        return dict(ProfileConfigFileParser().parse(stream))


@pytest.mark.parametrize("place", [match.end() for match in SITE.finditer(SLURM)])
def test_each_of_slurms_site_settings_needs_but_its_number_sign_removed(place: int, tmp_path: Path) -> None:
    before, after = parsed(SLURM, tmp_path), parsed(SLURM[: place - 1] + SLURM[place:], tmp_path)
    (changed,) = (key for key in after if after[key] != before.get(key))
    (added,) = set(after[changed]) - set(before.get(changed, []))
    assert changed in CHANGED
    assert SLURM[place:].startswith(re.split("[:=]", added)[0])
    assert set(before.get(changed, [])) <= set(after[changed])


def test_slurms_site_settings_reach_the_jobs(tmp_path: Path) -> None:
    """All of them together, on every job that goes to a node."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    site = tmp_path / "slurm"
    shutil.copytree(PROFILES / "slurm", site)
    (site / "config.yaml").write_text(SITE.sub(r"\1", SLURM), encoding="utf-8")
    chosen = "figures=[demystifying_resnet/fig02,demystifying_resnet/fig07,stable_scaling/training]"
    run = run_snakemake("-n", "--profile", str(site), *SCALE, "device=cuda", chosen, cwd=tmp_path)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said[-3000:]
    jobs = jobs_in(run)
    assert {"train", "train_images", "train_scaled", "whiten", "draw"} <= {rule for rule, _ in jobs}
    for rule, resources in jobs:
        if rule in {"all", "show"} or rule.startswith("fetch_"):
            continue  # run by the head process
        partition = "gpu" if rule in gpu_rules() else "cpu"
        asked = {f"slurm_partition={partition}", "slurm_account=my-project", "constraint=avx512", "qos=normal"}
        assert asked <= set(resources.split(", ")), rule


def jobs_in(run: Completed) -> list[tuple[str, str]]:
    """Rule and resources of each job of a dry run."""
    said = run.stdout + run.stderr
    return re.findall(r"^ *(?:local)?rule (\w+):\n(?: +.*\n)*? +resources: (.*)", said, re.MULTILINE)


def gpu_rules() -> set[str]:
    """The rules for which the profile proposes a partition with GPUs."""
    return set(yaml.safe_load(SITE.sub(r"\1", SLURM))["set-resources"])


def test_slurms_proposes_a_partition_to_all_rules_whose_jobs_may_want_a_gpu() -> None:
    every = make_plan(load(["device=cuda", "scale=paper"]).with_every_figure())
    execution = execution_of(every.config)
    wanting = {job.kind for job in every.jobs.values() if job.cost(execution).wants_gpu}
    assert gpu_rules() == wanting | {"hessians"}  # of these, those of a variant


BLOCKS = re.findall(r"^```\n(cat > head\.sh .*?)^```$", README, re.MULTILINE | re.DOTALL)
STUBS = {"snakemake": 'printf "%s\\0" "$@" >> asked; echo >> asked', "sbatch": 'bash "$@"'}
"""In a shell that copies a block: what is asked of Snakemake is written down, and the head job runs here."""


def asked_by(block: str, folder: Path) -> list[list[str]]:
    """The arguments of each ``snakemake`` of a block that is copied into a shell."""
    activate = folder / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.touch()
    for name, command in STUBS.items():
        (folder / name).write_text(f"#!/bin/sh\n{command}\n", encoding="utf-8")
        (folder / name).chmod(0o755)
    ran = run_command("bash", "-euc", f"PATH=$PWD:$PATH\n{block}", cwd=folder)
    assert (ran.returncode, ran.stderr) == (0, "")
    return [line.split("\0")[:-1] for line in (folder / "asked").read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(
    ("block", "rules", "fetched"),
    [
        (BLOCKS[0], {"train": 0, "train_scaled": 0, "hessians": 0}, {"mnist"}),
        (BLOCKS[1], {"train_images": 1}, {"cifar10"}),
    ],
)
def test_slurms_blocks_can_be_copied(block: str, rules: dict[str, int], fetched: set[str], tmp_path: Path) -> None:
    """Each rule's jobs ask for so many GPUs, and what the head job needs of a network is fetched before it."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    before, head = asked_by(block, tmp_path)
    (tmp_path / "profiles").symlink_to(PROFILES)
    runs = [run_snakemake("-n", *arguments, cwd=tmp_path) for arguments in (before, head)]
    assert [run.returncode for run in runs] == [0, 0], runs[-1].stderr[-3000:]
    first, then = (dict(jobs_in(run)) for run in runs)
    assert {rule for rule in then if rule.startswith("fetch_")} == {f"fetch_{name}" for name in fetched} <= first.keys()
    assert {rule: int("gpu=1" in then[rule].split(", ")) for rule in rules} == rules


def test_slurms_versions_are_those_installed() -> None:
    constraints = (CHECKOUT / "constraints.txt").read_text(encoding="utf-8")
    for name in ("snakemake", "snakemake-executor-plugin-slurm"):
        (said,) = re.findall(rf"\b{name} ([\d.]+)", README)
        assert f"\n{name}=={said}." in constraints


def test_slurms_does_about_each_fault_what_is_said() -> None:
    table = README[README.index("| what goes wrong |") :].split("\n\n")[0]
    keys = {key for row in table.splitlines() for key in re.findall(r"`([\w-]+)`", row.split(" | ")[-1])}
    assert keys == {"retries", "slurm-requeue", "slurm-status-command", "slurm-status-attempts"}
    slurm = profile("slurm")
    assert {key: slurm.get(key) for key in keys} == {
        "retries": 2, "slurm-requeue": True, "slurm-status-command": "squeue", "slurm-status-attempts": 1000000,
    }  # fmt: skip
    assert slurm["latency-wait"] >= 60  # NFS caches a folder for up to a minute
    assert slurm["keep-going"] is True


def said_of_submissions(whose: str) -> tuple[int, int]:
    """Jobs on nodes, and submissions, in the sentence on these."""
    (said,) = re.findall(rf"{whose} are (\d+) jobs in (\d+)\b", " ".join(README.split()))
    return int(said[0]), int(said[1])


def expected_submissions(counts: Counter[str]) -> tuple[int, int]:
    """The same, from the number of jobs of each rule that a node runs."""
    groups = ceil(counts["draw"] / profile("slurm")["group-components"]["drawings"])
    return counts.total(), counts.total() - counts["draw"] + groups


def test_the_numbers_of_submissions_are_the_plans() -> None:
    plan = make_plan(load(["scale=paper", "device=cpu"]))
    counts = Counter(job.kind for job in plan.jobs.values() if job.kind != "fetch")
    counts += Counter({"draw": len(plan.figures), "audit": 1})
    assert said_of_submissions("all figures but those that need a GPU") == expected_submissions(counts)


@pytest.mark.slow
def test_the_numbers_of_submissions_with_every_variant_are_the_workflows(tmp_path: Path) -> None:
    run = run_snakemake("-n", "robustness", "--config", "scale=paper", "device=cpu", cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    rules = [rule for rule, _ in jobs_in(run)]
    fetching = {rule for rule in rules if rule.startswith("fetch_")}
    counts = Counter(rule for rule in rules if rule not in {"show", "robustness", "all", *fetching})
    assert fetching <= set(BLOCKS[0].split())
    assert said_of_submissions("With `robustness` they") == expected_submissions(counts)


def test_slurms_bundles_drawings(tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    run = run_snakemake("--dry-run", "--profile", str(PROFILES / "slurm"), *SCALE, cwd=tmp_path)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said[-3000:]
    figures = len(load(["scale=smoke"]).chosen_figures())
    assert len(re.findall(r"^\s*rule draw:$", said, re.MULTILINE)) == figures
    at_once = profile("slurm")["group-components"]["drawings"]
    assert re.findall(r"Group job (\w+) ", said) == ["drawings"] * ceil(figures / at_once)


def test_a_workstations_bounds_gpus_and_memory(tmp_path: Path) -> None:
    bounds = profile("workstation")["resources"]
    assert bounds["gpu"] >= 1
    assert bounds["mem_mb"] >= 16_000
    assert profile("workstation")["retries"] >= 1
    asked = ("--dry-run", "--profile", str(PROFILES / "workstation"), *SCALE, "device=cuda")
    run = run_snakemake(*asked, cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]


def test_what_a_kill_cut_off_is_run_again() -> None:
    default = profile("default")
    assert default["rerun-incomplete"] is True
    assert default["nolock"] is True  # Snakemake's own lock outlives a killed run
