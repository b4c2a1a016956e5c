"""What Snakemake does not show by public means; no other code touches it.

These names held from 9.17 (before, a record of metadata was a dict, and no error but silence the end of it) to 9.27;
pyproject.toml bounds the versions, and each name has a test (``tests/engine/test_insides.py``).
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from snakemake.io import IOFile
from snakemake.settings.enums import RerunTrigger
from snakemake.settings.types import DeploymentMethod


class Insides:
    """A Snakemake ``workflow`` from within.

    Attributes:
        is_users: whether this is a user's own process, none that Snakemake started for a job.
    """

    def __init__(self, workflow: Any) -> None:
        self._workflow = workflow
        self.is_users: bool = workflow.is_main_process

    @property
    def compares_params(self) -> bool:
        """Whether a job is run again whose params have changed; only in a user's own process."""
        return self.is_users and RerunTrigger.PARAMS in self._workflow.dag_settings.rerun_triggers

    @property
    def in_containers(self) -> bool:
        """Whether jobs run in an image (``--sdm apptainer``)."""
        return DeploymentMethod.APPTAINER in self._workflow.deployment_settings.deployment_method

    @property
    def in_storage(self) -> bool:
        """Whether a storage holds the files of the run (``--default-storage-provider``), and this machine copies."""
        return self._workflow.storage_settings.default_storage_provider is not None

    @property
    def copies(self) -> Path:
        """The folder of the copies of what a storage holds; the working directory if there is none."""
        return Path(self._file(Path("results"))).parent

    def exists(self, file: Path) -> bool:
        """Whether a file of the run is there, in the storage if that holds it."""
        known = self._file(file)
        return bool(known.storage_object.exists()) if known.is_storage else file.is_file()

    def here(self, file: Path) -> Path:
        """A file of the run on this machine, copied from the storage if that holds it."""
        return self._copied(self._file(file))

    @property
    def targets(self) -> set[str]:
        """What the command line asks for."""
        return set(self._workflow.dag_settings.targets)

    def make_again(self, files: Iterable[Path]) -> None:
        """Have the jobs run that make files, though nothing that they read has changed."""
        if self.is_users:
            self._workflow.dag.forcefiles.update(str(self._file(file)) for file in files)

    def made_at(self, file: Path) -> float | None:
        """When Snakemake made a file or was told to accept it (``--touch``), in seconds since 1970; None if never."""
        known = self._workflow.persistence.metadata(self._file(file))
        return None if known is None else known.endtime

    def forget(self, files: Iterable[Path]) -> None:
        """Forget how files were made."""
        if self.is_users:
            for file in files:
                self._workflow.persistence.cleanup_metadata(self._file(file))

    def waiting(self) -> dict[Any, list[Any]]:
        """Snakemake's jobs that are still to be run, with the jobs that each waits for."""
        dag = self._workflow.dag
        return {job: list(dag.dependencies[job]) for job in dag.needrun_jobs()}

    def has(self, rule: str) -> bool:
        """Whether the run has a job of a rule."""
        return any(job.rule.name == rule for job in self._workflow.dag.jobs)

    def failed(self) -> list[Any]:
        """The jobs that failed for good, their logs copied here; a group, as Slurm gets them, fails as one."""
        failed = [job for each in self._workflow.scheduler.failed for job in (each if each.is_group() else [each])]
        for log in (log for job in failed for log in job.log):
            self._copied(log)
        return failed

    @property
    def on_cluster(self) -> int | None:
        """How many jobs a cluster may have at once; None if jobs run on this machine."""
        nodes: int | None = self._workflow.nodes
        return nodes

    @property
    def cores(self) -> int | None:
        """How many cores jobs on this machine have together; None if the command line does not say."""
        cores: int | None = self._workflow.resource_settings.cores
        return cores

    @property
    def gpus(self) -> int | None:
        """The resource ``gpu`` of all jobs together; None if it has no bound."""
        given = self._workflow.global_resources
        return int(given["gpu"].value) if "gpu" in given else None

    def bound_gpus(self, number: int) -> None:
        """Bound the resource ``gpu`` where no user has."""
        if self.gpus is None:
            self._workflow.register_resource("gpu", number)

    def unbound_rate(self) -> None:
        """Start jobs on this machine at any rate, as its cores bound them.

        A bound on jobs a second, which no option takes away, makes Snakemake 9 wake up for every finished job, look at
        all files of all waiting jobs, and end late.
        """
        if self._workflow.local_exec:
            self._workflow.scheduler.job_rate_limiter = None

    def _file(self, file: Path) -> IOFile:
        """A file as rules' inputs are; a storage's has the path of its copy here."""
        return self._workflow.inputfile(file)

    def _copied(self, file: IOFile) -> Path:
        # By the plugin's own methods: Snakemake's wait for what calls this.
        if file.is_storage and file.storage_object.exists():
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            file.storage_object.retrieve_object()
        return Path(file)
