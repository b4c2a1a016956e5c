"""Running a job from its plan file: results, settings and provenance."""

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from resaudit.base.errors import ConfigError, MachineError
from resaudit.base.files import sha256_of, write_json
from resaudit.jobs.checkpoints import forget
from resaudit.jobs.job import Execution, Job, Work
from resaudit.jobs.plan_files import code_of, read_job
from resaudit.jobs.provenance import provenance
from resaudit.jobs.results import CPU_PLATFORM, read_provenance, save_arrays
from resaudit.runtime.devices import claim_device
from resaudit.runtime.limits import keep_memory, processors
from resaudit.runtime.progress import log


def run_job(
    key: str, results: Path, code: str | None = None, checkpoints: Path | None = None, copies: Path | None = None
) -> None:
    """Run the job ``kind/id`` of a results folder's plan.

    Args:
        key: the job.
        results: folder of all results, with the plan in it.
        code: hash of the job's code; None: as it is now.
        checkpoints: folder of all checkpoints; None: in that of results.
        copies: folder with copies of what a storage holds, inputs and results, which all paths but those of the plan
            and of checkpoints begin in; None: the working directory.
    """
    job, execution = read_job(results, key)
    checkpoints = (checkpoints or results / "checkpoints") / key
    if copies:
        checkpoints = checkpoints.absolute()
        os.chdir(copies)
    if code and os.environ.get("APPTAINER_CONTAINER") and code != code_of(job):
        raise MachineError(
            f"the image {os.environ['APPTAINER_CONTAINER']} holds other code of {job.kind} than the checkout; build it "
            "again from this commit"
        )
    code = code or code_of(job)
    start, started = time.monotonic(), datetime.now(UTC).isoformat(timespec="seconds")
    device = device_of(job, execution)
    name = "cpu" if device == "cpu" else sys.modules["torch"].cuda.get_device_name()
    work = Work(results, execution, device, checkpoints, {"device": name}, code)
    keep_memory()
    made = job.run(work)
    if not job.files:
        return
    folder = job.folder(results)
    for name, content in made.items():
        (write_json if name.endswith(".json") else save_arrays)(folder / name, content)
    write_json(folder / "settings.json", job.identity)
    torch = sys.modules.get("torch")
    work.record |= {
        "seconds": round(time.monotonic() - start, 2),
        "started": started,
        "code": work.code,
        # Of raw data, a job may read the training set alone.
        "inputs": {name: _digest(path) for name, path in job.data_read(results).items() if path.is_file()},
        "threads": torch.get_num_threads() if torch else int(os.environ.get("OMP_NUM_THREADS", processors())),
        CPU_PLATFORM: work.platform,
        "sha256": {name: sha256_of(folder / name) for name in made},
        **provenance(),
    }
    write_json(folder / "provenance.json", work.record)
    forget(work.checkpoints)
    log(f"wrote {folder}")


def _digest(path: Path) -> str:
    """The SHA-256 of a file that a job has read: of a result the recorded one, which its reader has checked."""
    recorded = read_provenance(path.parent).sha256 if (path.parent / "provenance.json").is_file() else {}
    return recorded.get(path.name) or sha256_of(path)


def device_of(job: Job, execution: Execution) -> str:
    """The device that a job computes on; a GPU is claimed for this process."""
    if execution.device == "cpu" or not job.cost(execution).wants_gpu:
        return "cpu"
    claim_device()
    import torch

    if not torch.cuda.is_available():
        raise ConfigError("device is cuda, but torch sees no CUDA device here; allowed: auto, cpu")
    return "cuda"
