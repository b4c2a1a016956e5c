# Exact Hessians of one ensemble: along its training, or at its initial point.


rule curvature:
    input:
        lambda wildcards: data_of(hessians_of(wildcards).ensemble),
        trajectory=trajectory_of,
        code=code("networks", "curvature", "arrays", "results", "stages"),
    output:
        FILES.curvature("{id}") / "spectra.npz",
        FILES.curvature("{id}") / "settings.json",
        FILES.curvature("{id}") / "provenance.json",
    log:
        LOGS / "curvature" / "{id}.log",
    benchmark:
        BENCHMARKS / "curvature" / "{id}.tsv"
    threads: lambda wildcards: curvature_threads(hessians_of(wildcards))
    resources:
        mem_mb=lambda wildcards, attempt: curvature_cost(hessians_of(wildcards)).megabytes_asked(attempt),
        runtime=lambda wildcards, attempt: curvature_cost(hessians_of(wildcards)).minutes_asked(attempt),
        # Hessians are counted on the CPU, whatever the device is.
        gpu=lambda wildcards: gpus(hessians_of(wildcards).method == "dense"),
    params:
        hint=lambda wildcards, threads: hint(PROGRAMME.hessians(wildcards.id)[0], wildcards.id),
    shell:
        "{RESAUDIT} curvature {wildcards.id} --threads {threads} {WITH_OVERRIDES} {params.hint} 2> {log:q}"
