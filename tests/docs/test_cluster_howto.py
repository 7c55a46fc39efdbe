"""The results on clusters are what the script and the command print."""

import re
from math import inf
from pathlib import Path

from cgrsp_simpy.cluster.jobs import Mix, least_gpu_hours, least_of_any_law
from cgrsp_simpy.papers import ledger
from cgrsp_simpy.papers.cluster.table import PUBLISHED, gpu_hours

ROOT = Path(__file__).parents[2]
SECTION = " ".join(
    word
    for page in ("howto/cluster.md", "explanation/results.md")
    for word in (ROOT / "docs" / page).read_text(encoding="utf-8").split()
)


def printed(name):
    """Scheduler -> the numbers of its line in what a script prints; a test of the
    scripts holds it to be what they print.
    """
    lines = (
        (ROOT / "scenarios" / f"{name}.out").read_text(encoding="utf-8").splitlines()
    )
    line = r"([a-z][\w:=-]*)(?: \*)?((?:\s+(?:\d+\.\d+|\d+|inf))+)"
    rows = (match.groups() for text in lines if (match := re.fullmatch(line, text)))
    return {
        scheduler: [float(number) for number in numbers.split()]
        for scheduler, numbers in rows
    }


def test_the_waiting_jobs_match_the_printed_ones():
    result = printed("who_starves_whom")
    starved, wide_h, others_h = (
        {name: row[place] for name, row in result.items()} for place in (4, 6, 7)
    )
    out = (ROOT / "scenarios" / "who_starves_whom.out").read_text(encoding="utf-8")
    named = [name for name in result if f"\n{name} * " in out and ":" not in name]
    assert (
        f"load of 0.9, {', '.join(named[:-1])} and {named[-1]} are not stable"
        in SECTION
    )
    pair = ("hps", "shortest")
    low, high = sorted(round(starved[name]) for name in pair)
    assert (
        f"{low} to {high} % of the jobs with more than 8 GPUs wait for over half an"
        " hour, and some never start, while other jobs wait for about 12 minutes"
        in SECTION
    )
    assert all(wide_h[name] == inf and 0.15 < others_h[name] < 0.25 for name in pair)
    assert "easy" not in named
    sentence = (
        f"the mean wait is {wide_h['easy']:.0f} hours for these wide jobs and"
        f" {others_h['easy']:.1f} hours for the others"
    )
    assert sentence in SECTION
    assert ".venv/bin/python scenarios/who_starves_whom.py" in SECTION


def test_implications_of_the_papers_table_agree_with_cluster_table():
    hours = [
        gpu_hours(row)
        for row in PUBLISHED.values()
        if {"throughput_per_h", "utilisation_pct"} <= set(row)
    ]
    sentence = f"implies {min(hours):.2f} to {max(hours):.2f} GPU-hours per job."
    condition = "if GPUs and duration are independent"
    least = (
        f"has at least {least_gpu_hours(Mix()):.2f} {condition}, and"
        f" {least_of_any_law(Mix()):.2f} if wide jobs are short"
    )
    assert f"{sentence} Its job mix {least}" in SECTION
    cluster = [entry for entry in ledger.recorded() if entry.paper == "cluster"]
    text = " ".join(map(ledger.line, cluster))
    assert all(
        f"{number:.2f}" in text
        for number in (
            min(hours),
            max(hours),
            least_gpu_hours(Mix()),
            least_of_any_law(Mix()),
        )
    )
    assert ".venv/bin/cgrsp papers tables cluster" in SECTION


def test_hps_has_shorter_waits_on_the_philly_log_but_one_of_five_weeks():
    """Columns: mean wait, 95 %, longest (hours), starved, used, fragmented (%)."""
    result = printed("easy_or_hps")
    for name in ("hps", "hps:monotone=true"):
        assert result[name][0] < result["easy"][0] / 2
        assert result[name][4] < result["easy"][4]
        assert round(result[name][2] / (7 * 24)) == 5
    censored = [row[-1] for row in result.values()]
    head = (ROOT / "scenarios" / "easy_or_hps.py").read_text(encoding="utf-8")
    assert (
        f"Of 1,181 jobs, {min(censored):.0f} to {max(censored):.0f} are censored"
        in head
    )
