"""Wall time and peak memory of a whole command, all its processes together.

python benchmarks/whole_run.py snakemake --cores all

Memory is the sum of the processes' proportional set sizes (shared pages counted once), sampled twice a second.
"""

import subprocess
import sys
import time

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
    """Run the command, print its seconds and peak, and return its exit status."""
    start, peak = time.perf_counter(), 0
    command = subprocess.Popen(sys.argv[1:])
    root = psutil.Process(command.pid)
    while command.poll() is None:
        try:
            peak = max(peak, memory_of_tree(root))
        except psutil.NoSuchProcess:
            break
        time.sleep(SECONDS_BETWEEN_SAMPLES)
    status = command.wait()
    print(f"{' '.join(sys.argv[1:])}: {time.perf_counter() - start:.1f} s, peak {peak / 2**30:.2f} GiB, exit {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
