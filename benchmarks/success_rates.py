"""Success rates by the exact map of three numbers, all runs at once, against full vectors run by run.

Both stop a run once its outcome is certain. ``python benchmarks/success_rates.py [RUNS_OF_THE_PEER]``
"""

import sys
import time

import numpy as np

from resaudit.plan.composition import load
from residual.shortcut_importance.proposition import angle_between, gradients
from residual.shortcut_importance.simulation import (
    CNN,
    RESNET,
    STEPS_BETWEEN_DECISIONS,
    UNDECIDED,
    Setting,
    by_run,
    decided,
    outcomes,
    starts,
)


def run_by_run(setting: Setting, start: np.ndarray) -> list[int]:
    """The outcome of every run, with v and a as vectors."""
    k, found = setting.patches, []
    one, other, third = np.linalg.qr(np.column_stack([np.ones(k), np.arange(k), np.arange(k) ** 2]))[0].T
    one = one * np.sign(one[0])
    a_star = setting.total / k**0.5 * one + setting.across * other
    v_star = np.eye(setting.filter_size)[0]
    for phi, total, across, rest in start.T:
        v = np.cos(phi) * v_star + np.sin(phi) * np.eye(setting.filter_size)[1]
        a = total / k**0.5 * one + across * other + rest * third
        for step in range(setting.cap):
            if step % STEPS_BETWEEN_DECISIONS == 0:
                state = np.array([[angle_between(v, v_star)], [a.sum()], [a @ other], [0.0]])
                outcome = int(decided(state, setting)[0])
                if outcome != UNDECIDED:
                    break
            by_v, by_a = gradients(v, a, v_star, a_star)
            v, a = v - setting.step * by_v, a - setting.step * by_a
            v /= np.linalg.norm(v)
        found.append(outcome)
    return found


def main() -> None:
    few = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    protocol = load(["scale=paper"], only=["shortcut_importance/table1"]).figure["shortcut_importance/table1"].protocol
    print("| network | k | full vectors, ms a run | reduced, ms a run | ratio | same outcomes |")
    print("|---|---|---|---|---|---|")
    for network in (RESNET, CNN):
        for k in (16, 100):
            setting = protocol.world.setting(network, k)
            start = starts(network, "ball", setting, 1, protocol.runs)
            began = time.perf_counter()
            slow = run_by_run(setting, start[:, :few])
            between = time.perf_counter()
            fast = outcomes(start, by_run([setting], protocol.runs))
            each = (between - began) / few * 1e3, (time.perf_counter() - between) / protocol.runs * 1e3
            same = int((fast[:few] == slow).sum())
            print(f"| {network} | {k} | {each[0]:.2f} | {each[1]:.5f} | {each[0] / each[1]:.0f} | {same} of {few} |")


if __name__ == "__main__":
    main()
