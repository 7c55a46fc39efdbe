"""Five of six undominated choices have eight slots; they also wait less on other seeds.

The thesis leaves a front of wait, misses and cost as future work (Section 6.2.2, point
2). NSGA-II (Deb et al., IEEE Transactions on Evolutionary Computation 6, 2002) varies
the number of slots and the reserve of RH on the surge day. All choices run on the same
training seeds. Those that no other choice dominates then run on test seeds, paired with
the unchanged day: five slots, reserve 1. The script needs the extra search (pymoo). For
other ranges, figures or policies change the constants and `compared`.
"""

import sys

import numpy as np

import cgrsp_simpy as cg

try:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.sbx import SBX
    from pymoo.operators.mutation.pm import PM
    from pymoo.operators.repair.rounding import RoundingRepair
    from pymoo.operators.sampling.rnd import IntegerRandomSampling
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting
except ImportError:
    sys.exit('pymoo is missing: pip install ".[search]" in a clone')

FIGURES = "wait_min", "miss_pct", "cost_usd"  # all to be minimised
RANGES = (5, 8), (0, 4)  # slots, reserve
GIVEN = 5, 1  # slots of the day, reserve of RH
TRAINING, TEST = range(20, 25), range(20)


def pareto_front(figures_of, ranges, population, generations):
    """Search whole numbers within their ranges, and return the undominated choices.

    figures_of: takes a list of choices, returns the figures of each. Returns the
    figures by choice in the order of trial, of choices with equal figures the first.
    """
    least, greatest = np.transpose(ranges)
    operator = {"prob": 1.0, "eta": 3.0, "vtype": float, "repair": RoundingRepair()}
    search = NSGA2(
        pop_size=population,
        sampling=IntegerRandomSampling(),
        crossover=SBX(**operator),
        mutation=PM(**operator),
    )
    problem = Problem(
        n_var=len(ranges), n_obj=len(FIGURES), xl=least, xu=greatest, vtype=int
    )
    search.setup(problem, termination=("n_gen", generations), seed=0, verbose=False)
    tried = {}
    while search.has_next() and (asked := search.ask()) is not None:
        choices = [tuple(map(int, choice)) for choice in asked.get("X")]
        new = [choice for choice in dict.fromkeys(choices) if choice not in tried]
        tried |= zip(new, map(tuple, figures_of(new)))
        asked.set("F", np.array([tried[choice] for choice in choices]))
        search.tell(infills=asked)
    values = np.array(list(tried.values()))
    front = NonDominatedSorting().do(values, only_non_dominated_front=True)
    first = {}
    for choice in [list(tried)[n] for n in sorted(front)]:
        first.setdefault(tried[choice], choice)
    return {choice: figures for figures, choice in first.items()}


def compared(choice, seeds):
    """Return the study of one choice of slots and reserve."""
    slots, reserve = choice
    day = cg.day("surge", slots=slots)
    return cg.compare(day, {"rh": f"rh:reserve={reserve}"}, seeds)


def training_means(choices):
    """Return the means of the figures by choice on the training seeds."""
    means = [compared(choice, TRAINING).means()["rh"] for choice in choices]
    return [[row[name].mean for name in FIGURES] for row in means]


if __name__ == "__main__":
    front = pareto_front(training_means, RANGES, population=12, generations=4)
    [before], given = training_means([GIVEN]), compared(GIVEN, TEST)
    print(f"change from {GIVEN[0]} slots, reserve {GIVEN[1]}: training, test seeds")
    print("slots  reserve", *(f"{name:>23}" for name in FIGURES))
    for choice, means in sorted(front.items()):
        study, cells = compared(choice, TEST), []
        for name, mean, first in zip(FIGURES, means, before):
            change = cg.statistics.paired_difference(
                study.values("rh", name), given.values("rh", name)
            )
            cells.append(
                f"{mean - first:+7.2f} {change.mean:+7.2f} ± {change.half_width:.2f}"
            )
        print("{:5} {:8}".format(*choice), *(f"{cell:>23}" for cell in cells))
