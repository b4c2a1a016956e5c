"""Theorem 3.2's network run as here against a plain layer-by-layer forward pass, in double precision, two labellings.

Also the share of the machine's peak, which is measured in the same run as products of the layers' size.
``python -m benchmarks.expressivity [POINTS] [ROUNDS] [single]``; the default is 12 000 points and 3 rounds.
"""

import sys

import torch
from benchmarks.common import by_turns, machine

from residual.identity_matters import plain
from residual.identity_matters.relu.measured import DOUBLE, ROWS, SINGLE
from residual.identity_matters.relu.network import Network, random_labels, random_points, run, surrogates

WIDTH, CLASSES, RHO = 784, 10, 0.05


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 12_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    precision = SINGLE if "single" in sys.argv else DOUBLE
    dtype = torch.float32 if precision == SINGLE else torch.float64
    made = random_points(n, WIDTH, 1), surrogates(CLASSES, WIDTH, 1)
    moved, q = (torch.from_numpy(each).to(dtype) for each in made)
    network = Network(moved, q, 1 - 2 * RHO)
    labellings = [torch.from_numpy(random_labels(n, CLASSES, seed)) for seed in (1, 2)]
    layers = network.layers
    seconds = by_turns(
        rounds,
        product=lambda: [moved[:ROWS] @ network.block(1).T for _ in range(20)],
        ours=lambda: run(network, labellings),
        plain=lambda: [plain.memorize(moved, labels, q, RHO) for labels in labellings],
    )
    peak = 20 * 2 * ROWS * WIDTH**2 / seconds["product"]
    # Half of the points' ways are shared by both labellings, and no block's second product is needed where it is 0.
    products = 1.5 * 2 * n * WIDTH**2 * layers
    print(f"{machine()}, {precision} precision, n = {n}, k = {WIDTH}, {layers} layers, {len(labellings)} labellings")
    print("| points | plain | ours | ratio | peak of products | share of it |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {n} | {seconds['plain']:.2f} s | {seconds['ours']:.2f} s | {seconds['plain'] / seconds['ours']:.1f} | "
        f"{peak / 1e9:.0f} GFLOP/s | {products / seconds['ours'] / peak:.0%} |"
    )
    same = torch.allclose(run(network, labellings)[0].outputs, plain.memorize(moved, labellings[0], q, RHO), atol=1e-3)
    print(f"same outputs: {same}")


if __name__ == "__main__":
    main()
