"""Judging every claim: the audit as JSON and as a page."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from resaudit.jobs.job import Job, Work
from resaudit.plan.claim import modules_of_checks
from resaudit.plan.models import Config
from resaudit.runtime.progress import log


@dataclass(frozen=True)
class AuditJob(Job):
    """The audit of all drawn figures. Its files go to the figures folder.

    Attributes:
        config: the configuration with all figures and claims.
        overrides: the overrides as they were given.
    """

    kind = "audit"

    config: Config
    overrides: tuple[str, ...]

    @property
    def stem(self) -> str:
        """One audit covers all papers."""
        return "audit"

    @property
    def modules(self) -> tuple[str, ...]:
        """Its own, and those of the checks."""
        return (*super().modules, *modules_of_checks(self.config.claims))

    def run(self, work: Work) -> dict[str, Any]:
        """Write ``audit.json`` and ``audit.html`` into the folder of figures."""
        from resaudit.audit.build import make_audit
        from resaudit.audit.page import write_page
        from resaudit.base.files import write_json
        from resaudit.plan.plan import make_plan

        figures, audit = Path(self.config.paths.figures), make_audit(make_plan(self.config), self.overrides)
        write_json(figures / "audit.json", audit.as_json())
        write_page(audit, figures / "audit.html")
        log(f"wrote {figures / 'audit.json'} and {figures / 'audit.html'}")
        return {}
