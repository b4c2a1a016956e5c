"""Checking an ``.npz`` from elsewhere by its headers, before NumPy reads an array of it."""

import math
import zipfile
from pathlib import Path

from numpy.lib import format as npy

from resaudit.errors import ResauditError
from resaudit.plan.job import Job
from resaudit.travel.opening import opened
from resaudit.travel.shapes import Header, check_headers

KINDS = "biufU"
"""Of dtypes: booleans, integers, floats and text; objects would be pickles."""


def check_arrays(path: Path, job: Job) -> None:
    """Check that every member is an array of plain numbers or text that fills its bytes exactly, and one of this job.

    Raises:
        ResauditError: one is not, or is missing.
    """
    headers: dict[str, Header] = {}

    def check(info: zipfile.ZipInfo) -> None:
        if info.compress_type != zipfile.ZIP_STORED or not info.filename.removesuffix(".npy").isidentifier():
            raise ResauditError(f"{path}: {info.filename!r} is no stored array; allowed: what resaudit writes")

    with opened(path, check) as found, zipfile.ZipFile(path) as archive:
        for info in found.entries.values():
            try:
                headers[info.filename.removesuffix(".npy")] = _header(info, archive)
            # On damaged headers zipfile, tokenize and NumPy each raise their own exceptions.
            except Exception as error:
                raise ResauditError(f"{path}: {info.filename} is no array that is taken here ({error})") from error
    check_headers(job, path.name, headers, path)


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
