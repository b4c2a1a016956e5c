# Verdicts on the claims: the audit, and the same under every variant.


rule report:
    input:
        inputs_of("report"),
        [FILES.figure(name, suffix) for name in PLAN.figures for suffix in ("csv", "json", "svg")],
        matrices=matrices,
        others=other_tables(),
        kept=matrices_kept(),
        checked=as_they_are(sorted((FILES.figures / "checked").glob("*.json"))),
    output:
        audit=FILES.figures / "audit.json",
        page=report(
            FILES.figures / "audit.html",
            caption="../report/audit.rst",
            category="audit",
            labels={"figure": "audit of the claims"},
        ),
    log:
        LOGS / "report" / "report.log",
    benchmark:
        BENCHMARKS / "report" / "report.tsv"
    threads: threads_of("report")
    resources:
        mem_mb=mem_mb_of("report"),
        runtime=runtime_of("report"),
    params:
        code=code_of_claims("jobs.report"),
        job=key_of("report"),
    shell:
        RUN


rule vary:
    input:
        inputs_of("vary"),
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
        LOGS / "vary" / "{paper}.log",
    benchmark:
        BENCHMARKS / "vary" / "{paper}.tsv"
    threads: threads_of("vary")
    resources:
        mem_mb=mem_mb_of("vary"),
        runtime=runtime_of("vary"),
    params:
        code=code_of_claims("jobs.vary"),
        job=key_of("vary"),
    shell:
        RUN


# If requested, the matrices are made before the page that shows them: see matrices() in common.smk.
rule robustness:
    input:
        FILES.figures / "audit.html",
        [FILES.figure(f"{paper}/robustness", "csv") for paper in PAPERS],
