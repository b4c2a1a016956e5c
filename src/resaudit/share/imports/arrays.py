"""Checking an ``.npz`` from elsewhere: plain arrays of the names, types and shapes that its job states."""

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from resaudit.base.errors import ArchiveError, listed
from resaudit.base.models import check_lines, one_line
from resaudit.jobs.job import Job
from resaudit.share.comparing import stays

KINDS = "biufU"
"""Kinds of dtypes: booleans, integers, floats and text; objects would be pickles."""


def check_arrays(path: Path, job: Job, where: str = "") -> None:
    """Check that a result file has the arrays that its job can give, and that its texts are lines.

    Args:
        path: the file.
        job: its job.
        where: what the file is called in errors; default: its path.
    """
    try:
        arrays = _plain_arrays(path)
    # On damaged bytes zipfile, tokenize and NumPy each raise their own exceptions.
    except Exception as error:
        reason = one_line(str(error) or type(error).__name__)
        raise ArchiveError(f"{where or path} has no plain arrays ({reason}); get the archive again") from error
    check_shapes(job, path, arrays, where)
    for name, tolerance in (job.tolerances() or {}).items():
        if tolerance.runs is not None:
            diverged = ~np.isfinite(arrays[name])
            if (diverged != stays(diverged, tolerance.epochs)).any():
                raise ArchiveError(f"{where or path}: {name} has a run that diverges and comes back")


def _plain_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a file; raises an exception of any kind if one is compressed, no array, or not plain."""
    with zipfile.ZipFile(path) as archive:
        # A small file of compressed zeros can fill all memory.
        if any(info.compress_type != zipfile.ZIP_STORED for info in archive.infolist()):
            raise ValueError("compressed")
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray) or array.dtype.kind not in KINDS:
            raise ValueError(f"{name} is {getattr(array, 'dtype', 'no array')}")
        if array.dtype.kind == "U":
            # An empty text says that there is nothing to say.
            check_lines([text for text in np.unique(array).tolist() if text])
    return arrays


def check_shapes(job: Job, path: Path, arrays: Mapping[str, np.ndarray], where: str = "") -> None:
    """Check that arrays have the names, types and shapes that their job states (:mod:`resaudit.jobs.fields`)."""
    stated = job.arrays_of(path.name)
    if stated.keys() != arrays.keys():
        raise ArchiveError(
            f"{where or path} has the arrays {one_line(', '.join(sorted(arrays)))}; its job gives "
            f"{listed(sorted(stated))}"
        )
    symbols = {size for array in stated.values() for size in array.shape if isinstance(size, str)}
    sizes = {symbol: size for symbol in symbols if (size := job.size(symbol)) is not None}
    for name, statement in stated.items():
        if statement.type is None:
            continue
        array, is_text = arrays[name], statement.type == "U"
        dtype = np.dtype(getattr(job, statement.type, statement.type))
        # An empty list has no type of its own.
        is_type = array.size == 0 or (array.dtype.kind == "U" if is_text else array.dtype == dtype)
        # A size that the job does not know is that of the first array that has it.
        if not (is_type and len(statement.shape) == array.ndim) or not all(
            (sizes.setdefault(size, length) if isinstance(size, str) else size) == length
            for size, length in zip(statement.shape, array.shape, strict=True)
        ):
            shape = [sizes.get(size, size) if isinstance(size, str) else size for size in statement.shape]
            found = f"{array.dtype}{list(array.shape)}"
            allowed = f"{'text' if is_text else dtype}[{', '.join(map(str, shape))}]"
            raise ArchiveError(f"{where or path}: {name} is {found}; its job gives {allowed}")
