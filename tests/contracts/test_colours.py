"""A name has one colour in every figure of every module, and names that are drawn
together can be distinguished by everybody.
"""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from support import named_colours

import cgrsp_simpy as cg
from cgrsp_simpy import plots
from cgrsp_simpy.cluster.policies import SCHEDULERS as CLUSTER
from cgrsp_simpy.dag.policies import SCHEDULERS as DAG
from cgrsp_simpy.hgsp.policies import SCHEDULERS as HGSP
from cgrsp_simpy.plots.style import LOOKS, POLICY, colour_of, looks
from cgrsp_simpy.spot.policies import POLICIES as SPOT
from cgrsp_simpy.waiting.policies import POLICIES as WAITING

MODULES = {
    "policies": cg.POLICIES,
    "cluster": CLUSTER,
    "hgsp": HGSP,
    "dag": DAG,
    "spot": SPOT,
    "waiting": WAITING,
}

# On linear RGB, severity 1.0: Machado, Oliveira and Fernandes (2009), IEEE Transactions
# on Visualization and Computer Graphics 15(6), 1291-1298, Table 1.
SEEN = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
XYZ = np.array(
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.0721750],
        [0.0193339, 0.1191920, 0.9503041],
    ]
)


def lab(colour, seen):
    """CIE L*a*b* of an sRGB colour (D65), as it is seen."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    # the linear part near black does not matter
    x, y, z = np.cbrt(XYZ @ np.clip(SEEN[seen] @ linear, 0, 1) / XYZ.sum(axis=1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def told_apart(one, other, seen):
    # CIE76; 2.3 is just noticeable
    return np.linalg.norm(lab(one, seen) - lab(other, seen)) > 11


@pytest.mark.parametrize("module", MODULES)
def test_every_name_has_a_look_and_no_two_of_a_module_share_colour_or_marker(module):
    names = list(MODULES[module])
    assert set(names) <= LOOKS.keys()
    for part in ("colour", "marker"):
        assert len({getattr(LOOKS[name], part) for name in names}) == len(names)
    for name in names:
        assert (colour_of(name), *looks([name])[0][1:]) == LOOKS[name]


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("module", MODULES)
def test_any_two_names_of_a_module_are_distinguishable(module, seen):
    pairs = itertools.combinations(MODULES[module], 2)
    assert [
        pair
        for pair in pairs
        if not told_apart(*(LOOKS[name].colour for name in pair), seen)
    ] == []


@pytest.mark.parametrize(
    ("one", "other"),
    list(itertools.combinations(["fifo", "spt", "edf", "rh", "cadr"], 2)),
)
def test_the_five_usual_policies_differ_in_colour(one, other):
    first, second = (lab(POLICY[name], "deuteranopia") for name in (one, other))
    assert np.linalg.norm(first - second) > 25
    # in grey print
    assert abs(lab(POLICY[one], "normal")[0] - lab(POLICY[other], "normal")[0]) > 10


@pytest.mark.parametrize("seen", SEEN)
def test_user_policies_are_distinguished_from_each_other_and_from_ours(seen):
    users = [look.colour for look in looks(["mine", "yours", "theirs", "other"])]
    pairs = [*itertools.combinations(users, 2)]
    pairs += itertools.product(users, POLICY.values())
    assert [pair for pair in pairs if not told_apart(*pair, seen)] == []
    assert not {*users} & {look.colour for look in LOOKS.values()}


# ---- drawn colours ----


def check(axes, names):
    results = [(name, colour) for name, colour in named_colours(axes) if name in LOOKS]
    assert {name for name, _ in results} == set(names)
    assert [
        (name, colour)
        for name, colour in results
        if colour != LOOKS[name].colour.lower()
    ] == []


def study_of(names, scale=1.0):
    means = {
        name: {
            metric: cg.statistics.Mean(value, value - 0.1, value + 0.1, 9)
            for metric in ("miss_pct", "tardiness_min")
        }
        for name, value in zip(names, scale * np.arange(1.0, 1 + len(names)))
    }
    return SimpleNamespace(
        title="made up", policies=list(names), seeds=range(9), means=lambda: means
    )


def blank():
    canvas = Figure(figsize=(6.3, 5), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    "draw",
    [
        lambda names, ax: plots.policy_bars(study_of(names), "miss_pct", ax=ax),
        lambda names, ax: plots.pareto(study_of(names), ax=ax),
        lambda names, ax: plots.sweep_lines(
            [({"slots": x}, study_of(names, x)) for x in (1, 2)], "miss_pct", ax=ax
        ),
    ],
    ids=["policy_bars", "pareto", "sweep_lines"],
)
def test_studies_draw_each_name_in_its_colour(module, draw):
    check([draw(list(MODULES[module]), blank().add_subplot())], MODULES[module])


def test_a_name_keeps_its_colour_with_parameters_and_among_any_others():
    assert [look.colour for look in looks(["mine", "hps:monotone=true", "easy"])][
        1:
    ] == [
        LOOKS["hps"].colour,
        LOOKS["easy"].colour,
    ]
    assert LOOKS["hps"].colour != LOOKS["easy"].colour
