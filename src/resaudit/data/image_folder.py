"""Images in folders of classes, as torchvision's ImageFolder reads them, decoded to arrays."""

import re
import struct
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np

from resaudit.base.errors import DataError, listed
from resaudit.data.dataset import LARGEST_CLASSES, LARGEST_FILE
from resaudit.data.files import children, first_line, unpacked, what_it_is
from resaudit.data.images import to_idx

IMAGE_SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".webp")
"""Suffixes of the images that are read."""
UNREAD_SUFFIXES = (
    ".avif", ".gif", ".heic", ".heif", ".jfif", ".jp2", ".jpe", ".jxl", ".pbm", ".pgm", ".pnm", ".ppm", ".tga", ".tif",
    ".tiff",
)  # fmt: skip
"""Suffixes of other images: leaving these out without a word would give another data set."""
MODES = ("1", "L", "P", "RGB")
"""Pillow's modes of images that red, green and blue in bytes hold exactly."""
FORMATS = ("BMP", "JPEG", "PNG", "WEBP")
"""Pillow's formats that a file of one of the suffixes may have."""
UNDECODABLE = (OSError, EOFError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, struct.error)
"""Raised by Pillow where a file is damaged."""
_UNFINISHED = re.compile(r"\.(part|partial|filepart|crdownload|opdownload|download|aria2|tmp|temp|\d+)$", re.IGNORECASE)
"""What programs add to the name of a file until it is whole, or because there is one of that name."""
LAYOUT = "train/CLASS/NAME and test/CLASS/NAME"

Files = dict[str, dict[str, list[Path]]]
"""The images of each class of ``train`` and ``test``, sorted."""


def decoded(place: Path) -> tuple[list[str], dict[str, bytes]]:
    """Class names, sorted, and four IDX files: images, shape (images, 3, height, width), by class and name; labels.

    The order is that of torchvision's ImageFolder, which would take hidden folders for classes, and turn 16-bit samples
    and transparency into other pixels without a word.
    Images of black and white, grey or a palette are converted to red, green and blue. Pixels of JPEG depend on the
    decoder: libjpeg-turbo's, in every wheel of Pillow, gives the same on all processors.

    Args:
        place: a folder or a tar archive of ``train/CLASS/NAME`` and ``test/CLASS/NAME``, or of one folder with these;
            ``val`` in place of ``test`` if there is no ``test``.
    """
    with unpacked(place) as folder:
        files = _files(place, folder)
        classes = _checked_classes(place, files)
        contents: dict[str, bytes] = {}
        shape: tuple[int, ...] | None = None
        total = 0
        for split, of_class in files.items():
            images: list[np.ndarray] = []
            for path in (path for label in classes for path in of_class[label]):
                images.append(_pixels(path, path.relative_to(folder).as_posix(), shape))
                shape, total = images[-1].shape, total + images[-1].nbytes
                if total > LARGEST_FILE:
                    raise DataError(f"{place} has more pixels than fit in {LARGEST_FILE} bytes")
            labels = np.repeat(np.arange(len(classes), dtype=np.uint8), [len(of_class[label]) for label in classes])
            contents |= {f"{split}_images": to_idx(np.stack(images)), f"{split}_labels": to_idx(labels)}
    return classes, contents


def _files(place: Path, folder: Path) -> Files:
    roots = [each for each in (folder, *children(folder)) if (each / "train").is_dir()]
    if len(roots) > 1 and roots[0] != folder:
        raise DataError(f"{place} has several data sets, in {listed([root.name for root in roots])}; give one of them")
    if not roots:
        raise DataError(f"{place} has no {LAYOUT} ({listed(IMAGE_SUFFIXES)})")
    root = roots[0]
    validation = (root / "val").is_dir()
    if validation and (root / "test").is_dir():
        raise DataError(f"{place} has train, val and test; allowed: train with test or val")
    files: Files = {}
    for split, split_folder in {"train": root / "train", "test": root / ("val" if validation else "test")}.items():
        inside = children(split_folder) if split_folder.is_dir() else []
        of_class = {path.name: children(path) for path in inside if path.is_dir()}
        for path in [path for path in inside if not path.is_dir()] + [
            path for each in of_class.values() for path in each
        ]:
            lost = path.name.lower().endswith(UNREAD_SUFFIXES) or _UNFINISHED.search(path.name)
            if lost or not path.is_file() or (path in inside and path.suffix.lower() in IMAGE_SUFFIXES):
                raise DataError(
                    f"{path.relative_to(root).as_posix()} would be left out; allowed: images {LAYOUT} "
                    f"({listed(IMAGE_SUFFIXES)}), and links to these"
                )
        # Other files, such as a README, are left out.
        files[split] = {
            label: [path for path in each if path.suffix.lower() in IMAGE_SUFFIXES] for label, each in of_class.items()
        }
    return files


def _pixels(path: Path, name: str, shape: tuple[int, ...] | None) -> np.ndarray:
    """The pixels of an image, shape (3, height, width), which must be that of the images before."""
    from PIL import Image

    try:
        with Image.open(path, formats=FORMATS) as image:
            _check_exact(name, image)
            pixels = np.ascontiguousarray(np.asarray(image.convert("RGB")).transpose(2, 0, 1))
    except (*UNDECODABLE, Image.DecompressionBombError) as error:
        raise DataError(f"{name} cannot be decoded ({what_it_is(path) or first_line(error)})") from error
    if shape not in (None, pixels.shape):
        size = f"{pixels.shape[2]} x {pixels.shape[1]}"
        expected = f"{shape[2]} x {shape[1]}" if shape else ""
        raise DataError(f"{name} has {size} pixels, the images before have {expected}; allowed: one size")
    return pixels


def _check_exact(name: str, image: Any) -> None:
    """Check that red, green and blue in bytes hold all that is in a file."""
    content = None
    if image.mode not in MODES:
        content = f"the mode {image.mode}"
    elif image.has_transparency_data:
        content = "transparency"
    elif image.format == "BMP" and "X" in image.tile[0][3][0]:
        content = "32 bits a pixel"  # Pillow leaves out what may be alpha
    elif image.format == "PNG" and image.tile[0][3].endswith(";16B"):
        content = "samples of 16 bits"
    elif getattr(image, "n_frames", 1) > 1:
        content = f"{image.n_frames} frames"
    if content is not None:
        raise DataError(f"{name} has {content}; allowed: what one 8-bit RGB image holds")


def _checked_classes(place: Path, files: Files) -> list[str]:
    """The names of the classes, sorted; each has images in ``train`` and in ``test``."""
    classes = sorted({label for of_class in files.values() for label in of_class})
    if not 0 < len(classes) <= LARGEST_CLASSES:
        raise DataError(f"{place} has {len(classes)} classes; allowed: 1 to {LARGEST_CLASSES}")
    alike: dict[str, str] = {}
    for label in classes:
        other = alike.setdefault(unicodedata.normalize("NFC", label), label)
        if other != label:
            raise DataError(f"{place} has two classes that look alike, {label!a} and {other!a}; name them in NFC")
    missing = [f"{split}/{label}" for split in files for label in classes if not files[split].get(label)]
    if missing:
        raise DataError(f"{place} has no images in {listed(missing[:3])}; allowed: some in each")
    return classes
