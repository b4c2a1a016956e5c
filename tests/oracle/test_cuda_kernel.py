"""Oracles: autograd in double precision. Sees any error of the CUDA kernel's arithmetic.

By Triton's interpreter on up to 300 real images, on a card, where there is one, on all 60 000; and whether Triton's
compiler takes what its interpreter takes.
"""

import importlib
import importlib.util
import multiprocessing
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from resaudit.base.errors import ResauditError
from resaudit.data.whitening import Whitened
from residual.demystifying_resnet.networks.network import Network, network_named
from residual.demystifying_resnet.training.kernels import cuda
from residual.demystifying_resnet.training.kernels.cuda import TritonObjective, cuda_kernel_of
from residual.demystifying_resnet.training.objectives import sampled_objective
from residual.demystifying_resnet.training.sampled import SampledObjective
from tests.oracle.test_kernels import NETWORKS, as_the_kernel_sees, relative, weights_of


def numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")[:2]))


CPU = torch.device("cpu")
NUMPY = numbers(np.__version__)
TRITON = numbers(importlib.import_module("triton").__version__) if importlib.util.find_spec("triton") else ()
needs_triton = pytest.mark.skipif(not TRITON, reason="there is no triton here")
needs_interpreter = pytest.mark.skipif(
    not TRITON or (TRITON < (3, 9) and NUMPY >= (2, 4)),
    reason="there is no triton here, or its interpreter is too old for this NumPy",
)
needs_card = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
# Every place where an activation or a shortcut can be.
SMALL = [
    ("2-shortcut-relu", 4), ("orthogonal-relu", 4), ("2-shortcut-relu-post", 4),
    ("2-shortcut-relu-pre-relu-relu-post", 4), ("xavier-relu-pre-relu-post", 4), ("3-shortcut-relu", 6),
    ("1-shortcut-relu-post", 2), ("1-shortcut-relu-pre", 2), ("2-shortcut", 2), ("xavier", 3),
]  # fmt: skip
Pair = tuple[torch.Tensor, torch.Tensor]
Interpreter = ProcessPoolExecutor
Interpreted = Callable[..., Pair]


def _computed(
    network: Network, whitened: Whitened, weights: torch.Tensor, compares: bool, settings: dict[str, int]
) -> Pair:
    for name, value in settings.items():
        setattr(cuda, name, value)
    objective = TritonObjective(network, whitened, CPU)
    objective._compared = not compares
    return objective(weights)


@pytest.fixture(scope="module")
def interpreter() -> Iterator[Interpreter]:
    """A process in which Triton interprets."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        with pytest.MonkeyPatch.context() as patched:
            # Triton looks at this once, when it is imported, which the process does as it starts.
            patched.setenv("TRITON_INTERPRET", "1")
            process.submit(torch.set_num_threads, 1).result()
        yield process


@pytest.fixture(scope="module")
def interpreted(interpreter: Interpreter) -> Interpreted:
    """The objective's answer; by default with two parts of the samples, and without comparing itself first."""
    usual = {"PARTS": 2, "BYTES_AT_ONCE": cuda.BYTES_AT_ONCE}
    return lambda network, whitened, weights, compares=False, **settings: interpreter.submit(
        _computed, network, whitened, weights, compares, usual | settings
    ).result()


def first(whitened: Whitened, count: int) -> Whitened:
    return replace(whitened, inputs=whitened.inputs[:, :count].copy(), labels=whitened.labels[:count])


def agree(found: Pair, network: Network, whitened: Whitened, weights: torch.Tensor) -> None:
    loss, gradient = SampledObjective.of(network, as_the_kernel_sees(whitened), CPU, torch.float64)(weights)
    assert relative(found[0].cpu(), loss) <= 1e-6
    for layer in range(network.depth):
        assert relative(found[1][layer].cpu(), gradient[layer]) <= 1e-5, f"layer {layer}"


@needs_interpreter
@pytest.mark.parametrize(("name", "depth"), SMALL)
def test_interpreted_the_kernel_equals_autograd_in_double_precision(
    name: str, depth: int, whitened: Whitened, interpreted: Interpreted
) -> None:
    """In two blocks of samples, the last not full, each with a program of its own."""
    network, some = network_named(name, depth, 10), first(whitened, 130)
    weights = weights_of(network, runs=1).float().double()
    found = interpreted(network, some, weights)
    assert [tensor.dtype for tensor in found] == [torch.float64, torch.float64]
    assert found[1].shape == weights.shape
    agree(found, network, some, weights)


@needs_interpreter
@pytest.mark.parametrize("count", [1, 127, 128, 129])
def test_interpreted_a_block_that_is_not_full_adds_nothing(
    count: int, whitened: Whitened, interpreted: Interpreted
) -> None:
    network, some = network_named("orthogonal-relu", 2, 10), first(whitened, count)
    weights = weights_of(network, runs=1).float().double()
    agree(interpreted(network, some, weights), network, some, weights)


@needs_interpreter
def test_interpreted_the_same_bits_again_in_a_group_for_each_run_and_alone(
    whitened: Whitened, interpreted: Interpreted
) -> None:
    """In three blocks of samples, the last not full: of each run, one program has two of them, the other one."""
    network, some = network_named("2-shortcut-relu-post", 2, 10), first(whitened, 300)
    weights = weights_of(network).float().double()
    loss, gradient = interpreted(network, some, weights)
    agree((loss, gradient), network, some, weights)
    again_loss, again_gradient = interpreted(network, some, weights, BYTES_AT_ONCE=1)
    assert torch.equal(again_loss, loss)
    assert torch.equal(again_gradient, gradient)
    alone_loss, alone_gradient = interpreted(network, some, weights[:, 1:2])
    assert torch.equal(alone_loss, loss[1:2])
    assert torch.equal(alone_gradient, gradient[:, 1:2])


@needs_interpreter
def test_interpreted_a_run_that_overflows_is_not_finite_and_spoils_no_other(
    whitened: Whitened, interpreted: Interpreted
) -> None:
    network, some = network_named("orthogonal-relu", 2, 10), first(whitened, 128)
    weights = weights_of(network)
    loss, gradient = interpreted(network, some, weights)
    weights[:, 0] *= 1e20
    wild_loss, wild_gradient = interpreted(network, some, weights, compares=True)
    assert not torch.isfinite(wild_loss[0])
    assert torch.equal(wild_loss[1], loss[1])
    assert torch.equal(wild_gradient[:, 1], gradient[:, 1])


def _of_a_broken_kernel(network: Network, whitened: Whitened, weights: torch.Tensor) -> list[str]:
    """What is said at the first use and at the second, once errors have the other sign, and once all is mended."""
    from residual.demystifying_resnet.training.kernels import fused_triton

    whole, said = fused_triton.minus, []
    for subtract in (fused_triton.plus, fused_triton.plus, whole):
        fused_triton.minus = subtract
        try:
            TritonObjective(network, whitened, CPU)(weights)
            said.append("nothing")
        except ResauditError as error:
            said.append(str(error))
    return said


@needs_interpreter
def test_interpreted_a_broken_kernel_is_found_out_at_its_first_use(
    whitened: Whitened, interpreter: Interpreter
) -> None:
    network, some = network_named("2-shortcut-relu", 2, 10), first(whitened, 130)
    weights = weights_of(network, runs=4).float().double()
    *broken, mended = interpreter.submit(_of_a_broken_kernel, network, some, weights).result()
    assert mended == "nothing"
    for said in broken:
        assert re.fullmatch(
            r"the Triton kernel differs from torch on this device, by \S+ of the loss and \S+ of the gradient, "
            r"allowed are 1e-06 and 1e-05; leave kernel=fused out", said
        )  # fmt: skip


@needs_triton
@pytest.mark.skipif(sys.platform != "linux", reason="triton's compiler for CUDA is for Linux")
def test_the_kernel_compiles_for_a_card_that_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For compute capability 9.0, with shared memory for 14 programs on a multiprocessor."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    from residual.demystifying_resnet.training.kernels import fused_triton

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    types = dict.fromkeys(("inputs", "targets", "weights", "states", "gradients"), "*fp32")
    types |= {"losses": "*fp64", "blocks": "i32", "depth": "i32"}
    values = cuda._structure(network_named("1-shortcut-relu-pre-relu-post", 4, 10))
    values |= {"SLOTS": 2, "PARTS": cuda.PARTS, "SAMPLES": cuda.SAMPLES, "WIDTH": cuda.WIDTH}
    aligned = {(place,): [["tt.divisibility", 16]] for place in range(6)}
    source = ASTSource(fused_triton.loss_and_gradient, types | dict.fromkeys(values, "constexpr"), values, aligned)
    options = {"num_warps": 1, "num_stages": 1}
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert compiled.metadata.shared <= 16384
    assert list(tmp_path.iterdir())


@needs_triton
@needs_card
@pytest.mark.parametrize(("name", "depth"), NETWORKS)
def test_on_a_card_the_kernel_equals_autograd_in_double_precision_and_itself(
    name: str, depth: int, whitened: Whitened
) -> None:
    network = network_named(name, depth, 10)
    weights = weights_of(network).float().double()
    objective = TritonObjective(network, whitened, torch.device("cuda"))
    found, again = objective(weights.cuda()), objective(weights.cuda())
    agree(found, network, whitened, weights)
    assert torch.equal(found[0], again[0])
    assert torch.equal(found[1], again[1])


@needs_triton
@pytest.mark.parametrize(
    ("network", "why"),
    [
        (network_named("2-shortcut-tanh", 4, 10), "the kernel has no tanh"),
        (network_named("2-shortcut-relu", 4, 12), "layers of width 10, not 12"),
        (network_named("9-shortcut-relu", 9, 10), "units of at most 8 layers"),
    ],
)
def test_networks_that_the_kernel_is_not_for_are_refused_and_it_is_said_why(
    network: Network, why: str, whitened: Whitened
) -> None:
    with pytest.raises(ResauditError, match=why) as refusal:
        sampled_objective(network, whitened, torch.device("cuda"), "fused")
    assert "\n" not in str(refusal.value)


def test_without_triton_it_is_torch_and_fused_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    network = network_named("2-shortcut-relu", 4, 10)
    assert cuda_kernel_of(network, "auto")[0] == "torch"
    with pytest.raises(ResauditError, match="kernel is fused, but triton cannot be imported"):
        cuda_kernel_of(network, "fused")


@needs_triton
def test_the_kernel_is_taken_only_if_it_is_asked_for() -> None:
    network = network_named("2-shortcut-relu", 4, 10)
    assert cuda_kernel_of(network, "fused")[0] == "fused"
    chosen, words = cuda_kernel_of(network, "auto")
    assert (chosen, words) == ("torch", "torch, since the Triton kernel has to be asked for (kernel=fused)")
    assert cuda_kernel_of(network, "torch") == ("torch", "torch, as configured")
