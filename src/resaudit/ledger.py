"""The typed schema of the claims: what a paper says, how that is read, and the checks with their thresholds.

A claim's ``checks`` name the functions of :mod:`resaudit.claims.checks`; the parameters of each, their types, bounds
and defaults stand here. Imports neither torch nor pandas.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from omegaconf import MISSING

from resaudit.schema import bounded


class Kind(Enum):
    """What a claim is: a mathematical statement, one about measurements with a spread, or one that is counted."""

    theorem = "theorem"
    empirical = "empirical"
    count = "count"


class Comparison(Enum):
    """How two positive quantities, or two shares, are set against each other."""

    ratio = "ratio"
    difference = "difference"


class Reference(Enum):
    """The depth that a depth is compared with."""

    first = "first"
    previous = "previous"


class Span(Enum):
    """Between which places a growth is measured: each and the next, all together, or the last two."""

    each = "each"
    overall = "overall"
    last = "last"


class Depths(Enum):
    """Which depths a check looks at."""

    all = "all"
    last = "last"


@dataclass
class Check:
    """What every check has: the claim's side of its threshold, which belongs to it.

    Attributes:
        at_least: the effect is not below this.
        at_most: the effect is not above this.
        within_factor: the effect, a ratio, lies between 1/f and f.
    """

    at_least: float | None = None
    at_most: float | None = None
    within_factor: float | None = bounded(None, above=1)

    @property
    def named(self) -> list[str]:
        """Every network that it speaks of."""
        single = [getattr(self, key) for key in ("network", "other") if hasattr(self, key)]
        return single + [name for key in ("networks", "others") for name in getattr(self, key, [])]

    @property
    def parts(self) -> list[str]:
        """What it looks at one by one: networks, other networks, properties. Each must have been measured."""
        return [name for key in ("networks", "others", "properties") for name in getattr(self, key, [])]

    @property
    def region(self) -> tuple[float | None, float | None]:
        """The claim's side as its least and greatest effect; None where it has no end."""
        if self.within_factor is not None:
            return 1 / self.within_factor, self.within_factor
        return self.at_least, self.at_most


@dataclass
class RatioAcrossDepths(Check):
    """A quantity at each depth over the same at the first depth, or at the one before.

    ``epochs``: shares of the training at which it is looked at, for tables with an epoch; ``depths``: only these.
    """

    networks: list[str] = field(default_factory=list)
    column: str = MISSING
    reference: Reference = Reference.first
    epochs: list[float] = bounded([], at_least=0, at_most=1)
    depths: list[int] = bounded([], at_least=1)


@dataclass
class GrowthExponent(Check):
    """Exponent b of a quantity ~ depth^b, by least squares over a span of depths.

    ``by``: the column that stands for the depth; ``rows``: only rows with these values; ``per``: columns each
    combination of whose values is measured by itself.
    """

    networks: list[str] = field(default_factory=list)
    column: str = MISSING
    by: str = "depth"
    rows: dict[str, str] = field(default_factory=dict)
    per: list[str] = field(default_factory=list)
    span: Span = Span.each


@dataclass
class GrowthDifference(Check):
    """Exponent of one network's growth with depth minus another's, over the depths that both are known at."""

    network: str = MISSING
    other: str = MISSING
    column: str = MISSING


@dataclass
class AtEveryLoss(Check):
    """A network's quantity against each other's at losses on a grid, each run interpolated linearly in the loss."""

    network: str = MISSING
    others: list[str] = field(default_factory=list)
    column: str = MISSING
    compare: Comparison = Comparison.ratio
    losses: int = bounded(20, at_least=2, at_most=1000)


@dataclass
class LargeAgainstSmallLoss(Check):
    """That ratio at the largest common loss over that at the smallest."""

    network: str = MISSING
    others: list[str] = field(default_factory=list)
    column: str = MISSING


@dataclass
class AtTheEnd(Check):
    """A network's quantity over another's at the last epoch."""

    network: str = MISSING
    other: str = MISSING
    column: str = MISSING


@dataclass
class EarlyFall(Check):
    """How far a quantity has fallen from its start after a share of the training.

    ``of_whole``: as a share of the whole fall, to its least value.
    """

    network: str = MISSING
    column: str = MISSING
    within: float = bounded(0.01, above=0, at_most=1)
    of_whole: bool = False


@dataclass
class PeakAtDrop(Check):
    """Epochs between the peak of one quantity and the steepest fall of another, per epoch, in the same run."""

    network: str = MISSING
    peak: str = MISSING
    drop: str = MISSING


@dataclass
class FinalExcess(Check):
    """Mean final loss at the best rate above the optimal one, as a share of the optimal loss."""

    networks: list[str] = field(default_factory=list)
    depths: Depths = Depths.all


@dataclass
class FinalLossRatio(Check):
    """Others' mean final loss at their best rate over a network's.

    ``excess``: of the losses above the optimum.
    """

    network: str = MISSING
    others: list[str] = field(default_factory=list)
    depths: Depths = Depths.all
    excess: bool = True


@dataclass
class FinalLossAcrossDepths(Check):
    """A network's mean final loss at its best rate at each depth over that at the depth before."""

    network: str = MISSING


@dataclass
class BestRateRatio(Check):
    """A network's best learning rate over the others', from a depth on."""

    network: str = MISSING
    others: list[str] = field(default_factory=list)
    from_depth: int = bounded(1, at_least=1)


@dataclass
class BestRateKept(Check):
    """A network's best learning rate at the greatest depth over that at the least."""

    network: str = MISSING


@dataclass
class SpreadOverRates(Check):
    """Largest over least mean final loss of the networks over every learning rate, at one depth.

    ``rates_up_to``: larger rates are not looked at.
    """

    networks: list[str] = field(default_factory=list)
    depth: int = bounded(at_least=1)
    rates_up_to: float | None = bounded(None, above=0)

    @property
    def parts(self) -> list[str]:
        """None: all networks are one measurement."""
        return []


@dataclass
class CurveRatio(Check):
    """A network's mean excess loss over another's at shares of the training, both at their best rate."""

    network: str = MISSING
    other: str = MISSING
    epochs: list[float] = bounded([0.01, 0.1, 1.0], at_least=0, at_most=1)


@dataclass
class IdentitiesHold(Check):
    """Largest error over the draws and sizes, in units of what double precision allows, of each property named."""

    properties: list[str] = field(default_factory=list)


@dataclass
class Magnitude(Check):
    """Least (with ``at_least``) or largest value over the draws and sizes, of each property named.

    ``absolute``: of its magnitude.
    """

    properties: list[str] = field(default_factory=list)
    absolute: bool = False


CHECKS: dict[str, type[Check]] = {
    "ratio_across_depths": RatioAcrossDepths,
    "growth_exponent": GrowthExponent,
    "growth_difference": GrowthDifference,
    "at_every_loss": AtEveryLoss,
    "large_against_small_loss": LargeAgainstSmallLoss,
    "at_the_end": AtTheEnd,
    "early_fall": EarlyFall,
    "peak_at_drop": PeakAtDrop,
    "final_excess": FinalExcess,
    "final_loss_ratio": FinalLossRatio,
    "final_loss_across_depths": FinalLossAcrossDepths,
    "best_rate_ratio": BestRateRatio,
    "best_rate_kept": BestRateKept,
    "spread_over_rates": SpreadOverRates,
    "curve_ratio": CurveRatio,
    "identities_hold": IdentitiesHold,
    "magnitude": Magnitude,
}
"""Every check by the name it has in a ledger."""

CHECK_NAMES = {kind: name for name, kind in CHECKS.items()}


@dataclass
class Needs:
    """The least evidence for a verdict: runs of every setting that is compared, depths, and the scales that count."""

    runs: int = bounded(1, at_least=1)
    depths: list[int] = bounded([], at_least=1)
    scales: list[str] = field(default_factory=lambda: ["laptop", "paper"])


@dataclass
class Claim:
    """A sentence of a paper that can be checked.

    Attributes:
        statement: in our words.
        where: it stands in the paper.
        kind: what decides it.
        evidence: the figure of the same paper whose table is checked.
        not_yet: why that figure is not here yet; such a claim is ``not run``.
        reading: how its vague words are made exact.
        reason: why so.
        checks: by a name of each, ``{check: NAME, …}`` with the parameters of that check; all must hold.
        needs: the least evidence for a verdict.
    """

    statement: str = MISSING
    where: str = MISSING
    kind: Kind = MISSING
    evidence: str = MISSING
    not_yet: str | None = None
    reading: str = MISSING
    reason: str = MISSING
    checks: dict[str, Any] = field(default_factory=dict)
    needs: Needs = field(default_factory=Needs)
