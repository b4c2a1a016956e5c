"""The crate as one zip, written atomically; the same inputs give the same bytes."""

import json
import shutil
import zipfile
from importlib.util import find_spec
from pathlib import Path

from resaudit.base.errors import ConfigError, MachineError
from resaudit.base.files import written_whole
from resaudit.jobs.provenance import commit
from resaudit.plan.composition import config_folder
from resaudit.plan.plan import Plan
from resaudit.share.archive.contents import gather
from resaudit.share.archive.description import METADATA_FILE, describe, named

# The earliest time of the zip format; the run's times are in the metadata.
_TIME = (1980, 1, 1, 0, 0, 0)


def write_crate(plan: Plan, destination: Path, by: str | None = None) -> None:
    """Write the run behind ``figures/audit.json`` as a Workflow Run RO-Crate."""
    if find_spec("rocrate") is None:
        raise MachineError(
            "resaudit crate needs an extra; install it: python -m pip install -c constraints.txt -e '.[crate]'"
        )
    if destination.suffix != ".zip" or destination.is_dir() or not destination.parent.is_dir():
        raise ConfigError(f"{destination} is not allowed; give a .zip in a folder that exists")
    agent = named(by) if by else None
    contents = gather(plan, config_folder().parent)
    description = describe(plan.config, contents, commit(), agent)
    metadata = json.dumps(description, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    files = {METADATA_FILE: metadata.encode(), **dict(sorted(contents.files.items()))}
    with written_whole(destination) as temporary, zipfile.ZipFile(temporary, "w") as archive:
        for name, small in files.items():
            archive.writestr(_entry(name), small, zipfile.ZIP_DEFLATED, 9)
        for name, (path, _) in sorted(contents.results.items()):
            entry = _entry(name)
            # By the size, zipfile decides whether an entry needs the format for large files.
            entry.compress_type, entry.file_size = zipfile.ZIP_DEFLATED, path.stat().st_size
            with archive.open(entry, "w") as packed, path.open("rb") as content:
                shutil.copyfileobj(content, packed)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _TIME)
    entry.external_attr = 0o644 << 16
    entry.create_system = 3
    return entry
