"""Does a rescue threshold that follows the load pay? Not against a fixed, tuned one.

On the hectic day and on surge, tuning improves on the thesis's 600 s; on quiet and
normal days neither helps. The thesis leaves the question as future work (Section 6.2.2,
point 7). Adaptive is SPT+Rescue with hopeless jobs last and a second threshold, used
while more than `pressure` jobs wait; the control is the same policy with a `pressure`
that no queue reaches. NSGA-II tunes both on the same ten seeds with the same number of
choices, on wait, misses and cost. The choice of each front with the least wait + 10 x
misses runs on a hundred other seeds.
"""

from tune import FIGURES, pareto_front

import cgrsp_simpy as cg

NEVER = "adaptive:pressure=1000000,"
RANGES = {
    NEVER: {"threshold_s": (0, 28800)},
    "adaptive:": {
        "threshold_s": (0, 28800),
        "pressure": (0, 60),
        "wide_s": (0, 28800),
    },
}
SEEDS, TRAINING = range(1000, 1100), range(1100, 1110)


def traded(figures):
    """A minute of mean wait weighs as much as a tenth of a per cent missed."""
    wait_min, miss_pct, _ = figures
    return wait_min + 10 * miss_pct


def tuned(day, policy):
    """The policy with the best parameters of its front, by the training seeds."""

    def text(choice):
        return policy + ",".join(f"{k}={x}" for k, x in zip(RANGES[policy], choice))

    def means(choices):
        if not choices:
            return []
        study = cg.compare(day, {text(each): text(each) for each in choices}, TRAINING)
        return [[row[name].mean for name in FIGURES] for row in study.means().values()]

    front = pareto_front(means, list(RANGES[policy].values()), 24, 20)
    return text(min(front, key=lambda choice: traded(front[choice])))


if __name__ == "__main__":
    for name in ("quiet", "normal", "hectic", "surge"):
        day = cg.day(name)
        policies = {"fixed": tuned(day, NEVER), "adapted": tuned(day, "adaptive:")}
        print(f"{name}: {policies}")
        policies |= {"thesis's rescue": "spt-rescue", "thesis's adaptive": "adaptive"}
        print(cg.compare(day, policies, SEEDS), "\n")
