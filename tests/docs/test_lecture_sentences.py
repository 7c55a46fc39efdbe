"""What the lectures say is what their code finds: each claim stands in the text, held
when the output was written, and fails where it says the contrary; no number is in the
text alone.

The lectures' own runs check their claims with their own seeds, test_lecture_claims.py
with others.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.exercises import claim
from cgrsp_simpy.exercises.exercise import ClaimError

FOLDER = Path(__file__).parents[2] / "scenarios" / "lectures"
LECTURES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
each_lecture = pytest.mark.parametrize(
    "script", LECTURES, ids=lambda script: script.stem
)


def source(script):
    return script.read_text(encoding="utf-8")


def prose(script, exercises=True):
    """Docstring and text cells, in one line without marks of emphasis."""
    cells = re.split(r"^# %%", source(script), flags=re.MULTILINE)
    texts = [
        re.sub(r"^# ?", "", cell.split("\n", 1)[1], flags=re.MULTILINE)
        for cell in cells
        if cell.startswith(" [markdown]")
    ]
    if not exercises:
        texts[-1] = texts[-1].split("## Exercises")[0]
    said = " ".join([ast.get_docstring(ast.parse(source(script))), *texts])
    return " ".join(said.replace("*", "").split())


def claims(script):
    """The sentences that a lecture claims, in the call or, where they are long, in
    `said`.
    """
    tree = ast.parse(source(script))
    said = [
        node.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "said"
    ]
    calls = [
        node.args[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "claim"
    ]
    named = [each.id for each in calls if isinstance(each, ast.Name)]
    assert named == ["said"] * len(said)
    return said + [each.value for each in calls if isinstance(each, ast.Constant)]


@each_lecture
def test_every_claim_stands_in_the_text_and_held(script):
    found = claims(script)
    assert len(found) >= 3
    out = script.with_suffix(".out").read_text(encoding="utf-8").splitlines()
    for sentence in found:
        assert sentence.casefold() in prose(script).casefold()
        assert any(
            line == f"so: {sentence}" or line.startswith(f"so: {sentence} (")
            for line in out
        )
    assert sum(line.startswith("so: ") for line in out) >= len(found)


# years, pages, names of tables, hours of the clock and the like, which no code computes
ELSEWHERE = {
    3: {"8", "1968"},
    7: {"08:00", "12:00"},
    8: {"5.5"},
    9: {"1954"},
    10: {"1979"},
    13: {"2001"},
    15: {"1960", "1962", "19937", "128"},
}


@each_lecture
def test_no_number_stands_in_the_text_alone(script):
    """It is in the code, or printed, or computed by a test below."""
    lines = source(script).splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#"))
    computed = code + script.with_suffix(".out").read_text(encoding="utf-8")
    known = set(re.findall(r"\d+(?:[.:,]\d+)*", computed.replace("_", ""))) | {"95"}
    text = re.sub(
        r"[Ll]ectures? \d+( and \d+)?|Part \d|## \d|step \d|rule \d",
        "",
        prose(script, False),
    )
    found = set(re.findall(r"(?<![\w/])\d+(?:[.:,]\d+)*", text))
    known |= ELSEWHERE.get(int(script.name[:2]), set())
    assert {
        number for number in found if not {number, number.replace(",", "")} & known
    } == set()


@each_lecture
def test_lectures_use_simpy_as_its_manual_does(script):
    tree = ast.parse(source(script))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not {
        name for name in names if name.startswith("_") and not name.startswith("__")
    }
    assert not names & {"schedule", "callbacks", "URGENT", "NORMAL"}


# ---- sentences that stood in the lectures, and were wrong ----

OLD = [
    (7, "To start after the peak costs nothing and cures the surge day"),
    (6, "EDF moves the wait to those who have time. Its mean wait is FIFO's."),
    (6, "earliest deadline first does not shorten it"),
    (3, "shorter runs, tried first, missed one or two of seven to nine"),
    (3, "the interval is widest at 0.95, although these runs are among the longest"),
    (2, "event.succeed() has priority NORMAL, which is 1, and larger comes later"),
    (6, "on FIFO's slots only the order by length shortens the wait"),
    (7, "GPUs that are there at once leave nothing to wait for"),
    (8, "only one in two hundred beyond 2.8"),
    (9, "eight times too rarely"),
    (9, "which loses a degree of freedom for each fitted parameter"),
    (13, "Either of them takes away most of the queue"),
    (13, "forty minutes too short"),
    (13, "the second finds little left to take"),
]


@pytest.mark.parametrize(("number", "sentence"), OLD)
def test_it_does_not_stand_there_any_more(number, sentence):
    (script,) = FOLDER.glob(f"{number:02}_*.py")
    assert sentence.casefold() not in prose(script).casefold()


def by_seed(day, policy, seeds, figure="wait_min"):
    study = cg.compare(cg.day(day), [policy], seeds)
    return np.array(study.values(study.policies[0], figure))


def at_18(view):
    """FIFO that starts nothing before hour 10 of the run."""
    return [cg.Wake(36000)] if view.now_s < 36000 else zip(view.queue, view.idle)


@pytest.mark.slow
def test_to_start_after_the_peak_neither_costs_nothing_nor_cures_the_surge_day():
    seeds = range(6000, 6003)
    more = cg.statistics.paired_difference(
        by_seed("surge", at_18, seeds), by_seed("surge", "fifo", seeds)
    )
    with pytest.raises(ClaimError):
        claim("it cures the surge day", more, below=0)
    with pytest.raises(ClaimError):
        claim(
            "it costs nothing",
            by_seed("surge", at_18, seeds, "tight_miss_pct").mean(),
            below=99,
        )
    assert claim("it makes the wait longer by hours", more, above=180)


def test_edfs_mean_wait_is_not_fifos_on_a_normal_day_but_its_orders_is():
    seeds = range(6000, 6040)
    fifo = by_seed("normal", "fifo", seeds)
    edf = cg.statistics.paired_difference(by_seed("normal", "edf", seeds), fifo)
    with pytest.raises(ClaimError):
        claim("Its mean wait is FIFO's", edf, above=-0.5, below=0.5)
    assert claim("EDF waits less", edf, below=0)
    order = cg.ListPolicy(cg.rules.by_deadline, cg.rules.first_idle)
    alike = cg.statistics.paired_difference(by_seed("normal", order, seeds), fifo)
    assert claim("its order's mean wait is FIFO's", alike, above=-0.1, below=0.1)
    by_length = cg.ListPolicy(cg.rules.shortest_first, cg.rules.first_idle)
    shorter = cg.statistics.paired_difference(by_seed("normal", by_length, seeds), fifo)
    with pytest.raises(ClaimError):  # nor does the order by length shorten it there
        claim(
            "on FIFO's slots only the order by length shortens the wait",
            shorter,
            below=0,
        )
