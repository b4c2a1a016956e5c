"""What an archive of ``resaudit crate`` says of itself: its files with digests, and who ran which job."""

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from resaudit.base.errors import ResauditError
from resaudit.base.models import LONGEST_LINE, Line, Model, Sha256, shown, validated
from resaudit.share.imports.opening import Opened
from resaudit.share.imports.strict import LARGEST_JSON, parse_strictly

METADATA = "ro-crate-metadata.json"
LARGEST_ENTRY = 8 * 2**30
LARGEST_TOTAL = 64 * 2**30
_KIND, _ID, _FILE = "[a-z][a-z0-9_]*", "[a-z0-9_-]+", r"[a-z][a-z0-9_]*\.(?:json|npz)"
_PLACES = re.compile(
    rf"results/plan/{_KIND}/{_ID}\.json|results/{_KIND}/{_ID}/{_FILE}"
    r"|(figures|config|profiles|workflow|src/resaudit)/.+"
    r"|Snakefile|pyproject\.toml|constraints\.txt|environment\.yml|README\.md|LICENSE|CITATION\.cff"
    rf"|{re.escape(METADATA)}"
)
_RESULT = re.compile(rf"results/(?!plan/)({_KIND}/{_ID})/({_FILE})")


class _Listed(Model):
    sha256: Sha256
    size: Annotated[str, Field(alias="contentSize", pattern="^[0-9]{1,15}$")]


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
        return parse_strictly(self.zip.read(name), f"{self.path}: {name}")


def check_entry(path: Path, info: zipfile.ZipInfo) -> None:
    """Check that an entry is one that ``resaudit crate`` packs, and of a bearable size.

    Raises:
        ResauditError: it is not.
    """
    name = info.filename
    if not _PLACES.fullmatch(name) or len(name) > LONGEST_LINE:
        raise ResauditError(
            f"{path}: the entry {shown(name)} has no place in a run; allowed: what resaudit crate packs"
        )
    largest = LARGEST_JSON if name.endswith(".json") else LARGEST_ENTRY
    if info.file_size > largest:
        raise ResauditError(f"{path}: the entry {shown(name)} has {info.file_size} bytes; allowed: {largest}")


def unpacked(path: Path, found: Opened) -> Packed:
    """Check every file of an archive against its metadata.

    Raises:
        ResauditError: a file is not listed, missing, or not what is listed.
    """
    total = sum(info.file_size for info in found.entries.values())
    if total > LARGEST_TOTAL:
        raise ResauditError(f"{path} unpacks to {total} bytes; allowed: at most {LARGEST_TOTAL}")
    if METADATA not in found.entries:
        raise ResauditError(f"{path} has no {METADATA}; allowed: an archive of resaudit crate")
    entities = _entities(parse_strictly(found.read(METADATA), f"{path}: {METADATA}"), path)
    listed = {name: _listed(entity, path, name) for name, entity in entities.items() if _is_file(entity)}
    there = found.entries.keys() - {METADATA}
    for wrong, what in ((there - listed.keys(), "not listed"), (listed.keys() - there, "missing")):
        if wrong:
            raise ResauditError(f"{path}: {shown(min(wrong))} is {what}; get the archive again")
    digests = {name: found.sha256(name) for name in listed}
    for name, entry in listed.items():
        if (entry.sha256, int(entry.size)) != (digests[name], found.entries[name].file_size):
            raise ResauditError(f"{path}: {name} is not the file that is listed; get the archive again")
    audit = (
        parse_strictly(found.read("figures/audit.json"), f"{path}: audit.json") if "figures/audit.json" in there else {}
    )
    jobs: dict[str, set[str]] = {}
    for match in filter(None, map(_RESULT.fullmatch, there)):
        jobs.setdefault(match[1], set()).add(match[2])
    agents = {key: _agent(entities, key, path) for key in jobs}
    return Packed(path, found, digests, agents, jobs, audit if isinstance(audit, dict) else {})


def _entities(metadata: Any, path: Path) -> dict[str, dict[str, Any]]:
    graph = metadata.get("@graph") if isinstance(metadata, dict) else None
    entities = [entity for entity in graph if isinstance(entity, dict)] if isinstance(graph, list) else []
    found = {entity["@id"]: entity for entity in entities if isinstance(entity.get("@id"), str)}
    if not found or len(found) < len(entities):
        raise ResauditError(f"{path}: {METADATA} has entities without an id of their own; get the archive again")
    return found


def _is_file(entity: dict[str, Any]) -> bool:
    kinds = entity.get("@type")
    return kinds == "File" or (isinstance(kinds, list) and "File" in kinds)


def _listed(entity: dict[str, Any], path: Path, name: str) -> _Listed:
    given = {key: entity[key] for key in ("sha256", "contentSize") if key in entity}
    return validated(_Listed, given, f"{path}: {METADATA}: {shown(name)}")


class _Agent(Model):
    """With an ORCID still a line, and one that a crate of these results takes in its turn."""

    name: Annotated[Line, Field(max_length=170, pattern="^[^<> ]([^<>]*[^<> ])?$")]


def _agent(entities: dict[str, dict[str, Any]], key: str, path: Path) -> str | None:
    """Who ran a job, as ``Name`` or ``Name <ORCID>``."""
    reference = entities.get(f"#job/{key}", {}).get("agent")
    if not isinstance(reference, dict) or not isinstance(reference.get("@id"), str):
        return None
    identifier = reference["@id"]
    agent = validated(_Agent, {"name": entities.get(identifier, {}).get("name")}, f"{path}: {METADATA}: agent")
    orcid = re.fullmatch(r"https://orcid\.org/([0-9]{4}-[0-9]{4}-[0-9]{4}-[0-9]{3}[0-9X])", identifier)
    return f"{agent.name} <{orcid[1]}>" if orcid else agent.name
