# Verdicts on the claims: the audit, and the same under every variant.


rule report:
    input:
        [FILES.figure(name, suffix) for name in PLAN.figures for suffix in ("csv", "json", "svg")],
        ledgers=[ledger_of(paper) for paper in PLAN.config.claims],
        matrices=matrices,
        others=other_tables(),
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
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: JUDGE_COST.megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: JUDGE_COST.minutes_asked(attempt),
    params:
        code=code("auditing", "claims.checks.*"),
        ledgers=[ledger_sha256(PLAN.config, paper) for paper in PLAN.config.claims],
    shell:
        "{RESAUDIT} report --threads {threads} {WITH_OVERRIDES} 2> {log:q}"


rule vary:
    input:
        tables_under_variants,
        ledger=lambda wildcards: ledger_of(wildcards.paper),
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
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: JUDGE_COST.megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: JUDGE_COST.minutes_asked(attempt),
    params:
        code=code("claims.robustness", "claims.checks.*"),
        ledger=lambda wildcards: ledger_sha256(PLAN.config, wildcards.paper),
    shell:
        "{RESAUDIT} vary {wildcards.paper} --threads {threads} {WITH_OVERRIDES} 2> {log:q}"


# Asked for, the matrices are made before the page that shows them: see matrices() in common.smk.
rule robustness:
    input:
        FILES.figures / "audit.html",
        [FILES.figure(f"{paper}/robustness", "csv") for paper in PAPERS],
