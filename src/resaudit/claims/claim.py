"""Claims: what a paper says, its interpretation, checks with thresholds, and the least evidence for a verdict."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, ValidationError
from pydantic_core import InitErrorDetails

from resaudit.claims import checks
from resaudit.claims.checks.check import Check, Depth, checks_by_name
from resaudit.registry import import_modules
from resaudit.schema import Model, validated


class Needs(Model):
    """The least evidence for a verdict.

    Attributes:
        runs: of every compared setting.
        depths: that the table must have.
        scales: that count as evidence.
    """

    runs: Annotated[int, Field(ge=1)] = 1
    depths: list[Depth] = []
    scales: list[str] = ["laptop", "paper"]


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
        statement: the claim in our words.
        where: its place in the paper.
        kind: a mathematical statement, a statement about runs with a spread, or a count.
        evidence: the figure of the same paper whose table is checked.
        not_yet: why that figure does not exist yet; the claim is ``not run``.
        reading: how its vague words are made exact.
        reason: for the reading.
        checks: by name within the claim, ``{check: NAME, …}`` with the check's parameters; all must hold.
        needs: the least evidence for a verdict.
    """

    statement: str
    where: str
    kind: Literal["theorem", "empirical", "count"]
    evidence: str
    not_yet: str | None = None
    reading: str
    reason: str
    checks: dict[str, Annotated[SerializeAsAny[Check], BeforeValidator(_by_its_name)]] = Field(min_length=1)
    needs: Needs = Needs()


def read_claim(paper: str, name: str, given: Any) -> Claim:
    """A claim from its section of the configuration.

    Raises:
        ResauditError: a key, a type or a value is wrong, in one line.
    """
    import_checks(paper)
    return validated(Claim, given, f"claims.{paper}.{name}")


def import_checks(paper: str) -> None:
    """Import the general checks and, if there is one, ``resaudit/papers/<paper>/checks.py``."""
    import_modules(checks, paper, "checks")
