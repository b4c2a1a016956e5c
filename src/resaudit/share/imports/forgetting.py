"""Undoing an import: what it brought is removed, and nothing else."""

import re
import shutil
from pathlib import Path

from resaudit.base.errors import ResauditError
from resaudit.base.files import sha256_of
from resaudit.jobs.origin import IMPORTED, origin_of
from resaudit.runtime.locks import hold_lock
from resaudit.share.records import imports, staging_of


def forget_import(wanted: str, results: Path) -> tuple[str, list[str]]:
    """Remove the results of an import.

    Args:
        wanted: the archive's SHA-256, its beginning, or the archive itself.
        results: folder of all results.

    Returns:
        The archive's SHA-256 and the jobs whose results were removed.

    Raises:
        ResauditError: there is no such import, or several.
    """
    hold_lock(results)
    keys = [path.parent.relative_to(results).as_posix() for path in sorted(results.glob(f"*/*/{IMPORTED}"))]
    origins = {key: origin.archive for key in keys if (origin := origin_of(results, key))}
    known = {*origins.values(), *(record.archive for record in imports(results))}
    archive = _meant(wanted, known)
    staging, removed = staging_of(results, archive), [key for key, of in origins.items() if of == archive]
    shutil.rmtree(staging, ignore_errors=True)
    for key in removed:
        # Renamed first: a folder is there whole or not at all, even if this process is killed.
        away = staging / key
        away.parent.mkdir(parents=True, exist_ok=True)
        (results / key).rename(away)
        shutil.rmtree(away)
    shutil.rmtree(staging, ignore_errors=True)
    (results / "imports" / f"{archive}.json").unlink(missing_ok=True)
    return archive, removed


def _meant(wanted: str, known: set[str]) -> str:
    if Path(wanted).is_file():
        wanted = sha256_of(Path(wanted))
    found = sorted(archive for archive in known if re.fullmatch("[0-9a-f]+", wanted) and archive.startswith(wanted))
    if len(found) != 1:
        there = ", ".join(archive[:12] for archive in sorted(known)) or "none"
        raise ResauditError(f"{wanted!r} is {'several imports' if found else 'no import'} here; allowed: {there}")
    return found[0]
