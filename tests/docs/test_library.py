"""Oracle: docs/library.md, run as it stands. Sees a public name that has moved, and an example that does not work."""

import doctest
import importlib
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from sybil import Document
from sybil.parsers.myst import PythonCodeBlockParser

from resaudit.data.moments import Moments, moments_of
from residual.demystifying_resnet.curvature.spectrum import spectra_along
from residual.demystifying_resnet.curvature.structured import structured_spectra_along
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import descend
from residual.demystifying_resnet.training.linear import LinearObjective
from tests.conftest import CHECKOUT

PAGE = CHECKOUT / "docs" / "library.md"
NETWORK = Network(shortcut_depth=2, depth=4, width=3)


@pytest.mark.usefixtures("no_paper_stays")
def test_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    document = Document.parse(str(PAGE), PythonCodeBlockParser(doctest_optionflags=doctest.NORMALIZE_WHITESPACE))
    document.namespace["folder"] = tmp_path
    ran = [example.evaluate() for example in document.examples()]
    assert len(ran) > 20


def test_every_public_name_is_there() -> None:
    names = re.findall(r"`(resaudit\.[\w.]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(names) > 20
    for name in names:
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).__doc__, name


def some_moments(width: int) -> Moments:
    inputs = np.random.default_rng(1).standard_normal((width, 20))
    return moments_of(inputs, inputs)


@pytest.mark.parametrize("along", [spectra_along, structured_spectra_along])
@pytest.mark.parametrize(
    ("shape", "network", "width", "said"),
    [
        ((4, 3, 3), NETWORK, 3, r"shape \(3, 3\); needed: .* = \(4, runs, 3, 3\)"),
        ((1, 2, 1, 3, 3), NETWORK, 3, r"shape \(2, 1, 3, 3\); needed"),
        ((1, 4, 1, 3, 3), NETWORK, 5, "moments are of 5 inputs; needed: 3"),
        ((1, 4, 1, 3, 3), Network(2, 4, 3, mid="relu"), 3, "the network has activations"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(along, shape, network: Network, width: int, said: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=said):
        along(torch.zeros(shape, dtype=torch.float64), network, some_moments(width))


def test_learning_rates_of_other_runs_are_refused() -> None:
    objective = LinearObjective.of(NETWORK, some_moments(3), torch.device("cpu"))
    with pytest.raises(ValueError, match=r"learning_rates .*\(1,\); .*\(2,\)"):
        descend(objective, torch.zeros(4, 2, 3, 3, dtype=torch.float64), torch.ones(1), epochs=1)
