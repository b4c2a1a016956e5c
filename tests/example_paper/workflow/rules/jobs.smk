

rule toss:
    input:
        inputs_of("toss"),
    output:
        outputs_of("toss"),
    log:
        LOGS / "toss" / "{id}.log",
    benchmark:
        BENCHMARKS / "toss" / "{id}.tsv"
    threads: threads_of("toss")
    resources:
        mem_mb=mem_mb_of("toss"),
        runtime=runtime_of("toss"),
        gpu=gpus_of("toss"),
    params:
        code=code("jobs.toss"),
        job=key_of("toss"),
    shell:
        RUN
