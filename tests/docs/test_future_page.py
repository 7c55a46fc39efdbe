"""The page on the thesis's future work: its numbers are those of its scripts and
commands.
"""

import re
from pathlib import Path

import pytest
from support import script

import cgrsp_simpy as cg

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "future.md").read_text(encoding="utf-8")
SECTIONS = {
    int(text[0]): " ".join(text.split())
    for text in PAGE.split("\n## ")[1:]
    if text[0].isdigit()
}
VALUE = re.compile(r"([-+]?\d+\.\d+) ± *(\d+\.\d+)")


def printed(name):
    """Return the printed rows of a script, by day."""
    text = (ROOT / "scenarios" / f"{name}.out").read_text(encoding="utf-8")
    parts = re.split(r"^(\w+)(?=[,:].*\n)", text, flags=re.M)[1:]
    result = {}
    for day, part in zip(parts[::2], parts[1::2]):
        result.setdefault(day, []).append(part)
    return result


def told(section):
    return [
        (float(mean), float(half)) for mean, half in VALUE.findall(SECTIONS[section])
    ]


def value(text):
    mean, half = VALUE.search(text).groups()
    return float(mean), float(half)


def test_the_front_of_nsga_2():
    lines = (ROOT / "scenarios/research/tune.out").read_text("utf-8").splitlines()
    rows = {tuple(line.split()[:2]): line for line in lines[2:]}
    assert [slots for slots, _ in rows] == ["5", *["8"] * 5]
    changes = VALUE.findall(rows["8", "3"])
    assert [(abs(float(x)), float(half)) for x, half in changes] == told(2)
    promised = float(rows["8", "3"].split()[2])
    assert f"({-promised:.2f} on the training seeds)" in SECTIONS[2]
    for choice in list(rows)[1:]:  # as the script's first line says
        mean, half = value(rows[choice])
        assert mean + half < 0


@pytest.mark.slow
def test_the_search_finds_the_front_of_a_small_space():
    pytest.importorskip("pymoo")

    def figures(choice):
        x, y = choice
        return (x - 1) ** 2, (x - 4) ** 2 + y // 2, 0.0

    result = script("research/tune").pareto_front(
        lambda choices: [*map(figures, choices)], ((0, 6), (0, 3)), 12, 12
    )
    # y is 0 or 1, with equal figures: one of both
    assert sorted(x for x, _ in result) == [1, 2, 3, 4]
    assert all(y < 2 and result[x, y] == figures((x, y)) for x, y in result)


def test_tiles():
    days = printed("tiles")

    def more(day, split):  # of two tiles than of one
        part = days[day][split].splitlines()[2]
        return value(part[part.index(" min, ") :])

    signs = [("quiet", 0), ("quiet", 1), ("normal", 0), ("surge", 0), ("hectic", 0)]
    shown = [more(*each) for each in (*signs, ("hectic", 2), ("quiet", 2))]
    assert [(abs(mean), half) for mean, half in shown] == told(3)
    assert [mean < 0 for mean, _ in shown] == [
        True,
        True,
        False,
        False,
        False,
        True,
        True,
    ]
    at_hand = [more(day, 2) for day in days]
    assert all(mean + half < 0 for mean, half in at_hand)
    assert min(at_hand)[0] == more("quiet", 2)[0] and max(at_hand) == more("hectic", 2)


def test_a_threshold_that_follows_the_load():
    days = printed("research/adaptive_threshold")

    def misses(day, policy):
        # of the differences
        row = re.findall(rf"^{policy}  .*$", "".join(days[day]), re.M)[-1]
        mean, half = VALUE.findall(row)[1]
        return float(mean), float(half)

    rows = [
        misses(day, policy)
        for policy in ("adapted", "thesis's rescue")
        for day in ("hectic", "surge")
    ]
    assert rows == told(7)
    assert misses("normal", "adapted") == misses("quiet", "adapted") == (0, 0)
    assert "pressure=1000000,threshold_s=14311'" in days["hectic"][0]
    assert "the tuned 14311 s" in SECTIONS[7]


def test_a_small_agent():
    text = (ROOT / "scenarios" / "research" / "train_agent.out").read_text(
        encoding="utf-8"
    )
    agent = value(re.search(r"^agent: (.*) USD per day$", text, re.M).group(1))
    lines = dict(re.findall(r"^(fifo|edf|cadr|triage|bound): (.*)$", text, re.M))
    more = {name: value(line.split(", ")[1]) for name, line in lines.items()}
    shown = [more[name] for name in ("fifo", "cadr", "edf", "triage", "bound")]
    assert [agent, *((abs(mean), half) for mean, half in shown)] == told(8)
    assert [name for name, (mean, half) in more.items() if mean > half] == [
        "fifo",
        "cadr",
    ]
    assert [name for name, (mean, half) in more.items() if mean < -half] == ["bound"]
    assert all(more[name][0] < 0 for name in ("edf", "triage"))
    code = (ROOT / "scenarios/research/train_agent.py").read_text(encoding="utf-8")
    sizes = re.search(r"range\((\d+)\), (\d+), (\d+), \d+, (\d+)\n", code).groups()
    test, generations, drawn, days = map(int, sizes)
    assert test == 10 and f"on {generations * drawn * days} surge days" in SECTIONS[8]


def mean_of(study, policy, figure):
    result = study.means()[policy][figure]
    return round(result.mean, 2), round(result.half_width, 2)


@pytest.mark.long
def test_preemption():
    day = cg.day("hectic", terms=cg.Terms(suspension=True))
    result = cg.compare(day, ["edf", "edf-p"], range(20)).differences()["edf-p"]
    shown = [
        (round(x.mean, 2), round(x.half_width, 2))
        for x in (result["miss_pct"], result["wait_min"])
    ]
    assert shown == told(1)


@pytest.mark.long
def test_slots():
    result = {
        slots: cg.compare(cg.day("hectic", slots), ["cadr"], range(10))
        for slots in (5, 10)
    }
    assert [mean_of(result[5], "cadr", "miss_pct")] == told(5)
    assert max(result[10].values("cadr", "miss_pct")) == 0


@pytest.mark.long
def test_deadlines():
    shown = []
    for share in (0.1, 0.7):
        study = cg.compare(
            cg.day("hectic", tight_fraction=share), ["edf", "fifo"], range(20)
        )
        shown += [mean_of(study, policy, "miss_pct") for policy in ("edf", "fifo")]
    assert shown == told(6)
