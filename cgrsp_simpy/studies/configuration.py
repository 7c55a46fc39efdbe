"""What identifies a study in its results directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgrsp_simpy.model.parameters import from_file, in_file
from cgrsp_simpy.studies.identity import Identity
from cgrsp_simpy.studies.store import Store

__all__ = ["open_store"]


def open_store(out: str | Path | None, kind: str, policies: Mapping[str, Any], seeds: Sequence[int], **more: Any) -> Store | None:
    """The results directory of a study, identified by its kind, policies, seeds and what else it depends on, code included.

    policies: by their labels; texts or functions.
    """
    if out is None:
        return None
    identity = Identity()
    told = {"study": kind, **identity.of(more), "policies": identity.of({name: _meant(each) for name, each in policies.items()})}
    return Store(out, {**told, "code": dict(sorted(identity.code.items()))}, seeds)


def _meant(policy: Any) -> Any:
    """The policy; of a text that names a file, the text and what it names there."""
    return [policy, from_file("policy", policy)] if isinstance(policy, str) and in_file(policy) else policy
