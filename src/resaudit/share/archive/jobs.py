"""Every job as an action: what it read, what it made, when. The terms are those of a step in a Provenance Run Crate."""

from typing import Any

from resaudit.share.archive.contents import Contents
from resaudit.share.archive.entities import add, named


def add_jobs(crate: Any, contents: Contents, by: dict[str, str] | None) -> list[Any]:
    """Add the action of every job; one that was imported names who ran it there.

    Args:
        crate: to add to.
        contents: the files, provenance and origins.
        by: who ran the others: ``@id`` and ``name``.
    """
    return [_add_job(crate, key, contents, by) for key in contents.jobs]


def _add_job(crate: Any, key: str, contents: Contents, by: dict[str, str] | None) -> Any:
    job, origin, kind = contents.jobs[key], contents.origins.get(key), key.split("/")[0]
    if origin is not None:
        by = named(origin.by) if origin.by else None
    tool = add(crate, f"#kind/{kind}/{job['code'][:16]}", "SoftwareApplication", name=f"resaudit run {kind}",
               softwareVersion=job["code"], description=f"Code of jobs of the kind {kind}, by its hash")  # fmt: skip
    read = [f"results/plan/{key}.json", *(f"results/{name}" for name in job["inputs"])]
    made = [f"results/{key}/{name}" for name in (*job["sha256"], "settings.json", "provenance.json")]
    return add(
        crate,
        f"#job/{key}",
        "CreateAction",
        name=key,
        description=f"Imported from the archive {origin.archive}." if origin else "Computed in this run.",
        instrument=tool,
        object=[{"@id": name} for name in read if name in contents.files or name in contents.results],
        result=[{"@id": name} for name in made],
        startTime=job["started"],
        endTime=job["finished"],
        actionStatus="http://schema.org/CompletedActionStatus",
        agent=by and add(crate, by["@id"], "Person", name=by["name"]),
    )
