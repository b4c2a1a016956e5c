"""What a result says of its arrays, once: type, shape and tolerance are annotations of its dataclass's fields.

A field ``loss: Annotated[Float, Shape("steps", "runs"), Tolerance(relative=1e-3)]`` is an array of float64 with a row a
step, which another CPU platform may compute up to 0.1 % apart. Without :class:`Shape` it has the shape (rows,), one
size in all arrays of the file; without :class:`Tolerance` it must be equal, as settings, counts and names must; without
a type it may be any array. Tolerances start from those of the figures' tables (``tolerances`` in their YAML); the
reasons, where they are wider too, stand beside them.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar

import numpy as np


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


Record = TypeVar("Record")
"""A dataclass of arrays."""


@dataclass(frozen=True)
class Type:
    """The type of an array: NumPy's short name, U for text of any length, or the job's setting that names it."""

    name: str


class Shape(tuple[str | int, ...]):
    """The sizes of an array: numbers, or names (:meth:`resaudit.jobs.job.Job.size`); none of a single number."""

    def __new__(cls, *sizes: str | int) -> "Shape":
        """As a tuple of the arguments."""
        return super().__new__(cls, sizes)


Text = Annotated[np.ndarray, Type("U")]
Int = Annotated[np.ndarray, Type("i8")]
Float = Annotated[np.ndarray, Type("f8")]


class Array(NamedTuple):
    """What a field says of its array; None: nothing."""

    type: str | None
    shape: Shape
    tolerance: Tolerance | None


def arrays_in(record: type[Any]) -> dict[str, Array]:
    """What the fields of a dataclass of arrays say of them, by name; of two annotations of one sort, the outer counts.

    >>> Losses = Annotated[Float, Shape("steps", "runs")]
    >>> arrays_in(dataclass(type("Result", (), {"__annotations__": {"loss": Losses}})))["loss"][:2]
    ('f8', ('steps', 'runs'))
    """
    arrays = {}
    for field in fields(record):
        said = {type(each): each for each in getattr(field.type, "__metadata__", ())}
        type_ = said.get(Type)
        arrays[field.name] = Array(type_ and type_.name, said.get(Shape, Shape("rows")), said.get(Tolerance))
    return arrays


def joined(parts: Sequence[Record], axis: int) -> Record:
    """Records of one kind as one, every array along an axis."""
    arrays = zip(*(astuple(part) for part in parts), strict=True)  # type: ignore[call-overload]
    return type(parts[0])(*(np.concatenate(each, axis=axis) for each in arrays))
