"""Calls of a policy, and checks of the items of its answer."""

from __future__ import annotations

import math
import os
import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from numbers import Real
from pathlib import Path
from types import FrameType
from typing import Any

from cgrsp_simpy.base.checks import error_text, shown
from cgrsp_simpy.base.policy import PolicyError, Suspend, Wake
from cgrsp_simpy.base.table import many
from cgrsp_simpy.engine.events import job_id, policy_name

THIS = Path(__file__)
PACKAGE = THIS.parents[1]
PYTHON = [
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")),
    # a browser's Python has other paths, and most modules in a zip file
    *(Path(file).parent for file in (os.__file__, traceback.__file__)),
]
INSTALLED = {"site-packages", "dist-packages"}  # folders of libraries


class PolicyCaller:
    """Calls the policy of a run for the dispatcher."""

    def __init__(self, run: Any) -> None:
        self.run, self.env, self.view = run, run.env, run.view
        self.policy: Callable[[Any], Any] = run.policy
        self._last: Any = ()

    def answers(self) -> Iterable[Any]:
        """Call the policy and return the items of its answer."""
        answer = self._last = self.ask(self.policy, self.view)
        if type(answer) is list:  # most are
            return answer
        return () if answer is None else self._one_by_one(answer)

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call the policy, or a function that it declares."""
        try:
            return function(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, too: the other runs go on
            raise self.raised(error) from error

    def _one_by_one(self, answer: Any) -> Iterator[Any]:
        """Yield the items; a generator resumes when the previous one is carried out."""
        try:
            if hasattr(answer, "__iter__"):
                yield from answer
            else:
                yield answer
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:
            raise self.raised(error) from error

    def wake_s(self, wake: Wake) -> float:
        """Return the time at which to wake the policy; PolicyError if it is invalid."""
        now_s, at_s = self.env.now, wake.at_s
        if not isinstance(at_s, Real) or not now_s < float(at_s) < math.inf:
            raise self.wrong(
                f"requested a wake-up at {shown(at_s)}; it must be a finite time after"
                f" {now_s:g} s"
            )
        return float(at_s)

    def suspended(self, item: Suspend) -> Any:
        """Return the claim of a job to suspend; PolicyError if that is not possible."""
        number = job_id(item.job)
        for claim in self.run.granted_claims:
            if claim.job == item.job and not claim.revoked:
                if claim.granted_s == self.env.now:
                    raise self.wrong(
                        f"suspended job {number} in the instant of its dispatch"
                    )
                return claim
        raise self.wrong(f"suspended job {number}, which is not running")

    # ---- errors ----

    def wrong(self, what: str) -> PolicyError:
        """Return an error that names the policy, the time and the mistake."""
        name = policy_name(self.policy)
        return PolicyError(f"policy {name!r} at t = {self.env.now:g} s {what}")

    def raised(self, error: BaseException) -> PolicyError:
        """Return the PolicyError for an exception in a policy, with its line."""
        return self.wrong(f"raised {error_text(error)}{line_of(error)}")

    def no_such_job(self, item: Any) -> PolicyError:
        """Return the error for an item that names no waiting job."""
        waiting = self.run.pending_claims
        try:
            job, _ = item
            hash(job)
        except Exception:  # the hash of a user's class may fail, too
            return self.wrong(
                f"returned {shown(item)}, which is neither a pair (job, resources) nor"
                " a Wake"
            )
        if waiting and not any(isinstance(job, type(other)) for other in waiting):
            return self.wrong(f"assigned {shown(job)}, which is not a job")
        return self.wrong(
            f"assigned job {job_id(job)}, "
            "which is not waiting (it runs, has ended, or was assigned twice)"
        )

    def deadlock_error(self) -> PolicyError:
        """Return the error for jobs that still wait when no event is left."""
        run, waiting, specs = self.run, self.run.pending_claims, self.run.declared
        jobs = []
        for job, claim in islice(waiting.items(), 3):
            detail = run.report.describe("submit", claim)
            jobs.append(
                f"job {job_id(job)} ({detail})" if detail else f"job {job_id(job)}"
            )
        if len(waiting) > 3:
            jobs.append("...")
        label = specs[0].label if specs else "resource"
        indices = {spec.index for spec in specs}
        full = {
            spec.index for spec, left in zip(specs, run.free) if spec.size and not left
        }
        none = "returned None (is a return statement missing?) and " * (
            self._last is None
        )
        return self.wrong(
            f"{none}left {many(len(waiting), 'job')} waiting, {', '.join(jobs)}, with"
            f" {len(indices - full)} of {len(indices)} {label}s idle and no"
            " further events: the simulation cannot continue"
        )


def line_of(error: BaseException, origins: Sequence[str] = ("user", "package")) -> str:
    """Return the location of an error, such as " (file, line 3)".

    It is the last line in code of the first of the origins that has one, this file
    excepted. Empty if none has: a line of a library is not the policy's.
    """
    lines = dict[str, str]()
    for frame, line in traceback.walk_tb(error.__traceback__):
        lines[_owner(frame)] = f" ({Path(frame.f_code.co_filename).name}, line {line})"
    return next((lines[origin] for origin in origins if origin in lines), "")


def _owner(frame: FrameType) -> str:
    """Return the origin of a frame's code: "user", "package", or "" for other code."""
    name = frame.f_code.co_filename
    module = frame.f_globals.get("__file__") or name
    if (
        name.startswith("<") and name != module
    ):  # generated code, such as that of a dataclass
        return ""
    file = Path(module)
    if file == THIS:
        return ""
    if file.is_relative_to(PACKAGE):
        return "package"
    return "" if is_library(file) else "user"


def is_library(file: Path) -> bool:
    """Return whether a code file belongs to an installed library or to Python."""
    return any(map(file.is_relative_to, PYTHON)) or not INSTALLED.isdisjoint(file.parts)
