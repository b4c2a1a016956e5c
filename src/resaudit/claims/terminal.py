"""The audit in a terminal."""

import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from resaudit.claims.audit import Json, make_audit
from resaudit.claims.verdicts import Verdict
from resaudit.errors import ResauditError, one_named
from resaudit.plan.plan import Plan

WIDTH = 100


def run_audit(
    plan: Plan,
    overrides: Sequence[str],
    say: Callable[[str], Any],
    wanted: str | None = None,
    strict: bool = False,
    as_markdown: bool = False,
) -> None:
    """Print the verdict on every claim, or one claim in full.

    Raises:
        ResauditError: nothing has been drawn, a table is damaged or of other settings, the claim is unknown, or, with
            ``strict``, a claim is not supported.
    """
    audit = make_audit(plan, overrides)
    claims = [claim for paper in audit["papers"] for claim in paper["claims"]]
    chosen = _chosen(claims, wanted, plan)
    lines = in_full(chosen[0]) if wanted else verdict_table(audit, chosen)
    changed = [override for override in overrides if override.startswith("claims.")]
    if changed:
        say(f"{len(changed)} set here, not in config/paper/<paper>/claims.yaml: {' '.join(changed)}")
    for line in markdown(audit, chosen) if as_markdown else lines:
        say(line)
    others = [claim["id"] for claim in chosen if claim["verdict"] != Verdict.supported.value]
    if strict and others:
        raise ResauditError(f"{len(others)} of {len(chosen)} claims are not supported: {', '.join(others)}")


def _chosen(claims: list[Json], wanted: str | None, plan: Plan) -> list[Json]:
    if wanted is None:
        # Figures chosen with figures=[…] choose their claims.
        chosen = [c for c in claims if not plan.config.figures or c["evidence"] in plan.figures]
        if not chosen:
            held = dict.fromkeys(claim["evidence"].split("/")[1] for claim in claims)
            raise ResauditError(
                f"no claim is checked against {', '.join(plan.figures)}; figures with claims: {', '.join(held)}"
            )
        return chosen
    meant = one_named("claim", wanted, [claim["id"] for claim in claims])
    return [claim for claim in claims if claim["id"] == meant]


def verdict_table(audit: Json, claims: Sequence[Json]) -> Iterator[str]:
    """The verdicts as lines of a terminal."""
    yield f"scale {audit['scale']} ({audit['scale_summary']}), commit {_commit(audit)}"
    width = max(len(claim["id"]) for claim in claims)
    for claim in claims:
        yield f"{claim['id']:{width}}  {claim['verdict']}"
        yield textwrap.indent(textwrap.fill(claim["why"], WIDTH - 4), "    ")
    yield _counts(claims)


def markdown(audit: Json, claims: Sequence[Json]) -> Iterator[str]:
    """The verdicts as a Markdown table, for the README."""
    yield "| claim | verdict | |"
    yield "|---|---|---|"
    for claim in claims:
        if claim["verdict"] == Verdict.not_run.value:
            grounds = claim["why"]
        else:
            grounds = "; ".join(map(_grounds, claim["findings"]))
        yield f"| {claim['statement']} | **{claim['verdict']}** | {grounds} |"
    yield ""
    yield f"At scale {audit['scale']}: {_counts(claims)}."


def _grounds(finding: Json) -> str:
    """How many of a check's places hold and how many fail."""
    verdicts = [point["verdict"] for point in finding["points"]]
    name, held = finding["name"].replace("-", " "), verdicts.count(Verdict.supported.value)
    if len(verdicts) < 2:
        return f"{name}: {finding['verdict']}"
    failed = verdicts.count(Verdict.contradicted.value)
    return f"{name}: {held} of {len(verdicts)} hold" + (f", {failed} fail" if failed else "")


def _counts(claims: Sequence[Json]) -> str:
    counts = {v.value: sum(claim["verdict"] == v.value for claim in claims) for v in Verdict}
    return ", ".join(f"{count} {verdict}" for verdict, count in counts.items())


def _ends_of(finding: Json) -> str:
    """What the two numbers beside an effect mean."""
    if finding["exact"] or not finding["points"]:
        return ""
    if finding["spread"]:
        return f"; ends {finding['spread']}"
    return f"; intervals of level {finding['level']:.2%}" + (", at every tied rate" if finding["tied"] else "")


def in_full(claim: Json) -> Iterator[str]:
    """Everything about one claim."""
    yield f"{claim['id']}: {claim['verdict']}"
    for key in ("statement", "where", "kind", "reading", "reason", "why"):
        yield textwrap.fill(f"{key}: {claim[key]}", WIDTH, subsequent_indent="    ")
    for finding in claim["findings"]:
        yield f"\n{finding['name'].replace('-', ' ')}: {finding['verdict']} ({finding['check']['name']})"
        yield textwrap.fill(
            f"{finding['meaning']}{' (' + finding['unit'] + ')' if finding['unit'] else ''}; "
            f"claimed: {finding['check']['criterion']}"
            + _ends_of(finding)
            + (f", which cover {finding['coverage']:.0%} if runs are log-normal" if finding["coverage"] else ""),
            WIDTH,
        )
        for point in finding["points"]:
            numbers = "  ".join(f"{_number(point[key]):>10}" for key in ("effect", "low", "high"))
            yield f"    {numbers}  n = {point['n']:<4} {point['verdict']:13} {point['where']}"
        for line in finding["left_out"]:
            yield f"    left out: {line}"
    for variant in claim["variants"]:
        if variant["verdict"]:
            yield textwrap.fill(
                f"under {variant['id']}: {variant['verdict']}: {variant['why']}", WIDTH, subsequent_indent="    "
            )
    if claim["command"]:
        yield f"\nagain: {claim['command']}"


def _commit(audit: Json) -> str:
    commit = audit["provenance"]["commit"]
    if commit is None:
        return "unknown"
    return f"{commit['id'][:10]}{'' if commit['clean'] else ' with uncommitted changes'}"


def _number(value: float | None) -> str:
    return "inf" if value is None else f"{value:.4g}"
