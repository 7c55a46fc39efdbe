"""The lectures' sentences agree with their code: each claim held when the output was
written, and no number is in the text alone.

test_fresh_claims.py checks the claims with other seeds.
"""

import ast
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "scenarios" / "lectures"
LECTURES = sorted(FOLDER.glob("[0-9][0-9]_*.py"))
each_lecture = pytest.mark.parametrize(
    "script", LECTURES, ids=lambda script: script.stem
)


def source(script):
    return script.read_text(encoding="utf-8")


def prose(script):
    """Docstring and text cells up to the questions, in one line without marks of
    emphasis.
    """
    cells = re.split(r"^# %%", source(script), flags=re.MULTILINE)
    texts = [
        re.sub(r"^# ?", "", cell.split("\n", 1)[1], flags=re.MULTILINE)
        for cell in cells
        if cell.startswith(" [markdown]")
    ]
    texts[-1] = texts[-1].split("## Five questions")[0]
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
    named = [node.id for node in calls if isinstance(node, ast.Name)]
    assert named == ["said"] * len(said)
    return said + [node.value for node in calls if isinstance(node, ast.Constant)]


@each_lecture
def test_every_claim_held(script):
    sentences = claims(script)
    assert len(sentences) >= 3
    out = script.with_suffix(".out").read_text(encoding="utf-8").splitlines()
    for sentence in sentences:
        assert any(
            line == f"checked: {sentence}" or line.startswith(f"checked: {sentence} (")
            for line in out
        )
    assert sum(line.startswith("checked: ") for line in out) >= len(sentences)


# years, hours of the clock, quantiles, exact values and bounds of claims, which no code
# has in this form
ELSEWHERE = {
    1: {"16"},
    3: {"97.5"},
    4: {"25"},
    5: {"1980", "19"},
    6: {"128", "1962", "19937"},
    7: {"0.64", "1979", "50"},
    8: {"1954"},
    9: {"17", "190", "480"},
    10: {"1968", "20"},
    11: {"1.8"},
    14: {"0.02", "0.8", "255"},
    16: {"8"},
    17: {"08:00", "12:00", "30", "950"},
    18: {"2.05"},
}


@each_lecture
def test_no_number_appears_only_in_the_text(script):
    """It is in the code, or printed, or computed by a test below."""
    lines = source(script).splitlines()
    code = "\n".join(line for line in lines if not line.startswith("#"))
    computed = code + script.with_suffix(".out").read_text(encoding="utf-8")
    known = set(re.findall(r"\d+(?:[.:,]\d+)*", computed.replace("_", ""))) | {"95"}
    text = re.sub(
        r"[Ll]ectures? \d+( and \d+)?|Part \d|## \d|step \d|rule \d",
        "",
        prose(script),
    )
    numbers = set(re.findall(r"(?<![\w/])\d+(?:[.:,]\d+)*", text))
    known |= ELSEWHERE.get(int(script.name[:2]), set())
    assert {
        number for number in numbers if not {number, number.replace(",", "")} & known
    } == set()


@each_lecture
def test_lectures_use_simpy_as_its_manual_does(script):
    tree = ast.parse(source(script))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not {
        name for name in names if name.startswith("_") and not name.startswith("__")
    }
    assert not names & {"schedule", "callbacks", "URGENT", "NORMAL"}
