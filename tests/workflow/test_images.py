"""A figure of trainings on images through the workflow, on a user's own class folders. Oracle: the images made here.

Sees a rule, a plan or a page that knows no such training, and data of another size than CIFAR's that break it.
"""

import json
from pathlib import Path

import pandas as pd
import pytest

from tests import forked
from tests.made_images import ARCHIVE, make_checkout

FIGURE = "demystifying_resnet/fig02"


def test_a_figure_of_images_is_fetched_trained_drawn_and_reported(tmp_path: Path) -> None:
    make_checkout(tmp_path)
    of_figure = f"fig02.depths=[8],fig02.dataset=cifar10_jpeg,fig02.dataset.folder={ARCHIVE}"
    asked = ("scale=smoke", "device=cpu", "figures=[fig02]", f"overrides=[{of_figure}]")
    run = forked.snakemake("--cores", "all", "--config", *asked, cwd=tmp_path)
    assert run.returncode == 0, run.stderr[-3000:]
    table = pd.read_csv(tmp_path / "figures" / f"{FIGURE}.csv")
    assert set(table["run"]) == {0, 1}
    shares = table["test_error"] / 5  # of 20 test images
    assert shares.to_numpy() == pytest.approx(shares.round().to_numpy())
    assert [part.name.split("-")[0] for part in (tmp_path / "results" / "train_images").iterdir()] == ["preactivation"]
    audit = json.loads((tmp_path / "figures" / "audit.json").read_text(encoding="utf-8"))
    verdicts = {claim["id"]: claim["verdict"] for paper in audit["papers"] for claim in paper["claims"]}
    assert verdicts["demystifying_resnet/weights-shrink-with-depth-resnet"] == "inconclusive"
    assert FIGURE in (tmp_path / "figures" / "audit.html").read_text(encoding="utf-8")
