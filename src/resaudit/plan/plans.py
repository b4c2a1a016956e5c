"""The plan of a configuration and of each of its variants. Imports neither torch nor pandas."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from resaudit.plan.composition import files_in, load
from resaudit.plan.figure import Figure, Variant
from resaudit.plan.models import CONTROLS, Config
from resaudit.plan.overrides import Files
from resaudit.plan.plan import FigurePlan, Plan, make_plan, plan_figure


class Plans:
    """The configured plan and the plans under its variants, each made on first use.

    Args:
        config_of: returns the configuration under a variant's id, or (None) without a variant.
    """

    def __init__(self, config_of: Callable[[str | None], Config]) -> None:
        self._planned: dict[tuple[str, str], list[FigurePlan]] = {}
        self._made = cache(lambda variant: make_plan(config_of(variant), self._plan_figure))
        self.base = self.under(None)

    @classmethod
    def composed(
        cls, overrides: Sequence[str] = (), folder: Path | Files | None = None, only: Sequence[str] | None = None
    ) -> "Plans":
        """Plans from the configuration's files; arguments and errors as :func:`resaudit.plan.composition.load`.

        Under a variant only the papers that have it are composed.
        """
        files = files_in(folder)
        base = load(overrides, files, only)

        def config_of(variant: str | None) -> Config:
            if variant is None:
                return base
            papers = base.papers() if variant in CONTROLS else {p for p in base.papers() if variant in base.variants(p)}
            figures = [name for name in base.chosen_figures() if name.split("/")[0] in papers]
            under = load([*overrides, f"variant={variant}"], files, figures)
            return under.model_copy(update={"claims": base.claims})

        return cls(config_of)

    @classmethod
    def of(cls, config: Config, variants: Mapping[str, Config]) -> "Plans":
        """Plans from a configuration and the configurations under its variants, by id."""
        return cls(lambda variant: config if variant is None else variants[variant])

    def _plan_figure(self, figure: Figure, data: str) -> FigurePlan:
        """Planned once for all variants that leave the figure as it is; most do."""
        known = self._planned.setdefault((figure.name, data), [])
        same = next((plan for plan in known if plan.figure == figure), None)
        if same is None:
            known.append(same := plan_figure(figure, data))
        return same

    def variants(self, paper: str | None = None) -> dict[str, Variant]:
        """Every variant, or those of a paper, by id; none if the configuration has a variant itself."""
        return {} if self.base.config.variant else self.base.config.variants(paper)

    def under(self, variant: str | None) -> Plan:
        """The plan under a variant or one of :data:`~resaudit.plan.models.CONTROLS`, or (None) as configured."""
        plan: Plan = self._made(variant)
        return plan

    def all(self) -> Iterator[Plan]:
        """As configured, then under the controls and every variant."""
        yield self.base
        chosen = {name.split("/")[0] for name in self.base.figures}
        variants = [variant for paper in sorted(chosen) for variant in self.variants(paper)]
        for variant in dict.fromkeys((*CONTROLS, *variants)) if self.base.config.variant is None else ():
            yield self.under(variant)


def evidence_figures(plan: Plan, paper: str) -> list[str]:
    """The figures of a paper that some claim is held against, of those that are to be drawn."""
    evidence = {f"{paper}/{claim.evidence}" for claim in plan.config.claims_of(paper).values()}
    return [name for name in plan.figures if name in evidence]
