"""Archives and arrays made to harm whoever opens them. Oracle: docs/travel.md; each is refused in one line."""

import hashlib
import io
import json
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from resaudit.base.errors import ArchiveError
from resaudit.jobs.simulation import Simulation
from resaudit.share import packed
from resaudit.share.checking import check_arrays
from resaudit.share.packed import METADATA, unpacked
from tests.refusals import refused

RESULT = "results/train/a/losses.npz"
CONTENT = bytes(1000)


def zipped(path: Path, *names: str) -> Path:
    """An archive of files that its metadata lists, metadata first."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    graph = [{"@id": name, "@type": "File", "sha256": digest} for name in names]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(METADATA, json.dumps({"@graph": graph}))
        for name in names:
            archive.writestr(name, CONTENT)
    return path


def open_it(path: Path) -> None:
    with unpacked(path):
        pass


def test_a_plain_archive_is_opened_and_copied_but_over_nothing(tmp_path: Path) -> None:
    with unpacked(zipped(tmp_path / "good.zip", RESULT)) as found:
        assert (found.jobs, found.sizes) == ({"train/a": {"losses.npz"}}, {RESULT: 1000})
        found.copy(RESULT, tmp_path / "two")
        (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
        for name in ("two", "link"):
            with pytest.raises(FileExistsError):
                found.copy(RESULT, tmp_path / name)
    assert (tmp_path / "two").read_bytes() == CONTENT


def test_an_archive_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    with (
        unpacked(zipped(tmp_path / "good.zip", RESULT)) as found,
        refused(ArchiveError, "changes while it is read; copy"),
    ):
        found.digests[RESULT] = "0" * 64
        found.copy(RESULT, tmp_path / "two")


@pytest.mark.parametrize(
    "name",
    ["../out.json", "/etc/passwd", "c:/two", "a\\two", "é", "results/../../two.npz", "results/train/../two.npz",
     "figures//two", "figures/../two", "src/.hidden/two.py", "results/train/a/b/two.npz", "results/train/a/two.py",
     ".snakemake", "evil/sitecustomize.py", "figures/a\nb",
     "figures/", "run/", "run/ro-crate-metadata.json", "__MACOSX/._results"],  # packed again
)  # fmt: skip
def test_a_name_without_a_place_is_refused(name: str, tmp_path: Path) -> None:
    with refused(ArchiveError, repr(name)):
        open_it(zipped(tmp_path / "bad.zip", RESULT, name))


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_an_archive_that_lost_its_end_is_said_to_have(kept: float, tmp_path: Path) -> None:
    path = zipped(tmp_path / "bad.zip", RESULT)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content))])
    with refused(ArchiveError, "has lost its end, as by a"):
        open_it(path)


def of_other_size(content: bytes) -> bytes:
    """The directory says that the last entry unpacks to 10 bytes; it unpacks to a hundred times as many."""
    at = content.rindex(b"PK\1\2")
    return content[: at + 24] + struct.pack("<L", 10) + content[at + 28 :]


def encrypted(content: bytes) -> bytes:
    at = content.rindex(b"PK\1\2")
    return content[: at + 8] + struct.pack("<H", 1) + content[at + 10 :]


def spoilt(content: bytes) -> bytes:
    """One byte of the last entry is another."""
    at = content.index(RESULT.encode()) + len(RESULT) + 2
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


@pytest.mark.parametrize(
    "edit",
    [of_other_size, encrypted, spoilt, lambda content: content.replace(b"PK\1\2", b"PK\1\3"),
     lambda content: content[4 : len(content) // 2], lambda _: b""],
)  # fmt: skip
def test_a_damaged_zip_is_refused_in_one_line(edit: Callable[[bytes], bytes], tmp_path: Path) -> None:
    path = zipped(tmp_path / "bad.zip", RESULT)
    path.write_bytes(edit(path.read_bytes()))
    with refused(ArchiveError, "get the archive again"):
        open_it(path)


@pytest.mark.parametrize("sha256", [None, "", 5])
def test_a_file_that_is_listed_and_missing_is_refused(sha256: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(METADATA, json.dumps({"@graph": [{"@id": RESULT, "@type": "File", "sha256": sha256}]}))
    with refused(ArchiveError, repr(RESULT)):
        open_it(path)


def test_an_entry_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    with refused(ArchiveError, "'README.md'"):
        open_it(zipped(tmp_path / "bad.zip", "README.md", "readme.MD"))


@pytest.mark.parametrize(
    ("cap", "largest", "size"),
    [("MOST_ENTRIES", 1, 3), ("LARGEST_ENTRY", 999, 1000), ("LARGEST_JSON", 9, None), ("LARGEST_TABLE", 999, 1000),
     ("LARGEST_TOTAL", 2000, None)],
)  # fmt: skip
def test_caps_hold(cap: str, largest: int, size: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed, cap, largest)
    with refused(ArchiveError, largest, *[size] if size else []):
        open_it(zipped(tmp_path / "bad.zip", RESULT, "figures/paper/fig.csv"))


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("NaN", "not valid JSON"),
        ("[1e999]", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("{", "not valid JSON"),
        ("1" * 5000, "not valid JSON"),
        ("null", "that resaudit crate"),
        ('{"@graph": [{}]}', "that resaudit crate"),
    ],
)
def test_metadata_that_is_no_list_of_entities_is_refused(text: str, fact: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(METADATA, text)
    with refused(ArchiveError, fact, METADATA):
        open_it(path)


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
    with refused(ArchiveError, "losses, names", ["losses", "names", "run"]):
        check_arrays(tmp_path / "result.npz", Unknown())


@pytest.mark.parametrize(
    "content",
    [
        npy(np.array([{}], dtype=object), allow_pickle=True),
        npy(np.zeros(2, dtype=[("a", "f8")])),
        npy(np.zeros((2, 3))).replace(b"(2, 3)", b"(2,99)"),
        npy(np.zeros((2, 3))).replace(b"(2, 3)", b"(2, -3)"),
        npy(np.zeros(2)).replace(b"(2,)", b"(9" + b"9" * 9 + b",)"),
        b"\x93NUMPY\x01\x00\xff\xff",
        b"not an array",
        npy(np.zeros(2)).replace(b"'fortran_order': False", b"'fortran_order': open("),
    ],
)
def test_an_array_that_lies_is_refused(content: bytes, tmp_path: Path) -> None:
    with refused(ArchiveError, "get the archive again"):
        check_arrays(npz(tmp_path, losses=content), Unknown())


def test_compressed_arrays_are_refused(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "small.npz", zeros=np.zeros(10**6))
    with refused(ArchiveError, "get the archive again"):
        check_arrays(tmp_path / "small.npz", Unknown())
