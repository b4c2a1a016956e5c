"""Oracle: torchvision's ImageFolder and images made here. Sees another order, another decoder's mode, mixed sizes."""

import bz2
import gzip
import io
import lzma
import os
import shutil
import struct
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner
from PIL import Image
from torchvision.datasets import ImageFolder

from resaudit.base.errors import DataError, ResauditError
from resaudit.cli.commands import cli
from resaudit.data.dataset import Dataset, ImageFolderDataset
from resaudit.data.description import description_of
from resaudit.data.fetch import Fetch, fetch
from resaudit.plan.composition import config_folder, datasets
from resaudit.plan.models import Config
from resaudit.plan.plan import fetch_of
from tests.attempts import no_source
from tests.conftest import data_of
from tests.refusals import refused

CLASSES = ("ant", "Bee", "cat")


def draw(path: Path, seed: int, size: tuple[int, int] = (5, 4), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], 3), np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """Two or three images of each class, of several formats and modes, 5 pixels wide and 4 high."""
    for split, seed in (("train", 0), ("test", 100)):
        for number, label in enumerate(CLASSES):
            for image in range(3 - number % 2):
                name = f"{10 - image}.{('png', 'jpg', 'bmp')[image]}"
                mode = "L" if image == 2 else "RGB"
                draw(tmp_path / "mine" / split / label / name, seed + 10 * number + image, mode=mode)
    (tmp_path / "mine" / "README.md").write_text("nothing", encoding="utf-8")
    (tmp_path / "mine" / "train" / "ant" / ".hidden.png").write_bytes(b"")
    return tmp_path / "mine"


def dataset_of(place: Path, **changed: Any) -> ImageFolderDataset:
    """As a user would write it: what ``resaudit hash`` prints, and a name."""
    given = {"name": "own", "title": "Own", "citation": "", "licence": "", "sources": ["folder"]}
    made = Dataset.model_validate(given | description_of(place) | {"folder": str(place)} | changed)
    assert isinstance(made, ImageFolderDataset)
    return made


def fetched(dataset: Dataset, root: Path) -> Fetch:
    job = fetch_of(dataset, str(root))
    fetch(dataset, Path(job.raw))
    return job


def packed(folder: Path, archive: Path, top: str = ".") -> Path:
    archive.parent.mkdir(exist_ok=True)
    with tarfile.open(archive, f"w:{archive.suffix[1:]}") as opened:
        opened.add(folder, top)
    return archive


def test_a_folder_is_read_as_torchvision_reads_it(mine: Path, tmp_path: Path) -> None:
    found = fetched(dataset_of(mine), tmp_path / "data").image_set()
    (mine / "train" / "ant" / ".hidden.png").unlink()
    for split, images, labels in (
        ("train", found.train_images, found.train_labels), ("test", found.test_images, found.test_labels),
    ):  # fmt: skip
        theirs = ImageFolder(str(mine / split))
        assert theirs.classes == sorted(CLASSES)
        expected = [np.asarray(image).transpose(2, 0, 1) for image, _ in theirs]
        # Theirs are by class, two of Bee, three of ant, three of cat; ours take one of each class in turn.
        order = [0, 2, 5, 1, 3, 6, 4, 7]
        np.testing.assert_array_equal(images, np.stack(expected)[order])
        np.testing.assert_array_equal(labels, [theirs[place][1] for place in order])
    assert (found.classes, found.train_images.shape, found.train_images.dtype) == (3, (8, 3, 4, 5), np.uint8)


@pytest.mark.parametrize("top", [".", "own-main"])
def test_an_archive_is_the_same_data_set(top: str, mine: Path, tmp_path: Path) -> None:
    dataset = dataset_of(mine)
    again = dataset_of(packed(mine, tmp_path / "there" / "own.tar.xz", top))
    assert again.files == dataset.files
    job = fetched(again, tmp_path / "data")
    assert job.id == fetch_of(dataset, "elsewhere").id
    np.testing.assert_array_equal(job.training_set()[0], fetched(dataset, tmp_path / "other").image_set().train_images)


def test_images_for_validation_are_the_tests_where_there_is_no_test(mine: Path) -> None:
    files = dataset_of(mine).files
    (mine / "test").rename(mine / "val")
    draw(mine / "preview.png", 1, (9, 9))  # not of the data
    assert dataset_of(mine).files == files


def spoil_size(folder: Path) -> None:
    draw(folder / "test" / "Bee" / "odd.png", 1, (6, 4))


def spoil_empty_class(folder: Path) -> None:
    for file in (folder / "train" / "cat").iterdir():
        file.unlink()


def spoil_no_test(folder: Path) -> None:
    shutil.rmtree(folder / "test")


def spoil_cut(folder: Path) -> None:
    os.truncate(folder / "train" / "Bee" / "9.jpg", 300)


def spoil_no_image(folder: Path) -> None:
    (folder / "train" / "Bee" / "9.jpg").write_bytes(b"<html>not found</html>")


def spoil_class(folder: Path) -> None:
    for split in ("train", "test"):
        shutil.copytree(folder / split / "cat", folder / split / "dog")


def spoil_pixel(folder: Path) -> None:
    draw(folder / "train" / "ant" / "10.png", 77)


def spoil_order(folder: Path) -> None:
    (folder / "train" / "ant" / "10.png").rename(folder / "train" / "ant" / "95.png")


def spoil_nested(folder: Path) -> None:
    draw(folder / "train" / "cat" / "sub" / "1.png", 1)


def spoil_without_class(folder: Path) -> None:
    draw(folder / "train" / "1.png", 1)


def spoil_validation(folder: Path) -> None:
    draw(folder / "val" / "cat" / "1.png", 1)


def spoil_all(folder: Path) -> None:
    shutil.rmtree(folder / "train")
    shutil.rmtree(folder / "test")


SPOILT = [
    (spoil_size, ["test/Bee/odd.png", "6 x 4", "5 x 4"]),
    (spoil_empty_class, ["train/cat"]),
    (spoil_no_test, ["test/Bee", "test/ant", "test/cat"]),
    (spoil_cut, ["train/Bee/9.jpg"]),
    (spoil_no_image, ["train/Bee/9.jpg"]),
    (spoil_all, ["mine"]),
    (spoil_nested, ["train/cat/sub"]),
    (spoil_without_class, ["train/1.png"]),
    (spoil_validation, ["mine"]),
    (spoil_class, ["train-images.idx"]),
    (spoil_pixel, ["train-images.idx"]),
    (spoil_order, ["train-images.idx"]),
]


@pytest.mark.parametrize(("spoil", "mentioned"), SPOILT)
def test_wrong_folders_are_refused_and_nothing_is_left(
    spoil: Callable[[Path], None], mentioned: list[str], mine: Path, tmp_path: Path
) -> None:
    dataset = dataset_of(mine)
    spoil(mine)
    with no_source(*mentioned):
        fetch(dataset, tmp_path / "data")
    assert not (tmp_path / "data").exists()
    # Other classes, pixels and names are faults only beside the digests of the YAML.
    if mentioned != ["train-images.idx"]:
        with refused(DataError, *mentioned):
            description_of(mine)


def test_a_truncated_archive_is_refused(mine: Path, tmp_path: Path) -> None:
    dataset = dataset_of(mine)
    archive = packed(mine, tmp_path / "own.tar.gz")
    os.truncate(archive, archive.stat().st_size // 2)
    with no_source("own.tar.gz"):
        fetch(dataset.model_copy(update={"folder": str(archive)}), tmp_path / "data")
    assert not (tmp_path / "data").exists()


OPEN = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("suffix", OPEN)
def test_an_archive_cut_at_any_block_is_whole_or_refused(suffix: str, mine: Path, tmp_path: Path) -> None:
    """Sees a header that is cut read as the archive's end: the images after it were lost without a word."""
    whole = packed(mine, tmp_path / "made" / "own.tar").read_bytes()
    expected, archive = description_of(mine), tmp_path / f"own.tar{suffix}"
    last = len(whole.rstrip(b"\0"))
    for end in range(0, len(whole), tarfile.BLOCKSIZE // 2):
        archive.write_bytes(OPEN[suffix](whole[:end]))
        if end >= last + 3 * tarfile.BLOCKSIZE:
            assert description_of(archive) == expected
        elif end < last + tarfile.BLOCKSIZE:
            with refused(DataError, archive):
                description_of(archive)


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".bz2"])
def test_an_archive_whose_compressed_bytes_are_cut_is_refused(suffix: str, mine: Path, tmp_path: Path) -> None:
    compressed = packed(mine, tmp_path / f"own.tar{suffix}").read_bytes()
    archive = tmp_path / f"own.tar{suffix}"
    for end in [*range(0, len(compressed), len(compressed) // 20), len(compressed) - 1]:
        archive.write_bytes(compressed[:end])
        with refused(DataError, archive):
            description_of(archive)


def test_an_archive_with_a_damaged_header_or_more_after_its_end_is_refused(mine: Path, tmp_path: Path) -> None:
    archive = packed(mine, tmp_path / "own.tar")
    whole = archive.read_bytes()
    with tarfile.open(archive) as opened:
        headers = [member.offset for member in opened.getmembers()]
    damaged = [whole[:at] + b"?" + whole[at + 1 :] for at in headers]
    for content in (*damaged, whole + whole, whole + b"more", whole.rstrip(b"\0") + b"?" + bytes(1024)):
        archive.write_bytes(content)
        with refused(DataError, archive):
            description_of(archive)


def test_more_classes_than_labels_are_refused(tmp_path: Path) -> None:
    one = io.BytesIO()
    Image.new("RGB", (1, 1)).save(one, "png")
    for number in range(257):
        for split in ("train", "test"):
            folder = tmp_path / "many" / split / f"{number:03}"
            folder.mkdir(parents=True)
            (folder / "0.png").write_bytes(one.getvalue())
    with refused(DataError, 257, 256):
        description_of(tmp_path / "many")


def test_resaudit_hash_prints_what_the_ledger_needs(mine: Path, tmp_path: Path) -> None:
    run = CliRunner().invoke(cli, ["hash", str(packed(mine, tmp_path / "own.tar.gz"))], catch_exceptions=False)
    found = yaml.safe_load(run.output)
    assert (found["format"], found["classes"]) == ("image_folder", 3)
    assert found["files"] == {key: file.model_dump() for key, file in dataset_of(mine).files.items()}


def test_the_images_as_jpeg_are_a_data_set_of_their_own() -> None:
    dataset = datasets(config_folder())["cifar10_jpeg"]
    assert isinstance(dataset, ImageFolderDataset)
    assert dataset.title == "CIFAR-10 as JPEG"
    header = 20
    assert dataset.files["train_images"].size == header + 50_000 * 3072
    assert dataset.files["test_images"].size == header + 10_000 * 3072


def test_images_of_idx_files_have_one_channel(mnist_config: Config, mnist: tuple[np.ndarray, np.ndarray]) -> None:
    found = fetch_of(data_of(mnist_config), mnist_config.paths.data).image_set()
    assert found.train_images.shape == (60_000, 1, 28, 28)
    assert found.test_images.shape == (10_000, 1, 28, 28)
    np.testing.assert_array_equal(found.train_images[:, 0], mnist[0])
    np.testing.assert_array_equal(found.train_labels, mnist[1])


HIDDEN = ("train/.ipynb_checkpoints/1.png", "train/ant/._10.png", "train/ant/.old/1.png", ".trash/train/dog/1.png")


@pytest.mark.parametrize("name", HIDDEN)
@pytest.mark.parametrize("packed", [False, True])
def test_hidden_files_and_folders_are_no_classes(mine: Path, tmp_path: Path, name: str, packed: bool) -> None:
    expected = description_of(mine)
    draw(mine / name, 7)
    if packed:
        with tarfile.open(tmp_path / "mine.tar", "w") as archive:
            archive.add(mine, "mine")
    assert description_of(tmp_path / "mine.tar" if packed else mine) == expected


@pytest.mark.parametrize(
    ("mode", "suffix", "transparency"),
    [("I;16", "png", None), ("LA", "png", None), ("RGBA", "png", None), ("CMYK", "jpg", None), ("P", "png", 0),
     ("L", "png", 0)],
)  # fmt: skip
def test_image_that_rgb_cannot_hold_is_refused(mine: Path, mode: str, suffix: str, transparency: int | None) -> None:
    place = mine / "train" / "ant" / f"x.{suffix}"
    Image.new(mode, (5, 4)).save(place, **({} if transparency is None else {"transparency": transparency}))
    with refused(DataError, f"train/ant/x.{suffix}") as error:
        description_of(mine)
    assert ("transparency" if transparency == 0 else mode) in content_of(error.value)


def content_of(error: ResauditError) -> str:
    """What a line says that an image has."""
    return str(error).partition(" has ")[2].partition("; allowed: ")[0]


def png(bits: int, colour: int, samples: int) -> bytes:
    """A PNG of 5 x 4 pixels of zeros, by the standard (https://www.w3.org/TR/png-3/)."""
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", 5, 4, bits, colour, 0, 0, 0)),
        (b"IDAT", zlib.compress(bytes(4 * (1 + 5 * samples * bits // 8)))),
        (b"IEND", b""),
    ]
    chunks = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
              for kind, data in parts]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def bmp(compression: int, alpha: int = 0) -> bytes:
    """A BMP of 5 x 4 black pixels of 32 bits, whose fourth bytes, its alpha, are 0 to 19 (BITMAPV4HEADER)."""
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, alpha)
    header = struct.pack("<IiiHHIIiiII", 108, 5, 4, 1, 32, compression, 80, 0, 0, 0, 0) + masks + bytes(52)
    pixels = b"".join(bytes((0, 0, 0, number)) for number in range(20))
    return struct.pack("<2sIHHI", b"BM", 14 + len(header) + 80, 0, 0, 14 + len(header)) + header + pixels


@pytest.mark.parametrize(
    ("name", "content", "mentioned"),
    [
        ("x.png", png(16, 2, 3), "16"),
        ("x.png", png(16, 0, 1), "I;16"),
        ("x.png", png(16, 6, 4), "RGBA"),
        ("x.jpg", png(16, 2, 3), "16"),
        ("x.bmp", bmp(0), "32 bits"),
        ("x.bmp", bmp(3), "32 bits"),
        ("x.bmp", bmp(3, 0xFF000000), "RGBA"),
    ],
)
def test_image_of_more_than_eight_bits_is_refused(mine: Path, name: str, content: bytes, mentioned: str) -> None:
    (mine / "train" / "ant" / name).write_bytes(content)
    with refused(DataError, f"train/ant/{name}") as error:
        description_of(mine)
    assert mentioned in content_of(error.value)


def test_image_of_eight_bits_is_read(mine: Path) -> None:
    (mine / "train" / "ant" / "x.png").write_bytes(png(8, 2, 3))
    assert description_of(mine)["files"]["train_labels"]["size"] == 8 + 9


@pytest.mark.parametrize(("kind", "suffix"), [("WEBP", "webp"), ("PNG", "png"), ("MPO", "jpg")])
def test_image_of_several_frames_is_refused(mine: Path, kind: str, suffix: str) -> None:
    frames = [Image.new("RGB", (5, 4), colour) for colour in ("red", "blue")]
    frames[0].save(mine / "train" / "ant" / f"x.{suffix}", kind, save_all=True, append_images=frames[1:])
    with refused(DataError, f"train/ant/x.{suffix}", "2 frames"):
        description_of(mine)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("GIF", "gif"),
        ("AVIF", "AVIF"),
        ("TIFF", "tif"),
        ("PPM", "ppm"),
        ("TGA", "png"),
        ("TIFF", "png"),
    ],
)
def test_image_of_a_format_that_is_not_read_is_refused(mine: Path, kind: str, suffix: str) -> None:
    Image.new("RGB", (5, 4)).save(mine / "train" / "ant" / f"x.{suffix}", kind)
    with refused(DataError, f"train/ant/x.{suffix}"):
        description_of(mine)


@pytest.mark.parametrize("place", ["train/cat", "train", "test/ant"])
@pytest.mark.parametrize(
    "name", ["2.png.part", "2.png.crdownload", "Unconfirmed 7.crdownload", "2.jpg.1", "2.BMP.TMP", "2.webp.aria2"]
)
def test_what_looks_like_an_unfinished_image_is_refused(place: str, name: str, mine: Path) -> None:
    (mine / place / name).write_bytes(b"")
    with refused(DataError, f"{place}/{name}"):
        description_of(mine)


POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:ba89\nsize 470\n"


@pytest.mark.parametrize(
    ("content", "said"), [(POINTER, "git-LFS"), (b"PK\3\4" + bytes(600), "zip"), (b"<html>", "web")]
)
def test_what_often_stands_in_a_files_place_is_named(content: bytes, said: str, mine: Path, tmp_path: Path) -> None:
    (tmp_path / "own.tar").write_bytes(content)
    (mine / "test" / "ant" / "x.png").write_bytes(content)
    for place in (tmp_path / "own.tar", mine):
        with refused(DataError, said):
            description_of(place)


def test_two_data_sets_in_one_folder_are_refused(mine: Path) -> None:
    expected = description_of(mine)
    shutil.copytree(mine, mine.parent / "both" / "old")
    assert description_of(mine.parent / "both") == expected
    shutil.copytree(mine, mine.parent / "both" / "new")
    with refused(DataError, ["new", "old"]):
        description_of(mine.parent / "both")


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB"])
def test_image_that_rgb_holds_is_read(mine: Path, mode: str) -> None:
    Image.new(mode, (5, 4)).save(mine / "train" / "ant" / "x.png")
    assert description_of(mine)["classes"] == len(CLASSES)


def test_hard_link_in_an_archive_is_its_file(mine: Path, tmp_path: Path) -> None:
    shutil.copy(mine / "train" / "ant" / "10.png", mine / "train" / "ant" / "x.png")
    expected = description_of(mine)
    (mine / "train" / "ant" / "x.png").unlink()
    os.link(mine / "train" / "ant" / "10.png", mine / "train" / "ant" / "x.png")
    with tarfile.open(tmp_path / "mine.tar", "w") as archive:
        archive.add(mine, "mine")
        assert any(member.islnk() for member in archive.getmembers())
    assert description_of(tmp_path / "mine.tar") == expected


@pytest.mark.parametrize("name", ["train/ant/x.png", "train/dog"])
@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.LNKTYPE])
def test_what_is_no_file_in_an_archive_is_refused(mine: Path, tmp_path: Path, name: str, kind: bytes) -> None:
    if kind == tarfile.LNKTYPE:
        name = "train/ant/x.png"  # hard links are of files
    with tarfile.open(tmp_path / "mine.tar", "w") as archive:
        archive.add(mine, "mine")
        member = tarfile.TarInfo(f"mine/{name}")
        member.type, member.linkname = kind, "nowhere.png"
        archive.addfile(member)
    with pytest.raises(ResauditError, match="nowhere.png" if kind == tarfile.LNKTYPE else name):
        description_of(tmp_path / "mine.tar")


@pytest.mark.parametrize("name", ["train/ant/x.png", "train/dog"])
@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_file_in_a_folder_is_refused(mine: Path, name: str, make: Callable[[Path], None]) -> None:
    make(mine / name)
    with pytest.raises(ResauditError, match=name):
        description_of(mine)


def test_two_classes_that_look_alike_are_refused(mine: Path) -> None:
    for seed, label in enumerate(("\u00e9", "e\u0301")):
        for split in ("train", "test"):
            draw(mine / split / label / "1.png", seed)
    with refused(DataError, "'e\\u0301'"):
        description_of(mine)


@pytest.mark.parametrize("name", ["train/ant/round", "train/round"])
def test_link_to_a_folder_that_it_lies_in_is_refused(mine: Path, name: str) -> None:
    (mine / name).symlink_to(mine)
    with refused(DataError, "would be left out; allowed"):
        description_of(mine)


def test_link_to_a_folder_elsewhere_is_followed(mine: Path, tmp_path: Path) -> None:
    expected = description_of(mine)
    (mine / "train" / "cat").rename(tmp_path / "cats")
    (mine / "train" / "cat").symlink_to(tmp_path / "cats")
    assert description_of(mine) == expected


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read all")
def test_folder_that_cannot_be_read_is_refused(mine: Path) -> None:
    (mine / "train" / "cat").chmod(0)
    try:
        with refused(DataError, mine / "train" / "cat"):
            description_of(mine)
    finally:
        (mine / "train" / "cat").chmod(0o700)
