"""What a result says of its arrays, once: type, shape and tolerance are annotations of its dataclass's fields.

A field ``loss: Annotated[Float, Shape("steps", "runs"), Tolerance(relative=1e-3)]`` is an array of float64 with a row a
step, which another CPU platform may compute up to 0.1 % apart. Without :class:`Shape` it has the shape (rows,), one
size in all arrays of the file; without :class:`Tolerance` it must be equal; without a type it may be any array.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from resaudit.jobs.tolerance import Tolerance

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
