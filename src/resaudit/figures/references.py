"""The committed tables that new ones are compared with."""

from pathlib import Path

from resaudit.base.papers import folder_of
from resaudit.plan.composition import load
from resaudit.plan.plan import Plan


def references(plan: Plan) -> dict[str, Path]:
    """The reference of each chosen figure, if there is one; of other data than its own, the name has the data set's."""
    own = load(only=list(plan.figures)).figure
    files = {}
    for name, part in plan.figures.items():
        given, usual = part.figure.dataset, own[name].dataset
        of_other_data = bool(given and usual and given.name != usual.name)
        files[name] = reference_file(f"{name}-{given.name}" if given and of_other_data else name)
    return files


def reference_file(name: str) -> Path:
    """The committed table of ``paper/figure``."""
    return folder_of(name.split("/")[0]) / "figures" / "reference" / f"{name}.csv"
