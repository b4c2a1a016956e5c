"""Checking an archive's jobs against this checkout's plan, code and data.

Digests prove which bytes were packed, and that outputs, inputs and settings belong together; never that they were
computed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resaudit.audit.schema import check_audit
from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line, shown, validated
from resaudit.base.papers import KEY
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import RECORDS, Job
from resaudit.jobs.job_provenance import JobProvenance
from resaudit.jobs.plan_files import code_of, computing_kinds, planned
from resaudit.plan.plan import Plan
from resaudit.share.imports.machines import check_machine
from resaudit.share.imports.packed import Packed


def check_jobs(packed: Packed, plan: Plan, other_code: bool) -> dict[str, JobProvenance]:
    """Check every job of an archive; its provenance, by ``kind/id``.

    Args:
        packed: the archive.
        plan: of this checkout and configuration, with every figure.
        other_code: whether results of other code are accepted.

    Raises:
        ResauditError: a job is not planned here, or differs from its plan, its code, its inputs or its digests; or a
            table is not the one that the archive's audit judged.
    """
    jobs, tables = plan.jobs, _tables(packed)
    if not packed.jobs:
        raise ResauditError(f"{packed.path} has no results; allowed: an archive of resaudit crate")
    unknown = sorted(packed.jobs.keys() - jobs.keys())
    if unknown:
        of_ours = tables.keys() <= plan.config.figure.keys() and {key.split("/")[0] for key in unknown} <= {
            *computing_kinds()
        }
        papers = "" if of_ours else f", with {KEY}=FOLDER if it is of a paper from outside this repository"
        raise ResauditError(f"{packed.path}: {_several(unknown)} not planned here; {_had(packed)}{papers}")
    for figure, digest in tables.items():
        name = f"figures/{figure}.csv"
        if packed.digests.get(name) != digest:
            raise ResauditError(
                f"{packed.path}: {one_line(name)} is not the table that its audit judged; get the archive again"
            )
    for key in packed.jobs:
        _check_plan(packed, jobs[key])
    found = {key: _provenance(packed, jobs[key]) for key in packed.jobs}
    for key in packed.jobs:
        check_machine(jobs[key], found[key], f"{packed.path}: results/{key}/provenance.json")
        _check_inputs(packed, jobs[key], found)
    others = [key for key, ran in found.items() if ran.code != code_of(jobs[key])]
    if others and not other_code:
        raise ResauditError(
            f"{packed.path}: {_several(sorted(others))} of other code than this checkout's; check out the commit "
            f"{_commit(packed)}, or accept them with --other-code"
        )
    return found


def _tables(packed: Packed) -> dict[str, str]:
    """The SHA-256 of the tables that an archive's audit judged, by figure; none if its audit has another format."""
    try:
        check_audit(packed.audit)
    except ResauditError:
        return {}
    return {figure["id"]: figure["sha256"] for paper in packed.audit["papers"] for figure in paper["figures"]}


def _several(keys: list[str]) -> str:
    return f"{len(keys)} results ({keys[0]} …) are" if len(keys) > 1 else f"the result {keys[0]} is"


def _had(packed: Packed) -> str:
    """What to do if plans differ: the overrides that the run had, as its audit says."""
    had = packed.audit.get("overrides")
    words = " ".join(map(str, had)) if isinstance(had, list) else ""
    words = words if words.isprintable() and len(words) < 500 else ""
    return f"its run had {f'the overrides {words}' if words else 'no overrides'}: give the same"


def _commit(packed: Packed) -> str:
    found = packed.audit.get("provenance")
    commit = found.get("commit") if isinstance(found, dict) else None
    return shown(commit.get("id") if isinstance(commit, dict) else None)[1:13]


def _check_plan(packed: Packed, job: Job) -> None:
    name = f"results/plan/{job.key}.json"
    if name not in packed.digests:
        raise ResauditError(f"{packed.path} has no {name}; get the archive again")
    theirs, ours = packed.parsed(name), planned(job)
    if not isinstance(theirs, dict) or _canonical({key: theirs.get(key) for key in ours}) != _canonical(ours):
        raise ResauditError(f"{packed.path}: {name} is not the plan of this job here; {_had(packed)}")


def _provenance(packed: Packed, job: Job) -> JobProvenance:
    """A job's provenance, checked against the bytes of its files."""
    folder, there = f"results/{job.key}", packed.jobs[job.key]
    if there != {*job.files, *RECORDS}:
        theirs = one_line(", ".join(sorted(there)))
        raise ResauditError(f"{packed.path}: {folder} has {theirs}; allowed: {', '.join(job.files)}")
    if _canonical(packed.parsed(f"{folder}/settings.json")) != _canonical(job.identity):
        raise ResauditError(f"{packed.path}: {folder}/settings.json is of another job; get the archive again")
    provenance = f"{folder}/provenance.json"
    ran = validated(JobProvenance, packed.parsed(provenance), f"{packed.path}: {provenance}")
    if ran.sha256 != {name: packed.digests[f"{folder}/{name}"] for name in job.files}:
        raise ResauditError(f"{packed.path}: {folder} is not what its provenance says was computed")
    return ran


def _check_inputs(packed: Packed, job: Job, found: Mapping[str, JobProvenance]) -> None:
    """Check that a job read what its inputs gave, and of raw data what the ledger in ``config/dataset`` has."""
    stated, raw = found[job.key].inputs, set[str]()
    for needed in job.inputs.values():
        if isinstance(needed, Fetch):
            raw |= {f"{needed.key}/{file.name}" for file in needed.dataset.files.values()}
            digests = {
                f"{needed.key}/{f.name}": f.digest for f in needed.dataset.files.values() if f.algorithm == "sha256"
            }
        elif needed.key in found:
            digests = {f"{needed.key}/{name}": digest for name, digest in found[needed.key].sha256.items()}
        else:
            raise ResauditError(
                f"{packed.path}: {job.key} reads {needed.key}, which is not in it; get the archive again"
            )
        for name, digest in digests.items():
            if stated.get(name, digest) != digest:
                raise ResauditError(f"{packed.path}: {job.key} was computed from another {name} than is known")
    expected = set(job.data_read(Path()))
    if stated.keys() - expected or expected - raw - stated.keys():
        raise ResauditError(
            f"{packed.path}: {job.key} does not say the digests of what it reads; get the archive again"
        )


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
