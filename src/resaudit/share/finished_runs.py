"""Finished runs as they are read to be merged: each with its audit and its tables, verified."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from resaudit.audit.models import Audit, DrawnFigure
from resaudit.audit.schema import check_audit, read_audit
from resaudit.base.errors import ArchiveError, ResauditError, TableError, VerdictError
from resaudit.base.files import sha256_of
from resaudit.base.models import one_line
from resaudit.claims.records import UNJUDGED
from resaudit.figures.drawing import ODD_CONTENT
from resaudit.figures.tables import Drawn, unchanged
from resaudit.share.packed import Packed, unpacked

IN_RUN = "figures/audit.json"
"""Where a clone and the archive of a run have their audit."""


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: where it is, its audit, and its tables by ``paper/figure``."""

    place: Path
    audit: Audit
    tables: dict[str, Drawn]
    archive: str | None  # SHA-256 of the archive
    agents: Mapping[str, str | None]  # who ran each job, by kind/id, as the archive says

    def figure(self, name: str) -> DrawnFigure:
        """What its audit says of ``paper/figure``."""
        return next(figure for figure in self.audit.figures if figure.id == name)

    def imported(self, name: str) -> Iterator[tuple[str, str | None, str]]:
        """The jobs of ``paper/figure`` that it, or who takes its archive, imports: archive, who ran it, ``kind/id``."""
        figure = self.figure(name)
        origins = {job: (part.archive, part.by) for part in figure.imported for job in part.jobs}
        for job in figure.jobs:
            if job in origins:
                yield (*origins[job], job)
            elif self.archive:
                yield self.archive, self.agents.get(job), job


def audit_of(place: Path) -> Audit:
    """The audit of a file audit.json, of a folder that has it (a clone or its figures), or of the archive of a run."""
    if place.suffix == ".zip" and not place.is_dir():
        with unpacked(place) as packed:
            return _audit_in(packed)
    if not place.is_dir():
        return read_audit(place)
    beside = place / "audit.json"
    return read_audit(beside if beside.is_file() else place / IN_RUN)


def _audit_in(packed: Packed) -> Audit:
    return check_audit(packed.audit, f"{IN_RUN} in {packed.path}")


def read_run(place: Path) -> FinishedRun:
    """Read a run from an archive of ``resaudit crate``, or from a clone or its folder of figures."""
    if place.suffix == ".zip" and not place.is_dir():
        with TemporaryDirectory() as folder, unpacked(place) as packed:
            audit = _audit_in(packed)
            for name in (f"{figure.id}.{suffix}" for figure in audit.figures for suffix in ("csv", "json")):
                if f"figures/{name}" in packed.digests:
                    (target := Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
                    packed.copy(f"figures/{name}", target)
            return FinishedRun(place, audit, _tables(place, Path(folder), audit), sha256_of(place), packed.agents)
    audit = audit_of(place)
    below = next((each for each in (place, place / "figures") if (each / "audit.json").is_file()), place.parent)
    return FinishedRun(place, audit, _tables(place, below, audit), None, {})


@contextmanager
def table_faults(place: Path | str, figure: str) -> Iterator[None]:
    """Say of any fault of a table which run and figure it is of."""
    try:
        yield
    except (ResauditError, *ODD_CONTENT) as error:
        reason = one_line(str(error) or type(error).__name__)
        raise ArchiveError(
            f"{place}: the table of {figure} cannot be used: {reason}; get the run again, or leave it out"
        ) from error


def _tables(place: Path, folder: Path, audit: Audit) -> dict[str, Drawn]:
    tables = {}
    for absent in (figure for paper in audit.papers for figure in paper.not_drawn):
        if absent.why.startswith(UNJUDGED):
            with table_faults(place, absent.id):
                raise VerdictError(f"{absent.why}")
    for figure in audit.figures:
        csv = folder / f"{figure.id}.csv"
        if not (csv.is_file() and csv.with_suffix(".json").is_file()):
            raise TableError(
                f"{place} is not a whole run: it lacks {figure.id}.csv or its .json; give its archive, its clone or "
                "its folder of figures"
            )
        if sha256_of(csv) != figure.sha256:
            path = place / f"{figure.id}.csv"
            raise TableError(
                f"{path} is not the table that was drawn: its SHA-256 is not that in the .json; get the run again, or "
                "leave it out"
            )
        with table_faults(place, figure.id):
            drawn = unchanged(csv, figure.id)
        if "merged" in drawn.about:
            raise ArchiveError(f"{place} is merged from other runs; merge those, and any others, at once")
        tables[figure.id] = drawn
    return tables
