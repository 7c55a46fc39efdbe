"""What several commands share: which scenario, which study, and in what form its
answer is given.
"""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from cgrsp_simpy.engine.model import Model
from cgrsp_simpy.logs import FORMATS
from cgrsp_simpy.model.checks import InputError, check_whole, require
from cgrsp_simpy.model.table import aligned, csv_text, json_text
from cgrsp_simpy.rental.gpu import CATALOGUES
from cgrsp_simpy.rental.market import CLOCKS
from cgrsp_simpy.rental.scenario import Scenario, day, trace
from cgrsp_simpy.rental.terms import BILLED_FROM, Terms
from cgrsp_simpy.rental.workload import DAYS, LoggedWorkload
from cgrsp_simpy.studies.executors import MOST_WORKERS
from cgrsp_simpy.studies.study import Tidy, failures_told

log = logging.getLogger(__name__)
BYTES_A_JOB = 1000  # of a run that keeps its records, roughly
MOST_S, MOST_BYTES = 3600, 8e9  # without --yes
LONG_FIGURES = "all figures are to be drawn, and their runs carried out, which may take minutes"


class Answer(NamedTuple):
    """What a command prints on stdout, and its exit status."""

    text: str
    status: int = 0


def summary(docstring: str | None) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join((docstring or "").split("\n\n")[0].split())


def add_options(parser: argparse._ActionsContainer, *rows: tuple[Any, ...]) -> None:
    """Add options.

    rows: of each the name with its metavar, as in "--seed N", the type, the help, and the default
    if there is one; a flag has the type bool and no metavar.
    """
    for usage, kind, told, *default in rows:
        name, _, metavar = usage.partition(" ")
        if kind is bool:
            parser.add_argument(name, action="store_true", help=told)
        else:
            own = {"default": default[0]} if default else {}
            parser.add_argument(name, type=kind, metavar=metavar, help=told, **own)


def add_also(parser: argparse.ArgumentParser, names: Mapping[str, str], told: str = "") -> None:
    """Add a module's own words for options that are there. names: own word -> option."""
    again = argparse.SUPPRESS
    for name, option in names.items():
        own = told or f"as {flag(option)}"
        parser.add_argument(name, dest=option, type=int, default=again, metavar="N", help=own)


def add_format(parser: argparse.ArgumentParser, told: str = "default: %(default)s") -> None:
    """Add the option that says in which form the answer is given."""
    parser.add_argument("--format", choices=("table", "csv", "json"), default="table", help=told)


def add_policies(parser: argparse.ArgumentParser) -> None:
    """Add the option that names policies."""
    told = (
        "names with parameters (rh, rh:reserve=2,gate=0.9) or functions"
        " (my_rules.py:youngest_first); default: %(default)s"
    )
    add_options(parser, ("--policies P,P,...", str, told, "fifo,spt,edf,rh,cadr"))


FIRST_SEED = ("--first-seed N", int, "the first seed (default: %(default)s)", 0)
WORKERS = ("--workers N", int, "processes (default: this one)")


def add_study(parser: argparse.ArgumentParser, what: str = "--seeds", number: int = 30) -> None:
    """Add the options of a study: how many replications, where, and how it answers."""
    resumed = "keep results in DIR as they come; the same command resumes there"
    add_options(
        parser,
        (f"{what} N", int, "number of replications (default: %(default)s)", number),
        FIRST_SEED,
        WORKERS,
        ("--out DIR", str, resumed),
    )
    add_format(parser)
    add_yes(parser)


def add_yes(parser: argparse._ActionsContainer) -> None:
    """Add the option that lifts the limit of `check_work`."""
    long = f"start even if it takes more than an hour or {MOST_BYTES / 1e9:g} GB"
    add_options(parser, ("--yes", bool, long))


def check_work(
    given: argparse.Namespace,
    jobs: int,
    kept: int = 0,
    per_s: float = Model.pace_per_s,
    done: str = "simulated",
) -> None:
    """Tell of work of more than a minute before it starts, and raise InputError for much more
    that has not been asked for twice.

    jobs: that are to be simulated, of which `kept` are held in memory at a time. per_s: so many of
    them a second, roughly. done: what is done to them.
    """
    seconds = jobs / per_s / (workers_of(given) or 1 if hasattr(given, "workers") else 1)
    held = BYTES_A_JOB * kept
    minutes = "a minute" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    took = f"{seconds / 3600:,.1f} hours" if seconds > 5400 else minutes
    memory = f", {held / 1e9:,.1f} GB" if held > 1e8 else ""
    told = f"{jobs:,} jobs are to be {done}, {took}{memory} or so"
    if (jobs / per_s > MOST_S or held > MOST_BYTES) and not given.yes:
        raise InputError(f"{told}; --yes starts it all the same")
    if seconds > 60:
        log.info("%s", told)


def add_gallery(parser: argparse.ArgumentParser, folder: str) -> None:
    """Add the options of an action that draws a set of figures."""
    add_options(
        parser,
        ("--only ID,ID", str, "some of the figures (default: all)"),
        ("--out DIR", str, "default: %(default)s", folder),
    )
    add_style(parser)


def add_style(parser: argparse.ArgumentParser) -> None:
    """Add the options of every action that draws: the style, and the number of processes."""
    styles = ("print", "lecture", "single", "double")
    told = (
        "single, double: columns of a journal, 88 and 180 mm, in 8 pt and as PDF too (wide figures"
        " take both); default: %(default)s"
    )
    parser.add_argument("--style", choices=styles, default="print", help=told)
    add_options(parser, ("--workers N", int, "processes (default: one a core)"))


def gallery_of(
    given: argparse.Namespace, every: Iterable[str]
) -> tuple[tuple[str, ...], int | None]:
    """The figures asked for, of all that there are, and the executor."""
    if given.only is None:
        log.info("%s", LONG_FIGURES)
    ids = every if given.only is None else given.only.split(",")
    return tuple(ids), executor_of(given)


def executor_of(given: argparse.Namespace) -> int | None:
    """The number of processes, one a core unless told; None for this one alone."""
    workers = workers_of(given) or os.cpu_count() or 1
    return workers if workers > 1 else None


def workers_of(given: argparse.Namespace) -> int | None:
    """The number of processes, if one was given."""
    if given.workers is not None:
        check_whole("--workers", given.workers, least=1, most=MOST_WORKERS)
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


def add_reading(
    parser: argparse._ActionsContainer, default: str = "by the file's name, else csv"
) -> None:
    """Add the options that tell how a log is read. default: its format unless told."""
    window = "part of the log, up to but without TO, e.g. 2024-11-20:2024-11-22"
    columns = "its columns by our names, e.g. submit=created,service=seconds"
    add_options(
        parser,
        ("--trace-format NAME", str, f"{', '.join(FORMATS)} (default: {default})"),
        ("--window FROM:TO", str, window),
        ("--columns A=B,A=B", str, columns),
        ("--strict", bool, "refuse a log with bad rows or out of order"),
    )


def reading_of(given: argparse.Namespace) -> dict[str, Any]:
    """The arguments of a reader of logs that the options give, but for file and format."""
    return {"window": given.window, "strict": given.strict, "columns": _columns(given.columns)}


def _columns(text: str | None) -> dict[str, str]:
    return pairs_of("--columns", text, "submit=created,service=seconds")


def pairs_of(option: str, text: str | None, such_as: str) -> dict[str, str]:
    """What an option's text of the form A=B,A=B tells; nothing where it is not given."""
    parts = [part.partition("=") for part in text.split(",")] if text is not None else []
    whole = all(name and other for name, _, other in parts)
    if not whole or len({name for name, _, _ in parts}) < len(parts):
        what = "names with columns of the file" if option == "--columns" else "pairs of names"
        raise InputError(f"{option}(={text!r}) must be {what}, such as {such_as}")
    return {name.strip(): other.strip() for name, _, other in parts}


def add_by(parser: argparse.ArgumentParser) -> None:
    """Add the option that asks for figures by the values of a column of a log."""
    told = "figures by the values of a column of the log, such as user"
    add_options(parser, ("--by COLUMN", str, told))


def by_answer(rows: Sequence[Mapping[str, Any]], given: argparse.Namespace) -> Answer:
    """Rows by the values of a column of a log, in the format asked for."""
    if given.by in rows[0]:  # of one run
        rows = [{"by": given.by, "value": row[given.by], **row} for row in rows]
        rows = [{name: row[name] for name in row if name != given.by} for row in rows]
    if given.format == "json":
        own = [{name: row[name] for name in list(row)[1:]} for row in rows]
        return Answer(json_text({"by": given.by, "rows": own}))
    if given.format == "csv":
        return Answer(csv_text(rows).rstrip("\n"))
    lines = [[given.by, *list(rows[0])[2:]]]
    lines += [[str(row["value"]), *map(_shown, list(row.values())[2:])] for row in rows]
    return Answer("\n".join(aligned(lines)))


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else "-" if value != value else f"{value:,.6g}"


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a scenario: a day, a log, or a file."""
    group = parser.add_argument_group(
        "scenario: a file, a day of the thesis, or a log of real jobs"
    )
    file = "a scenario file, as Scenario.to_toml writes"
    group.add_argument("scenario", nargs="?", metavar="FILE.toml", help=file)
    add_options(
        group,
        ("--day NAME", str, f"{', '.join(DAYS)} (default: hectic)"),
        ("--trace FILE", str, "a log of jobs"),
    )
    add_reading(group)
    tight = (
        "share of 1-hour deadlines (default: 0.2); other classes of deadlines, arrivals by"
        " the hour, stock by type and hour, and weights stand in a scenario file"
    )
    hours = f"{' or '.join(CLOCKS)}: hours of scarce stock (default: calibrated)"
    add_options(
        group,
        ("--slots N", int, "GPU slots, types in turn (default: 5)"),
        ("--tight-fraction F", float, tight),
        ("--jobs-per-day N", int, "number of jobs in place of the day's"),
        ("--rate R", float, "arrivals per second in place of the day's"),
        ("--free-types", bool, "let the policy choose the type of an idle slot"),
        ("--clock NAME", str, hours),
    )
    add_options(
        group,
        ("--persistence S", float, "mean seconds for which stock persists (default: a draw a job)"),
        ("--sight HOW", str, "what is seen of it: none, now or poll:SECONDS (default: none)"),
        ("--gpus NAME", str, f"types that can be rented: {' or '.join(CATALOGUES)}"),
    )
    snapshots = (
        "the stock and the prices of a market: laws (cgrsp market fit --out) or snapshots,"
        " which are replayed; may be given again"
    )
    group.add_argument("--market", action="append", metavar="FILE", help=snapshots)
    types = "the scenario's types by the market's, e.g. RTX 3090=H100_80GB SXM5"
    group.add_argument("--market-types", metavar="A=B,A=B", help=types)
    _add_terms(parser.add_argument_group("terms of renting, unless told those of the thesis"))


def _add_terms(group: argparse._ActionsContainer) -> None:
    """Add the options that tell what renting means."""
    for name, (kind, metavar, told) in _TERMS.items():
        add_options(group, (f"{flag(name)} {metavar}".strip(), kind, told))


# Field of Terms -> kind, metavar and help of its option.
_TERMS: dict[str, tuple[type, str, str]] = {
    "retry_s": (float, "S", "Low stock is a refusal; the job asks again after so many seconds"),
    "warm_s": (float, "S", "seconds for which an instance is kept after its job"),
    "billed_from": (str, "WHAT", f"{' or '.join(BILLED_FROM)} (default: execution)"),
    "minimum_s": (float, "S", "least seconds billed for an instance"),
    "increment_s": (float, "S", "billed seconds are rounded up to whole increments"),
    "preemption_per_h": (float, "R", "rate per hour at which an instance is taken back (spot)"),
    "taken_when_low": (bool, "", "stock that becomes Low takes back all instances of its type"),
    "checkpoint_s": (float, "S", "seconds of execution between checkpoints (default: none)"),
    "checkpoint_cost_s": (float, "S", "seconds that writing one takes"),
    "restart_s": (float, "S", "seconds that a stopped job takes before it goes on"),
    "suspension": (bool, "", "let policies suspend running jobs (edf-p and srpt do)"),
    "budget_usd_per_day": (float, "USD", "when it is spent, nothing is dispatched till midnight"),
}


# Field of Terms -> those of which one gives it an effect.
_NEEDS = {
    "checkpoint_s": ("preemption_per_h", "taken_when_low"),
    "checkpoint_cost_s": ("checkpoint_s",),
    "restart_s": ("preemption_per_h", "taken_when_low", "suspension"),
}

_ONLY_DAY = ("jobs_per_day", "rate")
_NOT_FILE = ("slots", "tight_fraction", "free_types", "clock", "gpus", *_TERMS)


def flag(option: str) -> str:
    """An option as it is given on the command line."""
    return f"--{option.replace('_', '-')}"


def those_given(given: argparse.Namespace, names: Mapping[str, str]) -> dict[str, Any]:
    """The values of the options that are given. names: option -> the name of its value."""
    values = {name: getattr(given, option) for option, name in names.items()}
    return {name: value for name, value in values.items() if value is not None}


def scenario_of(given: argparse.Namespace) -> Scenario:
    """The scenario that the options name; a log is summed up on stderr."""
    sources = [name for name in ("scenario", "day", "trace") if getattr(given, name) is not None]
    if len(sources) > 1:
        raise InputError("give one of a scenario file, --day and --trace, not several")
    source = sources[0] if sources else "day"
    if source != "trace":
        _refuse(given, READING, "--trace")
    if source != "day":
        _refuse(given, _ONLY_DAY, "--day")
    if source == "scenario":
        _refuse(given, _NOT_FILE, "--day or --trace; change the file instead")
        scenario = Scenario.from_toml(given.scenario)
    else:
        fields = {name: name for name in _NOT_FILE if name not in _TERMS}
        own = those_given(given, fields)
        if source == "trace":
            scenario = trace(given.trace, given.trace_format, **reading_of(given), **own)
        else:
            name = "hectic" if given.day is None else given.day
            scenario = day(name, jobs=given.jobs_per_day, rate_per_s=given.rate, **own)
    scenario = _on_market(given, scenario)
    if (terms := terms_of(given)) is not None:
        scenario = replace(scenario, terms=terms)  # some go with stock that persists
    if isinstance(scenario.workload, LoggedWorkload):
        log.info("%s", _summary(scenario, scenario.workload))
    return scenario


def _on_market(given: argparse.Namespace, scenario: Scenario) -> Scenario:
    """The scenario with the stock that the options name."""
    own = {"persistence_s": given.persistence, "sight": given.sight}
    own = {name: value for name, value in own.items() if value is not None}
    types = pairs_of("--market-types", given.market_types, "RTX 3090=H100_80GB SXM5")
    if given.market is None:
        require(not types, "--market-types", given.market_types, "left out without --market")
        return scenario.varied(**own) if own else scenario
    # SciPy's solvers, for these options alone
    from cgrsp_simpy.rental.measured import measured, on_market

    told = "left out beside --market, which tells its own"
    require(given.persistence is None, "--persistence", given.persistence, told)
    sight = "none" if given.sight is None else given.sight
    found = on_market(scenario, measured(*given.market), types or None, sight)
    span_s = scenario.jobs / scenario.workload.rate_per_s
    for each in found.market.series:
        if each.length_s < span_s:
            told = "%s: the series of %.1f h is shorter than the run, and begins anew"
            log.info(told, each.gpu, each.length_s / 3600)
    return found


def terms_of(given: argparse.Namespace) -> Terms | None:
    """The terms of renting that the options name; None if they name none."""
    own = those_given(given, {name: name for name in _TERMS})
    own = {name: value for name, value in own.items() if value is not False}
    varied = [text.partition("=")[0] for text in getattr(given, "grid", ())]
    for name, owners in _NEEDS.items():
        there = name in own or (name in varied and given.scenario is None)  # a file may have one
        if there and not any(own.get(each) or each in varied for each in owners):
            told = flag(name) if name in own else f"{name} in the grid"
            raise InputError(f"{told} goes with {' or '.join(map(flag, owners))}")
    return Terms(**own) if own else None


def _refuse(given: argparse.Namespace, options: Iterable[str], owner: str) -> None:
    for option in options:
        if getattr(given, option) not in (None, False):
            raise InputError(f"{flag(option)} goes with {owner}")


def _summary(scenario: Scenario, jobs: LoggedWorkload) -> str:
    """What was loaded: jobs, span, rate, service quantiles, offered load."""
    span_h = (jobs.submit_s[-1] - jobs.submit_s[0]) / 3600
    span = f"{span_h:.1f} h" if span_h >= 0.1 else f"{3600 * span_h:.3g} s"
    pace = f", {jobs.rate_per_s * 3600:.1f} an hour" if span_h else ""
    median, ninety, most = np.quantile(jobs.service_s, [0.5, 0.9, 0.99])
    load, slots = scenario.known().offered_load, f"on {len(scenario.slots)} slots"
    told = (
        f"offered load {load:.3f} {slots} (execution time only)"
        if span_h
        else f"all at once, {slots}"
    )
    lead_h = jobs.submit_s[0] / 3600
    begun = f", the first {lead_h:,.1f} h after time 0" if lead_h > span_h > 0 else ""
    return (
        f"{scenario.name}: {jobs.jobs} job{'s' * (jobs.jobs > 1)} over {span}{pace}{begun};"
        f" service median {median:.0f} s, 90 % {ninety:.0f} s, 99 % {most:.0f} s; {told}"
    )


def refuse_idle(
    given: argparse.Namespace,
    owned: Mapping[str, Sequence[str]],
    there: Sequence[str],
    beside: str,
    dashes: str = "",
) -> None:
    """Raise InputError for an option none of whose owners is there."""
    for option, owners in owned.items():
        if _is_given(given, option) and not set(there) & set(owners):
            goes_with = " or ".join(f"{dashes}{name}" for name in owners)
            raise InputError(
                f"{flag(option)} has no effect beside {beside}; it goes with {goes_with}"
            )


def _is_given(given: argparse.Namespace, option: str) -> bool:
    value = getattr(given, option, None)
    return value is not None and value is not False  # 0 is a value
