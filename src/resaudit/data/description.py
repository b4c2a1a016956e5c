"""What the YAML of a new data set needs: names, sizes and digests of its files."""

import hashlib
import re
from pathlib import Path
from typing import Any

from resaudit.base.errors import ResauditError
from resaudit.data.dataset import FILES, LARGEST_FILE, DataFile
from resaudit.data.files import Refused, beginning
from resaudit.data.idx import LARGEST_HEADER, parse_idx, shape_and_size
from resaudit.data.image_folder import decoded

_NAMED = "train-images…, train-labels…, t10k-images… and t10k-labels…, each raw or .gz"
_IDX = re.compile(r"(train|test|t10k).*(images|labels)")


def description_of(place: Path) -> dict[str, Any]:
    """The keys of a data set's YAML that depend on its bytes.

    Args:
        place: a folder of four IDX files, raw or packed; or images of classes, in a folder or an archive.

    Raises:
        ResauditError: it is neither.
    """
    if any(path.is_file() for path in _idx_files(place)):
        return _printed(described(place))
    try:
        classes, contents = decoded(place)
    except Refused as refusal:
        raise ResauditError(f"{refusal}; or IDX files: {_NAMED}") from refusal
    stored = {key: _file_of(f"{key.replace('_', '-')}.idx", content) for key, content in contents.items()}
    return {"format": "image_folder", "classes": len(classes), **_printed({key: stored[key] for key in FILES})}


def described(folder: Path) -> dict[str, DataFile]:
    """The four IDX files of a folder, raw or packed, with sizes and SHA-256: the ``files`` of a data set's YAML.

    Raises:
        ResauditError: one is missing or no IDX file.
    """
    found: dict[str, DataFile] = {}
    for path, part in _idx_files(folder).items():
        content = _content(path)
        parse_idx(content, str(path))
        found[f"{part[1].replace('t10k', 'test')}_{part[2]}"] = _file_of(path.name.removesuffix(".gz"), content)
    missing = [key for key in FILES if key not in found]
    if missing:
        raise ResauditError(f"{folder} has no {', '.join(missing)}; needed: files named {_NAMED}")
    return {key: found[key] for key in FILES}


def _idx_files(folder: Path) -> dict[Path, re.Match[str]]:
    """What is named like an IDX file, sorted; hidden names are not."""
    try:
        there = sorted(folder.iterdir()) if folder.is_dir() else []
    except OSError as error:
        raise ResauditError(f"{folder} cannot be read ({error.strerror})") from error
    return {path: part for path in there if (part := _IDX.search(path.name)) and not path.name.startswith(".")}


def _content(path: Path) -> bytes:
    """An IDX file's bytes, unpacked no further than its header says."""
    try:
        _, size = shape_and_size(beginning(path, LARGEST_HEADER), str(path))
        if size > LARGEST_FILE:
            raise ResauditError(f"{path} has {size} bytes by its IDX header; allowed: at most {LARGEST_FILE}")
        return beginning(path, size + 1)
    except FileNotFoundError:
        raise ResauditError(f"{path} is a link to nothing") from None
    except Refused as refusal:
        raise ResauditError(str(refusal)) from refusal


def _file_of(name: str, content: bytes) -> DataFile:
    return DataFile(name=name, size=len(content), sha256=hashlib.sha256(content).hexdigest())


def _printed(files: dict[str, DataFile]) -> dict[str, Any]:
    return {"files": {key: file.model_dump() for key, file in files.items()}}
