"""The command ``resaudit``: Snakemake's rules call it, and so can you.

Each subcommand imports the heavy modules that it needs, so that the others start at once.
"""

import math
import os
import shlex
import shutil
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from resaudit.base.errors import (
    INSTALL_TORCH,
    ConfigError,
    DifferenceError,
    Interrupted,
    ResauditError,
    figures_named,
    listed,
    one_named,
)
from resaudit.base.papers import failing_code, take_papers_path
from resaudit.runtime.progress import flush_stderr, log, open_streams

if TYPE_CHECKING:
    from resaudit.plan.models import Config
    from resaudit.plan.plan import Plan

Overrides = tuple[str, ...]
Command = Callable[..., None]
STYLE = str(Path(__file__).parents[1] / "figures" / "print.mplstyle")
CHECKPOINTS = "RESAUDIT_CHECKPOINTS"
"""Environment variable: the folder of checkpoints, for jobs that Snakemake starts."""
REQUEUE = 85
"""Exit status of a job that wrote a checkpoint on SIGTERM; a scheduler can requeue jobs with this status."""


def main() -> int:
    """Run one subcommand.

    Returns:
        The exit status: 0; 1 after a one-line error; 2 for bad usage; 130 if interrupted; :data:`REQUEUE` if SIGTERM
        ended a job that the next run resumes.
    """
    open_streams()
    os.environ["MPLBACKEND"] = "agg"  # drawings are files, also where a notebook's kernel started this
    os.environ["PYTHONSAFEPATH"] = "1"  # a file random.py in the working directory is no module of what this starts
    os.environ["MATPLOTLIBRC"] = STYLE  # the user's own says nothing here, and may be no text
    try:
        cli.main(args=take_papers_path(sys.argv[1:]), prog_name="resaudit", standalone_mode=False)
    except ResauditError as error:
        # Standard error may be a log on a full disk.
        log(f"resaudit: error: {error}", fallback=sys.stdout)
        return 1
    except Interrupted as stop:
        log(f"resaudit: interrupted: {stop}")
        return REQUEUE if stop.signal == signal.SIGTERM else 128 + stop.signal
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        log(f"resaudit: error: torch is not installed: {INSTALL_TORCH}")
        return 1
    except SystemExit as error:  # by a paper's own code, or by click where nobody reads on
        if traceback.extract_tb(error.__traceback__)[-1].filename == click.core.__file__:
            return 1
        log(f"resaudit: error: {failing_code(error, None, 'ends the process')}")
        return 1
    except click.exceptions.Abort:
        log("resaudit: interrupted")
        return 130
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 2
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = context.command_path if context else "resaudit"
        setting = "; settings are KEY=VALUE, as scale=paper" if isinstance(error, click.NoSuchOption) else ""
        if setting and context and isinstance(context.command, PassingOn):
            setting += ", and options of snakemake follow --, as in -- --cores 2"
        log(f"resaudit: error: {error.format_message().rstrip('.')}{setting} (see {command} --help)")
        return 2
    finally:
        flush_stderr()
    return 0


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="resaudit")
def cli() -> None:
    """Re-run papers, figure by figure.

    OVERRIDES are Hydra's key=value, such as scale=paper or dataset=fashion_mnist. Every command also takes
    papers_path=FOLDER, a folder of papers outside this repository.
    """


def _with_overrides(command: Command) -> Command:
    return click.argument("overrides", nargs=-1)(command)


def _names_and_overrides(words: Overrides) -> tuple[Overrides, Overrides]:
    """Hydra's ``~key`` is an override, though it has no ``=``."""
    overrides = tuple(word for word in words if "=" in word or word.startswith("~"))
    return tuple(word for word in words if word not in overrides), overrides


def _runs_and_overrides(words: Overrides) -> tuple[list[Path], Overrides]:
    """Runs are what has no ``=``, and what is there: a folder may be called ``seed=1``."""
    runs = [word for word in words if "=" not in word or os.path.lexists(word)]
    return [Path(word) for word in runs], tuple(word for word in words if word not in runs)


def _figures_or_claim(name: str, config: "Config") -> list[str]:
    """A paper's figures, or the one figure or claim that is meant by a name, its end, or the beginning of one only."""
    claims = [f"{paper}/{key}" for paper, claims in config.claims.items() for key in claims]
    if name in config.papers():
        return figures_named(name, list(config.figure))
    return [one_named("figure or claim", name, [*config.figure, *claims])]


def _config(overrides: Overrides) -> "Config":
    from resaudit.plan.composition import load

    return load(overrides)


def _plan(overrides: Overrides) -> "Plan":
    from resaudit.plan.plan import make_plan

    return make_plan(_config(overrides))


@cli.command()
@click.argument("job", metavar="KIND/ID")
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("results"),
    show_default=True,
    help="Folder of results, with the plan in it.",
)
@click.option("--code", metavar="HASH", help="Hash of the job's code, for provenance and checkpoints.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="CPU threads.")
@click.option(
    "--checkpoints",
    envvar=CHECKPOINTS,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of all checkpoints.  [default: checkpoints, in the folder of results]",
)
@click.option(
    "--copies",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder with copies of what a storage holds, inputs and results; the plan is not among them.",
)
def run(job: str, results: Path, code: str | None, threads: int, checkpoints: Path | None, copies: Path | None) -> None:
    """Run the job KIND/ID from results/plan/KIND/ID.json; its inputs must exist."""
    # Read by every numerical library when it is imported.
    for library in ("OMP", "MKL", "OPENBLAS"):
        os.environ[f"{library}_NUM_THREADS"] = str(threads)
    # Waiting threads sleep: torch's would take the cores from the fused kernel's.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    from resaudit.jobs.runner import run_job

    run_job(job, results, code, checkpoints, copies)


@cli.command()
@click.option("--claim", "wanted", metavar="ID", help="Only this claim, in full; the beginning of its id is enough.")
@click.option("--strict", is_flag=True, help="Fail unless every claim is supported.")
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path), help="Also write a page of what is drawn.")
@click.option("--claims-sha256", "digests", is_flag=True, help="Only the SHA-256 of each paper's claims as judged.")
@_with_overrides
def audit(wanted: str | None, strict: bool, page: Path | None, digests: bool, overrides: Overrides) -> None:
    """Print the verdict on every claim, from the tables in figures/. A PAPER's or FIGURE's name chooses its claims."""
    names, overrides = _names_and_overrides(overrides)
    config = _config(overrides)
    if digests:
        from resaudit.plan.words import claims_sha256

        for paper in config.claims:
            click.echo(f"{claims_sha256(config, paper)}  {paper}")
        return
    papers = [name for name in names if name in config.papers()]
    meant = [each for name in names if name not in papers for each in _figures_or_claim(name, config)]
    figures = [*papers, *(name for name in meant if name in config.figure)]
    claims = [name for name in meant if name not in config.figure]
    if wanted is not None:
        claims.append(wanted)
    if len(claims) > 1 or (claims and figures):
        raise click.UsageError("audit takes figures, or one claim")
    if page and claims:
        raise click.UsageError("--page shows all claims, not one")
    from resaudit.audit.terminal import run_audit
    from resaudit.plan.plan import make_plan

    plan = make_plan(config.model_copy(update={"figures": figures or config.figures}))
    run_audit(plan, overrides, click.echo, claims[0] if claims else None, strict, page)


@cli.command("list")
@click.argument("words", metavar="[PAPER]... [OVERRIDES]...", nargs=-1)
def list_figures(words: Overrides) -> None:
    """List the figures, or those of a paper, that can be drawn, and which of them are left out unless named."""
    from resaudit.base.text import folded
    from resaudit.cli.workflow import check_modules
    from resaudit.plan.estimates import left_out_in_words

    names, overrides = _names_and_overrides(words)
    config = _config(overrides)
    check_modules(config.figure)
    named = [figure for name in names for figure in figures_named(name, list(config.figure))]
    for name in named or config.figure:
        print(folded(f"{name:32} {config.figure[name].title}", others=" " * 33))
    if names:
        return
    for line in left_out_in_words(config, overrides):
        print(folded(line))


@cli.command()
@click.argument("words", metavar="[PAPER|FIGURE|CLAIM] [OVERRIDES]...", nargs=-1)
def explain(words: Overrides) -> None:
    """Show what FIGURE is drawn from, how CLAIM is judged, what PAPER costs, or (without a name) the whole run."""
    from resaudit.cli import explain as explained
    from resaudit.cli.workflow import check_modules
    from resaudit.plan.composition import load
    from resaudit.plan.plan import make_plan

    names, overrides = _names_and_overrides(words)
    config = _config(overrides)
    if len(names) > 1:
        raise click.UsageError("explain takes one paper, figure or claim, or none")
    meant = _figures_or_claim(names[0], config) if names else []
    check_modules([name for name in meant if name in config.figure] or config.figure)
    name = meant[0] if len(meant) == 1 else ""
    if names and meant[0] in config.figure:  # what is named is chosen: a key that it lacks is refused
        overrides = (*overrides, f"figures=[{name or names[0]}]")
        config = _config(overrides)
    if not name:
        lines = explained.explain_run(make_plan(config), overrides)
    elif name in config.figure:
        of_paper = load(["scale=paper"], only=[name]).figure[name]
        lines = explained.explain_figure(make_plan(config), of_paper, name, overrides)
    else:
        from resaudit.audit.terminal import explain_claim

        lines = explain_claim(make_plan(config), overrides, name)
    for line in lines:
        click.echo(line)


@cli.command()
@click.argument("words", metavar="[CHECK]... [OVERRIDES]...", nargs=-1)
def checks(words: Overrides) -> None:
    """List the checks, or only those that are named: parameters with types, meaning, the claims that use each."""
    from resaudit.cli.explain import explain_checks

    names, overrides = _names_and_overrides(words)
    for line in explain_checks(_config(overrides), names):
        click.echo(line)


class PassingOn(click.Command):
    """A command that leaves what follows ``--`` in its context's ``args``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before it."""
        end = [*args, "--"].index("--")
        super().parse_args(ctx, args[:end])
        ctx.args = args[end + 1 :]
        return ctx.args


@cli.command(cls=PassingOn)
@click.argument("words", metavar="[FIGURE|PAPER|robustness]... [OVERRIDES]... [-- WORDS OF SNAKEMAKE]", nargs=-1)
@click.pass_context
def draw(context: click.Context, words: Overrides) -> None:
    """Draw figures, by default all, and judge their claims, in the working directory.

    Prints and runs a command of snakemake, which gets what follows --: resaudit draw fig07 scale=paper -- --cores 4 -n
    """
    from resaudit.base.commands import snakemake_words
    from resaudit.base.papers import as_words, root
    from resaudit.cli.workflow import OTHER_RULES

    names, overrides = _names_and_overrides(words)
    figures = [name for name in names if name not in OTHER_RULES]
    rules = [name for name in names if name in OTHER_RULES]
    snakefile = [] if root() == Path.cwd() else ["--snakefile", str(root() / "Snakefile")]
    settings = {"figures": figures, "overrides": [*as_words(), *overrides]}
    command = ["snakemake", "--cores", "all", *snakemake_words(settings, *rules, *snakefile, *context.args)]
    if shutil.which(command[0]) != str(Path(sys.executable).with_name(command[0])):  # none, or another environment's
        command[:1] = [sys.executable, "-m", command[0]]
    print(shlex.join(command), flush=True)
    os.execvp(command[0], command)


@cli.command("judge")
@click.argument("table", metavar="TABLE.csv", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--claims",
    metavar="CLAIMS.yaml",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Claims by id, as in a claims.yaml; instead of the options below.",
)
@click.option("--check", metavar="NAME", default="ratio_of_means", show_default=True, help="See resaudit checks.")
@click.option("--value", "column", metavar="COLUMN", help="What was measured.")
@click.option("--group", "by", metavar="COLUMN", help="What tells the groups of runs, such as the method.")
@click.option("--compare", metavar="A:B", help="Two values of that column: A relative to B.")
@click.option(
    "--seed", metavar="COLUMN", help="What numbers the runs.  [default: run or seed, else each line is a run]"
)
@click.option("--paired", is_flag=True, help="Runs of both groups with the same seed belong together.")
@click.option("--per", metavar="COLUMN", multiple=True, help="Judge each of its values separately; all must hold.")
@click.option("--where", "rows", metavar="COLUMN=VALUE", multiple=True, help="Only these lines.")
@click.option("--at-least", type=float, help="The effect is not below this.")
@click.option("--at-most", type=float, help="The effect is not above this.")
@click.option("--within-factor", type=float, help="The effect, a ratio, lies between 1/f and f.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the fields of audit.json.")
@click.option("--page", metavar="OUT.html", type=click.Path(dir_okay=False, path_type=Path), help="Write a page too.")
@click.option("--strict", is_flag=True, help="Fail unless every claim is supported.")
@click.pass_context
def judge(
    context: click.Context,
    /,
    table: Path,
    claims: Path | None,
    check: str,
    compare: str | None,
    seed: str | None,
    rows: Overrides,
    as_json: bool,
    page: Path | None,
    strict: bool,
    **given: Any,
) -> None:
    """Judge claims about anybody's TABLE.csv of runs: columns for groups, seeds and values, one line a run."""
    from resaudit.audit import judging
    from resaudit.plan.overrides import Files

    if claims is not None:
        with_both = ("table", "claims", "seed", "as_json", "page", "strict")
        others = [each for each in context.command.params if each.name not in with_both]
        given_too = [
            each.opts[0]
            for each in others
            if context.get_parameter_source(str(each.name)) is not ParameterSource.DEFAULT
        ]
        if given_too:
            raise click.UsageError(f"--claims takes all of that from its file; leave out {', '.join(given_too)}")
        sections = Files(claims.parent).read(claims.resolve())
    else:
        if not given["column"]:
            raise click.UsageError("give --value COLUMN with what was measured, or --claims CLAIMS.yaml")
        above, _, below = (compare or "").partition(":")
        if odd := next((row for row in rows if "=" not in row), None):
            raise click.UsageError(f"--where {odd} has no '='; write --where COLUMN=VALUE")
        chosen = {column.strip(): value.strip() for column, _, value in (row.partition("=") for row in rows)}
        if len(chosen) < len(rows):
            raise click.UsageError("--where gives a column twice; a line has one value of it, --per judges each")
        sections = judging.asked(check, given.pop("by"), above, below, rows=chosen, per=list(given.pop("per")), **given)
    judged = judging.judge_table(table, sections, seed)
    if page is not None:
        judging.write_page(judged, page)
    for line in [judged.model_dump_json(indent=2)] if as_json else judging.in_words(judged):
        click.echo(line)
    if strict:
        from resaudit.audit.models import refuse_unsupported

        refuse_unsupported({claim.id: claim.verdict for claim in judged.claims})


@cli.command()
@click.argument("copy", metavar="PAPER.pdf", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("words", metavar="[PAPER|CLAIM] [OVERRIDES]...", nargs=-1)
@click.option("--sentence", metavar="TEXT", help="Only print its entry for sentences.yaml, if the copy has it.")
def sources(copy: Path, words: Overrides, sentence: str | None) -> None:
    """Find the sentences on which claims rest in your copy of a paper, a PDF or text, and print both side by side."""
    from resaudit.claims.sources import find, sentence_of, side_by_side, text_of

    if sentence is not None:
        entry = sentence_of(sentence)
        if not find([entry], text_of(copy)):
            raise DifferenceError(f"{copy} does not have this sentence")
        click.echo(f'{{words: {entry.words}, sha256: "{entry.sha256}"}}')
        return
    names, overrides = _names_and_overrides(words)
    if len(names) > 1:
        raise click.UsageError("sources takes one paper or claim, or none")
    config = _config(overrides)
    papers, claim = list(config.claims), None
    if names and names[0] in papers:
        papers = [names[0]]
    elif names:
        claim = one_named("claim", names[0], [f"{paper}/{key}" for paper in papers for key in config.claims[paper]])
        papers = [claim.split("/")[0]]
    for line in side_by_side(config, papers, copy, claim):
        click.echo(line)


@cli.group()
def new() -> None:
    """Write the skeleton of a paper."""


@new.command("paper")
@click.argument("name")
@click.option("--into", "folder", metavar="FOLDER", default="papers", show_default=True, help="For papers_path=FOLDER.")
def new_paper(name: str, folder: str) -> None:
    """Write a paper NAME that runs at once: a figure, a claim, a kind of job, and what to change next."""
    from resaudit.base.commands import papers_path, resaudit_command
    from resaudit.base.papers import KEY
    from resaudit.cli.skeleton import write_paper

    for file in write_paper(name, Path(folder)):
        click.echo(f"wrote {file}")
    click.echo(f"next: {resaudit_command('draw', name, f'{KEY}={papers_path(folder)}')}")


@cli.command("hash")
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
def hash_files(folder: Path) -> None:
    """Print names, sizes and SHA-256 for config/dataset/NAME.yaml.

    FOLDER holds four IDX files, or images in train/CLASS/ and test/CLASS/, or a tar archive of these (which may be
    named itself).
    """
    import yaml

    from resaudit.data.description import description_of

    click.echo(yaml.safe_dump(description_of(folder), sort_keys=False), nl=False)


@cli.command()
@click.argument("words", metavar="[A B] [OVERRIDES]...", nargs=-1)
def compare(words: Overrides) -> None:
    """Compare the tables in figures/, and the verdicts by them, with those in figures/reference.

    With A and B, two audits side by side: verdicts, and what differs where these do. Each is an audit.json, a folder
    that has it, or the archive of a run.
    """
    runs, overrides = _runs_and_overrides(words)
    if len(runs) not in (0, 2):
        raise click.UsageError("compare takes two audits, or none")
    if runs:
        from resaudit.audit.changes import pairs, side_by_side
        from resaudit.share.finished_runs import audit_of

        audits = [audit_of(run) for run in runs]
        for line in side_by_side(*audits):
            click.echo(line)
        if others := [pair.claims[0].id for pair in pairs(*audits) if not pair.agrees]:
            raise DifferenceError(f"{len(others)} claims have another verdict: {listed(others)}")
        return
    plan = _plan(overrides)
    from resaudit.claims.comparison import compare_with_references
    from resaudit.figures.tables import refuse_undrawn

    refuse_undrawn(plan)
    failed = compare_with_references(plan, click.echo)
    if failed:
        raise DifferenceError(f"{len(failed)} figures do not agree with their references: {listed(failed)}")


@cli.command()
@click.option("--into", metavar="FOLDER", default="merged", show_default=True, type=click.Path(path_type=Path))
@click.argument("words", metavar="A B... [OVERRIDES]...", nargs=-1)
def merge(into: Path, words: Overrides) -> None:
    """Make one audit of several runs of the same protocol: tables, drawings and verdicts in a new folder.

    Each is the archive of a run, a clone, or its folder of figures. Runs of other seeds are pooled, a run that several
    have counts once.
    """
    runs, overrides = _runs_and_overrides(words)
    if len(runs) < 2:
        raise click.UsageError("merge takes two runs or more")
    plan = _plan(overrides)
    from resaudit.share.merging import merge

    for line in merge(runs, plan, overrides, into):
        click.echo(line)
    click.echo(f"open {into / 'audit.html'}")


@cli.command()
@_with_overrides
def reference(overrides: Overrides) -> None:
    """Copy the tables in figures/, and the matrix, to figures/reference, to be committed.

    Tables of another scale than the default go to figures/reference/scale_SCALE, a matrix of another scale is not kept.
    """
    plan = _plan(overrides)
    from resaudit.claims.comparison import write_references
    from resaudit.claims.robustness import keep_matrix
    from resaudit.plan.composition import load

    write_references(plan, click.echo)
    if plan.config.scale.name == load(only=()).scale.name:
        keep_matrix(plan, click.echo)


@cli.command()
@click.argument("destination", metavar="OUT.zip", type=click.Path(path_type=Path))
@click.option("--by", metavar="'NAME <ORCID>'", help="Who ran it; the ORCID may be left out.")
@_with_overrides
def crate(destination: Path, by: str | None, overrides: Overrides) -> None:
    """Pack the finished run into OUT.zip, a Workflow Run RO-Crate: workflow, settings, results, audit, provenance."""
    plan = _plan(overrides)
    from resaudit.share.crate import write_crate

    write_crate(plan, destination, by)
    click.echo(f"wrote {destination}")


@cli.command("import")
@click.option("--other-code", is_flag=True, help="Accept results of other code than this checkout's.")
@click.option(
    "--forget", "forgotten", metavar="RUN", help="Undo an import: its SHA-256, the beginning of it, or RUN.zip."
)
@click.argument("words", metavar="[RUN.zip] [OVERRIDES]...", nargs=-1)
def import_archive(other_code: bool, forgotten: str | None, words: tuple[str, ...]) -> None:
    """Import the results of somebody's run from RUN.zip, with the overrides that the run had; own results are kept."""
    if forgotten is not None:
        from resaudit.plan.models import Layout
        from resaudit.share.records import forget_import

        digest, removed = forget_import(forgotten, Layout(_config(words).paths))
        click.echo(f"forgot the import {digest[:12]}…: {len(removed)} results and what was drawn from them are removed")
        return
    if not words:
        raise click.UsageError("give RUN.zip, which resaudit crate made, or --forget RUN")
    archive, *overrides = words
    if not Path(archive).is_file():
        raise ConfigError(f"{archive} is not a file; give an archive of resaudit crate, then overrides")
    from resaudit.share.importing import import_run

    import_run(Path(archive), _config(tuple(overrides)), overrides, other_code, click.echo)


@cli.command("spot-check")
@click.option("--minutes", type=click.FloatRange(min=0), help="Time to start jobs in.  [default: 10; all with --claim]")
@click.option("--claim", "wanted", metavar="ID", help="All that this claim's verdict rests on.")
@click.option(
    "--seed", help="Of the draw: to go on with an earlier one, or agreed on beforehand.  [default: a new one]"
)
@_with_overrides
def spot_check(minutes: float | None, wanted: str | None, seed: str | None, overrides: Overrides) -> None:
    """Recompute some of an imported run, drawn by what verdicts rest on, and compare."""
    if minutes is not None and not math.isfinite(minutes):
        raise click.BadParameter(f"it must be a finite number, such as 10, not {minutes}", param_hint="--minutes")
    config = _config(overrides)
    from resaudit.plan.plan import make_plan
    from resaudit.share.spot_check import MINUTES
    from resaudit.share.spot_check import spot_check as check

    # Results of figures that this machine would not draw may be imported, and are named as out of reach.
    plan = make_plan(config if config.figures else config.with_every_figure())

    if minutes is None and wanted is None:
        minutes = MINUTES
    if not check(plan, click.echo, minutes, wanted, seed):
        raise DifferenceError(
            "results were not reproduced, have other bytes than expected, or none could be compared; see above"
        )
