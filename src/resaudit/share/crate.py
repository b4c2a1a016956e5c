"""A finished run as one archive, a Workflow Run RO-Crate (https://w3id.org/ro/wfrun/workflow/0.5).

It holds the audit, the workflow, and every result behind the figures, held to its digest. The same run gives the same
bytes.
"""

import hashlib
import json
import shutil
import zipfile
from collections.abc import Collection, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from resaudit.audit.schema import read_audit
from resaudit.base.commands import run_command
from resaudit.base.errors import ConfigError, MachineError, ResultsError, TableError
from resaudit.base.files import again, sha256_of, written_whole
from resaudit.base.papers import is_checkout, outside_papers, root
from resaudit.jobs.code import closure
from resaudit.jobs.job import RECORDS
from resaudit.jobs.origin import origin_of
from resaudit.jobs.provenance import commit
from resaudit.jobs.results import JobProvenance, read_provenance
from resaudit.plan.models import Config, Layout
from resaudit.plan.plan import Plan
from resaudit.plan.words import claims_sha256, settings_in_words
from resaudit.share.crate_metadata import Contents, describe, figures_of, named
from resaudit.share.packed import METADATA, refused_names

_SINGLE = (
    "Snakefile", "pyproject.toml", "setup.py", "constraints.txt", "environment.yml", "README.md", "LICENSE",
    "CITATION.cff",
)  # fmt: skip
# Snakemake finds its default profile only beside the Snakefile, so the crate needs profiles/ to run again.
_FOLDERS = ("config", "profiles", "src", "workflow")
# The earliest time of the zip format; the run's times are in the metadata.
_TIME = (1980, 1, 1, 0, 0, 0)
_LEFT_OUT = (".pyc", ".so", ".pyd", ".egg-info", "~")  # compiled files, and editors' backups


def write_crate(plan: Plan, destination: Path, by: str | None = None) -> None:
    """Write the run behind ``figures/audit.json`` as a Workflow Run RO-Crate."""
    if not is_checkout(root()):
        raise MachineError("an archive holds a clone's files, and here is none; copy results/ and figures/ into one")
    if find_spec("rocrate") is None:
        raise MachineError(
            "resaudit crate needs an extra; install it: python -m pip install -c constraints.txt -e '.[crate]'"
        )
    if destination.suffix != ".zip" or destination.is_dir() or not destination.parent.is_dir():
        raise ConfigError(f"{destination} is not allowed; give a .zip in a folder that exists")
    agent = named(by) if by else None
    contents = gather(plan, root())
    description = describe(plan.config, contents, commit(), agent)
    metadata = json.dumps(description, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    files = {METADATA: metadata.encode(), **dict(sorted(contents.files.items()))}
    with written_whole(destination) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, small in files.items():
            archive.writestr(_entry(name), small, zipfile.ZIP_DEFLATED, 9)
        for name, (path, _) in sorted(contents.results.items()):
            entry = _entry(name)
            # By the size, zipfile decides whether an entry needs the format for large files.
            entry.compress_type, entry.file_size = zipfile.ZIP_DEFLATED, path.stat().st_size
            with archive.open(entry, "w") as packed, path.open("rb") as content:
                shutil.copyfileobj(content, packed)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.external_attr = 0o644 << 16
    entry.create_system = 3
    return entry


def gather(plan: Plan, checkout: Path) -> Contents:
    """Read the audit, its figures and records, and the workflow of a checkout."""
    layout = Layout(plan.config.paths)
    path = layout.figures / "audit.json"
    if not path.is_file():
        raise TableError(f"{path} does not exist; make it first ({run_command()})")
    audit = read_audit(path).as_json()
    _check_settings(plan.config, audit)
    keys = sorted({job for figure in figures_of(audit) for job in figure["jobs"]})
    _refuse_lost([layout.results / key for key in keys if not (layout.results / key / RECORDS[1]).is_file()])
    matrices = [paper["robustness"] for paper in audit["papers"]]
    drawn = [*figures_of(audit), *(matrix for matrix in matrices if matrix and not matrix["reference"])]
    names = {"audit.json", "audit.html"} | {name for figure in drawn for name in figure["files"].values()}
    paths = _workflow(checkout) | _outside({paper["id"] for paper in audit["papers"]})
    paths |= {f"figures/{name}": layout.figures / name for name in sorted(names)}
    paths |= {
        f"results/{name}": layout.results / name
        for key in keys
        for name in (f"plan/{key}.json", *(f"{key}/{record}" for record in RECORDS))
    }
    _check_names(paths)
    files = {name: _read(path) for name, path in paths.items()}
    for figure in drawn:
        _check_figure(figure, files, layout)
    jobs = {key: read_provenance(layout.results / key) for key in keys}
    origins = {key: origin for key in keys if (origin := origin_of(layout.results, key))}
    return Contents(audit, files, _results(jobs, layout), jobs, origins)


def _check_figure(figure: dict[str, Any], files: Mapping[str, bytes], layout: Layout) -> None:
    """Check a figure's files by the digests that the audit has of them."""
    digests = figure.get("drawings", {}) | {"csv": figure.get("sha256")}
    for suffix, digest in digests.items():
        name = f"figures/{figure['files'].get(suffix)}"
        if name in files and digest and hashlib.sha256(files[name]).hexdigest() != digest:
            path = layout.figures / figure["files"][suffix]
            raise TableError(f"{path} is not the file that the audit names; remove it and run again ({run_command()})")


def _results(jobs: Mapping[str, JobProvenance], layout: Layout) -> dict[str, tuple[Path, str]]:
    """Where each result is, with its digest, by its name in the archive; each is checked."""
    results = {
        f"results/{key}/{name}": (layout.results / key / name, digest)
        for key, job in jobs.items()
        for name, digest in job.sha256.items()
    }
    _refuse_lost(list(dict.fromkeys(path.parent for path, _ in results.values() if not path.is_file())))
    for path, digest in results.values():
        if not path.is_file():
            raise ResultsError(f"{path} does not exist; {again(path.parent)}")
        if sha256_of(path) != digest:
            raise ResultsError(
                f"{path} is not what was computed: its digests are not those in provenance.json; {again(path.parent)}"
            )
    return results


def _refuse_lost(folders: list[Path]) -> None:
    """Refuse several lost results at once; one is refused by its file, where that is read."""
    if len(folders) > 1:
        raise ResultsError(
            f"{len(folders)} results behind the figures are not there, such as {folders[0]}; {again(*folders)}"
        )


def _check_settings(config: Config, audit: dict[str, Any]) -> None:
    """Check that the audit is of this configuration, and not of another paper of the same name."""
    pairs = [("the scale", audit["scale"], config.scale.name)]
    for figure in figures_of(audit):
        config.named(figure["id"])
        settings = settings_in_words(config.figure[figure["id"]])
        pairs.append((f"the scale of {figure['id']}", figure["scale"], config.scale_of(figure["id"])))
        pairs += [
            (f"the {key} of {figure['id']}", figure["settings"].get(key, settings[key]), settings[key])
            for key in settings
        ]
    pairs += [
        (f"the SHA-256 of {paper['id']}'s claims", paper["ledger"]["sha256"], claims_sha256(config, paper["id"]))
        for paper in audit["papers"]
    ]
    for what, audited, configured in pairs:
        if audited != configured:
            raise ConfigError(
                f"{what} is {audited} in the audit, but {configured} here; give the overrides that the run had"
            )


def _workflow(checkout: Path) -> dict[str, Path]:
    """The workflow's files by path in the checkout, without hidden and compiled ones."""
    files = {name: checkout / name for name in _SINGLE}
    for folder in _FOLDERS:
        files |= _below((checkout / folder).resolve(), folder)
    return files


def _outside(papers: Collection[str]) -> dict[str, Path]:
    """The files of papers outside the checkout and of those that they import, by path in the crate.

    Its folder ``papers`` is their papers_path.
    """
    files: dict[str, Path] = {}
    places = outside_papers()
    imported = closure(*(f"{place.package}.*" for name, place in places.items() if name in papers))
    for name, place in places.items():
        if name in papers or place.package in imported:
            for folder in place.sources:
                files |= _below(folder, f"papers/{folder.relative_to(place.folder).as_posix()}")
    return files


def _check_names(paths: Mapping[str, Path]) -> None:
    """Check that an import would take the names."""
    if refused := refused_names(list(paths)):
        raise ConfigError(
            f"an archive cannot hold {paths[min(refused)]}: allowed are letters a to z, digits and _.@+=,- in names "
            "that differ in more than case; rename it, or move it elsewhere"
        )


def _below(root: Path, name: str) -> dict[str, Path]:
    """The files in a folder by path in the crate, under the folder's name there."""
    paths = ((path, path.relative_to(root).parts) for path in sorted(root.rglob("*")) if path.is_file())
    return {
        "/".join((name, *parts)): path
        for path, parts in paths
        if not any(part.startswith((".", "__pycache__")) or part.endswith(_LEFT_OUT) for part in parts)
    }


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        remedy = again(path.parent) if path.name in RECORDS else f"run again ({run_command()})"
        raise ResultsError(f"{path} does not exist; {remedy}") from None
    except OSError as error:
        raise ResultsError(f"{path} cannot be read ({error.strerror}); allow it") from error
