"""Runs that share no disk, and the profiles of clouds. Oracle: the same figure without a storage, byte by byte.

Sees a job that reads or writes beside the bucket, one that its pod cannot start, a preemption that ends a run, a
request that a plugin lowers. The bucket is a real server's; of Kubernetes there is a stand-in, of the others none.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import prod
from pathlib import Path
from threading import Thread

import pytest

from resaudit.plan.composition import load
from resaudit.plan.models import Config
from resaudit.plan.plan import execution_of, make_plan
from tests.clouds.bucket import S3
from tests.clouds.kubernetes import Kubernetes
from tests.conftest import CHECKOUT, Completed, run_command, run_snakemake
from tests.workflow.test_profiles import PROFILES, jobs_in, profile
from tests.workflow.test_smoke import jobs

FIGURE = "demystifying_resnet/fig08"
NETWORKS = f"figure.{FIGURE.replace('/', '.')}.protocol.networks=[2-shortcut-relu]"
FOLDER = f"dataset.folder={CHECKOUT / 'data/mnist'}"
ASKED = ("--config", "scale=smoke", f"figures=[{FIGURE}]", f"overrides=[{NETWORKS},{FOLDER}]")
"""Data fetched and whitened, two trainings, a drawing and the audit."""


@pytest.fixture(scope="module")
def table(mnist_config: Config, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The figure's, without a storage."""
    assert mnist_config
    folder = tmp_path_factory.mktemp("disk")
    run = run_snakemake(*ASKED, cwd=folder)
    assert run.returncode == 0, run.stderr[-3000:]
    return (folder / f"figures/{FIGURE}.csv").read_bytes()


def in_bucket(prefix: str, *arguments: str, cwd: Path, environment: Mapping[str, str]) -> Completed:
    storage = ("--default-storage-provider", "s3", "--default-storage-prefix", prefix, "--shared-fs-usage", "none")
    return run_snakemake(*arguments, *storage, *ASKED, cwd=cwd, environment=environment, timeout=900)


def test_a_bucket_takes_the_place_of_the_disk(s3: S3, table: bytes, tmp_path: Path) -> None:
    run = in_bucket("s3://local/run", cwd=tmp_path, environment=s3.environment)
    assert run.returncode == 0, run.stderr[-3000:]
    files = s3.files("local")
    assert files[f"run/figures/{FIGURE}.csv"] == table
    assert {"run/figures/audit.html", "run/data/mnist/train-images-idx3-ubyte"} <= files.keys()


def copy_of_checkout(folder: Path) -> Path:
    """What of it is under version control, or could be; Snakemake brings that to jobs without a shared disk."""
    folder.mkdir()
    files = f"git -C {CHECKOUT} ls-files -z --cached --others --exclude-standard --deduplicate"
    copy = f"cd {CHECKOUT} && xargs -0 cp --parents -t {shlex.quote(str(folder))}"
    done = run_command("bash", "-euc", f"{files} | ({copy}); git init -q; git add .", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def test_pods_of_kubernetes_need_but_their_image_and_the_bucket(s3: S3, table: bytes, tmp_path: Path) -> None:
    """The first one's node is lost, and the job is started again with more memory."""
    clone = copy_of_checkout(tmp_path / "clone")
    with Kubernetes(tmp_path, lost=1) as cluster:
        run = run_command(
            "snakemake", "--profile", "profiles/kubernetes", "--default-storage-prefix", "s3://pods/run",
            "--seconds-between-status-checks", "1", *ASKED, cwd=clone, timeout=900,
            environment={**s3.environment, **cluster.environment, "PYTHONPATH": str(clone / "src")},
        )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:] + cluster.said()
    assert s3.files("pods")[f"run/figures/{FIGURE}.csv"] == table
    assert len(cluster.pods) == 6
    limits = [pod["resources"]["limits"] for pod in cluster.pods.values()]
    first, again = (int(each["memory"].removesuffix("M")) for each in limits[:2])
    assert again == 2 * first
    assert {pod["image"] for pod in cluster.pods.values()} == {profile("kubernetes")["container-image"]}
    assert jobs(in_bucket("s3://pods/run", "-n", cwd=tmp_path, environment=s3.environment)) == 0


class Empty(BaseHTTPRequestHandler):
    """Google's storage where nothing is stored."""

    def __getattr__(self, name: str) -> Callable[[], None]:
        if name != "do_GET":
            raise AttributeError(name)
        return lambda: self.send_error(404)


@pytest.fixture
def googles_storage() -> Iterator[dict[str, str]]:
    """The variable by which it is found."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{server.server_port}"}
        server.shutdown()


@pytest.mark.parametrize("name", ["kubernetes", "googlebatch", "aws-batch"])
def test_each_profile_is_planned(name: str, s3: S3, googles_storage: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip(f"snakemake_executor_plugin_{name.replace('-', '_')}")
    environment = {**s3.environment, **googles_storage}
    run = run_snakemake("-n", "--profile", str(PROFILES / name), *ASKED, cwd=tmp_path, environment=environment)
    assert run.returncode == 0, run.stderr[-3000:]
    assert {"fetch_mnist", "whiten", "train", "draw", "audit"} <= {rule for rule, _ in jobs_in(run)}


def test_awss_plugin_lowers_no_request() -> None:
    """The profile has a number for every rule that is submitted, which covers what the jobs in full are predicted."""
    allowed = pytest.importorskip("snakemake_executor_plugin_aws_batch.constant").VALID_RESOURCES_MAPPING
    asked = {rule: str(each["mem_mb"]) for rule, each in profile("aws-batch")["set-resources"].items()}
    plan = make_plan(load(["scale=paper", "device=cpu"]))
    execution = execution_of(plan.config)
    costs = {(job.kind, job.cost(execution)) for job in plan.jobs.values() if job.kind != "fetch"}
    assert {kind for kind, _ in costs} | {"draw", "audit", "robustness_matrix"} <= asked.keys()
    for kind, cost in costs:
        for attempt in range(1, 2 + profile("aws-batch")["retries"]):
            megabytes = prod(int(factor.replace("attempt", str(attempt))) for factor in asked[kind].split("*"))
            assert cost.threads in allowed[megabytes]
            assert megabytes >= cost.megabytes_asked()


def test_googles_machines_have_room_for_every_job_in_full() -> None:
    plan = make_plan(load(["scale=paper", "device=cpu"]))
    execution = execution_of(plan.config)
    asked = max(
        job.cost(execution).megabytes_asked(profile("googlebatch")["retries"] + 1) for job in plan.jobs.values()
    )
    assert profile("googlebatch")["googlebatch-memory"] * 1024**2 >= asked * 1000**2
