"""One Hessian with its statistics against torch.func.hessian on the 60 000 samples and torch.linalg.eigvalsh.

python -m benchmarks.hessian_spectrum [--threads N] [--columns N]

2-shortcut network, depth 16, N = 1600. torch.func.hessian is a vmap of Hessian-vector products over the N unit
vectors; whole, it would need over a hundred GiB. It is timed on a few columns, in the chunks that run quickest of
those tried, and scaled to N; the eigenvalues are added once.
"""

import argparse

import torch
from benchmarks.common import by_turns, machine, whitened_mnist

from residual.demystifying_resnet import plain
from residual.demystifying_resnet.networks.hessians import hessians, lower_hessians, spectra_along
from residual.demystifying_resnet.networks.network import Network
from residual.demystifying_resnet.training.ensemble import initial_weights

ROUNDS = 5


def main() -> None:
    """Print the seconds of each part and the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--columns", type=int, default=8)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    whitened, moments = whitened_mnist()
    inputs, targets = torch.from_numpy(whitened.inputs), torch.from_numpy(whitened.targets)
    network = Network(2, 16, 10)
    weights = initial_weights(network, "xavier", 1.0, 1, 1)
    hessian = hessians(weights, network, moments)[0]
    gradient = torch.func.grad(lambda at: plain.loss(at, inputs, targets, 2))
    basis = torch.eye(network.parameters, dtype=torch.float64).view(-1, *weights[:, 0].shape)

    def columns(chunk: int) -> torch.Tensor:
        def product(vector: torch.Tensor) -> torch.Tensor:
            return torch.func.jvp(gradient, (weights[:, 0],), (vector,))[1]

        return torch.func.vmap(product, chunk_size=chunk)(basis[: arguments.columns])

    # The right columns: parameters are ordered by row here, by column in ours.
    row_major = torch.arange(network.parameters).view(-1, 10, 10).mT.reshape(-1)
    expected = hessian[torch.argsort(row_major)[: arguments.columns]][:, torch.argsort(row_major)]
    found = columns(1).reshape(arguments.columns, -1)
    assert (found - expected).norm() <= 1e-10 * expected.norm(), "both must answer the same question"

    seconds = by_turns(
        ROUNDS,
        ours=lambda: spectra_along([weights], network, moments),
        assembly=lambda: lower_hessians(weights, network, moments),
        eigenvalues=lambda: torch.linalg.eigvalsh(hessian),
        **{f"chunk_{chunk}": lambda chunk=chunk: columns(chunk) for chunk in (1, 4, 8)},  # type: ignore[misc]
    )
    quickest = min(seconds[f"chunk_{chunk}"] for chunk in (1, 4, 8))
    peer = quickest * network.parameters / arguments.columns + seconds["eigenvalues"]
    print(machine())
    print(f"peer, scaled from {arguments.columns} of {network.parameters} columns: {peer:.1f} s")
    print(f"ours: {seconds['ours']:.3f} s; peer/ours {peer / seconds['ours']:.0f}")
    print(f"of ours, LAPACK's eigenvalues {seconds['eigenvalues'] / seconds['ours']:.0%}, ", end="")
    print(f"assembly {seconds['assembly'] / seconds['ours']:.0%}")


if __name__ == "__main__":
    main()
