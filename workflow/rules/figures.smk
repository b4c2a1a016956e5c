# Each figure: its tidy table, and the table drawn.


rule draw:
    input:
        inputs_of("draw"),
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
    threads: threads_of("draw")
    resources:
        mem_mb=mem_mb_of("draw"),
        runtime=runtime_of("draw"),
    params:
        code=code_of_figure,
        job=key_of("draw"),
        title=lambda wildcards: job("draw", wildcards).figure.title,
        caption=lambda wildcards: job("draw", wildcards).figure.full_caption,
    shell:
        RUN


# The same under a variant.
rule draw_variant:
    input:
        inputs_of("draw_variant"),
    output:
        multiext(str(FILES.variant("{variant}") / "{paper}" / "{figure}"), ".csv", ".json", ".pdf", ".svg", ".png"),
    log:
        LOGS / "draw_variant" / "{variant}" / "{paper}" / "{figure}.log",
    benchmark:
        BENCHMARKS / "draw_variant" / "{variant}" / "{paper}" / "{figure}.tsv"
    threads: threads_of("draw_variant")
    resources:
        mem_mb=mem_mb_of("draw_variant"),
        runtime=runtime_of("draw_variant"),
    params:
        code=code_of_figure,
        job=key_of("draw_variant"),
    shell:
        RUN
