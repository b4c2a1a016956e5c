"""Oracles: torch.optim.SGD with a plain loop over NCHW batches, and the same runs eager or left alone.

They see a wrong momentum or decay, a step at another learning rate, a batch or augmentation of another run, a graph
that differs from its step, state that a checkpoint lacks, and a diverged run that looks trained.
"""

import gc
import multiprocessing
import random
import shutil
import signal
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from resaudit.base.errors import DataError, Interrupted, MachineError
from resaudit.data.dataset import Dataset
from resaudit.data.fetch import Fetch
from resaudit.data.images import ImageSet
from resaudit.jobs.job import Execution, Work
from resaudit.jobs.results import save_arrays
from residual.identity_matters import plain as identity_matters
from residual.images.jobs import TrainImages
from residual.images.networks.layers import Convolution
from residual.images.networks.residual import build
from residual.images.optimiser import FlatParameters, MomentumSgd
from residual.images.samples import WEIGHTS, Samples, key_of
from residual.images.schedule import Records, Schedule
from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation, Recipe
from residual.images.training import RECORDED, Graph, Step, TrainingRun, deterministic, load, records_of
from tests import forked
from tests.refusals import refused

CPU = torch.device("cpu")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
needs_card = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
RNG = np.random.default_rng(4)
CLASSES = 4


def made(images: int, tests: int) -> ImageSet:
    parts = []
    for number in (images, tests):
        labels = RNG.integers(0, CLASSES, number, dtype=np.uint8)
        pixels = RNG.integers(0, 180, (number, 3, 8, 8), dtype=np.uint8)
        pixels[np.arange(number), labels % 3] += 60  # something to learn
        parts += [pixels, labels]
    return ImageSet(*parts, CLASSES)


IMAGES = made(88, 41)
NETWORK = PreActivation(8)
# 6 steps an epoch, the last one of 8 images.
RECIPE = Recipe(4, "epochs", 0.1, (3,), 16, "pad_last", warm_up=2, nesterov=True)
STEPS = Recipe(23, "steps", 0.05, (15,), 16, "standardise", decayed="convolutions", evaluations=3)
NETWORKS: list[tuple[Network, Recipe]] = [
    (NETWORK, RECIPE),
    (PostActivation(8, batch_norm=True, power=0.5), replace(RECIPE, nesterov=False, augmentation="pad_first")),
    (PostActivation(8, batch_norm=False, power=0.5, learnable=True), replace(RECIPE, augmentation="pad_first")),
    (AllConvolutional(1), STEPS),
]


def new_run(
    run: int = 0, network: Network = NETWORK, recipe: Recipe = RECIPE, device: torch.device = CPU
) -> TrainingRun:
    return run_of(build(network, 3, CLASSES, key_of(1, WEIGHTS, run)), run, recipe, device)


def run_of(module: nn.Module, run: int = 0, recipe: Recipe = RECIPE, device: torch.device = CPU) -> TrainingRun:
    data = load(IMAGES, recipe.augmentation, True, device)
    return TrainingRun(module, data, Schedule(recipe, len(IMAGES.train_images)), 1, run)


def doubled(network: Network) -> nn.Module:
    """In double precision: in single, ReLUs that flip at their kinks amplify rounding to the size of the weights."""
    module = build(network, 3, CLASSES, key_of(1, WEIGHTS, 0)).double()
    module.register_forward_pre_hook(lambda _, images: (images[0].double(),))
    return module


def trained(one: TrainingRun) -> tuple[bytes, ...]:
    """The bytes of its state at the end."""
    with deterministic(DEVICE):
        while not one.finished:
            one.advance()
        return bytes_of(one)


def bytes_of(one: TrainingRun) -> tuple[bytes, ...]:
    return tuple(getattr(one.state(), f.name).tobytes() for f in fields(one.state()))


def batches(recipe: Recipe, number: int) -> Iterator[tuple[torch.Tensor, torch.Tensor, float]]:
    """Augmented images in contiguous NCHW, labels, and learning rate of the first steps of run 0."""
    data = load(IMAGES, recipe.augmentation, True, CPU)
    schedule = Schedule(recipe, len(IMAGES.train_images))
    samples = Samples(len(IMAGES.train_images), data.train.padding, 1, 0, CPU)
    for step in range(number):
        chosen, top, left, flip = samples(*schedule.samples(step)).unbind(dim=1)
        images = data.train.augmented(chosen, top, left, flip).contiguous()
        yield images, data.train_labels[chosen], schedule.learning_rate(step)


class Plain:
    """The loop of a textbook: torch.optim.SGD on contiguous NCHW batches."""

    def __init__(self, network: Network, recipe: Recipe) -> None:
        self.network, self.recipe = doubled(network), recipe
        factors: dict[str, float] = self.network.rate_factors  # type: ignore[assignment]
        self.groups = [
            {"params": [p], "lr": 0.0, "factor": factors.get(name, 1.0),
             "weight_decay": recipe.weight_decay * (recipe.decayed == "all" or p.ndim == 4)}
            for name, p in self.network.named_parameters()
        ]  # fmt: skip
        self.optimiser = torch.optim.SGD(self.groups, lr=1.0, momentum=recipe.momentum, nesterov=recipe.nesterov)

    def steps(self, number: int) -> None:
        for images, labels, rate in batches(self.recipe, number):
            for group in self.optimiser.param_groups:
                group["lr"] = rate * group["factor"]
            self.optimiser.zero_grad()
            nn.functional.cross_entropy(self.network(images), labels).backward()
            self.optimiser.step()


@pytest.mark.parametrize(("network", "recipe"), NETWORKS)
def test_twenty_steps_are_those_of_the_textbooks_loop(network: Network, recipe: Recipe) -> None:
    plain, ours = Plain(network, recipe), run_of(doubled(network), recipe=recipe)
    plain.steps(20)
    with deterministic(DEVICE):
        for _ in range(20):
            ours.advance()
    found = ours._parameters.tensors
    for name, expected in plain.network.named_parameters():
        # Sums in another order, amplified by 20 steps.
        np.testing.assert_allclose(found[name].detach(), expected.detach(), rtol=1e-7, atol=1e-9, err_msg=name)


def test_twenty_steps_of_table_1_are_the_papers() -> None:
    *kernels, last = (w.clone() for w in doubled(AllConvolutional(1)).state_dict().values())
    identity_matters.train(kernels, last, ((x.double(), y, rate) for x, y, rate in batches(STEPS, 20)))
    ours = run_of(doubled(AllConvolutional(1)), recipe=STEPS)
    with deterministic(DEVICE):
        for _ in range(20):
            ours.advance()
    for found, expected in zip(ours._parameters.tensors.values(), kernels, strict=True):
        np.testing.assert_allclose(found.detach(), expected.detach(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("decayed", ["all", "convolutions"])
@pytest.mark.parametrize("factors", [{}, {"0.weight": 0.1, "2.bias": 3.0}])
def test_flat_momentum_is_torchs_sgd_for_twenty_steps(nesterov: bool, decayed: str, factors: dict[str, float]) -> None:
    def network() -> nn.Sequential:
        torch.manual_seed(1)
        return nn.Sequential(nn.Conv2d(3, 5, 3), nn.Flatten(), nn.Linear(5 * 36, 4)).double()

    ours, theirs = network(), network()
    flat = FlatParameters(ours)
    sgd = MomentumSgd(flat, 0.9, nesterov, 0.01, decayed, factors)
    sgd.learning_rate.fill_(0.05)
    groups = [
        {"params": [p], "lr": 0.05 * factors.get(name, 1.0), "weight_decay": 0.01 * (decayed == "all" or p.ndim == 4)}
        for name, p in theirs.named_parameters()
    ]
    reference = torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=nesterov)
    x, labels = torch.randn(20, 7, 3, 8, 8, dtype=torch.float64), torch.randint(4, (20, 7))
    for step in range(20):
        sgd.step(flat.gradient(nn.functional.cross_entropy(ours(x[step]), labels[step])))
        reference.zero_grad()
        nn.functional.cross_entropy(theirs(x[step]), labels[step]).backward()
        reference.step()
    for name, expected in theirs.named_parameters():
        # 20 steps of a few sums over at most 180 numbers.
        np.testing.assert_allclose(flat.tensors[name].detach(), expected.detach(), rtol=0, atol=20 * 180 * 2.3e-16)


@pytest.mark.parametrize("network", [network for network, _ in NETWORKS])
def test_kernels_lie_where_cudnn_is_fast(network: Network) -> None:
    flat = FlatParameters(build(network, 3, CLASSES, key_of(1, WEIGHTS, 0)))
    assert all(p.data_ptr() % 16 == 0 for p in flat.tensors.values() if p.ndim == 4)


class Backward(TorchDispatchMode):
    """Notes shape and strides of the images and gradients that backward passes are given, by their names."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[str, torch.Size, tuple[int, ...]]] = []

    def __torch_dispatch__(self, function: Any, _: Any, arguments: tuple[Any, ...] = (), named: Any = None) -> Any:
        name = function.name()
        if name.endswith("_backward"):
            images = (t for t in arguments if isinstance(t, torch.Tensor) and t.ndim == 4)
            self.given += [(name, t.shape, t.stride()) for t in images]
        return function(*arguments, **(named or {}))


@pytest.mark.parametrize(("network", "recipe"), NETWORKS)
def test_images_and_gradients_stay_channels_last(network: Network, recipe: Recipe) -> None:
    """In other formats a step gives the same numbers, but takes longer."""
    with Backward() as noted:
        new_run(0, network, recipe).advance()
    layers = sum(isinstance(layer, Convolution) for layer in build(network, 3, CLASSES, 1).modules())
    assert [name for name, _, _ in noted.given].count("aten::convolution_backward") == 3 * layers
    for name, (_, channels, height, width), strides in noted.given:
        assert strides == (channels * height * width, 1, channels * width, channels), name


@needs_card
@pytest.mark.parametrize(("network", "recipe"), NETWORKS)
def test_a_graph_has_the_bytes_of_eager_steps(network: Network, recipe: Recipe) -> None:
    eager, replayed = (new_run(0, network, recipe, torch.device("cuda")) for _ in range(2))
    with deterministic(DEVICE):
        assert replayed.use_graph() == "CUDA graph"
    assert trained(replayed) == trained(eager)


@needs_card
def test_on_a_gpu_convolutions_are_in_single_precision() -> None:
    images, kernels = (torch.randn(8, 16, 3, 3, device="cuda") for _ in range(2))
    with deterministic(DEVICE):
        found = nn.functional.conv2d(images, kernels)
    exact = nn.functional.conv2d(images.double(), kernels.double())
    assert float((found - exact).abs().max()) < 1e-4  # of TF32, with ten bits, 1e-2


class Replayed:
    """In place of a CUDA graph, where there is none: the step itself on a copy of the samples."""

    def __init__(self, step: Step, samples: torch.Tensor) -> None:
        self.step, self.inputs, self.calls = step, samples.clone(), 0

    def __call__(self, samples: torch.Tensor) -> None:
        self.inputs.copy_(samples)
        self.step(self.inputs)
        self.calls += 1


class Stale(Replayed):
    """Replays the samples of the capture."""

    def __call__(self, samples: torch.Tensor) -> None:
        self.step(self.inputs)


def refusing(step: Step, samples: torch.Tensor) -> Step:
    step(samples)
    raise RuntimeError("CUDA error: operation not permitted when stream is capturing\nCompile with more")


@pytest.mark.parametrize(("network", "recipe"), NETWORKS)
def test_whole_batches_are_replayed_with_the_bytes_of_eager_steps(network: Network, recipe: Recipe) -> None:
    made: list[Replayed] = []

    def capture(step: Step, samples: torch.Tensor) -> Step:
        made.append(Replayed(step, samples))
        return made[0]

    replayed = new_run(0, network, recipe)
    before = bytes_of(replayed)
    assert replayed.use_graph(capture) == "CUDA graph"
    assert bytes_of(replayed) == before
    assert trained(replayed) == trained(new_run(0, network, recipe))
    # Two to compare; in epochs the last of six batches is smaller.
    assert made[0].calls == 2 + (20 if recipe.unit == "epochs" else 23)


@pytest.mark.parametrize(
    ("capture", "why"),
    [
        (Stale, "differ"),
        (refusing, "capturing"),
        pytest.param(Graph, "", marks=pytest.mark.skipif(DEVICE == "cuda", reason="there is a GPU")),
    ],
)
def test_where_the_graph_fails_steps_stay_eager_which_is_said(
    capture: Callable[[Step, torch.Tensor], Step], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    one = new_run()
    before = bytes_of(one)
    how = one.use_graph(capture)
    assert how.startswith("eager")
    assert why in how
    (warning,) = capsys.readouterr().err.splitlines()
    assert how in warning
    assert bytes_of(one) == before
    assert trained(one) == trained(new_run())


def test_the_memory_of_a_run_is_free_as_soon_as_it_is_done() -> None:
    """The next run needs it; the garbage collector may come much later."""
    gc.disable()
    try:
        with deterministic(DEVICE):
            one = new_run(device=torch.device(DEVICE))
            one.use_graph(Graph if DEVICE == "cuda" else refusing)
            one.advance()
        left = weakref.ref(one)
        del one
        assert left() is None
    finally:
        gc.enable()


@needs_card
@pytest.mark.parametrize("captured", [True, False])
def test_a_run_resumed_on_a_gpu_ends_with_the_bytes_of_one_left_alone(captured: bool) -> None:
    expected, stopped, resumed = (new_run(device=torch.device("cuda")) for _ in range(3))
    with deterministic(DEVICE):
        for _ in range(7):
            stopped.advance()
        resumed.resume(stopped.state())
        if captured:
            resumed.use_graph()
    assert trained(resumed) == trained(expected)


@needs_card
def test_a_run_on_a_gpu_starts_as_on_the_cpu() -> None:
    cuda = torch.device("cuda")
    for recipe in (RECIPE, STEPS):
        one, other = new_run(0, NETWORK, recipe), new_run(0, NETWORK, recipe, cuda)
        with deterministic(DEVICE):
            for each in (one, other):
                each.advance()
        # By name: the vectors of both devices hold kernels in another order.
        expected, found = (each._parameters.tensors for each in (one, other))
        for name in expected:
            here = found[name].detach().cpu()
            np.testing.assert_allclose(here, expected[name].detach(), rtol=1e-3, atol=1e-5, err_msg=name)


def test_records_are_sums_of_the_plain_loop() -> None:
    ours, plain = run_of(doubled(NETWORK)), Plain(NETWORK, RECIPE)
    plain.steps(24)
    trained(ours)
    records = records_of(Schedule(RECIPE, 88), [5], [ours.state()], ours.weight_names, 41)
    assert records.run.tolist() == [5]
    assert records.step.tolist() == [0, 6, 12, 18, 24]
    assert records.epoch.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(records.learning_rate, [np.nan, 0.1, 0.1, 0.01, 0.01])
    assert np.isnan(records.train_loss[0, 0])
    assert np.isnan(records.train_error[0, 0])
    assert records.train_loss[0, -1] < records.train_loss[0, 1]
    images = load(IMAGES, "pad_last", True, CPU).test.plain(0, 41)
    labels = torch.from_numpy(IMAGES.test_labels.astype(np.int64))
    plain.network.eval()
    with torch.no_grad():
        scores = plain.network(images)
    wrong = (scores.argmax(dim=1) != labels).double()
    assert records.test_loss[0, -1] == pytest.approx(float(nn.functional.cross_entropy(scores, labels)), rel=1e-7)
    assert records.test_error[0, -1] == pytest.approx(float(wrong.mean()))
    assert records.test_error_halves[0, -1].tolist() == [float(wrong[:21].mean()), float(wrong[21:].mean())]
    weights = {name: p for name, p in plain.network.named_parameters() if p.ndim >= 2}
    assert records.weights.tolist() == list(weights)
    np.testing.assert_allclose(records.norms[0, -1], [float(p.detach().norm()) for p in weights.values()], rtol=1e-7)


def test_a_diverged_run_ends_and_says_so() -> None:
    recipe = replace(RECIPE, learning_rate=1e30, warm_up=0)
    network = PostActivation(8, batch_norm=False, power=0.0)
    ours = new_run(0, network, recipe)
    trained(ours)
    records = records_of(Schedule(recipe, 88), [0], [ours.state()], ours.weight_names, 41)
    assert np.isfinite(records.test_loss[0, 0])
    assert np.isinf(records.test_loss[0, 1:]).all()
    assert np.isinf(records.train_loss[0, 1:]).all()
    assert np.isinf(records.norms[0, 1:]).all()
    assert (records.test_error[0, 1:] == 1).all()
    assert (records.train_error[0, 1:] == 1).all()


def job(**changes: object) -> TrainImages:
    settings = {"network": NETWORK, "recipe": RECIPE, "runs": (0, 2), "seed": 1}
    dataset = Dataset.model_construct(name="made", classes=CLASSES, files={})
    return TrainImages(Fetch(dataset, ""), **(settings | changes))  # type: ignore[arg-type]


def work(folder: Path, execution: Execution | None = None) -> Work:
    return Work(folder, execution or Execution(), "cpu", folder / "kept", {"device": "cpu"})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Records]:
    monkeypatch.setattr(Fetch, "image_set", lambda _: IMAGES, raising=False)

    def records(**changes: object) -> Records:
        made: Records = job(**changes).run(work(tmp_path))["records.npz"]
        return made

    return records


@pytest.mark.parametrize(("side", "fits"), [(8, True), (64, False)])
def test_larger_images_need_more_memory_than_a_small_machine_has(
    side: int, fits: bool, run: Callable[..., Records], monkeypatch: pytest.MonkeyPatch
) -> None:
    large = [np.zeros((len(part), 3, side, side), np.uint8) for part in (IMAGES.train_images, IMAGES.test_images)]
    images = replace(IMAGES, train_images=large[0], test_images=large[1])
    monkeypatch.setattr(Fetch, "image_set", lambda _: images, raising=False)
    # It would hold images of 32 x 32 pixels, which are planned.
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 1000, "SC_PHYS_PAGES": 1_300_000}.get)
    recipe, network = replace(RECIPE, length=1, milestones=(), batch=44), PreActivation(38)
    assert job(recipe=recipe, network=network).cost(Execution()).megabytes < 1300
    if fits:
        assert run(recipe=recipe, network=network, runs=(0,)).step.tolist() == [0, 2]
        return
    with refused(MachineError, "may use 1300 MB"):
        run(recipe=recipe, network=network)


def same(a: Records, b: Records) -> bool:
    return all(getattr(a, f.name).tobytes() == getattr(b, f.name).tobytes() for f in fields(Records))


def test_a_run_does_not_depend_on_those_of_its_job(run: Callable[..., Records], tmp_path: Path) -> None:
    both = run()
    shutil.rmtree(tmp_path / "kept")
    assert run(runs=(2,)).norms[0].tobytes() == both.norms[1].tobytes()
    shutil.rmtree(tmp_path / "kept")
    shared = run(shared_start=True)
    assert shared.norms[0, 0].tobytes() == shared.norms[1, 0].tobytes()
    assert shared.norms[0, 1].tobytes() != shared.norms[1, 1].tobytes()
    assert both.norms[0, 0].tobytes() != both.norms[1, 0].tobytes()


@needs_card
def test_runs_that_train_at_once_on_a_gpu_have_the_bytes_of_each_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Fetch, "image_set", lambda _: IMAGES, raising=False)

    def records(*runs: int) -> Records:
        made: Records = job(runs=runs).run(replace(work(tmp_path / str(runs)), device="cuda"))["records.npz"]
        return made

    together = records(0, 1, 2, 3, 4)
    for place in range(5):
        alone = records(place)
        for name in RECORDED:
            assert getattr(alone, name)[0].tobytes() == getattr(together, name)[place].tobytes(), name


def test_a_state_is_the_same_in_every_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU's checkpoint holds goes on on a CPU, and the other way round; here both layouts are on a CPU."""
    one = new_run()
    one.advance()
    state, expected = one.state(), bytes_of(one)
    monkeypatch.setattr("residual.images.optimiser.memory_format", lambda _: torch.contiguous_format)
    other = new_run()
    other.resume(state)
    assert bytes_of(other) == expected
    tensors = [run._parameters.tensors for run in (one, other)]
    assert all(torch.equal(tensors[0][name], tensors[1][name]) for name in tensors[0])
    assert not torch.equal(one._parameters.vector, other._parameters.vector)


def test_more_samples_than_there_are_is_one_line(run: Callable[..., Records]) -> None:
    assert run(samples=32).step.tolist() == [0, 2, 4, 6, 8]
    with refused(DataError, "made", 88, 89):
        run(samples=89)


def test_where_no_checkpoint_of_a_finished_run_can_be_written_the_job_goes_on(
    run: Callable[..., Records], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    undisturbed = run()
    shutil.rmtree(tmp_path / "kept")
    (tmp_path / "kept").touch()
    assert same(run(), undisturbed)
    lines = capsys.readouterr().err.splitlines()
    assert all(any(f"run{number}" in line for line in lines) for number in (0, 2))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_training_resumes_to_the_same_bytes(
    run: Callable[..., Records], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    undisturbed = run()
    shutil.rmtree(tmp_path / "kept")
    steps = 0

    def counted(one: TrainingRun) -> int:
        nonlocal steps
        steps += 1
        if steps == 30:  # in the second run
            signal.raise_signal(number)
        return advance(one)

    advance = TrainingRun.advance
    monkeypatch.setattr(TrainingRun, "advance", counted)
    with pytest.raises(Interrupted):
        run()
    assert same(run(), undisturbed)
    assert steps == 2 * 24


def test_a_training_that_goes_on_elsewhere_says_which_machine_did_which_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another number of threads stands for another machine: both may change the last digits."""
    monkeypatch.setattr(Fetch, "image_set", lambda _: IMAGES, raising=False)
    advance, steps, here = TrainingRun.advance, 0, torch.get_num_threads()

    def stopped(one: TrainingRun) -> int:
        nonlocal steps
        steps += 1
        if steps == 9:
            signal.raise_signal(signal.SIGTERM)
        return advance(one)

    with monkeypatch.context() as patched:
        patched.setattr(TrainingRun, "advance", stopped)
        with pytest.raises(Interrupted):
            job().run(work(tmp_path))
    torch.set_num_threads(here + 1)
    try:
        second = work(tmp_path)
        job().run(second)
    finally:
        torch.set_num_threads(here)
    parts = second.record["parts"]
    assert [(part["from epoch"], part["threads"]) for part in parts["run 0"]] == [(0, here), (1.5, here + 1)]
    assert [(part["from epoch"], part["threads"]) for part in parts["run 2"]] == [(0, here + 1)]


# Long enough to be killed many times; batch norm, order, augmentation, momentum and sums are all in its state.
# The other's batches run on across epochs: of 88 images, each epoch has five and a half.
LONG = [replace(RECIPE, length=30, evaluations=5), replace(STEPS, length=180, milestones=(120,), evaluations=5)]


def long_training(folder: Path, images: ImageSet, recipe: Recipe) -> None:
    """In a process of its own."""
    torch.set_num_threads(1)
    folder.mkdir(exist_ok=True)
    (folder / "started").touch()
    Fetch.image_set = lambda _: images  # type: ignore[method-assign, assignment]
    made = job(recipe=recipe).run(work(folder, Execution(checkpoint_seconds=0.02)))
    save_arrays(folder / "records.npz", made["records.npz"])


@pytest.mark.parametrize("wanted", [3, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("recipe", LONG, ids=["epochs", "steps"])
def test_killed_again_and_again_it_ends_with_the_same_bytes(recipe: Recipe, wanted: int, tmp_path: Path) -> None:
    processes, chance = forked.forks(), random.Random(1)
    kills = resumed = 0

    def started(folder: Path) -> multiprocessing.process.BaseProcess:
        (folder / "started").unlink(missing_ok=True)
        process = processes.Process(target=long_training, args=(folder, IMAGES, recipe))
        process.start()
        while not (folder / "started").exists():  # imports take longer than the training on a busy machine
            time.sleep(0.002)
        return process

    undisturbed = started(tmp_path / "alone")
    before = time.monotonic()
    undisturbed.join()
    longest = time.monotonic() - before
    expected = (tmp_path / "alone" / "records.npz").read_bytes()
    folder, lives = tmp_path / "killed", 0
    while kills < wanted or not (folder / "records.npz").exists():
        process = started(folder)
        process.join(chance.uniform(0, longest / 2) if kills < wanted else None)
        if process.is_alive():
            process.kill()
            kills += 1
            resumed += (folder / "kept").exists()
        process.join()
        if (folder / "records.npz").exists():
            assert (folder / "records.npz").read_bytes() == expected
            lives += 1
            if kills < wanted:
                shutil.rmtree(folder)
    assert lives >= 1
    assert resumed >= wanted // 3


GPU_FAULTS = [
    (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate"), "memory is too small"),
    (RuntimeError("CUDA error: unspecified launch failure\nCUDA kernel errors might be"), "unspecified launch failure"),
    (RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"), "EXECUTION_FAILED"),
    (RuntimeError("GET was unable to find an engine to execute this computation"), "unable to find an engine"),
]


@pytest.mark.parametrize(("fault", "fact"), GPU_FAULTS)
def test_a_fault_of_the_gpu_is_one_line(fault: RuntimeError, fact: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, stand_in in (("Stream", object), ("synchronize", lambda: None), ("stream", nullcontext)):
        monkeypatch.setattr(torch.cuda, name, stand_in)
    before = torch.are_deterministic_algorithms_enabled()
    with refused(MachineError, fact), deterministic("cuda"):
        raise fault
    # A fault of our own keeps its traceback.
    with pytest.raises(RuntimeError, match="shapes"), deterministic("cuda"):
        raise RuntimeError("shapes differ")
    assert torch.are_deterministic_algorithms_enabled() == before
