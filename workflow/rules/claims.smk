# Verdicts on the claims: the audit, and the same under every variant.
from resaudit.base.papers import folder_of
from resaudit.jobs.origin import CHECKS


def matrices(_wildcards):
    """The matrices that the page shows: of this run if it makes any, else of earlier runs.

    ``before_update`` is Snakemake's word for an input that is taken as it is, whichever rule makes it: without
    ``robustness`` no variant is computed for the page's sake.
    """
    shown = ("csv", "json", "svg")
    if any(Path(target).stem == "robustness" for target in INSIDE.targets):
        return [FILES.figure(f"{paper}/robustness", suffix) for paper in PAPERS for suffix in shown]
    return as_they_are(FILES.figure(f"{paper}/robustness", suffix) for paper in PLAN.config.claims for suffix in shown)


def matrices_kept(_wildcards):
    """The committed matrices, which the page shows where there is no other."""
    kept = "figures/reference/{0}/robustness.json"
    return as_they_are(folder_of(paper) / kept.format(paper) for paper in PLAN.config.claims)


def inputs_of_audit(wildcards):
    """A page with claims that cannot be judged is made again by every run, which ends with them."""
    audit = FILES.figures / "audit.json"
    # Snakemake backs up what a job updates, but does not fetch it from a storage.
    INSIDE.here(audit.with_suffix(".html"))
    if has_unjudged(INSIDE.here(audit)):
        INSIDE.make_again([audit])
    return inputs_of("audit")(wildcards)


rule audit:
    input:
        inputs_of_audit,
        [FILES.figure(name, suffix) for name in PLAN.figures for suffix in ("csv", "json", "svg")],
        matrices=matrices,
        others=other_tables,
        kept=matrices_kept,
        spot_checks=as_they_are(sorted(FILES.results.glob(CHECKS))),
    output:
        # Updated: a job that fails leaves those of the run before.
        audit=update(FILES.figures / "audit.json"),
        page=report(
            update(FILES.figures / "audit.html"),
            caption="../report/audit.rst",
            category="audit",
            labels={"figure": "audit of the claims"},
        ),
    log:
        LOGS / "audit" / "audit.log",
    benchmark:
        RESULTS / BENCHMARKS / "audit" / "audit.tsv"
    threads: threads_of("audit")
    resources:
        mem_mb=mem_mb_of("audit"),
        runtime=runtime_of("audit"),
    params:
        code=code_for("audit"),
        job=key_of("audit"),
    shell:
        RUN


rule robustness_matrix:
    input:
        inputs_of("robustness_matrix"),
    output:
        csv=FILES.figure("{paper}/robustness", "csv"),
        pdf=FILES.figure("{paper}/robustness", "pdf"),
        about=FILES.figure("{paper}/robustness", "json"),
        svg=FILES.figure("{paper}/robustness", "svg"),
        png=report(
            FILES.figure("{paper}/robustness", "png"),
            caption="../report/robustness.rst",
            category="{paper}",
            labels={"figure": "robustness"},
        ),
    log:
        LOGS / "robustness_matrix" / "{paper}.log",
    benchmark:
        RESULTS / BENCHMARKS / "robustness_matrix" / "{paper}.tsv"
    threads: threads_of("robustness_matrix")
    resources:
        mem_mb=mem_mb_of("robustness_matrix"),
        runtime=runtime_of("robustness_matrix"),
    params:
        code=code_for("robustness_matrix"),
        job=key_of("robustness_matrix"),
    shell:
        RUN


# If requested, the matrices are made before the page that shows them: see matrices().
rule robustness:
    input:
        FILES.figures / "audit.html",
        [FILES.figure(f"{paper}/robustness", "csv") for paper in PAPERS],
