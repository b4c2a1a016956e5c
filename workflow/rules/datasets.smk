# Fetching and whitening the data.


rule fetch:
    output:
        [FILES.dataset(PLAN.data.dataset) / file.name for file in PLAN.config.dataset.files.values()],
    log:
        LOGS / "fetch" / f"{PLAN.data.dataset}.log",
    benchmark:
        BENCHMARKS / "fetch" / f"{PLAN.data.dataset}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        dataset=PLAN.data.dataset,
    shell:
        "{RESAUDIT} fetch {params.dataset} {WITH_OVERRIDES} 2>&1 | tee {log} >&2"


rule whiten:
    input:
        rules.fetch.output,
        code=code("datasets", "arrays", "stages"),
    output:
        whitened("samples.npz"),
        whitened("moments.npz"),
        whitened("summary.json"),
        whitened("settings.json"),
        whitened("provenance.json"),
    log:
        LOGS / "whiten" / f"{PLAN.data.id}.log",
    benchmark:
        BENCHMARKS / "whiten" / f"{PLAN.data.id}.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    shell:
        "{RESAUDIT} whiten --threads {threads} {WITH_OVERRIDES} 2> {log}"
