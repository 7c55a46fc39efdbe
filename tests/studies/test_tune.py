"""Tuning: the front of the training seeds is found, judged on others, and told
honestly.
"""

import json
import sys

import numpy as np
import pytest
from studies.runs import quiet
from support import needs

import cgrsp_simpy as cg
from cgrsp_simpy.studies.subject import subject_of
from cgrsp_simpy.studies.tune import FIGURES, undominated

SMALL = cg.day("surge", jobs=40)
RANGES = {"slots": (2, 5), "rh:reserve": (0, 2)}
FEW = {"training": 3, "population": 12, "generations": 12}


def searches(test):
    """A test that searches, which takes pymoo."""
    for mark in needs("pymoo", pytest.mark.slow):
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def found():
    return cg.tune(SMALL, RANGES, "rh", range(10, 14), **FEW)


def test_undominated_is_the_definition():
    values = np.random.default_rng(1).integers(0, 4, (60, 3)).tolist()
    for one, kept in zip(values, undominated(values)):
        beaten = any(
            all(b <= a for a, b in zip(one, own)) and own != one for own in values
        )
        assert kept is not beaten and bool(kept) != beaten


@searches
def test_a_small_space_is_searched_through_and_its_front_is_that_of_all(found):
    grid = {"slots": range(2, 6), "rh:reserve": range(3)}
    every = cg.sweep(SMALL, grid, ["rh"], range(14, 17))  # the seeds after the test's
    assert found.tried == len(every.points) == 12
    means = {
        str(point): tuple(study.means()["rh"][name].mean for name in FIGURES)
        for point, study in every
    }
    front = {
        each
        for each, kept in zip(means.values(), undominated([*means.values()]))
        if kept
    }
    found_means = [means[str(point)] for point in found.points[1:]]  # each once
    assert sorted(front) == found_means


@searches
def test_the_front_is_judged_on_the_test_seeds_as_a_comparison_is(found):
    for point, study in zip(found.points, found.test):
        reserve = point.get("rh:reserve")
        policy = "rh" if reserve is None else f"rh:reserve={reserve}"
        own = cg.compare(
            subject_of(SMALL).varied(slots=point.get("slots", 5)),
            {"rh": policy},
            range(10, 14),
        )
        assert study.rows == own.rows
    assert found.kept == list(
        undominated(
            [[s.means()["rh"][name].mean for name in FIGURES] for s in found.test]
        )
    )


@searches
def test_what_was_promised_is_the_best_choice_against_what_is_given(found):
    for name, (training, test) in found.promised().items():
        means = [study.means()["rh"][name].mean for study in found.training]
        best = means.index(min(means[1:]), 1)
        assert training.mean == pytest.approx(means[best] - means[0])
        given, own = (np.array(found.test[n].values("rh", name)) for n in (0, best))
        assert test.mean == pytest.approx((own - given).mean())
        assert (training.n, test.n) == (3, 4)


@searches
def test_the_table_and_the_plain_values_say_the_same(found):
    told = json.loads(found.json())
    assert [each["kept"] for each in told["choices"]] == found.kept
    assert told["tried"] == 12 and told["seeds"]["training"] == [14, 15, 16]
    front, promised = (table.rows for table in found.tables)
    assert len(front) == len(found.points) + 1 == len(told["choices"]) + 1
    for (name, _, _, gap), own in zip(promised[1:], told["promised"].values()):
        assert float(gap) == pytest.approx(
            own["test"]["mean"] - own["training"]["mean"], abs=0.006
        ), name
    assert len(found.rows) == len(found.points) * 7  # 3 training seeds, 4 test seeds


@pytest.mark.slow
def test_numbers_between_ends_that_are_not_whole_are_not():
    pytest.importorskip("pymoo")
    few = {"training": 1, "population": 4, "generations": 2}
    tuned = cg.tune(SMALL, {"cadr:critical_ratio": (1.0, 6.0)}, "cadr", range(2), **few)
    assert all(1 <= point["cadr:critical_ratio"] <= 6 for point in tuned.points[1:])


@pytest.mark.slow
def test_parameters_that_stay_are_kept():
    pytest.importorskip("pymoo")
    few = {"training": 1, "population": 2, "generations": 1}
    tuned = cg.tune(SMALL, {"rh:reserve": (0, 2)}, "rh:gate=0.5", [3], **few)
    texts = [study.named["rh"] for study in tuned.test]
    assert texts[0] == "rh:gate=0.5" and texts[1].startswith("rh:gate=0.5,reserve=")


@pytest.mark.slow
def test_an_interrupted_search_goes_on_where_it_stopped(tmp_path, monkeypatch):
    pytest.importorskip("pymoo")
    whole = cg.tune(SMALL, RANGES, "rh", range(2), **FEW, out=tmp_path)
    chunks = sorted((tmp_path / "chunks").iterdir())
    for path in chunks[len(chunks) // 2 :]:
        path.unlink()
    (tmp_path / "rows.csv").unlink()
    again = cg.tune(SMALL, RANGES, "rh", range(2), **FEW, out=tmp_path)
    assert (
        again.rows == whole.rows == cg.tune(SMALL, RANGES, "rh", range(2), **FEW).rows
    )
    assert sorted((tmp_path / "chunks").iterdir()) == chunks
    with pytest.raises(cg.InputError, match="another directory"):
        cg.tune(SMALL, {"slots": (2, 6)}, "rh", range(2), **FEW, out=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"ranges": {"slots": (5, 4)}}, "range of slots"),
        ({"ranges": {"slots": (4, 4)}}, "range of slots"),
        ({"ranges": {"slots": (5,)}}, "two numbers"),
        ({"ranges": {"slots": ("a", "b")}}, "range of slots"),
        ({"ranges": {}}, "ranges"),
        ({"ranges": {"slot": (4, 5)}}, "slot"),
        ({"ranges": {"rh:gates": (0, 1)}}, "gates"),
        ({"ranges": {"spt:x": (0, 1)}}, "spt"),
        (
            {"ranges": {"cadr:critical_ratio": (0, 3)}, "policy": "cadr"},
            "critical_ratio",
        ),
        ({"ranges": {"rh:reserve": (0.5, 3)}}, "reserve"),
        ({"policy": "unknown"}, "unknown"),
        ({"policy": cg.first_come}, "policy"),
        ({"training": 0}, "training"),
        ({"population": 1}, "population"),
        ({"generations": 0}, "generations"),
        ({"figures": ["wait"]}, "wait_min"),
        ({"figures": ["utilisation_pct"]}, "figure"),
        ({"seeds": []}, "seed"),
    ],
)
def test_what_is_not_allowed_is_told_before_the_first_run(change, words, tmp_path):
    pytest.importorskip("pymoo")
    own = {"ranges": RANGES, "policy": "rh", "seeds": range(2), **FEW, **change}
    with pytest.raises(cg.InputError, match=words):
        cg.tune(SMALL, out=tmp_path / "out", **own)
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_run_that_fails_ends_the_search(tmp_path):
    pytest.importorskip("pymoo")
    (tmp_path / "own.py").write_text("def f(view):\n    raise ValueError('no luck')\n")
    with pytest.raises(cg.PolicyError, match="no luck"):
        cg.tune(SMALL, {"slots": (2, 5)}, f"{tmp_path / 'own.py'}:f", range(2), **FEW)


def test_without_pymoo_one_line_names_the_extra(monkeypatch):
    for name in [each for each in sys.modules if each.partition(".")[0] == "pymoo"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pymoo", None)
    with pytest.raises(
        cg.InputError, match=r'tune needs pymoo: pip install "\.\[search\]"'
    ):
        cg.tune(quiet, RANGES, "rh", range(2))
