"""Sentences of the thesis that its own printed numbers decide, without a simulation."""

from __future__ import annotations

from collections.abc import Iterator

from cgrsp_simpy.papers.thesis.experiments import HECTIC
from cgrsp_simpy.papers.thesis.published import PRINTED
from cgrsp_simpy.papers.thesis.verdict import composite_error

DEADLINE_S, THETA_S, LONGEST_S = 3600, 600, 150  # Section 4.5.8

Decided = tuple[str, str, bool, str]
"""Section or equation, sentence, whether it holds, and the printed numbers."""


def column(table: str, name: str) -> dict[str, float]:
    """Return the numbers of a column by row, without their intervals."""
    printed = PRINTED[table]
    place = printed.columns.index(name)
    return {row: float(cells[place].split()[0]) for row, cells in printed.rows.items()}


def _spread(values: dict[str, float]) -> float:
    return max(values.values()) - min(values.values())


def _listed(values: dict[str, float]) -> str:
    return ", ".join(f"{row} {value:g}" for row, value in values.items())


def decided() -> Iterator[Decided]:
    """Yield every sentence that the printed numbers confirm or contradict."""
    yield from _of_thresholds()
    yield from _of_single_figures()
    yield from _of_the_month()
    yield from _of_objectives()
    yield from _of_rankings()
    yield from _of_changes()


def _of_thresholds() -> Iterator[Decided]:
    miss = column("5.8", "miss, %")
    named = {
        row: value
        for row, value in miss.items()
        if row in ("theta = 180 s", "theta = 600 s", "theta = 1200 s")
    }
    yield (
        "Section 4.5.8",
        "Miss varies by 2.28 points over theta = 180, 600 and 1200 s, least at 600 s",
        round(_spread(named), 2) == 2.28
        and min(named, key=named.__getitem__) == "theta = 600 s",
        f"Table 5.8: {_listed(named)}: a spread of {_spread(named):.2f}, greatest at"
        f" 600 s; the spread of all five is {_spread(miss):.2f}",
    )
    yield (
        "Section 4.5.8",
        "A job that enters the rescue tier ends with at least 2,850 s to its deadline",
        THETA_S >= DEADLINE_S - THETA_S - LONGEST_S,
        f"it enters with a laxity of {THETA_S} s, and dispatched then, it ends so long"
        f" before its deadline; {DEADLINE_S} - {THETA_S} - {LONGEST_S} s have passed"
        " since its arrival",
    )
    wait = column("5.8", "wait, min")
    yield (
        "Section 5.5.4",
        "The mean wait varies by roughly eight minutes over theta",
        abs(_spread(wait) - 8) < 1,
        f"Table 5.8: from {min(wait.values())} to {max(wait.values())} min, a spread"
        f" of {_spread(wait):.2f}",
    )
    tight = {
        row: value
        for row, value in column("5.10", "tight miss, %").items()
        if row.startswith("surge") and not row.startswith("surge, 0")
    }
    one, *more = tight.values()
    yield (
        "Section 5.5.6",
        "Two or three reserved slots lower the tight miss of one slot further",
        all(value < one for value in more),
        f"Table 5.10: {_listed(tight)} %",
    )


def _of_single_figures() -> Iterator[Decided]:
    single = column("5.1", "miss, %")
    yield (
        "Section 5.2",
        "EDF's miss on seed 42 is near SPT's",
        single["EDF"] > 0.8 * single["SPT"],
        f"Table 5.1: {single['EDF']} against {single['SPT']} %",
    )
    answers = [cells[2] for cells in PRINTED["5.3"].rows.values()]
    yield (
        "Section 5.3",
        "Table 5.3 has 22 comparisons, of which 15 are significant",
        len(answers) == 22 and answers.count("Yes") == 15,
        f"Table 5.3: {len(answers)} comparisons, {answers.count('Yes')} significant",
    )
    cost = column("5.2", "cost, USD")
    least, most = min(cost, key=cost.__getitem__), max(cost.values())
    dearest = " and ".join(row for row in cost if cost[row] == most)
    yield (
        "Section 6.1.1",
        "The dearest policy is CADR at $6.13, 1.46 % above SPT",
        cost["CADR"] == most,
        f"Table 5.2: {dearest} at ${most:.2f}, {100 * (most / cost[least] - 1):.2f} %"
        f" above {least}; CADR {100 * (cost['CADR'] / cost[least] - 1):.2f} %",
    )


def _of_the_month() -> Iterator[Decided]:
    wait = column("5.2", "wait, min")
    yield (
        "Figure 5.7",
        "Waits of hectic days in the month are 152 to 190 min",
        min(wait.values()) >= 152,
        f"Table 5.2, the same day and slots: {min(wait.values()):.0f} to"
        f" {max(wait.values()):.0f} min",
    )
    jobs = HECTIC.workload.jobs
    yield (
        "Section 5.6",
        "FIFO misses about 277, SPT about 167 deadlines of a hectic day",
        abs(0.2199 * jobs - 277) < 1 and abs(0.1314 * jobs - 167) < 1,
        f"by the rates printed beside them, 21.99 % and 13.14 % of {jobs}:"
        f" {0.2199 * jobs:.0f} and {0.1314 * jobs:.0f}",
    )
    miss = column("5.13", "miss, %")
    yield (
        "Section 5.6",
        "From FIFO to RH the month's miss falls by about half",
        0.4 < miss["RH"] / miss["FIFO"] < 0.6,
        f"Table 5.13: from {miss['FIFO']} to {miss['RH']} %, by"
        f" {100 * (1 - miss['RH'] / miss['FIFO']):.0f} %",
    )
    worst = max(miss, key=miss.__getitem__)
    yield (
        "Section 6.1",
        "More than five slots are needed for a miss below 20 % over the month",
        miss[worst] >= 20,
        f"Table 5.13, with five slots: at most {miss[worst]} % ({worst})",
    )


def _of_objectives() -> Iterator[Decided]:
    error = composite_error()
    yield (
        "Eq. 3.10",
        "The objective adds seconds of wait and numbers of missed deadlines",
        error > 0.01,
        "Table 5.11 follows from minutes and per cents: all its entries within"
        f" {error:.3f} from Table 5.7 at C_max = 5",
    )
    by_miss, by_tardiness = (_ranking(table) for table in ("5.11", "5.12"))
    yield (
        "Section 3.4",
        "Tardiness in place of the miss gives the same ranking of policies",
        by_miss == by_tardiness,
        f"at a ratio of 10: {' < '.join(by_miss)} in Table 5.11,"
        f" {' < '.join(by_tardiness)} in Table 5.12",
    )


def _ranking(table: str, row: str = "ratio = 10") -> list[str]:
    printed = PRINTED[table]
    scores = dict(zip(printed.columns, map(float, printed.rows[row])))
    return sorted(scores, key=scores.__getitem__)


def _leads(where: str, sentence: str, table: str, name: str, policy: str) -> Decided:
    """Judge that a policy has the least number of a column."""
    values = column(table, name)
    least = min(values, key=values.__getitem__)
    reason = f"Table {table}: {least} {values[least]:g}, {policy} {values[policy]:g}"
    return where, sentence, least == policy, reason


def _dominates(
    where: str, sentence: str, table: str, names: tuple[str, ...], pair: tuple[str, str]
) -> Decided:
    """Judge that the first of a pair has less in each of several columns."""
    better, worse = pair
    values = [column(table, name) for name in names]
    reason = "; ".join(
        f"{name}: {better} {each[better]:g}, {worse} {each[worse]:g}"
        for name, each in zip(names, values)
    )
    holds = all(each[better] < each[worse] for each in values)
    return where, sentence, holds, f"Table {table}: {reason}"


def _of_rankings() -> Iterator[Decided]:
    wait, miss, late = "wait, min", "miss, %", "tardiness, min"
    yield _leads("Section 5.3", "SPT has the lowest hectic wait", "5.2", wait, "SPT")
    yield _leads(
        "Section 6.1.1", "RH has the fewest breaches over the month", "5.13", miss, "RH"
    )
    yield _leads(
        "Section 5.6",
        "EDF's tardiness over the month is the lowest",
        "5.13",
        late,
        "EDF",
    )
    yield _dominates(
        "Section 5.3",
        "CADR has less wait, miss and tardiness than Adaptive",
        "5.2",
        (wait, miss, late),
        ("CADR", "Adaptive"),
    )
    yield _dominates(
        "Section 6.1.1",
        "CADR has less miss and wait than SPT+Rescue over the month",
        "5.13",
        (miss, wait),
        ("CADR", "SPT+Rescue"),
    )
    yield _dominates(
        "Section 5.6",
        "SPT+Rescue has less wait and miss than EDF over the month",
        "5.13",
        (wait, miss),
        ("SPT+Rescue", "EDF"),
    )
    _, _, holds, reason = _dominates("", "", "5.13", (miss, late), ("CADR", "RH"))
    yield (
        "Section 6.1.1",
        "Neither of RH and CADR dominates the other on miss and tardiness",
        not holds,
        reason,
    )


def _of_changes() -> Iterator[Decided]:
    miss, wait = column("5.2", "miss, %"), column("5.2", "wait, min")
    spt, edf = (miss["FIFO"] - miss[name] for name in ("SPT", "EDF"))
    yield (
        "Section 5.4",
        "EDF cuts FIFO's miss by almost as much as SPT",
        0 <= spt - edf < 2,
        f"Table 5.2: by {edf:.2f} points, SPT by {spt:.2f}",
    )
    of_theta = column("5.8", "miss, %")
    saved = of_theta["theta = 600 s"] - of_theta["theta = 180 s"]
    yield (
        "Section 5.5.4",
        "theta = 180 s would save a fraction of a percentage point",
        saved < 1,
        f"Table 5.8: {saved:.2f} points",
    )
    spread = _spread(column("5.9", "miss, %"))
    yield (
        "Section 5.5.5",
        "CADR's miss varies by 2.13 points over CR*",
        round(spread, 2) == 2.13,
        f"Table 5.9: {spread:.2f}",
    )
    for table, when in (("5.2", "on the hectic day"), ("5.13", "over the month")):
        late = column(table, "tardiness, min")
        less = 100 * (1 - late["CADR"] / late["RH"])
        yield (
            "Section 6.1.1",
            f"CADR is over 60 % less late than RH {when}",
            less > 60,
            f"Table {table}: {less:.1f} %",
        )
    less = 100 * (1 - wait["SPT"] / wait["FIFO"])
    yield (
        "Section 6.1",
        "SPT's wait is about 20 % below FIFO's",
        abs(less - 20) < 2,
        f"Table 5.2: {less:.1f} %",
    )
    fewer = HECTIC.workload.jobs * (0.2199 - 0.1314)
    yield (
        "Section 5.6",
        "SPT misses about 110 deadlines fewer than FIFO on a hectic day",
        abs(fewer - 110) < 5,
        f"by the rates printed beside it, 21.99 and 13.14 %: {fewer:.0f}",
    )
    cost = column("5.13", "cost, USD")
    apart = 100 * (max(cost.values()) / min(cost.values()) - 1)
    yield (
        "Section 5.5.7",
        "Costs of the policies differ by noise only",
        apart < 2,
        f"Table 5.13: {min(cost.values()):g} to {max(cost.values()):g}, {apart:.1f} %",
    )
