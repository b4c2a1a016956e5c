# The jobs that compute results, one rule per kind (src/resaudit/jobs); `resaudit run` reads the job's plan file.


rule whiten:
    input:
        inputs_of("whiten"),
    output:
        outputs_of("whiten"),
    log:
        LOGS / "whiten" / "{id}.log",
    benchmark:
        BENCHMARKS / "whiten" / "{id}.tsv"
    threads: threads_of("whiten")
    resources:
        mem_mb=mem_mb_of("whiten"),
        runtime=runtime_of("whiten"),
        gpu=gpus_of("whiten"),
    params:
        code=code("jobs.whiten"),
        job=key_of("whiten"),
    shell:
        RUN


rule train:
    input:
        inputs_of("train"),
    output:
        outputs_of("train"),
    log:
        LOGS / "train" / "{id}.log",
    benchmark:
        BENCHMARKS / "train" / "{id}.tsv"
    threads: threads_of("train")
    resources:
        mem_mb=mem_mb_of("train"),
        runtime=runtime_of("train"),
        gpu=gpus_of("train"),
    params:
        code=code("jobs.train"),
        job=key_of("train"),
    shell:
        RUN


rule hessians:
    input:
        inputs_of("hessians"),
    output:
        outputs_of("hessians"),
    log:
        LOGS / "hessians" / "{id}.log",
    benchmark:
        BENCHMARKS / "hessians" / "{id}.tsv"
    threads: threads_of("hessians")
    resources:
        mem_mb=mem_mb_of("hessians"),
        runtime=runtime_of("hessians"),
        gpu=gpus_of("hessians"),
    params:
        code=code("jobs.hessians"),
        job=key_of("hessians"),
    shell:
        RUN


rule theorem:
    input:
        inputs_of("theorem"),
    output:
        outputs_of("theorem"),
    log:
        LOGS / "theorem" / "{id}.log",
    benchmark:
        BENCHMARKS / "theorem" / "{id}.tsv"
    threads: threads_of("theorem")
    resources:
        mem_mb=mem_mb_of("theorem"),
        runtime=runtime_of("theorem"),
        gpu=gpus_of("theorem"),
    params:
        code=code("jobs.theorem"),
        job=key_of("theorem"),
    shell:
        RUN


rule simulate:
    input:
        inputs_of("simulate"),
    output:
        outputs_of("simulate"),
    log:
        LOGS / "simulate" / "{id}.log",
    benchmark:
        BENCHMARKS / "simulate" / "{id}.tsv"
    threads: threads_of("simulate")
    resources:
        mem_mb=mem_mb_of("simulate"),
        runtime=runtime_of("simulate"),
        gpu=gpus_of("simulate"),
    params:
        code=code("jobs.simulate"),
        job=key_of("simulate"),
    shell:
        RUN


rule proposition:
    input:
        inputs_of("proposition"),
    output:
        outputs_of("proposition"),
    log:
        LOGS / "proposition" / "{id}.log",
    benchmark:
        BENCHMARKS / "proposition" / "{id}.tsv"
    threads: threads_of("proposition")
    resources:
        mem_mb=mem_mb_of("proposition"),
        runtime=runtime_of("proposition"),
        gpu=gpus_of("proposition"),
    params:
        code=code("jobs.proposition"),
        job=key_of("proposition"),
    shell:
        RUN


rule train_scaled:
    input:
        inputs_of("train_scaled"),
    output:
        outputs_of("train_scaled"),
    log:
        LOGS / "train_scaled" / "{id}.log",
    benchmark:
        BENCHMARKS / "train_scaled" / "{id}.tsv"
    threads: threads_of("train_scaled")
    resources:
        mem_mb=mem_mb_of("train_scaled"),
        runtime=runtime_of("train_scaled"),
        gpu=gpus_of("train_scaled"),
    params:
        code=code("jobs.train_scaled"),
        job=key_of("train_scaled"),
    shell:
        RUN
