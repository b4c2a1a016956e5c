"""The base class of all checks. Imports no pandas, so that the models of claims do not either."""

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from resaudit.base.models import Model

if TYPE_CHECKING:
    import pandas as pd

    from resaudit.claims.checks.measured import Measured

Share = Annotated[float, Field(ge=0, le=1)]
"""Share of a training's epochs."""
Names = Annotated[list[str], Field(min_length=1)]
"""Names of networks or properties; each must be measured."""
Columns = Annotated[list[str], Field(min_length=1)]
"""Columns of the table by which rows are grouped."""


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
