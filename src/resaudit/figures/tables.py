"""The tables of drawn figures, verified before use."""

import hashlib
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from resaudit.base.commands import run_command, snakemake_command
from resaudit.base.errors import OtherSettings, ResauditError, TableError, UnplannedTable, one_named
from resaudit.base.models import validated
from resaudit.base.papers import KEY, add_papers, as_words, folder_of, module_of, reference_folder, root
from resaudit.base.text import two_in_words
from resaudit.figures.draw import reference_file
from resaudit.figures.drawing import ODD_CONTENT, figure_module, read_about, read_csv
from resaudit.figures.expected import unexpected
from resaudit.figures.printed import Printed
from resaudit.plan.composition import config_folder, datasets, files_of_figures
from resaudit.plan.composition import load as composed
from resaudit.plan.models import Config, Layout
from resaudit.plan.overrides import key_of
from resaudit.plan.plan import Plan
from resaudit.plan.words import settings_of

AGAIN = "copy it again, or draw it again (snakemake --cores all -R draw)"


@dataclass(frozen=True)
class Drawn:
    """A drawn figure: its table and the content of its ``.json``."""

    name: str
    table: pd.DataFrame
    sha256: str
    about: dict[str, Any]


def refuse_undrawn(plan: Plan) -> None:
    """Refuse a folder in which none of the plan's figures has been drawn."""
    layout = Layout(plan.config.paths)
    if not any(layout.figure(name, "csv").is_file() for name in plan.figures):
        committed = reference_folder(next(iter(plan.config.figure)).split("/")[0])
        raise TableError(
            f"{layout.figures.absolute()} has none of the chosen figures; run {run_command()}, choose with "
            f"figures=[…], add a paper of yours with {KEY}=FOLDER, or see the committed results with "
            f"paths.figures={committed}"
        )


def drawn(plan: Plan, name: str, csv: Path | None = None) -> Drawn | None:
    """The table of ``paper/figure``; None if it has not been drawn.

    Args:
        plan: the plan that the table must be of.
        name: ``paper/figure``.
        csv: its file; default: the one in the folder of figures.

    Raises:
        OtherSettings: it is of other settings than the plan.
        UnplannedTable: it has other runs than the plan.
        ResauditError: it is unreadable, or was changed since it was drawn.
    """
    csv = csv or Layout(plan.config.paths).figure(name, "csv")
    if not csv.is_file():
        return None
    found = unchanged(csv, name)
    _check_settings(csv, found.about, plan, name)
    if reason := unexpected(found.table, plan.figures[name]):
        raise UnplannedTable(f"{csv} is not what the plan draws: {reason}; {AGAIN}")
    return found


def load(figure: str, papers_path: str | Path | None = None) -> pd.DataFrame:
    """The table of a figure as it was drawn last, at whatever scale; if it has not been drawn, the committed reference.

    A drawn one is looked for in the folder of figures of the working directory, of the checkout and of its paper's
    ``papers_path``, in this order. Which table it is stands in its ``attrs``: ``source`` (``drawn`` or ``reference``),
    ``path``, ``figure`` (``paper/figure``), ``scale``, ``settings`` and ``deviations`` from the paper's protocol (both
    in words), and ``commit`` (``id`` and ``clean``, None where not known). A reference may be of other data than usual.

    Args:
        figure: a name as commands take it, such as ``fig07`` or ``stable_scaling/map``.
        papers_path: a folder of papers outside the checkout.
    """
    if papers_path is not None:
        add_papers(Path(papers_path).expanduser())
    name = one_named("figure", figure, list(files_of_figures(config_folder())))
    figures = composed(only=()).paths.figures
    folders = [folder / figures for folder in (Path.cwd(), root(), folder_of(name.split("/")[0]))]
    kept = reference_file(name)
    places = {folder / f"{name}.csv": "drawn" for folder in folders}
    places |= dict.fromkeys([kept, *sorted(kept.parent.glob(f"{kept.stem}-*.csv"))], "reference")
    csv = next((place for place in places if place.is_file()), None)
    if csv is None:
        command = snakemake_command({"figures": [name], "overrides": as_words()})
        raise TableError(f"{name} has not been drawn in {folders[0]}, and has no reference; run {command}")
    found = unchanged(csv, name)
    found.table.attrs = {
        "figure": name,
        "source": places[csv],
        "path": str(csv.absolute()),
        "scale": found.about["scale"],
        "settings": found.about["settings"],
        "deviations": found.about["differs from the protocol in"],
        "commit": found.about["commit"],
    }
    return found.table


def unchanged(csv: Path, name: str) -> Drawn:
    """A table of ``paper/figure``, of whatever settings, with the SHA-256 that its ``.json`` has."""
    about, table = read_about(csv), read_csv(csv)
    digest = hashlib.sha256(csv.read_bytes()).hexdigest()
    if about["sha256"] != digest:
        raise TableError(f"{csv} is not the table that was drawn: its SHA-256 is not that in the .json; {AGAIN}")
    return Drawn(name, table, digest, about)


def _check_settings(csv: Path, about: dict[str, Any], plan: Plan, name: str) -> None:
    """Check that a table has the settings of the plan; if not, say how to get either."""
    figure = plan.figures[name].figure
    stored, values = about["values"], settings_of(figure)
    _check_shared(csv, name, _shared(about["scale"], stored), _shared(figure.scale, values))
    for key, value in values.items():
        if stored.get(key) != value:
            shown, asked = two_in_words(stored.get(key, "none"), value)
            raise OtherSettings(
                f"{csv} shows {key} {shown}, asked for is {asked}; give the overrides that it was drawn with, or run "
                "snakemake with those given now"
            )
    if about["evidence"] != plan.figures[name].evidence:
        raise OtherSettings(
            f"{csv} was drawn from other jobs than those asked for; give the overrides that it was drawn with, or run "
            "snakemake with those given now"
        )


def _check_shared(csv: Path, name: str, shown: dict[str, str], asked: dict[str, str]) -> None:
    """Check that a table has the scale, seed and data set of the plan."""
    if shown == asked:
        return
    # An override names a data set, a table's settings have its title; what is read otherwise has no name.
    names = {dataset.title: key for key, dataset in datasets(config_folder()).items()}
    titles = [shared.pop("dataset", "") for shared in (shown, asked)]
    if all(title in names for title in titles):
        shown["dataset"], asked["dataset"] = (names[title] for title in titles)
    if shown != asked:
        differing = [key for key in asked if shown.get(key) != asked[key]]
        present, expected = ([f"{key}={shared.get(key)}" for key in differing] for shared in (shown, asked))
        in_overrides = key_of(name, list(files_of_figures(config_folder())))
        own = shlex.join(f"{in_overrides}.{setting}" for setting in present)
        command = snakemake_command({**asked, "figures": [name], "overrides": as_words()}, "-R", "show")
        raise OtherSettings(
            f"{csv} shows {' '.join(present)}, asked for is {' '.join(expected)}; add {shlex.join(present)} for what "
            f"is there (of this figure alone: {own}), or show what is asked for: {command}"
        )


def _shared(scale: str, values: dict[str, Any]) -> dict[str, str]:
    """What figures share: scale, seed and the title of the data set."""
    shared = {"scale": scale, "seed": str(values.get("seed"))}
    return shared | ({"dataset": str(values["data"])} if "data" in values else {})


@contextmanager
def errors_naming(table: str, name: str) -> Iterator[None]:
    """Name a table, in words, and the module that makes it for ``paper/figure``, in errors about its content."""
    try:
        yield
    except (ResauditError, *ODD_CONTENT) as error:
        reason = str(error)
        if not isinstance(error, ResauditError):
            reason = f"the table does not have the expected columns or types ({type(error).__name__}: {error})"
        raise TableError(
            f"{table}: {reason}; table(results) in {module_of(name)} makes it: correct that, then draw the figure again"
        ) from error


def printed_values(config: Config, paper: str, figures: Mapping[str, Drawn]) -> list[Printed]:
    """The tables of printed numbers of a paper; also of figures that were not drawn.

    A figure has one if its module has a function ``beside_the_paper(figure, table)``, with the figure's configuration
    and its table (None if it was not drawn). It gives all keys of :class:`Printed` but ``figure``. The remark says
    where its table is at fault.
    """
    tables = []
    for name, figure in config.figure.items():
        beside = getattr(figure_module(name), "beside_the_paper", None) if name.startswith(f"{paper}/") else None
        if beside is not None:
            table = figures[name].table if name in figures else None
            try:
                with errors_naming(f"table of {name}", name):
                    tables.append(validated(Printed, {"figure": name, **beside(figure, table)}, "printed"))
            except ResauditError as error:
                without = {"figure": name, **beside(figure, None)}
                remark = f"Ours cannot be shown: {error}. {without['remark']}".rstrip()
                tables.append(validated(Printed, without | {"remark": remark}, "printed"))
    return tables
