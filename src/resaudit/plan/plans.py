"""All that can be run: the plan of a configuration, and of every variant of it. Loads neither torch nor pandas."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from resaudit.config.composition import load
from resaudit.config.models import CONTROL, Variant
from resaudit.errors import ResauditError
from resaudit.plan.job import Job
from resaudit.plan.plan import Plan, make_plan


class Plans:
    """The plan that is configured, and the plans under its variants, each composed when it is first asked for.

    Args:
        overrides: Hydra overrides, as of :func:`resaudit.composition.load`.
        folder: of the configuration files.
        only: figures, as of :func:`resaudit.composition.load`.

    Raises:
        ResauditError: as :func:`resaudit.composition.load`.
    """

    def __init__(
        self, overrides: Sequence[str] = (), folder: Path | None = None, only: Sequence[str] | None = None
    ) -> None:
        self._overrides, self._folder = tuple(overrides), folder
        self.base = make_plan(load(self._overrides, folder, only))
        self._plans: dict[str, Plan] = {}

    @cached_property
    def variants(self) -> dict[str, Variant]:
        """Every variant by id; empty if the configuration is of a variant itself."""
        return {} if self.base.config.variant else self.base.config.variants()

    def under(self, variant: str | None) -> Plan:
        """The plan under a variant, under :data:`~resaudit.config.CONTROL`, or (None) as configured."""
        if variant is None:
            return self.base
        if variant not in self._plans:
            self._plans[variant] = make_plan(load([*self._overrides, f"variant={variant}"], self._folder))
        return self._plans[variant]

    def home(self, variant: str | None, figure: str) -> Plan:
        """The first plan that a figure has the same evidence in: as configured, the control, or the variant itself."""
        wanted = self.under(variant).figures[figure].evidence
        earlier = [None, CONTROL] if variant is not None else [None]
        return next(
            (plan for plan in map(self.under, earlier) if plan.figures[figure].evidence == wanted), self.under(variant)
        )

    def job(self, key: str) -> Job:
        """The job of a ``kind/id``, of the configuration or of any variant.

        Raises:
            ResauditError: there is none.
        """
        for plan in self._all():
            if key in plan.jobs:
                return plan.jobs[key]
        raise ResauditError(f"no job {key!r} in this configuration or its variants")

    def _all(self) -> Iterator[Plan]:
        yield self.base
        for variant in (CONTROL, *self.variants) if self.variants else ():
            yield self.under(variant)


def evidence_figures(plan: Plan, paper: str) -> list[str]:
    """The figures of a paper that some claim is held against, of those that are to be drawn."""
    wanted = {f"{paper}/{claim.evidence}" for claim in plan.config.claims_of(paper).values()}
    return [name for name in plan.figures if name in wanted]
