"""What several commands share: which scenario, which study, and in what form its
answer is given.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.logs import FORMATS
from cgrsp_simpy.model.checks import InputError, check_whole
from cgrsp_simpy.model.table import aligned, csv_text, json_text
from cgrsp_simpy.rental.market import CLOCKS
from cgrsp_simpy.rental.scenario import Scenario, day, trace
from cgrsp_simpy.rental.terms import BILLED_FROM, Terms
from cgrsp_simpy.rental.workload import DAYS, LoggedWorkload
from cgrsp_simpy.studies.study import Tidy, failures_told

__all__ = [
    "READING",
    "Answer",
    "add_by",
    "add_gallery",
    "add_policies",
    "add_reading",
    "add_scenario",
    "add_study",
    "answer",
    "by_answer",
    "check_work",
    "gallery_of",
    "policies_of",
    "reading_of",
    "scenario_of",
    "seeds_of",
    "summary",
    "terms_of",
    "workers_of",
]

log = logging.getLogger(__name__)
MOST_JOBS = 100_000_000  # about an hour
JOBS_PER_S = 30_000  # of one process, roughly: policies and modules differ


class Answer(NamedTuple):
    """What a command prints on stdout, and its exit status."""

    text: str
    status: int = 0


def summary(docstring: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((docstring or "").split("\n\n")[0].split())


def add_policies(parser: argparse.ArgumentParser) -> None:
    """Add the option that names policies."""
    parser.add_argument(
        "--policies",
        default="fifo,spt,edf,rh,cadr",
        metavar="P,P,...",
        help=(
            "names with parameters (rh, rh:reserve=2,gate=0.9) or functions"
            " (my_rules.py:youngest_first); default: %(default)s"
        ),
    )


def add_study(parser: argparse.ArgumentParser, what: str = "--seeds", number: int = 30) -> None:
    """Add the options of a study: how many replications, where, and how it answers."""
    parser.add_argument(
        what,
        type=int,
        default=number,
        metavar="N",
        help="number of replications (default: %(default)s)",
    )
    parser.add_argument(
        "--first-seed",
        type=int,
        default=0,
        metavar="N",
        help="the first seed (default: %(default)s)",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: this one)")
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="keep results in DIR as they come; the same command resumes there",
    )
    parser.add_argument(
        "--format", choices=("table", "csv", "json"), default="table", help="default: %(default)s"
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help=f"start even if more than {MOST_JOBS:,} jobs are to be simulated",
    )


def check_work(given: argparse.Namespace, jobs: int) -> None:
    """Raise InputError for work of many hours that has not been asked for twice.

    jobs: that are to be simulated.
    """
    if jobs > MOST_JOBS and not given.yes:
        hours = jobs / JOBS_PER_S / (workers_of(given) or 1) / 3600
        raise InputError(
            f"{jobs:,} jobs are to be simulated, {hours:,.1f} hours or so; --yes starts"
            " it all the same"
        )


def add_gallery(parser: argparse.ArgumentParser, folder: str) -> None:
    """Add the options of an action that draws a set of figures."""
    parser.add_argument("--only", metavar="ID,ID", help="some of the figures (default: all)")
    parser.add_argument("--out", default=folder, metavar="DIR", help="default: %(default)s")
    parser.add_argument(
        "--style", choices=("print", "lecture"), default="print", help="default: %(default)s"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: one a core)")


def gallery_of(
    given: argparse.Namespace, every: Iterable[str]
) -> tuple[tuple[str, ...], int | None]:
    """The figures asked for, of all that there are, and the executor."""
    workers = workers_of(given) or os.cpu_count() or 1
    return tuple(
        every if given.only is None else given.only.split(",")
    ), workers if workers > 1 else None


def workers_of(given: argparse.Namespace) -> int | None:
    """The number of processes, if one was given."""
    if given.workers is not None:
        check_whole("--workers", given.workers, least=1)
    return given.workers  # type: ignore[no-any-return]


def seeds_of(given: argparse.Namespace) -> range:
    """The seeds that the options name."""
    check_whole("--seeds", given.seeds, least=1)
    check_whole("--first-seed", given.first_seed, least=0)
    return range(given.first_seed, given.first_seed + given.seeds)


def policies_of(text: str) -> list[str]:
    """The policies in "a,b:x=1,y=2,c"; a part like y=2 belongs to the policy before it."""
    policies: list[str] = []
    for part in text.split(","):
        if policies and "=" in part and ":" not in part:
            policies[-1] += f",{part}"
        else:
            policies.append(part)
    return policies


def answer(study: Tidy, given: argparse.Namespace) -> Answer:
    """A study in the format asked for; status 1 where runs failed."""
    if given.out is not None:
        log.info("results are in %s", given.out)
    if study.failures and given.format != "table":
        log.warning("%s", failures_told(study)[-1])
    if given.format == "json":
        text = study.json().rstrip("\n")
    else:
        text = csv_text(study.rows).rstrip("\n") if given.format == "csv" else str(study)
    return Answer(text, 1 if study.failures else 0)


# options that are of no use without a log
READING = ("trace_format", "window", "strict", "columns")


def add_reading(parser: argparse._ActionsContainer) -> None:
    """Add the options that tell how a log is read."""
    parser.add_argument(
        "--trace-format",
        metavar="NAME",
        help=f"{', '.join(FORMATS)} (default: by the file's name, else csv)",
    )
    parser.add_argument(
        "--window",
        metavar="FROM:TO",
        help="part of the log, up to but without TO, e.g. 2024-11-20:2024-11-22",
    )
    parser.add_argument(
        "--columns",
        metavar="A=B,A=B",
        help="its columns by our names, e.g. submit=created,service=seconds",
    )
    parser.add_argument(
        "--strict", action="store_true", help="refuse a log with bad rows or out of order"
    )


def reading_of(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a reader of logs that the options give, but for file and format."""
    return {"window": given.window, "strict": given.strict, "columns": _columns(given.columns)}


def _columns(text: str | None) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(",")] if text is not None else []
    if not all(name and column for name, _, column in parts) or len(
        {name for name, _, _ in parts}
    ) < len(parts):
        raise InputError(
            f"--columns(={text!r}) must be names with columns of the file, such as"
            " submit=created,service=seconds"
        )
    return {name.strip(): column.strip() for name, _, column in parts}


def add_by(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for figures by the values of a column of a log."""
    parser.add_argument(
        "--by", metavar="COLUMN", help="figures by the values of a column of the log, such as user"
    )


def by_answer(rows: Sequence[Mapping[str, Any]], given: argparse.Namespace) -> Answer:
    """Rows by the values of a column of a log, in the format asked for."""
    if given.format == "json":
        return Answer(
            json_text(
                {
                    "by": given.by,
                    "rows": [{name: row[name] for name in list(row)[1:]} for row in rows],
                }
            )
        )
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    cells = [[_shown(value) for value in list(row.values())[2:]] for row in rows]
    return Answer(
        "\n".join(
            aligned(
                [
                    [given.by, *list(rows[0])[2:]],
                    *([row["value"], *own] for row, own in zip(rows, cells)),
                ]
            )
        )
    )


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "-" if value != value else f"{value:,.6g}"


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a scenario: a day, a log, or a file."""
    group = parser.add_argument_group(
        "scenario: a file, a day of the thesis, or a log of real jobs"
    )
    group.add_argument("scenario", nargs="?", metavar="FILE.toml", help="a scenario file")
    group.add_argument("--day", metavar="NAME", help=f"{', '.join(DAYS)} (default: hectic)")
    group.add_argument("--trace", metavar="FILE", help="a log of jobs")
    add_reading(group)
    group.add_argument(
        "--slots", type=int, metavar="N", help="GPU slots, types in turn (default: 5)"
    )
    group.add_argument(
        "--tight-fraction", type=float, metavar="F", help="share of 1-hour deadlines (default: 0.2)"
    )
    group.add_argument(
        "--jobs-per-day", type=int, metavar="N", help="number of jobs in place of the day's"
    )
    group.add_argument(
        "--rate", type=float, metavar="R", help="arrivals per second in place of the day's"
    )
    group.add_argument(
        "--free-types", action="store_true", help="let the policy choose the type of an idle slot"
    )
    group.add_argument(
        "--clock",
        metavar="NAME",
        help=f"{' or '.join(CLOCKS)}: hours of scarce stock (default: calibrated)",
    )
    _add_terms(parser.add_argument_group("terms of renting, unless told those of the thesis"))


def _add_terms(group: argparse._ActionsContainer) -> None:
    """Add the options that tell what renting means."""
    for name, (kind, metavar, told) in _TERMS.items():
        option = f"--{name.replace('_', '-')}"
        if kind is bool:
            group.add_argument(option, action="store_true", default=None, help=told)
        else:
            group.add_argument(option, type=kind, metavar=metavar, help=told)


# Field of Terms -> kind, metavar and help of its option.
_TERMS: dict[str, tuple[type, str, str]] = {
    "retry_s": (float, "S", "Low stock is a refusal; the job asks again after so many seconds"),
    "warm_s": (float, "S", "seconds for which an instance is kept after its job"),
    "billed_from": (str, "WHAT", f"{' or '.join(BILLED_FROM)} (default: execution)"),
    "minimum_s": (float, "S", "least seconds billed for an instance"),
    "increment_s": (float, "S", "billed seconds are rounded up to whole increments"),
    "preemption_per_h": (float, "R", "rate per hour at which an instance is taken back (spot)"),
    "checkpoint_s": (float, "S", "seconds of execution between checkpoints (default: none)"),
    "checkpoint_cost_s": (float, "S", "seconds that writing one takes"),
    "restart_s": (float, "S", "seconds that a stopped job takes before it goes on"),
    "suspension": (bool, "", "let policies suspend running jobs (edf-p and srpt do)"),
    "budget_usd_per_day": (float, "USD", "when it is spent, nothing is dispatched till midnight"),
}


# Field of Terms -> those of which one gives it an effect.
_NEEDS = {
    "checkpoint_s": ("preemption_per_h",),
    "checkpoint_cost_s": ("checkpoint_s",),
    "restart_s": ("preemption_per_h", "suspension"),
}

# Option -> what it belongs to.
_ONLY_DAY = {"jobs_per_day": "--jobs-per-day", "rate": "--rate"}
_ONLY_TRACE = {name: f"--{name.replace('_', '-')}" for name in READING}
_NOT_FILE = {
    "slots": "--slots",
    "tight_fraction": "--tight-fraction",
    "free_types": "--free-types",
    "clock": "--clock",
    **{name: f"--{name.replace('_', '-')}" for name in _TERMS},
}


def scenario_of(given: argparse.Namespace) -> Scenario:
    """The scenario that the options name; a log is summed up on stderr."""
    sources = [name for name in ("scenario", "day", "trace") if getattr(given, name) is not None]
    if len(sources) > 1:
        raise InputError("give one of a scenario file, --day and --trace, not several")
    source = sources[0] if sources else "day"
    if source != "trace":
        _refuse(given, _ONLY_TRACE, "--trace")
    if source != "day":
        _refuse(given, _ONLY_DAY, "--day")
    if source == "scenario":
        _refuse(given, _NOT_FILE, "--day or --trace; change the file instead")
        scenario = Scenario.from_toml(given.scenario)
    else:
        own = {
            name: getattr(given, name)
            for name in _NOT_FILE
            if name not in _TERMS and getattr(given, name) is not None
        }
        own |= {"terms": terms} if (terms := terms_of(given)) is not None else {}
        if source == "trace":
            scenario = trace(given.trace, given.trace_format, **reading_of(given), **own)
        else:
            scenario = day(
                given.day or "hectic", jobs=given.jobs_per_day, rate_per_s=given.rate, **own
            )
    if isinstance(scenario.workload, LoggedWorkload):
        log.info("%s", _summary(scenario, scenario.workload))
    return scenario


def terms_of(given: argparse.Namespace) -> Terms | None:
    """The terms of renting that the options name; None if they name none."""
    own = {name: getattr(given, name) for name in _TERMS if getattr(given, name) is not None}
    varied = [text.partition("=")[0] for text in getattr(given, "grid", ())]
    for name, owners in _NEEDS.items():
        if name in own and not any(own.get(each) or each in varied for each in owners):
            options = " or ".join(f"--{each.replace('_', '-')}" for each in owners)
            raise InputError(f"--{name.replace('_', '-')} goes with {options}")
    return Terms(**own) if own else None


def _refuse(given: argparse.Namespace, options: dict[str, str], owner: str) -> None:
    for name, option in options.items():
        if getattr(given, name) not in (None, False):
            raise InputError(f"{option} goes with {owner}")


def _summary(scenario: Scenario, jobs: LoggedWorkload) -> str:
    """What was loaded: jobs, span, rate, service quantiles, offered load."""
    span_h = (jobs.submit_s[-1] - jobs.submit_s[0]) / 3600
    pace = f", {jobs.rate_per_s * 3600:.1f} an hour" if span_h else ""
    median, ninety, most = np.quantile(jobs.service_s, [0.5, 0.9, 0.99])
    return (
        f"{scenario.name}: {jobs.jobs} job{'s' * (jobs.jobs > 1)} over {span_h:.1f} h{pace};"
        f" service median {median:.0f} s, 90 % {ninety:.0f} s, 99 % {most:.0f} s; offered load"
        f" {scenario.known().offered_load:.3f} on {len(scenario.slots)} slots (execution time only)"
    )
