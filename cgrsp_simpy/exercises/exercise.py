"""Exercises with judges that recognise common mistakes, runs of processes that students
submit, and checked claims in texts.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from numbers import Real
from types import FrameType, GeneratorType
from typing import Any, NamedTuple

import numpy as np
import simpy
from numpy.random import Generator

from cgrsp_simpy.analysis.statistics import Mean
from cgrsp_simpy.base.checks import error_text, is_number, require, shown
from cgrsp_simpy.base.streams import stream
from cgrsp_simpy.engine.events import is_invalid_yield

ROUNDING = 1e-6  # smaller tolerances cover rounding only: a count
# relative error of three significant figures
THREE_FIGURES = 5e-3
# maximum lines that an answer may run per case: five times the longest answer
LINES = 10_000_000
# end of a judge's run, and how many events it may schedule; results of processes that
# did not end, and that returned nothing
END, EVENTS, NEVER, NOTHING = 10_000.0, 20_000, -1.0, -2.0
Times = Sequence[float] | np.ndarray

Judge = Callable[[Any], str]
"""Error of an answer, without revealing it; "" if it is right."""


@dataclass(frozen=True)
class Exercise:
    """Question of a lecture, and the judge of its answers.

    judge: function of an answer that returns its error, "" if it is right; if there are
    numbers, a function of them that returns a judge. numbers: draws a student's
    individual numbers, which replace the names in braces in the question.
    """

    question: str
    judge: Callable[..., Any]
    numbers: Callable[[Generator], Mapping[str, Any]] | None = None

    def of(self, student: str = "") -> tuple[str, Judge]:
        """Return question and judge with the numbers of a student."""
        if self.numbers is None:
            return self.question, self.judge
        require(isinstance(student, str), "student", student, "a name, as a string")
        numbers = self.numbers(stream(0, f"exercise of {student}"))
        return self.question.format(**numbers), self.judge(**numbers)


@dataclass(frozen=True)
class Verdict:
    """Result of checking an answer; true if it is right.

    message: "right", or the error.
    """

    right: bool
    message: str

    def __bool__(self) -> bool:
        return self.right

    def __str__(self) -> str:
        return self.message

    __repr__ = __str__


class Mistake(NamedTuple):
    """Result of a common mistake, and the message for it."""

    answer: Callable[..., Any]
    hint: str


def number(
    answer: Callable[[], float],
    unit: str,
    tolerance: float,
    *mistakes: Mistake,
    way: str = "read the lecture's example again",
) -> Judge:
    """Return a judge of numbers that does not reveal the direction of an error.

    answer, mistakes: compute the right answer, and wrong ones, on demand. tolerance:
    relative tolerance; 0 for a count. Other answers are also right if they agree to
    three significant figures. way: hint for wrong answers that are not common mistakes.
    """
    within = f"to {100 * tolerance:g} %"
    if tolerance < THREE_FIGURES:
        within = "to three significant figures"
    if tolerance <= ROUNDING:
        within = "exactly"

    def judge(submitted: Any) -> str:
        if not is_number(submitted):
            return f"answer(={shown(submitted)}) must be a number ({unit})"
        if _near(float(submitted), answer(), tolerance):
            return ""
        hints = (
            hint
            for wrong, hint in mistakes
            if _near(float(submitted), wrong(), tolerance)
        )
        return next(hints, f"not yet ({unit}, {within}): {way}")

    return judge


def _near(value: float, exact: float, tolerance: float) -> bool:
    three_figures = tolerance > ROUNDING and f"{value:.3g}" == f"{exact:.3g}"
    return three_figures or abs(value - exact) <= tolerance * abs(exact)


Case = Mapping[str, Any]
"""Arguments of a function to check, by name."""


def drawn(draw: Callable[[Generator], Case]) -> Callable[[], Iterable[Case]]:
    """Return a function that draws 20 cases at random, the same ones at each call."""
    return lambda: map(draw, [stream(0, "exercise")] * 20)


def code(
    what: str, cases: Callable[[], Iterable[Case]], fault: Callable[..., str]
) -> Judge:
    """Return a judge of functions that runs them on cases and names a failing case.

    what: the answer in words, such as "a function of a view". cases: creates the cases.
    fault: takes the answer and the contents of a case, and returns the error or "".
    """

    def judge(submitted: Any) -> str:
        if not callable(submitted):
            return f"the answer is {what}, without calling it, not {shown(submitted)}"
        for case in cases():
            try:
                with _limited(submitted):
                    off = fault(submitted, *case.values())
            except (Exception, SystemExit) as error:
                off = _described(error)
            if off:
                values = [f"{name} {_formatted(value)}" for name, value in case.items()]
                return f"{off} (with {', '.join(values)})" if values else off
        return ""

    return judge


def _described(error: BaseException) -> str:
    """Return the text of an answer's error, on one line."""
    if is_invalid_yield(error):
        return "a process yields events, such as `yield env.timeout(5)`, not `yield 5`"
    if isinstance(error, simpy.Interrupt):
        return "the process is interrupted: catch `simpy.Interrupt` at its `yield`"
    return error_text(error)


@contextmanager
def _limited(answer: Callable[..., Any]) -> Iterator[None]:
    """Raise RuntimeError after LINES executed lines of an answer, unless debugging."""
    code = getattr(answer, "__code__", None)
    if code is None or sys.gettrace() is not None:
        yield
        return
    lines = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != code.co_filename:
            return None
        lines += event == "line"
        if lines > LINES:
            raise RuntimeError(f"an endless loop: {LINES:,} lines were executed")
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def same(
    right: Callable[..., Any],
    *mistakes: Mistake,
    tried: Callable[..., Any] = lambda submitted, *case: submitted(*case),
    within: float = ROUNDING,
) -> Callable[..., str]:
    """Return a fault function for `code` that compares results with the right function.

    right, mistakes: functions of a case's contents that return numbers of any shape.
    tried: calls the answer. within: tolerance relative to the largest right number.
    """

    def fault(submitted: Any, *case: Any) -> str:
        wanted = np.asarray(right(*deepcopy(case)), float)
        result = tried(submitted, *deepcopy(case))
        if result is None:
            return "the function returns nothing"
        if isinstance(result, GeneratorType):
            return "a function with `yield` is a process, and nothing started it"
        result = _numbers(result)
        if _alike(result, wanted, within):
            return ""
        hints = (
            hint
            for wrong, hint in mistakes
            if _alike(result, np.asarray(wrong(*deepcopy(case)), float), within)
        )
        texts = [_formatted(result), _formatted(wanted)]
        if result.shape == wanted.shape and texts[0] == texts[1]:
            n = np.argmax(np.abs(result - wanted))
            texts = [f"{numbers.flat[n]:.9g}" for numbers in (result, wanted)]
        return next(hints, " comes out, it should be ".join(texts))

    return fault


def in_turn(*faults: Callable[..., str]) -> Callable[..., str]:
    """Return a fault function for `code` that reports the first of several faults."""
    return lambda *case: next(filter(None, (fault(*case) for fault in faults)), "")


def _numbers(result: Any) -> np.ndarray:
    """Return a result as numbers; TypeError for others, such as strings of numbers."""
    if not all(
        isinstance(value, Real | np.bool_)
        for value in np.ravel(np.array(result, object))
    ):
        raise TypeError(f"{shown(result)} comes out in place of numbers")
    return np.asarray(result, float)


def _alike(result: np.ndarray, wanted: np.ndarray, within: float) -> bool:
    most = within * np.abs(wanted[np.isfinite(wanted)]).max(initial=within)
    return result.shape == wanted.shape and np.allclose(
        result, wanted, rtol=0.0, atol=most
    )


def _formatted(value: Any) -> str:
    """Format numbers to four significant figures, at most ten numbers."""
    if np.ndim(value) == 0:
        return f"{value:.4g}" if isinstance(value, Real | np.ndarray) else str(value)
    listed = [_formatted(number) for number in value]
    listed[10:] = [f"..., {len(listed)} in all"] * (len(listed) > 10)
    return f"[{', '.join(listed)}]"


class Environment(simpy.Environment):
    """Environment that stops endless scheduling of events, even without yield.

    Raises RuntimeError on the event after EVENTS.
    """

    events: float = 0

    def schedule(self, *arguments: Any, **keywords: Any) -> None:
        self.events += 1
        if self.events > EVENTS:
            raise RuntimeError(
                f"more than {EVENTS:,} events, and the time is {self.now:g}: a"
                " loop has no `yield` or never ends"
            )
        super().schedule(*arguments, **keywords)

    def start(self, generator: Any) -> simpy.Process:
        """Start an answer's process, or raise TypeError if it is a plain function."""
        try:
            return self.process(generator)
        except ValueError:
            raise TypeError("a function without `yield` is not a process") from None

    def run_to_end(self) -> None:
        """Run to END, and leave the clock at the last event."""
        while self.peek() <= END:
            self.step()


def system(
    capacity: float = 1, kind: Callable[..., Any] = simpy.Resource
) -> tuple[Environment, Any]:
    """Return an environment and a resource in it."""
    env = Environment()
    return env, kind(env, capacity)


def results(
    process: Any, env: Environment, desk: Any, arrivals: Times, *columns: Any
) -> np.ndarray:
    """Start a process per arrival and collect their return values.

    desk: resource that the processes share. columns: further arguments of the
    processes, per arrival or for all of them.
    """
    returned = np.full(len(arrivals), NEVER)

    def arrive(n: int, arrival: float, *arguments: float) -> Any:
        yield env.timeout(arrival)
        result = yield env.start(process(env, desk, *arguments))
        returned[n] = NOTHING if result is None else _numbers(result)

    rows = np.array(np.broadcast_arrays(arrivals, *columns), float).T
    for n, row in enumerate(rows.tolist()):
        env.process(arrive(n, *row))
    env.run_to_end()
    return returned


def filled(process: Any, env: Environment, *arguments: Any) -> list[Any]:
    """Run a process whose last argument is a list; return the list."""
    values = list[Any]()
    env.start(process(env, *arguments, values))
    env.run_to_end()
    return values


def recorded(process: Any, env: Environment, *arguments: Any) -> list[float]:
    """Run a process whose last argument is a list of times; return the list.

    A time that is appended before the clock reaches it is replaced by the clock's time.
    """
    times, values = list[float](), list[float]()
    env.start(process(env, *arguments, values))
    while env.peek() <= END:
        env.step()
        times += [min(time, env.now) for time in values[len(times) :]]
    return times


def waits(
    arrivals: Times, services: Times, servers: int = 1, patience: float = np.inf
) -> np.ndarray:
    """Return waits under first come, first served, computed without events.

    patience: customers who would wait longer are not served.
    """
    free, waits = [0.0] * servers, []
    for arrival, service in zip(arrivals, services):
        begin = max(arrival, heapq.heappop(free))
        heapq.heappush(free, begin + service * (begin - arrival <= patience))
        waits.append(begin - arrival)
    return np.array(waits)


def ends(
    arrivals: Times,
    works: Times,
    key: Callable[[int, float], Any] | None = None,
    *,
    preempt: bool = False,
    repeat: bool = False,
    at_service: bool = False,
) -> np.ndarray:
    """Return the ends of jobs on one machine; the smallest key(job, now) is next.

    key: default: first come, first served. preempt: whether a new job with a smaller
    key interrupts. repeat: whether a job restarts from the beginning after an
    interruption. at_service: whether works are in order of service instead of by job.
    """
    now, job, order = 0.0, -1, iter(works)
    times, left = np.zeros(len(arrivals)), dict(enumerate(works))
    while left:
        now = max(now, min(arrivals[n] for n in left))
        ready = [n for n in left if arrivals[n] <= now]
        last, job = job, min(ready, key=lambda n: key(n, now) if key else arrivals[n])
        if repeat and last in left and last != job:
            left[last] = works[last]
        if at_service:
            left[job] = next(order)
        span = min([left[job], *(at - now for at in arrivals if preempt and at > now)])
        times[job] = now = now + span
        left[job] -= span
        if not left[job]:
            del left[job]
    return times


NO_RESULT = Mistake(
    lambda arrivals, *_: np.full(len(arrivals), NOTHING), "the process returns nothing"
)


class ClaimError(AssertionError):
    """Error for a sentence that contradicts the result."""


def claim(
    sentence: str,
    result: Mean | float,
    *,
    above: float | None = None,
    below: float | None = None,
    equal: float | None = None,
) -> str:
    """Check a sentence against a result, so that a text cannot contradict its code.

    The whole interval of a mean must be within the bounds. "No difference" is a claim
    with two bounds, minus and plus the least relevant difference. result: a mean with
    its interval, or a number, such as a count, True or False. above, below: exclusive
    bounds. equal: the exact value. Returns a line to print. Raises ClaimError if the
    claim is false or the result NaN, InputError for a sentence without a claim.
    """
    claimed = {"above": above, "below": below, "equal": equal}
    bounds = [
        f"{word} {bound:g}" for word, bound in claimed.items() if bound is not None
    ]
    require(
        bool(bounds), "claim", sentence, "given together with above, below or equal"
    )
    low, high = (
        (result.low, result.high) if isinstance(result, Mean) else (result, result)
    )
    shown = (
        f"{result.mean:.3g} ± {result.half_width:.2g}"
        if isinstance(result, Mean)
        else f"{result:.4g}"
    )
    # yes or no has no number to show
    line = sentence + (
        "" if isinstance(result, bool) else f" ({shown}: {', '.join(bounds)})"
    )
    if not (
        (above is None or low > above)
        and (below is None or high < below)
        and (equal is None or low == equal == high)
    ):
        raise ClaimError(f"false: {line}")
    return f"checked: {line}"
