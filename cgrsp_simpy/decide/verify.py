"""Repeat a sample of the tasks of a results directory."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from string import hexdigits
from typing import Any

from cgrsp_simpy.base.checks import InputError, require
from cgrsp_simpy.base.files import READING, is_there, naming_nothing
from cgrsp_simpy.decide.advice import advise
from cgrsp_simpy.decide.recommend import Prices, Spot
from cgrsp_simpy.studies.compare import compare, sweep
from cgrsp_simpy.studies.identity import Restored
from cgrsp_simpy.studies.store import Checked, kept_json, verifying

Again = Callable[[Mapping[str, Any], Sequence[Any], Path], Any]
"""Runs a study from its record, with policies, into a directory."""


def verify(
    out: Path,
    sample: int = 5,
    seed: int = 0,
    run_code: bool = False,
    studies: Mapping[str, Again] | None = None,
) -> Checked:
    """Repeat tasks of a results directory, and compare the results.

    sample: number of tasks, drawn by the seed. run_code: import the policy files that
    the directory names, which runs their code. studies: kinds of studies in addition to
    STUDIES. Raises InputError for a directory that is damaged or contains no study.
    """
    if not is_there(out / "configuration.json"):
        raise InputError(f"{out} is not a results directory that a command wrote")
    try:
        with (
            nullcontext() if run_code else naming_nothing(),
            verifying(sample, seed) as result,
        ):
            configuration = kept_json(out / "configuration.json")
            _run_again(out, configuration, STUDIES | dict(studies or {}))
    except InputError as error:
        message = str(error)
        raise InputError(
            message if message.startswith(str(out)) else f"{out}: {message}"
        ) from None
    except READING:
        raise InputError(
            f"{out / 'configuration.json'} is damaged or altered"
        ) from None
    return result


def _run_again(out: Path, configuration: Any, studies: Mapping[str, Again]) -> None:
    require(isinstance(configuration, dict), "configuration", configuration, "a table")
    code = configuration.pop("code", {})
    saved_policies = [
        _policy(saved, code) for saved in configuration.pop("policies").values()
    ]

    def data(name: Any) -> Any:
        if not isinstance(name, str) or name.strip(hexdigits):
            raise InputError(f"data {name!r} is not a digest")
        return kept_json(out / "data" / f"{name}.json")

    restored = Restored(data)
    policies = [restored.of(policy) for policy in saved_policies]
    entries = {name: restored.of(part) for name, part in configuration.items()}
    studies[entries["study"]](entries, policies, out)


def _policy(saved: Any, code: Mapping[str, Any]) -> Any:
    """Return a policy from its record; for a list [name, digest], the name."""
    if isinstance(saved, list):
        return saved[0]
    if isinstance(saved, str) and saved in code:
        raise InputError(
            f"the policy {saved!r} is defined in a script: in that script, run the"
            " study within"
            " cgrsp_simpy.studies.store.verifying"
        )
    return saved


def _swept(entries: Mapping[str, Any], policies: Sequence[Any], out: Path) -> None:
    points = [point for point, _ in entries["points"]]
    places = {_arguments(point): place for point, place in entries["points"]}
    grid = {
        name: list(dict.fromkeys(point[name] for point in points)) for name in points[0]
    }
    number = math.prod(map(len, grid.values()))
    require(
        number == len(points),
        "points",
        len(points),
        f"{number}, one per point of the grid",
    )
    sweep(
        lambda **point: places[_arguments(point)],
        grid,
        policies,
        entries["seeds"],
        out=out,
    )


def _arguments(point: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the scenario's arguments at a point of the grid."""
    return tuple(item for item in point.items() if ":" not in item[0])


# kind of study -> runs it from its record, with policies, into DIR
STUDIES: dict[str, Again] = {
    "compare": lambda entries, policies, out: compare(
        entries["scenario"],
        policies,
        entries["seeds"],
        out=out,
        precision=entries["precision"] or None,
    ),
    "sweep": _swept,
    "advice": lambda entries, policies, out: advise(
        entries["scenario"],
        policies,
        entries["seeds"],
        prices=Prices(**entries["prices"]),
        spot=entries["spot"] and Spot(**entries["spot"]),
        target=entries["target"],
        budget_usd=entries["budget_usd"],
        out=out,
    ),
}
