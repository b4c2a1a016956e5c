"""The contents of a crate: the audit and the bytes of every file, each read once."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.audit.schema import read_audit
from resaudit.base.errors import ResauditError
from resaudit.base.files import again, sha256_of
from resaudit.base.models import validated
from resaudit.base.papers import packages
from resaudit.jobs.job import RECORDS
from resaudit.jobs.job_provenance import JobProvenance
from resaudit.jobs.origin import Origin, origin_of
from resaudit.plan.layout import Layout
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan
from resaudit.plan.words import settings_in_words

_SINGLE = ("Snakefile", "pyproject.toml", "constraints.txt", "environment.yml", "README.md", "LICENSE", "CITATION.cff")
# Snakemake finds its default profile only beside the Snakefile, so the crate needs profiles/ to run again.
_FOLDERS = ("config", "profiles", "workflow")
_COMPILED = (".pyc", ".so", ".pyd")


@dataclass(frozen=True)
class Contents:
    """The contents of a crate.

    Attributes:
        audit: ``audit.json``.
        files: bytes by path in the crate, without the metadata file and results.
        results: result files of every job behind the figures, by path in the crate; too large to be held.
        jobs: the provenance of every job behind the figures, by ``kind/id``.
        origins: of those that were imported.
    """

    audit: dict[str, Any]
    files: dict[str, bytes]
    results: dict[str, Path]
    jobs: dict[str, dict[str, Any]]
    origins: dict[str, Origin]


def figures_of(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every figure of an audit."""
    return (figure for paper in audit["papers"] for figure in paper["figures"])


def gather(plan: Plan, checkout: Path) -> Contents:
    """Read the audit, its figures and records, and the workflow of a checkout.

    Raises:
        ResauditError: the audit or one of its files is missing, or they are of different runs.
    """
    layout = Layout(plan.config.paths)
    audit = _read_audit(layout.figures / "audit.json")
    _check_settings(plan.config, audit)
    drawn = {f"figures/{name}": layout.figures / name for name in sorted(_drawn(audit))}
    keys = _keys(audit, layout)
    records = {f"results/{name}": layout.results / name for key in keys for name in _records(key)}
    files = {name: _read(path) for name, path in ({**_workflow(checkout), **drawn, **records}).items()}
    _check_tables(audit, files)
    _check_drawings(audit, files)
    jobs = {key: _job(layout.results / key, files[f"results/{key}/provenance.json"]) for key in keys}
    results = {
        f"results/{key}/{name}": layout.results / key / name for key, job in jobs.items() for name in job["sha256"]
    }
    _check_results(results, jobs)
    origins = {key: origin for key in keys if (origin := origin_of(layout.results, key))}
    return Contents(audit, files, results, jobs, origins)


def _read_audit(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ResauditError(f"{path} does not exist; make it first (snakemake --cores all)")
    return read_audit(path).as_json()


def _check_settings(config: Config, audit: dict[str, Any]) -> None:
    """Check that the audit has the scale, data and seed of the configuration."""
    _check_same("the audit's scale", audit["scale"], config.scale.name)
    for figure in figures_of(audit):
        config.named(figure["id"])
        asked = settings_in_words(config.figure[figure["id"]])
        for key in {"data", "seed"} & asked.keys():
            _check_same(f"{key} of {figure['id']}", figure["settings"].get(key, asked[key]), asked[key])


def _check_same(what: str, found: str, asked: str) -> None:
    if found != asked:
        raise ResauditError(f"{what} is {found}, asked for is {asked}; give the overrides that the run had")


def _check_tables(audit: dict[str, Any], files: dict[str, bytes]) -> None:
    for figure in figures_of(audit):
        table = f"figures/{figure['files']['csv']}"
        if hashlib.sha256(files[table]).hexdigest() != figure["sha256"]:
            raise ResauditError(
                f"{table} is not the table that the audit judged; "
                "make the audit again (snakemake --cores all -R report)"
            )


def _check_results(results: dict[str, Path], jobs: dict[str, dict[str, Any]]) -> None:
    digests = {f"results/{key}/{name}": digest for key, job in jobs.items() for name, digest in job["sha256"].items()}
    for name, path in results.items():
        if sha256_of(path) != digests[name]:
            raise ResauditError(f"{path} is not what was computed; {again(path.parent)}")


def _check_drawings(audit: dict[str, Any], files: dict[str, bytes]) -> None:
    for part in [*figures_of(audit), *_matrices_of(audit)]:
        for suffix, digest in part.get("drawings", {}).items():
            drawing = f"figures/{part['files'][suffix]}"
            if hashlib.sha256(files[drawing]).hexdigest() != digest:
                raise ResauditError(f"{drawing} is not what was drawn; remove {drawing} and run again")


def _drawn(audit: dict[str, Any]) -> set[str]:
    """Paths under the figures folder: the audit, its page and the files of every figure and matrix."""
    parts = [*figures_of(audit), *_matrices_of(audit)]
    return {"audit.json", "audit.html"} | {name for part in parts for name in part["files"].values()}


def _matrices_of(audit: dict[str, Any]) -> list[dict[str, Any]]:
    """The matrices of this run."""
    found = [paper["robustness"] for paper in audit["papers"]]
    return [matrix for matrix in found if matrix and not matrix["reference"]]


def _keys(audit: dict[str, Any], layout: Layout) -> list[str]:
    """Every job behind a figure."""
    jobs = sorted({job for figure in figures_of(audit) for job in figure["jobs"]})
    for job in jobs:
        if not (layout.results / job).is_dir():
            raise ResauditError(
                f"{layout.results / job} does not exist, but a figure is drawn from it; {again(layout.results / job)}"
            )
    return jobs


def _records(key: str) -> list[str]:
    """Paths under the results folder: plan file, settings and provenance of a job."""
    return [f"plan/{key}.json", *(f"{key}/{name}" for name in RECORDS)]


def _job(folder: Path, content: bytes) -> dict[str, Any]:
    """The provenance of a job, whose result files must be there."""
    path = folder / "provenance.json"
    try:
        job: dict[str, Any] = json.loads(content)
        ran = validated(JobProvenance, job, "it")
    except (ValueError, ResauditError) as error:
        raise ResauditError(f"{path} cannot be read ({error}); {again(folder)}") from error
    absent = [name for name in ran.sha256 if not (folder / name).is_file()]
    if absent:
        raise ResauditError(f"{folder / absent[0]} does not exist; {again(folder)}")
    return job


def _workflow(checkout: Path) -> dict[str, Path]:
    """The workflow's files by path in the checkout, without hidden and compiled ones."""
    named = {name: checkout / name for name in _SINGLE}
    for folder in (*_FOLDERS, *(f"src/{package}" for package in packages())):
        root = (checkout / folder).resolve()
        below = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
        kept = (
            path
            for path in below
            if path.suffix not in _COMPILED and not any(p.startswith((".", "__pycache__")) for p in path.parts)
        )
        named |= {f"{folder}/{path.as_posix()}": root / path for path in kept}
    return named


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        remedy = again(path.parent) if path.name in RECORDS else "run again (snakemake --cores all)"
        raise ResauditError(f"{path} does not exist; {remedy}") from None
    except OSError as error:
        raise ResauditError(f"{path} cannot be read ({error.strerror}); allow it") from error
