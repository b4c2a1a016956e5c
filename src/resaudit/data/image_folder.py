"""Images in folders of classes, as torchvision's ImageFolder reads them, decoded to arrays."""

import io
import struct
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.data.containers import (
    IMAGE_SUFFIXES,
    UNREAD_SUFFIXES,
    Name,
    Refused,
    archives_in,
    files_in,
    first_line,
    is_image,
    names_in,
)
from resaudit.data.dataset import LARGEST_CLASSES, LARGEST_FILE, ImageFolderDataset
from resaudit.data.idx import to_idx

MODES = ("1", "L", "P", "RGB")
"""Of images, in Pillow's words, that red, green and blue in bytes hold exactly."""
FORMATS = ("BMP", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Of images, in Pillow's words: what a file of one of the suffixes may be."""
UNDECODABLE = (OSError, EOFError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, struct.error)
"""Raised by Pillow where a file is damaged."""
SPLITS, VALIDATION = ("train", "test"), "val"
"""Of images; those for validation are the test's if there is no ``test``."""

Place = tuple[str, str, str]
"""Split, class and name of an image."""


def read_image_folder(place: Path, dataset: ImageFolderDataset) -> dict[str, bytes]:
    """The IDX files of a data set's images and labels, by their key in the configuration.

    Raises:
        Refused: the folder cannot be decoded, or has another number of classes.
    """
    names, contents = decoded(place)
    if len(names) != dataset.classes:
        raise Refused(
            f"{place} has {len(names)} classes ({', '.join(names[:3])}, …); {dataset.name} has {dataset.classes}"
        )
    return contents


def decoded(place: Path) -> tuple[list[str], dict[str, bytes]]:
    """Class names, sorted, and four IDX files: images, shape (images, 3, height, width), by class and name; labels.

    Images of black and white, grey or a palette are converted to red, green and blue. Pixels of JPEG depend on the
    decoder: libjpeg-turbo's, in every wheel of Pillow, gives the same on all processors.

    Args:
        place: ``train/CLASS/NAME`` and ``test/CLASS/NAME``, in a folder or a tar archive, or a folder that holds one
            archive; ``val`` in place of ``test`` if there is no ``test``.

    Raises:
        Refused: an image cannot be read, has another mode than :data:`MODES`, transparency, samples that bytes cannot
            hold or several frames, another size than the first, lies elsewhere below these folders, is of a format that
            is not read or has the place of another one, or a class lacks images.
    """
    images: dict[Place, np.ndarray] = {}
    place, total = _with_images(place), 0
    size: tuple[int, ...] | None = None
    for name, content in files_in(place, _is_of_a_split):
        key = _place_of(name)
        if key in images:
            raise Refused(f"{name} comes twice: {place} has two images {'/'.join(key)}; allowed: one")
        image = images[key] = _pixels(name, content, size)
        size, total = image.shape, total + image.nbytes
        if total > LARGEST_FILE:
            raise Refused(f"{place} has more than {LARGEST_FILE} bytes of pixels; all are kept in memory")
    images = _with_test(images)
    classes = sorted({label for _, label, _ in images})
    _check_classes(place, images.keys(), classes)
    contents = {}
    for split in SPLITS:
        keys = sorted(key for key in images if key[0] == split)
        contents[f"{split}_images"] = to_idx(np.stack([images[key] for key in keys]))
        contents[f"{split}_labels"] = to_idx(np.array([classes.index(label) for _, label, _ in keys], dtype=np.uint8))
    return classes, contents


def _with_images(place: Path) -> Path:
    """The place itself, or the first of its archives that has images where it has none."""
    archives = archives_in(place) if place.is_dir() and not _has_images(place) else []
    return next(filter(_has_images, archives), place)


def _has_images(place: Path) -> bool:
    return any(map(_is_in_class, names_in(place)))


def _is_of_a_split(name: Name) -> bool:
    return (is_image(name) or name.suffix.lower() in UNREAD_SUFFIXES) and not {*SPLITS, VALIDATION}.isdisjoint(
        name.parts[:-1]
    )


def _is_in_class(name: Name) -> bool:
    return is_image(name) and len(name.parts) > 2 and name.parts[-3] in (*SPLITS, VALIDATION)


def _place_of(name: Name) -> Place:
    if not is_image(name):
        raise Refused(f"{name} would be left out; convert it: allowed are images {', '.join(IMAGE_SUFFIXES)}")
    if not _is_in_class(name):
        raise Refused(f"{name} would be left out; allowed: images train/CLASS/NAME and test/CLASS/NAME")
    split, label, file = name.parts[-3:]
    return split, label, file


def _with_test(images: dict[Place, np.ndarray]) -> dict[Place, np.ndarray]:
    """The same with images for validation as the test's."""
    left_out = next((key for key in images if key[0] == VALIDATION), None)
    if left_out is None:
        return images
    if any(split == "test" for split, _, _ in images):
        raise Refused(f"{'/'.join(left_out)} would be left out, since there is test; allowed: train with test or val")
    return {("test" if key[0] == VALIDATION else key[0], *key[1:]): image for key, image in images.items()}


def _pixels(name: Name, content: bytes, shape: tuple[int, ...] | None) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            _check_exact(name, image)
            found = (3, image.height, image.width)
            if shape not in (None, found):
                expected = f"{shape[2]} x {shape[1]}" if shape else ""
                raise Refused(f"{name} has {found[2]} x {found[1]} pixels, those before {expected}; allowed: one size")
            return np.ascontiguousarray(np.asarray(image.convert("RGB")).transpose(2, 0, 1))
    except UnidentifiedImageError:
        raise Refused(f"{name} is no image of a known format; allowed: {', '.join(FORMATS)}") from None
    except (*UNDECODABLE, Image.DecompressionBombError) as error:
        raise Refused(f"{name} cannot be decoded ({first_line(error)})") from error


def _check_exact(name: Name, image: Any) -> None:
    """Check that red, green and blue in bytes hold all that is in a file."""
    if image.mode not in MODES or image.has_transparency_data:
        has = "transparency" if image.mode in MODES else f"not {', '.join(MODES)}"
        raise Refused(f"{name} has the mode {image.mode} ({has}), which RGB cannot hold; convert it to 8-bit RGB first")
    wide = _wider_than_bytes(image)
    if wide:
        raise Refused(f"{name} has {wide}, which 8 bits cannot hold; convert it to 8-bit RGB first")
    frames = getattr(image, "n_frames", 1)
    if frames > 1:
        raise Refused(f"{name} has {frames} frames, of which all but one would be left out; make them files")


def _wider_than_bytes(image: Any) -> str | None:
    """The samples of an opened image of one of :data:`MODES` that Pillow would silently make bytes."""
    match image.format:
        case "PNG" if image.tile[0][3].endswith(";16B"):
            return "samples of 16 bits"
        case "PPM":
            # The mode alone, if Pillow need not scale the samples to 255.
            largest = image.tile[0][3][1] if isinstance(image.tile[0][3], tuple) else 255
            return f"samples up to {largest}" if largest > 255 else None
        case "TIFF":
            return _wider_in_tiff(image)
    return None


def _wider_in_tiff(image: Any) -> str | None:
    """The same by a TIFF's tags."""
    bits, formats = image.tag_v2.get(258, (1,)), image.tag_v2.get(339, (1,))
    if max(bits) > 8:
        return f"samples of {max(bits)} bits"
    if set(formats) != {1}:
        return "samples that are signed"
    # Entries of a palette have 16 bits: a byte, and then zeros or the same byte again.
    colours = image.tag_v2[320] if image.mode == "P" else ()
    if any(colour % 256 for colour in colours) and any(colour % 257 for colour in colours):
        return "a palette of 16 bits"
    return None


def _check_classes(place: Path, found: Iterable[Place], classes: list[str]) -> None:
    if not classes:
        raise Refused(f"{place} holds no images train/CLASS/NAME and test/CLASS/NAME ({', '.join(IMAGE_SUFFIXES)})")
    if len(classes) > LARGEST_CLASSES:
        raise Refused(f"{place} has {len(classes)} classes; allowed: at most {LARGEST_CLASSES}, since labels are bytes")
    alike: dict[str, str] = {}
    for label in classes:
        other = alike.setdefault(unicodedata.normalize("NFC", label), label)
        if other != label:
            raise Refused(f"{place} has two classes that look alike, {other!a} and {label!a}; name them in NFC")
    there = {(split, label) for split, label, _ in found}
    lacking = [f"{split}/{label}" for split in SPLITS for label in classes if (split, label) not in there]
    if lacking:
        raise Refused(f"{place} has no images in {', '.join(lacking[:3])}; each class needs some in train and in test")
