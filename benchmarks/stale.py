"""Which committed tables has nobody seen made by today's numerics? With the modules that are other since.

python -m benchmarks.stale
python -m benchmarks.stale seen [OVERRIDES]

A table's ``.json`` names the commit that drew it, and a module is another than there if its syntax tree is. Settings
and raw data are in the table's record, and how jobs are run is in no table, so the packages for these do not count.
Other code may well make the same table: ``seen`` notes in seen.json the commit of each figure in figures/ that agrees
with its reference. That file also says, by hand, why a table stays though it is older than a rule.
"""

import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.claims.committed import REFERENCE, TABLES, config_of, figure_of, planned
from tests.conftest import CHECKOUT

from resaudit.base.files import read_json, write_json
from resaudit.base.papers import module_of
from resaudit.claims.comparison import compare
from resaudit.figures.draw import references
from resaudit.figures.drawing import read_about
from resaudit.jobs.code import _files, _meaning, closure
from resaudit.plan.composition import load
from resaudit.plan.models import Layout
from resaudit.plan.plan import make_plan, with_inputs

SEEN = Path(__file__).with_name("seen.json")
NO_NUMBERS = tuple(f"resaudit.{package}" for package in ("base", "cli", "data", "jobs", "paper", "plan", "runtime"))


@cache
def is_as_at(commit: str, module: str) -> bool:
    """Whether a module means what it meant in a commit."""
    file = _files()[module]
    then = subprocess.run(["git", "show", f"{commit}:{file.relative_to(CHECKOUT)}"], cwd=CHECKOUT, capture_output=True)
    return then.returncode == 0 and _meaning(then.stdout.decode()) == _meaning(file.read_text(encoding="utf-8"))


def others(name: str, commit: str) -> list[str]:
    """The modules that a committed table's numbers come from and that are other than in a commit."""
    figure = config_of(name).figure[figure_of(name)]
    drawing = (module_of(figure.name), type(figure.protocol).__module__)
    modules = closure(
        *drawing, *(each for job in with_inputs(planned(name).jobs.values()).values() for each in job.modules)
    )
    numeric = {each for each in modules - {"resaudit"} if not each.startswith(NO_NUMBERS)} | {"resaudit.data.whiten"}
    return sorted(each for each in numeric & modules if not is_as_at(commit, each))


def see(overrides: list[str]) -> None:
    """Note the commits of the figures that are drawn and agree with their references."""
    plan, known = make_plan(load(overrides)), read_json(SEEN)
    for figure, reference in references(plan).items():
        csv = Layout(plan.config.paths).figure(figure, "csv")
        if not csv.is_file() or not reference.is_file() or compare(plan, figure, reference)[0]:
            continue
        if (commit := read_about(csv)["commit"]) and commit["clean"]:
            name = reference.resolve().relative_to(REFERENCE).with_suffix("").as_posix()
            known["seen"][name] = commit["id"]
            print(f"seen: {name}")
    write_json(SEEN, {key: dict(sorted(entries.items())) for key, entries in known.items()})


def main() -> None:
    """Print the tables, and what is other since."""
    known, count = read_json(SEEN), 0
    for name, csv in TABLES.items():
        commit = known["seen"].get(name) or read_about(csv)["commit"]["id"]
        if changed := others(name, commit):
            count += 1
            said = known["stays"].get(name) or f"{', '.join(changed[-4:])}{' …' * (len(changed) > 4)}"
            print(f"{name}: {len(changed)} modules are other than in {commit[:8]}: {said}")
    print(f"{count} of {len(TABLES)} committed tables were not seen made by today's numerics")


if __name__ == "__main__":
    see(sys.argv[2:]) if sys.argv[1:2] == ["seen"] else main()
