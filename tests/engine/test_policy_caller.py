"""Wrong decisions of a policy, and errors in it: one line with the location."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
from engine.bench import Bench, one_each
from support import check_refused

from cgrsp_simpy.base.policy import PolicyError, Suspend, Wake
from cgrsp_simpy.engine import policy_caller

WRONG = {
    "neither a pair": lambda view: [7],
    r"returned \(\[\], 0\), which is neither a pair": lambda view: [([], 0)],  # no key
    "assigned 'x', which is not a job": lambda view: [("x", view.free[0])],
    "assigned job 9, which is not waiting": lambda view: [(9, view.free[0])],
    "assigned job 1 to node 0, which has 2 GPUs free; the job needs 3": lambda view: [
        (1, view.free[0])
    ],
    "assigned job 1 to 'nowhere', which is not a resource": lambda view: [
        (1, "nowhere")
    ],
    "raised ZeroDivisionError: division by zero": lambda view: (1 / 0 for _ in (1,)),
    "a finite time after 0 s": lambda view: [Wake(0.0)],
    (
        r"returned None \(is a return statement missing\?\) and left 4 jobs waiting,"
        r" job 1 \(number 1\), job 2 \(number 2\), job 3 \(number 3\), \.\.\.,"
        r" with 1 of 1 nodes idle"
    ): lambda view: None,
    "(?<=at t = 0 s )left 4 jobs waiting": lambda view: [],
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_answer_gives_a_one_line_error(words):
    bench = Bench(WRONG[words], 2)
    for number in (1, 2, 3, 4):
        bench.job(number, 0, 1, need=3)
    check_refused(lambda: bench.go(), f"at t = 0 s .*{words}", PolicyError)


@dataclass(frozen=True)
class Fixed:
    """That nobody may change."""

    value: int = 0


def share(nothing):
    return 1 / nothing


def calls_another(view):
    share(0)


def answers_one_by_one(view):
    yield Wake(3.0)
    share(0)


def calls_the_package(view):
    view.room(None)


def calls_numpy(view):
    np.linalg.inv(np.zeros((2, 2)))


def calls_generated_code(view):
    Fixed().value = 1


@pytest.mark.parametrize(
    ("policy", "function"),
    [
        (calls_another, share),
        (answers_one_by_one, share),
        (calls_the_package, calls_the_package),
        (calls_numpy, calls_numpy),
        (calls_generated_code, calls_generated_code),
    ],
)
def test_an_error_in_a_policy_names_the_line_of_the_users_file(policy, function):
    bench = Bench(policy, 2)
    bench.job(1, 0, 1)
    line = function.__code__.co_firstlineno + 1
    words = rf"\(test_policy_caller\.py, line {line}\)$"
    check_refused(lambda: bench.go(), words, PolicyError)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        # one of the package's own
        (policy_caller.PACKAGE / "own.py", r" \(own\.py, line 2\)$"),
        (policy_caller.PYTHON[0] / "own.py", r"\(char 1\)$"),
        ("/venv/lib/site-packages/own.py", r"\(char 1\)$"),
    ],
)
def test_an_error_within_a_library_names_the_packages_line_and_none_of_a_library(
    file, words
):
    names = {"__name__": "own", "__file__": str(file), "json": json}
    exec(compile("def ask(view):\n    json.loads('{')", str(file), "exec"), names)
    bench = Bench(names["ask"], 2)
    bench.job(1, 0, 1)
    check_refused(lambda: bench.go(), f"JSONDecodeError: .*{words}", PolicyError)


def test_an_error_in_the_call_of_a_policy_names_no_line():
    bench = Bench(lambda: None, 2)  # takes no view
    bench.job(1, 0, 1)
    check_refused(lambda: bench.go(), r"raised TypeError: .* was given$", PolicyError)


SUSPENDED = {
    "suspended job 1; this scenario does not allow suspension": lambda view: (
        [Suspend(1)] if 1 in view.running else one_each(view)
    ),
    "suspended job 7, which is not running": lambda view: [Suspend(7)],
    r"suspended job \[\], which is not running": lambda view: [Suspend([])],
    "suspended job 1 in the instant of its dispatch": lambda view: [
        *one_each(view),
        Suspend(1),
    ],
}


@pytest.mark.parametrize("words", SUSPENDED)
def test_a_job_that_cannot_be_suspended_gives_a_one_line_error(words):
    bench = Bench(SUSPENDED[words], 1, asks_on_arrival=True, stops=False)
    bench.job(1, 0, 10)
    bench.job(2, 4, 1)
    check_refused(lambda: bench.go(), f"policy .* at t = [04] s {words}", PolicyError)
