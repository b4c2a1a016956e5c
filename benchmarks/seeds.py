"""Verdicts by seed: whether another draw of all random numbers gives the same verdict.

python -m benchmarks.seeds FOLDER          FOLDER/N has the figures of seed N; figures/reference those of seed 1

Those of most figures are reduced as variants are, so that ten seeds take six core-hours; of three, what the claims in
doubt read is not reduced:

for N in $(seq 2 11); do
  run() { snakemake --cores all --config seed=$N "figures=[$1]" "overrides=[paths.figures=FOLDER/$N${2:+,$2}]"; }
  snakemake --cores all --config seed=$N variant=control "overrides=[paths.figures=FOLDER/$N]"
  run shortcut_depths,theorem22
  run stable_scaling/training "training.protocol.networks=[resnet-0.5]"
  run fig07 "fig07.protocol.depths=[4,96]"
  run demystifying_resnet/fig03,fig08
done

Rows are claims of which some seed gives another verdict; the others are counted. A dash: the table is not there or
lacks what the claim needs. Under ``same``: how many seeds give the verdict that most give.
"""

import sys
from collections import Counter
from pathlib import Path

from resaudit.claims.verdicts import judge
from resaudit.figures.draw import reference_file
from resaudit.figures.tables import unchanged
from resaudit.plan.claim import Claim
from resaudit.plan.composition import load

SCALE = "laptop"


def verdict(claim: Claim, name: str, csv: Path) -> str:
    """The verdict by one table; a dash if it is not there or lacks what the claim needs."""
    if not csv.is_file():
        return "–"
    judged = judge(claim, unchanged(csv, name).table, SCALE)
    return "–" if judged.obstacle else judged.verdict


def main(folder: Path) -> None:
    """Print a row a claim that some seed turns, and count the others."""
    seeds = sorted((each for each in folder.iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
    print(f"| claim | 1 | {' | '.join(each.name for each in seeds)} | same |\n|{'---|' * (len(seeds) + 3)}")
    of_one_verdict = Counter[int]()
    for paper, claims in load([f"scale={SCALE}"]).claims.items():
        for id_, claim in claims.items():
            name = f"{paper}/{claim.evidence}"
            found = [verdict(claim, name, csv) for csv in (reference_file(name), *(f / f"{name}.csv" for f in seeds))]
            known = Counter(each for each in found if each != "–")
            if len(known) > 1:
                same = f"{known.most_common(1)[0][1]} of {known.total()}"
                print(f"| {id_} | {' | '.join(found)} | {same} |", flush=True)
            elif known:
                of_one_verdict[known.total()] += 1
    for tried, count in sorted(of_one_verdict.items()):
        print(f"\n{count} claims have one verdict at {tried} seeds.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
