"""Your own policy is a function of a view.

Last in, first out does not change the mean wait significantly, but jobs are later.
"""

import cgrsp_simpy as cg


def youngest_first(view):
    """Last in, first out."""
    return zip(sorted(view.queue, key=lambda job: -job.submit_s), view.idle)


def patient(view):
    """FIFO, but start nothing while stock is scarce; check every ten minutes."""
    scarce = view.known.market.clock.multiplier(view.now_s) < 0.6
    return [cg.Wake(view.now_s + 600)] if scarce else zip(view.queue, view.idle)


# An order and a placement also make a policy: earliest deadline on the cheapest
# idle slot.
thrifty = cg.ListPolicy(
    order=cg.rules.by_deadline, place=cg.rules.cheapest, name="thrifty"
)

if __name__ == "__main__":
    print(
        cg.compare(
            cg.day("hectic"),
            policies=["fifo", youngest_first, patient, thrifty],
            seeds=range(10),
        )
    )
