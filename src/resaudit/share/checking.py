"""Checking an archive's jobs against this checkout's plan, code and data, and its arrays against what its jobs state.

Digests prove which bytes were packed, and that outputs, inputs and settings belong together; never that they were
computed.
"""

import json
import shlex
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.audit.schema import check_audit
from resaudit.base.errors import ArchiveError, ResauditError, listed
from resaudit.base.models import check_lines, one_line, shown, validated
from resaudit.base.papers import KEY
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import RECORDS, Execution, Job
from resaudit.jobs.plan_files import code_of, computing_kinds, planned
from resaudit.jobs.results import JobProvenance
from resaudit.plan.plan import Plan
from resaudit.share.comparing import stays
from resaudit.share.packed import Packed

LONGEST_SHOWN = 500
"""Letters of overrides that are shown in an error."""
KINDS = "biufU"
"""Kinds of dtypes: booleans, integers, floats and text; objects would be pickles."""


def check_jobs(packed: Packed, plan: Plan, other_code: bool) -> dict[str, JobProvenance]:
    """Check every job of an archive; its provenance, by ``kind/id``."""
    if not packed.jobs:
        raise ArchiveError(f"{packed.path} has no results; allowed: an archive of resaudit crate")
    judged = _judged(packed)
    _check_planned(packed, plan, judged)
    _check_tables(packed, judged)
    provenances = {key: _checked_provenance(packed, plan.jobs[key]) for key in packed.jobs}
    for key, provenance in provenances.items():
        check_machine(plan.jobs[key], provenance, f"{packed.path}: results/{key}/provenance.json")
        _check_inputs(packed, plan.jobs[key], provenances)
    if not other_code:
        _check_code(packed, plan, provenances)
    return provenances


def _judged(packed: Packed) -> dict[str, str]:
    """The digest of each table that the archive's audit judged; none of an audit of another format."""
    with suppress(ResauditError):
        check_audit(packed.audit)
        return {figure["id"]: figure["sha256"] for paper in packed.audit["papers"] for figure in paper["figures"]}
    return {}


def _check_planned(packed: Packed, plan: Plan, judged: Mapping[str, str]) -> None:
    unknown = sorted(packed.jobs.keys() - plan.jobs.keys())
    if unknown:
        is_known = judged.keys() <= plan.config.figure.keys()
        is_known = is_known and {key.split("/")[0] for key in unknown} <= {*computing_kinds()}
        papers = "" if is_known else f", with {KEY}=FOLDER if it is of a paper from outside this repository"
        raise ArchiveError(
            f"{packed.path}: {len(unknown)} of its results ({unknown[0]} …) are not planned here; "
            f"{_same_overrides(packed)}{papers}"
        )


def _check_tables(packed: Packed, judged: Mapping[str, str]) -> None:
    for figure, digest in judged.items():
        if packed.digests.get(f"figures/{figure}.csv") != digest:
            raise ArchiveError(f"{packed.path}: {one_line(figure)}.csv is not the table that was judged")


def _check_code(packed: Packed, plan: Plan, provenances: Mapping[str, JobProvenance]) -> None:
    others = sorted(key for key, provenance in provenances.items() if provenance.code != code_of(plan.jobs[key]))
    if others:
        stated = packed.audit.get("provenance")
        commit = stated.get("commit") if isinstance(stated, dict) else None
        commit = shown(commit.get("id") if isinstance(commit, dict) else None)[1:13]
        raise ArchiveError(
            f"{packed.path}: {len(others)} of its results ({others[0]} …) are of other code than this checkout's; "
            f"check out the commit {commit}, or accept them with --other-code"
        )


def _same_overrides(packed: Packed) -> str:
    """The remedy if plans differ: the overrides that the run had, as its audit says."""
    overrides = packed.audit.get("overrides")
    words = shlex.join(map(str, overrides)) if isinstance(overrides, list) else None
    if words is None or not words.isprintable() or len(words) > LONGEST_SHOWN:
        return "give the overrides that its figures/audit.json lists"
    return f"its run had {f'the overrides {words}' if words else 'no overrides'}: give the same"


def _checked_provenance(packed: Packed, job: Job) -> JobProvenance:
    """A job's provenance, after checks of its plan, its settings and the digests of its files."""
    plan, folder = f"results/plan/{job.key}.json", f"results/{job.key}"
    theirs, ours = packed.parsed(plan) if plan in packed.digests else None, planned(job)
    if not isinstance(theirs, dict) or _canonical({key: theirs.get(key) for key in ours}) != _canonical(ours):
        raise ArchiveError(f"{packed.path}: {plan} is not the plan of this job here; {_same_overrides(packed)}")
    name = f"{folder}/provenance.json"
    if packed.jobs[job.key] == {*job.files, *RECORDS}:
        provenance = validated(JobProvenance, packed.parsed(name), f"{packed.path}: {name}")
        is_same = _canonical(packed.parsed(f"{folder}/settings.json")) == _canonical(job.identity)
        if is_same and provenance.sha256 == {file: packed.digests[f"{folder}/{file}"] for file in job.files}:
            return provenance
    raise ArchiveError(f"{packed.path}: {folder} is not of one computation; get the archive again")


def check_machine(job: Job, provenance: JobProvenance, where: str) -> None:
    """Check that a machine and a kernel can have made a job's result: they decide how strictly it is compared.

    Of a kind of job from outside the repository only bytes ever count, so nothing is asked.
    """
    if job.tolerances() is None:
        return
    device = "cpu" if provenance.device == "cpu" else "cuda"
    can_use_it = device == "cpu" or job.cost(Execution(device)).wants_gpu
    lanes = provenance.cpu_platform.get("vector lanes")
    known = {name: n for name, n in lanes.items() if isinstance(n, int)} if isinstance(lanes, dict) else {}
    kernels = job.kernels(device, known)
    is_kernel = any(fnmatchcase(provenance.kernel or "", name) for name in kernels or ("",))
    if not can_use_it or provenance.cpu_platform.get("device") != provenance.device or not is_kernel:
        devices = "this device" if can_use_it else "only cpu"
        raise ArchiveError(
            f"{where} has the device {shown(provenance.device)} and the kernel {shown(provenance.kernel)}; this job "
            f"can have {devices}, as its machine class too, and {'; '.join(kernels) or 'no kernel'}"
        )


def _check_inputs(packed: Packed, job: Job, provenances: Mapping[str, JobProvenance]) -> None:
    """Check that a job read what its inputs gave, and of raw data what the ledger in ``config/dataset`` has."""
    stated, names = provenances[job.key].inputs, set(job.data_read(Path()))
    known, raw, wrong = dict[str, str](), set[str](), set[str]()
    for needed in job.inputs.values():
        if isinstance(needed, Fetch):
            files = {f"{needed.key}/{file.name}": file for file in needed.dataset.files.values()}
            raw |= files.keys()
            known |= {name: file.digest for name, file in files.items() if file.algorithm == "sha256"}
        elif needed.key in provenances:
            known |= {f"{needed.key}/{name}": digest for name, digest in provenances[needed.key].sha256.items()}
        else:
            wrong.add(needed.key)
    wrong |= (stated.keys() - names) | (names - raw - stated.keys())
    wrong |= {name for name, digest in known.items() if stated.get(name, digest) != digest}
    if wrong:
        raise ArchiveError(
            f"{packed.path}: {job.key} was computed from another {one_line(min(wrong))} than is known, or from an "
            "unknown one; get the archive again"
        )


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def check_arrays(path: Path, job: Job, where: str = "") -> None:
    """Check that a result file has the arrays that its job can give, and that its texts are lines.

    Args:
        path: the file.
        job: its job.
        where: what the file is called in errors; default: its path.
    """
    try:
        arrays = _plain_arrays(path)
    # On damaged bytes zipfile, tokenize and NumPy each raise their own exceptions.
    except Exception as error:
        reason = one_line(str(error) or type(error).__name__)
        raise ArchiveError(f"{where or path} has no plain arrays ({reason}); get the archive again") from error
    check_shapes(job, path, arrays, where)
    for name, tolerance in (job.tolerances() or {}).items():
        if tolerance.runs is not None:
            diverged = ~np.isfinite(arrays[name])
            if (diverged != stays(diverged, tolerance.epochs)).any():
                raise ArchiveError(f"{where or path}: {name} has a run that diverges and comes back")


def _plain_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file; raises an exception of any kind if one is compressed, no array, or not plain."""
    with zipfile.ZipFile(path) as archive:
        # A small file of compressed zeros can fill all memory.
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise ValueError("compressed")
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in KINDS:
            raise ValueError(f"{name} is {getattr(array, 'dtype', 'no array')}")
        if array.dtype.kind == "U":
            # An empty text says that there is nothing to say.
            check_lines([text for text in np.unique(array).tolist() if text])
    return arrays


def check_shapes(job: Job, path: Path, arrays: Mapping[str, np.ndarray], where: str = "") -> None:
    """Check that arrays have the names, types and shapes that their job states (:mod:`resaudit.jobs.arrays`)."""
    stated = job.arrays_of(path.name)
    if stated.keys() != arrays.keys():
        raise ArchiveError(
            f"{where or path} has the arrays {one_line(', '.join(sorted(arrays)))}; its job gives "
            f"{listed(sorted(stated))}"
        )
    symbols = {size for array in stated.values() for size in array.shape if isinstance(size, str)}
    sizes = {symbol: size for symbol in symbols if (size := job.size(symbol)) is not None}
    for name, statement in stated.items():
        if statement.type is None:
            continue
        array, is_text = arrays[name], statement.type == "U"
        dtype = np.dtype(getattr(job, statement.type, statement.type))
        # An empty list has no type of its own.
        is_type = array.size == 0 or (array.dtype.kind == "U" if is_text else array.dtype == dtype)
        # A size that the job does not know is that of the first array that has it.
        if not (is_type and len(statement.shape) == array.ndim) or not all(
            (sizes.setdefault(size, length) if isinstance(size, str) else size) == length
            for size, length in zip(statement.shape, array.shape, strict=True)
        ):
            shape = [sizes.get(size, size) if isinstance(size, str) else size for size in statement.shape]
            found = f"{array.dtype}{list(array.shape)}"
            allowed = f"{'text' if is_text else dtype}[{', '.join(map(str, shape))}]"
            raise ArchiveError(f"{where or path}: {name} is {found}; its job gives {allowed}")
