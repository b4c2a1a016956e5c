"""A tanh network with two hidden layers, the loss of several runs at once, and its largest Hessian eigenvalue."""

from itertools import pairwise

import numpy as np
import torch
from torch.nn.functional import one_hot, pad


class Network:
    """Images, one-hot labels and shapes of the layers. Weights are one matrix, with a row a run."""

    def __init__(self, images, labels, width, device):
        pixels = torch.tensor(images.reshape(len(images), -1) / 255, dtype=torch.float32, device=device)
        self.images = pixels - pixels.mean(dim=0)
        self.targets = one_hot(torch.tensor(labels, dtype=torch.int64, device=device)).float()
        sizes = [pixels.shape[1], width, width, self.targets.shape[1]]
        self.shapes = [(inputs + 1, outputs) for inputs, outputs in pairwise(sizes)]

    def initial(self, gain, seed, runs):
        bounds = np.concatenate([np.full(i * o, gain / np.sqrt(i)) for i, o in self.shapes])
        return np.float32([bounds * np.random.default_rng((seed, run)).uniform(-1, 1, len(bounds)) for run in runs])

    def losses(self, weights):
        hidden = self.images
        for layer, part in enumerate(weights.split([i * o for i, o in self.shapes], dim=1)):
            hidden = pad(hidden.tanh() if layer else hidden, (0, 1), value=1.0) @ part.view(-1, *self.shapes[layer])
        return (hidden - self.targets).square().sum(dim=2).mean(dim=1) / 2

    def gradient(self, weights, again=False):
        losses = self.losses(weights)
        return losses, torch.autograd.grad(losses.sum(), weights, create_graph=again)[0]

    def sharpness(self, weights, vector, iterations):
        """The eigenvalue by power iteration from a vector, and the vector to begin with the next time."""
        _, gradient = self.gradient(weights, again=True)
        for _ in range(iterations):
            unit = vector / vector.norm(dim=1, keepdim=True)
            (vector,) = torch.autograd.grad(gradient, weights, unit, retain_graph=True)
        return (unit * vector).sum(dim=1), vector
