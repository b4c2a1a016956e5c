# The jobs that compute results: one rule per kind, all alike. `resaudit run` reads the job's plan file and the results
# of its inputs, and nothing else.


for kind in computing_kinds():

    rule:
        name:
            kind
        input:
            inputs_of(kind),
        output:
            outputs_of(kind),
        log:
            LOGS / kind / "{id}.log",
        benchmark:
            RESULTS / BENCHMARKS / kind / "{id}.tsv"
        # From 0 to below 1.
        priority: priority_of(kind)
        threads: threads_of(kind)
        resources:
            mem_mb=mem_mb_of(kind),
            runtime=runtime_of(kind),
            gpu=gpus_of(kind),
        params:
            code=code_for(kind),
            job=key_of(kind),
        shell:
            RUN
