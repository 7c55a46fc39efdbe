"""On ten scenarios drawn at random triage has the lowest mean cost of four policies.

No choice of a policy was made on these scenarios. The first ten of a hundred are run
here, with two seeds each; the table in docs/howto/limits.md is of all of them (`TEST`)
with four seeds, and of those that `wide` draws in place of `scenario`.
"""

from cgrsp_simpy.decide.judge import judge
from cgrsp_simpy.decide.suite import TEST, scenario

if __name__ == "__main__":
    policies = ["edf", "cadr", "watch", "triage"]
    print(judge(map(scenario, TEST[:10]), policies, range(2), title="ten scenarios"))
