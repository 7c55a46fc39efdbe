"""Where triage loses: more work comes than the cheap type can do, and types are free.

A second of a slot is priced by the jobs that wait and, at most as many again, by those
that come before the line is empty. While the line is short the type of least rent is
chosen, and the line grows. The scenario is
one of the suite's for training: 831 jobs on three slots, each to be provisioned as one
of three types, the fast one 17 times as dear by the hour. Adaptive rents it more often.
"""

from cgrsp_simpy.decide.judge import judge
from cgrsp_simpy.decide.suite import scenario


def dear_and_fast():
    """The fiftieth of the suite."""
    return scenario(50)


if __name__ == "__main__":
    policies = ["adaptive", "c-mu", "triage"]
    print(judge([dear_and_fast()], policies, range(5000, 5020), title="free types"))
