"""How far final losses of networks with ReLUs travel: trained again with narrower vectors, against those drawn here.

python benchmarks/vector_widths.py 8 4 16      # 8 lanes, depths 4 and 16; after `snakemake --cores all`

Prints, of each network and depth and of all: the share of runs whose final loss is within a relative distance.
"""

import sys

import numpy as np
import torch

from resaudit.composition import load
from resaudit.files import Layout
from resaudit.plan import make_plan
from resaudit.results import load_trajectory, load_whitened
from resaudit.stages import train
from resaudit.training.kernels.native import NativeObjective

DISTANCES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def main(lanes: int, depths: list[int]) -> None:
    """Train every ensemble of Figure 8 of these depths once more, and print the shares."""
    plan = make_plan(load(["figures=[fig08]"]))
    layout = Layout(plan.config.paths)
    whitened, apart = load_whitened(layout, plan.data), []
    for (name, depth), ensemble in plan.figures["demystifying_resnet/fig08"].sweeps.items():
        if depth in depths:
            wide = load_trajectory(layout, ensemble).excess_loss[-1]
            objective = NativeObjective(ensemble.network, whitened, 1, lanes)
            narrow = train(ensemble, objective, ensemble.learning_rates, torch.device("cpu")).excess_loss[-1]
            same = wide == narrow
            apart.append(np.where(same, 0.0, np.abs(narrow - wide) / np.abs(wide)))
            print(f"{name} depth {depth}: {shares(apart[-1])}", flush=True)
    print(f"all: {shares(np.concatenate(apart))}")


def shares(apart: np.ndarray) -> str:
    """Of how many runs the final losses are within each distance; infinities agree with each other only."""
    within = ", ".join(f"{distance:.0e}: {np.mean(apart <= distance):.1%}" for distance in DISTANCES)
    return f"{within} of {len(apart)} runs"


if __name__ == "__main__":
    main(int(sys.argv[1]), [int(depth) for depth in sys.argv[2:]])
