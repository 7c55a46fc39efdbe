"""A repair shop: machines break at random, mechanics repair one each, and the policy says who is next."""

from dataclasses import dataclass
from typing import NamedTuple

import cgrsp_simpy as cg


class Machine(NamedTuple):
    id: int
    work_s: float


def shortest(view):
    return zip(sorted(view.queue, key=lambda machine: machine.work_s), view.free)


@dataclass(frozen=True)
class RepairShop(cg.Model):
    mechanics: int = 2
    jobs: int = 2000
    gap_s: float = 60.0
    repair_s: float = 100.0

    policies = {"first": cg.first_come, "shortest": shortest}

    def places(self):
        return cg.slots(self.mechanics, "mechanic")

    def arrivals(self, draw):
        at_s = draw("gaps").exponential(self.gap_s, self.jobs).cumsum()
        work_s = draw("repairs").exponential(self.repair_s, self.jobs)
        return zip(at_s, map(Machine, range(self.jobs), work_s))

    def life(self, run, machine):
        with run.claim(machine) as claim:
            yield claim  # until the policy grants a mechanic
            yield run.timeout(machine.work_s)


if __name__ == "__main__":
    study = cg.compare(RepairShop(jobs=20_000), seeds=range(10))  # waits, responses, utilisation: by itself
    print(study)
    print(f"M/M/2: {cg.queueing.mmc(1 / 60, 1 / 100, 2).wait_s:.0f} s")
    print(cg.sweep({"mechanics": [2, 3]}, ["first"], range(5), RepairShop()))
    cg.plots.gantt(study.run("shortest", 0), until_s=3600).figure.savefig("repairs.png")
