"""The committed tables that new ones are compared with."""

from pathlib import Path

from resaudit.base.papers import folder_of
from resaudit.plan.composition import load
from resaudit.plan.plan import Plan


def references(plan: Plan) -> dict[str, Path]:
    """Where each chosen figure's reference is, or would be; of other data than usual, its name has the data set's."""
    configured = load(only=list(plan.figures)).figure
    files = {}
    for name, part in plan.figures.items():
        dataset, usual = part.figure.dataset, configured[name].dataset
        other = bool(dataset and usual and dataset.name != usual.name)
        files[name] = reference_file(f"{name}-{dataset.name}" if dataset and other else name)
    return files


def reference_file(name: str) -> Path:
    """The committed table of ``paper/figure``."""
    return folder_of(name.split("/")[0]) / "figures" / "reference" / f"{name}.csv"
