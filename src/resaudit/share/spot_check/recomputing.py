"""Recomputing jobs: each a ``resaudit run`` of its own, with inputs from ``results/`` and outputs beside them.

Nothing goes through the workflow, whose outputs are the very files to compare with.
"""

import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from resaudit.base.errors import DifferenceError, ResauditError, ResultsError
from resaudit.base.models import one_line
from resaudit.base.papers import as_words
from resaudit.jobs.job import Execution, Job
from resaudit.jobs.origin import RECOMPUTED
from resaudit.jobs.plan_files import code_of, write_job
from resaudit.plan.plan import with_inputs
from resaudit.share.spot_check.frame import Imported


@dataclass(frozen=True)
class Recomputation:
    """A job that was recomputed."""

    one: Imported  # the imported result
    seconds: float  # the time that it took, with starting
    error: str | None  # why it failed, else None


def recompute(
    jobs: Sequence[Imported], always: int, results: Path, cores: int, seconds: float | None
) -> Generator[Recomputation, None, None]:
    """Recompute jobs, started in their order, as many at once as the cores allow; yield each when it has ended.

    A job is started while time is left, the first ``always`` ones in any case, and then finished. Leaving the iterator
    stops those that still run; a training then keeps its checkpoint.
    """
    end = None if seconds is None else time.monotonic() + seconds
    processes, waiting, free = _Processes(results), deque(enumerate(jobs)), cores
    running, ended = dict[Future[Recomputation], int](), set[Future[Recomputation]]()

    def run(one: Imported) -> Recomputation:
        begun, error = time.monotonic(), None
        try:
            processes.prepare(one.job, one.execution)
            processes.run(one.job, min(one.cost.threads, cores))
        except ResauditError as failure:
            error = str(failure)
        return Recomputation(one, round(time.monotonic() - begun, 2), error)

    with ThreadPoolExecutor(cores) as pool:
        try:
            while True:
                while waiting and (threads := min(waiting[0][1].cost.threads, cores)) <= free:
                    number, one = waiting.popleft()
                    if end is not None and time.monotonic() >= end and number >= always:
                        waiting.clear()
                        break
                    running[pool.submit(run, one)] = threads
                    free -= threads
                yield from (future.result() for future in ended)
                if not running:
                    return
                ended, _ = wait(running, return_when=FIRST_COMPLETED)
                free += sum(running.pop(future) for future in ended)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            processes.stop()


def folder_of(results: Path, job: Job) -> Path:
    """The folder of results in which a job is recomputed."""
    return results / RECOMPUTED / job.key


class _Processes:
    """The ``resaudit run`` of several threads, which one call stops."""

    def __init__(self, results: Path) -> None:
        self._results, self._running = results, set[subprocess.Popen[bytes]]()
        self._starting, self._preparing, self._is_stopped = Lock(), Lock(), False

    def prepare(self, job: Job, execution: Execution) -> None:
        """Write a job's plan, and link the results that it reads; those not here, as whitened data, are computed."""
        # One at a time, since two jobs may need the same input.
        with self._preparing:
            self._prepare(job, execution)

    def _prepare(self, job: Job, execution: Execution) -> None:
        folder, reads = folder_of(self._results, job), set(job.reads(self._results))
        write_job(job, execution, folder)
        for needed in with_inputs(job.inputs.values()).values():
            source = self._results
            if not all(file.is_file() for file in reads.intersection(needed.written(source))):
                source = folder_of(self._results, needed)
                if not all(file.is_file() for file in needed.written(source)):
                    self._prepare(needed, execution)
                    self.run(needed, 1)
            if needed.files and needed.folder(source).is_dir():
                link = needed.folder(folder)
                link.parent.mkdir(parents=True, exist_ok=True)
                link.unlink(missing_ok=True)
                link.symlink_to(needed.folder(source).resolve())

    def run(self, job: Job, threads: int) -> None:
        """Run a prepared job to its end."""
        folder = folder_of(self._results, job)
        options = ["--results", str(folder), "--threads", str(threads), "--code", code_of(job)]
        command = [sys.executable, "-m", "resaudit", *as_words(), "run", job.key, *options]
        with (folder / "log").open("wb") as log, self._starting:
            if self._is_stopped:
                raise DifferenceError("the spot-check was stopped")
            # In a session of its own, so that Ctrl-C reaches this process first.
            process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
            self._running.add(process)
        status = process.wait()
        with self._starting:
            self._running.remove(process)
        if status:
            lines = (folder / "log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
            reason = one_line(lines[-1] if lines else f"no log in {folder}").removeprefix("resaudit: error: ")
            raise ResultsError(f"{job.key} failed: {reason}")

    def stop(self) -> None:
        """Stop all that run, and let no other begin; a training writes its checkpoint."""
        with self._starting:
            self._is_stopped = True
            for process in self._running:
                process.terminate()
