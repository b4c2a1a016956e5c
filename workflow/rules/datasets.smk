# Fetching and whitening the data: one rule a data set, since each has file names of its own.


for dataset, files in DATASETS.items():

    rule:
        name:
            f"fetch_{dataset}"
        output:
            [FILES.dataset(dataset) / file for file in files],
        log:
            LOGS / "fetch" / f"{dataset}.log",
        benchmark:
            BENCHMARKS / "fetch" / f"{dataset}.tsv"
        # On the machine that Snakemake runs on: a cluster's nodes may have no network.
        localrule: True
        threads: 1
        resources:
            mem_mb=1000,
            runtime=30,
        params:
            dataset=dataset,
        shell:
            "{RESAUDIT} fetch {params.dataset} {WITH_OVERRIDES} 2>&1 | tee {log:q} >&2"


rule whiten:
    input:
        raw_files_of,
        code=code("datasets", "arrays", "stages"),
    output:
        FILES.whitened("{data}") / "samples.npz",
        FILES.whitened("{data}") / "moments.npz",
        FILES.whitened("{data}") / "summary.json",
        FILES.whitened("{data}") / "settings.json",
        FILES.whitened("{data}") / "provenance.json",
    log:
        LOGS / "whiten" / "{data}.log",
    benchmark:
        BENCHMARKS / "whiten" / "{data}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: WHITEN_COST.megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: WHITEN_COST.minutes_asked(attempt),
    params:
        hint=lambda wildcards, threads: hint(PROGRAMME.data(wildcards.data), wildcards.data),
    shell:
        "{RESAUDIT} whiten {wildcards.data} --threads {threads} {WITH_OVERRIDES} {params.hint} 2> {log:q}"
