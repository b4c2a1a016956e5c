"""The run: workflow, inputs, software, times and outputs."""

from datetime import datetime, timedelta
from typing import Any

from resaudit.data.dataset import Dataset, StoredFile
from resaudit.plan.models import Config
from resaudit.share.archive.contents import Contents, figures_of
from resaudit.share.archive.entities import add

_INPUTS = {
    "scale": ("Text", "how much of the papers' protocols is run: smoke, laptop or paper"),
    "seed": ("Text", "seed of every ensemble"),
    "dataset": ("Text", "the data sets, by their names in config/dataset"),
    "figures": ("Text", "the figures that were drawn"),
    "overrides": ("Text", "Hydra overrides beside the defaults"),
}
# The first matching ending decides.
_OUTPUTS = {
    "audit": (("/audit.json",), "the verdict on every claim, for machines"),
    "page": (("/audit.html",), "the verdict on every claim, to be read"),
    "tables": ((".csv",), "tidy tables, one row an observation"),
    "drawings": ((".pdf", ".png", ".svg"), "the tables, drawn"),
    "records": ((".json",), "what each figure is of, and what made it"),
}


def add_workflow(crate: Any, contents: Contents, citation: Any, commit: dict[str, Any] | None) -> Any:
    """The Snakefile as the crate's main entity, with its software.

    Args:
        crate: to add to.
        contents: the files and the audit, which has the versions.
        citation: ``CITATION.cff``.
        commit: of the workflow's files.
    """
    engine = contents.audit["provenance"]["packages"].get("snakemake")
    workflow = crate.add_workflow(dest_path="Snakefile", main=True, lang="snakemake", lang_version=engine)
    properties = {
        "name": citation.title,
        "description": "Draws every figure and judges every claim; the rules are in workflow/, what they call in src/.",
        "version": str(citation.version),
        "license": {"@id": f"https://spdx.org/licenses/{citation.license}"},
        "creator": [_author(crate, author) for author in citation.authors],
        "softwareRequirements": _software(crate, contents),
        "url": citation.get("url") or citation.get("repository-code"),
        "identifier": commit and _commit(crate, "#commit-of-the-workflow-in-this-crate", commit),
    }
    for name, value in properties.items():
        if value is not None:
            workflow[name] = value
    return workflow


def add_run(crate: Any, workflow: Any, config: Config, contents: Contents, by: dict[str, str] | None) -> Any:
    """The execution of the workflow.

    Args:
        crate: to add to.
        workflow: what was executed.
        config: the run's.
        contents: the files and the audit.
        by: who ran it; no record says it, so no agent is named unless it is given.
    """
    inputs, outputs = _inputs(crate, config, contents.audit), _outputs(crate, contents)
    workflow["input"] = [parameter for parameter, _ in inputs]
    workflow["output"] = [parameter for parameter, _ in outputs]
    settings = [{"@id": name} for name in contents.files if name.startswith("config/")]
    start, end = _times(contents)
    return add(
        crate,
        "#run",
        "CreateAction",
        name=f"resaudit at scale {contents.audit['scale']}",
        description=_run_in_words(contents),
        instrument=workflow,
        object=[*(value for _, value in inputs), *settings],
        result=[{"@id": name} for _, names in outputs for name in names],
        startTime=start,
        endTime=end,
        actionStatus="http://schema.org/CompletedActionStatus",
        agent=by and add(crate, by["@id"], "Person", name=by["name"]),
    )


def add_data(crate: Any, dataset: Dataset) -> Any:
    """The data set, which is not in the crate: its files' digests, licence and citation."""
    name = f"#data/{dataset.name}"
    parts = [
        add(crate, f"{name}/{file.name}", "CreativeWork", name=file.name, contentSize=str(file.size), **_digest(file))
        for file in dataset.files.values()
    ]
    licence = add(crate, f"{name}/licence", "CreativeWork", name=dataset.licence,
                  description=f"Of {dataset.title}, as config/dataset/{dataset.name}.yaml states it")  # fmt: skip
    return add(
        crate,
        name,
        "Collection",
        name=dataset.title,
        citation=dataset.citation,
        license=licence,
        hasPart=parts,
        mainEntity=parts[0],
    )


def _digest(file: StoredFile) -> dict[str, str]:
    fetched = f"Not in this crate; the workflow fetches it, by its {file.digest_name}"
    if file.algorithm == "sha256":
        return {"sha256": file.digest, "description": f"{fetched}."}
    # The crate's context has no term for SHA-1.
    return {"description": f"{fetched} {file.digest}."}


def _author(crate: Any, author: Any) -> Any:
    """A person or, if CITATION.cff gives a single name, an organisation."""
    if "name" in author:
        return add(
            crate, f"#{author.name.replace(' ', '-')}", "Organization", name=author.name, url=author.get("website")
        )
    name = f"{author['given-names']} {author['family-names']}"
    identifier = author.get("orcid") or f"#{name.replace(' ', '-')}"
    return add(crate, identifier, "Person", name=name, affiliation=author.get("affiliation"))


def _software(crate: Any, contents: Contents) -> list[Any]:
    """Python and the packages, in every version used in the run."""
    ran = [
        contents.audit["provenance"],
        *(f["provenance"] for f in figures_of(contents.audit)),
        *contents.jobs.values(),
    ]
    packages = {(name, version) for record in ran for name, version in record["packages"].items()}
    pythons = sorted({record["python"] for record in ran})
    python = [
        add(crate, f"https://docs.python.org/release/{version}/", "SoftwareApplication", name="Python",
            softwareVersion=version, url="https://www.python.org/")
        for version in pythons
    ]  # fmt: skip
    return python + [
        add(crate, f"https://pypi.org/project/{name}/{version}/", "SoftwareApplication", name=name,
            softwareVersion=version, url=f"https://pypi.org/project/{name}/")
        for name, version in sorted((n, v) for n, v in packages if v and n != "resaudit")
    ]  # fmt: skip


def _commit(crate: Any, identifier: str, commit: dict[str, Any]) -> Any:
    state = "are as committed" if commit["clean"] else "have changes that were not committed"
    return add(
        crate, identifier, "PropertyValue", propertyID="git commit", name="commit", value=commit["id"],
        description=f"Sources, configuration and workflow {state}",
    )  # fmt: skip


def _inputs(crate: Any, config: Config, audit: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Each formal parameter with its value."""
    values = {
        "scale": audit["scale"],
        "seed": ", ".join(sorted({str(figure.seed) for figure in config.chosen_figures().values()})),
        "dataset": ", ".join(data.name for data in config.datasets()),
        "figures": ", ".join(figure["id"] for figure in figures_of(audit)) or "none",
        "overrides": " ".join(audit["overrides"]) or "none",
    }
    pairs = []
    for name, (kind, meaning) in _INPUTS.items():
        value = add(crate, f"#input/{name}", "PropertyValue", name=name, value=values[name])
        pairs.append((_parameter(crate, name, kind, meaning), value))
    for data in config.datasets():
        collection = add_data(crate, data)
        pairs.append(
            (_parameter(crate, f"data/{data.name}", "Collection", "a data set's files, by SHA-256"), collection)
        )
    for parameter, value in pairs:
        value["exampleOfWork"], parameter["workExample"] = parameter, value
    return pairs


def _outputs(crate: Any, contents: Contents) -> list[tuple[Any, list[str]]]:
    """Each kind of output with its files."""
    files, pairs = [name for name in contents.files if name.startswith("figures/")], []
    for name, (endings, meaning) in _OUTPUTS.items():
        of_this_kind = [file for file in files if file.endswith(endings)]
        files = [file for file in files if file not in of_this_kind]
        if of_this_kind:
            parameter = _parameter(crate, name, "File", meaning)
            parameter["workExample"] = [{"@id": file} for file in of_this_kind]
            for file in of_this_kind:
                crate.get(file)["exampleOfWork"] = parameter
            pairs.append((parameter, of_this_kind))
    return pairs


def _parameter(crate: Any, name: str, kind: str, meaning: str) -> Any:
    return add(crate, f"#parameter/{name}", "FormalParameter", name=name, additionalType=kind, description=meaning)


def _times(contents: Contents) -> tuple[str, str]:
    """The start of the first job whose result is used, and the end of the audit."""
    records = [figure["provenance"] for figure in figures_of(contents.audit)] + list(contents.jobs.values())
    # A figure's seconds sum over its jobs; only a job's own seconds give its start.
    starts = [_moment(job["finished"]) - timedelta(seconds=job["seconds"]) for job in contents.jobs.values()]
    ends = [_moment(record["finished"]) for record in records] + [_moment(contents.audit["generated"])]
    return min(starts + ends).isoformat(timespec="seconds"), max(ends).isoformat(timespec="seconds")


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _run_in_words(contents: Contents) -> str:
    audit = contents.audit
    ran, commit = audit["provenance"], audit["provenance"]["commit"]
    state = "" if commit and commit["clean"] else " and changes that were not committed"
    devices = sorted({job["device"] for job in contents.jobs.values()})
    parts = [
        f"Scale {audit['scale']}: {audit['scale_summary']}.",
        f"The audit was made at commit {commit['id']}{state}." if commit else "",
        f"Machine: {ran['machine']}, {ran['system']}" + (f", computing on {', '.join(devices)}." if devices else "."),
        "It starts with the first job whose result is used, which may be of an earlier call, and ends with the audit.",
    ]
    return " ".join(part for part in parts if part)
