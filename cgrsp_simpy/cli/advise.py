"""What to change: the policy, the number of slots, or their GPU types? Advice in USD a
day, in three lines, and a page to print.
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
        ("--target FIGURE<=X", str, f"{target}: to be reached with the least change"),
        ("--budget USD", float, "what rent and slots may cost a day"),
        (
            "--load X",
            checked(_load),
            "so many times as many jobs an hour: 1.3, or +30%%",
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
        "what options are ordered by, beside the rent",
    )
    add_study(parser, 20)


def carry_out(given: argparse.Namespace) -> Answer:
    """The advice in the format asked for."""
    scenario, seeds, spot = scenario_of(given), seeds_of(given), given.spot
    policies = policies_of(given.policies)
    folder = None if given.report is None else Path(given.report)
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
        given, subject_of(scenario).work * (SEARCHED * len(policies) + 3 * len(seeds))
    )
    found = advise(
        scenario,
        policies,
        seeds,
        given.workers,
        prices=Prices(**given.prices or {}),
        spot=spot and Spot(**spot),
        target=given.target,
        budget_usd=given.budget,
        load=given.load,
        out=given.out,
    )
    if folder is not None:
        _report(found, folder)
        log.info("the report is in %s", folder)
    return answer(found, given)


def _load(text: str) -> float:
    """A factor, or by how many per cent more."""
    told = f"{text!r} must be a factor or per cent more, such as 1.3 or +30%"
    number = read_as(float, text.rstrip("%"), told)
    return 1 + number / 100 if text.endswith("%") else number


def _report(found: Advice, folder: Path) -> None:
    """The page with its figures, and the table."""
    from cgrsp_simpy.decide.figures import ADVICE  # matplotlib, for reports alone

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
