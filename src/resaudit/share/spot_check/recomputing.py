"""Recomputing jobs: each a ``resaudit run`` of its own, with inputs from ``results/`` and outputs beside them.

Nothing goes through the workflow, whose outputs are the very files to compare with.
"""

import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line
from resaudit.base.papers import as_words
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.origin import RECOMPUTED
from resaudit.jobs.plan_files import code_of, write_job
from resaudit.plan.plan import with_inputs
from resaudit.share.spot_check.population import Imported


@dataclass(frozen=True)
class Ran:
    """A job that was recomputed.

    Attributes:
        one: the imported result.
        results: folder of results with what was recomputed.
        seconds: the time that it took, with starting.
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
        jobs: the imported results, in the order of the draw.
        always: how many of the first are started even when time is up.
        results: folder of the imported results.
        cores: number of cores to use.
        seconds: time to start jobs in; None: no limit.
    """
    end = None if seconds is None else time.monotonic() + seconds
    threads = min(cores, max((one.cost.threads for one in jobs), default=1))
    processes = _Processes()

    def run(number: int, one: Imported) -> Ran | None:
        begun, own, error = time.monotonic(), folder_of(results, one.job), None
        if end is not None and begun >= end and number >= always:
            return None
        try:
            processes.prepare(one.job, one.execution, results)
            error = processes.run(one.job, min(one.cost.threads, cores), own)
        except ResauditError as failed:
            error = str(failed)
        return Ran(one, own, round(time.monotonic() - begun, 2), error)

    with ThreadPoolExecutor(max(1, cores // threads)) as pool:
        try:
            for future in as_completed([pool.submit(run, *numbered) for numbered in enumerate(jobs)]):
                if ran := future.result():
                    yield ran
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()


def folder_of(results: Path, job: Job) -> Path:
    """The folder of results in which a job is recomputed."""
    return results / RECOMPUTED / job.key


def forget(results: Path, job: Job) -> None:
    """Remove what was recomputed of a job; its inputs were links."""
    shutil.rmtree(folder_of(results, job), ignore_errors=True)


class _Processes:
    """The ``resaudit run`` of several threads, which one call stops."""

    def __init__(self) -> None:
        self._at_work: set[subprocess.Popen[bytes]] = set()
        self._starting, self._preparing, self._stopped = Lock(), Lock(), False

    def prepare(self, job: Job, execution: Execution, results: Path) -> None:
        """Write a job's plan, and link the results that it reads; those not here, as whitened data, are computed.

        Raises:
            ResauditError: an input cannot be computed, or a file cannot be written.
        """
        # One at a time, since two jobs may need the same input.
        with self._preparing:
            self._prepare(job, execution, results)

    def _prepare(self, job: Job, execution: Execution, results: Path) -> None:
        own, reads = folder_of(results, job), set(job.reads(results))
        write_job(job, execution, own)
        for needed in with_inputs(job.inputs.values()).values():
            source = results
            if not all(file.is_file() for file in reads.intersection(needed.written(results))):
                source = folder_of(results, needed)
                if not all(file.is_file() for file in needed.written(source)):
                    self._prepare(needed, execution, results)
                    if error := self.run(needed, 1, source):
                        raise ResauditError(f"its input {needed.key} cannot be computed: {error}")
            if needed.files and needed.folder(source).is_dir():
                link = needed.folder(own)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(needed.folder(source).resolve())

    def run(self, job: Job, threads: int, own: Path) -> str | None:
        """Run a prepared job to its end; the last line of its log if it fails, else None."""
        given = ["--results", str(own), "--threads", str(threads), "--code", code_of(job)]
        command = [sys.executable, "-m", "resaudit", *as_words(), "run", job.key, *given]
        with (own / "log").open("wb") as log, self._starting:
            if self._stopped:
                return "the spot-check was stopped"
            # In a session of its own, so that Ctrl-C reaches this process first.
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            self._at_work.add(process)
        failed = process.wait()
        with self._starting:
            self._at_work.remove(process)
        if not failed:
            return None
        lines = (own / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return one_line(lines[-1] if lines else f"no log in {own}").removeprefix("resaudit: error: ")

    def stop(self) -> None:
        """Stop all that run, and let no other begin; a training writes its checkpoint."""
        with self._starting:
            self._stopped = True
            for process in self._at_work:
                process.terminate()
