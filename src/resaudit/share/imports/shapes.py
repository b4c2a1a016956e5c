"""Whether result files hold the arrays that their jobs state: names, types and shapes, as far as the plan says."""

import re
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


_ARRAY = re.compile(r"(?P<name>\w+)(?::(?P<type>\w+|\*))?(?:\[(?P<sizes>[\w,]*)\])?")


def check_headers(job: Job, file: str, found: Mapping[str, Header], where: object) -> None:
    """Check that a result file has the arrays that its job states, in the notation of :attr:`Job.arrays`.

    Args:
        job: whose file it is.
        file: its name.
        found: what the headers of its arrays say, by name.
        where: the file, for the error.

    Raises:
        ResauditError: an array is missing, is one too many, or has another type or shape.
    """
    arrays = [match.groupdict() for match in map(_ARRAY.fullmatch, job.arrays_of(file).split()) if match]
    if not arrays:
        return
    expected = {array["name"] for array in arrays}
    if expected != found.keys():
        held = one_line(", ".join(sorted(found)))
        raise ResauditError(f"{where} holds {held}; its job gives {', '.join(sorted(expected))}")
    known = dict(job.known_sizes)
    for array in arrays:
        header, stated = found[array["name"]], array["type"] or "f8"
        if stated == "*":
            continue
        is_text, dtype = stated == "U", np.dtype(getattr(job, stated, stated))
        names = [name for name in ("rows" if array["sizes"] is None else array["sizes"]).split(",") if name]
        # An empty list has no type of its own.
        is_type = 0 in header.shape or (header.dtype.kind == "U" if is_text else header.dtype == dtype)
        if not is_type or len(names) != len(header.shape) or not _fits(names, header.shape, known):
            sizes = ", ".join(str(known.get(name, name)) for name in names)
            allowed = f"{'text' if is_text else dtype}[{sizes}]"
            raise ResauditError(f"{where}: {array['name']} is {one_line(str(header))}; its job can only give {allowed}")


def _fits(names: list[str], shape: tuple[int, ...], known: dict[str, int]) -> bool:
    """Whether a shape has the sizes of these names; those not known yet are known from here on."""
    return all(
        (int(name) if name.isdigit() else known.setdefault(name, size)) == size
        for name, size in zip(names, shape, strict=True)
    )
