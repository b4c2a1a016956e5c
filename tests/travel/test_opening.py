"""Zips and arrays made to harm whoever opens them. Oracle: the rules of docs/travel.md; each is refused in one line.

Sees a rule that lets its attack through; each zip here differs in one thing from one that is opened.
"""

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from resaudit.base.errors import ResauditError
from resaudit.jobs.simulation import Simulation
from resaudit.share.imports.arrays import check_arrays
from resaudit.share.imports.opening import opened
from resaudit.share.imports.strict import parse_strictly

Make = Callable[[zipfile.ZipFile], None]
END = 22
"""Bytes of the end record."""


def plain(archive: zipfile.ZipFile) -> None:
    archive.writestr("a/one.json", b"{}" * 50)


def entry(name: str, content: bytes = b"x", **properties: int) -> Make:
    def make(archive: zipfile.ZipFile) -> None:
        plain(archive)
        info = zipfile.ZipInfo(name)
        for key, value in properties.items():
            setattr(info, key, value)
        archive.writestr(info, content)

    return make


def twice(archive: zipfile.ZipFile) -> None:
    plain(archive)
    with pytest.warns(UserWarning, match="Duplicate"):
        plain(archive)


def zipped(make: Make) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        make(archive)
    return made.getvalue()


def replaced(before: bytes, after: bytes) -> Callable[[bytes], bytes]:
    def edit(content: bytes) -> bytes:
        assert content.count(before) >= 1
        return content.replace(before, after)

    return edit


def overlapping(content: bytes) -> bytes:
    """The second entry's header is said to be where the first one's is."""
    at = content.rindex(b"PK\1\2")
    return content[: at + 42] + struct.pack("<L", 0) + content[at + 46 :]


def encrypted(content: bytes) -> bytes:
    at = content.rindex(b"PK\1\2")
    return content[: at + 8] + struct.pack("<H", 1) + content[at + 10 :]


def of_other_size(content: bytes) -> bytes:
    """The directory says a size that the bytes do not have."""
    at = content.rindex(b"PK\1\2")
    return content[: at + 24] + struct.pack("<L", 2**30) + content[at + 28 :]


def many(content: bytes) -> bytes:
    return content[:-END] + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 60000, 60000, 2**31, 0, 0)


def read_all(path: Path) -> None:
    with opened(path, lambda _: None) as found:
        for name in found.entries:
            found.read(name)


def test_a_plain_zip_is_opened_and_copied(tmp_path: Path) -> None:
    path = tmp_path / "good.zip"
    path.write_bytes(zipped(entry("b/two.json", b"two")))
    with opened(path, lambda _: None) as found:
        assert set(found.entries) == {"a/one.json", "b/two.json"}
        digest = found.copy("b/two.json", tmp_path / "two")
        assert found.sha256("b/two.json") == digest
        with pytest.raises(FileExistsError):
            found.copy("b/two.json", tmp_path / "two")
    assert (tmp_path / "two").read_bytes() == b"two"


@pytest.mark.parametrize(
    ("make", "edit", "said"),
    [
        (entry("../out.json"), bytes, "lies outside"),
        (entry("/etc/passwd"), bytes, "lies outside"),
        (entry("a//two"), bytes, "lies outside"),
        (entry("c:/two"), bytes, "lies outside"),
        (entry("a\\two"), bytes, "not plain ASCII"),
        (entry("é"), bytes, "not plain ASCII"),
        (entry("a/twoX.json"), replaced(b"a/twoX.json", b"a/two\0.json"), "not plain ASCII"),
        (entry("link", external_attr=(stat.S_IFLNK | 0o777) << 16), bytes, "is a link, a folder or a device"),
        (entry("fifo", external_attr=(stat.S_IFIFO | 0o644) << 16), bytes, "is a link, a folder or a device"),
        (entry("dir", external_attr=0x10), bytes, "is a link, a folder or a device"),
        (entry("bz", compress_type=zipfile.ZIP_BZIP2), bytes, "is compressed by method 12"),
        (entry("xz", compress_type=zipfile.ZIP_LZMA), bytes, "is compressed by method 14"),
        (entry("secret"), encrypted, "is encrypted"),
        (entry("A/ONE.json"), bytes, "is there twice"),
        (twice, bytes, "is there twice"),
        (entry("two"), overlapping, "shares bytes with another"),
        (entry("bomb", bytes(1000), compress_type=zipfile.ZIP_DEFLATED), of_other_size, "not as many bytes"),
        (plain, lambda content: b"#!/bin/sh\n" + content, "bytes before, in or after its directory"),
        (plain, lambda content: content + b"more", "does not end as a zip"),
        (lambda archive: setattr(archive, "comment", b"hello"), bytes, "does not end as a zip"),
        (plain, many, "60000 entries in 2147483648 bytes; allowed"),
        (plain, lambda content: content[:-30] + content[-END:], "bytes before, in or after its directory"),
        (plain, replaced(b"PK\1\2", b"PK\1\3"), "cannot be read"),
        (plain, lambda content: content[:40] + b"\xff" + content[41:], "cannot be read"),
        (plain, lambda _: b"", "has 0 bytes"),
    ],
)
def test_a_hostile_zip_is_refused_in_one_line(
    make: Make, edit: Callable[[bytes], bytes], said: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.zip"
    path.write_bytes(edit(zipped(make)))
    with pytest.raises(ResauditError) as error:
        read_all(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def npz(folder: Path, **members: bytes) -> Path:
    path = folder / "arrays.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(array: np.ndarray, allow_pickle: bool = False) -> bytes:
    made = io.BytesIO()
    np.lib.format.write_array(made, array, allow_pickle=allow_pickle)
    return made.getvalue()


@dataclass(frozen=True)
class Unknown(Simulation):
    """A kind of which only the arrays' names are known."""

    kind: ClassVar[str] = "unknown"
    result: ClassVar[type[Any]] = make_dataclass("Result", ["losses", "names", "run"])

    def simulate(self) -> Any:
        raise NotImplementedError


def test_arrays_as_numpy_writes_them_are_taken(tmp_path: Path) -> None:
    np.savez(tmp_path / "result.npz", losses=np.full((2, 3), np.inf), names=np.array(["a", "bc"]), run=np.arange(3))
    check_arrays(tmp_path / "result.npz", Unknown())
    np.savez(tmp_path / "result.npz", losses=np.zeros(3), names=np.array(["a"]))
    with pytest.raises(ResauditError, match="holds losses, names; its job gives losses, names, run"):
        check_arrays(tmp_path / "result.npz", Unknown())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (npy(np.array([{}], dtype=object), allow_pickle=True), "dtype object"),
        (npy(np.zeros(2, dtype=[("a", "f8")])), "dtype"),
        (npy(np.zeros((2, 3))).replace(b"(2, 3)", b"(2,99)"), "does not fill"),
        (npy(np.zeros((2, 3))).replace(b"(2, 3)", b"(0, 3)"), "does not fill"),
        (b"\x93NUMPY\x01\x00\xff\xff", "is no array that is taken here"),
        (npy(np.zeros(2)).replace(b"'fortran_order': False", b"'fortran_order': open("), "is no array"),
    ],
)
def test_an_array_that_lies_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(ResauditError, match=said.replace("(", r"\(")):
        check_arrays(npz(tmp_path, losses=content), Unknown())


def test_compressed_arrays_are_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "small.npz", zeros=np.zeros(10**6))
    with pytest.raises(ResauditError, match="no stored array"):
        check_arrays(tmp_path / "small.npz", Unknown())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NaN", "NaN is no finite number"),
        ("1e999", "1e999 is no finite number"),
        ('{"a": 1, "a": 2}', "a key stands twice"),
        ("[" * 100_000, "is no JSON that is taken here"),
        ("{", "is no JSON that is taken here"),
    ],
)
def test_json_that_reads_as_something_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(ResauditError, match=said):
        parse_strictly(text.encode(), "it")
