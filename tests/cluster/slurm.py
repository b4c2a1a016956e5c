"""A real Slurm on this host: munge, slurmctld and two nodes with made-up GPUs, started and stopped without systemd.

With slurmdbd and MariaDB installed it keeps accounts, as clusters do; without, it has none, and `sacct` fails.
"""

import getpass
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

SETTINGS = Path("/etc/slurm")
MARK = "# Written by the tests of resaudit, which remove it"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "sacct", "sinfo", "scontrol")
ACCOUNTING = ("slurmdbd", "mariadbd", "mariadb-install-db", "sacctmgr")
NODES = ("n1", "n2")
SECONDS_TO_START = 60

SLURM = """{mark}
ClusterName=tests
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmctldPort={ports[0]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=10
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
MpiDefault=none
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
GresTypes=gpu
{accounting}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
MinJobAge=3600
KillWait=3
SlurmdTimeout=10
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=5,batch_sched_delay=0
NodeName=DEFAULT CPUs={processors} RealMemory=8000 Gres=gpu:h100:2 Features=avx512 State=UNKNOWN
NodeName=n[1-2] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{ports[1]}-{ports[2]}]
PartitionName=DEFAULT Nodes=ALL MaxTime=60 DefaultTime=5 State=UP
PartitionName=cpu Default=YES
PartitionName=gpu
"""
# Any character devices serve as GPUs, as long as nobody opens them.
GRES = "{mark}\nAutoDetect=off\nNodeName=n[1-2] Name=gpu Type=h100 File=/dev/tty[10-11]\n"
WITH_ACCOUNTING = (
    "AccountingStorageType=accounting_storage/slurmdbd\nAccountingStorageHost=localhost\nAccountingStoragePort={port}"
    "\nAccountingStoragePass={folder}/munge/socket"
)
WITHOUT_ACCOUNTING = "AccountingStorageType=accounting_storage/none"
SLURMDBD = """{mark}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={port}
SlurmUser=root
PidFile={folder}/slurmdbd.pid
LogFile={folder}/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
"""


def why_not() -> str | None:
    """Why no Slurm can be started here; None where one can."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"no Slurm here (missing: {', '.join(missing)}); apt-get install slurm-wlm munge"
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        return "the extra `slurm` is not installed"
    if os.geteuid() != 0:
        return f"a Slurm for tests needs root, this is {getpass.getuser()}"
    file = SETTINGS / "slurm.conf"
    if file.exists() and not file.read_text(encoding="utf-8").startswith(MARK):
        return f"{file} is of another cluster"
    return None


def keeps_accounts() -> bool:
    """Whether slurmdbd and MariaDB are there."""
    return all(shutil.which(name) for name in ACCOUNTING)


class Cluster:
    """Daemons with all their files in one folder, but for /etc/slurm, which Slurm insists on."""

    def __init__(self, folder: Path, *, accounting: bool, processors: int = 2) -> None:
        self.folder, self.accounting, self.processors = folder, accounting, processors

    def start(self) -> None:
        """Start all daemons, and wait until both nodes are idle."""
        self.folder.chmod(0o755)
        for name in ("munge", "state", *(f"spool-{node}" for node in NODES)):
            (self.folder / name).mkdir()
        ports = free_ports(5)
        self._write_settings(ports)
        self._start_munge()
        if self.accounting:
            self._start_accounting(ports[4])
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        wait_until(lambda: output("sinfo", "-h", "-o", "%T %D") == f"idle {len(NODES)}", "nodes are idle", self)

    def stop(self) -> None:
        """Stop what runs, by its pid file, and take the settings away again."""
        subprocess.run(["scancel", "--user", getpass.getuser()], check=False, capture_output=True)
        for name in (*(f"slurmd-{node}" for node in NODES), "slurmctld", "slurmdbd", "mariadb", "munged"):
            self.kill(name, signal.SIGTERM)
        for name in ("slurm.conf", "gres.conf", "slurmdbd.conf"):
            file = SETTINGS / name
            if file.exists() and file.read_text(encoding="utf-8").startswith(MARK):
                file.unlink()

    def start_controller(self) -> None:
        run("slurmctld")
        wait_until(lambda: succeeds("scontrol", "ping"), "slurmctld answers", self)

    def start_node(self, node: str) -> None:
        run("slurmd", "-N", node)

    def kill(self, daemon: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a daemon a signal, and wait until it is gone."""
        file = self.folder / f"{daemon}.pid"
        if not file.is_file() or not file.read_text().strip():
            return
        process = int(file.read_text())
        try:
            os.kill(process, number)
        except ProcessLookupError:
            return
        wait_until(lambda: not is_running(process), f"{daemon} is gone", self)

    def lose_node(self, node: str) -> None:
        """Kill a node's daemon and all that it runs, as a power cut would."""
        self.kill(f"slurmd-{node}")
        for process in processes_of(node):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it ended with its parent

    def logs(self) -> str:
        """The ends of the daemons' logs."""
        return "\n".join(
            f"--- {file.name}\n{file.read_text(encoding='utf-8', errors='replace')[-1500:]}"
            for file in sorted(self.folder.glob("*.log"))
        )

    def _write_settings(self, ports: list[int]) -> None:
        SETTINGS.mkdir(exist_ok=True)
        known = {"mark": MARK, "folder": self.folder}
        accounting = (
            WITH_ACCOUNTING.format(port=ports[3], folder=self.folder) if self.accounting else WITHOUT_ACCOUNTING
        )
        slurm = SLURM.format(**known, ports=ports, accounting=accounting, processors=self.processors)
        (SETTINGS / "slurm.conf").write_text(slurm, encoding="utf-8")
        (SETTINGS / "gres.conf").write_text(GRES.format(**known), encoding="utf-8")
        if self.accounting:
            file = SETTINGS / "slurmdbd.conf"
            file.write_text(SLURMDBD.format(**known, port=ports[3], storage=ports[4]), encoding="utf-8")
            file.chmod(0o600)

    def _start_munge(self) -> None:
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        run(
            "munged", "--force", f"--key-file={key}", f"--socket={self.folder}/munge/socket",
            f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
            f"--seed-file={self.folder}/munge/seed",
        )  # fmt: skip

    def _start_accounting(self, port: int) -> None:
        data = self.folder / "mariadb"
        run(
            "mariadb-install-db", "--no-defaults", f"--datadir={data}", "--user=root", "--skip-test-db",
            "--auth-root-authentication-method=normal",
        )  # fmt: skip
        said = (self.folder / "mariadb.log").open("w")
        subprocess.Popen(
            ["mariadbd", "--no-defaults", f"--datadir={data}", "--user=root", "--bind-address=127.0.0.1",
             f"--port={port}", f"--socket={self.folder}/mariadb.socket", f"--pid-file={self.folder}/mariadb.pid"],
            stdout=said, stderr=said, start_new_session=True,
        )  # fmt: skip
        client = ("mariadb", "--no-defaults", f"--socket={self.folder}/mariadb.socket", "--user=root", "-e")
        grant = "CREATE DATABASE slurm; CREATE USER slurm@'%' IDENTIFIED BY 'slurm'; GRANT ALL ON slurm.* TO slurm@'%';"
        wait_until(lambda: succeeds(*client, "SELECT 1"), "MariaDB answers", self)
        run(*client, grant)
        run("slurmdbd")
        wait_until(lambda: succeeds("sacctmgr", "-n", "list", "cluster"), "slurmdbd answers", self)
        run("sacctmgr", "-i", "add", "cluster", "tests")
        run("sacctmgr", "-i", "add", "account", "tests", "Cluster=tests")
        run("sacctmgr", "-i", "add", "account", "my-project", "Cluster=tests")
        run("sacctmgr", "-i", "add", "user", getpass.getuser(), "Account=tests,my-project", "DefaultAccount=tests")


def run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_TO_START, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-1500:]}"


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False).stdout.strip()


def succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0


def wait_until(condition: Callable[[], bool], what: str, cluster: Cluster, seconds: float = SECONDS_TO_START) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} s until {what}\n{cluster.logs()}"
        time.sleep(0.2)


def free_ports(count: int) -> list[int]:
    """Ports in a row that nobody listens on."""
    for first in range(17000, 30000, count):
        sockets = [socket.socket() for _ in range(count)]
        try:
            for offset, each in enumerate(sockets):
                each.bind(("127.0.0.1", first + offset))
            return list(range(first, first + count))
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()
    raise AssertionError("no free ports")


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def processes_of(node: str) -> list[int]:
    """The processes of a node's jobs, and the daemons above them, which die with a node."""
    found, parents = [], set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes().split(b"\0")
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue  # it ended meanwhile
        if f"SLURMD_NODENAME={node}".encode() in environment:
            found.append(int(folder.name))
            parents.add(parent)
    daemons = [parent for parent in parents if Path(f"/proc/{parent}/comm").read_text().startswith("slurmstepd")]
    return [*daemons, *found]
