"""Scheduling policies by name: the thesis's, textbook ones and new ones."""

from __future__ import annotations

from collections.abc import Callable

from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.rental.policies.classic import (
    AtRandom,
    atc,
    balanced,
    c_mu,
    covert,
    edf,
    edf_p,
    fifo,
    lcf,
    spt,
    srpt,
)
from cgrsp_simpy.rental.policies.hybrid import (
    adaptive,
    cadr,
    cadr_order_only,
    rolling_horizon,
    spt_rescue,
)
from cgrsp_simpy.rental.policies.rules import ListPolicy
from cgrsp_simpy.rental.policies.triage import Triage
from cgrsp_simpy.rental.policies.watch import Watch
from cgrsp_simpy.rental.view import Policy

__all__ = ["POLICIES", "PREEMPTIVE", "SECTIONS", "ListPolicy", "make_policy"]

# Name in studies and commands -> factory.
POLICIES: dict[str, Callable[..., Policy]] = {
    "fifo": fifo,
    "spt": spt,
    "edf": edf,
    "lcf": lcf,
    "balanced": balanced,
    "random": AtRandom,
    "spt-rescue": spt_rescue,
    "adaptive": adaptive,
    "rh": rolling_horizon,
    "cadr": cadr,
    "cadr-oo": cadr_order_only,
    "c-mu": c_mu,
    "atc": atc,
    "covert": covert,
    "triage": Triage,
    "watch": Watch,
}

# These suspend jobs, which the terms of renting must allow.
PREEMPTIVE: dict[str, Callable[..., Policy]] = {"edf-p": edf_p, "srpt": srpt}

# Sections of the thesis; "textbook" and "ours" are not in it.
_SECTIONS = (
    "4.5.1 4.5.2 4.5.3 4.5.4 4.5.5 4.5.6 4.5.8 4.5.12 4.5.10 4.5.11 4.5.11"
    " textbook textbook textbook ours ours"
)
SECTIONS = dict(zip(POLICIES, _SECTIONS.split())) | dict.fromkeys(PREEMPTIVE, "6.2.2")
"""Policy -> section of the thesis."""


def make_policy(policy: str | Policy) -> Policy:
    """Create a policy from its specification; a callable is returned unchanged.

    policy: a string such as "rh", "rh:reserve=2,gate=0.9" or "own.py:youngest_first",
    or a function of a View. Raises InputError for an unknown name, parameter or file.
    """
    return chosen("policy", policy, POLICIES | PREEMPTIVE)
