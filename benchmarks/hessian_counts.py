"""Statistics of a Hessian's spectrum from counts, against all eigenvalues and against stochastic Lanczos quadrature.

python -m benchmarks.hessian_counts [--threads N] [--depths 16,32,96,1000] [--dense-up-to DEPTH] [--products N]

Four parts, each with time and error:

- along training at depth 16, Hessians at consecutive epochs, ten runs at once: ours against torch.linalg.eigvalsh;
- at initial points of every depth, one Hessian: the same, dense up to a depth;
- curvlinops on the 60 000 samples: products with the Hessian, timed on a few and scaled to what its spectral density
  needs; and the error that the method itself has, with products as exact and cheap as ours;
- the largest eigenvalue by PyHessian and hessian-eigenthings.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np
import torch
from benchmarks.common import machine, whitened_mnist
from curvlinops import HessianLinearOperator
from hessian_eigenthings import HessianOperator, lanczos, supervised_loss
from pyhessian import hessian as pyhessian
from tests.oracle.test_hessians import Residual

from resaudit.data.whiten import Moments, Whitened
from residual.demystifying_resnet.curvature.counts import counted_by
from residual.demystifying_resnet.curvature.products import HessianProduct
from residual.demystifying_resnet.curvature.structured import structured_spectra_along
from residual.demystifying_resnet.networks.gradient_descent import descend
from residual.demystifying_resnet.networks.hessians import spectra_along
from residual.demystifying_resnet.networks.linear import LinearObjective
from residual.demystifying_resnet.networks.network import Network, shortcut_depth_of
from residual.demystifying_resnet.networks.spectra import Spectra
from residual.demystifying_resnet.training.ensemble import initial_weights

# The best learning rates of Figure 7 at depth 16.
NETWORKS = {"2-shortcut": 10**0.5, "orthogonal": 10**-0.75, "xavier": 10**-1.75}
EPOCHS = range(300, 306)
RUNS = 10
QUADRATURE_STEPS = 100
QUADRATURE_VECTORS = 10


def main() -> None:
    """Print all parts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--depths", default="16,32,96,1000")
    parser.add_argument("--dense-up-to", type=int, default=32)
    parser.add_argument("--products", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    whitened, moments = whitened_mnist()
    print(f"{machine()}; counts {counted_by()}")
    for name, rate in NETWORKS.items():
        along_training(name, rate, moments)
    for depth in map(int, arguments.depths.split(",")):
        for name in NETWORKS:
            at_the_start(name, depth, moments, depth <= arguments.dense_up_to)
    quadrature(whitened, moments, arguments.products)
    largest_by_others(whitened, moments)


def initial(name: str, depth: int, runs: int) -> tuple[Network, torch.Tensor]:
    network = Network(shortcut_depth_of(name), depth, 10)
    law = "orthogonal" if name == "orthogonal" else "xavier"
    return network, initial_weights(network, law, 0.01 if network.has_shortcuts else 1.0, 1, runs)


def timed(work: Callable[[], Spectra]) -> tuple[float, Spectra]:
    start = time.perf_counter()
    spectra = work()
    return time.perf_counter() - start, spectra


def along_training(name: str, rate: float, moments: Moments) -> None:
    network, weights = initial(name, 16, RUNS)
    trajectory = descend(
        LinearObjective.of(network, moments, torch.device("cpu")), weights,
        torch.full((RUNS,), rate, dtype=torch.float64), EPOCHS[-1], tuple(EPOCHS), lambda epochs: epochs,
    )  # fmt: skip
    points = list(torch.from_numpy(trajectory.snapshots))
    # The first Hessian of a run is dearer than those that follow it: it is left out of both.
    first, _ = timed(lambda: structured_spectra_along(points[:1], network, moments))
    whole, ours = timed(lambda: structured_spectra_along(points, network, moments))
    peer, dense = timed(lambda: spectra_along(points[-1:], network, moments))
    each = (whole - first) / (len(points) - 1) / RUNS
    report(f"along training, {name}, depth 16", each, peer / RUNS, last(ours), last(dense))


def last(spectra: Spectra) -> Spectra:
    return Spectra(*(np.asarray(value)[-1:] for value in vars(spectra).values()))


def at_the_start(name: str, depth: int, moments: Moments, with_dense: bool) -> None:
    network, weights = initial(name, depth, 1)
    seconds, ours = timed(lambda: structured_spectra_along([weights], network, moments))
    if with_dense:
        peer, dense = timed(lambda: spectra_along([weights], network, moments))
        report(f"initial, {name}, depth {depth}", seconds, peer, ours, dense)
    else:
        print(f"initial, {name}, depth {depth}: {seconds:.3g} s; resolved {ours.resolved.item()}")


def report(what: str, ours: float, peer: float, found: Spectra, dense: Spectra) -> None:
    known = found.resolved & dense.resolved
    error = np.abs(found.lambda_p10 / dense.lambda_p10 - 1)[known].max(initial=0.0)
    print(
        f"{what}: {ours:.3g} s, dense {peer:.3g} s, ratio {peer / ours:.1f}; resolved {found.resolved.mean():.0%}; "
        f"largest relative differences: lambda_max {np.nanmax(np.abs(found.lambda_max / dense.lambda_max - 1)):.1e}, "
        f"lambda_p10 {error:.1e}; difference of the index {np.nanmax(np.abs(found.index - dense.index)):.1e}"
    )


def quadrature(whitened: Whitened, moments: Moments, products: int) -> None:
    """Stochastic Lanczos quadrature, with which curvlinops and PyHessian estimate spectral densities."""
    network, weights = initial("2-shortcut", 16, 1)
    module = Residual(weights[:, 0])
    data = [(torch.from_numpy(whitened.inputs.T.copy()), torch.from_numpy(whitened.targets.T.copy()))]
    operator = HessianLinearOperator(
        module, torch.nn.MSELoss(), list(module.parameters()), data, check_deterministic=False
    )
    vector = torch.randn(network.parameters, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    start = time.perf_counter()
    for _ in range(products):
        operator @ vector
    product = (time.perf_counter() - start) / products
    needed = QUADRATURE_STEPS * QUADRATURE_VECTORS
    print(f"curvlinops: {product:.2f} s a product on 60 000 samples; {needed} for a density: {product * needed:.0f} s")
    for name in NETWORKS:
        network, weights = initial(name, 16, 1)
        _, dense = timed(lambda network=network, weights=weights: spectra_along([weights], network, moments))
        values, shares = nodes(HessianProduct(weights, network, moments), network)
        order = np.argsort(np.abs(values))
        reached = np.cumsum(shares[order]) / shares.sum()
        tenth = np.abs(values)[order][np.searchsorted(reached, 0.1)]
        print(
            f"  its method, exact products, {name}: lambda_p10 {tenth:.3g}, right is {dense.lambda_p10.item():.3g}; "
            f"index {shares[values < 0].sum() / shares.sum():.4f}, right is {dense.index.item():.4f}"
        )


def largest_by_others(whitened: Whitened, moments: Moments) -> None:
    """The largest absolute eigenvalue by PyHessian's power iteration and hessian-eigenthings' Lanczos method."""
    network, weights = initial("2-shortcut", 16, 1)
    seconds, ours = timed(lambda: structured_spectra_along([weights], network, moments))
    print(f"largest eigenvalue: ours {ours.lambda_max.item():.6f}, with all other statistics in {seconds:.2f} s")
    module, mean = Residual(weights[:, 0]), torch.nn.MSELoss()
    data = (torch.from_numpy(whitened.inputs.T.copy()), torch.from_numpy(whitened.targets.T.copy()))
    operator = HessianOperator(module, [data], supervised_loss(mean))
    # Their loss is a mean over the 10 outputs too, and has no 1/2: five times that is ours.
    start = time.perf_counter()
    (value,), _ = pyhessian(module, mean, data=data, cuda=False).eigenvalues(maxIter=100, tol=1e-3, top_n=1)
    print(f"  PyHessian, 100 power iterations at most: {5 * value:.6f} in {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    found = lanczos(operator, k=1, max_iter=60, tol=1e-8, seed=0)
    print(f"  hessian-eigenthings: {5 * found.eigenvalues.item():.6f} in {time.perf_counter() - start:.1f} s")


def nodes(product: HessianProduct, network: Network) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights of the quadrature for the density of eigenvalues, over all start vectors."""
    shape = (network.depth, 1, network.width, network.width)
    generator = torch.Generator().manual_seed(0)
    values, shares = [], []
    for _ in range(QUADRATURE_VECTORS):
        vector = torch.randn(shape, dtype=torch.float64, generator=generator)
        basis = [vector / vector.norm()]
        matrix = np.zeros((QUADRATURE_STEPS, QUADRATURE_STEPS))
        for step in range(QUADRATURE_STEPS):
            image = product(basis[-1])
            for _ in range(2):
                for other, kept in enumerate(basis):
                    part = float((image * kept).sum())
                    image = image - part * kept
                    matrix[other, step] += part
            basis.append(image / image.norm())
        found, vectors = np.linalg.eigh(np.triu(matrix) + np.triu(matrix, 1).T)
        values.append(found)
        shares.append(vectors[0] ** 2)
    return np.concatenate(values), np.concatenate(shares)


if __name__ == "__main__":
    main()
