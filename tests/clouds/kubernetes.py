"""What of Kubernetes Snakemake's plugin talks to: its pods are processes here, each in an empty folder of its own.

A pod sees what a real one does: its command, its secrets as variables, and the programs of its image, which are those
of this environment. What a cluster has beside, such as volumes and bounds on memory, is not here.
"""

import json
import os
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlparse

import yaml


class Kubernetes:
    """A cluster at an address of this machine, while a ``with`` lasts.

    Args:
        folder: for its own settings, and what pods write and say.
        lost: so many pods, the first ones, end with their node before they have done anything.

    Attributes:
        pods: the container that was asked for, by the job's name.
        environment: the variable by which the plugin finds the cluster.
    """

    def __init__(self, folder: Path, lost: int = 0) -> None:
        self.pods = dict[str, Any]()
        self._folder, self._to_lose = folder, lost
        self._secrets = dict[str, dict[str, str]]()
        self._processes = dict[str, subprocess.Popen[bytes] | None]()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        settings = {
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{self._server.server_port}"}}],
            "users": [{"name": "me", "user": {}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "current-context": "here",
        }
        (folder / "kube.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        self.environment = {"KUBECONFIG": str(folder / "kube.yaml")}
        # An image that has the storage's plugin needs nothing of a package index.
        (folder / "image").mkdir()
        (folder / "image" / "pip").write_text("#!/bin/sh\n", encoding="utf-8")
        (folder / "image" / "pip").chmod(0o755)

    def __enter__(self) -> "Kubernetes":
        Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        for process in filter(None, self._processes.values()):
            process.kill()
            process.wait()

    def said(self) -> str:
        """The end of what each pod wrote."""
        return "\n".join(file.read_text()[-2000:] for file in self._folder.glob("*.log"))

    def _start(self, name: str, container: dict[str, Any]) -> None:
        self.pods[name] = container
        if len(self.pods) <= self._to_lose:
            self._processes[name] = None
            return
        keys = {each["name"]: each["valueFrom"]["secretKeyRef"] for each in container["env"]}
        secrets = {variable: self._secrets[key["name"]][key["key"]] for variable, key in keys.items()}
        path = os.pathsep.join([str(self._folder / "image"), str(Path(sys.executable).parent), os.defpath])
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [*container["command"], *container["args"]],
                env={"PATH": path, "HOME": "/nonexistent", **secrets}, stdout=log, stderr=log,
                cwd=tempfile.mkdtemp(prefix="pod-", dir=self._folder),
            )  # fmt: skip

    def _status(self, name: str) -> dict[str, Any]:
        process = self._processes[name]
        ended = 1 if process is None else process.poll()
        return {} if ended is None else {"failed" if ended else "succeeded": 1}

    def _pods(self, name: str) -> list[dict[str, Any]]:
        process = self._processes[name]
        if process is None:
            return []
        ended = process.poll()
        state = {"running": {}} if ended is None else {"terminated": {"exitCode": ended}}
        container = {"name": "snakemake", "state": state, "image": "", "imageID": "", "ready": True, "restartCount": 0}
        return [{"metadata": {"name": f"{name}-pod"}, "status": {"containerStatuses": [container]}}]

    def _answer(self, method: str, address: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """What a cluster says; None: that the request is a bad one."""
        url = urlparse(address)
        match method, *url.path.split("/")[-2:]:
            case "POST", _, "secrets":
                secrets = {key: b64decode(value).decode() for key, value in body["data"].items()}
                self._secrets[body["metadata"]["name"]] = secrets
            case "POST", _, "jobs":
                (container,) = body["spec"]["template"]["spec"]["containers"]
                self._start(body["metadata"]["name"], container)
            case "GET", name, "status":
                return {"status": self._status(name)}
            case "GET", _, "pods":
                return {"items": self._pods(parse_qs(url.query)["labelSelector"][0].removeprefix("job-name="))}
            case "GET", _, "log":  # of a run before this one, which a pod that is never restarted has not
                return None
        return {}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        cluster = self

        class Handler(BaseHTTPRequestHandler):
            def __getattr__(self, name: str) -> Callable[[], None]:
                if name not in {"do_GET", "do_POST", "do_DELETE"}:
                    raise AttributeError(name)
                return self._do

            def _do(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
                answer = cluster._answer(self.command, self.path, body)
                content = json.dumps(answer).encode()
                self.send_response(400 if answer is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Nothing: a run says enough."""

        return Handler
