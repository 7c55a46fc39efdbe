"""What identifies a study in its results directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cgrsp_simpy.studies.identity import Identity
from cgrsp_simpy.studies.store import Store


def open_store(
    out: str | Path | None,
    kind: str,
    policies: Mapping[str, Any],
    seeds: Sequence[int],
    **more: Any,
) -> Store | None:
    """The results directory of a study, identified by its kind, policies, seeds and what else it
    depends on, code included.

    policies: by their labels; texts or functions.
    """
    if out is None:
        return None
    identity = Identity()
    told = {"study": kind, **identity.of(more)}
    data = dict(identity.data)  # a user's own code may hold more, which is not kept
    told["policies"] = {name: identity.policy(policy) for name, policy in policies.items()}
    return Store(out, {**told, "code": dict(sorted(identity.code.items()))}, seeds, data)
