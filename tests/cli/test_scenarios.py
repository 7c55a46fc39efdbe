"""Words of the command line: names and values of parameters, and names of files."""

import json

import pytest
from support import (
    check_bad_input,
    check_refused,
    outcome,
    output,
    refusals,
    swf_of_three,
)

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.cli.parameters import shortened
from cgrsp_simpy.cli.scenarios import Worded, split, value_of
from cgrsp_simpy.studies.subject import subject_of

OWN = """
import cgrsp_simpy as cg

class Shop(cg.Model):
    "One counter."
    compared = ()
    policies = {}

made = cg.day("quiet", jobs=7)
number = 3
"""


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("7", int, 7),
        ("7", str, "7"),
        ("7.5", float, 7.5),
        ("1e3", float, 1000.0),
        ("true", bool, True),
        ("no", bool, False),
        ("none", int | None, None),
        ("none", str, "none"),
        ("a+b", tuple[str, ...], ["a", "b"]),
        ("0.1+0.2", tuple[float, ...], [0.1, 0.2]),
        ("0.1", tuple[float, ...], [0.1]),
        ("0:2+9.5:4", tuple[tuple[float, int], ...], [(0, 2), (9.5, 4)]),
        ("0:2+9:4", tuple, [(0, 2), (9, 4)]),
        ("0:2", list, [(0, 2)]),
        ("1+16:24:32", tuple[tuple[int, ...], ...], [1, (16, 24, 32)]),
        ("a:2+9:b", list, ["a:2", "9:b"]),
        ("x", int, "x"),  # which is then rejected
        ("a+b", str, "a+b"),
    ],
)
def test_the_type_of_a_parameter_determines_how_its_text_is_read(text, hint, value):
    result = value_of(text, hint)
    assert (result, type(result)) == (value, type(value))


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["slots=4,5", "name=x"], {"slots": ["4", "5"], "name": ["x"]}),
        (
            ["graph=er:n=6,degree=2,star:n=3"],
            {"graph": ["er:n=6,degree=2", "star:n=3"]},
        ),
        (["log.decimal=,"], {"log.decimal": [","]}),
        (["trace=a.csv,b=c.csv"], {"trace": ["a.csv", "b=c.csv"]}),
    ],
)
def test_a_comma_separates_values_except_within_one(words, values):
    assert split(words) == values


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x" * 40, "x" * 40),
        ("x" * 41, f"{'x' * 37}..."),
        (cg.THESIS_GPUS[:2], "RTX 3090+RTX A5000"),
        ([cg.THESIS_GPUS[0], cg.Terms(), 1], "list of 3"),
        ((1, 2.5), "1+2.5"),
        (max, "max"),
    ],
)
def test_a_parameter_is_listed_by_at_most_40_characters(value, text):
    assert shortened(value) == text


def test_lists_are_joined_by_a_plus():
    worded = Worded("hectic", ["slots=RTX A4000+RTX 3090", "sigma=0.1+0.2+0.3"])
    assert [gpu.name for gpu in worded.scenario.slots] == ["RTX A4000", "RTX 3090"]
    assert worded.scenario.service.sigma == (0.1, 0.2, 0.3)
    worded = Worded("hectic", ["slots=RTX 3090"])
    assert [gpu.name for gpu in worded.scenario.slots] == ["RTX 3090"]


def test_words_are_kept_for_json():
    worded = Worded("hectic", ["slots=4,5", "terms.warm_s=60", "rh:reserve=0,1"])
    assert worded.parameters == {
        "slots": [4, 5],
        "terms.warm_s": 60,
        "rh:reserve": [0, 1],
    }
    assert worded.names == ["slots", "terms.warm_s"]


test_a_word_of_another_form_or_a_parameter_by_two_names_is_rejected = refusals(
    *(
        (lambda words=words: split(words), ["parameter"])
        for words in (["slots"], ["slots="], ["=4"], ["a=1", "a=2"])
    ),
    (
        lambda: Worded("hectic", ["warm_s=1", "terms.warm_s=2"]),
        ["terms.warm_s is given twice"],
    ),
)


def test_a_script_with_imports_gives_a_class_and_no_object(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("from own_parts import *\n")
    (tmp_path / "own_parts.py").write_text(OWN)
    assert type(Worded("own.py:Shop", []).scenario).__name__ == "Shop"
    # an object is not a function of the file: the error lists the functions
    check_refused(lambda: Worded("own.py:made", []), ["Shop"])


FUNCTION = """
from __future__ import annotations
from typing import Literal
import cgrsp_simpy as cg

@cg.model
def walk(
    env,
    steps: int = 3,
    pause: float | None = None,
    rule: Literal["long", "short"] = "long",
    deep=False,
    other: NotImported | None = None,
    parts=(1, 2),
    order=max,
    label=None,
):
    env.run(steps)
    return {"parts_sum": order(sum(parts), 0)}
"""


@pytest.fixture
def function(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(FUNCTION)
    return "own.py:walk"


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("steps=4", 4),
        ("steps=2.5", 2.5),
        ("pause=none", None),
        ("pause=2", 2),
        ("rule=short", "short"),
        ("deep=yes", True),
        ("parts=1+2.5+3", [1, 2.5, 3]),
        ("parts=7", [7]),
        ("label=x", "x"),
    ],
)
def test_a_word_of_a_function_has_the_type_of_its_parameter(word, value, function):
    assert Worded(function, [word]).scenario.parameters == {
        word.partition("=")[0]: value
    }


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("steps=x", "steps(='x') must be a number"),
        ("steps=4,x", "steps(='x') must be a number"),
        ("steps=none", "steps(='none') must be a number"),
        ("steps=true", "steps(='true') must be a number"),
        ("rule=medium", "unknown rule 'medium' (allowed: long, short)"),
        ("deep=perhaps", "deep(='perhaps') must be true or false"),
        ("deep=1", "deep(=1) must be true or false"),
        ("order=own.py:walk", "functions can be passed only in Python"),
    ],
)
def test_a_word_that_is_not_a_parameter_of_the_function_is_rejected(
    word, message, function
):
    check_refused(lambda: Worded(function, [word]), [message])


SCENARIOS = (
    "hectic",
    "waiting",
    "cluster",
    "hgsp:tasks1",
    "llm",
    "dag:er:n=20",
    "spot",
)


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_scenario_is_written_to_a_file_and_read_from_it(name, tmp_path, capsys):
    path = str(tmp_path / "scenario.toml")
    assert main(["parameters", name, "--out", path]) == 0
    capsys.readouterr()
    assert Worded(path, []).scenario == Worded(name, []).scenario
    check_bad_input(
        outcome(capsys, "parameters", name, "--out", path),
        ["a file that does not exist yet"],
    )


def test_types_that_replace_those_of_a_file_are_reported(tmp_path, caplog):
    caplog.set_level("INFO")
    path = tmp_path / "own.toml"
    cg.day("quiet", jobs=5).to_toml(path)
    Worded(str(path), ["slots=2"])
    assert caplog.messages == []
    Worded(str(path), ["gpus=2025"])
    assert caplog.messages == [
        f"{path}: gpus=2025 replaces its GPU types and their execution times"
    ]


def test_pairs_of_numbers_are_listed_as_they_are_given(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(
        "def shop(env, plan=((0, 2), (60, 4))):\n"
        "    env.run(1)\n"
        "    return {'servers': sum(number for _, number in plan)}\n"
    )
    assert "plan=0:2+60:4\n" in output(capsys, "parameters", "own.py:shop")
    assert Worded("own.py:shop", ["plan=0:1+60:3,5:5"]).grid == {
        "plan": [[(0, 1), (60, 3)], [(5, 5)]]
    }
    assert "4.00" in output(capsys, "run", "own.py:shop", "plan=0:1+60:3")
    delays = Worded("hectic", ["market.delay_s=0:1+3:12+60:72"]).scenario.market.delay_s
    assert delays == ((0, 1), (3, 12), (60, 72))
    word = "source.mix.gpus=1+2+4+8+16:24:32"
    assert Worded("cluster", [word]).scenario == cg.cluster.Scenario()
    assert f"{word}\n" in output(capsys, "parameters", "cluster")
    assert "plan=5\n" in output(capsys, "parameters", "own.py:shop", "plan=5")
    check_refused(lambda: Worded("own.py:shop", ["plan=5,0:3"]).single("run"), "=5,0:3")


@pytest.mark.parametrize("name", [*SCENARIOS, "month"])
def test_every_parameter_has_a_meaning_and_can_be_given_by_its_name(name):
    scenario = Worded(name, []).scenario
    parameters = subject_of(scenario).parameters
    for full, item in parameters.items():
        assert item.meaning, full
        if isinstance(item.value, int | float | str) and full != "name":
            again = Worded(name, [f"{full}={str(item.value).lower()}"]).scenario
            assert subject_of(again).parameters[full].value == item.value


@pytest.mark.parametrize("name", [*SCENARIOS, "month"])
def test_every_policy_has_a_meaning(name, capsys):
    answer = output(capsys, "policies", name, "--format", "json")
    rows = json.loads(answer)["figures"]
    assert rows and all(row["meaning"] for row in rows)
    assert not [row for row in rows if row["meaning"].startswith("partial(")]


def test_jobs_of_a_cluster_s_log_have_no_file(tmp_path, capsys):
    swf = swf_of_three(tmp_path)
    words = ["parameters", "cluster", f"trace={swf}", "--out", tmp_path / "a.toml"]
    _, out, err = outcome(capsys, *words)
    assert err.splitlines()[-1].startswith("cgrsp parameters: Jobs cannot be written")
    assert not out and not (tmp_path / "a.toml").exists()


def test_the_parts_of_a_log_are_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "created,seconds,who\n" + "".join(
        f"{60 * n},{30 + n},{'ab'[n % 2]}\n" for n in range(9)
    )
    (tmp_path / "log.csv").write_text(rows)
    words = ["trace=log.csv", "log.submit=created", "log.service=seconds", "slots=2"]
    assert Worded("rental", words).scenario == cg.trace(
        "log.csv", columns={"submit": "created", "service": "seconds"}, slots=2
    )
    other = (tmp_path / "log.csv").read_text().replace("60", "61")
    (tmp_path / "other.csv").write_text(other)
    worded = Worded("rental", [*words[1:], "trace=log.csv,other.csv"])
    made = [
        worded.scenario_of(
            **{word: values[0] for word, values in worded.grid.items()}
            | {"trace": path}
        )
        for path in worded.grid["trace"]
    ]
    assert [scenario.name for scenario in made] == ["log.csv", "other.csv"]


def test_a_market_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "time,type,status,price\n" + "".join(
        f"{600 * n},new,{'High' if n % 7 else 'Low'},0.5\n" for n in range(600)
    )
    (tmp_path / "stock.csv").write_text(rows)
    words = ["market=stock.csv", "market.RTX 3090=new", "sight=now", "slots=2"]
    scenario = Worded("hectic", words).scenario
    expected = cg.on_market(
        cg.day("hectic"), cg.measured("stock.csv"), {"RTX 3090": "new"}
    )
    expected = subject_of(expected).varied(sight="now", slots=2)
    assert scenario == expected


def test_instances_of_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    line = "sample tasks.csv hgsp:tasks1 source.tasks=500 --seed 3"
    text = output(capsys, *line.split())
    instance = Worded("hgsp", ["instance=tasks.csv", "noise=0.5"]).scenario
    level = subject_of(cg.hgsp.Scenario("tasks1")).varied(tasks=500)
    check_bad_input(outcome(capsys, *line.split()), ["does not exist yet"])
    drawn = subject_of(level).draw(3)
    hours = drawn.arrival_s.max() / 3600
    assert (instance.source.arrival_s == drawn.arrival_s).all()
    assert hours > 0.2 and f": 500 tasks over {hours:.1f} h for " in text
    (tmp_path / "wt40.txt").write_text(" ".join(["3"] * 40 + ["1"] * 40 + ["9"] * 40))
    words = ["orlib=wt40.txt", "orlib.machines=3"]
    assert Worded("hgsp", words).scenario.source.tasks == 40
    assert len(Worded("hgsp", words).scenario.source.gpus) == 3
