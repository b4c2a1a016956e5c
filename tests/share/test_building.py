"""Tables that are built before an import moves anything. Oracle: real results, and the drawing and audit of them.

Sees an import that takes what the table, its checks, a verdict or the plot then refuses, honest results that are
refused, and an import that fails because of a result that was here before.
"""

import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from resaudit.base.errors import ArchiveError
from resaudit.base.files import read_json, sha256_of, write_json
from resaudit.jobs.job import Job
from resaudit.plan.plan import Plan, make_plan, with_inputs
from resaudit.share.importing import build_tables
from tests.conftest import configured
from tests.refusals import refused
from tests.share.archives import FIGURE, OVERRIDES, a_job, with_array, with_paths
from tests.share.test_import import assert_refused

FORGED = {
    "demystifying_resnet/fig07": ("excess_loss", "learning_rate"), "demystifying_resnet/theorem1": ("error", "value"),
    "identity_matters/theorem21": ("norm", "least"), "shortcut_importance/theory": ("error", "tolerance"),
    "stable_scaling/products": ("norms",), "stable_scaling/training": ("loss", "learning_rate"),
    "demystifying_resnet/fig11": ("value",),
}  # fmt: skip
"""By figure, arrays of its first job without which the table, a verdict or the plot cannot be made."""
FIGURES = list(FORGED)


@cache
def plan_of(figure: str) -> Plan:
    every = make_plan(configured("scale=smoke"))
    return Plan(every.config, {figure: every.figures[figure]})


def staged(figure: str, smoked: Path, staging: Path) -> list[str]:
    """The results of a figure in a folder that they can be changed in; their keys."""
    jobs = with_inputs(plan_of(figure).figures[figure].jobs.values())
    keys = [key for key, job in jobs.items() if job.files]
    for key in keys:
        shutil.copytree(smoked / "results" / key, staging / key)
    return keys


def change(job: Job, results: Path, array: str, value: float) -> None:
    """Fill an array of a result with one value; redo its digest."""
    file, provenance = job.folder(results) / next(iter(job.files)), job.folder(results) / "provenance.json"
    with np.load(file) as arrays:
        changed = {name: np.full_like(arrays[name], value) if name == array else arrays[name] for name in arrays.files}
    np.savez(file, **changed)
    write_json(provenance, read_json(provenance) | {"sha256": {file.name: sha256_of(file)}})


@pytest.mark.parametrize("figure", FIGURES)
def test_tables_of_real_results_are_built(figure: str, smoked: Path, tmp_path: Path) -> None:
    keys = staged(figure, smoked, tmp_path / "staging")
    build_tables(plan_of(figure), keys, tmp_path / "staging", tmp_path / "results")


@pytest.mark.parametrize(("figure", "array"), [(figure, array) for figure in FIGURES for array in FORGED[figure]])
def test_results_whose_numbers_no_table_takes_are_refused(
    figure: str, array: str, smoked: Path, tmp_path: Path
) -> None:
    keys = staged(figure, smoked, tmp_path / "staging")
    change(next(iter(plan_of(figure).figures[figure].jobs.values())), tmp_path / "staging", array, np.nan)
    with refused(ArchiveError, "the archive's results do not") as error:
        build_tables(plan_of(figure), keys, tmp_path / "staging", tmp_path / "results")
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 1000


@pytest.mark.parametrize("figure", FIGURES[:1] + FIGURES[2:6])
def test_a_table_of_staged_and_own_results_is_built_if_the_own_ones_are_whole(
    figure: str, smoked: Path, tmp_path: Path
) -> None:
    """What is damaged here is no fault of the archive, and stays as it is."""
    staging, results, plan = tmp_path / "staging", tmp_path / "results", plan_of(figure)
    forged, *_, own = plan.figures[figure].jobs.values()
    keys = [key for key in staged(figure, smoked, staging) if key != own.key]
    shutil.copytree(own.folder(staging), own.folder(results))
    shutil.rmtree(own.folder(staging))
    change(forged, staging, FORGED[figure][0], np.nan)
    with refused(ArchiveError, "the archive's results do not"):
        build_tables(plan, keys, staging, results)
    own.folder(staging).unlink()
    damaged = own.folder(results) / "provenance.json"
    damaged.write_text("{", encoding="utf-8")
    build_tables(plan, keys, staging, results)
    assert damaged.read_text(encoding="utf-8") == "{"


def test_an_archive_whose_tables_cannot_be_built_leaves_nothing(archive: Path, tmp_path: Path) -> None:
    name = f"results/{a_job(archive)}/spectra.npz"
    bad = with_array(archive, tmp_path / "bad.zip", name, "lambda_max", lambda array: array.fill(np.nan))
    assert_refused(bad, with_paths(configured(*OVERRIDES), tmp_path), ArchiveError, name=FIGURE)
