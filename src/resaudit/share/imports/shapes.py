"""Whether result files hold the arrays that their jobs state: names, types and shapes, as far as the plan says."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from resaudit.base.errors import ResauditError
from resaudit.base.models import one_line
from resaudit.jobs.job import Job


@dataclass(frozen=True)
class Header:
    """What an array's header says."""

    dtype: np.dtype
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def check_headers(job: Job, file: str, found: Mapping[str, Header], where: object) -> None:
    """Check that a result file has the arrays that its job states (:mod:`resaudit.jobs.fields`).

    Args:
        job: whose file it is.
        file: its name.
        found: what the headers of its arrays say, by name.
        where: the file, for the error.

    Raises:
        ResauditError: an array is missing, is one too many, or has another type or shape.
    """
    arrays = job.arrays_of(file)
    if arrays.keys() != found.keys():
        held = one_line(", ".join(sorted(found)))
        raise ResauditError(f"{where} holds {held}; its job gives {', '.join(sorted(arrays))}")
    names = {size for array in arrays.values() for size in array.shape if isinstance(size, str)}
    known = {name: size for name in names if (size := job.size(name)) is not None}
    for name, array in arrays.items():
        header, is_text = found[name], array.type == "U"
        if array.type is None:
            continue
        dtype = np.dtype(getattr(job, array.type, array.type))
        # An empty list has no type of its own.
        is_type = 0 in header.shape or (header.dtype.kind == "U" if is_text else header.dtype == dtype)
        # Sizes that are not known yet are known from here on.
        if not (is_type and len(array.shape) == len(header.shape)) or not all(
            (known.setdefault(size, there) if isinstance(size, str) else size) == there
            for size, there in zip(array.shape, header.shape, strict=True)
        ):
            sizes = ", ".join(str(known.get(size, size) if isinstance(size, str) else size) for size in array.shape)
            allowed = f"{'text' if is_text else dtype}[{sizes}]"
            raise ResauditError(f"{where}: {name} is {one_line(str(header))}; its job can only give {allowed}")
