# What a theorem states, checked by construction at many sizes and draws.


rule verify:
    input:
        whitened("samples.npz"),
        whitened("moments.npz"),
        code=code("networks", "datasets", "curvature", "theory", "arrays", "results", "stages"),
    output:
        FILES.theory("{id}") / "measurements.npz",
        FILES.theory("{id}") / "settings.json",
        FILES.theory("{id}") / "provenance.json",
    log:
        LOGS / "verify" / "{id}.log",
    benchmark:
        BENCHMARKS / "verify" / "{id}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards: int(verify_cost(PLAN.verification(wildcards.id)).megabytes),
        runtime=lambda wildcards: 5 + int(verify_cost(PLAN.verification(wildcards.id)).seconds / 10),
    shell:
        "{RESAUDIT} verify {wildcards.id} --threads {threads} {WITH_OVERRIDES} 2> {log}"
