"""Run one policy once, or compare policies at one point or on a grid."""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from cgrsp_simpy.base.checks import (
    InputError,
    require,
    shown,
)
from cgrsp_simpy.base.files import check_file, write_files
from cgrsp_simpy.base.policy import errors_of, pairs
from cgrsp_simpy.base.table import (
    Table,
    cells_of,
    document,
    figure_text,
    many,
    short_text,
    visible,
)
from cgrsp_simpy.cli.decisions import check_bounds
from cgrsp_simpy.cli.options import (
    OUT,
    SEED,
    answer,
    check_omitted,
    check_work,
    checked,
    policies_given,
    policies_of,
    policies_option,
    scenario_arguments,
    seeds_of,
    seeds_option,
    worded_of,
)
from cgrsp_simpy.cli.parsing import Answer, Command, argument, formatted
from cgrsp_simpy.cli.scenarios import RENTAL_NAMES, Worded
from cgrsp_simpy.decide.bounds import check_proved
from cgrsp_simpy.decide.gaps import DRAWS, with_gaps
from cgrsp_simpy.engine.events import Listener, policy_name
from cgrsp_simpy.engine.recorder import ModelRecorder, page_path
from cgrsp_simpy.engine.stepping import steps
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.compare import (
    compare,
    points_of,
    scenarios_of,
    sweep,
)
from cgrsp_simpy.studies.function import FunctionModel
from cgrsp_simpy.studies.replicate import check_policies
from cgrsp_simpy.studies.study import by_column
from cgrsp_simpy.studies.subject import Subject, subject_of

PICTURES = (".png", ".svg", ".pdf")
FILMS = (".html", ".gif", ".mp4")
LISTED = ("events", "step")
SCHEDULE = ".swf"


RUN_ARGUMENTS = [
    *scenario_arguments(),
    argument(
        "--policy P",
        "policy, written as in --policies of compare (default: the first of"
        " the scenario)",
        type=policies_of,
    ),
    argument("--seed N", "seed (default: %(default)s)", type=SEED, default=0),
]
"""The arguments of a single run."""
BY = argument("--by COLUMN", "report figures per value of a column of the log")
SHOW = argument(
    "--show WHAT",
    "events: print the events before the figures; step: also print queue,"
    " resources and event list, and wait for Enter after each event; or a"
    f" file to write: a Gantt chart ({', '.join(PICTURES)}), an animation of"
    f" up to two policies ({', '.join(FILMS)}), or the schedule of a cluster"
    f" ({SCHEDULE}); may be repeated",
    action="append",
    default=[],
)


def _run_of(args: argparse.Namespace) -> tuple[Worded, Subject, list[str]]:
    """Return the checked scenario, subject and policies of the options."""
    worded = worded_of(args)
    subject = subject_of(worded.single(args.verb))
    policies = args.policy or [*subject.default_policies()][:1] or [subject.model.name]
    for policy in policies:  # raises InputError before the first run
        subject.make_policy(policy)
    subject.check_effective(worded.names, policies)
    check_work(
        args, subject.work_of(policies), kept=subject.work, per_s=subject.pace_per_s
    )
    return worded, subject, policies


def _page(text: str) -> str:
    check_file(Path(page_path(text)))
    return text


STEP_ARGUMENTS = [
    argument(
        "--html FILE",
        "page to write; its name ends in .html",
        type=checked(_page),
        required=True,
    ),
    *RUN_ARGUMENTS,
    argument(
        "--from T",
        "time at which recording starts (default: the start of the run)",
        type=float,
    ),
    argument(
        "--steps N",
        "number of recorded events (default: %(default)s)",
        type=int,
        default=200,
    ),
]


def _title(scenario: str, policies: Iterable[str], seed: int) -> str:
    """Return a title; the policy of a function has the name of the function."""
    return ", ".join([*dict.fromkeys([scenario, *policies]), f"seed {seed}"])


def _step(args: argparse.Namespace) -> Answer:
    recorder = ModelRecorder(from_time=vars(args)["from"], steps=args.steps)
    worded, subject, policies = _run_of(args)
    require(len(policies) == 1, "--policy", ",".join(policies), "one policy")
    with errors_of(args.scenario):
        subject.record(policies[0], args.seed, recorder)
    recorder.to_html(args.html, _title(worded.scenario.name, policies, args.seed))
    return Answer(f"{many(len(recorder.steps) - 1, 'event')}: {args.html}")


def _run(args: argparse.Namespace) -> Answer:
    """Run a policy, or two next to each other for an animation."""
    _check_show(args)
    worded, subject, policies = _run_of(args)
    if args.show and not subject.has_timeline:
        subject.simulation(policies[0], args.seed)  # raises InputError
    if args.by is not None:
        subject.report.check_column(args.by)
    with errors_of(args.scenario):
        first = _first_run(args, subject, policies[0])
    # before files are written
    groups = first.by(args.by) if args.by is not None else None
    runs = [first, *(subject.run(policy, args.seed) for policy in policies[1:])]
    _draw(args, runs)
    if groups is not None:
        return grouped_answer(args, worded, groups, [policy_name(policies[0])])
    return _answer(args, worded, dict(zip(map(policy_name, policies), runs)))


def _answer(args: argparse.Namespace, worded: Worded, runs: dict[str, Any]) -> Answer:
    subject, name = subject_of(worded.scenario), worded.scenario.name
    summaries = {name: run.summary() for name, run in runs.items()}
    tables, details = list[Table](), dict[str, Any]()
    for policy, run in runs.items():
        added, details[policy] = subject.details(run)
        tables += [
            extra._replace(title=f"{extra.title}, {policy}") if len(runs) > 1 else extra
            for extra in added
        ]
    if len(runs) > 1:
        details = {"details": details} if any(details.values()) else {}
    else:
        [details] = details.values()
    content = document(
        name,
        [{"alternative": policy, **row} for policy, row in summaries.items()],
        parameters=worded.parameters,
        alternatives=[*runs],
        seeds=[args.seed],
        **details,
    )
    cells = [
        [figure, *(figure_text(row.get(figure)) for row in summaries.values())]
        for figure in dict.fromkeys(
            figure for row in summaries.values() for figure in row
        )
    ]
    table = Table(
        _title(name, runs, args.seed),
        [["figure", *(runs if len(runs) > 1 else ["value"])], *cells],
        subject.report.note,
    )
    rows = [
        {"alternative": policy, **row} if len(runs) > 1 else row
        for policy, run in runs.items()
        for row in run.rows()
    ]
    return formatted(args, content, rows, lambda: [table, *tables])


def grouped_answer(
    args: argparse.Namespace,
    worded: Worded,
    rows: Sequence[dict[str, Any]],
    policies: Sequence[str],
    seeds: Sequence[int] = (),
) -> Answer:
    """Return figures per value of a log's column."""
    if args.by in rows[0]:  # a single run
        rows = [
            {"by": args.by, "value": row[args.by]}
            | {name: value for name, value in row.items() if name != args.by}
            for row in rows
        ]
    figures = [
        {"alternative" if name == "policy" else name: row[name] for name in row}
        for row in rows
    ]
    for row in figures:
        row.pop("by")
    content = document(
        worded.scenario.name,
        figures,
        parameters=worded.parameters,
        alternatives=policies,
        seeds=seeds or [args.seed],
        by=args.by,
    )
    cells = cells_of(figures, short_text)
    cells[0][0] = args.by
    return formatted(
        args,
        content,
        rows,
        lambda: [Table(f"{worded.scenario.name} by {args.by}", cells)],
    )


# ---- what is shown of a run ----


def _check_show(args: argparse.Namespace) -> None:
    """Raise InputError, before any work, for a --show value that cannot be shown.

    This includes events in JSON or CSV, and a second policy that no value shows.
    """
    files = (*PICTURES, *FILMS, SCHEDULE)
    for what in args.show:
        require(
            what in LISTED or _suffix(what) in files,
            "--show",
            what,
            f"events, step, or a file that ends in {', '.join(files)}",
        )
        if what not in LISTED:
            check_file(Path(what))
        if _suffix(what) == ".mp4":
            # loads matplotlib
            from cgrsp_simpy.plots.animation import check_film

            check_film("--show", what)
        if _suffix(what) == SCHEDULE:
            require(
                args.scenario.partition(":")[0] == "cluster",
                "--show",
                what,
                "omitted: only runs of cluster have such a schedule",
            )
    policies = args.policy or []
    film = any(_suffix(what) in FILMS for what in args.show)
    require(
        len(policies) <= 1 + (film and args.by is None),
        "--policy",
        ",".join(policies),
        f"one, or two with --show FILE that ends in {', '.join(FILMS)}"
        + " and without --by" * film,
    )
    listed = [what for what in args.show if what in LISTED]
    require(len(listed) < 2, "--show", ",".join(listed), "events or step, not both")
    require(
        len({*args.show}) == len(args.show),
        "--show",
        ",".join(args.show),
        "different files",
    )
    for what in listed:
        require(
            args.format == "table",
            "--format",
            args.format,
            f"omitted if --show {what} is given, which prints the events, too",
        )


def _first_run(args: argparse.Namespace, subject: Subject, policy: str) -> Any:
    """Return the run of a policy, listing its events or steps if requested."""

    def set_up(listener: Listener) -> Any:
        return subject.simulation(
            subject.make_policy(policy), args.seed, listener=listener
        )

    if "step" in args.show:
        return _stepped(set_up)
    if "events" in args.show:
        return set_up(_say).finish()
    return subject.run(policy, args.seed)


def _stepped(set_up: Callable[[Listener], Any]) -> Any:
    """Print each step and wait for Enter; after the end of the input, do not wait."""
    walk = steps(set_up)
    while True:
        try:
            _say(next(walk), flush=True)
        except StopIteration as end:
            return end.value
        sys.stdin.readline()


def _say(what: object, flush: bool = False) -> None:
    print(visible(str(what), "\n"), flush=flush)


def _draw(args: argparse.Namespace, runs: Sequence[Any]) -> None:
    contents = dict[Path, bytes]()
    for path in args.show:
        if _suffix(path) in PICTURES:
            contents[Path(path)] = _gantt(runs[0], _suffix(path)[1:])
        elif _suffix(path) == SCHEDULE:
            from cgrsp_simpy.cluster.logs import schedule_text

            contents[Path(path)] = schedule_text(runs[0]).encode()
        elif path not in LISTED:
            from cgrsp_simpy.plots import animate  # loads matplotlib

            contents[Path(path)] = animate(runs).content(path)
    write_files(contents)


def _gantt(run: Any, ending: str) -> bytes:
    from cgrsp_simpy.plots import gantt, styled
    from cgrsp_simpy.plots.figure import picture

    with styled("print"):
        return picture(gantt(run).figure, ending)


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


# ---- compare and sweep ----

FUNCTION = "omitted with a function, whose parameters are compared"


SEEDS = 10  # by default
STUDY = [policies_option(), seeds_option(SEEDS), OUT]
COMPARE_ARGUMENTS = [
    *scenario_arguments("for a function, several values are compared: tellers=2,3"),
    *STUDY,
    BY,
    argument(
        "--precision R",
        "add seeds until the 95 %% half width is at most R times the mean, such"
        " as 0.05 for the main figure, or wait_min=0.1,miss_pct=0.1",
    ),
    argument(
        "--gap",
        "for rented slots: report how far each policy is above the lower bound",
    ),
]


def _compare(args: argparse.Namespace) -> Answer:
    if args.by is not None:
        useless = ("out", "precision", "workers", "gap")
        check_omitted(args, useless, "omitted if --by is given")
    worded = worded_of(args)
    if isinstance(worded.scenario, FunctionModel):
        return _compare_alternatives(args, worded)
    scenario = worded.single("compare")
    subject = subject_of(scenario)
    policies = policies_given(args, subject)
    subject.check_effective(worded.names, policies)
    seeds = seeds_of(args, SEEDS, subject.is_random_under(policies))
    check_work(args, subject.work_of(policies) * len(seeds), per_s=subject.pace_per_s)
    if args.by is not None:
        named = check_policies(policies, scenario)
        rows = by_column(scenario, named, seeds, args.by)
        return grouped_answer(args, worded, rows, [*named], [*seeds])
    if args.gap:
        require(
            isinstance(scenario, Scenario),
            "scenario",
            args.scenario,
            f"of rented slots with --gap: {RENTAL_NAMES}",
        )
        check_proved(scenario)
        runs = DRAWS * len(policies) * len(seeds)
        check_bounds(args, scenario, 2 * len(seeds), runs)
    study = compare(
        scenario,
        policies,
        seeds,
        args.workers,
        out=args.out,
        precision=_precision(args.precision, subject.report),
        engine=args.engine,
    )
    if args.gap:
        study = with_gaps(study, args.workers)
    return answer(study, args, worded, *subject.study_details(study))


def _compare_alternatives(args: argparse.Namespace, worded: Worded) -> Answer:
    """Compare all combinations of a function's words that have several values."""
    check_omitted(args, ("policies", "by", "gap"), FUNCTION)
    varied = {word: values for word, values in worded.grid.items() if len(values) > 1}
    combinations = itertools.product(*varied.values())
    alternatives = [dict(zip(varied, values)) for values in combinations]
    study = compare(
        worded.scenario,
        alternatives if varied else [worded.scenario.name],
        seeds_of(args, SEEDS),
        args.workers,
        out=args.out,
        precision=_precision(args.precision, subject_of(worded.scenario).report),
    )
    return answer(study, args, worded)


def _precision(text: str | None, report: Any) -> dict[str, float] | None:
    """Parse relative half widths by figure from "0.05" or "a=0.1,b=0.05"."""
    if text is None:
        return None
    named = report.tested[1 % len(report.tested)] if report.tested else "desk_wait"
    form = f"a number > 0, or figures and numbers, such as {named}=0.1"
    chief = report.precise
    parts = (part if "=" in part else f"{chief}={part}" for part in text.split(","))
    if not chief and "=" not in text:
        raise InputError(
            f"--precision(={shown(text)}) must name a figure, such as {named}={text}"
        )
    return pairs(parts, lambda _: (float, form), form, "--precision: ")


def _sweep(args: argparse.Namespace) -> Answer:
    worded = worded_of(args)
    several = [word for word, values in worded.grid.items() if len(values) > 1]
    if not several:
        raise InputError(
            "a sweep needs a parameter with several values, such as slots=4,5,6"
        )
    grid = {
        word: values if len(values) > 1 else values[0]
        for word, values in worded.grid.items()
    }
    subject = subject_of(worded.scenario)
    is_function = isinstance(worded.scenario, FunctionModel)
    policies = [] if is_function else policies_given(args, subject)
    places = scenarios_of(worded.scenario_of, points_of(grid), policies)
    subjects = [subject_of(place) for place in places]
    if is_function:
        check_omitted(args, ["policies"], FUNCTION)
    subject.check_effective(worded.names, policies)
    is_random = any(varied.is_random_under(policies) for varied in subjects)
    seeds = seeds_of(args, SEEDS, is_random)
    jobs = sum(varied.work_of(policies) for varied in subjects) * len(seeds)
    check_work(args, jobs, per_s=subject.pace_per_s)
    study = sweep(
        worded.scenario_of,
        grid,
        policies or None,
        seeds,
        args.workers,
        out=args.out,
        engine=args.engine,
    )
    return answer(study, args, worded)


COMMANDS = {
    "run": Command([*RUN_ARGUMENTS, BY, SHOW], _run),
    "step": Command(STEP_ARGUMENTS, _step, formats=()),
    "compare": Command(COMPARE_ARGUMENTS, _compare, parallel=True, engines=True),
    "sweep": Command(
        [*scenario_arguments(), *STUDY], _sweep, parallel=True, engines=True
    ),
}
