"""What an image needs of the workflow, without one: a stand-in for apptainer, a read-only checkout, a nameless user.

Sees a job that starts the machine's Python in place of the image's, and whatever writes beside the results.
"""

import shlex
import sys
from pathlib import Path

import pytest

from resaudit.base.errors import MachineError
from resaudit.jobs.runner import run_job
from tests.conftest import CHECKOUT, Completed, run_command, run_snakemake, snakemake_command
from tests.refusals import assert_exits, refused

CONFIG = ("--config", "scale=smoke", "figures=[identity_matters/table1]")
APPTAINER = """#!/bin/bash
[ "$1" != --version ] || {{ echo apptainer version 1.3.4; exit; }}
until [ "$1" = my.sif ]; do shift; done
printf '%s\\n' "$@" >> asked
PATH={python}:$PATH APPTAINER_CONTAINER=$1 exec "${{@:2}}"
"""
"""Runs what is to run in the image on this machine, and writes it down."""


@pytest.fixture
def apptainer(tmp_path: Path) -> Path:
    """A folder with the stand-in."""
    program = tmp_path / "programs" / "apptainer"
    program.parent.mkdir()
    program.write_text(APPTAINER.format(python=shlex.quote(str(Path(sys.executable).parent))), encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def test_jobs_run_in_the_image_by_its_python(apptainer: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(apptainer / "programs"), prepend=":")
    image = ("--sdm", "apptainer", *CONFIG)
    assert_exits(run_snakemake(*image, cwd=apptainer), "--config container=")
    run = run_snakemake("--until", "count", *image, "container=my.sif", cwd=apptainer)
    assert run.returncode == 0, run.stderr[-2000:]
    made = sorted(apptainer.glob("results/count/*/provenance.json"))
    asked = (apptainer / "asked").read_text()
    assert [asked.count(f"  python -m resaudit run count/{file.parent.name} ") for file in made] == [1, 1]
    assert asked.count(" -m resaudit run ") == 2
    monkeypatch.setenv("APPTAINER_CONTAINER", "my.sif")
    key = f"count/{made[0].parent.name}"
    with refused(MachineError, "my.sif", "count"):
        run_job(key, apptainer / "results", "0" * 64)


def as_nobody_known(script: str, cwd: Path) -> Completed:
    """Run a script where the checkout is read-only and the user has an id alone: no rights, name or existing home."""
    home = f"HOME={cwd.parent / 'home'}"  # Snakemake makes it
    nobody = f"unshare --user --map-user=54321 --map-group=54321 env -u USER -u LOGNAME {home}"
    begin = f"mount --bind {CHECKOUT} {CHECKOUT} && mount -o remount,bind,ro {CHECKOUT} && nobody='{nobody}'"
    command = ("unshare", "--user", "--map-root-user", "--mount", "bash", "-euc")
    tried = run_command(*command, f"{begin}; $nobody true", cwd=cwd)
    if tried.returncode:
        pytest.skip(f"this machine allows no user namespaces: {tried.stderr.strip()}")
    return run_command(*command, f"{begin}; {script}", cwd=cwd)


def test_a_run_needs_neither_home_nor_name_nor_to_write_into_the_checkout(tmp_path: Path) -> None:
    run = as_nobody_known(f"$nobody {shlex.join(snakemake_command(*CONFIG))}", tmp_path)
    assert run.returncode == 0, run.stderr[-2000:]
    assert (tmp_path / "figures" / "audit.html").is_file()


def test_a_read_only_working_directory_is_refused(tmp_path: Path) -> None:
    command = shlex.join(snakemake_command("--dry-run", *CONFIG))
    run = as_nobody_known(f"mount -t tmpfs -o ro none {tmp_path}; cd {tmp_path}; $nobody {command}", tmp_path)
    assert_exits(run, tmp_path, "--directory")
