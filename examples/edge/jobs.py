"""Full-batch gradient descent, with the sharpness along it."""

from dataclasses import dataclass, replace

import numpy as np

from resaudit.paper import Checkpoint, Cost, Fetch, Job, Progress


@dataclass(frozen=True)
class Descent:
    """All that later steps depend on, and the curves, infinite where a run has diverged."""

    step: np.ndarray
    weights: np.ndarray
    vector: np.ndarray
    losses: np.ndarray
    sharpness: np.ndarray


@dataclass(frozen=True)
class Descend(Job):
    """A block of runs at one learning rate."""

    kind = "edge_descend"
    files = {"descent.npz": Descent}

    data: Fetch
    samples: int
    width: int
    gain: float
    learning_rate: float
    steps: int
    every: int
    runs: int
    first: int
    seed: int

    def cost(self, execution):
        products = self.runs * self.samples * self.width * (784 + self.width) * self.steps
        return Cost(Cost.START.seconds + 2e-9 * products, Cost.START.megabytes + 300, wants_gpu=True)

    def run(self, work):
        import torch  # here and in network.py alone, since planning needs no torch

        from edge.network import Network

        images, labels = self.data.training_set()
        network = Network(images[: self.samples], labels[: self.samples], self.width, work.device)
        checkpoint = Checkpoint.of(self, work, Descent)
        state = checkpoint.read() or self.start(network)
        weights = torch.tensor(state.weights, device=work.device, requires_grad=True)
        vector = torch.tensor(state.vector, device=work.device)

        def so_far():
            return replace(state, weights=weights.numpy(force=True), vector=vector.numpy(force=True))

        with work.delayed_signals() as signalled:
            for step in Progress.over(range(int(state.step), self.steps), f"{self.id} steps"):
                if step % self.every == 0:
                    value, vector = network.sharpness(weights, vector, self.every if step else 100)
                    state.sharpness[step // self.every] = np.nan_to_num(value.numpy(force=True), nan=np.inf)
                losses, gradient = network.gradient(weights)
                state.losses[step] = np.nan_to_num(losses.numpy(force=True), nan=np.inf)
                weights.data -= self.learning_rate * gradient
                state.step[...] = step + 1
                checkpoint.keep(so_far, signalled())
        return {"descent.npz": so_far()}

    def start(self, network):
        weights = network.initial(self.gain, self.seed, range(self.first, self.first + self.runs))
        losses = np.full((self.steps, self.runs), np.inf)
        return Descent(np.array(0), weights, np.ones_like(weights), losses, losses[:: self.every].copy())
