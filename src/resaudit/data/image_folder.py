"""Images in folders of classes, as torchvision's ImageFolder reads them, decoded to arrays."""

import struct
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.data.dataset import LARGEST_CLASSES, LARGEST_FILE, ImageFolderDataset
from resaudit.data.files import Refused, children, first_line, unpacked
from resaudit.data.idx import to_idx

IMAGE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")
"""Those that torchvision's ImageFolder reads."""
UNREAD_SUFFIXES = (".avif", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpe", ".jxl", ".pbm", ".pnm", ".tga")
"""Of other images, which it would leave out."""
MODES = ("1", "L", "P", "RGB")
"""Of images, in Pillow's words, that red, green and blue in bytes hold exactly."""
FORMATS = ("BMP", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
"""Of images, in Pillow's words: what a file of one of the suffixes may be."""
UNDECODABLE = (OSError, EOFError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, struct.error)
"""Raised by Pillow where a file is damaged."""
LAYOUT = "train/CLASS/NAME and test/CLASS/NAME"


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

    The order is that of torchvision's ImageFolder, which would take hidden folders for classes, and turn 16-bit samples
    and transparency into other pixels without a word.
    Images of black and white, grey or a palette are converted to red, green and blue. Pixels of JPEG depend on the
    decoder: libjpeg-turbo's, in every wheel of Pillow, gives the same on all processors.

    Args:
        place: a folder or a tar archive of ``train/CLASS/NAME`` and ``test/CLASS/NAME``, or of one folder with these;
            ``val`` in place of ``test`` if there is no ``test``.

    Raises:
        Refused: an image cannot be read, has another mode than :data:`MODES`, transparency, samples that bytes cannot
            hold or several frames, another size than the first, lies elsewhere below these folders or is of a format
            that is not read, or a class lacks images.
    """
    with unpacked(place) as folder:
        files = _files(place, folder)
        classes = _checked_classes(place, files)
        contents: dict[str, bytes] = {}
        size: tuple[int, ...] | None = None
        total = 0
        for split, of_class in files.items():
            images: list[np.ndarray] = []
            for path in (path for label in classes for path in of_class[label]):
                images.append(_pixels(path, path.relative_to(folder).as_posix(), size))
                size, total = images[-1].shape, total + images[-1].nbytes
                if total > LARGEST_FILE:
                    raise Refused(f"{place} has more than {LARGEST_FILE} bytes of pixels; all are kept in memory")
            labels = np.repeat(np.arange(len(classes), dtype=np.uint8), [len(of_class[label]) for label in classes])
            contents |= {f"{split}_images": to_idx(np.stack(images)), f"{split}_labels": to_idx(labels)}
    return classes, contents


def _files(place: Path, folder: Path) -> dict[str, dict[str, list[Path]]]:
    """The images of each class of ``train`` and ``test``, sorted."""
    root = next((each for each in (folder, *children(folder)) if (each / "train").is_dir()), None)
    if root is None:
        raise Refused(f"{place} holds no images {LAYOUT} ({', '.join(IMAGE_SUFFIXES)})")
    validation = (root / "val").is_dir()
    if validation and (root / "test").is_dir():
        raise Refused(f"{place} has train, val and test, and val would be left out; allowed: train with test or val")
    found: dict[str, dict[str, list[Path]]] = {}
    for split, split_folder in {"train": root / "train", "test": root / ("val" if validation else "test")}.items():
        found[split] = {}
        for path in children(split_folder) if split_folder.is_dir() else ():
            if path.is_dir():
                found[split][path.name] = list(_images(path, root))
            elif not path.is_file() or path.suffix.lower() in IMAGE_SUFFIXES:
                raise Refused(f"{path.relative_to(root)} would be left out; allowed: images {LAYOUT}")
    return found


def _images(label: Path, root: Path) -> Iterator[Path]:
    """The images of a class, sorted; other files, such as a README, are left out."""
    for path in children(label):
        name, suffix = path.relative_to(root).as_posix(), path.suffix.lower()
        if not path.is_file():
            raise Refused(f"{name} would be left out; allowed: images {LAYOUT}, and links to these")
        if suffix in UNREAD_SUFFIXES:
            raise Refused(f"{name} would be left out; convert it: allowed are images {', '.join(IMAGE_SUFFIXES)}")
        if suffix in IMAGE_SUFFIXES:
            yield path


def _pixels(path: Path, name: str, shape: tuple[int, ...] | None) -> np.ndarray:
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path, formats=FORMATS) as image:
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


def _check_exact(name: str, image: Any) -> None:
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


def _checked_classes(place: Path, files: dict[str, dict[str, list[Path]]]) -> list[str]:
    """The names of the classes, sorted; each has images in ``train`` and in ``test``."""
    classes = sorted({label for of_class in files.values() for label in of_class})
    if not classes:
        raise Refused(f"{place} has no classes; needed: images {LAYOUT}")
    if len(classes) > LARGEST_CLASSES:
        raise Refused(f"{place} has {len(classes)} classes; allowed: at most {LARGEST_CLASSES}, since labels are bytes")
    alike: dict[str, str] = {}
    for label in classes:
        other = alike.setdefault(unicodedata.normalize("NFC", label), label)
        if other != label:
            raise Refused(f"{place} has two classes that look alike, {other!a} and {label!a}; name them in NFC")
    lacking = [f"{split}/{label}" for split in files for label in classes if not files[split].get(label)]
    if lacking:
        raise Refused(f"{place} has no images in {', '.join(lacking[:3])}; each class needs some in train and in test")
    return classes
