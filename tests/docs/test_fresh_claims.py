"""The claims of the lectures with seeds that no lecture uses: twenty sets of them.

`PYTHONPATH=tests python tests/docs/test_fresh_claims.py 3 17` prints those of two
lectures that fail, and in how many sets.
"""

import contextlib
import io
import sys
from collections import Counter
from pathlib import Path

import matplotlib.figure
import matplotlib.pyplot as plt
import numpy as np
import pytest

import cgrsp_simpy.exercises
from cgrsp_simpy.base import streams
from cgrsp_simpy.exercises.exercise import ClaimError
from cgrsp_simpy.exercises.exercise import claim as checked

LECTURES = sorted(
    (Path(__file__).parents[2] / "scenarios" / "lectures").glob("[0-9]*.py")
)
SETS = range(1, 21)
# of what the thesis printed, with the seeds that lecture 18 names
OF_THESE_SEEDS = {
    "Nineteen of twenty agree",
    "With the next 30 days eleven agree",
    "With independent values this is nearly impossible",
    "Policies with the waits of SPT on all days, SPT included",
    "SPT: the verdict changes with the seeds",
    "Alone CADR is below 5 %",
    "As the worst of ten it is not",
}


def outcomes(script, number):
    """Sentence -> whether it held wherever it was claimed, with a set of seeds."""
    held = {}

    def noted(sentence, found, **bounds):
        try:
            line = checked(sentence, found, **bounds)
        except ClaimError as error:
            line = str(error)
        if sentence not in OF_THESE_SEEDS:
            held[sentence] = held.get(sentence, True) and line.startswith("checked: ")
        return line

    def sequence(seed, **other):
        return np.random.SeedSequence([seed, number], **other)

    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(io.StringIO()),
    ):
        patch.setattr(streams, "SeedSequence", sequence)
        patch.setattr(cgrsp_simpy.exercises, "claim", noted)
        patch.setattr(matplotlib.figure.Figure, "savefig", lambda *_, **__: None)
        patch.setattr(Path, "mkdir", lambda *_, **__: None)
        text = script.read_text(encoding="utf-8")
        exec(compile(text, script.name, "exec"), {"__name__": "lecture"})
    plt.close("all")
    return held


def tally(script, sets=SETS):
    """Sentence -> in how many sets it was claimed, and in how many it did not hold."""
    claimed, failed = Counter(), Counter()
    for number in sets:
        held = outcomes(script, number)
        claimed.update(list(held))
        failed.update(sentence for sentence in held if not held[sentence])
    return claimed, failed


def test_each_set_has_other_seeds_and_a_claim_that_fails_is_counted(file):
    script = file(
        "from cgrsp_simpy.exercises import claim\n"
        "from cgrsp_simpy.base.streams import stream\n"
        "claim('by chance', stream(1, 'gaps').random(), below=0.5)\n"
        "claim('always', stream(1, 'gaps').random(), below=1)\n",
        "by_chance.py",
    )
    claimed, failed = tally(script)
    assert claimed == {"by chance": 20, "always": 20}
    assert set(failed) == {"by chance"} and 3 < failed["by chance"] < 17


@pytest.mark.parametrize(
    "script",
    [pytest.param(each, id=each.stem, marks=pytest.mark.long) for each in LECTURES],
)
def test_claims_hold_with_other_seeds(script):
    """One in twenty may fail, and no sentence in more than three sets."""
    claimed, failed = tally(script)
    assert max(failed.values(), default=0) <= 3, failed
    assert sum(failed.values()) <= sum(claimed.values()) / 20, failed


if __name__ == "__main__":
    matplotlib.use("Agg")
    for each in LECTURES:
        if str(int(each.name[:2])) in sys.argv[1:]:
            for name, times in tally(each)[1].items():
                sys.stdout.write(f"{each.name}: {times:2} of {len(SETS)}: {name}\n")
            sys.stdout.flush()
