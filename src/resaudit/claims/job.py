"""Judging a paper's claims under every variant of its assumptions."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from resaudit.base.errors import ConfigError
from resaudit.figures.draw import draw_job
from resaudit.jobs.job import Job, Work
from resaudit.plan.claim import modules_of_checks
from resaudit.plan.models import CONFIGURED, CONTROLS, Config
from resaudit.plan.plans import Plans, evidence_figures
from resaudit.plan.words import deviations, judgement_sha256
from resaudit.runtime.progress import log


@dataclass(frozen=True)
class RobustnessJob(Job):
    """The matrix of a paper's claims and variants. Its files go to the figures folder.

    Attributes:
        paper: the paper with the claims.
        config: the configuration without a variant.
        variants: the configuration under each variant, and under the control, by id.
        deviations: the deviations of each from the paper's protocol, in words.
        drawings: the figures that claims are checked against, without a variant and under each: by figure, the drawing
            as ``kind/id``.
    """

    kind = "robustness_matrix"

    paper: str
    config: Config
    variants: dict[str, Config]
    deviations: dict[str, tuple[str, ...]]
    drawings: dict[str, dict[str, str]]

    @property
    def stem(self) -> str:
        """The paper."""
        return self.paper

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The tables, what the paper's verdicts are computed from, and the variants; no other wording, no folder."""
        of_paper, variants = self.config.claims_of(self.paper).items(), self.config.variants(self.paper).items()
        claims = [name for name, claim in of_paper if f"{self.paper}/{claim.evidence}" in self.drawings[CONFIGURED]]
        return {name: self.settings[name] for name in ("paper", "deviations", "drawings")} | {
            "claims": {name: judgement_sha256(self.config, self.paper, name) for name in claims},
            "rung": self.config.rung,
            "scale": self.config.scale.name,
            "variants": {name: variant.model_dump(mode="json") for name, variant in variants},
        }

    @property
    def modules(self) -> tuple[str, ...]:
        """Its own, and those of the paper's checks."""
        return (*super().modules, *modules_of_checks({self.paper: self.config.claims_of(self.paper)}))

    def reads(self, results: Path) -> list[Path]:
        """The tables, each with its record."""
        tables = dict.fromkeys(self._tables(results).values())
        return [file for csv in tables for file in (csv, csv.with_suffix(".json"))]

    def run(self, work: Work) -> dict[str, Any]:
        """Write ``<paper>/robustness.{csv,json,pdf,svg,png}`` into the folder of figures."""
        from resaudit.claims.robustness import write_matrix

        write_matrix(Plans.of(self.config, self.variants), self.paper, self.deviations, self._tables(work.results))
        log(f"wrote {Path(self.config.paths.figures) / self.paper}/robustness.csv, .json, .pdf, .svg, .png")
        return {}

    def _tables(self, results: Path) -> dict[tuple[str, str], Path]:
        return {
            (variant, name): results / key / "figure.csv"
            for variant, drawings in self.drawings.items()
            for name, key in drawings.items()
        }


def robustness_job(plans: Plans, paper: str, at_scale_paper: Config) -> RobustnessJob:
    """The matrix of a paper.

    Args:
        plans: the plans as configured and under every variant.
        paper: a paper with claims.
        at_scale_paper: the configuration at scale paper.
    """
    if plans.base.config.variant is not None:
        raise ConfigError(f"variant is {plans.base.config.variant}; leave it out: robustness goes through all of them")
    variants = {variant: plans.under(variant).config for variant in (*CONTROLS, *plans.variants(paper))}
    every, evidence = {CONFIGURED: plans.base.config} | variants, evidence_figures(plans.base, paper)
    protocol = at_scale_paper.figure
    names = [name for name in plans.base.figures if name.startswith(f"{paper}/")]
    return RobustnessJob(
        paper,
        plans.base.config,
        variants,
        {
            variant: tuple(
                f"{name.split('/')[1]} {change}"
                for name in names
                for change in deviations(config.figure[name], protocol[name])
            )
            for variant, config in variants.items()
        },
        {
            variant: {name: draw_job(config.figure[name], protocol[name], config).key for name in evidence}
            for variant, config in every.items()
        },
    )
