"""Oracle: what each network and setting asks for. Sees a fallback that nobody is told of."""

import pytest
import torch

from resaudit.datasets.whitening import Whitened
from resaudit.errors import ResauditError
from resaudit.networks.network import Network, network_named
from resaudit.training.kernels import library
from resaudit.training.kernels.native import NativeObjective
from resaudit.training.objectives import sampled_objective
from resaudit.training.sampled import SampledObjective

CPU = torch.device("cpu")
RELU, TANH = network_named("xavier-relu", 4, 10), network_named("xavier-tanh", 4, 10)
needs_kernel = pytest.mark.skipif(library.library() is None, reason="the kernel was not built: no C compiler")


@needs_kernel
def test_the_kernel_is_taken_where_it_can_be_and_said_so(whitened: Whitened) -> None:
    for wanted in ("auto", "fused"):
        objective, said = sampled_objective(RELU, whitened, CPU, wanted)
        assert isinstance(objective, NativeObjective)
        assert said == f"fused kernel, vectors of {library.lanes()} floats"


@needs_kernel
@pytest.mark.parametrize(
    ("network", "why"),
    [(TANH, "the kernel has no tanh, only identity and relu"), (Network(2, 4, 5, mid="relu"), "width 10, not 5")],
)
def test_what_the_kernel_cannot_do_is_done_in_torch_and_said_so(network: Network, why: str) -> None:
    chosen, said = library.kernel_of(network, "auto")
    assert chosen == "torch"
    assert why in said
    with pytest.raises(ResauditError, match=r"kernel is fused, but .*; allowed: kernel=auto, kernel=torch"):
        library.kernel_of(network, "fused")


def test_torch_can_be_asked_for(whitened: Whitened) -> None:
    objective, said = sampled_objective(RELU, whitened, CPU, "torch")
    assert isinstance(objective, SampledObjective)
    assert said == "torch, as configured"


def test_where_the_kernel_was_not_built_torch_stands_in_and_says_why(
    whitened: Whitened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "library", lambda: None)
    objective, said = sampled_objective(RELU, whitened, CPU, "auto")
    assert isinstance(objective, SampledObjective)
    assert said == "torch, since the compiled kernel was not built (it needs a C compiler; pip install -e . builds it)"
    with pytest.raises(ResauditError, match="kernel is fused, but the compiled kernel was not built"):
        sampled_objective(RELU, whitened, CPU, "fused")
