"""How far results of two CPU platforms may be apart: stated by each kind of job, array by array.

Arrays without a tolerance are settings, counts or names: they must be equal. The numbers start from the tolerances of
the figures' tables (``tolerances`` in their YAML, which ``resaudit compare`` uses); the reasons, where they are wider
too, stand beside them.
"""

from dataclasses import dataclass, replace
from typing import ClassVar


@dataclass(frozen=True)
class Tolerance:
    """How far an array may be from another machine's: |ours − theirs| ≤ absolute + relative · |theirs|.

    Attributes:
        relative: share of the other machine's value.
        absolute: difference, in the array's unit.
        differing: share of the runs that may be farther apart.
        runs: the axis of runs, which agree as a whole or not; None: each entry counts for itself. Runs that diverge
            agree from the epoch on from which both stay inf or NaN to the end.
        first: epochs at the start, and how far apart every run may be there, relative: chaos has not set in yet.
        epochs: the axis of epochs.
        rounding: the array of the same file that says how large an entry may be by rounding alone, where it is finite;
            it is added to the tolerance.
        limit: the array of the same file that an error is judged by: where it is finite, both errors must lie on the
            same side of it, and may be apart by any amount.
        rows: a column of texts of the same file and the text in it of the rows that this is for; None: of all.
        others: tolerance of the other rows.
        chaotic: it is this wide because trainings or searches amplify rounding, so that it bounds no rounding.
    """

    CLOSE: ClassVar["Tolerance"]
    """Rounding that nothing amplifies; the figures' tables allow as much."""
    ERROR: ClassVar["Tolerance"]
    """An error of rounding's size has other digits on every machine; its measuring function bounds it."""
    LIMIT: ClassVar["Tolerance"]
    """What judges an error is far below every absolute tolerance."""

    relative: float = 0.0
    absolute: float = 0.0
    differing: float = 0.0
    runs: int | None = None
    first: tuple[int, float] | None = None
    epochs: int = 0
    rounding: str | None = None
    limit: str | None = None
    rows: tuple[str, str] | None = None
    others: "Tolerance | None" = None
    chaotic: bool = False

    def of_rounding(self) -> "Tolerance":
        """The same without what chaos may do: how far each entry may be apart on one CPU platform."""
        relative = 0.0 if self.chaotic else self.relative if self.first is None else min(self.relative, self.first[1])
        absolute = 0.0 if self.chaotic else self.absolute
        others = self.others and self.others.of_rounding()
        return replace(self, relative=relative, absolute=absolute, differing=0.0, runs=None, first=None, others=others)


Tolerance.CLOSE = Tolerance(relative=1e-6, absolute=1e-9)
Tolerance.ERROR = Tolerance(relative=1e-6, absolute=1e-12, limit="tolerance")
Tolerance.LIMIT = Tolerance(relative=1e-6)
