# Each figure: its tidy table, and the table drawn, by id. The folder of figures shows what is configured now.


rule draw:
    input:
        inputs_of("draw"),
    output:
        multiext(str(RESULTS / "draw" / "{id}" / "figure"), *(f".{suffix}" for suffix in SUFFIXES)),
    log:
        LOGS / "draw" / "{id}.log",
    benchmark:
        RESULTS / BENCHMARKS / "draw" / "{id}.tsv"
    # Drawing before computing.
    priority: 2
    threads: threads_of("draw")
    resources:
        mem_mb=mem_mb_of("draw"),
        runtime=runtime_of("draw"),
    params:
        code=code_for("draw"),
        job=key_of("draw"),
    shell:
        RUN


# A copy: going back to another scale, data set or seed draws nothing again.
def drawn_files(wildcards):
    """The files of a drawing. Its .tex, which few have, is no output: one that was removed has the figure shown again."""
    drawn = job("show", wildcards).folder(RESULTS) / "figure.tex"
    shown = FILES.figure(f"{wildcards.paper}/{wildcards.figure}", "tex")
    if drawn.is_file() and not shown.is_file():
        INSIDE.make_again([shown.with_suffix(".csv")])
    return job("show", wildcards).written(RESULTS)


rule show:
    input:
        drawn_files,
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
        about=FILES.figure("{paper}/{figure}", "json"),
    log:
        LOGS / "show" / "{paper}" / "{figure}.log",
    priority: 2
    localrule: True
    params:
        drawn=lambda wildcards, input: Path(input[0]).with_suffix(""),
        shown=lambda wildcards, output: Path(output.csv).with_suffix(""),
        title=lambda wildcards: job("show", wildcards).figure.title,
        caption=lambda wildcards: job("show", wildcards).figure.full_caption,
    shell:
        "(rm -f {params.shown:q}.tex; for suffix in {SUFFIXES} $([ ! -e {params.drawn:q}.tex ] || echo tex); "
        # What a full disk cuts short must not stay, whether or not Snakemake gets to remove it.
        "do cp {params.drawn:q}.$suffix {params.shown:q}.$suffix || {{ rm -f {params.shown:q}.$suffix; exit 1; }}; "
        "done) 2> {log:q}"
