"""Options that several commands share."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from cgrsp_simpy.base.checks import (
    InputError,
    check_number,
    check_one_of,
    check_whole,
    read_as,
    require,
    shown,
)
from cgrsp_simpy.base.files import check_file, check_folder
from cgrsp_simpy.base.policy import chosen
from cgrsp_simpy.base.table import Table, many
from cgrsp_simpy.cli.parsing import NUMBERS, Answer, Argument, argument, formatted
from cgrsp_simpy.cli.scenarios import (
    NAMES,
    READERS,
    RENTAL_NAMES,
    Worded,
    scenario_class,
    value_of,
)
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.subject import Subject, subject_of

if TYPE_CHECKING:
    from cgrsp_simpy.studies.study import Results

log = logging.getLogger(__name__)
BYTES_A_JOB = 1000  # rough memory per job of a run with records
MOST_S, MOST_HELD = 3600, 8e9  # limits without --yes


def checked(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Wrap a parser of an option's value so that argparse prints its errors."""

    def read_text(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read_text


def number_of(name: str, kind: type = float, **bounds: Any) -> Callable[[str], Any]:
    """Return the type of an option whose value is a number, whole if kind is int.

    name: of the option. bounds: as in `check_number` or `check_whole`.
    """
    check: Callable[..., None] = check_whole if kind is int else check_number

    def read(text: str) -> Any:
        value = read_as(kind, text, f"{shown(text)} must be {NUMBERS[kind]}")
        check(name, value, **bounds)
        return value

    return checked(read)


SEED = number_of("--seed", int, least=0)


def _writable(check: Callable[[Path], None]) -> Callable[[str], str]:
    """Return the type of an option for a path that is written after the work."""

    def path_of(text: str) -> str:
        check(Path(text))
        return text

    return checked(path_of)


def _check_stem(path: Path) -> None:
    """Raise InputError for a file, or the stem of a picture, that cannot be written."""
    is_stem = path.name and not path.suffix
    check_file(path.with_suffix(".png") if is_stem else path)


to_folder, to_stem = _writable(check_folder), _writable(_check_stem)


def check_omitted(
    args: argparse.Namespace, options: Sequence[str], allowed: str
) -> None:
    """Raise InputError for an option that has no effect here; allowed: the reason."""
    for option in options:
        value = getattr(args, option)
        if value is not None and value is not False:
            flag = "--from" if option == "runs_from" else f"--{option}"
            raise InputError(f"{flag} must be {allowed}")


def scenario_arguments(more: str = "", names: str = NAMES) -> list[Argument]:
    """Return the arguments for scenario and words; more, names: texts of the help."""
    text = (
        "parameter and its value, such as slots=7 or terms.warm_s=60; cgrsp"
        " parameters SCENARIO lists them"
    ) + (f"; {more}" if more else "")
    return [argument("scenario SCENARIO", names), words_argument(text)]


def words_argument(text: str) -> Argument:
    """Return the argument for words, NAME=VALUE; text: its help."""
    return argument("words NAME=VALUE", text, nargs="*", default=[])


def policies_option(default: str = "") -> Argument:
    """Return the option for several policies; default: the default in words."""
    text = (
        "policies, with parameters as in rh:reserve=2, or from a script as in"
        " own.py:function; cgrsp policies SCENARIO lists them"
    ) + (f" (default: {default})" if default else "")
    return argument("--policies P,P", text, type=policies_of)


def policies_given(args: argparse.Namespace, subject: Subject) -> list[str]:
    """Return the policies of the options, or the scenario's; log those omitted."""
    if args.policies:
        return list(args.policies)
    policies = [*subject.default_policies()]
    for name, reason in subject.left_out().items():
        log.warning("%s is left out: %s", name, reason)
    require(
        bool(policies),
        "--policies",
        policies,
        "at least one policy: no default policy of the scenario can be compared here",
    )
    return policies


def check_policies_of(args: argparse.Namespace, model: Any) -> None:
    """Raise InputError for policies that a class of models does not have."""
    for policy in vars(args).get("policies", vars(args).get("policy")) or ():
        chosen(model.policy_label, policy, model.policies)


def worded_of(args: argparse.Namespace) -> Worded:
    """Return the scenario of the options; InputError for an unknown policy, before a
    log is read.
    """
    if args.scenario in READERS:
        check_policies_of(args, scenario_class(args.scenario))
    return Worded(args.scenario, args.words)


def rental_of(args: argparse.Namespace, verb: str) -> Worded:
    """Return the scenario of the options; InputError unless it has rented slots."""
    check_policies_of(args, Scenario)  # before a log is read
    worded = Worded(args.scenario, args.words)
    scenario = worded.single(verb)
    require(isinstance(scenario, Scenario), "scenario", args.scenario, RENTAL_NAMES)
    subject_of(scenario).check_effective(worded.names, ())
    return worded


# ---- studies ----


def seeds_option(number: int) -> Argument:
    """Return the option for the seeds of a study; number: how many by default."""
    text = (
        f"replications: their number, or FROM:TO, such as 100:130 (default: {number})"
    )
    return argument("--seeds N", text, type=checked(_seeds))


OUT = argument(
    "--out DIR",
    "save results in DIR; the same command continues an interrupted study",
    type=to_folder,
)
"""The option for the results directory of a study."""


def _seeds(text: str) -> range:
    first, span, end = text.rpartition(":")
    allowed = "a number of seeds, or FROM:TO, such as 100:130"
    bounds = (
        read_as(int, number, f"invalid seeds {shown(text)}: must be {allowed}")
        for number in (first or "0", end)
    )
    seeds = range(*bounds)
    if not span:
        check_whole("--seeds", seeds.stop, least=1)
    require(
        len(seeds) > 0 and seeds.start >= 0,
        "--seeds",
        text,
        f"{allowed}, TO above FROM",
    )
    return seeds


def seeds_of(args: argparse.Namespace, number: int, random: bool = True) -> range:
    """Return the seeds of the options; only one is allowed if nothing is random.

    number: how many by default.
    """
    if random:
        return args.seeds or range(number)
    allowed = "omitted: nothing is random here, so one run is enough"
    seeds = args.seeds or range(1)
    require(seeds == range(1), "--seeds", f"{seeds.start}:{seeds.stop}", allowed)
    return seeds


def check_work(
    args: argparse.Namespace,
    jobs: int,
    kept: int = 0,
    per_s: float = Subject.pace_per_s,
    done: str = "simulated",
) -> None:
    """Announce work of over a minute; without --yes, raise InputError for much more.

    jobs: number to simulate, of which `kept` are in memory at a time. per_s:
    approximate jobs per second. done: participle for the message, such as "simulated".
    """
    seconds = jobs / per_s / (args.workers or 1)
    held = BYTES_A_JOB * kept
    minutes = "a minute" if seconds < 90 else f"{seconds / 60:.0f} minutes"
    took = f"{seconds / 3600:,.1f} hours" if seconds > 5400 else minutes
    memory = f", {held / 1e9:,.1f} GB" if held > 1e8 else ""
    work = f"{many(jobs, 'job', ',')} will be {done}, which takes about {took}{memory}"
    if (jobs / per_s > MOST_S or held > MOST_HELD) and not args.yes:
        raise InputError(f"{work}; add --yes to start anyway")
    if seconds > 60:
        log.info("%s", work)


def policies_of(text: str) -> list[str]:
    """Split "a,b:x=1,y=2,c" into policies; y=2 belongs to the previous one."""
    policies: list[str] = []
    for part in map(str.strip, text.split(",")):
        if policies and "=" in part and ":" not in part:
            policies[-1] += f",{part}"
        else:
            policies.append(part)
    return policies


def answer(
    study: Results,
    args: argparse.Namespace,
    worded: Worded,
    tables: Sequence[Table] = (),
    more: Mapping[str, Any] = MappingProxyType({}),
) -> Answer:
    """Return a study in the requested format; status 1 if runs failed.

    tables: shown below those of the study. more: additional content in JSON.
    """
    from cgrsp_simpy.studies.study import failure_lines  # loads SciPy

    if args.out is not None:
        log.info("results are in %s", args.out)
    lines = failure_lines(study)
    if lines and args.format != "table":
        log.warning("%s", lines[-1])
    content = {**study.as_dict(), "parameters": worded.parameters, **more}
    result = formatted(args, content, study.rows, lambda: [*study.tables, *tables])
    text = "\n\n".join([*(lines if args.format == "table" else []), result.text])
    return Answer(text, 1 if lines else 0)


# ---- figures ----


STYLES = ("print", "lecture", "single", "double")
# in addition to matplotlib's settings
LOOK = {"width": float, "pgf": bool}


STYLES_HELP = (
    f"{', '.join(STYLES)}, or settings of matplotlib, such as font.size=10,"
    " width=MM and pgf=yes, which also writes a PGF file (requires LaTeX);"
    " single, double: journal columns of 88 and 180 mm with 8 pt text (wide"
    " figures use 180 mm)"
    " (default: print)"
)


def style_of(text: str) -> dict[str, Any]:
    """Parse a style, as in "single" or "font.size=10,width=120,pgf=yes"."""
    if "=" not in text:
        check_one_of("style", text, STYLES)
        return {"style": text}
    parts = [part.partition("=")[::2] for part in text.split(",")]
    settings = dict(parts)
    require(len(settings) == len(parts), "style", text, "different settings")
    look = {
        name: value_of(settings.pop(name), kind)
        for name, kind in LOOK.items()
        if name in settings
    }
    is_flag = isinstance(look.get("pgf", False), bool)
    require(is_flag, "pgf", look.get("pgf"), "yes or no")
    return {"style": settings, **look}


def executor_of(args: argparse.Namespace) -> int | None:
    """Return the number of processes, by default one per core; None for this one."""
    workers = args.workers or os.cpu_count() or 1
    return workers if workers > 1 else None
