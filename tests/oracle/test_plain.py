"""Oracle: each paper's plain page, run as a reader runs it, and what the fast code makes of the same figure.

Sees a page that grows, that needs other pages to be read or does not run, that a job's hash depends on, and a network,
a training or a condition number of a main figure that is not the page's.
"""

import ast
import os
import re
import resource
import subprocess
import sys
from math import radians

import numpy as np
import pytest
import torch

from resaudit.data.whiten import Moments, Whitened
from resaudit.jobs import code
from residual.demystifying_resnet import plain as demystifying
from residual.demystifying_resnet.curvature.structured import structured_spectra_along
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import network_named
from residual.demystifying_resnet.training.ensemble import Ensemble
from residual.shortcut_importance import plain as importance
from residual.shortcut_importance.simulation import CNN, RESNET, SUCCESS, WARM_UP, Setting, by_run, outcomes, starts
from residual.stable_scaling import plain as stable
from residual.stable_scaling.network.setting import PLAIN, Variances
from residual.stable_scaling.network.training import draw
from tests.conftest import CHECKOUT
from tests.oracle.test_two_layer import vectors

PAGE = (CHECKOUT / "docs" / "plain.md").read_text(encoding="utf-8")
PAPERS = re.findall(r"{literalinclude} \.\./src/residual/(\w+)/plain.py", PAGE)
every_paper = pytest.mark.parametrize("paper", PAPERS)
LINES, SECONDS = 100, 60


@every_paper
def test_a_page_is_short_and_read_by_itself(paper: str) -> None:
    text = (CHECKOUT / "src" / "residual" / paper / "plain.py").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {getattr(node, "module", None) or node.names[0].name for node in imports}
    assert {name.split(".")[0] for name in names} <= {"collections", "itertools", "math", "numpy", "torch"}


@every_paper
@pytest.mark.usefixtures("mnist_config")
def test_a_page_runs_within_a_minute(paper: str) -> None:
    """Of one core, not of the clock: other tests run beside it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    (words,) = re.findall(rf"^python (-m residual\.{paper}\..*)$", PAGE, flags=re.MULTILINE)
    command = [sys.executable, *words.split()]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=CHECKOUT, env=one_thread, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    assert len(run.stdout.splitlines()) > 4
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < SECONDS


@every_paper
def test_no_module_takes_anything_from_a_page(paper: str) -> None:
    """Else an edit of a page would train networks again."""
    assert code._graph().find_modules_that_directly_import(f"residual.{paper}.plain") == set()


def test_whitened_inputs_are_the_pages(mnist: tuple[np.ndarray, np.ndarray], whitened: Whitened) -> None:
    inputs, targets = demystifying.whiten(*mnist)
    np.testing.assert_allclose(whitened.inputs, inputs, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(whitened.targets, targets)


@pytest.mark.parametrize(
    ("name", "law", "scale", "page_law", "rate"),
    [
        ("2-shortcut", "xavier", 0.01, "zero", 10**0.5),
        ("orthogonal", "orthogonal", 1.0, "orthogonal", 10**-0.75),
        ("xavier", "xavier", 1.0, "xavier", 10**-1.75),
    ],
)
def test_figure_5_is_the_pages(
    name: str, law: str, scale: float, page_law: str, rate: float, whitened: Whitened
) -> None:
    """At depth 16 and Figure 7's best rates; on 200 samples, for the page's Hessians."""
    x, y = (samples[:, :200].copy() for samples in (whitened.inputs, whitened.targets))
    network, moments = network_named(name, 16, 10), Moments.of(x, y)
    weights = Ensemble(network, law, scale, 1, 2).initial_weights()[:, 1:]
    objective = LinearObjective.of(network, moments, weights.device)
    ours = descend(objective, weights, torch.tensor([rate]).double(), 60, (0, 60), lambda epochs: epochs)
    spectra = structured_spectra_along(torch.from_numpy(ours.snapshots), network, moments)
    samples, n = (torch.from_numpy(x), torch.from_numpy(y)), network.shortcut_depth
    start = demystifying.initialize(page_law, 16, 10, np.random.default_rng([1, 1]))
    trained = list(demystifying.train(start, *samples, n, rate, 60))
    # Near the edge of stability, training amplifies rounding.
    np.testing.assert_allclose(ours.loss[:, 0], [value for _, value in trained], rtol=1e-7)
    for place, epoch in enumerate((0, 60)):
        largest, tenth, index = demystifying.spectrum(demystifying.hessian(trained[epoch][0], *samples, n))
        assert spectra.resolved[place, 0]
        assert spectra.lambda_max[place, 0] == pytest.approx(largest.item(), rel=1e-7)
        assert spectra.condition_number[place, 0] == pytest.approx((largest / tenth).item(), rel=1e-5)
        assert spectra.raw_index[place, 0] == index
    # The comparison is of training that gets somewhere.
    assert trained[-1][1] < 0.9 * trained[0][1]


@pytest.mark.parametrize(("network", "stage_one"), [(WARM_UP, 800), (RESNET, 0), (CNN, 0)])
def test_table_1_is_the_pages(network: str, stage_one: int) -> None:
    k, p, runs, rate = 16, 8, 100, 0.3 / 16
    square = 4.23 * k
    setting = Setting(k, p, radians(86.76), square, 0.413 * square**0.5, rate, 0.01 * rate, stage_one, 11_000)
    start = starts(network, "ball", setting, 1, runs)
    every = [vectors(setting, state) for state in start.T]
    v, a, v_star, a_star = (torch.from_numpy(np.stack(part)) for part in zip(*every, strict=True))
    teacher = v_star, a_star
    end, _ = importance.train((v, a), teacher, rate, 5000, stage_one, 0.01 * rate)
    angle = (end - v_star).norm(dim=1)
    assert (torch.minimum(angle, 2 - angle) < 0.05).all()
    np.testing.assert_array_equal(outcomes(start, by_run([setting], runs)) == SUCCESS, angle < 0.05)


@pytest.mark.parametrize("residual", [True, False])
def test_scaled_networks_start_as_the_pages(residual: bool) -> None:
    variances = Variances() if residual else PLAIN
    ours = draw(7, 12, 5, 3, torch.Generator().manual_seed(1), variances, torch.float32)
    first, layers, readout = stable.draw(7, 12, 5, 3, residual, torch.Generator().manual_seed(1))
    for found, expected in zip(ours, (first, torch.stack(layers[:-1]), layers[-1], readout), strict=True):
        assert torch.equal(found, expected)
