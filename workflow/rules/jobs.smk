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


rule factorize:
    input:
        inputs_of("factorize"),
    output:
        outputs_of("factorize"),
    log:
        LOGS / "factorize" / "{id}.log",
    benchmark:
        BENCHMARKS / "factorize" / "{id}.tsv"
    threads: threads_of("factorize")
    resources:
        mem_mb=mem_mb_of("factorize"),
        runtime=runtime_of("factorize"),
        gpu=gpus_of("factorize"),
    params:
        code=code("jobs.factorize"),
        job=key_of("factorize"),
    shell:
        RUN


rule dominance:
    input:
        inputs_of("dominance"),
    output:
        outputs_of("dominance"),
    log:
        LOGS / "dominance" / "{id}.log",
    benchmark:
        BENCHMARKS / "dominance" / "{id}.tsv"
    threads: threads_of("dominance")
    resources:
        mem_mb=mem_mb_of("dominance"),
        runtime=runtime_of("dominance"),
        gpu=gpus_of("dominance"),
    params:
        code=code("jobs.dominance"),
        job=key_of("dominance"),
    shell:
        RUN


rule descents:
    input:
        inputs_of("descents"),
    output:
        outputs_of("descents"),
    log:
        LOGS / "descents" / "{id}.log",
    benchmark:
        BENCHMARKS / "descents" / "{id}.tsv"
    threads: threads_of("descents")
    resources:
        mem_mb=mem_mb_of("descents"),
        runtime=runtime_of("descents"),
        gpu=gpus_of("descents"),
    params:
        code=code("jobs.descents"),
        job=key_of("descents"),
    shell:
        RUN


rule express:
    input:
        inputs_of("express"),
    output:
        outputs_of("express"),
    log:
        LOGS / "express" / "{id}.log",
    benchmark:
        BENCHMARKS / "express" / "{id}.tsv"
    threads: threads_of("express")
    resources:
        mem_mb=mem_mb_of("express"),
        runtime=runtime_of("express"),
        gpu=gpus_of("express"),
    params:
        code=code("jobs.express"),
        job=key_of("express"),
    shell:
        RUN


rule lemma:
    input:
        inputs_of("lemma"),
    output:
        outputs_of("lemma"),
    log:
        LOGS / "lemma" / "{id}.log",
    benchmark:
        BENCHMARKS / "lemma" / "{id}.tsv"
    threads: threads_of("lemma")
    resources:
        mem_mb=mem_mb_of("lemma"),
        runtime=runtime_of("lemma"),
        gpu=gpus_of("lemma"),
    params:
        code=code("jobs.lemma"),
        job=key_of("lemma"),
    shell:
        RUN


rule count:
    input:
        inputs_of("count"),
    output:
        outputs_of("count"),
    log:
        LOGS / "count" / "{id}.log",
    benchmark:
        BENCHMARKS / "count" / "{id}.tsv"
    threads: threads_of("count")
    resources:
        mem_mb=mem_mb_of("count"),
        runtime=runtime_of("count"),
        gpu=gpus_of("count"),
    params:
        code=code("jobs.count"),
        job=key_of("count"),
    shell:
        RUN


rule propagate:
    input:
        inputs_of("propagate"),
    output:
        outputs_of("propagate"),
    log:
        LOGS / "propagate" / "{id}.log",
    benchmark:
        BENCHMARKS / "propagate" / "{id}.tsv"
    threads: threads_of("propagate")
    resources:
        mem_mb=mem_mb_of("propagate"),
        runtime=runtime_of("propagate"),
        gpu=gpus_of("propagate"),
    params:
        code=code("jobs.propagate"),
        job=key_of("propagate"),
    shell:
        RUN


rule backpropagate:
    input:
        inputs_of("backpropagate"),
    output:
        outputs_of("backpropagate"),
    log:
        LOGS / "backpropagate" / "{id}.log",
    benchmark:
        BENCHMARKS / "backpropagate" / "{id}.tsv"
    threads: threads_of("backpropagate")
    resources:
        mem_mb=mem_mb_of("backpropagate"),
        runtime=runtime_of("backpropagate"),
        gpu=gpus_of("backpropagate"),
    params:
        code=code("jobs.backpropagate"),
        job=key_of("backpropagate"),
    shell:
        RUN


rule multiply:
    input:
        inputs_of("multiply"),
    output:
        outputs_of("multiply"),
    log:
        LOGS / "multiply" / "{id}.log",
    benchmark:
        BENCHMARKS / "multiply" / "{id}.tsv"
    threads: threads_of("multiply")
    resources:
        mem_mb=mem_mb_of("multiply"),
        runtime=runtime_of("multiply"),
        gpu=gpus_of("multiply"),
    params:
        code=code("jobs.multiply"),
        job=key_of("multiply"),
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
