# Exact Hessians of one ensemble: along its training, or at its initial point.


rule curvature:
    input:
        whitened("moments.npz"),
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
    threads: lambda wildcards: curvature_threads(PLAN.ensemble(wildcards.id))
    resources:
        mem_mb=lambda wildcards: int(curvature_cost(PLAN.ensemble(wildcards.id)).megabytes),
        runtime=lambda wildcards: 5 + int(curvature_cost(PLAN.ensemble(wildcards.id)).seconds / 10),
        gpu=int(PLAN.config.device.value == "cuda"),
    shell:
        "{RESAUDIT} curvature {wildcards.id} --threads {threads} {WITH_OVERRIDES} 2> {log}"
