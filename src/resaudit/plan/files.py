"""Jobs as files: ``results/plan/<kind>/<id>.json`` holds everything that ``resaudit run`` and a reader need."""

import importlib
import pkgutil
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from resaudit import jobs
from resaudit.errors import ResauditError
from resaudit.outside import outside_papers
from resaudit.plan.code import code_sha256
from resaudit.plan.job import Execution, Job
from resaudit.registry import import_own
from resaudit.store.files import read_json, write_json


def plan_file(results: Path, key: str) -> Path:
    """The file of a job, by its ``kind/id``."""
    return results / "plan" / f"{key}.json"


def write_job(job: Job, execution: Execution, results: Path, again: bool = True) -> Path:
    """Write a job and its inputs; an equal file is left alone.

    Args:
        job: to write.
        execution: how it runs.
        results: folder of all results.
        again: whether to replace files that say another execution.

    Returns:
        The job's file.
    """
    for needed in job.inputs.values():
        write_job(needed, execution, results, again)
    path = plan_file(results, job.key)
    if path.is_file() and not again:
        return path
    content = planned(job) | {
        "cost": asdict(job.cost(execution)),
        "execution": asdict(execution),
    }
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
    """Read the job ``kind/id`` and its execution settings.

    Raises:
        ResauditError: the plan has no such job, or its file was changed.
    """
    path = plan_file(results, key)
    try:
        content = read_json(path)
        needed = {name: read_job(results, other)[0] for name, other in content["inputs"].items()}
        job: Job = TypeAdapter(kind_named(content["kind"])).validate_python(content["settings"] | needed)
        execution = TypeAdapter(Execution).validate_python(content["execution"])
    except FileNotFoundError:
        raise ResauditError(f"no job {key!r} in {results}; jobs are planned by 'snakemake -n'") from None
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        what = f"{len(error.errors())} wrong settings" if isinstance(error, ValidationError) else error
        raise ResauditError(f"{path} cannot be read ({what}); remove it and run snakemake again") from error
    if job.key != key:
        raise ResauditError(f"{path} is of the job {job.key}; remove it and run snakemake again")
    return job, execution


def kind_named(kind: str) -> type[Any]:
    """The class of a kind of job: of its module in :mod:`resaudit.jobs`, or of the module ``jobs`` of a paper outside.

    Raises:
        ResauditError: there is no such kind.
    """
    outside = _outside_kinds()
    if kind in outside:
        return outside[kind]
    try:
        found = _kind_in(kind)
    except ModuleNotFoundError as error:
        if not f"{jobs.__name__}.{kind}.".startswith(f"{error.name}."):
            raise
        found = None
    if found is None:
        raise ResauditError(
            f"unknown kind of job {kind!r}; kinds are the modules of resaudit.jobs; for others, give papers_path"
        )
    return found


def code_of(job: Job) -> str:
    """The hash of the code that a job's result depends on."""
    return _code_of(job.modules)


def code_of_kind(kind: str) -> str:
    """The same of all jobs of a kind whose files are in ``results/<kind>/<id>``."""
    return _code_of((kind_named(kind).__module__,))


@cache
def _code_of(modules: tuple[str, ...]) -> str:
    return code_sha256(*modules)


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
    found = {module.name: _kind_in(module.name) for module in pkgutil.iter_modules(jobs.__path__)}
    return [name for name, kind in (found | _outside_kinds()).items() if kind is not None and kind.files]


def _outside_kinds() -> dict[str, type[Any]]:
    """The kinds of jobs that papers outside this repository bring.

    Raises:
        ResauditError: one has the name of another.
    """
    found: dict[str, type[Any]] = {}
    for paper in outside_papers():
        module = import_own(paper, "jobs")
        content = vars(module).values() if module else ()
        # Not the kinds of this repository that the module imports.
        own = (c for c in content if isinstance(c, type) and c.__module__.startswith(f"{paper}."))
        for kind in (c for c in own if issubclass(c, Job) and "kind" in vars(c)):
            if kind.kind in found or find_spec(f"{jobs.__name__}.{kind.kind}"):
                raise ResauditError(f"paper {paper}: a kind of job {kind.kind!r} exists; give yours another name")
            found[kind.kind] = kind
    return found


def _kind_in(name: str) -> type[Any] | None:
    content = vars(importlib.import_module(f"{jobs.__name__}.{name}")).values()
    kinds = (c for c in content if isinstance(c, type) and issubclass(c, Job) and c.__dict__.get("kind") == name)
    return next(kinds, None)
