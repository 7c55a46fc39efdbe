"""Recommend a change of policy, number of slots or GPU types, in USD per day."""

from __future__ import annotations

import argparse
import logging
from dataclasses import fields
from pathlib import Path

from cgrsp_simpy.base.checks import read_as, require
from cgrsp_simpy.base.files import check_folder
from cgrsp_simpy.base.table import document
from cgrsp_simpy.cli.answers import Answer, formatted
from cgrsp_simpy.cli.options import (
    add_options,
    add_policies,
    add_scenario,
    add_study,
    check_work,
    checked,
    rental_of,
    seeds_of,
)
from cgrsp_simpy.cli.parsing import Command
from cgrsp_simpy.cli.scenarios import RENTAL_NAMES, group_of
from cgrsp_simpy.decide.advice import POLICIES, SEARCHED, advise
from cgrsp_simpy.decide.recommend import Prices, Spot
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)


def _add_advise(parser: argparse.ArgumentParser) -> None:
    more = (
        "also prices.price_miss, prices.price_late, prices.price_wait and"
        " prices.price_slot (USD), which determine the ranking; and spot.share"
        " and spot.per_h, to try spot instances at a share of the price, with"
        " interruptions"
    )
    add_scenario(parser, more, RENTAL_NAMES)
    add_policies(parser, f"{','.join(POLICIES)}; the first is the one in use")
    target = (
        "limits to satisfy with the smallest change, such as miss<=1%%,p95_wait<=30"
    )
    add_options(
        parser,
        ("--target FIGURE<=X", str, target),
        (
            "--budget USD",
            float,
            "upper limit of the cost of rent and slots, USD per day",
        ),
        (
            "--load X",
            checked(_load),
            "multiply the arrival rate by X, such as 1.3 or +30%%",
            1.0,
        ),
    )
    report = "write a printable report with its figures and CSV files into DIR"
    add_options(parser, ("--report DIR", str, report))
    add_study(parser, 20)


def _advise(args: argparse.Namespace) -> Answer:
    prices = Prices(**group_of(args.words, "prices", Prices))
    spot_words = group_of(args.words, "spot", Spot)
    worded, seeds = rental_of(args, "advise"), seeds_of(args)
    scenario = worded.scenario
    policies = args.policies or [*POLICIES]
    folder = None if args.report is None else Path(args.report)
    if folder is not None:
        check_folder(folder)
    both = len(spot_words) in (0, len(fields(Spot)))
    allowed = (
        "spot.share and spot.per_h, both or neither, such as spot.share=.4"
        " spot.per_h=.2"
    )
    require(both, "parameters of spot", spot_words, allowed)
    runs = SEARCHED * len(policies) + 3 * len(seeds)
    check_work(args, subject_of(scenario).work * runs)
    advice = advise(
        scenario,
        policies,
        seeds,
        args.workers,
        prices=prices,
        spot=Spot(**spot_words) if spot_words else None,
        target=args.target,
        budget_usd=args.budget,
        load=args.load,
        out=args.out,
    )
    if args.out is not None:
        log.info("results are in %s", args.out)
    if folder is not None:
        # loads matplotlib
        from cgrsp_simpy.decide.figures import write_report

        write_report(advice, folder)
        log.info("the report is in %s", folder)
    content = document(
        scenario.name,
        advice.rows,
        parameters=worded.parameters,
        alternatives=policies,
        seeds=seeds,
        advice=advice.as_dict(),
    )
    if args.format == "table":
        return Answer(str(advice).rstrip("\n"), int(bool(advice.failures)))
    return formatted(
        args, content, advice.rows, lambda: advice.tables, int(bool(advice.failures))
    )


def _load(text: str) -> float:
    """Parse a factor, or a change in per cent."""
    message = f"{text!r} must be a factor or a percentage increase, such as 1.3 or +30%"
    number = read_as(float, text.rstrip("%"), message)
    return 1 + number / 100 if text.endswith("%") else number


COMMANDS = {
    "advise": Command(_add_advise, _advise, parallel=True),
}
