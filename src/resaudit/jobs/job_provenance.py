"""A job's ``provenance.json`` as it is read: one strict model for results of this checkout and of archives."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from resaudit.base.models import Line, Sha256, Time, check_lines


def _check_machine(given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not isinstance(given.get("device"), str):
        raise ValueError("names no device; allowed: 'cpu' or a GPU's name")
    return given


CPU_PLATFORM = "machine class"
"""The key of the CPU platform in records, where it has kept the name of version 0.2."""
CpuPlatform = Annotated[dict[Line, JsonValue], AfterValidator(check_lines), AfterValidator(_check_machine)]
"""What :func:`resaudit.runtime.machine.cpu_platform` gives."""


class JobProvenance(BaseModel):
    """A job's ``provenance.json``, as far as anything reads it, here and in an archive; a job may say more.

    Attributes:
        device: "cpu" or a GPU's name.
        kernel: what computed on it, if the job had a choice.
        seconds: duration.
        started: time of the start.
        finished: time of the end.
        python: version.
        packages: versions by name; None where one is not installed.
        cpu_platform: the machine's CPU platform.
        parts: what computed each part of work that went on on another machine, by part of the job.
        code: hash of the code of its kind.
        sha256: digests of its result files, by name.
        inputs: digests of what it read, by ``kind/id/name``.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, allow_inf_nan=False)

    device: str
    kernel: str | None = None
    seconds: Annotated[float, Field(ge=0, le=1e10)]
    started: Time
    finished: Time
    python: str
    packages: dict[str, str | None]
    cpu_platform: Annotated[CpuPlatform, Field(alias=CPU_PLATFORM)]
    parts: dict[Line, list[CpuPlatform]] = {}
    code: Sha256
    sha256: dict[str, Sha256]
    inputs: dict[str, Sha256]

    @property
    def platforms(self) -> list[dict[str, JsonValue]]:
        """The distinct CPU platforms that computed a part of it, in turn; the last is the one that finished it.

        >>> about = {"device": "cpu", "seconds": 1.0, "started": "2026-01-02T03:04:05+00:00", "python": "3.12"}
        >>> about |= {"finished": about["started"], "packages": {}, "code": "0" * 64, "sha256": {}, "inputs": {}}
        >>> here, there = {"device": "cpu", "torch": "2.11"}, {"device": "NVIDIA H100", "torch": "2.11"}
        >>> parts = {"run 0": [{"from epoch": 0.0, **there}, {"from epoch": 7.5, **here}]}
        >>> made = JobProvenance(**about, **{CPU_PLATFORM: here}, parts=parts)
        >>> [platform["device"] for platform in made.platforms]
        ['NVIDIA H100', 'cpu']
        """
        found = list[dict[str, JsonValue]]()
        for part in (part for parts in self.parts.values() for part in parts):
            platform = {key: part.get(key) for key in self.cpu_platform}
            found += [platform] if platform not in [*found, self.cpu_platform] else []
        return [*found, self.cpu_platform]

    @model_validator(mode="before")
    @classmethod
    def _lines(cls, given: Any) -> Any:
        return check_lines(given)
