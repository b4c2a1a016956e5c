"""Oracles: what autograd saves of each network, its parameters, and the peak of a process or a GPU that trains it.

They see a layer that the plan forgets or counts twice, and memory that a run needs and the plan does not know of.
"""

import multiprocessing
import resource
from dataclasses import replace

import numpy as np
import pytest
import torch

from resaudit.jobs.job import Cost, Execution
from residual.images import costs
from residual.images.costs import FLOAT, counts, cpu_seconds, gpu_seconds, run_megabytes
from residual.images.jobs import FRAGMENTS
from residual.images.networks.residual import build
from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation, Recipe
from tests import forked
from tests.oracle.test_image_training import DEVICE, IMAGES, job, needs_card

NETWORKS: list[Network] = [
    PreActivation(20), PreActivation(38, 1), PreActivation(38, 3), PreActivation(38, 4),
    PostActivation(20, True, None), PostActivation(20, True, 0.5), PostActivation(20, True, 0.5, learnable=True),
    PostActivation(20, False, 0.5), PostActivation(20, False, 0.5, learnable=True),
    AllConvolutional(), AllConvolutional(2, leak=0.1), AllConvolutional(3, projection="trained"),
]  # fmt: skip
BATCH = 4
PAPER = Recipe(164, "epochs", 0.1, (81, 122), 128, "pad_last", nesterov=True)


def saved_by(network: Network) -> float:
    """Numbers an image that autograd keeps, each storage once and parameters not."""
    module = build(network, 3, 10, 1).to("meta")
    own, seen = {p.untyped_storage()._cdata for p in module.parameters()}, {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in own:
            seen[storage._cdata] = storage  # held, so that no other gets its address
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        kept = module(torch.empty(BATCH, 3, 32, 32, device="meta"))
    assert kept.requires_grad
    return sum(storage.nbytes() for storage in seen.values()) / FLOAT / BATCH


@pytest.mark.parametrize("network", NETWORKS)
def test_saved_numbers_are_those_that_autograd_keeps(network: Network) -> None:
    # Statistics of batch norm and the last layer's inputs are left out.
    assert counts(network).saved == pytest.approx(saved_by(network), rel=0.02)


@pytest.mark.parametrize("network", NETWORKS)
def test_weights_are_those_of_the_convolutions(network: Network) -> None:
    kernels = [p for p in build(network, 3, 10, 1).parameters() if p.ndim == 4]
    assert counts(network).weights == sum(p.numel() for p in kernels)
    assert counts(network).layers == len(kernels) + 1


def test_published_sizes() -> None:
    assert [counts(PreActivation(depth)).macs / 1e9 for depth in (38, 110, 434, 1202)] == pytest.approx(
        [0.083, 0.253, 1.017, 2.829], rel=0.01
    )
    saved = [4 * 128 * counts(PreActivation(depth)).saved / 1e9 for depth in (38, 110, 434, 1202)]
    assert saved == pytest.approx([0.4, 1.1, 4.2, 11.7], rel=0.08)
    for depth in (1, 2, 3, 4):
        assert counts(PreActivation(110, depth)) == counts(PreActivation(110))


def cost(**changes: object) -> Cost:
    usual = {"recipe": PAPER, "network": PreActivation(110), "runs": (0,)}
    return job(**(usual | changes)).cost(Execution())


def test_costs_grow_with_what_is_asked_for() -> None:
    one, fewer = cost(), cost(samples=5000)
    # Each epoch's test stays as it is.
    assert one.seconds > 5 * fewer.seconds
    assert one.gpu_seconds > 5 * fewer.gpu_seconds > 0
    # Up to four runs share a GPU, and more follow them.
    four, six = (cost(runs=tuple(range(count))) for count in (4, 6))
    assert 3 < four.gpu_megabytes / one.gpu_megabytes < 4
    assert four.gpu_megabytes == six.gpu_megabytes
    assert 2 < four.gpu_seconds / one.gpu_seconds < 4 < six.gpu_seconds / one.gpu_seconds * 1.5


def test_a_smaller_last_batch_takes_its_share_beside_the_graph() -> None:
    each = costs.gpu_run_megabytes(PreActivation(110), PAPER)
    steps = replace(PAPER, unit="steps", milestones=(), length=1000)
    whole = cost(samples=49_920).gpu_megabytes
    assert cost().gpu_megabytes - whole == pytest.approx(each * 80 / 128)
    assert cost(recipe=steps).gpu_megabytes == whole


def test_1202_layers_fit_an_h100_three_times() -> None:
    """Figure 6 of stable_scaling, in the 78 GiB of an H100; its variant learnable-tau needs more."""
    each = cost(network=PostActivation(1202, True, 0.5)).gpu_megabytes
    assert 3 * 1.15 * each < 78 * 1024**3 / 1e6


def test_larger_images_need_more_memory() -> None:
    one = job(runs=(0,))
    assert one.megabytes(1000, (3, 256, 256)) > 1.5 * one.megabytes(1000, (3, 32, 32))
    assert one.megabytes(1000, (3, 16, 64)) == one.megabytes(1000, (3, 32, 32))


def test_time_is_bound_by_arithmetic_or_by_small_layers() -> None:
    deep, wide = PreActivation(110), AllConvolutional()
    assert gpu_seconds(deep, 1_000_000, 0) == pytest.approx(110 * 1_000_000 * costs.GPU_SECONDS_A_LAYER_AND_IMAGE[1])
    arithmetic = 6 * counts(wide).macs * 1_000_000 / costs.GPU_FLOPS_A_SECOND
    assert gpu_seconds(wide, 1_000_000, 0) == pytest.approx(arithmetic)
    assert cpu_seconds(deep, 3000, 0) == pytest.approx(cpu_seconds(deep, 0, 9000))


def peaks_of(network: Network, batches: tuple[int, ...], peaks: multiprocessing.Queue) -> None:  # type: ignore[type-arg]
    """The peak of a process's memory in MB after two steps with each batch, in rising order."""
    from residual.images.optimiser import FlatParameters, MomentumSgd

    torch.set_num_threads(1)
    module = build(network, 3, 10, 1)
    flat = FlatParameters(module)
    sgd = MomentumSgd(flat, 0.9, False, 1e-4, "all", {})
    for batch in batches:
        images, labels = torch.zeros(batch, 32, 32, 3).permute(0, 3, 1, 2), torch.zeros(batch, dtype=torch.int64)
        for _ in range(2):
            sgd.step(flat.gradient(torch.nn.functional.cross_entropy(module(images), labels)))
        peaks.put(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)


@pytest.mark.parametrize("network", [PreActivation(38), PostActivation(20, False, 0.5)])
def test_a_process_grows_with_the_batch_as_planned(network: Network) -> None:
    """What does not grow, such as compiled kernels, is ``MEGABYTES_HELD`` of a job's plan."""
    batches = 64, 384
    processes = forked.forks()
    peaks = processes.Queue()
    process = processes.Process(target=peaks_of, args=(network, batches, peaks))
    process.start()
    small, large = (peaks.get(timeout=300) for _ in batches)
    process.join()
    planned = [run_megabytes(network, replace(PAPER, batch=batch)) for batch in batches]
    assert large - small == pytest.approx(FRAGMENTS * (planned[1] - planned[0]), rel=0.15)


@needs_card
@pytest.mark.parametrize("network", [PreActivation(110), PostActivation(56, False, 0.5), AllConvolutional()])
def test_a_gpu_holds_what_is_planned(network: Network) -> None:
    from residual.images.schedule import Schedule
    from residual.images.training import TrainingRun, deterministic, load

    large = replace(IMAGES, train_images=np.zeros((256, 3, 32, 32), np.uint8), train_labels=np.zeros(256, np.uint8),
                    test_images=np.zeros((500, 3, 32, 32), np.uint8), test_labels=np.zeros(500, np.uint8))  # fmt: skip
    data = load(large, "pad_last", True, torch.device("cuda"))
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_reserved()
    with deterministic(DEVICE):
        run = TrainingRun(build(network, 3, 10, 1), data, Schedule(PAPER, 256), 1, 0)
        run.use_graph()
        for _ in range(3):
            run.advance()
        torch.cuda.synchronize()
    planned = costs.gpu_run_megabytes(network, PAPER) + costs.test_megabytes(network, 3, 32)
    assert (torch.cuda.max_memory_reserved() - before) / 1e6 == pytest.approx(planned, rel=0.15)
