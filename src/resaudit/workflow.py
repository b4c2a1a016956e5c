"""What the Snakefile needs: its command line turned into overrides, and one run at a time in a folder."""

import fcntl
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from resaudit.errors import ResauditError

_held: list[TextIO] = []


def overrides_from(config: Mapping[str, Any]) -> list[str]:
    """Hydra overrides from Snakemake's ``--config``.

    ``overrides`` is a list of them, or text with commas or spaces between; every other key is one itself.

    Raises:
        ResauditError: a key has no value.

    >>> overrides_from({"scale": "paper", "figures": ["fig04"], "overrides": "[seed=2,device=cpu]"})
    ['scale=paper', 'figures=[fig04]', 'seed=2', 'device=cpu']
    """
    empty = [key for key, value in config.items() if value is None]
    if empty:
        raise ResauditError(f"--config {empty[0]}= is empty; give it a value or leave it out")
    named = [f"{key}={_as_hydra(value)}" for key, value in config.items() if key != "overrides"]
    given = config.get("overrides", [])
    return named + (_split(given) if isinstance(given, str) else [str(item) for item in given])


def _as_hydra(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_as_hydra, value))}]"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _split(text: str) -> list[str]:
    """Split at commas and spaces that are not inside brackets or quotes."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
    parts = re.findall(r"""(?:\[[^\]]*\]|\{[^}]*\}|"[^"]*"|'[^']*'|[^\s,])+""", text)
    return [part for part in parts if part]


def check_installed_from(checkout: Path) -> None:
    """See that the package at work is the one beside the Snakefile, whose files its rules watch.

    Raises:
        ResauditError: it is another.
    """
    package = Path(__file__).resolve().parent
    if package != (checkout / "src" / "resaudit").resolve():
        raise ResauditError(f"resaudit is installed from {package}; install this checkout: pip install -e {checkout}")


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """End the process with one line and status 1 where a user is to read an error, not a traceback."""
    try:
        yield
    except ResauditError as error:
        sys.exit(f"resaudit: error: {error}")


def hold_lock(folder: Path) -> None:
    """Hold a lock on a results folder until this process ends, however it ends.

    Raises:
        ResauditError: another process holds it, or the folder cannot be written to.
    """
    path = folder / ".lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ResauditError(
            f"another run (process {path.read_text(encoding='utf-8').strip()}) is at work in {folder}; "
            "wait for it, or give this one another paths.results and paths.figures"
        ) from None
    except OSError as error:
        raise ResauditError(f"cannot write into {folder}: {error.strerror}; allow it, or set paths.results") from error
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    _held.append(file)
