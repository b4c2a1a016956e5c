"""The crate's metadata (files, run, verdicts) as RO-Crate 1.1 JSON-LD.

The terms are those of the Workflow Run Crate profile 0.5 and of schema.org. Unknown values are left out.
"""

import hashlib
from pathlib import PurePosixPath
from typing import Any

from omegaconf import OmegaConf

from resaudit.audit.claim_models import counts_in_words
from resaudit.base.files import sha256_of
from resaudit.plan.models import Config
from resaudit.share.archive.claims import add_claims, add_paper, claims_in_words
from resaudit.share.archive.contents import Contents, figures_of
from resaudit.share.archive.entities import add
from resaudit.share.archive.jobs import add_jobs
from resaudit.share.archive.run import add_data, add_run, add_workflow

METADATA_FILE = "ro-crate-metadata.json"
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_OF_JOB = {"settings.json": "its settings", "provenance.json": "what ran, when, where"}
_TERMS = "https://w3id.org/ro/terms/workflow-run/context"
_MEDIA_TYPES = {
    ".cff": "application/yaml",
    ".css": "text/css",
    ".csv": "text/csv",
    ".html": "text/html",
    ".js": "text/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".npz": "application/zip",
    ".pdf": "application/pdf",
    ".png": "image/png",
    ".py": "text/x-python",
    ".rst": "text/x-rst",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}


def describe(
    config: Config,
    contents: Contents,
    checkout_commit: dict[str, Any] | None,
    by: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The JSON-LD of ``ro-crate-metadata.json``.

    Args:
        config: the run's configuration.
        contents: the files and the audit.
        checkout_commit: of the workflow's files, possibly later than the run's.
        by: who ran it: ``@id`` and ``name``.
    """
    from rocrate.rocrate import ROCrate

    crate = ROCrate(version="1.1")
    crate.metadata.extra_contexts.append(_TERMS)
    citation = OmegaConf.create(contents.files["CITATION.cff"].decode())
    workflow = add_workflow(crate, contents, citation, checkout_commit)
    for name, content in contents.files.items():
        _add_file(crate, name, len(content), hashlib.sha256(content).hexdigest())
    for name, path in contents.results.items():
        _add_file(crate, name, path.stat().st_size, sha256_of(path))
    for figure in figures_of(contents.audit):
        _describe_figure(crate, contents.audit, figure)
    run = add_run(crate, workflow, config, contents, by)
    jobs = add_jobs(crate, contents, by)
    reviews = add_claims(crate, contents.audit)
    _describe_root(
        crate, contents.audit, workflow, [run, *jobs, *(add_data(crate, data) for data in config.datasets()), *reviews]
    )
    metadata: dict[str, Any] = crate.metadata.generate()
    return metadata | {"@graph": [_compacted(entity) for entity in metadata["@graph"]]}


def _compacted(entity: dict[str, Any]) -> dict[str, Any]:
    """Unwrap lists of one value, as RO-Crate 1.1 recommends."""
    return {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}


def _add_file(crate: Any, name: str, size: int, sha256: str) -> None:
    file = crate.get(name) or crate.add_file(dest_path=name, properties={"name": name, "description": _role(name)})
    file["encodingFormat"] = _MEDIA_TYPES.get(PurePosixPath(name).suffix, "text/plain")
    file["contentSize"] = str(size)
    file["sha256"] = sha256
    if name == "README.md":
        file["about"] = crate.root_dataset


def _role(name: str) -> str:
    """A file's role, by its path."""
    roles = {
        "figures/audit.json": "Every claim with its verdict, what was measured and where it fails, for machines",
        "figures/audit.html": "Every claim with its verdict and figure, as one page",
        "README.md": "What the workflow does and how to run it",
        "LICENSE": "Licence of the workflow",
        "CITATION.cff": "How to cite the workflow, and the papers",
        "config/": "Configuration",
        "figures/": "The claims under other readings of what the papers left unsaid",
        "profiles/": "How Snakemake is to run, where it looks for it",
        "results/plan/": "One job: its kind, settings and inputs",
        "results/": f"Of one job: {_OF_JOB.get(PurePosixPath(name).name, 'a result')}",
        "src/": "The packages that the rules call",
        "workflow/": "The workflow's rules and captions",
    }
    return next((role for start, role in roles.items() if name.startswith(start)), "What the workflow needs installed")


def _describe_figure(crate: Any, audit: dict[str, Any], figure: dict[str, Any]) -> None:
    """Describe the files of one figure, with the claims judged by its table."""
    paper = next(add_paper(crate, paper) for paper in audit["papers"] if figure in paper["figures"])
    differs = f"differs from the full protocol in: {'; '.join(figure['deviations']) or 'nothing'}."
    remark = f" {figure['remark']}" if figure.get("remark") else ""
    what = f"{claims_in_words(audit, figure['id'])} Scale {figure['scale']}, {differs}{remark}"
    descriptions = {
        "csv": f"Table of {figure['rows']} rows: {figure['title']}. {what}",
        "json": f"Settings and provenance of {figure['id']}.",
    }
    for suffix, path in figure["files"].items():
        file = crate.get(f"figures/{path}")
        file["name"] = f"{figure['id']}, {suffix.upper()}"
        file["description"] = descriptions.get(suffix, f"{figure['title']}. {figure['caption']}")
        file["about"] = paper


def _describe_root(crate: Any, audit: dict[str, Any], workflow: Any, mentions: list[Any]) -> None:
    """Describe the crate as a whole. Its date is the audit's, so that the same run gives the same crate."""
    titles = ", ".join(f'"{paper["title"]}"' for paper in audit["papers"])
    counts = "; ".join(f"{paper['title']}: {counts_in_words(paper['counts'])}" for paper in audit["papers"])
    profiles = [
        add(crate, uri, "CreativeWork", name=name, version=uri.rsplit("/", 1)[1]) for uri, name in _PROFILES.items()
    ]
    licence = workflow["license"]
    name = licence.rsplit("/", 1)[1]
    add(crate, licence, "CreativeWork", name=name, description="Licence of the workflow", url=licence)
    root = {
        "name": f"Audit of {titles} at scale {audit['scale']}",
        "description": (
            f"One run of resaudit: workflow, configuration, tables, figures, provenance and the verdict on every "
            f"claim ({counts}); and the plan, result and provenance of every job between data and tables. The raw data "
            "are not in it: the workflow fetches them."
        ),
        "datePublished": audit["generated"],
        "license": {"@id": licence},
        "author": workflow["creator"],
        "citation": [add_paper(crate, paper) for paper in audit["papers"]],
        "conformsTo": profiles,
        "mentions": mentions,
    }
    for name, value in root.items():
        crate.root_dataset[name] = value
