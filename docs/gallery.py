"""Make docs/images/gallery.png of drawings: ``python docs/gallery.py [FIGURES]``, by default those in figures/.

Rows are scaled to one width and keep the proportions of their drawings.
"""

import sys
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont

OUT = Path(__file__).parent / "images" / "gallery.png"
WIDTH, MARGIN, TITLE = 1600, 24, 22
"""In pixels: the picture, the space between drawings, a title's letters."""
COLOURS = 256
FONT = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
ROWS = (
    {"demystifying_resnet/fig04": "Demystifying ResNet", "demystifying_resnet/fig07": "Demystifying ResNet"},
    {"shortcut_importance/worlds": "Importance of Shortcut Connections", "stable_scaling/map": "Stabilize deep ResNet"},
    {"identity_matters/theorem21": "Identity Matters", "stable_scaling/forward": "Stabilize deep ResNet"},
    {
        "stable_scaling/fig06-cifar10_jpeg": "Stabilize deep ResNet, on JPEG copies of CIFAR-10",
        "demystifying_resnet/fig02-cifar10_jpeg": "Demystifying ResNet, likewise",
    },
)


def row(drawings: dict[str, str], figures: Path) -> Image.Image:
    """Drawings side by side, each under its title, on white."""
    images = [Image.open(figures / f"{name}.png").convert("RGB") for name in drawings]
    room = WIDTH - MARGIN * (len(images) + 1)
    height = round(room / sum(image.width / image.height for image in images))
    made = Image.new("RGB", (WIDTH, height + TITLE + 2 * MARGIN), "white")
    left, pen = MARGIN, ImageDraw.Draw(made)
    for title, image in zip(drawings.values(), images, strict=True):
        scaled = image.resize((round(image.width * height / image.height), height), Image.Resampling.LANCZOS)
        pen.text((left, MARGIN // 2), title, fill="black", font=ImageFont.truetype(FONT, TITLE))
        made.paste(scaled, (left, MARGIN + TITLE))
        left += scaled.width + MARGIN
    return made


def main() -> None:
    """Stack the rows and write the picture."""
    rows = [row(drawings, Path(sys.argv[1] if len(sys.argv) > 1 else "figures")) for drawings in ROWS]
    whole = Image.new("RGB", (WIDTH, sum(each.height for each in rows)), "white")
    top = 0
    for each in rows:
        whole.paste(each, (0, top))
        top += each.height
    whole.quantize(COLOURS).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
