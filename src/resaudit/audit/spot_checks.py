"""The record of a spot-check: ``results/spot-checks/<time>-<seed>.json``, an in-toto Statement v1 of test results."""

import math
from collections import Counter
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from resaudit.audit.sampling import reached
from resaudit.base.files import write_json
from resaudit.base.models import Closed, Line, Sha256, Time, read_record
from resaudit.jobs.origin import STATEMENTS, origin_of

STATEMENT = "https://in-toto.io/Statement/v1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"

Outcome = Literal["equal", "within tolerance", "warned", "failed", "not confirmed"]
"""``warned``: apart by rounding alone where equal bytes were expected; that is no agreement."""
COMPARED: tuple[Outcome, ...] = ("equal", "within tolerance", "warned", "failed")
AGREED: tuple[Outcome, ...] = ("equal", "within tolerance")


class Recomputed(Closed):
    """One job that was recomputed.

    Attributes:
        outcome: the outcome of the comparison.
        difference: what differs; empty if nothing does.
        same_class: whether both were made from the same inputs on one CPU platform: equal bytes were expected.
        imported: SHA-256 of the imported files that it was compared with, by name.
        code: hash of the code that recomputed it.
        seconds: duration here, with starting.
    """

    outcome: Outcome
    difference: str
    same_class: bool
    imported: dict[str, Sha256]
    code: Sha256
    seconds: float


class JudgedTwice(Closed):
    """A claim that was judged by what was imported, and again with what was recomputed in its place.

    Attributes:
        imported: the verdict by what was imported; None with an obstacle.
        recomputed: the verdict with what was recomputed; None likewise.
        obstacle: why it cannot be judged, such as that other results are not here; empty if it can.
    """

    imported: str | None = None
    recomputed: str | None = None
    obstacle: str = ""

    @property
    def same(self) -> bool:
        """Whether both verdicts are there, and the same."""
        return self.imported is not None and self.imported == self.recomputed


class SpotCheck(Closed):
    """A spot-check, as far as it has come.

    Attributes:
        started: when, ISO 8601 with its zone.
        finished: when the last comparison was done.
        archives: names by SHA-256 of the archives whose results it draws from.
        seed: the seed of the draw.
        source: the seed's origin.
        minutes: the time limit; None: as long as it takes.
        wanted: the one claim that it is about; None: all.
        claims: keys of the imported results that a verdict rests on, by ``paper/claim``.
        always: keys of the results that are recomputed in any case.
        weights: weights of the other results that can be recomputed, with the sum 1.
        clocks: arrival times of these results, ascending: they are recomputed in this order.
        out_of_reach: reasons why results cannot be recomputed here, by key.
        out_of_reach_weight: share of all evidence that cannot be recomputed here.
        jobs: the recomputed results, by key.
        judged: the verdicts on the claims that rest on recomputed results, by ``paper/claim``.
        commit: the commit of this checkout; None outside one.
    """

    started: Time
    finished: Time
    archives: dict[Sha256, Line]
    seed: str
    source: Literal["made here after the import", "given"]
    minutes: float | None
    wanted: str | None
    claims: dict[str, list[str]]
    always: list[str]
    weights: dict[str, float]
    clocks: dict[str, float]
    out_of_reach: dict[str, str]
    out_of_reach_weight: float
    jobs: dict[str, Recomputed]
    judged: dict[str, JudgedTwice] = {}
    commit: dict[str, Any] | None

    def keys(self, *outcomes: Outcome) -> list[str]:
        """The recomputed jobs with these outcomes."""
        return [key for key, job in self.jobs.items() if job.outcome in outcomes]

    @property
    def reach(self) -> float:
        """Λ; inf if everything in reach was compared."""
        compared = set(self.keys(*COMPARED))
        return reached(self.clocks, compared) if set(self.always) <= compared else 0.0

    @property
    def population(self) -> list[str]:
        """Keys of all imported results that the verdicts rest on."""
        return sorted({key for keys in self.claims.values() for key in keys})

    @property
    def covered(self) -> list[str]:
        """The claims that rest on checked evidence alone, and whose verdict is the same with it."""
        agreed = set(self.keys(*AGREED))
        same = {claim for claim, twice in self.judged.items() if twice.same}
        return [claim for claim, keys in self.claims.items() if claim in same and agreed.issuperset(keys)]

    @property
    def turned(self) -> list[str]:
        """The claims whose verdict is another one with what was recomputed."""
        return [claim for claim, twice in self.judged.items() if not twice.same and not twice.obstacle]

    @property
    def unjudged(self) -> list[str]:
        """The claims that rest on compared results and were not judged again: the check was stopped before."""
        compared = set(self.keys(*COMPARED))
        return [
            claim for claim, keys in self.claims.items() if compared.intersection(keys) and claim not in self.judged
        ]

    @property
    def doubted(self) -> list[str]:
        """The claims that rest on a result which was not reproduced, or whose verdict is another one with it."""
        failed, turned = set(self.keys("failed")), set(self.turned)
        return [claim for claim, keys in self.claims.items() if failed.intersection(keys) or claim in turned]


class _Predicate(BaseModel):
    spotCheck: SpotCheck  # noqa: N815, the name in the statement


class _TestResult(BaseModel):
    """A statement, as far as it is read."""

    predicate: _Predicate


def write_statement(check: SpotCheck, results: Path) -> Path:
    """Write a spot-check; one of the same start and seed is replaced."""
    time = check.started[:19].replace(":", "").replace("-", "")
    seed = "".join(letter for letter in check.seed if letter.isascii() and letter.isalnum())[:8] or "seed"
    path = results / STATEMENTS / f"{time}-{seed}.json"
    write_json(path, as_statement(check))
    return path


def as_statement(check: SpotCheck) -> dict[str, Any]:
    """A spot-check as an in-toto Statement with the test-result predicate; tests are the keys of jobs.

    A check that turns a verdict fails; one that compared nothing, has results out of reach, or was stopped before it
    judged again does not pass. Beside the predicate's own fields, ``spotCheck`` holds all of :class:`SpotCheck`, and
    ``lambda`` is Λ (null: all).
    """
    failed, passed = check.keys("failed"), check.keys(*AGREED)
    warned = check.keys("warned", "not confirmed")
    code = [{"name": "resaudit", "digest": {"gitCommit": check.commit["id"]}}] if check.commit else []
    open_ = warned or check.out_of_reach or check.unjudged or any(twice.obstacle for twice in check.judged.values())
    return {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": sha256}} for sha256, name in check.archives.items()],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "FAILED" if failed or check.turned else "WARNED" if open_ or not passed else "PASSED",
            "configuration": code,
            "passedTests": passed,
            "warnedTests": warned,
            "failedTests": failed,
            "lambda": check.reach if math.isfinite(check.reach) else None,
            "spotCheck": check.model_dump(mode="json"),
        },
    }


def statements(results: Path) -> list[SpotCheck]:
    """The spot-checks of a results folder, by the time of their start."""
    paths = sorted((results / STATEMENTS).glob("[!.]*.json"))
    checks = [read_record(path, _TestResult, "remove it").predicate.spotCheck for path in paths]
    return sorted(checks, key=lambda check: check.started)


def is_of_today(check: SpotCheck, results: Path) -> bool:
    """Whether all results that were compared are here, imported from the same archives."""
    origins = (origin_of(results, key) for key in check.jobs)
    return all(origin is not None and origin.archive in check.archives for origin in origins)


def outcomes_in_words(check: SpotCheck) -> str:
    """How the recomputed jobs compare, as "31 equal in every byte, 5 within tolerance"."""
    names: dict[Outcome, str] = {
        "equal": "equal in every byte",
        "within tolerance": "within tolerance (another CPU platform)",
        "warned": "within tolerance where equal bytes were expected",
        "failed": "not reproduced",
        "not confirmed": "not confirmed",
    }
    counts = Counter(job.outcome for job in check.jobs.values())
    return ", ".join(f"{counts[outcome]} {words}" for outcome, words in names.items() if counts[outcome]) or "none"
