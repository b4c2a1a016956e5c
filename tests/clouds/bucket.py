"""A real S3 server on this host: Ceph's gateway on one monitor and one store in memory, all their files in a folder."""

import importlib.util
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

from tests.cluster.slurm import free_ports

PROGRAMS = ("ceph", "ceph-mon", "ceph-osd", "monmaptool", "radosgw", "radosgw-admin")
SECONDS = 60
"""After which a program counts as hanging."""
SETTINGS = """[global]
fsid = {cluster}
mon host = [v2:127.0.0.1:{port}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
ms mon client mode = crc
mon data = {folder}/mon
mon data avail crit = 1
mon allow pool size one = true
osd data = {folder}/osd
osd objectstore = memstore
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default pg num = 1
osd pool default pg autoscale mode = off
rgw data = {folder}/rgw
run dir = {folder}
admin socket = {folder}/$name.asok
pid file = {folder}/$name.pid
log file = {folder}/$name.log
mon cluster log file = {folder}/cluster.log
"""


def why_not() -> str | None:
    """Why no S3 server can be started here; None where one can."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"no Ceph here (missing: {', '.join(missing)}); apt-get install radosgw ceph-mon ceph-osd"
    if importlib.util.find_spec("snakemake_storage_plugin_s3") is None:
        return "the extra `kubernetes` is not installed"
    return None


class S3:
    """The server, with one user.

    Attributes:
        environment: the variables by which Snakemake's plugin finds it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._daemons = folder, list[subprocess.Popen[bytes]]()
        self._monitor, gateway = free_ports(2)
        self._endpoint = f"127.0.0.1:{gateway}"
        names = ("ENDPOINT_URL", "ACCESS_KEY", "SECRET_KEY")
        values = (f"http://{self._endpoint}", "tests", "not-a-secret")
        self.environment = {f"SNAKEMAKE_STORAGE_S3_{name}": value for name, value in zip(names, values, strict=True)}

    def start(self) -> None:
        """Start all daemons, and wait until the gateway answers."""
        cluster, store = str(uuid.uuid4()), str(uuid.uuid4())
        for name in ("mon", "osd", "rgw"):
            (self._folder / name).mkdir()
        settings = SETTINGS.format(folder=self._folder, cluster=cluster, port=self._monitor)
        (self._folder / "ceph.conf").write_text(settings, encoding="utf-8")
        monitors = str(self._folder / "monmap")
        self._run(
            "monmaptool", "--create", "--fsid", cluster, "--addv", "a", f"[v2:127.0.0.1:{self._monitor}]", monitors
        )
        self._run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monitors)
        self._start("ceph-mon", "-i", "a")
        self._run("ceph", "osd", "new", store, "0")
        self._run("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", store)
        self._start("ceph-osd", "-i", "0")
        user = (self.environment[f"SNAKEMAKE_STORAGE_S3_{name}"] for name in ("ACCESS_KEY", "SECRET_KEY"))
        keys = [f"--{name}={value}" for name, value in zip(("access-key", "secret-key"), user, strict=True)]
        self._run("radosgw-admin", "user", "create", "--uid=tests", "--display-name=tests", *keys)
        self._start("radosgw", "-n", "client.gateway", f"--rgw-frontends=beast endpoint={self._endpoint}")
        self._wait()

    def stop(self) -> None:
        """End the daemons; nothing that they hold is kept."""
        for daemon in reversed(self._daemons):
            daemon.send_signal(signal.SIGKILL)
            daemon.wait()

    def files(self, bucket: str) -> dict[str, bytes]:
        """What a bucket holds, by name."""
        client = self._client()
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        names = [found["Key"] for page in pages for found in page.get("Contents", [])]
        return {name: client.get_object(Bucket=bucket, Key=name)["Body"].read() for name in names}

    def _client(self) -> Any:
        boto3 = importlib.import_module("boto3")
        address, key, secret = self.environment.values()
        return boto3.client("s3", endpoint_url=address, aws_access_key_id=key, aws_secret_access_key=secret)

    def _command(self, *command: str) -> dict[str, Any]:
        return {"args": command, "env": os.environ | {"CEPH_CONF": str(self._folder / "ceph.conf")}}

    def _run(self, *command: str) -> None:
        done = subprocess.run(**self._command(*command), capture_output=True, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout[-500:]}{done.stderr[-1500:]}"

    def _start(self, *command: str) -> None:
        with (self._folder / f"{command[0]}.said").open("wb") as said:
            daemon = subprocess.Popen(**self._command(*command, "-f"), stdout=said, stderr=said, start_new_session=True)
        self._daemons.append(daemon)

    def _wait(self) -> None:
        end = time.monotonic() + SECONDS
        while True:
            try:
                with urllib.request.urlopen(self.environment["SNAKEMAKE_STORAGE_S3_ENDPOINT_URL"], timeout=5):
                    return
            except urllib.error.URLError:
                assert time.monotonic() < end, (self._folder / "radosgw.said").read_text()[-1500:]
                time.sleep(0.2)
