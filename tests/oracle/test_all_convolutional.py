"""Oracles of Table 1's network: counting by hand from the table, and the network written out with plain loops.

They see a block, stride or channel too many, a bias, a trained projection, TensorFlow's padding on the wrong side, a
shortcut padded on one side, and weights of another size.
"""

import numpy as np
import pytest
import torch

from residual.identity_matters.jobs.count import count_layers
from residual.images.networks.all_convolutional import AllConvolutionalNetwork, SameConvolution
from residual.images.networks.residual import build, draw
from residual.images.setting import AllConvolutional, Architecture

CIFAR = Architecture(3, 16, 3, 1, 3, ((64, 9, 1), (128, 9, 2), (256, 9, 2)), 10)
SMALL = Architecture(3, 4, 3, 1, 3, ((6, 1, 1), (9, 2, 2)), 5)


def test_the_count_is_the_tables() -> None:
    found = count_layers(CIFAR)
    by_hand = [3 * 3 * 3 * 16]
    for inputs, outputs in ((16, 64), (64, 128), (128, 256)):
        by_hand += [9 * inputs * outputs] + 17 * [9 * outputs * outputs]
    assert found.weights.tolist() == by_hand
    assert len(by_hand) == 55
    assert int(found.trainable) == sum(by_hand) == 13_538_736
    assert found.stride.sum() == 55 + 2


def convolve(x: np.ndarray, weight: np.ndarray, stride: int) -> np.ndarray:
    """One image, shape (channels, size, size), by loops; TensorFlow's SAME."""
    kernel, size = weight.shape[-1], x.shape[1]
    out = -(-size // stride)
    before = max(0, (out - 1) * stride + kernel - size) // 2
    wide = np.zeros((x.shape[0], size + 2 * kernel, size + 2 * kernel))
    wide[:, before : before + size, before : before + size] = x
    y = np.zeros((len(weight), out, out))
    for i in range(out):
        for j in range(out):
            part = wide[:, i * stride : i * stride + kernel, j * stride : j * stride + kernel]
            y[:, i, j] = [(part * one).sum() for one in weight]
    return y


@pytest.mark.parametrize("size", [8, 7])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("kernel", [3, 5])
def test_a_convolution_pads_as_tensorflow_does(size: int, stride: int, kernel: int) -> None:
    layer = SameConvolution(3, 4, stride, kernel, 1.0).double()
    layer.draw(np.random.default_rng(1))
    x = torch.randn(1, 3, size, size, dtype=torch.float64)
    expected = convolve(x[0].numpy(), layer.weight.detach().numpy(), stride)
    np.testing.assert_allclose(layer(x)[0].detach(), expected, atol=1e-12)


def test_the_network_is_its_description() -> None:
    network = AllConvolutionalNetwork(SMALL, AllConvolutional()).double()
    draw(network, 1)
    x = torch.randn(2, 3, 8, 8, dtype=torch.float64)
    for image, scores in zip(x.numpy(), network(x).detach().numpy(), strict=True):
        weights = [p.detach().numpy() for p in network.parameters()]
        h = convolve(image, weights[0], 1)
        for first, second, stride in zip(weights[1::2], weights[2::2], (1, 2, 1), strict=True):
            c, size = h.shape[0], h.shape[1] // stride
            shortcut = np.zeros((len(second), size, size))
            start = (len(second) - c) // 2
            pooled = h.reshape(c, size, stride, size, stride).mean(axis=(2, 4))
            shortcut[start : start + c] = pooled
            h = shortcut + convolve(np.maximum(convolve(h, first, stride), 0), second, 1)
        np.testing.assert_allclose(scores, h.mean(axis=(1, 2)) @ network.last.weight.numpy(), atol=1e-12)


def test_weights_are_small_and_the_projection_is_not_trained() -> None:
    network = build(AllConvolutional(), 3, 10, 1)
    last = network.stage3.block9.conv2.weight.detach()
    assert float(last.std()) == pytest.approx(1 / (9 * 256), rel=0.01)
    assert "last.weight" not in dict(network.named_parameters())
    assert float(network.last.weight.std()) == pytest.approx(1 / 16, rel=0.05)
    with torch.no_grad():
        scores = network(torch.randn(1, 3, 32, 32))
    assert scores.shape == (1, 10)
    assert torch.isfinite(scores).all()
