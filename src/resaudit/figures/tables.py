"""The tables of drawn figures, verified before use."""

import hashlib
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from resaudit.base.commands import snakemake_command
from resaudit.base.errors import ResauditError
from resaudit.base.papers import as_words, module_of
from resaudit.figures.drawing import EXPECTED, ODD_CONTENT, read_about, read_csv
from resaudit.figures.expected import unexpected
from resaudit.plan.composition import config_folder, datasets
from resaudit.plan.layout import Layout
from resaudit.plan.plan import Plan
from resaudit.plan.words import settings_of


@dataclass(frozen=True)
class Drawn:
    """A drawn figure: its table and the content of its ``.json``."""

    name: str
    table: pd.DataFrame
    sha256: str
    about: dict[str, Any]


class OtherSettings(ResauditError):
    """A table is whole, but of other settings than asked for."""


def refuse_undrawn(plan: Plan) -> None:
    """Refuse a folder in which none of the plan's figures has been drawn.

    Raises:
        ResauditError: none has.
    """
    layout = Layout(plan.config.paths)
    if not any(layout.figure(name, "csv").is_file() for name in plan.figures):
        where = f"{layout.figures.absolute()} has none of the chosen figures"
        raise ResauditError(f"{where}; run snakemake --cores all, choose with figures=[…], or give paths.figures")


def drawn(plan: Plan, name: str, csv: Path | None = None) -> Drawn | None:
    """The table of ``paper/figure``; None if it has not been drawn.

    Args:
        plan: that it must be of.
        name: ``paper/figure``.
        csv: its file; default: the one in the folder of figures.

    Raises:
        OtherSettings: it is of other settings than the plan.
        ResauditError: it is unreadable, was changed since it was drawn, or has other runs than the plan.
    """
    csv = csv or Layout(plan.config.paths).figure(name, "csv")
    if not csv.is_file():
        return None
    about, again = read_about(csv), "copy it again, or draw it again (snakemake --cores all -R draw)"
    try:
        content = csv.read_bytes()
    except OSError as error:
        raise ResauditError(f"{csv} cannot be read ({error.strerror}); allow it") from error
    digest = hashlib.sha256(content).hexdigest()
    if about.get("sha256") != digest:
        raise ResauditError(f"{csv} is not the table that was drawn: its SHA-256 is not that in the .json; {again}")
    lacking = [key for key in EXPECTED if key not in about]
    if lacking:
        raise ResauditError(f"the .json of {csv} does not say {', '.join(lacking)}; {again}")
    _check_asked_for(csv, about, plan, name)
    table = read_csv(csv)
    if wrong := unexpected(table, plan.figures[name]):
        raise ResauditError(f"{csv} is not what the plan draws: {wrong}; {again}")
    return Drawn(name, table, digest, about)


def _check_asked_for(csv: Path, about: dict[str, Any], plan: Plan, name: str) -> None:
    """Check that a table is of the plan; if not, say what is there and how to get either."""
    there, values = about["values"], settings_of(plan.figures[name].figure)
    found, asked = (_shared(*each) for each in ((about["scale"], there), (plan.config.scale.name, values)))
    if found != asked:
        found, asked = _by_name(found), _by_name(asked)
        other = [key for key in asked if found.get(key) != asked[key]]
        shown, wanted = ([f"{key}={of.get(key)}" for key in other] for of in (found, asked))
        show = snakemake_command({**asked, "figures": [name], "overrides": as_words()}, "-R", "show")
        raise OtherSettings(
            f"{csv} shows {' '.join(shown)}, asked for is {' '.join(wanted)}; add {shlex.join(shown)} for what is "
            f"there, or show what is asked for: {show}"
        )
    again = "give the overrides that it was drawn with, or run snakemake with those given now"
    for key, value in values.items():
        if there.get(key) != value:
            raise OtherSettings(f"{csv} shows {key} {there.get(key)}, asked for is {value}; {again}")
    if about["evidence"] != plan.figures[name].evidence:
        raise OtherSettings(f"{csv} was drawn from other jobs than those asked for; {again}")


def _shared(scale: str, values: dict[str, Any]) -> dict[str, str]:
    """What figures share: scale, seed and the title of the data set."""
    shared = {"scale": scale, "seed": str(values.get("seed"))}
    return shared | ({"dataset": str(values["data"])} if "data" in values else {})


def _by_name(shared: dict[str, str]) -> dict[str, str]:
    """The same as overrides, which name a data set."""
    names = {dataset.title: name for name, dataset in datasets(config_folder()).items()}
    return shared | ({"dataset": names.get(shared["dataset"], shared["dataset"])} if "dataset" in shared else {})


@contextmanager
def errors_naming(table: str, name: str) -> Iterator[None]:
    """Name a table, and the module that makes it, in errors about its content.

    Args:
        table: in words.
        name: ``paper/figure``.

    Raises:
        ResauditError: the table lacks expected columns, types or values.
    """
    remedy = f"table(results) in {module_of(name)} makes it: correct that, then draw the figure again"
    try:
        yield
    except ResauditError as error:
        raise ResauditError(f"{table}: {error}; {remedy}") from error
    except ODD_CONTENT as error:
        reason = f"{type(error).__name__}: {error}"
        raise ResauditError(
            f"{table}: the table does not have the expected columns or types ({reason}); {remedy}"
        ) from error
