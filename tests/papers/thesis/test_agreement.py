"""The picture of printed figures beside reproduced ones, by hand."""

import numpy as np
from matplotlib.figure import Figure

from cgrsp_simpy.papers.thesis.agreement import draw

COLUMNS = (
    "table",
    "row",
    "column",
    "part",
    "published",
    "reproduced",
    "half_width_95",
    "verdict",
)
CELLS = [
    dict(zip(COLUMNS, cell))
    for cell in [
        ("5.2", "FIFO", "wait, min", "", 158.77, 155.40, 4.2, "agrees"),
        ("5.2", "FIFO", "cost, USD", "", 6.15, 6.14, 0.1, "agrees"),
        ("5.2", "EDF", "tardiness, min", "", 3.42, 2.89, 0.9, "agrees"),
        ("5.5", "quiet", "FIFO", "miss, %", 0.0, 0.0, 0.0, "agrees"),
        ("5.5", "normal", "SPT", "wait, min", 5.2, 4.01, 0.3, "differs"),
        ("5.6", "10 %", "FIFO", "", 5.23, 6.40, 0.3, "differs"),
    ]
]


def test_printed_beside_reproduced_shows_every_cell():
    ax = Figure(figsize=(6.3, 6.3)).add_subplot()
    draw(ax, CELLS)
    *lines, diagonal = ax.lines
    found = sorted((x, y) for line in lines for x, y in zip(*line.get_data()))
    assert found == sorted((cell["published"], cell["reproduced"]) for cell in CELLS)
    assert np.array_equal(*diagonal.get_data())
    assert sorted(text.get_text() for text in ax.texts) == [
        "5.5 normal, SPT: wait, min",
        "5.6 10 %, FIFO",
    ]
    assert (
        ax.get_legend().get_title().get_text()
        == "4 of 6 cells agree, the others are named"
    )


def test_undecided_cells_are_shown_apart_and_not_named():
    cells = [
        {
            **cell,
            "verdict": "undecided" if cell["verdict"] == "agrees" else cell["verdict"],
        }
        for cell in CELLS
    ]
    ax = Figure(figsize=(6.3, 6.3)).add_subplot()
    draw(ax, cells)
    assert len(ax.texts) == 2
    legend = ax.get_legend()
    title = "0 of 6 cells agree, 4 are undecided, the others are named"
    assert legend.get_title().get_text() == title
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[-2:] == ["differs", "undecided"] and "wait (min)" in texts
