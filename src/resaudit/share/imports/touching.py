"""Telling Snakemake of imported results, so that it neither recomputes them nor misses a later change of code."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from resaudit.base.errors import ResauditError
from resaudit.base.papers import as_words
from resaudit.jobs.job import Job
from resaudit.plan.composition import config_folder
from resaudit.runtime.progress import log


def touch(jobs: Sequence[Job], results: Path, overrides: Sequence[str], figures: Sequence[str]) -> None:
    """Give imported results fresh dates and Snakemake's metadata of today's parameters, and protect them.

    Args:
        jobs: whose results were imported; each is a leaf of Snakemake's graph by its ``imported.json``.
        results: folder of all results, whose lock this process holds.
        overrides: of the run.
        figures: that rest on these jobs; others, as those that are left out, have no part in it.

    Raises:
        ResauditError: Snakemake refuses.
    """
    others = [override for override in overrides if not override.startswith("figures=")]
    given = json.dumps([*as_words(), *others, f"figures=[{','.join(figures)}]"])
    command = [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(config_folder().parent / "Snakefile"), "--cores", "1"),
        # The Snakefile's onstart would wait for the lock that this process holds.
        *("--rerun-incomplete", "--touch", "--no-hooks", "--quiet", "all", "--config", f"overrides={given}"),
        *("--force", *(str(job.written(results)[0]) for job in jobs)),
    ]
    written = [path for job in jobs for path in job.written(results)]
    _set_mode(0o644, written)
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        said = [line for line in run.stderr.splitlines() if line.strip()] or ["it says nothing"]
        raise ResauditError(f"snakemake --touch failed ({said[-1]}); import the run again")
    # Then whatever would replace an imported result is stopped before it deletes anything.
    if not _set_mode(0o444, written):
        log("resaudit: warning: the file system of the results takes no modes: imported ones are not write-protected")


def _set_mode(mode: int, files: Sequence[Path]) -> bool:
    """Set the mode of files; whether the file system takes it, since shared and removable ones may refuse."""
    try:
        for file in files:
            file.chmod(mode)
    except OSError:
        return False
    return True
