"""What a data set is: the files that it consists of, by size and SHA-256, and where their bytes may come from."""

from dataclasses import dataclass, field
from enum import Enum

from omegaconf import MISSING

from resaudit.schema import bounded

LARGEST_FILE = 2**31
"""Bytes of an unpacked IDX file, which is read as a whole: forty times MNIST's."""
LARGEST_CLASSES = 256
"""Labels are bytes."""


class Source(Enum):
    """Kinds of places that hold a data set's bytes."""

    folder = "folder"
    torchvision = "torchvision"
    wheel = "wheel"
    debian = "debian"


@dataclass
class DataFile:
    """One raw IDX file: its canonical name, size in bytes and SHA-256."""

    name: str = MISSING
    size: int = bounded(at_least=1, at_most=LARGEST_FILE)
    sha256: str = MISSING


@dataclass
class Wheel:
    """A pickled copy inside a package of the Python package index, read as an archive, never installed."""

    requirement: str = MISSING
    sha256: str = MISSING
    member: str = MISSING


@dataclass
class DebianPackage:
    """The folder that a Debian package installs."""

    package: str = MISSING
    folder: str = MISSING


@dataclass
class Dataset:
    """Ledger of a data set: what its bytes are and where they may come from."""

    name: str = MISSING
    title: str = MISSING
    citation: str = MISSING
    licence: str = MISSING
    classes: int = bounded(at_least=2, at_most=LARGEST_CLASSES)
    files: dict[str, DataFile] = field(default_factory=dict)
    sources: list[Source] = field(default_factory=list)
    folder: str | None = None
    torchvision: str | None = None
    wheel: Wheel | None = None
    debian: DebianPackage | None = None
