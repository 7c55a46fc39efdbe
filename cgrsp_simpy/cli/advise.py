"""Recommend a change of policy, number of slots or GPU types: advice in USD per day, in
three lines, and a page to print.
"""

from __future__ import annotations

import argparse
import logging
from base64 import b64encode
from html import escape
from pathlib import Path

from cgrsp_simpy.base.checks import read_as, require
from cgrsp_simpy.base.files import check_folder, write_whole
from cgrsp_simpy.base.table import csv_text
from cgrsp_simpy.cli.fields import add_pairs, checked, fields_of
from cgrsp_simpy.cli.options import (
    Answer,
    add_options,
    add_study,
    answer,
    check_work,
    policies_of,
    seeds_of,
)
from cgrsp_simpy.cli.rental import add_scenario, scenario_of
from cgrsp_simpy.decide.advice import POLICIES, PRINT, SEARCHED, Advice, advise
from cgrsp_simpy.decide.recommend import Prices, Spot
from cgrsp_simpy.studies.page import page
from cgrsp_simpy.studies.subject import subject_of

log = logging.getLogger(__name__)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_scenario(parser)
    first = "the first is the one in use (default: %(default)s)"
    target = "such as miss<=1%%,wait<=30"
    add_options(
        parser,
        ("--policies P,P", str, first, ",".join(POLICIES)),
        ("--target FIGURE<=X", str, f"{target}: limits to reach with the least change"),
        ("--budget USD", float, "limit of rent and slots, USD per day"),
        (
            "--load X",
            checked(_load),
            "multiply the arrival rate by X: 1.3, or +30%%",
            1.0,
        ),
        (
            "--report DIR",
            str,
            "write advice.html, a page to print, advice.csv and figures",
        ),
    )
    add_pairs(
        parser, "spot", fields_of(Spot), "try spot instances, at a share of the price"
    )
    add_pairs(
        parser,
        "prices",
        fields_of(Prices),
        "prices other than the rent, by which options are ranked",
    )
    add_study(parser, 20)


def carry_out(args: argparse.Namespace) -> Answer:
    """Return the advice in the requested format."""
    scenario, seeds, spot = scenario_of(args), seeds_of(args), args.spot
    policies = policies_of(args.policies)
    folder = None if args.report is None else Path(args.report)
    if folder is not None:
        check_folder(folder)
    if spot is not None:
        require(
            len(spot) == len(fields_of(Spot)),
            "--spot",
            spot,
            "both, as in share=.4,per_h=.2",
        )
    check_work(
        args, subject_of(scenario).work * (SEARCHED * len(policies) + 3 * len(seeds))
    )
    advice = advise(
        scenario,
        policies,
        seeds,
        args.workers,
        prices=Prices(**args.prices or {}),
        spot=spot and Spot(**spot),
        target=args.target,
        budget_usd=args.budget,
        load=args.load,
        out=args.out,
    )
    if folder is not None:
        _report(advice, folder)
        log.info("the report is in %s", folder)
    return answer(advice, args)


def _load(text: str) -> float:
    """Parse a factor, or a change in per cent."""
    message = f"{text!r} must be a factor or per cent more, such as 1.3 or +30%"
    number = read_as(float, text.rstrip("%"), message)
    return 1 + number / 100 if text.endswith("%") else number


def _report(found: Advice, folder: Path) -> None:
    """Write the page with its figures, and the table."""
    from cgrsp_simpy.decide.figures import ADVICE  # loads matplotlib

    pictures = ""
    for figure in ADVICE:
        picture = b64encode(
            figure.write(folder, figure.rows(found))[1].read_bytes()
        ).decode()
        told = escape(figure.title)
        pictures += f'<figure><img src="data:image/png;base64,{picture}" alt="{told}">'
        pictures += f"<figcaption>{told}</figcaption></figure>"
    text = page(found.title, [found.html(pictures)], PRINT)
    write_whole(folder / "advice.html", text.encode())
    write_whole(folder / "advice.csv", csv_text(found.rows).encode())
