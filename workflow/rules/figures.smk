# Each figure: its tidy table, and the table drawn.


rule draw:
    input:
        results_of,
    output:
        csv=FILES.figure("{paper}/{figure}", "csv"),
        pdf=FILES.figure("{paper}/{figure}", "pdf"),
        about=FILES.figure("{paper}/{figure}", "json"),
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
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: DRAW_COST.megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: DRAW_COST.minutes_asked(attempt),
    params:
        code=code_of_figure,
        figure=fingerprint_of,
        title=lambda wildcards: figure_of(wildcards).figure.title,
        caption=lambda wildcards: figure_of(wildcards).figure.full_caption,
    shell:
        "{RESAUDIT} draw {wildcards.paper}/{wildcards.figure} --threads {threads} {WITH_OVERRIDES} 2> {log:q}"


# The same under a variant of what the paper leaves unsaid.
rule draw_variant:
    input:
        results_of,
    output:
        multiext(str(FILES.variant("{variant}") / "{paper}" / "{figure}"), ".csv", ".json", ".pdf", ".svg", ".png"),
    log:
        LOGS / "draw_variant" / "{variant}" / "{paper}" / "{figure}.log",
    benchmark:
        BENCHMARKS / "draw_variant" / "{variant}" / "{paper}" / "{figure}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: DRAW_COST.megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: DRAW_COST.minutes_asked(attempt),
    params:
        code=code_of_figure,
        figure=fingerprint_of,
    shell:
        "{RESAUDIT} draw {wildcards.paper}/{wildcards.figure} --threads {threads} {WITH_OVERRIDES}"
        " variant={wildcards.variant} 2> {log:q}"
