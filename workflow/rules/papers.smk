# Each figure: its tidy table, and the table drawn.


def results_of(wildcards):
    part = PLAN.figures[f"{wildcards.paper}/{wildcards.figure}"]
    trained = [e for e in (*part.sweeps.values(), *part.with_spectra.values()) if e.epochs]
    return [FILES.training(e.id) / "trajectory.npz" for e in trained] + [
        FILES.curvature(e.id) / "spectra.npz" for e in part.with_spectra.values()
    ]


rule draw:
    input:
        results_of,
        code=code("papers", "explanation"),
    output:
        csv=FILES.figure("{paper}/{figure}", "csv"),
        pdf=FILES.figure("{paper}/{figure}", "pdf"),
        svg=FILES.figure("{paper}/{figure}", "svg"),
        png=report(
            FILES.figure("{paper}/{figure}", "png"),
            caption="../report/figure.rst",
            category="{paper}",
            labels={"figure": "{figure}"},
        ),
    log:
        LOGS / "draw" / "{paper}" / "{figure}.log",
    benchmark:
        BENCHMARKS / "draw" / "{paper}" / "{figure}.tsv"
    params:
        figure=lambda wildcards: fingerprint(PLAN, f"{wildcards.paper}/{wildcards.figure}"),
        title=lambda wildcards: PLAN.config.figure[wildcards.paper][wildcards.figure].title,
        caption=lambda wildcards: PLAN.config.figure[wildcards.paper][wildcards.figure].caption,
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "{RESAUDIT} draw {wildcards.paper}/{wildcards.figure} --threads {threads} {WITH_OVERRIDES} 2> {log}"
