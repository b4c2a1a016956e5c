"""What would decide a claim that is open or not run: how many runs, how to ask for them, and what they cost."""

from collections.abc import Sequence

from resaudit.base.errors import ResauditError
from resaudit.claims.decision import ERRORS_OF_RUNGS, MOST_RUNS
from resaudit.claims.records import Judgement
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load
from resaudit.plan.estimates import Estimates, hours_in_words, time_in_words
from resaudit.plan.models import Config
from resaudit.plan.plan import execution_of, make_plan
from resaudit.plan.trees import Files
from resaudit.plan.words import command_for


def would_decide(
    config: Config,
    claim: Claim,
    figure: str,
    judgement: Judgement,
    overrides: Sequence[str],
    files: Files | None = None,
) -> tuple[str, str | None]:
    """What would decide a claim, in words, and the command for it, if one can.

    Both are empty if it is decided, or its figure cannot be drawn yet.

    Args:
        config: the configuration of the run.
        claim: the claim.
        figure: ``paper/figure`` of its evidence.
        judgement: the verdict.
        overrides: the overrides as they were given.
        files: the configuration's files, if several claims share them.
    """
    if judgement.verdict == "not run" and not claim.not_yet:
        return _to_run(config, claim, figure, overrides, files)
    seen = max((point.n for result in judgement.checks for point in result.points), default=0)
    if judgement.obstacle and 0 < seen < claim.needs.followed:
        return by_more_runs(config, figure, seen, claim.needs.followed, overrides, files)
    if judgement.verdict != "inconclusive" or judgement.obstacle:
        return "", None
    is_open = [result for result in judgement.checks if result.verdict == "inconclusive"]
    missing = [place for result in is_open for place in result.missing]
    if missing:
        return f"What is missing would decide it: {'; '.join(missing)}.", None
    needed = [result.runs_to_decide for result in is_open]
    if None in needed:
        if any(result.spread for result in is_open):
            return "More runs can decide it only if they tell the tied learning rates apart.", None
        if reasons := [reason for result in is_open if result.is_open for reason in result.left_out]:
            more = f" and {len(reasons) - 1} more" * (len(reasons) > 1)
            return f"More runs alone would not decide it, since an interval is open: {reasons[0]}{more}.", None
        return f"Too close to call: {MOST_RUNS} runs would not decide it, or it is not known.", None
    wanted = max(number for number in needed if number is not None)
    on_screening = any(claim.checks[result.name].on_screening for result in is_open)
    if config.figure[figure].protocol.is_confirmed and on_screening:
        return f"About {wanted} runs of the sweep would decide it.", None
    read = max(point.n for result in is_open for point in result.points if result.runs_to_decide == wanted)
    return by_more_runs(config, figure, read, wanted, overrides, files)


def _to_run(
    config: Config, claim: Claim, figure: str, overrides: Sequence[str], files: Files | None
) -> tuple[str, str]:
    # Which scales give a verdict is the claim's own need.
    takes, scale = f"To run it takes {time_in_words(config, [figure])}", claim.needs.scales[0]
    if config.scale_of(figure) in claim.needs.scales:
        return f"{takes}. For a verdict:", command_for([figure], overrides)
    paper, _, short = figure.partition("/")
    replaced = ["scale=", "device=", f"{short}.scale=", f"figure.{paper}.{short}.scale="]
    if figure not in config.figures:
        replaced.append("protocol.")  # of the figures that were chosen
    kept = [override for override in overrides if not override.startswith(tuple(replaced))]
    hours = hours_in_words(load([*kept, f"scale={scale}"], files, only=[figure]))
    given = [*kept, f"scale={scale}", f"device={execution_of(config).device}"]
    return (
        f"{takes}, which is no evidence: that begins at scale {scale}, with {hours}. For a verdict:",
        command_for([figure], given),
    )


def by_more_runs(
    config: Config, figure: str, read: int, wanted: int, overrides: Sequence[str], files: Files | None = None
) -> tuple[str, str | None]:
    """``wanted`` runs where a claim reads ``read``: the core-hours that they add, and the command if there is one.

    On a ladder that was decided on beforehand the next look is the next rung's.
    """
    protocol, would = config.figure[figure].protocol, f"About {wanted} runs would decide it"
    if config.rung is not None and protocol.is_confirmed:
        if config.rung == len(ERRORS_OF_RUNGS):
            return f"{would}; this is the last rung.", None
        given = [each for each in overrides if not each.startswith("rung=")] + [f"rung={config.rung + 1}"]
        return f"{would}. The next rung, {_hours(config, figure, given, files)}:", command_for([figure], given)
    settings = [f"protocol.{key}={runs}" for key, runs in protocol.with_runs(read, wanted).items()]
    if not settings:
        return f"{would}.", None
    try:
        hours = _hours(config, figure, [*overrides, *settings], files)
    except ResauditError:
        return f"{would}, which is more than the figure takes.", None
    return f"{would}, {hours}:", command_for([figure], [*overrides, *settings])


def _hours(config: Config, figure: str, overrides: Sequence[str], files: Files | None) -> str:
    """The core-hours that other overrides add to a figure, in words."""
    before = make_plan(config.model_copy(update={"figures": [figure]})).jobs
    after = make_plan(load(overrides, files, only=[figure]).model_copy(update={"figures": [figure]})).jobs
    estimates = Estimates.of(config)
    seconds = sum(estimates.cost(job).seconds for key, job in after.items() if key not in before)
    return f"{seconds / 3600:.2g} core-hours"
