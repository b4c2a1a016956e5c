"""What the YAML of a new data set needs: names, sizes and digests of its files."""

import hashlib
import math
import re
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from resaudit.base.errors import DataError, listed
from resaudit.data.dataset import FILES, LARGEST_FILE, DataFile
from resaudit.data.files import beginning, children
from resaudit.data.image_folder import decoded
from resaudit.data.images import parse_header, parse_idx

_IDX = re.compile(r"(train|test|t10k).*(images|labels)")


def description_of(place: Path) -> dict[str, Any]:
    """The keys of a data set's YAML that depend on its bytes.

    Args:
        place: a folder of four IDX files, raw or packed; or images of classes, in a folder or an archive.
    """
    names = children(place) if place.is_dir() else []
    if any(_IDX.search(path.name) and path.is_file() for path in names):
        return {"files": {key: file.model_dump() for key, file in described(place).items()}}
    classes, contents = decoded(place)
    files = {key: _file_of(f"{key.replace('_', '-')}.idx", contents[key]).model_dump() for key in FILES}
    return {"format": "image_folder", "classes": len(classes), "files": files}


def described(folder: Path) -> dict[str, DataFile]:
    """The four IDX files of a folder, raw or packed, with sizes and SHA-256: the ``files`` of a data set's YAML."""
    candidates: dict[str, list[Path]] = {}
    for path in children(folder):
        if match := _IDX.search(path.name):
            candidates.setdefault(f"{match[1].replace('t10k', 'test')}_{match[2]}", []).append(path)
    if missing := [key for key in FILES if key not in candidates]:
        raise DataError(
            f"{folder} has no {listed(missing)}; needed: files named train-images…, train-labels…, t10k-images… and "
            "t10k-labels…, each raw or .gz"
        )
    return {key: _only_one(key, candidates[key]) for key in FILES}


def _only_one(key: str, candidates: list[Path]) -> DataFile:
    """The file that all candidates are, such as one raw and packed, by its shortest name."""
    found: set[DataFile] = set()
    name = min((path.name.removesuffix(".gz") for path in candidates), key=len)
    for path in candidates:
        header, shape = parse_header(beginning(path, 2**10), str(path))
        # No more than its header states is unpacked.
        content = beginning(path, min(header + math.prod(shape), LARGEST_FILE) + 1)
        parse_idx(content, str(path))
        try:
            found.add(_file_of(name, content))
        except ValidationError as error:
            raise DataError(
                f"{path.with_name(name)} cannot be named so in a data set's YAML; allowed: letters, digits and ._-; "
                "rename it"
            ) from error
    if len(found) > 1:
        raise DataError(f"{listed(candidates)} differ, but each may be {key}; leave one there")
    return found.pop()


def _file_of(name: str, content: bytes) -> DataFile:
    return DataFile(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest())
