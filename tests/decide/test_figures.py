"""Figures of decisions: the plotted numbers of slots."""

from support import canvas_of

from cgrsp_simpy.decide.figures import DEAREST, FIGURES

SLOTS = FIGURES["advice_slots"]


def row(policy, slots, usd, advised=False):
    return {
        **{"policy": policy, "types": "fixed types", "slots": slots},
        **{"total_usd": usd, "total_usd_half": 0.1, "advised": advised},
    }


def test_the_axes_show_the_options_near_the_least_cost_and_mark_the_advised():
    rows = [row("fifo", 4, 900.0), row("fifo", 8, 12.0), row("fifo", 9, 12.5)]
    rows += [
        row("edf", 4, 300.0),
        row("edf", 8, 10.0, advised=True),
        row("edf", 40, 99),
    ]
    [ax] = canvas_of(SLOTS, rows).axes
    assert ax.get_yscale() == "linear"
    assert ax.get_ylim()[1] == DEAREST * 10.0
    assert 7 < ax.get_xlim()[0] < 8 and 9 < ax.get_xlim()[1] < 10
    assert [text.get_text() for text in ax.texts] == ["advised: 8"]
    lines = {line.get_label(): line.get_color() for line in ax.lines}
    assert lines["fifo, fixed types"] != lines["edf, fixed types"]


def test_lines_of_one_policy_have_different_colours():
    rows = [row("edf", 4, 9.0), row("edf", 5, 8.0)]
    rows += [{**each, "types": "free types"} for each in rows]
    [ax] = canvas_of(SLOTS, rows).axes
    colours = [line.get_color() for line in ax.lines if "types" in line.get_label()]
    assert len(set(colours)) == 2
    assert not ax.texts
