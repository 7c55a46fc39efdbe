"""Compare policies on the same seeds: means with 95 % intervals, and paired tests
against the first policy; or their costs on a suite of scenarios.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from cgrsp_simpy.base.checks import check_one_of
from cgrsp_simpy.cli import pattern
from cgrsp_simpy.cli.bound import check_bounds
from cgrsp_simpy.cli.options import (
    Answer,
    answer,
    check_work,
    policies_of,
    refuse,
    seeds_of,
)
from cgrsp_simpy.cli.rental import RENTAL
from cgrsp_simpy.decide.bounds import check_proved
from cgrsp_simpy.decide.gaps import LUCKS, with_gaps
from cgrsp_simpy.decide.judge import judge
from cgrsp_simpy.decide.suite import TEST, TRAIN, scenario
from cgrsp_simpy.rental.policies import POLICIES
from cgrsp_simpy.rental.scenario import Scenario
from cgrsp_simpy.studies.subject import subject_of

SUITES = {"train": TRAIN, "test": TEST}
OF_SUITE = {"policies", "seeds", "out", "suite"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    pattern.add_compare(parser, RENTAL)
    told = "how far each policy is above the lower bound; tens of seconds per seed"
    parser.add_argument("--gap", action="store_const", const=True, help=told)
    parser.add_argument(
        "--suite",
        metavar="NAME",
        help=(
            f"{' or '.join(SUITES)}: 100 scenarios drawn at random in place of one, and"
            " what each policy costs beyond the best of the others; default"
            " policies: all"
        ),
    )
    own = {action.dest for action in parser._actions} - OF_SUITE
    parser.set_defaults(beside_suite=tuple(own), engines=True)


def carry_out(args: argparse.Namespace) -> Answer:
    """Return the comparison in the requested format."""
    if args.suite is not None:
        return _judged(args)
    if not args.gap:
        return pattern.compared(RENTAL, args)

    def check(
        scenario: Scenario, policies: Sequence[str], seeds: Sequence[int]
    ) -> None:
        check_proved(scenario)
        check_bounds(args, scenario, 2 * len(seeds), LUCKS * len(policies) * len(seeds))

    return pattern.compared(RENTAL, args, with_gaps, check)


def _judged(args: argparse.Namespace) -> Answer:
    check_one_of("--suite", args.suite, SUITES)
    refuse(args, "left out with --suite", *args.beside_suite)
    policies = list(POLICIES) if args.policies is None else policies_of(args.policies)
    seeds, workers = seeds_of(args), args.workers
    scenarios = [scenario(seed) for seed in SUITES[args.suite]]
    check_work(
        args,
        sum(subject_of(each).work for each in scenarios) * len(policies) * len(seeds),
    )
    title = f"suite {args.suite}"
    return answer(
        judge(scenarios, policies, seeds, workers, title=title, out=args.out), args
    )
