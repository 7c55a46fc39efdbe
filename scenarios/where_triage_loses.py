"""Where triage loses: more work comes than can be done, and most jobs are due soon.

What can only just be in time goes first under triage, whatever its length. Where not
all can be saved, more are by taking the shortest first: RH misses fewer. The scenario
is one of the suite's for training: a log of 695 jobs at a load of 1.27 on three slots,
four fifths of them due within 83 minutes.
"""

import cgrsp_simpy as cg
from cgrsp_simpy.decide.suite import scenario


def overload():
    """The twentieth of the suite."""
    return scenario(20)


if __name__ == "__main__":
    print(cg.compare(overload(), ["rh", "triage", "edf"], range(5000, 5020)))
