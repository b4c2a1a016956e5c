"""The tables of the numbers that papers print, beside ours."""

from collections.abc import Mapping

from resaudit.base.errors import ResauditError
from resaudit.base.models import validated
from resaudit.figures.drawing import figure_module
from resaudit.figures.printed import Printed
from resaudit.figures.tables import Drawn, errors_naming
from resaudit.plan.models import Config


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
