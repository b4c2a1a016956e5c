"""Oracles of the networks for images: plain functional twins in NCHW, trained beside them for 20 steps of SGD.

They see another order of layers, a missing normalization before a shortcut, zeros on the wrong side of the channels,
statistics over other images, a wrong tau or another gradient of it, TensorFlow's padding on the wrong side, and any
in-place step that spoils a gradient. Each twin is written from its paper's facts alone, and has no layer of ours.
"""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, cross_entropy, pad

from residual.identity_matters import plain
from residual.images.networks import all_convolutional, layers, residual
from residual.images.networks.residual import build
from residual.images.setting import AllConvolutional, Network, PostActivation, PreActivation

Weights = dict[str, torch.Tensor]
Twin = Callable[[Network, Weights, torch.Tensor, bool], torch.Tensor]

STEPS, MOMENTUM, DECAY, CLASSES, BATCH, SIZE = 20, 0.9, 1e-3, 7, 6, 8
FEW = 10  # what differs, does so soon
# In float32, rounding moves some ReLU over its kink every few steps, and training at a usual rate amplifies that.
RATE = {torch.float32: 1e-4, torch.float64: 0.05}


def normalise(x: torch.Tensor, w: Weights, name: str, training: bool, groups: int = 1) -> torch.Tensor:
    """Batch norm written out; each of ``groups`` parts of the batch by itself, the first moves the running values."""
    if not training:
        mean, variance = w[f"{name}.running_mean"], w[f"{name}.running_variance"]
        z = (x - mean[:, None, None]) / (variance[:, None, None] + 1e-5).sqrt()
        return z * w[f"{name}.weight"][:, None, None] + w[f"{name}.bias"][:, None, None]
    size = -(-len(x) // groups)
    parts = []
    for part in (x[k : k + size] for k in range(0, len(x), size)):
        n = part[:, 0].numel()
        mean = part.sum((0, 2, 3)) / n
        variance = ((part - mean[:, None, None]) ** 2).sum((0, 2, 3)) / n
        parts.append((part - mean[:, None, None]) / (variance[:, None, None] + 1e-5).sqrt())
        if len(parts) == 1:
            for value, new in (("mean", mean), ("variance", variance * n / (n - 1))):
                w[f"{name}.running_{value}"] = 0.9 * w[f"{name}.running_{value}"] + 0.1 * new.detach()
    return torch.cat(parts) * w[f"{name}.weight"][:, None, None] + w[f"{name}.bias"][:, None, None]


def zeros_after(x: torch.Tensor, channels: int, stride: int) -> torch.Tensor:
    """He et al.'s option A."""
    x = x[:, :, ::stride, ::stride]
    return torch.cat([x, torch.zeros(len(x), channels - x.shape[1], *x.shape[2:], dtype=x.dtype)], 1)


def convolve(x: torch.Tensor, weight: torch.Tensor, stride: int = 1) -> torch.Tensor:
    return conv2d(pad(x, (1, 1, 1, 1)), weight, stride=stride)


def average(x: torch.Tensor) -> torch.Tensor:
    return x.flatten(2).mean(2)


def preactivated(setting: PreActivation, w: Weights, x: torch.Tensor, training: bool) -> torch.Tensor:
    """fb.resnet.torch's preresnet.lua with blocks of n convolutions."""
    groups = -(-len(x) // setting.statistics)
    x = convolve(x, w["first.weight"])
    for stage, channels in enumerate((16, 32, 64), 1):
        for block in range(1, (setting.depth - 2) // setting.shortcut_depth // 3 + 1):
            at = f"stage{stage}.block{block}"
            stride = 2 if block == 1 and stage > 1 else 1
            h = torch.relu(normalise(x, w, f"{at}.norm1", training, groups))
            shortcut = zeros_after(h if block == 1 else x, channels, stride)
            h = convolve(h, w[f"{at}.conv1.weight"], stride)
            for k in range(2, setting.shortcut_depth + 1):
                h = torch.relu(normalise(h, w, f"{at}.norm{k}", training, groups))
                h = convolve(h, w[f"{at}.conv{k}.weight"])
            x = shortcut + h
    return average(torch.relu(normalise(x, w, "norm", training, groups))) @ w["last.weight"].T + w["last.bias"]


def postactivated(setting: PostActivation, w: Weights, x: torch.Tensor, training: bool) -> torch.Tensor:
    """He et al.'s network as stable_scaling's code has it: BN on the subsampled shortcut, or four biases a block."""
    each = (setting.depth - 2) // 6
    tau = w["tau"] if setting.learnable else (3 * each) ** -setting.power if setting.power is not None else 1
    x = convolve(x, w["first.weight"])
    x = torch.relu(normalise(x, w, "norm", training) if setting.batch_norm else x)
    for stage, channels in enumerate((16, 32, 64), 1):
        for block in range(1, each + 1):
            at, stride = f"stage{stage}.block{block}", 2 if block == 1 and stage > 1 else 1
            first, second = w[f"{at}.conv1.weight"], w[f"{at}.conv2.weight"]
            shortcut = x[:, :, ::stride, ::stride]
            if setting.batch_norm:
                h = torch.relu(normalise(convolve(x, first, stride), w, f"{at}.norm1", training))
                h = normalise(convolve(h, second), w, f"{at}.norm2", training)
                if stride == 2:
                    shortcut = normalise(shortcut, w, f"{at}.norm_shortcut", training)
            else:
                h = torch.relu(convolve(x + w[f"{at}.before1"], first, stride) + w[f"{at}.after1"])
                h = convolve(h + w[f"{at}.before2"], second) + w[f"{at}.after2"]
            x = torch.relu(zeros_after(shortcut, channels, 1) + tau * h)
    return average(x) @ w["last.weight"].T + w["last.bias"]


def all_convolved(setting: AllConvolutional, w: Weights, x: torch.Tensor, _: bool) -> torch.Tensor:
    *kernels, last = w.values()
    return plain.all_conv(kernels, last, x, setting.leak, setting.last_relu)


CASES: list[tuple[Network, Twin]] = [
    (PreActivation(14), preactivated),
    (PreActivation(8, 1), preactivated),
    (PreActivation(11, 3), preactivated),
    (PreActivation(14, 2, statistics=4), preactivated),
    (PreActivation(14, 4), preactivated),
    (PostActivation(14, batch_norm=True, power=None), postactivated),
    (PostActivation(14, batch_norm=True, power=0.5), postactivated),
    (PostActivation(14, batch_norm=False, power=None), postactivated),
    (PostActivation(14, batch_norm=False, power=0.25), postactivated),
    (PostActivation(14, batch_norm=False, power=0.5, learnable=True), postactivated),
    (AllConvolutional(blocks=1), all_convolved),
    (AllConvolutional(blocks=2, small=False, projection="normal", leak=0.1), all_convolved),
    (AllConvolutional(blocks=1, small=False, projection="trained"), all_convolved),
    (AllConvolutional(blocks=1, last_relu=True), all_convolved),
    (AllConvolutional(blocks=1, leak=0.1, last_relu=True), all_convolved),
]


def batches(dtype: torch.dtype, steps: int = 1) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The fifth is smaller, as the last of an epoch."""
    draw = torch.Generator().manual_seed(5)
    sizes = [BATCH - 1 if k == 4 else BATCH for k in range(steps)]
    return [
        (torch.randn(n, 3, SIZE, SIZE, generator=draw, dtype=torch.float64).to(dtype),
         torch.randint(CLASSES, (n,), generator=draw))
        for n in sizes
    ]  # fmt: skip


def trained(network: nn.Module, dtype: torch.dtype, steps: int) -> tuple[torch.Tensor, Weights, torch.Tensor]:
    """Losses, the state after the last step, and scores in evaluation mode; by PyTorch's optimizer, channels last."""
    rates = {name: RATE[dtype] * network.rate_factors.get(name, 1) for name, _ in network.named_parameters()}
    groups = [{"params": [p], "lr": rates[name]} for name, p in network.named_parameters()]
    optimizer = torch.optim.SGD(groups, momentum=MOMENTUM, weight_decay=DECAY)
    losses = []
    for x, y in batches(dtype, steps):
        optimizer.zero_grad()
        loss = cross_entropy(network(x.contiguous(memory_format=torch.channels_last)), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    network.eval()
    with torch.no_grad():
        return torch.stack(losses), network.state_dict(), network(batches(dtype)[0][0])


def trained_twin(
    twin: Twin, setting: Network, w: Weights, trainable: list[str], dtype: torch.dtype, steps: int
) -> tuple[torch.Tensor, Weights, torch.Tensor]:
    """The same by the twin, with SGD written out. Tau's gradient is a mean over blocks, its rate a tenth."""
    velocity = {name: torch.zeros_like(w[name]) for name in trainable}
    losses = []
    for x, y in batches(dtype, steps):
        leaves = {name: w[name].requires_grad_() for name in trainable}
        loss = cross_entropy(twin(setting, w, x, True), y)
        gradients = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values())), strict=True))
        for name, value in leaves.items():
            blocks = (setting.depth - 2) // 2 if name == "tau" else 1
            slow = name == "tau" or "before" in name or "after" in name
            velocity[name] = MOMENTUM * velocity[name] + gradients[name] / blocks + DECAY * value.detach()
            w[name] = value.detach() - (0.1 if slow else 1) * RATE[dtype] * velocity[name]
        losses.append(loss.detach())
    return torch.stack(losses), w, twin(setting, w, batches(dtype)[0][0], False)


def differences(
    setting: Network, twin: Twin, dtype: torch.dtype = torch.float64, twins: Network | None = None, steps: int = STEPS
) -> dict[str, float]:
    """Relative differences: of the losses, of all parameters, of each tensor, of the scores in evaluation mode.

    ``twins`` is the twin's setting, if it is another.
    """
    network = build(setting, 3, CLASSES, 5).to(dtype, memory_format=torch.channels_last)
    w = {name: value.clone().contiguous() for name, value in network.state_dict().items()}
    names = [name for name, _ in network.named_parameters()]
    losses, state, scores = trained(network, dtype, steps)
    expected_losses, expected, expected_scores = trained_twin(twin, twins or setting, w, names, dtype, steps)
    pairs = {name: (state[name], expected[name]) for name in state}
    pairs |= {"losses": (losses, expected_losses), "scores": (scores, expected_scores)}
    both = [torch.cat([some[name].flatten() for name in names]) for some in (state, expected)]
    return {name: float((a - b).norm() / b.norm()) for name, (a, b) in (pairs | {"parameters": both}).items()}


every_case = pytest.mark.parametrize(("setting", "twin"), CASES, ids=[str(setting) for setting, _ in CASES])


@every_case
def test_twenty_steps_are_the_twins(setting: Network, twin: Twin) -> None:
    found = differences(setting, twin)
    assert {name: value for name, value in found.items() if not value < 1e-10} == {}


@every_case
def test_twenty_steps_in_single_precision_are_the_twins(setting: Network, twin: Twin) -> None:
    found = differences(setting, twin, torch.float32)
    assert found["losses"] < 1e-5
    assert found["parameters"] < 1e-5


@pytest.mark.parametrize(
    ("setting", "twins"),
    [
        (PostActivation(14, True, 0.5), PostActivation(14, True, 0.25)),
        (PostActivation(14, False, None), PostActivation(14, False, 0.5)),
        (PreActivation(14), PreActivation(14, statistics=4)),
        (AllConvolutional(1), AllConvolutional(1, leak=0.1)),
        (AllConvolutional(1), AllConvolutional(1, last_relu=True)),
    ],
)
def test_another_setting_is_not_the_twins(setting: Network, twins: Network) -> None:
    twin = next(twin for case, twin in CASES if case.family == setting.family)
    assert differences(setting, twin, twins=twins, steps=FEW)["losses"] > 1e-6


def zeros_before(x: torch.Tensor, channels: int) -> torch.Tensor:
    return pad(x, (0, 0, 0, 0, channels - x.shape[1], 0))


def sabotage(wrong: str, patch: pytest.MonkeyPatch) -> Network:
    """Break a network; returns its setting."""
    match wrong:
        case "shortcut before batch norm and ReLU":
            made = residual.Block
            patch.setattr(residual, "Block", lambda *at, setting: made(*at[:3], False, setting=setting))
        case "zeros before, pre-activation" | "zeros before, post-activation":
            patch.setattr(residual, "widen", zeros_before)
            return PreActivation(14) if wrong.endswith("pre-activation") else PostActivation(14, True, 0.5)
        case "tau's gradient a sum":
            patch.setattr(residual.PostActivationNetwork, "shared_tau", lambda network: network.tau)
            return PostActivation(14, False, 0.5, learnable=True)
        case "padding on every side":
            patch.setattr(all_convolutional.SameConvolution, "forward", layers.Convolution.forward)
            return AllConvolutional(1)
    return PreActivation(14)


@pytest.mark.parametrize(
    "wrong",
    [
        "shortcut before batch norm and ReLU",
        "zeros before, pre-activation",
        "zeros before, post-activation",
        "tau's gradient a sum",
        "padding on every side",
    ],
)
def test_a_broken_network_is_not_the_twins(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    setting = sabotage(wrong, monkeypatch)
    twin = next(twin for case, twin in CASES if case.family == setting.family)
    assert differences(setting, twin, steps=FEW)["losses"] > 1e-6


@pytest.mark.parametrize("setting", [setting for setting, _ in CASES], ids=str)
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")
def test_a_gpu_gives_the_same_scores_and_gradients(setting: Network) -> None:
    x, y = batches(torch.float64)[0]
    found = []
    for device in ("cpu", "cuda"):
        network = build(setting, 3, CLASSES, 5).to(device, torch.float64, memory_format=torch.channels_last)
        scores = network(x.to(device, memory_format=torch.channels_last))
        gradients = torch.autograd.grad(cross_entropy(scores, y.to(device)), list(network.parameters()))
        found.append([scores.detach().cpu(), *(one.cpu() for one in gradients)])
    for here, there in zip(*found, strict=True):
        torch.testing.assert_close(there, here, rtol=1e-9, atol=1e-12)
