"""Recomputing jobs: each a ``resaudit run`` of its own, with inputs from ``results/`` and outputs beside them.

Nothing goes through the workflow, whose outputs are the very files to compare with.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line
from resaudit.base.papers import as_words
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.origin import RECOMPUTED
from resaudit.jobs.plan_files import code_of_kind, write_job
from resaudit.plan.plan import with_inputs
from resaudit.share.spot_check.population import Imported

SECONDS_BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class Ran:
    """A job that was recomputed.

    Attributes:
        one: the imported result.
        results: folder of results with what was recomputed.
        seconds: it took, with starting.
        error: why it failed, else None.
    """

    one: Imported
    results: Path
    seconds: float
    error: str | None


def recompute(
    jobs: Sequence[Imported], always: int, results: Path, cores: int, seconds: float | None
) -> Generator[Ran, None, None]:
    """Recompute jobs, started in their order, as many at once as the cores allow; yield each when it has ended.

    A job is started while time is left, and then finished. Leaving the iterator stops those that still run; a training
    then keeps its checkpoint.

    Args:
        jobs: in their order.
        always: how many of the first are started even when time is up.
        results: folder of the imported results.
        cores: to use.
        seconds: time to start jobs in; None: no limit.
    """
    begun = time.monotonic()
    waiting, running = list(jobs), list[_Running]()
    try:
        while waiting or running:
            is_late = seconds is not None and time.monotonic() - begun >= seconds and len(jobs) - len(waiting) >= always
            used = sum(one.threads for one in running)
            if waiting and not is_late and used + _threads(waiting[0], cores) <= cores:
                one = waiting.pop(0)
                try:
                    running.append(_Running(one, results, cores))
                except ResauditError as error:
                    yield Ran(one, folder_of(results, one.job), 0.0, str(error))
                continue
            if is_late and not running:
                return
            ended = [one for one in running if one.process.poll() is not None]
            for one_ended in ended:
                running.remove(one_ended)
                yield one_ended.ran()
            if not ended:
                time.sleep(SECONDS_BETWEEN_LOOKS)
    finally:
        for left in running:
            left.stop()


def folder_of(results: Path, job: Job) -> Path:
    """The folder of results in which a job is recomputed."""
    return results / RECOMPUTED / job.key


def forget(results: Path, job: Job) -> None:
    """Remove what was recomputed of a job; its inputs were links."""
    shutil.rmtree(folder_of(results, job), ignore_errors=True)


def prepare(job: Job, execution: Execution, results: Path) -> Path:
    """Write a job's plan, and link the results that it reads; those not here, such as whitened data, are computed.

    Returns:
        The folder of results in which to run the job.

    Raises:
        ResauditError: an input cannot be computed, or a file cannot be written.
    """
    own, reads = folder_of(results, job), set(job.reads(results))
    write_job(job, execution, own)
    for needed in with_inputs(job.inputs.values()).values():
        source = results
        if not all(file.is_file() for file in reads.intersection(needed.written(results))):
            source = _computed(needed, execution, results)
        if needed.files and needed.folder(source).is_dir():
            link = needed.folder(own)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(needed.folder(source).resolve())
    return own


def _computed(job: Job, execution: Execution, results: Path) -> Path:
    """The folder of results with an input that was not here."""
    own = folder_of(results, job)
    if not all(file.is_file() for file in job.written(own)):
        process = _start(job, 1, prepare(job, execution, results))
        if process.wait():
            raise ResauditError(f"its input {job.key} cannot be computed: {_why(own)}")
    return own


class _Running:
    """A job that runs.

    Raises:
        ResauditError: as of :func:`prepare`.
    """

    def __init__(self, one: Imported, results: Path, cores: int) -> None:
        self._one, self.threads, self._begun = one, _threads(one, cores), time.monotonic()
        self._results = prepare(one.job, one.execution, results)
        self.process = _start(one.job, one.cost.threads, self._results)

    def ran(self) -> Ran:
        """What came of it."""
        error = _why(self._results) if self.process.returncode else None
        return Ran(self._one, self._results, round(time.monotonic() - self._begun, 2), error)

    def stop(self) -> None:
        """Stop it; a training writes its checkpoint."""
        self.process.terminate()
        self.process.wait()


def _threads(one: Imported, cores: int) -> int:
    return min(one.cost.threads, cores)


def _start(job: Job, threads: int, own: Path) -> subprocess.Popen[bytes]:
    given = ["--results", str(own), "--threads", str(threads), "--code", code_of_kind(job.kind)]
    command = [sys.executable, "-m", "resaudit", *as_words(), "run", job.key, *given]
    with (own / "log").open("wb") as log:
        # In a session of its own, so that Ctrl-C reaches this process first.
        return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)


def _why(own: Path) -> str:
    """The last line of a failed job's log."""
    lines = (own / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return one_line(lines[-1] if lines else f"no log in {own}").removeprefix("resaudit: error: ")
