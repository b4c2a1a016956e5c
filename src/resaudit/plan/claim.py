"""Claims: what a paper says, its interpretation, checks with thresholds, and the minimum sample for a verdict.

Imports no pandas, nor do the classes of checks.
"""

import importlib
import math
import pkgutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from resaudit.base.errors import ConfigError, suggestion
from resaudit.base.models import Model, validated
from resaudit.base.papers import import_own
from resaudit.base.text import counted
from resaudit.plan.bounded import Depth

if TYPE_CHECKING:
    import pandas as pd

    from resaudit.claims.checks.measured import Measured

Share = Annotated[float, Field(ge=0, le=1)]
"""A share, as of a training's epochs."""
Names = Annotated[list[str], Field(min_length=1)]
"""Names of networks or properties; each must be measured."""
Columns = Annotated[list[str], Field(min_length=1)]
"""Columns of the table by which rows are grouped."""
Value = Annotated[str, BeforeValidator(lambda each: str(each) if isinstance(each, int | float) else each)]
"""A value of a column, as text; a number or a truth value is taken as Python writes it."""
Selected = dict[str, Value]
"""Values that select rows, by column."""


class Check(Model):
    """A quantity to measure in a figure's table, and its threshold.

    A subclass is a check: ``class AtTheEnd(Check, name="at_the_end")`` is ``{check: at_the_end, …}`` in YAML.

    Attributes:
        name: name of the check in YAML.
        reads: the figure's keys and tolerances that it needs besides the columns that its parameters name.
        about_divergence: whether diverged runs are what it measures; otherwise they never support a claim.
        on_screening: whether it measures the runs of a sweep that chooses rates, not the fresh ones.
        at_least: the effect is not below this.
        at_most: the effect is not above this.
        within_factor: the effect, a ratio, lies between 1/f and f.
    """

    name: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    about_divergence: ClassVar[bool] = False
    on_screening: ClassVar[bool] = False
    at_least: float | None = None
    at_most: float | None = None
    within_factor: Annotated[float, Field(gt=1)] | None = None

    def __init_subclass__(cls, name: str, **options: Any) -> None:
        """Register the check's name."""
        super().__init_subclass__(**options)
        if name in checks_by_name():
            raise TypeError(f"two checks are named {name}: {checks_by_name()[name]} and {cls}")
        cls.name = name

    def measure(self, table: "pd.DataFrame", least_runs: int) -> "Measured":
        """Measure the effect at every place.

        Args:
            table: table of the claim's figure, one row an observation.
            least_runs: places with fewer runs are left out.
        """
        raise NotImplementedError

    @model_validator(mode="after")
    def _one_region(self) -> Self:
        thresholds = [key for key in ("at_least", "at_most", "within_factor") if getattr(self, key) is not None]
        if not thresholds or ("within_factor" in thresholds and len(thresholds) > 1):
            raise ValueError(
                f"has {' and '.join(thresholds) or 'no threshold'}; give at_least, at_most or both, or within_factor"
            )
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError(f"has at_least {self.at_least} above at_most {self.at_most}; give the smaller as at_least")
        return self

    @model_serializer(mode="wrap")
    def _with_name(self, parameters: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {"check": self.name, **parameters(self)}

    @property
    def named(self) -> list[str]:
        """The networks that the check compares."""
        single = [getattr(self, key) for key in ("network", "other") if hasattr(self, key)]
        return single + [name for key in ("networks", "others") for name in getattr(self, key, [])]

    @property
    def parts(self) -> list[str]:
        """The networks or properties that are measured separately; each must be measured."""
        return [name for key in ("networks", "others", "properties") for name in getattr(self, key, [])]

    @property
    def columns(self) -> list[str]:
        """The columns of the table that its parameters name."""
        single = [getattr(self, key) for key in ("column", "by", "peak", "drop") if hasattr(self, key)]
        epochs = ["epoch"] if getattr(self, "epochs", []) else []
        return [*single, *getattr(self, "rows", {}), *getattr(self, "per", []), *epochs]

    @property
    def region(self) -> tuple[float | None, float | None]:
        """The least and the greatest effect for which the claim holds; None: no bound."""
        if self.within_factor is not None:
            return 1 / self.within_factor, self.within_factor
        return self.at_least, self.at_most


def checks_by_name() -> dict[str, type[Check]]:
    """Every check whose module has been imported."""
    return {kind.name: kind for kind in Check.__subclasses__() if hasattr(kind, "name")}


GENERAL_CHECKS = "resaudit.claims.checks"
"""Package of the general checks; like a paper's, they are found by name, so that plans do not depend on them."""


class Described(Model):
    """A part of a claim that audit.json has too: the docstrings of its fields are descriptions in the JSON Schema."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class Needs(Described):
    """The minimum sample for a verdict."""

    runs: Annotated[int, Field(ge=1)] = 1
    """Number of runs of every compared setting."""
    followed: Annotated[int, Field(ge=0)] = 0
    """Number of runs of every compared network that the table follows from the first epoch on."""
    depths: list[Depth] = []
    """Depths that the table must have."""
    scales: list[str] = ["laptop", "paper"]
    """Scales that count as evidence."""
    datasets: list[str] = []
    """Data sets that count as evidence, by name; empty: any."""

    def __str__(self) -> str:
        """In words.

        >>> str(Needs(runs=5, depths=[4, 96], datasets=["cifar10"]))
        '5 runs; depths 4, 96; scale laptop or paper; data set cifar10'
        """
        words = [counted(self.runs, "run")]
        words += [f"{self.followed} of them followed through training"] if self.followed else []
        words += [f"depths {', '.join(map(str, self.depths))}"] if self.depths else []
        words += [f"scale {' or '.join(self.scales)}"] if self.scales else []
        words += [f"data set {' or '.join(self.datasets)}"] if self.datasets else []
        return "; ".join(words)


class Limit(Described):
    """A bound that theory sets to a check's effect at the size of the experiment.

    An effect beyond it is an error. A variant that measures what the theory is not about must state another bound among
    its overrides, ``claims.<paper>.<claim>.limits.<check>.at_most=…``.
    """

    at_least: float | None = None
    """Least possible effect; null: unbounded."""
    at_most: float | None = None
    """Greatest possible effect; null: unbounded."""
    reason: str
    """The proof in a few words, or where it stands."""

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("has no bound; give at_least or at_most")
        return self

    def allows(self, effect: float) -> bool:
        """Whether an effect lies within this limit."""
        low = -math.inf if self.at_least is None else self.at_least
        return low <= effect <= (math.inf if self.at_most is None else self.at_most)

    def excludes(self, check: Check) -> bool:
        """Whether no effect within this limit meets the check's threshold."""
        low, high = check.region
        above = low is not None and self.at_most is not None and low > self.at_most
        return above or (high is not None and self.at_least is not None and high < self.at_least)


class Response(Described):
    """An author's reply to the verdict."""

    author: str
    """The author of the paper who replied."""
    date: str
    """Date of the reply, as the author wrote it."""
    text: str
    """The reply."""
    url: str | None = None
    """Where it stands; null: nowhere else."""


def check_named(name: str) -> type[Check]:
    """The check of this name; raises ResauditError if no module that was imported has it."""
    known = checks_by_name()
    if name not in known:
        raise ConfigError(f"unknown check {name!r}{suggestion(name, sorted(known))}")
    return known[name]


def _by_its_name(given: Any) -> Any:
    """The check that ``{check: NAME, …}`` names."""
    if not isinstance(given, dict):
        return given
    parameters, known = dict(given), checks_by_name()
    name = parameters.pop("check", None)
    if not isinstance(name, str) or name not in known:
        hint = suggestion(str(name), sorted(known), elsewhere="'resaudit checks' lists them all")
        raise ValueError(f"names the check {name!r}, which does not exist{hint}")
    return known[name].model_validate(parameters)


class Statement(Described):
    """A sentence of a paper that can be checked, and how we read it."""

    statement: str
    """A paraphrase of the paper alone."""
    where: str
    """Its place in the paper: section, paragraph, figure, equation."""
    kind: Literal["theorem", "empirical", "count"]
    """theorem: checked by construction; empirical: of runs with a spread; count: of things that can be counted."""
    interpretation: str
    """How the claim's vague words are made exact."""
    reason: str
    """The reason for the interpretation."""
    printed: list[str] = []
    """Which numbers that the paper prints it is about: how their names begin in the printed table of its figure."""
    needs: Needs = Needs()
    """The minimum sample for a verdict."""
    fitted: str | None = None
    """Why its agreement is no evidence, such as settings fitted to what it states; null: it is evidence."""
    finding: str | None = None
    """Why the claim failed or stayed open, as far as tested; docs/findings has more under the claim's id."""
    response: Response | None = None
    """Of an author of the paper; null: none."""


class Claim(Statement):
    """A sentence of a paper that can be checked."""

    evidence: str
    """The figure of the same paper whose table is checked."""
    not_yet: str | None = None
    """Why that figure does not exist yet; the claim is ``not run``."""
    checks: dict[str, Annotated[SerializeAsAny[Check], BeforeValidator(_by_its_name)]] = Field(min_length=1)
    """By name within the claim, ``{check: NAME, …}`` with the check's parameters; all must hold."""
    limits: dict[str, Limit] = {}
    """By name of a check, what theory says of its effect."""

    @model_validator(mode="after")
    def _limits_of_checks(self) -> Self:
        unknown = sorted(set(self.limits) - set(self.checks))
        if unknown:
            raise ValueError(
                f"limits names {unknown[0]}, which is no check of the claim; checks: {', '.join(self.checks)}"
            )
        return self


def read_claim(paper: str, name: str, given: Any) -> Claim:
    """A claim from its section of the configuration."""
    import_checks(paper)
    return validated(Claim, given, f"claims.{paper}.{name}")


def modules_of_checks(claims: Mapping[str, Mapping[str, Claim]]) -> list[str]:
    """The modules of all checks of claims, which are by paper and id."""
    every = (check for of_paper in claims.values() for claim in of_paper.values() for check in claim.checks.values())
    return sorted({type(check).__module__ for check in every})


def import_checks(paper: str | None = None) -> None:
    """Import the general checks, and those of a paper's module ``checks`` if it has one."""
    general = importlib.import_module(GENERAL_CHECKS)
    for module in pkgutil.iter_modules(general.__path__, f"{GENERAL_CHECKS}."):
        importlib.import_module(module.name)
    if paper is not None:
        import_own(paper, "checks")
