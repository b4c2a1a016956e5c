"""Archives and arrays made to harm whoever opens them. Oracle: docs/travel.md; each is refused in one line."""

import io
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from resaudit.base.errors import ResauditError
from resaudit.jobs.simulation import Simulation
from resaudit.share.imports import opening
from resaudit.share.imports.arrays import check_arrays
from resaudit.share.imports.opening import opened
from resaudit.share.imports.packed import METADATA, check_entry, unpacked

RESULT = "results/train/a/losses.npz"


def zipped(path: Path, *names: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, bytes(1000))
    return path


def read_all(path: Path) -> None:
    with opened(path, partial(check_entry, path)) as found:
        for name in found.entries:
            found.read(name)


def test_a_plain_archive_is_opened_and_copied_but_over_nothing(tmp_path: Path) -> None:
    path = zipped(tmp_path / "good.zip", RESULT, METADATA)
    read_all(path)
    with opened(path, lambda _: None) as found:
        assert found.sha256(RESULT) == found.copy(RESULT, tmp_path / "two")
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        for there in ("two", "link"):
            with pytest.raises(FileExistsError):
                found.copy(RESULT, tmp_path / there)
    assert (tmp_path / "two").read_bytes() == bytes(1000)


@pytest.mark.parametrize(
    "name",
    ["../out.json", "/etc/passwd", "c:/two", "a\\two", "é", "results/../../two.npz", "results/train/../two.npz",
     "figures//two", "figures/../two", "src/.hidden/two.py", "results/train/a/b/two.npz", "results/train/a/two.py",
     ".snakemake", "evil/sitecustomize.py", "figures/", "figures/a\nb"],
)  # fmt: skip
def test_a_name_without_a_place_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ResauditError, match="has no place in a run") as error:
        read_all(zipped(tmp_path / "bad.zip", RESULT, name))
    assert "\n" not in str(error.value)


def of_other_size(content: bytes) -> bytes:
    """The directory says that the last entry unpacks to 10 bytes; it unpacks to a hundred times as many."""
    at = content.rindex(b"PK\1\2")
    return content[: at + 24] + struct.pack("<L", 10) + content[at + 28 :]


def encrypted(content: bytes) -> bytes:
    at = content.rindex(b"PK\1\2")
    return content[: at + 8] + struct.pack("<H", 1) + content[at + 10 :]


@pytest.mark.parametrize(
    "edit",
    [of_other_size, encrypted, lambda content: content.replace(b"PK\1\2", b"PK\1\3"),
     lambda content: content[: len(content) // 2], lambda content: content[:60] + b"\xff" + content[61:],
     lambda _: b""],
)  # fmt: skip
def test_a_damaged_zip_is_refused_in_one_line(edit: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = zipped(tmp_path / "bad.zip", RESULT)
    path.write_bytes(edit(path.read_bytes()))
    with pytest.raises(ResauditError, match="cannot be read") as error:
        read_all(path)
    assert "\n" not in str(error.value)


def test_an_entry_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResauditError, match="is there twice"):
        read_all(zipped(tmp_path / "bad.zip", "README.md", "readme.MD"))


@pytest.mark.parametrize(
    ("cap", "most", "said"),
    [("MOST_ENTRIES", 1, "2 entries; allowed: at most 1"), ("LARGEST_ENTRY", 999, "has 1000 bytes; allowed: 999"),
     ("LARGEST_TOTAL", 1999, "unpacks to 2000 bytes; allowed: at most 1999")],
)  # fmt: skip
def test_caps_hold(cap: str, most: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, cap, most)
    with pytest.raises(ResauditError, match=said):
        read_all(zipped(tmp_path / "bad.zip", RESULT, METADATA))


@pytest.mark.parametrize("text", ["NaN", "[1e999]", "[" * 100_000, "{", "1" * 5000, "null", '{"@graph": [{}]}'])
def test_metadata_that_is_no_list_of_entities_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(METADATA, text)
    with (
        opened(path, partial(check_entry, path)) as found,
        pytest.raises(ResauditError, match=r"is not valid JSON|is no list of entities with ids") as error,
    ):
        unpacked(path, found)
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
