"""The papers, their claims and verdicts as schema.org's Claim and ClaimReview."""

from typing import Any

from resaudit.audit.claim_models import standing_of
from resaudit.share.archive.entities import add


def add_claims(crate: Any, audit: dict[str, Any]) -> list[Any]:
    """Add every claim with its review; return the reviews."""
    return [_add_review(crate, audit, claim, add_paper(crate, p)) for p in audit["papers"] for claim in p["claims"]]


def add_paper(crate: Any, paper: dict[str, Any]) -> Any:
    """The paper that an audit is of."""
    return add(
        crate,
        paper["link"],
        "ScholarlyArticle",
        name=paper["title"],
        description=f"{paper['short']}, {paper['cited']}",
    )


def claims_in_words(audit: dict[str, Any], figure: str) -> str:
    """The claims whose evidence is ``paper/figure``, each with its verdict."""
    claims = (claim for paper in audit["papers"] for claim in paper["claims"] if claim["evidence"] == figure)
    verdicts = "; ".join(
        f"{claim['id'].split('/')[1]} {standing_of(claim['verdict'], claim['fitted'])}" for claim in claims
    )
    return f"Claims that it is evidence of: {verdicts or 'none'}."


def _add_review(crate: Any, audit: dict[str, Any], claim: dict[str, Any], paper: Any) -> Any:
    stated = add(
        crate,
        f"#claim/{claim['id']}",
        "Claim",
        name=claim["id"],
        text=claim["statement"],
        description=f"{claim['kind']} claim, in our words; in the paper: {claim['where']}",
        isPartOf=paper,
    )
    verdict = standing_of(claim["verdict"], claim["fitted"])
    rating = add(crate, f"#verdict/{verdict.replace(' ', '-')}", "Rating", name=verdict, alternateName=verdict)
    # A claim whose figure was not drawn has no table.
    drawn = [figure["files"]["csv"] for p in audit["papers"] for figure in p["figures"]
             if figure["id"] == claim["evidence"]]  # fmt: skip
    return add(
        crate,
        f"#review/{claim['id']}",
        "ClaimReview",
        name=f"{claim['id']}: {verdict}",
        claimReviewed=claim["statement"],
        itemReviewed=stated,
        reviewRating=rating,
        reviewBody=claim["why"],
        description=f"Interpretation: {claim['interpretation']}",
        datePublished=audit["generated"],
        isBasedOn=[{"@id": f"figures/{name}"} for name in ("audit.json", *drawn)],
    )
