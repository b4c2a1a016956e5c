"""The committed tables that new ones are compared with."""

from pathlib import Path

from resaudit.base.papers import folder_of
from resaudit.plan.composition import load
from resaudit.plan.plan import Plan


def references(plan: Plan) -> dict[str, Path]:
    """Where each chosen figure's reference is, or would be.

    Of other data than usual, its name has the data set's; of another scale than usual, it is in that scale's folder.
    """
    configured = load(only=list(plan.figures)).figure
    files = {}
    for name, part in plan.figures.items():
        figure, usual = part.figure, configured[name]
        other_data = figure.dataset and usual.dataset and figure.dataset.name != usual.dataset.name
        named = f"{name}-{figure.dataset.name}" if figure.dataset and other_data else name
        files[name] = reference_file(named, None if figure.scale == usual.scale else figure.scale)
    return files


def reference_file(name: str, other_scale: str | None = None) -> Path:
    """The committed table of ``paper/figure`` at the usual scale, or at another one."""
    folder = folder_of(name.split("/")[0]) / "figures" / "reference"
    return (folder / f"scale_{other_scale}" if other_scale else folder) / f"{name}.csv"
