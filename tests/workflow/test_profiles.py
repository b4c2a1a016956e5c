"""The profiles, where there is no Slurm and no GPU. Oracle: what profiles/README.md says that they do.

Sees a key that was lost or that Snakemake or the plugin does not know; what the keys do is tried in tests/cluster.
"""

import re
from collections import Counter
from math import ceil
from pathlib import Path
from typing import Any

import pytest
import yaml

from resaudit.plan.composition import load
from resaudit.plan.plan import make_plan
from tests import forked
from tests.conftest import CHECKOUT, run_snakemake

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


def test_slurms_site_settings_need_but_their_number_signs_removed() -> None:
    text = (PROFILES / "slurm" / "config.yaml").read_text(encoding="utf-8")
    site = yaml.safe_load(re.sub(r"^( *)#(?=[ a-z_-]*:( |$))(?! \w)", r"\1", text, flags=re.MULTILINE))
    assert {"slurm_partition", "slurm_account", "constraint", "qos", "mem_mb"} <= site["default-resources"].keys()
    assert site["set-resources"]["train"] == {"slurm_partition": "gpu", "gpu_model": "h100"}
    assert site["set-resources"]["train_images"] == {"slurm_partition": "gpu"}
    assert {key: site[key] for key in profile("slurm") if key != "default-resources"} == {
        key: value for key, value in profile("slurm").items() if key != "default-resources"
    }


def test_slurms_does_about_each_fault_what_is_said() -> None:
    readme = (PROFILES / "README.md").read_text(encoding="utf-8")
    table = readme[readme.index("| what goes wrong |") :].split("\n\n")[0]
    keys = {key for row in table.splitlines() for key in re.findall(r"`([\w-]+)`", row.split(" | ")[-1])}
    assert keys == {"retries", "slurm-requeue", "slurm-status-command", "slurm-status-attempts"}
    slurm = profile("slurm")
    assert {key: slurm.get(key) for key in keys} == {
        "retries": 2, "slurm-requeue": True, "slurm-status-command": "squeue", "slurm-status-attempts": 1000000,
    }  # fmt: skip
    assert slurm["latency-wait"] >= 60  # NFS caches a folder for up to a minute
    assert slurm["keep-going"] is True


def said_of_submissions(row: str) -> tuple[int, int, list[int]]:
    """Jobs on nodes, submissions, and the parts of these, in a row of the table."""
    readme = (PROFILES / "README.md").read_text(encoding="utf-8")
    (line,) = (line for line in readme.splitlines() if line.startswith(f"| {row}"))
    jobs, submissions, *parts = map(int, re.findall(r"\d+", line))
    return jobs, submissions, parts


def expected_submissions(counts: Counter[str]) -> tuple[int, int, list[int]]:
    """The same, from the number of jobs of each rule that a node runs."""
    groups = ceil(counts["draw"] / profile("slurm")["group-components"]["drawings"])
    named = [counts[rule] for rule in ("train", "train_scaled", "hessians")]
    others = counts.total() - counts["draw"] - sum(named)
    return counts.total(), counts.total() - counts["draw"] + groups, [*named, others, groups]


def test_the_numbers_of_submissions_are_the_plans() -> None:
    plan = make_plan(load(["scale=paper", "device=cpu"]))
    counts = Counter(job.kind for job in plan.jobs.values() if job.kind != "fetch")
    counts += Counter({"draw": len(plan.figures), "audit": 1})
    assert said_of_submissions("all figures") == expected_submissions(counts)


@pytest.mark.slow
def test_the_numbers_of_submissions_with_every_variant_are_the_workflows(tmp_path: Path) -> None:
    run = run_snakemake("-n", "robustness", "--config", "scale=paper", "device=cpu", cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    rules = re.findall(r"^ *rule (\w+):$", run.stdout + run.stderr, re.MULTILINE)
    local = {"show", "robustness", "all"}
    counts = Counter(rule for rule in rules if rule not in local and not rule.startswith("fetch_"))
    assert said_of_submissions("and `robustness`") == expected_submissions(counts)


def test_slurms_bundles_drawings(tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    run = run_snakemake("--dry-run", "--profile", str(PROFILES / "slurm"), *SCALE, cwd=tmp_path)
    said = run.stdout + run.stderr
    assert run.returncode == 0, said[-3000:]
    figures = len(load(["scale=smoke"]).chosen_figures())
    assert len(re.findall(r"^\s*rule draw:$", said, re.MULTILINE)) == figures
    at_once = profile("slurm")["group-components"]["drawings"]
    assert re.findall(r"Group job (\w+) ", said) == ["drawings"] * ceil(figures / at_once)


def test_data_are_fetched_where_snakemake_runs() -> None:
    """A cluster's nodes may have no network; those that the tests start have this machine's."""
    fetching, computing = (
        (CHECKOUT / "workflow" / "rules" / f"{name}.smk").read_text(encoding="utf-8") for name in ("data", "jobs")
    )
    assert "localrule: True" in fetching
    assert "localrule" not in computing


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
