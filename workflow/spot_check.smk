# A workflow of its own: the jobs of a spot-check, as resaudit.share.spot_check has prepared and ordered them.
import json
from pathlib import Path

JOBS = json.loads(Path(config["jobs"]).read_text(encoding="utf-8"))


rule all:
    input:
        [job["makes"] for job in JOBS.values()],


for number, (key, job) in enumerate(JOBS.items()):

    rule:
        name:
            key
        input:
            job["reads"],
        output:
            job["makes"],
        log:
            job["log"],
        priority: len(JOBS) - number
        threads: job["threads"]
        resources:
            gpu=job["gpu"],
        params:
            command=job["command"],
            execution=job["execution"],
        shell:
            "{params.command} --threads {threads} > {log:q} 2>&1"
