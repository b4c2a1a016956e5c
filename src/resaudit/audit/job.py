"""Judging every claim: the audit as JSON and as a page."""

from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from resaudit.base.papers import module_of, papers
from resaudit.jobs.job import Job, Work
from resaudit.plan.claim import modules_of_checks
from resaudit.plan.models import OF_THE_RUN, Config
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
    overrides: tuple[str, ...] = field(metadata={"identity": False})  # config is what they give

    @property
    def stem(self) -> str:
        """One audit covers all papers."""
        return "audit"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """The configuration, without device and folders."""
        return {"config": {key: value for key, value in self.settings["config"].items() if key not in OF_THE_RUN}}

    @property
    def modules(self) -> tuple[str, ...]:
        """Its own, those of the checks, and those of figures with printed numbers, drawn or not."""
        return (*super().modules, *modules_of_checks(self.config.claims), *_modules_with_printed(self.config))

    def run(self, work: Work) -> dict[str, Any]:
        """Write ``audit.json`` and ``audit.html`` into the folder of figures."""
        from resaudit.audit.build import make_audit
        from resaudit.audit.page import write_page
        from resaudit.base.files import write_json
        from resaudit.plan.plan import make_plan

        figures, audit = Path(self.config.paths.figures), make_audit(make_plan(self.config), self.overrides)
        # The page first: it reads the drawings and may refuse one, and both files must be of one audit.
        write_page(audit, figures / "audit.html")
        write_json(figures / "audit.json", audit.as_json())
        log(f"wrote {figures / 'audit.json'} and {figures / 'audit.html'}")
        return {}


def _modules_with_printed(config: Config) -> list[str]:
    """The modules of the audited papers' figures that name ``beside_the_paper``.

    :mod:`resaudit.figures.tables` imports them; found by their text, since planning must not.
    """
    audited = set(config.audited_papers()) & set(papers())
    modules = [module_of(name) for name in config.figure if name.split("/")[0] in audited]
    specs = {name: find_spec(name) for name in modules}
    return [n for n, s in specs.items() if s and s.origin and b"beside_the_paper" in Path(s.origin).read_bytes()]
