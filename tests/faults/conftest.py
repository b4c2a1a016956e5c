"""A few figures that have a file of every kind, run once without a fault: the oracle of all runs with one."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from resaudit.plan.models import Config
from tests import forked
from tests.conftest import CHECKOUT, Completed, made_once, run_command, snakemake_command

PAPER = "demystifying_resnet"
FIGURES = "figures=[demystifying_resnet/fig05,theorem1]"
NOTHING = "Nothing to be done"
ALONG_TRAINING = f"figure.{PAPER}.fig05.protocol"
FEW_OVERRIDES = [
    f"paths.data={CHECKOUT / 'data'}", f"{ALONG_TRAINING}.networks=[2-shortcut]", f"{ALONG_TRAINING}.epochs=6000",
    "checkpoint_seconds=0.2",
]  # fmt: skip
KINDS = ("csv", "pdf", "svg", "png")


def few_command(*arguments: str, cores: str = "all", overrides: list[str] | None = None) -> list[str]:
    given = f"overrides=[{','.join([*FEW_OVERRIDES, *(overrides or [])])}]"
    return snakemake_command(*arguments, "--config", "scale=smoke", FIGURES, given, cores=cores)


def few(folder: Path, *arguments: str, environment: dict[str, str] | None = None, **more: object) -> Completed:
    """The few figures, by the real workflow; in another environment by a Python that starts in it."""
    command = few_command(*arguments, **more)  # type: ignore[arg-type]
    if environment:
        return run_command(*command, cwd=folder, timeout=900, environment=environment)
    return forked.snakemake(*command[1:], cwd=folder, timeout=900)


def started(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """A run in a process group of its own, which can be killed as a whole."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.Popen(
        command, cwd=folder, env={**os.environ, "PATH": path, **(environment or {})}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def drawn(folder: Path, *kinds: str, figures: str = "figures") -> dict[str, bytes]:
    """The bytes of all tables and drawings, by name."""
    files = [f for kind in kinds or KINDS for f in sorted((folder / figures).glob(f"{PAPER}/*.{kind}"))]
    return {file.name: file.read_bytes() for file in files}


def nothing_half_written(*folders: Path) -> None:
    for folder in folders:
        assert not list(folder.rglob("*.part"))


def error_of(run: Completed) -> str:
    """The one line that says what is wrong; a job's is told again when the run ends."""
    lines = (run.stdout + "\n" + run.stderr).splitlines()
    lines = [line for line in lines if "resaudit: error: " in line and not line.startswith("failed: ")]
    assert run.returncode != 0
    assert len({line.strip() for line in lines}) == 1, run.stdout[-1500:] + run.stderr[-3000:]
    assert "Traceback" not in run.stdout + run.stderr
    return lines[0].strip()


def done_as_told(line: str, folder: Path) -> list[str]:
    """Do what an error asks for, to the letter; gives the options of Snakemake that it asks for."""
    line = re.sub(r" \[[a-z-]+\]$", "", line)
    if options := re.search(r"\((?:with the run's --config: )?snakemake --cores all (.+)\)$", line):
        return shlex.split(options[1])
    told = re.search(r"remove (.+) and run again$", line)
    assert told, line
    for name in shlex.split(told[1]):
        assert (folder / name).exists(), line
        shutil.rmtree(folder / name) if (folder / name).is_dir() else (folder / name).unlink()
    return []


@pytest.fixture(scope="session")
def undisturbed(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the few figures were drawn and nothing went wrong; ``seconds`` says how long it took."""
    assert mnist_config

    def draw(folder: Path) -> None:
        start = time.monotonic()
        run = few(folder)
        assert run.returncode == 0, run.stderr[-3000:]
        (folder / "seconds").write_text(str(time.monotonic() - start))

    return made_once(tmp_path_factory, "few", draw)


@pytest.fixture
def copy(undisturbed: Path, tmp_path: Path) -> Path:
    """The same with Snakemake's memory of it, to be spoilt."""
    shutil.copytree(undisturbed, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.fixture
def tmpfs() -> Iterator[Callable[..., Path]]:
    """A small file system at a path, which can fill up or be made read-only; skips where that is forbidden."""
    made: list[Path] = []

    def mount(path: Path, options: str) -> Path:
        path.mkdir(parents=True, exist_ok=True)
        again = ["-o", f"remount,{options}"] if path in made else ["-t", "tmpfs", "-o", options, "tmpfs"]
        done = run_command("mount", *again, str(path), cwd=path.parent)
        if done.returncode:
            pytest.skip(f"mounting a file system is not permitted here: {done.stderr.strip()}")
        made.extend([path] if path not in made else [])
        return path

    yield mount
    for path in made:
        assert run_command("umount", str(path), cwd=path.parent).returncode == 0


def wait_for(condition: Callable[[], bool], run: subprocess.Popen[str], what: str, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert run.poll() is None, f"the run ended before {what}"
        assert time.monotonic() < end, f"no {what} in {seconds} s"
        time.sleep(0.02)
