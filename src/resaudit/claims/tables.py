"""The tables that claims are checked against, verified before use."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pandas as pd

from resaudit.errors import ResauditError
from resaudit.papers.drawing import EXPECTED, ODD_CONTENT, read_about, read_csv
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


def drawn(plan: Plan, name: str) -> Drawn | None:
    """The table of ``paper/figure``; None if it has not been drawn.

    Raises:
        ResauditError: it is unreadable, was changed since it was drawn, or has other settings than the plan.
    """
    csv = Layout(plan.config.paths).figure(name, "csv")
    if not csv.is_file():
        return None
    about, again = read_about(csv), f"remove {csv} and run again"
    try:
        content = csv.read_bytes()
    except OSError as error:
        raise ResauditError(f"{csv} cannot be read ({error.strerror}); allow it") from error
    digest = hashlib.sha256(content).hexdigest()
    if about.get("sha256") != digest:
        raise ResauditError(f"{csv} is not the table that was drawn: its SHA-256 is not that in the .json; {again}")
    if about.get("scale") != plan.config.scale.name:
        raise ResauditError(f"{csv} is of scale {about.get('scale')}, not {plan.config.scale.name}; {again}")
    lacking = [key for key in EXPECTED if key not in about]
    if lacking:
        raise ResauditError(f"the .json of {csv} does not say {', '.join(lacking)}; {again}")
    for key, value in settings_of(plan.figures[name].figure).items():
        found = about["values"].get(key)
        if found != value:
            raise ResauditError(f"{csv} is of other settings: {key} is {found}, not {value}; {again}")
    if about.get("evidence") != plan.figures[name].evidence:
        raise ResauditError(f"{csv} was drawn from other jobs than those asked for; {again}")
    table, keys = read_csv(csv), plan.figures[name].figure.keys
    if set(keys) <= set(table) and table.duplicated(keys).any():
        raise ResauditError(f"{csv} has rows of the same {', '.join(keys)} twice; {again}")
    return Drawn(name, table, digest, about)


@contextmanager
def errors_naming(table: str) -> Iterator[None]:
    """Name the table in errors about its content.

    Raises:
        ResauditError: the table lacks expected columns, types or values.
    """
    try:
        yield
    except ResauditError as error:
        raise ResauditError(f"{table}: {error}; draw the figure again") from error
    except ODD_CONTENT as error:
        reason = f"{type(error).__name__}: {error}"
        raise ResauditError(
            f"{table}: the table does not have the expected columns or types ({reason}); redraw the figure"
        ) from error
