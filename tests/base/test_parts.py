"""Conversion of scenarios to plain tables and back; the schema of these tables."""

from __future__ import annotations

import math
import tomllib
from dataclasses import replace

import pytest
from support import check_refused, refusals

import cgrsp_simpy as cg
from cgrsp_simpy.base.files import toml_text
from cgrsp_simpy.base.parameters import Count, Entries, declared, parameter
from cgrsp_simpy.base.parts import part_of, schema, tables_of
from cgrsp_simpy.hgsp.generate import LEVELS
from cgrsp_simpy.waiting.policies import waiting_policy


@declared()
class Tray:
    """A tray."""

    loaves: Count = parameter("How many lie on it.", default=4)


@declared()
class Oven:
    """An oven."""

    name: str = parameter("What it is called.")
    tray: Tray = parameter("Its tray.", default=Tray())
    spare: Entries[Tray] = parameter("Other trays.", default=())
    bakes: Tray | Cake | None = parameter("What it bakes.", default=None)
    sells: Entries[Tray | Cake] = parameter("What it sells.", default=())


@declared()
class Cake:
    """A cake."""

    eggs: Count = parameter("How many are in it.", default=3)


def read(part):
    """Return the part that a file describes."""
    return part_of(type(part), tomllib.loads(toml_text(tables_of(part))), "")


@pytest.fixture
def own(monkeypatch):
    """Treat the classes of this file as classes of the package."""
    monkeypatch.setattr("cgrsp_simpy.base.parts.users_part", lambda part: None)


@pytest.mark.parametrize(
    "oven",
    [
        Oven("a"),
        Oven("a", Tray(2), [Tray(1), Tray(4)]),
        Oven("a", bakes=Cake(2)),
        Oven("a", sells=[Cake(2), Tray()]),
        Oven("a", bakes=Tray()),
    ],
)
def test_a_part_survives_a_round_trip_through_its_table(own, oven):
    assert read(oven) == part_of(Oven, tables_of(oven, whole=True), "") == oven


def test_a_class_is_named_only_if_there_are_several(own):
    assert tables_of(Oven("a", Tray(2))) == {"name": "a", "tray": {"loaves": 2}}
    oven = Oven("a", bakes=Cake())
    assert tables_of(oven) == {"name": "a", "bakes": {"kind": "Cake"}}


test_a_wrong_table_is_rejected_by_its_name = refusals(
    ({"name": "a", "tray": {"loafs": 2}}, "unknown key in [tray] 'loafs'; did you"),
    (
        {"name": "a", "spare": [{"loaves": 0}]},
        "[spare]: loaves(=0) must be a whole",
    ),
    (
        {"name": "a", "bakes": {"kind": "Cak"}},
        "unknown kind of bakes 'Cak'; did you",
    ),
    ({"name": "a", "tray": 3}, "tray(=3) must be of type Tray"),
    ({}, "the file lacks name"),
    ({"name": "a", "bakes": {}}, "[bakes] lacks kind, one of Tray, Cake"),
    call=lambda table: part_of(Oven, table, ""),
)


test_values_that_no_file_can_hold_are_rejected = refusals(
    (
        cg.waiting.Scenario(cg.waiting.ExponentialJobs(4), order=read),
        "function cannot be written to TOML",
    ),
    (Oven("a"), "Oven cannot be written to TOML: it is not"),
    (
        cg.DeadlineClass("a", 1.0, 60.0, weight=None),
        "weight(=None) must be a value that can",
    ),
    call=tables_of,
)


def test_only_changed_values_are_written():
    market = replace(cg.Market(), persistence_s=60.0)
    assert tables_of(market) == {"persistence_s": 60.0}


def scenarios():
    """A scenario of each module, with as much as possible changed."""
    sizes = (
        cg.waiting.Size("a", 4, 16.0, 0.25, spot_per_h=0.1),
        cg.waiting.Size("b", 2, 8.0, 0.1),
    )
    jobs = cg.waiting.ExponentialJobs(40, 0.02, 300.0)
    limits = waiting_policy("ajw-t:wait_s=60")
    yield cg.waiting.Scenario(jobs, limits, sizes, "sjf", sizes=sizes)
    yield cg.waiting.Scenario(cg.waiting.BurstyJobs(40), machines=3)
    yield cg.hgsp.Scenario(replace(LEVELS["tasks2"], tasks=12), noise=0.3)
    service = replace(cg.llm.Scenario().service, gpus=4)
    yield cg.llm.Scenario(service=service, steps=cg.llm.Roofline(efficiency=0.4))
    yield cg.dag.Scenario("er:n=12", replace(cg.dag.Scenario().platform, gpus=3))
    cluster = cg.cluster.Cluster((40, 8), types=("a", "b"))
    source = replace(cg.cluster.Scenario().source, jobs=40, load=0.5)
    yield cg.cluster.Scenario(source, cluster, "spread")
    yield replace(cg.spot.Scenario(), hours=8.0, deadline=9.0, zones=2)


@pytest.mark.parametrize("scenario", [*scenarios()], ids=lambda s: type(s).__module__)
def test_a_scenario_of_any_module_survives_a_file(scenario):
    assert read(scenario) == scenario


def test_columns_survive_a_file():
    jobs = cg.waiting.ListedJobs([0.0, 1.0], [2.0, 3.5], [1, 2], [0.0, 4.0])
    back = read(cg.waiting.Scenario(jobs)).source
    assert (back.run_s.tolist(), back.cores.tolist()) == ([2.0, 3.5], [1, 2])
    check_refused(
        lambda: part_of(cg.waiting.Scenario, {"source": {"kind": "Path"}}, ""),
        "unknown kind of source 'Path'",
    )


def test_a_schema_follows_from_the_declarations():
    entries = schema(Oven)["properties"]
    assert schema(Oven) == {
        "title": "Oven",
        "type": "object",
        "properties": entries,
        "required": ["name"],
        "additionalProperties": False,
    }
    assert entries["name"] == {"type": "string", "description": "What it is called."}
    loaves = entries["tray"]["properties"]["loaves"]
    assert loaves.items() >= {"type": "integer", "minimum": 1}.items()
    assert entries["spare"]["items"]["title"] == "Tray"
    market = schema(cg.Market)["properties"]
    assert market["high_cap"].items() >= {"type": "number", "maximum": 1}.items()
    assert market["delay_s"]["prefixItems"][0]["type"] == "array"
    assert schema(cg.Terms)["properties"]["billed_from"]["enum"][0] == "execution"


def test_an_infinite_number_is_written_as_toml_has_it():
    assert tomllib.loads(toml_text({"a": math.inf, "b": -math.inf})) == {
        "a": math.inf,
        "b": -math.inf,
    }
    check_refused(lambda: toml_text({"a": [math.inf]}), "not JSON comp", ValueError)
