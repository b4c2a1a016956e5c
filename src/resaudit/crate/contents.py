"""What goes into a crate: the audit, and the bytes of every file, each read once."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.config import Config
from resaudit.errors import ResauditError
from resaudit.explanation import about
from resaudit.files import Layout
from resaudit.integrity import unsealed
from resaudit.plan import Plan
from resaudit.report.schema import read_audit

_SINGLE = ("Snakefile", "pyproject.toml", "environment.yml", "README.md", "LICENSE", "CITATION.cff")
# Snakemake finds its default profile only beside the Snakefile: without profiles/ the crate would not run again.
_FOLDERS = ("config", "profiles", "src/resaudit", "workflow")
_STAGES = ("train", "curvature", "theory")
_RECORDS = ("settings.json", "provenance.json")


@dataclass(frozen=True)
class Contents:
    """All that a crate is made from.

    Attributes:
        audit: ``audit.json``.
        files: bytes by path in the crate, the metadata file not among them.
        jobs: the provenance of every job that the figures are drawn from.
    """

    audit: dict[str, Any]
    files: dict[str, bytes]
    jobs: list[dict[str, Any]]


def figures_of(audit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every figure of an audit, whatever its paper."""
    return (figure for paper in audit["papers"] for figure in paper["figures"])


def gather(plan: Plan, checkout: Path) -> Contents:
    """Read the audit, what it is about, and the workflow of a checkout.

    Raises:
        ResauditError: the audit or a file that it needs is missing, or they do not belong together.
    """
    layout = Layout(plan.config.paths)
    audit = _read_audit(layout.figures / "audit.json")
    _check_settings(plan.config, audit)
    results = {f"figures/{name}": layout.figures / name for name in sorted(_drawn(audit))}
    records = {f"results/{name}": layout.results / name for name in _records(audit, layout)}
    files = {name: _read(path) for name, path in ({**_workflow(checkout), **results, **records}).items()}
    _check_tables(audit, files)
    _check_drawings(audit, files)
    jobs = [_job(name, files[name]) for name in records if name.endswith("/provenance.json")]
    return Contents(audit, files, jobs)


def _read_audit(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ResauditError(f"{path} does not exist; make it first (snakemake --cores all)")
    return read_audit(path)


def _check_settings(config: Config, audit: dict[str, Any]) -> None:
    """See that the audit is of the scale, data and seed that the crate is going to state."""
    _check_same("the audit's scale", audit["scale"], config.scale.name)
    for figure in figures_of(audit):
        config.named(figure["id"])
        asked = about(config, config, figure["id"])["settings"]
        for key in ("data", "seed"):
            _check_same(f"{key} of {figure['id']}", figure["settings"].get(key, asked[key]), asked[key])


def _check_same(what: str, found: str, asked: str) -> None:
    if found != asked:
        raise ResauditError(f"{what} is {found}, asked for is {asked}; give the overrides that the run had")


def _check_tables(audit: dict[str, Any], files: dict[str, bytes]) -> None:
    for figure in figures_of(audit):
        table = f"figures/{figure['files']['csv']}"
        if hashlib.sha256(files[table]).hexdigest() != figure["sha256"]:
            raise ResauditError(f"{table} is not the table that the audit judged; make the audit again")


def _check_drawings(audit: dict[str, Any], files: dict[str, bytes]) -> None:
    matrices = [paper["robustness"] for paper in audit["papers"] if paper["robustness"]]
    for part in [*figures_of(audit), *matrices]:
        for suffix, digest in part.get("drawings", {}).items():
            drawing = f"figures/{part['files'][suffix]}"
            if hashlib.sha256(files[drawing]).hexdigest() != digest:
                raise ResauditError(f"{drawing} is not what was drawn; remove {drawing} and run again")


def _job(name: str, content: bytes) -> dict[str, Any]:
    try:
        return unsealed(json.loads(content))
    except ValueError as error:
        raise ResauditError(f"{name} cannot be read ({error}); remove {Path(name).parent} and run again") from error


def _drawn(audit: dict[str, Any]) -> set[str]:
    """Paths under the figures folder: the audit, its page and all that was drawn."""
    parts = list(figures_of(audit))
    parts += [paper["robustness"] for paper in audit["papers"] if paper["robustness"]]
    return {"audit.json", "audit.html"} | {name for part in parts for name in part["files"].values()}


def _records(audit: dict[str, Any], layout: Layout) -> list[str]:
    """Paths under the results folder: settings and provenance of every job behind a figure.

    An ensemble is trained or has spectra, a theorem is verified; the settings of each name the whitened data it saw.
    """
    folders: set[str] = set()
    for ensemble in sorted({ensemble for figure in figures_of(audit) for ensemble in figure["ensembles"]}):
        found = [f"{stage}/{ensemble}" for stage in _STAGES if (layout.results / stage / ensemble).is_dir()]
        if not found:
            raise ResauditError(
                f"{layout.training(ensemble)} does not exist, but a figure is drawn from it; "
                "run again (snakemake --cores all)"
            )
        settings = json.loads(_read(layout.results / found[0] / "settings.json"))
        folders |= {*found, f"whiten/{settings['data']}"}
    return [f"{folder}/{name}" for folder in sorted(folders) for name in _RECORDS]


def _workflow(checkout: Path) -> dict[str, Path]:
    """The files that can run again, by their path in the checkout; neither hidden files nor compiled ones."""
    named = {name: checkout / name for name in _SINGLE}
    for folder in _FOLDERS:
        root = (checkout / folder).resolve()
        below = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
        kept = (path for path in below if not any(p.startswith((".", "__pycache__")) for p in path.parts))
        named |= {f"{folder}/{path.as_posix()}": root / path for path in kept}
    return named


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise ResauditError(f"{path} does not exist; run again (snakemake --cores all)") from None
    except OSError as error:
        raise ResauditError(f"{path} cannot be read ({error.strerror}); allow it") from error
