"""Checking an ``.npz`` from elsewhere by its headers, before NumPy reads an array of it; then the texts in it."""

import math
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from resaudit.base.errors import ResauditError
from resaudit.base.models import check_lines, one_line, shown
from resaudit.jobs.job import Job
from resaudit.share.comparing import stays
from resaudit.share.imports.opening import opened
from resaudit.share.imports.shapes import Header, check_headers

KINDS = "biufU"
"""Of dtypes: booleans, integers, floats and text; objects would be pickles."""


def check_arrays(path: Path, job: Job) -> None:
    """Check that every member is an array of plain numbers or lines that fills its bytes exactly, and one of this job.

    Raises:
        ResauditError: one is not, or is missing.
    """
    headers: dict[str, Header] = {}

    def check(info: zipfile.ZipInfo) -> None:
        if info.compress_type != zipfile.ZIP_STORED or not info.filename.removesuffix(".npy").isidentifier():
            raise ResauditError(f"{path}: {shown(info.filename)} is no stored array; allowed: what resaudit writes")

    with opened(path, check) as found, zipfile.ZipFile(path) as archive:
        for info in found.entries.values():
            try:
                headers[info.filename.removesuffix(".npy")] = _header(info, archive)
            # On damaged headers zipfile, tokenize and NumPy each raise their own exceptions.
            except Exception as error:
                raise ResauditError(f"{path}: {shown(info.filename)} is {_refused(error)}") from error
    check_headers(job, path.name, headers, path)
    _check_texts(path, [name for name, header in headers.items() if header.dtype.kind == "U"])
    _check_ends(path, job)


def _check_texts(path: Path, names: list[str]) -> None:
    with np.load(path, allow_pickle=False) as arrays:
        for name in names:
            try:
                # What is empty says that there is nothing to say.
                check_lines([text for text in np.unique(arrays[name]).tolist() if text])
            # NumPy raises SystemError for numbers that are no letters.
            except (ValueError, SystemError) as error:
                raise ResauditError(f"{path}: {shown(name)} is {_refused(error)}") from error


def _refused(error: Exception) -> str:
    return f"no array that is taken here ({one_line(str(error))})"


def _check_ends(path: Path, job: Job) -> None:
    """Check that runs which diverge stay so: what is inf or NaN at an epoch is never a number later."""
    runs = {name: tolerance for name, tolerance in (job.tolerances() or {}).items() if tolerance.runs is not None}
    if not runs:
        return
    with np.load(path, allow_pickle=False) as file:
        for name, tolerance in runs.items():
            diverged = ~np.isfinite(file[name])
            if (diverged != stays(diverged, tolerance.epochs)).any():
                raise ResauditError(f"{path}: {name} has a run that diverges and comes back, which no training does")


def _header(info: zipfile.ZipInfo, archive: zipfile.ZipFile) -> Header:
    """What a header says; raises ValueError if its dtype and shape do not give the member's size."""
    with archive.open(info) as member:
        version = npy.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"version {version} of the format")
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(member)
        header = member.tell()
    if dtype.kind not in KINDS or dtype.names is not None:
        raise ValueError(f"dtype {dtype}")
    if header + math.prod(shape) * dtype.itemsize != info.file_size or any(size < 0 for size in shape):
        raise ValueError(f"shape {shape} does not fill {info.file_size} bytes")
    return Header(dtype, shape)
