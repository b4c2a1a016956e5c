"""Wall and CPU time and peak memory of a whole command, all its processes together, and when it drew its figures.

python benchmarks/whole_run.py snakemake --cores all

Memory is the sum of the processes' proportional set sizes (shared pages counted once), sampled twice a second.
"""

import resource
import subprocess
import sys
import time
from pathlib import Path

import psutil

SECONDS_BETWEEN_SAMPLES = 0.5


def memory_of_tree(root: psutil.Process) -> int:
    """Return the bytes that a process and all below it hold now."""
    total = 0
    for process in [root, *root.children(recursive=True)]:
        try:
            total += process.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue  # it ended between being listed and being asked
    return total


def main() -> int:
    """Run the command, print its seconds, its peak and when figures were drawn, and return its exit status."""
    start, peak = time.time(), 0
    command = subprocess.Popen(sys.argv[1:])
    root = psutil.Process(command.pid)
    while command.poll() is None:
        try:
            peak = max(peak, memory_of_tree(root))
        except psutil.NoSuchProcess:
            break
        time.sleep(SECONDS_BETWEEN_SAMPLES)
    status = command.wait()
    spent, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.time() - start
    times = f"{wall:.1f} s, CPU {spent.ru_utime + spent.ru_stime:.1f} s"
    print(f"{' '.join(sys.argv[1:])}: {times}, peak {peak / 2**30:.2f} GiB, exit {status}")
    drawn = sorted(file.stat().st_mtime - start for file in Path("figures").glob("*/*.png"))
    print("minutes to each figure:", *(f"{seconds / 60:.1f}" for seconds in drawn if seconds > 0))
    return status


if __name__ == "__main__":
    sys.exit(main())
