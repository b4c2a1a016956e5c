"""Processes forked from a server that has imported what they need: each costs a fork in place of seconds of CPU.

They are not forked from the test's process, whose threads (grimp's and torch's, started once used) no fork takes along.
"""

import importlib
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing.connection import wait
from multiprocessing.context import ForkServerContext
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from threading import Thread


def forks() -> ForkServerContext:
    """The context of such processes. A process has one server, so all tests ask here."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["snakemake.cli", "resaudit.cli.workflow", "torch"])
    return context


def snakemake(
    *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None, timeout: float = 300
) -> CompletedProcess[str]:
    """``snakemake …`` in a folder, as a user would type it, but with a line about every job."""
    command = ("snakemake", "--quiet=reason", *arguments)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        outputs = Path(folder, "stdout"), Path(folder, "stderr")
        process = forks().Process(
            target=_become, args=(command, cwd, os.environ | (environment or {}) | {"PATH": path}, outputs)
        )
        process.start()
        try:
            process.join(timeout)
            if process.exitcode is None:
                raise TimeoutExpired(command, timeout)
        finally:
            if process.pid and process.exitcode is None:  # also where a test is interrupted
                os.killpg(process.pid, signal.SIGTERM)
        said, wrong = (output.read_text(encoding="utf-8") for output in outputs)
    return CompletedProcess(command, process.exitcode, said, wrong)


def _become(command: tuple[str, ...], cwd: Path, environment: dict[str, str], outputs: tuple[Path, Path]) -> None:
    """Run the command in this process, whose exit status it decides; with its jobs it ends when the tests do."""
    os.setpgid(0, 0)
    Thread(target=_end_with_tests, daemon=True).start()
    for descriptor, output in enumerate(outputs, start=1):
        os.dup2(os.open(output, os.O_WRONLY | os.O_CREAT), descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    _import_from(environment.get("PYTHONPATH"))
    sys.argv = list(command)
    importlib.import_module("snakemake.cli").main()


def _end_with_tests() -> None:
    tests = multiprocessing.parent_process()
    assert tests is not None
    wait([tests.sentinel])
    os.killpg(os.getpid(), signal.SIGTERM)


def _import_from(folders: str | None) -> None:
    """Take these folders' modules before any others, also instead of what is loaded of this package."""
    if folders:
        sys.path[:0] = folders.split(os.pathsep)
        for name in [name for name in sys.modules if name.split(".")[0] == "resaudit"]:
            del sys.modules[name]
