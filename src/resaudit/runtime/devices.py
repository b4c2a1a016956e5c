"""Whether torch can use CUDA here, and a device for each process, which Snakemake does not assign.

Imports nothing heavy; call it before torch initialises CUDA.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import MutableMapping
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path

from resaudit.base.errors import MachineError
from resaudit.runtime.locks import hold

SECONDS_TO_ANSWER = 60.0
VISIBLE = "CUDA_VISIBLE_DEVICES"
_ASKED = """
import sys, torch
if not torch.cuda.is_available():
    sys.exit(1)
try:
    torch.ones(2, device="cuda").tolist()
except RuntimeError as error:
    print(str(error).partition("\\n")[0])
    sys.exit(1)
"""
"""For lack of kernels torch fails only when it computes."""


def claim_device(
    environment: MutableMapping[str, str] = os.environ, folder: Path | None = None, nodes: Path = Path("/dev")
) -> str | None:
    """Claim a device with the fewest claims, and let CUDA see only that one.

    A claim is an operating-system lock, held until this process ends. Nothing here bounds how many processes share a
    device: Snakemake starts as many as its resource ``gpu`` allows. It chooses only among ``CUDA_VISIBLE_DEVICES``, as
    a scheduler set it; claims in one Slurm job do not count in another, since Slurm may number each job's devices from
    0.

    Args:
        environment: variables, of which ``CUDA_VISIBLE_DEVICES`` is read and set.
        folder: folder of the locks; None: one per user in the temporary folder.
        nodes: folder of the device nodes, counted if ``CUDA_VISIBLE_DEVICES`` is not set.

    Returns:
        The device as ``CUDA_VISIBLE_DEVICES`` names it; None without devices.
    """
    devices = visible_devices(environment, nodes)
    if not devices:
        return None
    if folder is None:
        job = environment.get("SLURM_JOB_ID")
        folder = Path(tempfile.gettempdir()) / f"resaudit-devices-{os.getuid()}{f'-slurm-{job}' if job else ''}"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise MachineError(
                f"cannot make {folder} for locks: {error.strerror}; set TMPDIR to another folder"
            ) from error
    claims = 0
    while True:
        for device in devices:
            try:
                is_ours = hold(folder / f"{re.sub('[^A-Za-z0-9-]', '_', device)}.{claims}.lock")
            except NotImplementedError as error:
                unshared = f"{error}, so jobs may meet on one GPU; set TMPDIR to another folder"
                print(f"resaudit: warning: {unshared}", file=sys.stderr, flush=True)
                return device
            if is_ours:
                environment[VISIBLE] = device
                return device
        claims += 1


@cache
def settled(device: str) -> str:
    """Resolve ``auto``, once in a process: ``cuda`` if torch can use a GPU of this machine, else ``cpu``."""
    if device != "auto":
        return device
    return "cuda" if cuda_is_usable() else "cpu"


def cuda_is_usable(environment: MutableMapping[str, str] = os.environ, nodes: Path = Path("/dev")) -> bool:
    """Whether torch can use a GPU here: it may be built without CUDA, for a newer driver or for newer cards.

    Asks torch in a subprocess: asking here would initialise CUDA before a device is claimed, and counting devices by
    NVML does not test the driver's version. If torch sees a GPU that it cannot use, or gets no answer of the driver
    within :data:`SECONDS_TO_ANSWER`, a warning says so.
    """
    if not visible_devices(environment, nodes) or find_spec("torch") is None:
        return False
    command = [sys.executable, "-W", "ignore", "-c", _ASKED]
    asked = subprocess.Popen(command, env=dict(environment), stdout=subprocess.PIPE, text=True)
    try:
        reason = asked.communicate(timeout=SECONDS_TO_ANSWER)[0].strip()
    except subprocess.TimeoutExpired:
        asked.kill()  # and not waited for: a process in a driver may not end
        reason = f"no answer in {SECONDS_TO_ANSWER:.0f} s"
    if reason:
        fails = f"torch fails on the GPU ({reason}), so no job uses it"
        print(f"resaudit: warning: {fails}; install a torch for it, or give device=cpu", file=sys.stderr, flush=True)
    return asked.returncode == 0


def visible_devices(environment: MutableMapping[str, str] = os.environ, nodes: Path = Path("/dev")) -> list[str]:
    """The devices that CUDA would see, by number or UUID: as ``CUDA_VISIBLE_DEVICES`` lists them, or all there are.

    >>> visible_devices({"CUDA_VISIBLE_DEVICES": "2, GPU-8932f937,-1,0"})
    ['2', 'GPU-8932f937']
    """
    listed = environment.get(VISIBLE)
    if listed is None:
        gpus = [node for node in nodes.glob("nvidia*") if re.fullmatch(r"nvidia\d+", node.name)]
        return [str(number) for number in range(len(gpus))]
    # CUDA ignores every name after one that it does not know.
    names = (name.strip() for name in listed.split(","))
    return list(takewhile(re.compile(r"\d+|(GPU|MIG)-[A-Za-z0-9/-]+").fullmatch, names))
