"""What an archive of ``resaudit crate`` says of itself: its files with digests, and who ran which job."""

import json
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from resaudit.base.errors import ResauditError
from resaudit.base.models import Line, Model, one_line, shown, validated
from resaudit.share.imports.opening import Opened

METADATA = "ro-crate-metadata.json"
LARGEST_JSON = 64 * 2**20
"""Bytes; the metadata of a run of four papers has three million."""
_KIND, _ID, _FILE = "[a-z][a-z0-9_]*", "[a-z0-9_-]+", r"[a-z][a-z0-9_]*\.(?:json|npz)"
# Only results are ever copied out; of all else, paths have no part that is empty or begins with a dot.
_PLACES = re.compile(
    rf"results/plan/{_KIND}/{_ID}\.json|results/{_KIND}/{_ID}/{_FILE}"
    r"|(figures|config|profiles|workflow|src)(/[A-Za-z0-9_][A-Za-z0-9_.@+=,-]*)+"
    r"|[A-Za-z][A-Za-z0-9_.-]*"
)
_RESULT = re.compile(rf"results/(?!plan/)({_KIND}/{_ID})/({_FILE})")
_ORCID = re.compile(r"https://orcid\.org/([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])")


@dataclass(frozen=True)
class Packed:
    """An archive whose files are those that its metadata lists.

    Attributes:
        path: of the archive.
        zip: opened.
        digests: of every file as found, by name.
        agents: who ran each job, by ``kind/id``; None if it is not said.
        jobs: the names of the result files of every job, by ``kind/id``.
        audit: its ``audit.json``.
    """

    path: Path
    zip: Opened
    digests: dict[str, str]
    agents: dict[str, str | None]
    jobs: dict[str, set[str]]
    audit: dict[str, Any]

    def parsed(self, name: str) -> Any:
        """The JSON of an entry; raises ResauditError."""
        return _parsed(self.zip, name, self.path)


class _Agent(Model):
    """With an ORCID still a line, and one that a crate of these results takes in its turn."""

    name: Annotated[Line, Field(max_length=170, pattern="^[^<> ]([^<>]*[^<> ])?$")]


def check_entry(path: Path, info: zipfile.ZipInfo) -> None:
    """Check that an entry is one that ``resaudit crate`` packs.

    Raises:
        ResauditError: it is not, or it is JSON beyond the size limit.
    """
    if not _PLACES.fullmatch(info.filename):
        raise ResauditError(
            f"{path}: the entry {shown(info.filename)} has no place in a run; allowed: what resaudit crate packs"
        )
    if info.filename.endswith(".json") and info.file_size > LARGEST_JSON:
        raise ResauditError(f"{path}: {shown(info.filename)} has {info.file_size} bytes; allowed: {LARGEST_JSON}")


def unpacked(path: Path, found: Opened) -> Packed:
    """Check every file of an archive against its metadata.

    Raises:
        ResauditError: a file is not listed, missing, or not what is listed.
    """
    if METADATA not in found.entries:
        raise ResauditError(f"{path} has no {METADATA}; allowed: an archive of resaudit crate")
    metadata = _parsed(found, METADATA, path)
    graph = metadata.get("@graph") if isinstance(metadata, dict) else None
    if not isinstance(graph, list) or not all(isinstance(e, dict) and isinstance(e.get("@id"), str) for e in graph):
        raise ResauditError(f"{path}: {METADATA} is no list of entities with ids; get the archive again")
    entities = {entity["@id"]: entity for entity in graph}
    listed = {
        name: entity.get("sha256")
        for name, entity in entities.items()
        if (kind := entity.get("@type")) == "File" or (isinstance(kind, list) and "File" in kind)
    }
    there = found.entries.keys() - {METADATA}
    for wrong, what in ((there - listed.keys(), "not listed"), (listed.keys() - there, "missing")):
        if wrong:
            raise ResauditError(f"{path}: {shown(min(wrong))} is {what} in {METADATA}; get the archive again")
    digests = {name: found.sha256(name) for name in listed}
    for name, digest in digests.items():
        if listed[name] != digest:
            raise ResauditError(f"{path}: {name} is not the file that is listed; get the archive again")
    audit = _parsed(found, "figures/audit.json", path) if "figures/audit.json" in there else {}
    jobs: dict[str, set[str]] = {}
    for match in filter(None, map(_RESULT.fullmatch, there)):
        jobs.setdefault(match[1], set()).add(match[2])
    agents = {key: _agent(entities, key, path) for key in jobs}
    return Packed(path, found, digests, agents, jobs, audit if isinstance(audit, dict) else {})


def _parsed(found: Opened, name: str, path: Path) -> Any:
    try:
        value = json.loads(found.read(name))
        # Python reads NaN and numbers beyond the largest, which are no JSON.
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ResauditError(f"{path}: {name} is not valid JSON ({one_line(str(error))})") from error
    return value


def _agent(entities: dict[str, dict[str, Any]], key: str, path: Path) -> str | None:
    """Who ran a job, as ``Name`` or ``Name <ORCID>``."""
    reference = entities.get(f"#job/{key}", {}).get("agent")
    if not isinstance(reference, dict) or not isinstance(reference.get("@id"), str):
        return None
    identifier = reference["@id"]
    agent = validated(_Agent, {"name": entities.get(identifier, {}).get("name")}, f"{path}: {METADATA}: agent")
    orcid = _ORCID.fullmatch(identifier)
    return f"{agent.name} <{orcid[1]}>" if orcid else agent.name
