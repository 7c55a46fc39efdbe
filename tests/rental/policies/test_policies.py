"""Policies by name, with parameters, from a file, and users' classes."""

import pytest
from rental.policies.views import gpu, scenario_of
from support import refusals

import cgrsp_simpy as cg

# ---- policies by name ----


@pytest.mark.parametrize("name", cg.POLICIES)
def test_a_policy_is_reported_by_its_name(name):
    assert cg.make_policy(name).name == name
    assert cg.make_policy(f"{name}:").name == name


WRONG = [
    ("fif", ["unknown policy 'fif'", "'fifo'", "cadr-oo"]),  # the nearest, and all
    ("", ["unknown policy ''"]),
    ("FIFO", ["unknown policy 'FIFO'"]),
    ("spt_rescue", ["'spt-rescue'"]),
    ("rh:reserv=2", ["reserv", "'reserve'", "gate"]),
    ("rh:reserve", ["'reserve'", "parameter=value"]),
    ("rh:reserve=", ["reserve", "whole number"]),
    ("rh:reserve=1.5", ["reserve", "'1.5'", "whole number"]),
    ("rh:reserve=-1", ["reserve", "-1", ">= 0"]),
    ("rh:gate=high", ["gate", "'high'", "a number"]),
    ("rh:gate=nan", ["gate", "nan", "number"]),
    ("rh:gate=-0.1", ["gate", "-0.1", ">= 0"]),
    ("fifo:threshold_s=1", ["threshold_s"]),  # FIFO has no parameter
    # at risk would lie within doomed
    ("cadr:critical_ratio=0.5", ["critical_ratio", "0.5", ">= 1"]),
    ("adaptive:pressure=-1", ["pressure", "-1"]),
    ("adaptive:threshold_s=inf", ["threshold_s", "inf"]),
    ("adaptive:wide_s=nan", ["wide_s", "nan"]),
    ("spt-rescue:threshold_s=nan", ["threshold_s", "nan"]),
    # every comparison of scores would be false
    ("spt-rescue:cost_weight=nan", ["cost_weight", "nan"]),
    ("spt:cost_weight=nan", ["cost_weight", "nan"]),
    # the slowest slot would be the best
    ("spt:cost_weight=1.5", ["cost_weight", "1.5", "0 to 1"]),
    ("balanced:alpha=-0.1", ["alpha", "-0.1", "0 to 1"]),
    # of a class the late jobs come first: their index must not be the least
    ("c-mu:late=0.9", ["late", "0.9", ">= 1"]),
    ("c-mu:late=inf", ["late", "inf"]),
    ("atc:look_ahead=0", ["look_ahead", "0", "> 0"]),
    ("atc:look_ahead=nan", ["look_ahead", "nan"]),
    ("covert:look_ahead=-2", ["look_ahead", "-2"]),
    ("covert:k=2", ["'k'", "look_ahead"]),
    ("watch:look_s=0", ["look_s", "> 0"]),
    ("watch:urgent_s=-1", ["urgent_s", "-1", ">= 0"]),
    ("no_such_file.py:rule", ["no_such_file.py", "exist"]),
]


test_a_wrong_name_or_parameter_gives_an_error_with_the_allowed_ones = refusals(
    *WRONG,
    *((policy, "must be a name or a function of a view") for policy in (None, 3)),
    call=cg.make_policy,
)


def test_a_policy_may_be_a_function_in_a_file(file):
    path = file(
        "def youngest_first(view):\n"
        "    jobs = sorted(view.queue, key=lambda job: -job.submit_s)\n"
        "    return zip(jobs, view.idle)\n",
        "my_rules.py",
    )
    policy = cg.make_policy(f"{path}:youngest_first")
    queue = [cg.Job(0, 0.0, 100.0), cg.Job(1, 5.0, 100.0), cg.Job(2, 9.0, 100.0)]
    assert [
        (job.id, slot.index)
        for job, slot in policy(scenario_of(gpu("A"), gpu("A")).moment(queue, 10.0))
    ] == [(2, 0), (1, 1)]
