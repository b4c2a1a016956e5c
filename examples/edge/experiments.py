"""What is computed for a figure."""

from itertools import product

from edge.jobs import Descend
from resaudit.paper import Experiment, at


class FullBatch(Experiment, name="full_batch"):
    """Full-batch gradient descent at every learning rate, in blocks of runs."""

    learning_rates: list[float]
    samples: int
    width: int
    gain: float
    steps: int
    every: int
    runs: int
    block: int

    def jobs(self, data, seed):
        jobs, images = {}, self.images(data)
        for rate, first in product(self.learning_rates, range(0, self.runs, self.block)):
            others = {"learning_rate": rate, "first": first, "runs": min(self.block, self.runs - first)}
            jobs[at(learning_rate=rate, first=first)] = self.job(Descend, data=images, seed=seed, **others)
        return jobs

    def read(self, jobs, results):
        return [(job, job.read(results)) for job in jobs.values()]
