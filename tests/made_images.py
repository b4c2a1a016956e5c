"""A checkout whose data set of class folders, cifar10_jpeg, is a few small images made here."""

import shutil
from pathlib import Path

import numpy as np
import yaml
from PIL import Image

from resaudit.data.description import description_of
from tests.conftest import CHECKOUT

ARCHIVE = "images"
"""Its folder of class folders."""


def make_checkout(folder: Path) -> None:
    """256 training images of 8 x 8 pixels and 20 test images, each of two classes."""
    shutil.copytree(CHECKOUT / "config", folder / "config")
    for part in ("Snakefile", "src", "workflow"):
        (folder / part).symlink_to(CHECKOUT / part)
    rng = np.random.default_rng(1)
    for split, number in (("train", 128), ("test", 10)):
        for label in ("cat", "dog"):
            place = folder / ARCHIVE / split / label
            place.mkdir(parents=True)
            for image in range(number):
                Image.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).save(place / f"{image}.png")
    ledger = folder / "config" / "dataset" / "cifar10_jpeg.yaml"
    said = yaml.safe_load(ledger.read_text(encoding="utf-8")) | description_of(folder / ARCHIVE)
    ledger.write_text(yaml.safe_dump(said, sort_keys=False), encoding="utf-8")
