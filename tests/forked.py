"""``snakemake`` as a process of its own that imports nothing: forked from the test's process, which has done so.

A start takes five seconds of CPU, more than half of them for imports and for composing what was composed before.
"""

import importlib
import os
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess, TimeoutExpired
from typing import NoReturn


def snakemake(
    *arguments: str, cwd: Path, environment: Mapping[str, str] | None = None, timeout: float = 300
) -> CompletedProcess[str]:
    """``snakemake …`` in a folder, as a user would type it."""
    importlib.import_module("snakemake.cli")  # here, so that the next ones need not
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as wrong:
        child = os.fork()
        if child == 0:
            _become(("snakemake", *arguments), cwd, environment or {}, said.fileno(), wrong.fileno())
        status = _waited_for(child, timeout)
        texts = [file.read() for file in (said, wrong) if not file.seek(0)]
    return CompletedProcess(("snakemake", *arguments), status, *texts)


def _become(command: tuple[str, ...], cwd: Path, environment: Mapping[str, str], said: int, wrong: int) -> NoReturn:
    """Run the command in this process, and end it."""
    status: object = 0
    try:
        os.chdir(cwd)
        os.dup2(said, 1)
        os.dup2(wrong, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.environ |= environment | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
        _import_from(environment.get("PYTHONPATH"))
        sys.argv = list(command)
        importlib.import_module("snakemake.cli").main()
    except SystemExit as end:
        status = end.code or 0
    except BaseException:
        status = traceback.format_exc()
    if not isinstance(status, int):
        print(status, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status if isinstance(status, int) else 1)


def _import_from(folders: str | None) -> None:
    """Take these folders' modules before any others, also instead of what is loaded of this package."""
    if folders:
        sys.path[:0] = folders.split(os.pathsep)
        for name in [name for name in sys.modules if name.split(".")[0] == "resaudit"]:
            del sys.modules[name]


def _waited_for(child: int, timeout: float) -> int:
    end = time.monotonic() + timeout
    while (found := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(child, 9)
            os.waitpid(child, 0)
            raise TimeoutExpired("snakemake", timeout)
        time.sleep(0.02)
    return os.waitstatus_to_exitcode(found[1])
