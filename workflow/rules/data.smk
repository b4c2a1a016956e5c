# Fetching raw data: one rule per data set, since file names differ.


for dataset, fetch in DATASETS.items():

    rule:
        name:
            f"fetch_{dataset}"
        output:
            # A raw file that is there is no output: Snakemake removes outputs before a job starts, which may fail.
            [file for file in fetch.written(RESULTS) if INSIDE.in_storage or not os.path.exists(file)],
        log:
            LOGS / "fetch" / f"{dataset}.log",
        benchmark:
            RESULTS / BENCHMARKS / "fetch" / f"{dataset}.tsv"
        # First: that no source can be reached should be known before hours of other work.
        priority: 1
        # Local, since a cluster's nodes may have no network.
        localrule: True
        threads: 1
        resources:
            mem_mb=fetch.cost(JOBS.execution).megabytes_asked(),
            runtime=30,
        params:
            job=fetch.key,
        shell:
            "{RESAUDIT} run {params.job} --results {RESULTS:q}" + OPTIONS + " 2>&1 | tee {log:q} >&2"
