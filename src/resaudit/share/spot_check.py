"""``resaudit spot-check``: Snakemake recomputes some of an imported run, drawn by what verdicts rest on; we compare.

All by this checkout's plan, claims and estimates, never the sender's. A job runs in a folder of results of its own,
``results/.spot-check/<kind>/<id>``, with links to its inputs in ``results/``: what differs then is this job's doing.
"""

import hashlib
import json
import math
import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from resaudit.audit.models import Outcome, SpotCheckMade
from resaudit.base.errors import BusyError, ConfigError, Interrupted, ResauditError, one_named
from resaudit.base.files import write_json
from resaudit.base.models import one_line, shown
from resaudit.base.papers import as_words, root
from resaudit.base.text import counted
from resaudit.data.fetch import Fetch
from resaudit.jobs.job import RECORDS, Cost, Execution, Job
from resaudit.jobs.origin import CHECKS, RECOMPUTED, Origin, origin_of
from resaudit.jobs.plan_files import code_of, write_job
from resaudit.jobs.results import JobProvenance, read_provenance
from resaudit.plan.estimates import Estimates
from resaudit.plan.models import Layout
from resaudit.plan.plan import Plan, execution_of, with_inputs
from resaudit.runtime.devices import visible_devices
from resaudit.runtime.extensions import vector_lanes
from resaudit.runtime.limits import processors
from resaudit.runtime.locks import hold
from resaudit.share.comparing import Compared, JudgedTwice, compare, judge_twice

MINUTES = 10.0
"""Default time to start jobs in."""
SECONDS_ALWAYS = 2.0
"""Jobs predicted to work for less, beyond starting, come first."""
OUTCOMES: dict[Outcome, str] = {
    "equal": "equal in every byte",
    "within tolerance": "within tolerance (another CPU platform)",
    "warned": "within tolerance where equal bytes were expected",
    "failed": "not reproduced",
    "not confirmed": "not confirmed",
}
AGREED: tuple[Outcome, ...] = ("equal", "within tolerance")
MOST_NAMED = 8


@dataclass(frozen=True)
class Imported:
    """One imported result."""

    job: Job  # the job whose result it is
    origin: Origin  # where it comes from
    execution: Execution  # how to recompute it here: on a GPU if it was made on one, by the kernel that computed it
    cost: Cost  # the cost predicted for this execution
    weight: float  # its share of what all verdicts rest on
    obstacle: str | None  # why it cannot be recomputed here


@dataclass(frozen=True)
class Check:
    """A spot-check, as far as it has come."""

    seed: str  # of the draw
    claims: Mapping[str, Sequence[str]]  # keys of the imported results that a verdict rests on, by ``paper/claim``
    jobs: Mapping[str, Imported]  # these results, by key
    compared: Mapping[str, Compared]  # the comparisons of those that were recomputed, by key
    judged: Mapping[str, JudgedTwice]  # the verdicts that rest on these, by ``paper/claim``

    def keys(self, *outcomes: Outcome) -> list[str]:
        """The recomputed jobs with these outcomes."""
        return [key for key, one in self.compared.items() if one.outcome in outcomes]

    @property
    def turned(self) -> list[str]:
        """The claims whose verdict is another one with what was recomputed."""
        return [name for name, twice in self.judged.items() if not twice.same and not twice.obstacle]

    @property
    def record(self) -> SpotCheckMade:
        """Its record for the audit."""
        agreed, failed, turned = set(self.keys(*AGREED)), set(self.keys("failed")), self.turned
        return SpotCheckMade(
            archives=sorted({one.origin.archive for one in self.jobs.values()}),
            seed=self.seed,
            jobs={key: one.outcome for key, one in self.compared.items()},
            checked=len(self.compared) - len(self.keys("not confirmed")),
            of=len(self.jobs),
            equal=len(agreed),
            failed=len(failed),
            covered=[
                name for name, twice in self.judged.items() if twice.same and agreed.issuperset(self.claims[name])
            ],
            doubted=[name for name, keys in self.claims.items() if failed.intersection(keys) or name in turned],
            when=datetime.now(UTC).isoformat(timespec="seconds"),
            statement=[],
        )

    def sentences(self, results: Path) -> Iterator[str]:
        """What was compared, what differs, and what was not covered."""
        counts, record = Counter(one.outcome for one in self.compared.values()), self.record
        words = [f"{counts[outcome]} {meaning}" for outcome, meaning in OUTCOMES.items() if counts[outcome]]
        outcome = f", all {words[0].partition(' ')[2]}" if len(words) == 1 else f": {', '.join(words) or 'none'}"
        jobs, under = counted(len(self.jobs), "job"), counted(len(self.claims), "verdict")
        yield f"{len(self.compared)} of {jobs} under {under} recomputed{outcome} (seed {self.seed})."
        for key in self.keys("failed", "warned"):
            one, folder = self.compared[key], redone(self.jobs[key].job, results)
            what = "NOT REPRODUCED" if one.outcome == "failed" else "Not equal in every byte"
            yield f"{what}: {key}: {one.difference}; recomputed in {folder}."
        for name in self.turned:
            before, after = self.judged[name].imported, self.judged[name].recomputed
            yield f"ANOTHER VERDICT: {name}: {before} as imported, {after} with what was recomputed."
        if record.doubted:
            yield (
                f"Verdicts that rest on this: {', '.join(record.doubted)}. A difference is more often due to another "
                "processor or library than to intent: compare the machines in both provenance.json."
            )
        if covered := ", ".join(record.covered):
            yield f"All that these verdicts rest on was recomputed and agrees, and so do they: {covered}."
        out = {key: one.obstacle for key, one in self.jobs.items() if one.obstacle}
        yield from _reasons("Not confirmed", {key: self.compared[key].difference for key in self.keys("not confirmed")})
        yield from _reasons(
            "Not judged again", {name: two.obstacle for name, two in self.judged.items() if two.obstacle}
        )
        weight = sum(self.jobs[key].weight for key in out)
        yield from _reasons(f"Out of reach, with {weight:.0%} of what these verdicts rest on", out)


def _reasons(what: str, by_key: Mapping[str, str]) -> Iterator[str]:
    """Why jobs or claims are not covered: a sentence, if there are any; the first of many, and how many more."""
    first = "; ".join(f"{key} ({reason})" for key, reason in list(by_key.items())[:MOST_NAMED])
    more = f" and {len(by_key) - MOST_NAMED} more" * (len(by_key) > MOST_NAMED)
    if by_key:
        yield f"{what}: {first}{more}."


def spot_check(
    plan: Plan, say: Callable[[str], None], minutes: float | None, claim: str | None = None, seed: str | None = None
) -> bool:
    """Recompute imported results, compare them, and record that in ``results/spot-checks`` for the audit.

    Args:
        plan: the plan of this checkout.
        say: prints a line.
        minutes: time to start jobs in; None: as long as it takes.
        claim: the only claim to check; None: all.
        seed: seed of the draw; None: a new one.

    Returns:
        Whether something was compared, all of it agrees (in every byte where equal bytes were expected), and every
        verdict is the same with what was recomputed.

    Raises:
        ResauditError: nothing is imported, or another spot-check is at work.
        Interrupted: by a signal; what was recomputed so far is compared and recorded.
    """
    results, cores = Layout(plan.config.paths).results, processors()
    seconds, seed = None if minutes is None else 60 * minutes, seed or secrets.token_hex(16)
    claims, jobs = evidence(plan, results, execution_of(plan.config), seconds, cores, claim)
    folder = results / RECOMPUTED
    folder.mkdir(parents=True, exist_ok=True)
    with suppress(NotImplementedError):
        if not hold(folder / ".lock"):
            raise BusyError(f"another spot-check is at work in {folder}; wait for it")
    chosen = drawn(seed, jobs)
    say(f"seed {seed}: {len(chosen)} of {counted(len(jobs), 'imported result')} can be recomputed here")
    stopped = _recompute([jobs[key] for key in chosen], results, cores, seconds)
    # What was stopped has not failed.
    over = [key for key in chosen if not stopped or (redone(jobs[key].job, results) / RECORDS[1]).is_file()]
    found = {key: one for key in over if (one := compared(jobs[key], results))}
    check = Check(seed, claims, jobs, found, {})
    again = {key: redone(jobs[key].job, results) for key in check.keys("within tolerance", "warned", "failed")}
    resting = [name for name, keys in claims.items() if found.keys() & keys]
    check = replace(check, judged=judge_twice(plan, results, resting, again))
    said = list(check.sentences(results))
    record = check.record.model_copy(update={"statement": said}).model_dump(mode="json", by_alias=True)
    name = hashlib.sha256(f"{seed} {claim}".encode()).hexdigest()[:16]
    write_json(path := results / CHECKS.replace("*", name), record)
    for line in (*said, f"written to {path}; with --seed {seed} and more time the same list goes on"):
        say(line)
    if stopped:
        raise Interrupted(stopped, "the statement above is of what was compared so far")
    return bool(check.keys(*AGREED)) and not check.keys("failed", "warned") and not check.turned


def evidence(
    plan: Plan, results: Path, here: Execution, seconds: float | None, cores: int, claim: str | None = None
) -> tuple[dict[str, list[str]], dict[str, Imported]]:
    """By ``paper/claim``, the keys of the imported results that its verdict rests on; and these results, by key.

    Jobs that take longer than ``seconds`` on these cores are out of reach (None: none is), and so are those of a GPU if
    ``here`` has none. A ``claim`` is named by its id or an unmistakable part of it; None: all.
    """
    names = [f"{paper}/{claim_id}" for paper in plan.config.claims for claim_id in plan.config.claims_of(paper)]
    chosen = names if claim is None else [one_named("claim", claim, names)]
    origins = {key: origin for key in plan.jobs if (origin := origin_of(results, key))}
    claims = {name: sorted(origins.keys() & _under(plan, *name.split("/"))) for name in chosen}
    claims = {name: keys for name, keys in claims.items() if keys}
    if not claims:
        user = f"the figures of this plan need in {results}" if claim is None else f"{chosen[0]} rests on"
        raise ConfigError(f"no result that {user} is imported; import a run first (resaudit import RUN.zip)")
    jobs, estimates = dict[str, Imported](), Estimates.of(plan.config, here)
    for key, weight in weights(claims).items():
        job, origin = plan.jobs[key], origins[key]
        can_use_gpu = job.cost(replace(here, device="cuda")).wants_gpu
        device = "cuda" if can_use_gpu and origin.cpu_platform.get("device") != "cpu" else "cpu"
        kernel = {"torch": "torch", "fused kernel": "fused"}.get(family(origin.kernel), here.kernel)
        execution = replace(here, device=device, kernel=kernel)
        one = Imported(job, origin, execution, replace(estimates, execution=execution).here(job), weight, None)
        jobs[key] = replace(one, obstacle=_obstacle(one, here, seconds, cores))
    return claims, jobs


def _under(plan: Plan, paper: str, claim: str) -> Mapping[str, Job]:
    """The jobs that a claim's verdict rests on."""
    entry = plan.config.claims_of(paper)[claim]
    figure_plan = plan.figures.get(f"{paper}/{entry.evidence}")
    return with_inputs(figure_plan.jobs.values()) if figure_plan and entry.not_yet is None else {}


def _obstacle(one: Imported, here: Execution, seconds: float | None, cores: int) -> str | None:
    if one.origin.accepted_code != code_of(one.job):
        return "it was imported for other code than today's"
    if one.execution.device != "cpu" and here.device == "cpu":
        return f"it was made on {one.origin.cpu_platform.get('device')}, and torch can use no GPU here"
    lanes = {name: number for name, number in vector_lanes().items() if number}
    kernels = [family(kernel) for kernel in one.job.kernels(one.execution.device, lanes)]
    if kernels and family(one.origin.kernel) not in kernels:
        return f"it was computed by the {family(one.origin.kernel)}, which is not here (pip install -e . builds it)"
    predicted = one.cost.seconds / min(one.cost.threads, cores)
    return f"it takes about {predicted:.0f} s here" if seconds is not None and predicted > seconds else None


def family(kernel: str | None) -> str:
    """A kernel without the reason for it and the width of its vectors, which the CPU platform has.

    >>> family("torch, as configured"), family("fused kernel, vectors of 8 floats")
    ('torch', 'fused kernel')
    """
    return (kernel or "").partition(",")[0]


def weights(claims: Mapping[str, Collection[str]]) -> dict[str, float]:
    """The weight of each job: every claim has the same, spread evenly over the jobs that it rests on; together 1.

    >>> weights({"a": ["train/1"], "b": ["train/1", "train/2"]})
    {'train/1': 0.75, 'train/2': 0.25}
    """
    weight = Counter[str]()
    for keys in claims.values():
        weight.update(dict.fromkeys(keys, 1 / (len(claims) * len(keys))))
    return dict(weight)


def drawn(seed: str, jobs: Mapping[str, Imported]) -> list[str]:
    """The jobs in reach in the order of the draw: short ones first, then each next one with a chance ∝ its weight.

    The arrival times −ln(u)/weight, u from SHA-256 of the seed and the key, have that order (Efraimidis and Spirakis,
    2006).
    """

    def place(key: str) -> tuple[bool, float]:
        digest = hashlib.sha256(f"resaudit spot-check 1\0{seed}\0{key}".encode()).digest()
        arrival = -math.log((int.from_bytes(digest, "big") + 1) / 2**256) / jobs[key].weight
        return jobs[key].cost.seconds >= Cost.START.seconds + SECONDS_ALWAYS, arrival

    return sorted((key for key, one in jobs.items() if one.obstacle is None), key=place)


def _recompute(jobs: Iterable[Imported], results: Path, cores: int, seconds: float | None) -> int | None:
    """Recompute jobs, started in their order while time is left; returns the signal that stopped them, if one did."""
    rules: dict[str, dict[str, Any]] = {}
    for one in jobs:
        _prepare(rules, one.job, one.execution, results, one.cost.threads)
    write_json(plan := results / RECOMPUTED / "jobs.json", rules)
    options = {
        "snakefile": root() / "workflow" / "spot_check.smk",
        "config": f"jobs={json.dumps(str(plan))}",
        "cores": cores,
        "resources": f"gpu={max(1, len(visible_devices()))}",
        "scheduler": "greedy",
        "profile": "none",
        "workflow-profile": "none",
    }
    words = [f"--{option}={value}" for option, value in options.items()]
    flags = ["--keep-going", "--nolock", "--rerun-incomplete", "--quiet", "rules", "host", "reason"]
    stopped, begun = list[int](), list[int]()

    def stop(number: int, _frame: FrameType | None) -> None:
        stopped.append(number)
        with suppress(ProcessLookupError):  # Snakemake and its jobs, of which trainings keep their checkpoints
            for group in begun:
                os.killpg(group, signal.SIGINT)

    # Before Snakemake begins, which else ignored SIGINT where a script starts this in the background.
    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    # In a session of its own, so that Ctrl-C reaches this process alone; a container's user may have no name.
    snakemake = subprocess.Popen(
        [sys.executable, "-m", "snakemake", *words, *flags],
        env={"USER": str(os.getuid()), **os.environ},
        start_new_session=True,
    )
    begun.append(snakemake.pid)
    try:
        try:
            snakemake.wait(seconds)
        except subprocess.TimeoutExpired:
            snakemake.terminate()  # it starts no other job, and waits for those at work
            snakemake.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return stopped[0] if stopped else None


def redone(job: Job, results: Path) -> Path:
    """The folder of a recomputed result, in the job's own folder of results."""
    return job.folder(results / RECOMPUTED / job.key)


def _prepare(rules: dict[str, dict[str, Any]], job: Job, execution: Execution, results: Path, threads: int) -> None:
    """Write a job's plan and rule, and link the results that it reads; of those not here, likewise."""
    folder, reads, inputs = results / RECOMPUTED / job.key, set(job.reads(results)), list[Path]()
    write_job(job, execution, folder)
    for needed in job.inputs.values():
        files = reads.intersection(needed.written(results))
        is_here = all(file.is_file() for file in files)
        if not is_here and needed.key not in rules:
            _prepare(rules, needed, execution, results, 1)
        if needed.files and files:
            source = needed.folder(results) if is_here else redone(needed, results)
            link = needed.folder(folder)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(source.absolute())
            inputs.append(source / RECORDS[1])
        else:
            inputs += [file for file in files if not file.is_file()]
    # Snakemake would remove raw files that are there, as of an output.
    made = [job.record(folder)] if job.files else [file for file in job.written(folder) if not file.is_file()]
    if not job.record(folder).is_file():
        (folder / "log").unlink(missing_ok=True)  # which would say that it failed now
    command = [sys.executable, "-m", "resaudit", *as_words(), "run", job.key, "--results", str(folder)]
    rules[job.key] = {
        "reads": list(map(str, inputs)),
        "makes": list(map(str, made)),
        "log": str(folder / "log"),
        "threads": threads,
        "gpu": int(execution.device == "cuda"),
        "execution": f"{execution.device}, {execution.kernel}",
        "command": shlex.join([*command, "--code", code_of(job)]),
    }


def compared(one: Imported, results: Path) -> Compared | None:
    """The comparison of a result with what was recomputed; None if that was not begun, or by other code."""
    job, ours, theirs = one.job, redone(one.job, results), one.job.folder(results)
    if not (ours / RECORDS[1]).is_file():
        begun = (job, *with_inputs(job.inputs.values()).values())
        failed = (why for each in begun if (why := _failure(each, results)))
        return next((Compared("not confirmed", f"it failed here: {why}") for why in failed), None)
    try:
        here, there = read_provenance(ours), read_provenance(theirs)
        if here.code != code_of(job):
            return None
        # Input digests differ where, say, whitened data had to be computed here on another CPU platform.
        same_inputs = _computed_inputs(job, here) == _computed_inputs(job, there)
        # A result of several platforms has parts that no single one can give again.
        is_same = same_inputs and here.platforms == there.platforms == [one.origin.cpu_platform]
        if is_same and family(here.kernel) != family(one.origin.kernel):
            return Compared("not confirmed", f"computed by {here.kernel}, not by {shown(one.origin.kernel)}")
        return compare(job.files, ours, theirs, is_same, job.tolerances())
    except (OSError, ResauditError) as error:
        return Compared("failed", f"cannot be read ({error})")


def _failure(job: Job, results: Path) -> str:
    """The last line of what a job said that was begun and made nothing; else empty."""
    log = results / RECOMPUTED / job.key / "log"
    if not log.is_file() or (redone(job, results) / RECORDS[1]).is_file():
        return ""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return one_line(lines[-1] if lines else f"no word in {log}").removeprefix("resaudit: error: ")


def _computed_inputs(job: Job, provenance: JobProvenance) -> dict[str, str]:
    """The digests of what a job read, without raw data: of those, an import has to take the sender's word."""
    raw = {needed.key for needed in job.inputs.values() if isinstance(needed, Fetch)}
    return {name: digest for name, digest in provenance.inputs.items() if name.rpartition("/")[0] not in raw}
