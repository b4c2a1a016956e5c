"""What ran: commit, versions, device and seconds."""

import hashlib
import platform
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

SOURCES = ("src", "config", "workflow", "Snakefile", "setup.py", "pyproject.toml", "constraints.txt")
"""What results depend on; the settings of a site, in profiles/, do not change them."""
OWN = "src/resaudit/jobs/provenance.py"
COMPILED = ":(top,exclude,glob)**/__pycache__/**"
"""What Python writes beside sources when it imports them, and a paper's repository may not ignore."""
PACKAGES = ("resaudit", "torch", "numpy", "pandas", "matplotlib", "seaborn", "snakemake", "hydra-core")


def provenance() -> dict[str, Any]:
    """Commit, time, machine and versions of this run."""
    return {
        "commit": commit(),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in PACKAGES},
        "constraints_sha256": constraints_sha256(),
    }


def commit() -> dict[str, Any] | None:
    """The checkout's commit and whether its sources were as committed.

    None without git, outside a checkout and inside another repository.
    """
    own = Path(__file__).resolve()
    found = commit_of(own.parent, [f":(top){name}" for name in SOURCES])
    # It may be unpacked inside another repository.
    return found if found and _git(own.parent, "ls-files", "--full-name", "--", own.name) == OWN else None


def commit_of(folder: Path, sources: Sequence[str]) -> dict[str, Any] | None:
    """The commit of the repository that has some sources, and whether they were as committed.

    Args:
        folder: a folder of the repository.
        sources: git's pathspecs, from the folder.

    Returns:
        None without git, outside a repository, and where it tracks none of the sources.
    """
    try:
        if not _git(folder, "ls-files", "--", *sources):
            return None
        changed = _git(folder, "status", "--porcelain", "--untracked-files=all", "--", *sources, COMPILED)
        return {"id": _git(folder, "rev-parse", "HEAD"), "clean": not changed}
    except (OSError, subprocess.SubprocessError):
        return None


def constraints_sha256() -> str | None:
    """SHA-256 of the checkout's ``constraints.txt``, the versions to install; None outside a checkout."""
    file = Path(__file__).resolve().parents[3] / "constraints.txt"
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None


def _git(folder: Path, *arguments: str) -> str:
    # Without a lock on the index, for which the user's own commits would fail.
    command = ["git", "--no-optional-locks", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout.strip()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
