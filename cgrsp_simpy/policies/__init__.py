"""Scheduling policies: name -> factory, in the thesis's order, then ours.

And policies from text such as "rh:reserve=2".
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import cast

from cgrsp_simpy.model.checks import InputError, check_one_of
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.parameters import made
from cgrsp_simpy.policies.classic import balanced, edf, fifo, lcf, random, spt
from cgrsp_simpy.policies.hybrid import adaptive, cadr, cadr_order_only, spt_rescue
from cgrsp_simpy.policies.rolling_horizon import rolling_horizon
from cgrsp_simpy.policies.rules import ListPolicy
from cgrsp_simpy.policies.triage import triage

__all__ = ["POLICIES", "SECTIONS", "ListPolicy", "make_policy"]

POLICIES: dict[str, Callable[..., Policy]] = {
    "fifo": fifo,
    "spt": spt,
    "edf": edf,
    "lcf": lcf,
    "balanced": balanced,
    "random": random,
    "spt-rescue": spt_rescue,
    "adaptive": adaptive,
    "rh": rolling_horizon,
    "cadr": cadr,
    "cadr-oo": cadr_order_only,
    "triage": triage,
}

# Where the thesis describes each; "ours" is not in it.
_SECTIONS = "4.5.1 4.5.2 4.5.3 4.5.4 4.5.5 4.5.6 4.5.8 4.5.12 4.5.10 4.5.11 4.5.11 ours"
SECTIONS = dict(zip(POLICIES, _SECTIONS.split()))


def make_policy(policy: str | Policy) -> Policy:
    """A policy from its text: "rh", "rh:reserve=2,gate=0.9" or "my_rules.py:youngest_first".

    A callable is passed through. Raises InputError for an unknown name, parameter or
    file.
    """
    if not isinstance(policy, str):
        if not callable(policy):
            what = f"policy(={policy!r})"
            raise InputError(f"{what} must be a name or a function of a view")
        return policy
    name, _, rest = policy.partition(":")
    if name.endswith(".py"):
        return _from_file(Path(name), rest)
    return made("policy", policy, POLICIES)


def _from_file(path: Path, name: str) -> Policy:
    module = _load(path)
    public = {key: value for key, value in vars(module).items() if key[0] != "_"}
    own = [key for key, value in public.items() if callable(value)]
    check_one_of(f"function in {path}", name, own)
    return cast(Policy, getattr(module, name))


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise InputError(f"policy file {str(path)!r} does not exist")
    name = f"cgrsp_simpy_rules.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        why = f"{type(error).__name__}: {error}"
        raise InputError(f"policy file {str(path)!r} cannot be loaded: {why}") from None
    return module
