"""The crate's metadata as RO-Crate 1.1 JSON-LD: workflow, inputs, the run, an action a job, and files with digests.

The terms are those of the Workflow Run Crate profile 0.5 and of schema.org. Unknown values are left out. What only a
record says, such as packages, machines and verdicts, is said by that record, which is a file of the crate.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

from omegaconf import OmegaConf

from resaudit.audit.models import counts_in_words
from resaudit.base.errors import ConfigError
from resaudit.base.models import shown
from resaudit.data.dataset import Dataset
from resaudit.jobs.origin import Origin
from resaudit.jobs.results import JobProvenance
from resaudit.plan.models import Config

_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_TERMS = "https://w3id.org/ro/terms/workflow-run/context"
_MEDIA_TYPES = {
    ".cff": "application/yaml", ".css": "text/css", ".csv": "text/csv", ".html": "text/html",
    ".js": "text/javascript", ".json": "application/json", ".md": "text/markdown", ".npz": "application/zip",
    ".pdf": "application/pdf", ".png": "image/png", ".py": "text/x-python", ".rst": "text/x-rst",
    ".svg": "image/svg+xml", ".toml": "application/toml", ".yaml": "application/yaml", ".yml": "application/yaml",
}  # fmt: skip
# The first that a path begins with decides.
_ROLES = {
    "figures/audit.json": "Every claim with its verdict, what was measured and where it fails, for machines",
    "figures/audit.html": "Every claim with its verdict and figure, as one page",
    "figures/": "A table, drawing or record of a figure, or the claims under other readings of the papers",
    "results/plan/": "One job: its kind, settings and inputs",
    "results/": "Of one job: a result, its settings, or its provenance: what ran, when, where",
    "config/": "Configuration",
    "papers/": "A paper outside the workflow's repository: its configuration and package",
    "profiles/": "How Snakemake is to run, where it looks for it",
    "src/": "The packages that the rules call",
    "workflow/": "The workflow's rules and captions",
    "README.md": "What the workflow does and how to run it",
    "LICENSE": "Licence of the workflow",
    "CITATION.cff": "How to cite the workflow, and the papers",
    "": "What the workflow needs installed",
}
_INPUTS = {
    "scale": "how much of the papers' protocols is run, as in config/scale",
    "seed": "seed of every ensemble",
    "dataset": "the data sets, by their names in config/dataset",
    "figures": "the figures that were drawn",
    "overrides": "Hydra overrides beside the defaults",
}
_NAMED = re.compile(
    r"(?P<name>[^<>]{1,170}?)\s*(?:<(?:https://orcid\.org/)?(?P<orcid>[0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])>)?"
)


@dataclass(frozen=True)
class Contents:
    """The contents of a crate.

    Attributes:
        audit: content of ``audit.json``.
        files: bytes by path in the crate, without the metadata file and results.
        results: by path in the crate, each result file (too large to be held) and its SHA-256.
        jobs: the provenance of every job behind the figures, by ``kind/id``.
        origins: the origins of the imported ones among them.
    """

    audit: dict[str, Any]
    files: dict[str, bytes]
    results: dict[str, tuple[Path, str]]
    jobs: dict[str, JobProvenance]
    origins: dict[str, Origin]


def figures_of(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every figure of an audit."""
    return (figure for paper in audit["papers"] for figure in paper["figures"])


def describe(
    config: Config, contents: Contents, commit: dict[str, Any] | None, by: dict[str, str] | None = None
) -> dict[str, Any]:
    """The JSON-LD of ``ro-crate-metadata.json``."""
    from rocrate.rocrate import ROCrate

    crate, audit = ROCrate(version="1.1"), contents.audit
    crate.metadata.extra_contexts.append(_TERMS)
    workflow = _add_workflow(crate, contents, commit)
    _describe_files(crate, contents)
    papers = [
        _add(crate, paper["link"], "ScholarlyArticle", name=paper["title"],
             description=f"{paper['short']}, {paper['cited']}")
        for paper in audit["papers"]
    ]  # fmt: skip
    run = _add_run(crate, workflow, config, contents, by)
    jobs = [_add_job(crate, key, contents, by) for key in contents.jobs]
    licence = workflow["license"]
    _add(crate, licence, "CreativeWork", name=licence.rsplit("/", 1)[1], description="Licence of the workflow",
         url=licence)  # fmt: skip
    root = _root(audit) | {
        "license": {"@id": licence},
        "author": workflow["creator"],
        "citation": papers,
        "conformsTo": [
            _add(crate, uri, "CreativeWork", name=name, version=uri.rsplit("/", 1)[1])
            for uri, name in _PROFILES.items()
        ],
        "mentions": [run, *jobs, *(add_data(crate, data) for data in config.datasets())],
    }
    for name, value in root.items():
        crate.root_dataset[name] = value
    metadata: dict[str, Any] = crate.metadata.generate()
    # Lists of one value are unwrapped, as RO-Crate 1.1 recommends.
    graph = [
        {key: value[0] if isinstance(value, list) and len(value) == 1 else value for key, value in entity.items()}
        for entity in metadata["@graph"]
    ]
    return metadata | {"@graph": graph}


def _describe_files(crate: Any, contents: Contents) -> None:
    """Each file with its role, type, size and digest; a figure's with its title and deviations too."""
    digests = {name: (len(content), hashlib.sha256(content).hexdigest()) for name, content in contents.files.items()}
    digests |= {name: (path.stat().st_size, digest) for name, (path, digest) in contents.results.items()}
    for name, (size, sha256) in digests.items():
        role = next(role for start, role in _ROLES.items() if name.startswith(start))
        file = crate.get(name) or crate.add_file(dest_path=name, properties={"name": name, "description": role})
        file["encodingFormat"] = _MEDIA_TYPES.get(PurePosixPath(name).suffix, "text/plain")
        file["contentSize"], file["sha256"] = str(size), sha256
    crate.get("README.md")["about"] = crate.root_dataset
    for figure in figures_of(contents.audit):
        differs = "; ".join(figure["deviations"]) or "nothing"
        remark = f" {figure['remark']}" if figure.get("remark") else ""
        for suffix, path in figure["files"].items():
            file = crate.get(f"figures/{path}")
            file["name"] = f"{figure['id']}, {suffix.upper()}"
            file["description"] = f"{figure['title']}. Differs from the full protocol in: {differs}.{remark}"


def _root(audit: dict[str, Any]) -> dict[str, Any]:
    """What the crate is, and when."""
    counts = "; ".join(f"{paper['title']}: {counts_in_words(paper['counts'])}" for paper in audit["papers"])
    return {
        "name": f"Audit of {', '.join(paper['title'] for paper in audit['papers'])} at scale {audit['scale']}",
        "description": f"One run of resaudit: workflow, configuration, the plan, result and provenance of every job, "
        f"tables, figures, and the verdict on every claim ({counts}). The workflow fetches the raw data.",
        # The audit's, so that the same run gives the same crate.
        "datePublished": audit["generated"],
    }


def named(by: str) -> dict[str, str]:
    """A person by ``Name`` or ``Name <ORCID>``, as properties of an entity.

    >>> named("Ada Lovelace <0000-0002-1825-0097>")
    {'@id': 'https://orcid.org/0000-0002-1825-0097', 'name': 'Ada Lovelace'}
    """
    match = _NAMED.fullmatch(by.strip()) if by.isprintable() else None
    if match is None:
        raise ConfigError(f"--by is {shown(by)}; allowed: 'Name' or 'Name <0000-0000-0000-0000>'")
    name, orcid = match["name"], match["orcid"]
    return {"@id": f"https://orcid.org/{orcid}" if orcid else f"#{name.replace(' ', '-')}", "name": name}


def _add(crate: Any, identifier: str, kind: str, **properties: Any) -> Any:
    """Get or add a contextual entity of the crate; properties that are None are left out."""
    from rocrate.model.contextentity import ContextEntity

    known = {name: value for name, value in properties.items() if value is not None}
    return crate.get(identifier) or crate.add(ContextEntity(crate, identifier, {"@type": kind, **known}))


def _add_workflow(crate: Any, contents: Contents, commit: dict[str, Any] | None) -> Any:
    """The Snakefile as the crate's main entity; its authors, licence and address are those of ``CITATION.cff``."""
    citation: Any = OmegaConf.create(contents.files["CITATION.cff"].decode())
    engine = contents.audit["provenance"]["packages"].get("snakemake")
    workflow = crate.add_workflow(dest_path="Snakefile", main=True, lang="snakemake", lang_version=engine)
    creators = []
    for author in citation.authors:
        if "name" in author:
            creators.append(_add(crate, f"#{author.name.replace(' ', '-')}", "Organization", name=author.name,
                                 url=author.get("website")))  # fmt: skip
        else:
            name = f"{author['given-names']} {author['family-names']}"
            creators.append(_add(crate, author.get("orcid") or f"#{name.replace(' ', '-')}", "Person", name=name,
                                 affiliation=author.get("affiliation")))  # fmt: skip
    properties = {
        "name": citation.title,
        "description": f"Draws every figure and judges every claim{_at(commit)}.",
        "version": str(citation.version),
        "license": {"@id": f"https://spdx.org/licenses/{citation.license}"},
        "creator": creators,
        "url": citation.get("url") or citation.get("repository-code"),
    }
    for name, value in properties.items():
        if value is not None:
            workflow[name] = value
    return workflow


def _at(commit: dict[str, Any] | None) -> str:
    """A commit in words.

    >>> _at({"id": "ab12", "clean": False}), _at(None)
    (', at commit ab12 and changes that were not committed', '')
    """
    if commit is None:
        return ""
    return f", at commit {commit['id']}{'' if commit['clean'] else ' and changes that were not committed'}"


def _add_run(crate: Any, workflow: Any, config: Config, contents: Contents, by: dict[str, str] | None) -> Any:
    """The execution of the workflow, from its first job whose result is used to the audit."""
    audit, inputs = contents.audit, []
    values = {
        "scale": audit["scale"],
        "seed": ", ".join(sorted({str(figure.seed) for figure in config.chosen_figures().values()})),
        "dataset": ", ".join(data.name for data in config.datasets()),
        "figures": ", ".join(figure["id"] for figure in figures_of(audit)) or "none",
        "overrides": " ".join(audit["overrides"]) or "none",
    }
    for name, meaning in _INPUTS.items():
        value = _add(crate, f"#input/{name}", "PropertyValue", name=name, value=values[name])
        parameter = _add(crate, f"#parameter/{name}", "FormalParameter", name=name, additionalType="Text",
                         description=meaning)  # fmt: skip
        value["exampleOfWork"], parameter["workExample"] = parameter, value
        inputs.append(value)
    workflow["input"] = [value["exampleOfWork"] for value in inputs]
    return _add(
        crate,
        "#run",
        "CreateAction",
        name=f"resaudit at scale {audit['scale']}",
        description=f"Scale {audit['scale']}: {audit['scale_summary']}. Audited{_at(audit['provenance']['commit'])}.",
        instrument=workflow,
        object=[*inputs, *(add_data(crate, data) for data in config.datasets())],
        result=[{"@id": name} for name in contents.files if name.startswith("figures/")],
        startTime=min(
            [job.started for job in contents.jobs.values()] or [audit["generated"]], key=datetime.fromisoformat
        ),
        endTime=audit["generated"],
        actionStatus="http://schema.org/CompletedActionStatus",
        agent=by and _add(crate, by["@id"], "Person", name=by["name"]),
    )


def _add_job(crate: Any, key: str, contents: Contents, by: dict[str, str] | None) -> Any:
    """The action of a job, in the terms of a step in a Provenance Run Crate; for an imported one, who ran it there."""
    job, origin, kind = contents.jobs[key], contents.origins.get(key), key.split("/")[0]
    if origin is not None:
        by = named(origin.by) if origin.by else None
    tool = _add(crate, f"#kind/{kind}/{job.code[:16]}", "SoftwareApplication", name=f"resaudit run {kind}",
                softwareVersion=job.code, description=f"Code of jobs of the kind {kind}, by its hash")  # fmt: skip
    read = [f"results/plan/{key}.json", *(f"results/{name}" for name in job.inputs)]
    made = [f"results/{key}/{name}" for name in (*job.sha256, "settings.json", "provenance.json")]
    return _add(
        crate,
        f"#job/{key}",
        "CreateAction",
        name=key,
        description=f"Imported from the archive {origin.archive}." if origin else "Computed in this run.",
        instrument=tool,
        object=[{"@id": name} for name in read if name in contents.files or name in contents.results],
        result=[{"@id": name} for name in made],
        startTime=job.started,
        endTime=job.finished,
        actionStatus="http://schema.org/CompletedActionStatus",
        agent=by and _add(crate, by["@id"], "Person", name=by["name"]),
    )


def add_data(crate: Any, dataset: Dataset) -> Any:
    """The data set, which is not in the crate: its files' digests, licence and citation."""
    name, parts = f"#data/{dataset.name}", []
    for file in dataset.files.values():
        # The crate's context has no term for SHA-1.
        known = {"sha256": file.digest} if file.algorithm == "sha256" else {}
        told = f"Not in this crate; the workflow fetches it, by its {file.digest_name} {file.digest}."
        parts.append(_add(crate, f"{name}/{file.name}", "CreativeWork", name=file.name, contentSize=str(file.size),
                          description=told, **known))  # fmt: skip
    licence = _add(crate, f"{name}/licence", "CreativeWork", name=dataset.licence,
                   description=f"Of {dataset.title}, as config/dataset/{dataset.name}.yaml states it")  # fmt: skip
    return _add(crate, name, "Collection", name=dataset.title, citation=dataset.citation, license=licence,
                hasPart=parts, mainEntity=parts[0])  # fmt: skip
