"""The command ``resaudit``: Snakemake's rules call it, and so can you.

Each subcommand imports the heavy modules that it needs, so that the others start at once.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from resaudit.errors import Interrupted, ResauditError
from resaudit.runtime.progress import leave_unsaid, say

if TYPE_CHECKING:
    from resaudit.plan.plan import Plan

Overrides = tuple[str, ...]
Command = Callable[..., None]
REQUEUE = 85
"""Exit status of a job that wrote a checkpoint on SIGTERM; a scheduler can requeue jobs with this status."""


def main() -> int:
    """Run one subcommand.

    Returns:
        The exit status: 0; 1 after a one-line error; 2 for bad usage; 130 if interrupted; :data:`REQUEUE` if SIGTERM
        ended a job that the next run resumes.
    """
    try:
        return _run()
    finally:
        leave_unsaid()


def _run() -> int:
    try:
        cli.main(standalone_mode=False)
    except ResauditError as error:
        # Standard error may be a log on a full disk.
        say(f"resaudit: error: {error}", else_to=sys.stdout)
        return 1
    except Interrupted as stop:
        say(f"resaudit: interrupted: {stop}")
        return REQUEUE if stop.signal == signal.SIGTERM else 128 + stop.signal
    except click.exceptions.Abort:
        say("resaudit: interrupted")
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 2
    except click.ClickException as error:
        say(f"resaudit: error: {error.format_message()} (see resaudit --help)")
        return 2
    return 0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="resaudit")
def cli() -> None:
    """Re-run the papers on residual shortcuts, figure by figure.

    OVERRIDES are Hydra's key=value, such as scale=paper or dataset=fashion_mnist.
    """


def _with_overrides(command: Command) -> Command:
    return click.argument("overrides", nargs=-1)(command)


def _threads(command: Command) -> Command:
    """Bound the threads of every numerical library, before any of them is imported."""

    def bound_threads(_context: click.Context, _option: click.Parameter, threads: int) -> None:
        for library in ("OMP", "MKL", "OPENBLAS"):
            os.environ[f"{library}_NUM_THREADS"] = str(threads)
        # Waiting threads sleep: torch's would take the cores from the fused kernel's.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

    option = click.option(
        "--threads",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        expose_value=False,
        callback=bound_threads,
        help="CPU threads.",
    )
    return option(command)


def _plan(overrides: Overrides) -> "Plan":
    from resaudit.config.composition import load
    from resaudit.plan.plan import make_plan

    return make_plan(load(overrides))


def _plan_of_figure(figure: str, overrides: Overrides) -> tuple["Plan", str]:
    from resaudit.config.composition import config_folder, files_of_figures, load
    from resaudit.plan.plan import make_plan

    # A full name needs only its own figure; a short name needs all.
    config = load(overrides, only=[figure] if figure in files_of_figures(config_folder()) else None)
    name = config.resolve_figure(figure)
    return make_plan(config.model_copy(update={"figures": [name]})), name


@cli.command()
@click.argument("job", metavar="KIND/ID")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder of results, with the plan in it.",
)
@_threads
def run(job: str, results: Path) -> None:
    """Run the job KIND/ID from results/plan/KIND/ID.json; its inputs must exist."""
    from resaudit.jobs.runner import run_job

    run_job(job, results)


@cli.command()
@click.option("--claim", "wanted", metavar="ID", help="Only this claim, in full.")
@click.option("--strict", is_flag=True, help="Fail unless every claim is supported.")
@click.option("--markdown", is_flag=True, help="As a table in Markdown.")
@_with_overrides
def audit(wanted: str | None, strict: bool, markdown: bool, overrides: Overrides) -> None:
    """Print the verdict on every claim, from the tables in figures/."""
    plan = _plan(overrides)
    from resaudit.claims.terminal import run_audit

    run_audit(plan, overrides, click.echo, wanted, strict, markdown)


@cli.command("list")
@_with_overrides
def list_figures(overrides: Overrides) -> None:
    """List the figures that can be drawn."""
    from resaudit.config.composition import load

    for name, figure in load(overrides).figure.items():
        print(f"{name:32} {figure.title}")


@cli.command()
@click.argument("figure")
@_with_overrides
def explain(figure: str, overrides: Overrides) -> None:
    """Show what FIGURE is drawn from: protocol, assumptions, jobs, cost, files."""
    from resaudit.config.composition import load
    from resaudit.plan.words import explain as lines_about

    plan, name = _plan_of_figure(figure, overrides)
    for line in lines_about(plan, load(["scale=paper"], only=[name]).figure[name], name):
        click.echo(line)


@cli.command()
@_with_overrides
def compare(overrides: Overrides) -> None:
    """Compare the tables in figures/ with those in figures/reference, within the stated tolerances."""
    plan = _plan(overrides)
    from resaudit.papers.comparison import compare_with_references

    failed = compare_with_references(plan, click.echo)
    if failed:
        raise ResauditError(f"{len(failed)} of {len(plan.figures)} figures do not agree: {', '.join(failed)}")


@cli.command()
@click.option("--force", is_flag=True, help="Also replace references of another scale.")
@_with_overrides
def reference(force: bool, overrides: Overrides) -> None:
    """Copy the tables in figures/ to figures/reference, to be committed."""
    plan = _plan(overrides)
    from resaudit.papers.comparison import write_references

    write_references(plan, click.echo, force)


@cli.command()
@click.argument("destination", metavar="OUT.zip", type=click.Path(path_type=Path))
@_with_overrides
def crate(destination: Path, overrides: Overrides) -> None:
    """Pack the finished run into OUT.zip, a Workflow Run RO-Crate: workflow, settings, results, audit, provenance."""
    plan = _plan(overrides)
    from resaudit.crate.archive import write_crate

    write_crate(plan, destination)
