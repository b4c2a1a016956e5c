"""Oracle: tables of real networks, and the same with one thing wrong: the claims of Theorem 3.2 and Table 1 must fail.

Sees a check that would hold whatever the evidence says, or that looks at the wrong rows.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from resaudit.claims.verdicts import judge
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import Execution, Work
from resaudit.plan.composition import load
from resaudit.plan.plan import plan_figure
from residual.identity_matters.jobs.count import count_layers
from residual.identity_matters.relu import network
from residual.identity_matters.table1 import printed
from residual.identity_matters.table1 import table as table1
from residual.identity_matters.theorem32 import table as theorem32
from residual.images.setting import Architecture
from tests.conftest import configured

PAPER = "identity_matters"
SMALL = [
    "samples=150", "width=48", "narrow=[48]", "nested=[150]", "search_samples=20", "search_widths=[48]",
    "share_samples=20", "shares=[0.2]", "lemma_widths=[32]", "lemma_draws=5",
]  # fmt: skip


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small images in place of the data set's."""
    rng = np.random.default_rng(1)
    pixels, labels = rng.integers(0, 256, (150, 6, 8), dtype=np.uint8), rng.integers(0, 10, 150)
    monkeypatch.setattr(Fetch, "training_set", lambda _: (pixels, labels))


def expressed(*overrides: str) -> pd.DataFrame:
    """The table of theorem32, whose jobs run here."""
    asked = [f"figure.{PAPER}.theorem32.protocol.{override}" for override in (*SMALL, *overrides)]
    config = load(["scale=smoke", *asked], only=[f"{PAPER}/theorem32"])
    jobs = plan_figure(config.figure[f"{PAPER}/theorem32"], "data").jobs
    work = Work(Path(), Execution(), "cpu", Path())
    return theorem32({dict(at)["part"]: (job, next(iter(job.run(work).values()))) for at, job in jobs.items()})


def verdict(claim: str, table: pd.DataFrame) -> str:
    return judge(configured().claims_of(PAPER)[claim], table, "laptop").verdict


@pytest.mark.usefixtures("images")
def test_the_construction_is_supported_and_the_printed_lemma_is_not() -> None:
    table = expressed()
    assert verdict("finite-sample-expressivity", table) == "supported"
    assert verdict("block-moves-k-points", table) == "supported"
    assert verdict("block-lemma-constant", table) == "contradicted"


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("wrong", ["gaps", "targets", "threshold"])
def test_a_wrong_block_turns_the_verdicts(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outgoing = network.Network.outgoing

    def sabotaged(self: network.Network, layer: int, labels: torch.Tensor) -> torch.Tensor:
        match wrong:
            case "gaps":
                return outgoing(self, layer, labels) * (1 - 1e-6)
            case "targets":
                return outgoing(self, layer, labels.roll(1))
            case _:
                return outgoing(replace(self, threshold=self.threshold - 1e-6), layer, labels)

    monkeypatch.setattr(network.Network, "outgoing", sabotaged)
    table = expressed()
    assert verdict("finite-sample-expressivity", table) == "contradicted"
    assert verdict("block-moves-k-points", table) == "contradicted"


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize("name", ["wrong, random labels", "wrong, given labels"])
def test_one_wrong_label_turns_the_verdict(name: str) -> None:
    table = expressed()
    table.loc[table["property"] == name, "value"] = 1.0
    assert verdict("finite-sample-expressivity", table) == "contradicted"


def counted(blocks: int, channels: int) -> pd.DataFrame:
    """The table of a network like Table 1's."""
    stages = ((64, 9, 1), (128, 9, 2), (channels, blocks, 2))
    published = {"caption of Table 1": 13.5, "section 4.1": 13.59}
    return table1({"cifar": (count_layers(Architecture(3, 16, 3, 1, 3, stages, 10)), published)})


def test_table_1s_network_has_the_captions_count_and_not_the_texts() -> None:
    assert verdict("parameter-count", counted(9, 256)) == "supported"
    assert verdict("parameter-count-in-text", counted(9, 256)) == "contradicted"


@pytest.mark.parametrize(("blocks", "channels"), [(8, 256), (10, 256), (9, 250)])
def test_another_network_turns_the_verdict(blocks: int, channels: int) -> None:
    assert verdict("parameter-count", counted(blocks, channels)) == "contradicted"


def test_the_printed_lines_are_the_tables() -> None:
    (lines,) = printed(counted(9, 256))
    assert ("all", "55", "13,538,736") in lines
    assert "13.589 M" in {number for _, _, number in lines}
    assert ("paper, section 4.1", "", "13.59 M") in lines
