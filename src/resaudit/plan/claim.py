"""Claims: what a paper says, its interpretation, checks with thresholds, and the minimum sample for a verdict."""

import importlib
import math
import pkgutil
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from resaudit.base.models import Model, validated
from resaudit.base.papers import import_own
from resaudit.plan.check import Check, Depth, checks_by_name

GENERAL_CHECKS = "resaudit.claims.checks"
"""Package of the general checks; like a paper's, they are found by name, so that plans do not depend on them."""


class Needs(Model):
    """The minimum sample for a verdict.

    Attributes:
        runs: of every compared setting.
        depths: that the table must have.
        scales: that count as evidence.
        datasets: that count as evidence, by name; empty: any.
    """

    runs: Annotated[int, Field(ge=1)] = 1
    depths: list[Depth] = []
    scales: list[str] = ["laptop", "paper"]
    datasets: list[str] = []


class Limit(Model):
    """A bound that theory sets to a check's effect at the size of the experiment.

    An effect beyond it is an error. A variant that measures what the theory is not about must state another bound among
    its overrides, ``claims.<paper>.<claim>.limits.<check>.at_most=…``.

    Attributes:
        at_least: no effect can be smaller.
        at_most: no effect can be larger.
        reason: the proof in a few words, or where it stands.
    """

    at_least: float | None = None
    at_most: float | None = None
    reason: str

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


class Response(Model):
    """An author's reply to the verdict.

    Attributes:
        author: of the paper.
        date: of the reply, as the author wrote it.
        text: the reply.
        url: where it stands.
    """

    author: str
    date: str
    text: str
    url: str | None = None


def _by_its_name(given: Any) -> Any:
    """The check that ``{check: NAME, …}`` names."""
    if not isinstance(given, dict):
        return given
    parameters, known = dict(given), checks_by_name()
    name = parameters.pop("check", None)
    if not isinstance(name, str) or name not in known:
        wrong = InitErrorDetails(
            type="literal_error", loc=("check",), input=name, ctx={"expected": ", ".join(sorted(known))}
        )
        raise ValidationError.from_exception_data("Check", [wrong])
    return known[name].model_validate(parameters)


class Claim(Model):
    """A sentence of a paper that can be checked.

    Attributes:
        statement: a paraphrase of the paper alone.
        where: its place in the paper: section, paragraph, figure, equation.
        kind: a mathematical statement, a statement about runs with a spread, or a count.
        evidence: the figure of the same paper whose table is checked.
        not_yet: why that figure does not exist yet; the claim is ``not run``.
        interpretation: how its vague words are made exact.
        reason: for the interpretation.
        checks: by name within the claim, ``{check: NAME, …}`` with the check's parameters; all must hold.
        limits: by name of a check, what theory says of its effect.
        needs: the minimum sample for a verdict.
        fitted: why its agreement is no evidence, such as settings fitted to what it states; null: it is evidence.
        finding: why the claim failed or stayed open, as far as tested; docs/findings.md has more under the claim's id.
        response: of an author of the paper.
    """

    statement: str
    where: str
    kind: Literal["theorem", "empirical", "count"]
    evidence: str
    not_yet: str | None = None
    interpretation: str
    reason: str
    checks: dict[str, Annotated[SerializeAsAny[Check], BeforeValidator(_by_its_name)]] = Field(min_length=1)
    limits: dict[str, Limit] = {}
    needs: Needs = Needs()
    fitted: str | None = None
    finding: str | None = None
    response: Response | None = None

    @model_validator(mode="after")
    def _limits_of_checks(self) -> Self:
        unknown = sorted(set(self.limits) - set(self.checks))
        if unknown:
            raise ValueError(
                f"limits names {unknown[0]}, which is no check of the claim; checks: {', '.join(self.checks)}"
            )
        return self


def read_claim(paper: str, name: str, given: Any) -> Claim:
    """A claim from its section of the configuration.

    Raises:
        ResauditError: a key, a type or a value is wrong, in one line.
    """
    import_checks(paper)
    return validated(Claim, given, f"claims.{paper}.{name}")


def import_checks(paper: str) -> None:
    """Import the general checks, and those of a paper's module ``checks`` if it has one."""
    general = importlib.import_module(GENERAL_CHECKS)
    for module in pkgutil.iter_modules(general.__path__, f"{GENERAL_CHECKS}."):
        importlib.import_module(module.name)
    import_own(paper, "checks")
