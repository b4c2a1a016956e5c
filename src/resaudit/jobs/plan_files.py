"""Jobs as files: ``results/plan/<kind>/<id>.json`` holds everything that ``resaudit run`` and a reader need."""

import importlib
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from resaudit.base.errors import ConfigError, PaperError, ResultsError, listed
from resaudit.base.files import read_json, write_json
from resaudit.base.papers import classes_of, papers
from resaudit.jobs.code import code_sha256
from resaudit.jobs.job import Execution, Job

OWN = {
    "fetch": "resaudit.data.fetch:Fetch",
    "whiten": "resaudit.data.whiten:Whiten",
    "draw": "resaudit.figures.draw:Draw",
    "robustness_matrix": "resaudit.claims.job:RobustnessJob",
    "audit": "resaudit.audit.job:AuditJob",
}
"""Classes of this package's own kinds: found by name, as papers' are, and imported when a job needs one."""


def plan_file(results: Path, key: str) -> Path:
    """The file of a job, by its ``kind/id``."""
    return results / "plan" / f"{key}.json"


def write_job(
    job: Job, execution: Execution, results: Path, again: bool = True, written: set[str] | None = None
) -> Path:
    """Write a job and its inputs; an equal file is left alone.

    Args:
        job: the job.
        execution: settings of its execution.
        results: folder of all results.
        again: replace files that say another execution.
        written: keys of jobs that need not be looked at again; the job's and its inputs' are added.

    Returns:
        The job's file.
    """
    path, written = plan_file(results, job.key), set() if written is None else written
    if job.key in written:
        return path
    for needed in job.inputs.values():
        write_job(needed, execution, results, again, written)
    written.add(job.key)
    if path.is_file() and not again:
        return path
    content = planned(job) | {"cost": asdict(job.cost(execution)), "execution": asdict(execution)}
    with suppress(OSError, ValueError):
        if read_json(path) == content:
            return path
    write_json(path, content)
    return path


def planned(job: Job) -> dict[str, Any]:
    """The part of a job's file that says what it is; the rest says how it runs."""
    inputs = {name: needed.key for name, needed in job.inputs.items()}
    return {"kind": job.kind, "id": job.id, "settings": job.settings, "inputs": inputs}


def read_job(results: Path, key: str) -> tuple[Job, Execution]:
    """Read the job ``kind/id`` and its execution settings."""
    path = plan_file(results, key)
    try:
        content = read_json(path)
        needed = {name: read_job(results, other)[0] for name, other in content["inputs"].items()}
        job: Job = TypeAdapter(kind_named(content["kind"])).validate_python(content["settings"] | needed)
        execution = TypeAdapter(Execution).validate_python(content["execution"])
    except FileNotFoundError:
        raise ResultsError(f"no job {key!r} in {results}; 'snakemake -n' plans the jobs") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        reason = f"{len(error.errors())} wrong settings" if isinstance(error, ValidationError) else error
        raise ResultsError(f"{path} cannot be read ({reason}); remove it and run snakemake again") from error
    if job.key != key:
        raise ResultsError(f"{path} describes the job {job.key}; remove it and run snakemake again")
    return job, execution


def kind_named(kind: str) -> type[Any]:
    """The class of a kind of job: of this package, or of a paper's module ``jobs``."""
    if kind in OWN:
        module, name = OWN[kind].split(":")
        found: type[Any] = getattr(importlib.import_module(module), name)
        return found
    known = _of_papers()
    if kind not in known:
        raise ConfigError(
            f"unknown kind of job {kind!r}; allowed: {listed([*OWN, *known])}; for others, give papers_path"
        )
    return known[kind]


def code_of(job: Job) -> str:
    """The hash of the code that a job's result depends on."""
    return _code_of(*job.modules)


_code_of = cache(code_sha256)


def other_code_at(job: Job, results: Path) -> float | None:
    """When a result was made by other code than today's, in seconds since 1970; None if today's made it.

    Also None where no record says so: whoever reads the result says what is wrong with that.
    """
    try:
        made = read_json(job.record(results))
        at = datetime.fromisoformat(made["finished"]).timestamp()
        return None if made["code"] == code_of(job) else at
    except (OSError, ValueError, LookupError, TypeError):
        return None


def computing_kinds() -> list[str]:
    """The kinds whose jobs leave their files in ``results/<kind>/<id>``; others have rules of their own."""
    kinds = {kind: kind_named(kind) for kind in OWN} | _of_papers()
    return [name for name, kind in kinds.items() if kind.files]


def _of_papers() -> dict[str, type[Any]]:
    """The kinds that the papers' modules ``jobs`` define or import."""
    kinds: dict[str, type[Any]] = {}
    for paper in papers():
        for kind in classes_of(paper, "jobs", Job, "kind"):
            if kind.kind in OWN and kind is kind_named(kind.kind):
                continue  # imported for a field of this type
            if not kind.files:
                raise PaperError(
                    f"paper {paper}: the kind of job {kind.kind!r} has no files; name its result: files, or result of "
                    "a Simulation"
                )
            if kind.kind in OWN or kinds.setdefault(kind.kind, kind) is not kind:
                raise PaperError(f"paper {paper}: a kind of job {kind.kind!r} exists already; give yours another name")
    return kinds
