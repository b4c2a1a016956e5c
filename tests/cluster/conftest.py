"""A cluster for the tests of a file, and how they submit to it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.slurm import Cluster, keeps_accounts, output, wait_until, why_not
from tests.conftest import CHECKOUT, one_at_a_time

TOY = Path(__file__).with_name("toy.smk")
PROFILES = CHECKOUT / "profiles"


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two nodes, idle; one cluster at a time, since Slurm's settings stand in /etc."""
    with one_at_a_time(tmp_path_factory, "slurm"):
        reason = why_not()
        if reason:
            pytest.skip(reason)
        folder = Path(tempfile.mkdtemp(prefix="resaudit-slurm-"))
        cluster = Cluster(folder, accounting=keeps_accounts())
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
            shutil.rmtree(folder)


def submitted(*arguments: str, seconds: int, snakefile: Path, profile: Path) -> list[str]:
    """``snakemake`` with the profile that is tested, looking sooner than for jobs of hours, and killed if it hangs."""
    return [
        "timeout", "-k", "5", str(seconds), "snakemake", "--snakefile", str(snakefile),
        "--profile", str(profile), "--workflow-profile", str(PROFILES / "default"),
        "--slurm-init-seconds-before-status-checks", "1", "--latency-wait", "5", *arguments,
    ]  # fmt: skip


class Run:
    """A snakemake at work; what it says goes to the file ``said``."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        seconds: int,
        snakefile: Path = TOY,
        profile: Path = PROFILES / "slurm",
        path: Path | None = None,
    ) -> None:
        self.folder, self.file = folder, folder / "said"
        paths = [*([str(path)] if path else []), str(Path(sys.executable).parent), os.environ["PATH"]]
        with self.file.open("w") as said:
            command = submitted(*arguments, seconds=seconds, snakefile=snakefile, profile=profile)
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=said, stderr=said,
                env={**os.environ, "PATH": os.pathsep.join(paths)},
                start_new_session=True,
                # A shell's background jobs ignore Ctrl-C, and so would what they start.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )  # fmt: skip

    def said(self) -> str:
        return self.file.read_text(encoding="utf-8")

    def status(self) -> int:
        """Its exit status; 124 or 137 if it hung."""
        return self.process.wait()

    def wait_for(self, *files: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not all((self.folder / file).exists() for file in files):
            assert self.process.poll() is None, self.said()[-3000:]
            assert time.monotonic() < end, f"no {files} after {seconds} s\n{self.said()[-3000:]}"
            time.sleep(0.1)


def jobs_of(folder: Path, name: str) -> list[list[str]]:
    """Node and number of each start of a toy job."""
    return [line.split() for line in (folder / "started" / name).read_text().splitlines()]


def wait_for_quiet(cluster: Cluster) -> None:
    """Until no job is left and both nodes are idle."""
    wait_until(lambda: output("squeue", "-h") == "", "no job is left", cluster)
    wait_until(lambda: output("sinfo", "-h", "-o", "%T %D") == "idle 2", "nodes are idle", cluster)


@pytest.fixture(autouse=True)
def quiet(slurm: Cluster) -> Iterator[None]:
    """The cluster with nothing to do, before and after a test."""
    wait_for_quiet(slurm)
    yield
    subprocess.run(["scancel", "--user", "root"], check=False)
    wait_for_quiet(slurm)
