"""The contents of a crate: the audit, the workflow, and every result behind the figures, held to its digest."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.audit.schema import read_audit
from resaudit.base.errors import ResauditError
from resaudit.base.files import again, sha256_of
from resaudit.jobs.job import RECORDS
from resaudit.jobs.job_provenance import JobProvenance
from resaudit.jobs.origin import Origin, origin_of
from resaudit.jobs.results import read_provenance
from resaudit.plan.layout import Layout
from resaudit.plan.models import Config
from resaudit.plan.plan import Plan
from resaudit.plan.words import settings_in_words

_SINGLE = (
    "Snakefile", "pyproject.toml", "setup.py", "constraints.txt", "environment.yml", "README.md", "LICENSE",
    "CITATION.cff",
)  # fmt: skip
# Snakemake finds its default profile only beside the Snakefile, so the crate needs profiles/ to run again.
_FOLDERS = ("config", "profiles", "src", "workflow")
_MADE = (".pyc", ".so", ".pyd", ".egg-info")


@dataclass(frozen=True)
class Contents:
    """The contents of a crate.

    Attributes:
        audit: ``audit.json``.
        files: bytes by path in the crate, without the metadata file and results.
        results: by path in the crate, each result file (too large to be held) and its SHA-256.
        jobs: the provenance of every job behind the figures, by ``kind/id``.
        origins: of those that were imported.
    """

    audit: dict[str, Any]
    files: dict[str, bytes]
    results: dict[str, tuple[Path, str]]
    jobs: dict[str, JobProvenance]
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
    path = layout.figures / "audit.json"
    if not path.is_file():
        raise ResauditError(f"{path} does not exist; make it first (snakemake --cores all)")
    audit = read_audit(path).as_json()
    _check_settings(plan.config, audit)
    keys = sorted({job for figure in figures_of(audit) for job in figure["jobs"]})
    for folder in (layout.results / key for key in keys):
        if not folder.is_dir():
            raise ResauditError(f"{folder} does not exist, but a figure is drawn from it; {again(folder)}")
    matrices = [paper["robustness"] for paper in audit["papers"]]
    drawn = [*figures_of(audit), *(matrix for matrix in matrices if matrix and not matrix["reference"])]
    names = {"audit.json", "audit.html"} | {name for part in drawn for name in part["files"].values()}
    paths = _workflow(checkout) | {f"figures/{name}": layout.figures / name for name in sorted(names)}
    paths |= {
        f"results/{name}": layout.results / name
        for key in keys
        for name in (f"plan/{key}.json", *(f"{key}/{record}" for record in RECORDS))
    }
    files = {name: _read(path) for name, path in paths.items()}
    for part in drawn:
        remedy = "make the audit again (snakemake --cores all -R audit)"
        _check_digest(files, part["files"].get("csv"), part.get("sha256"), f"the table that the audit judged; {remedy}")
        for suffix, digest in part.get("drawings", {}).items():
            name = part["files"][suffix]
            _check_digest(files, name, digest, f"what was drawn; remove {layout.figures / name} and run again")
    jobs = {key: read_provenance(layout.results / key) for key in keys}
    results = {
        f"results/{key}/{name}": (layout.results / key / name, digest)
        for key, job in jobs.items()
        for name, digest in job.sha256.items()
    }
    for path, digest in results.values():
        if not path.is_file():
            raise ResauditError(f"{path} does not exist; {again(path.parent)}")
        if sha256_of(path) != digest:
            raise ResauditError(f"{path} is not what was computed; {again(path.parent)}")
    origins = {key: origin for key in keys if (origin := origin_of(layout.results, key))}
    return Contents(audit, files, results, jobs, origins)


def _check_settings(config: Config, audit: dict[str, Any]) -> None:
    """Check that the audit has the scale, data and seed of the configuration."""
    pairs = [("the audit's scale", audit["scale"], config.scale.name)]
    for figure in figures_of(audit):
        config.named(figure["id"])
        asked = settings_in_words(config.figure[figure["id"]])
        pairs += [
            (f"{key} of {figure['id']}", figure["settings"].get(key, asked[key]), asked[key])
            for key in ("data", "seed")
            if key in asked
        ]
    for what, found, wanted in pairs:
        if found != wanted:
            raise ResauditError(f"{what} is {found}, asked for is {wanted}; give the overrides that the run had")


def _check_digest(files: dict[str, bytes], name: str | None, digest: str | None, expected: str) -> None:
    if name and digest and hashlib.sha256(files[f"figures/{name}"]).hexdigest() != digest:
        raise ResauditError(f"figures/{name} is not {expected}")


def _workflow(checkout: Path) -> dict[str, Path]:
    """The workflow's files by path in the checkout, without hidden and compiled ones."""
    found = {name: checkout / name for name in _SINGLE}
    for folder in _FOLDERS:
        root = (checkout / folder).resolve()
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            parts = path.relative_to(root).parts
            if not any(part.startswith((".", "__pycache__")) or part.endswith(_MADE) for part in parts):
                found["/".join((folder, *parts))] = path
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        remedy = again(path.parent) if path.name in RECORDS else "run again (snakemake --cores all)"
        raise ResauditError(f"{path} does not exist; {remedy}") from None
    except OSError as error:
        raise ResauditError(f"{path} cannot be read ({error.strerror}); allow it") from error
