"""What identifies a study in its results directory."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cgrsp_simpy.engine.engine import policy_name
from cgrsp_simpy.experiments.store import Store
from cgrsp_simpy.model.checks import InputError
from cgrsp_simpy.model.decision import Policy
from cgrsp_simpy.model.scenario import Scenario, tables
from cgrsp_simpy.model.toml import table_of
from cgrsp_simpy.model.workload import LoggedWorkload

__all__ = ["open_store"]


def open_store(
    out: str | Path | None, kind: str, policies: Mapping[str, str | Policy], seeds: Sequence[int], **more: Any
) -> Store | None:
    """The results directory of a study, identified by its kind, policies, seeds and what else it depends on."""
    if out is None:
        return None
    marks = {name: _mark(policy) for name, policy in policies.items()}
    return Store(out, {"study": kind, **_plain(more), "policies": marks}, seeds)


def _plain(value: Any) -> Any:
    """Plain values for JSON."""
    if isinstance(value, Scenario):
        return _plain({**tables(value), "slot": [table_of(gpu) for gpu in value.slots], **_log_mark(value)})
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value.item() if isinstance(value, np.generic) else value


def _log_mark(scenario: Scenario) -> dict[str, str]:
    """The digest of a log's columns, as its file may change."""
    log = scenario.workload
    if not isinstance(log, LoggedWorkload):
        return {}
    return {"log": _digest(repr((log.submit_s, log.service_s, log.deadline_s, log.gpus, log.weight)))}


def _mark(policy: str | Policy) -> str:
    """What tells a policy from another: its text; of one's own, the digest of the file in which it stands."""
    if isinstance(policy, str):
        file = Path(policy.partition(":")[0])
        return f"{policy} {_digest(file.read_text(encoding='utf-8'))}" if file.suffix == ".py" else policy
    name = policy_name(policy)
    if not inspect.isfunction(policy) or policy.__qualname__ != policy.__name__ or "<" in name:
        hint = "write it as a function at the top of a file, or name it as text, file.py:name"
        raise InputError(f"policy {name!r} cannot be told from another in a results directory; {hint}")
    try:
        return f"{policy.__module__}:{name} {_digest(Path(inspect.getfile(policy)).read_text(encoding='utf-8'))}"
    except OSError:
        raise InputError(f"policy {name!r} has no file by which a results directory can tell it; write it into one") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
