"""Rules for figures: each committed figure of each module is drawn from its CSV, and
its panels, legends, ticks, intervals and colours are checked.

- Panels have letters, (a), (b), ..., in their order.
- What a legend shows is drawn, in the same shape and colour; nothing else is in it.
- An axis of numbers has three ticks or more.
- Nothing is drawn on a halo, and no mark hides an interval.
- A name has one colour, that of the registry, in every figure.
"""

import re
import shutil
import subprocess
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.colors import to_hex, to_rgba
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter
from support import named_colours

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.cli.options import STYLES
from cgrsp_simpy.cli.papers import OTHERS
from cgrsp_simpy.papers.catalogue import PAPERS
from cgrsp_simpy.plots.style import COLUMNS_MM, LOOKS, STYLE, ink

FOLDER = Path(__file__).parents[2] / "figures"
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the figures are in the repository alone"
)
PREFIXES = {paper.prefix: paper.gallery for paper in PAPERS.values()} | OTHERS
GALLERIES = {
    "thesis" if prefix == "figure" else prefix: (
        import_module(f"cgrsp_simpy.{place}").FIGURES
    )
    for prefix, place in PREFIXES.items()
    if not place.startswith("decide")
}
QUICK = {("llm", "table2"), ("waiting", "3")}
FEW = ("advice", "frontier", "llm", "spot")  # galleries
# as in the captions of the thesis, where a letter denotes a row of panels
LETTERS = {("thesis", "5.5"): "ab", ("thesis", "5.7"): "abc"}


def path_of(module, id):
    """The committed rows of a figure."""
    return (
        FOLDER
        / ("" if module == "thesis" else module)
        / f"{GALLERIES[module][id].stem}.csv"
    )


@cache
def canvas_of(module, id, style="print"):
    """A figure as its command draws it, from the committed rows."""
    with cg.plots.styled(style):
        canvas = GALLERIES[module][id].redraw(path_of(module, id), style)
        canvas.canvas.draw()
    return canvas


@pytest.fixture(scope="module", autouse=True)
def forgotten():
    """Seventy figures are half a gigabyte."""
    yield
    canvas_of.cache_clear()


every_figure = pytest.mark.parametrize(
    ("module", "id"),
    [
        pytest.param(
            module,
            id,
            id=f"{module} {id}",
            marks=() if (module, id) in QUICK else pytest.mark.slow,
        )
        for module, figures in GALLERIES.items()
        for id in figures
    ],
)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("module", "id"), [(module, id) for module, own in GALLERIES.items() for id in own]
)
def test_the_index_agrees_with_the_rows(module, id):
    """The sentence below a figure, and its table, are those of its CSV."""
    figure, path = GALLERIES[module][id], path_of(module, id)
    text = (path.parent / "README.md").read_text(encoding="utf-8")
    rows = figure.read(path.read_text(encoding="utf-8"))
    assert figure.sentence(rows) in text
    assert figure.table(rows) in text


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("cell", ["x", "nan"])
@every_figure
def test_a_changed_file_is_drawn_or_rejected(module, id, cell, tmp_path):
    figure = GALLERIES[module][id]
    header = path_of(module, id).read_text(encoding="utf-8").partition("\n")[0]
    row = ",".join([cell] * (header.count(",") + 1))
    (tmp_path / f"{figure.stem}.csv").write_text(f"{header}\n{row}\n", encoding="utf-8")
    with suppress(cg.InputError):
        figure.write(tmp_path, None)


def panels_of(canvas):
    return [ax for ax in canvas.axes if ax.axison]


@pytest.mark.slow
@every_figure
def test_panels_have_letters_in_their_order(module, id):
    panels = panels_of(canvas_of(module, id))
    titles = [ax.get_title(loc="left") for ax in panels]
    results = [
        title[1] for title in titles if title.startswith("(") and title[2:3] == ")"
    ]
    every = "abcdefghijklmnop"[: len(panels)] if len(panels) > 1 else ""
    assert "".join(results) == LETTERS.get((module, id), every) or len(panels) == 1


# ---- Legends ----


def lines_of(canvas):
    return [line for ax in canvas.axes for line in ax.lines]


def mark_of(line):
    """Shape, colour and filling of a mark."""
    filling = line.get_markerfacecolor()
    return (
        str(line.get_marker()),
        to_hex(line.get_markeredgecolor()),
        "hollow" if isinstance(filling, str) and filling == "none" else to_hex(filling),
    )


def has_mark(line):
    return str(line.get_marker()) not in ("None", "none", "", " ")


def has_line(line):
    return line.get_linestyle() not in ("None", "none", "", " ")


def strokes_of(canvas):
    """Colour and dashes of all lines, those of collections too."""
    result = {
        (to_hex(line.get_color()), line.get_linestyle())
        for line in lines_of(canvas)
        if has_line(line)
    }
    result |= {
        (to_hex(patch.get_edgecolor()), patch.get_linestyle())
        for ax in canvas.axes
        for patch in ax.patches
    }
    return result | {
        (to_hex(colour), "-")
        for ax in canvas.axes
        for each in ax.collections
        for colour in each.get_edgecolor()
    }


def fillings_of(canvas):
    """Colours of bars and areas."""
    results = [patch.get_facecolor() for ax in canvas.axes for patch in ax.patches]
    results += [
        colour
        for ax in canvas.axes
        for each in ax.collections
        for colour in each.get_facecolor()
    ]
    return {to_hex(colour, keep_alpha=True) for colour in results}


def legends_of(canvas):
    return [*canvas.legends, *(ax.legend_ for ax in canvas.axes if ax.legend_)]


@every_figure
def test_a_legend_is_drawn_for_names_that_differ(module, id):
    canvas = canvas_of(module, id)
    shown = [line for legend in legends_of(canvas) for line in legend.get_lines()]
    marks_there = {mark_of(line) for line in lines_of(canvas) if has_mark(line)}
    strokes = strokes_of(canvas)
    for line in shown:
        assert has_mark(line) or has_line(line)
        if has_mark(line):
            assert mark_of(line) in marks_there, line
        if has_line(line):
            assert (to_hex(line.get_color()), line.get_linestyle()) in strokes, line
    fillings = fillings_of(canvas)
    for legend in legends_of(canvas):
        names = [text.get_text() for text in legend.get_texts()]
        assert len(set(names)) == len(names)
        for patch in legend.get_patches():
            assert to_hex(patch.get_facecolor(), keep_alpha=True) in fillings, patch


# ---- Axes ----


@every_figure
def test_an_axis_of_numbers_has_three_ticks_or_more(module, id):
    for ax in panels_of(canvas_of(module, id)):
        for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
            if isinstance(axis.get_major_formatter(), FixedFormatter):
                continue  # names
            low, high = sorted(limits)
            rim = 1e-9 * (high - low)
            ticks = [
                tick
                for tick in axis.get_majorticklocs()
                if low - rim <= tick <= high + rim
            ]
            assert len(ticks) >= 3, (axis, ticks)


# ---- Halos ----


@every_figure
def test_an_axis_is_named_in_words(module, id):
    """Not by the column that is drawn, such as miss_pct."""
    named = [
        text
        for ax in canvas_of(module, id).axes
        for text in (ax.get_xlabel(), ax.get_ylabel())
    ]
    assert not [text for text in named if re.search(r"_(s|min|h|pct|usd)\b", text)]


@every_figure
def test_nothing_hides_an_interval(module, id):
    canvas = canvas_of(module, id)
    assert not [each for each in canvas.findobj() if each.get_path_effects()]
    white = to_rgba("white")
    for ax in canvas.axes:
        for each in ax.collections:  # intervals
            wide = [to_rgba(colour) == white for colour in each.get_edgecolor()]
            assert not (any(wide) and not len(each.get_facecolor())), each
    for line in lines_of(canvas):
        if has_mark(line):
            filling = line.get_markerfacecolor()
            assert (
                str(filling) == "none" or to_rgba(filling) != white or on_a_bar(line)
            ), line


def on_a_bar(line):
    """Return whether a white line lies on a bar that is dark, as a part of its
    interval.
    """
    x, y = line.get_xydata().mean(axis=0)
    dark = [
        patch
        for patch in line.axes.patches
        if sum(patch.get_facecolor()[:3]) < 2.2
        and patch.get_path().contains_point(
            (x, y), patch.get_patch_transform(), radius=1e-9
        )
    ]
    return bool(dark)


# ---- Colours ----


def colours_in_legends(canvas):
    """Yield name and colour of the lines in legends."""
    for legend in legends_of(canvas):
        for handle, text in zip(legend.legend_handles, legend.get_texts()):
            if isinstance(handle, Line2D):
                yield text.get_text(), to_hex(handle.get_color())


@every_figure
def test_a_name_has_the_colour_of_the_registry(module, id):
    canvas = canvas_of(module, id)
    results = [*named_colours(canvas.axes), *colours_in_legends(canvas)]
    for name, colour in results:
        assert name not in LOOKS or colour == LOOKS[name].colour.lower(), name
    for text in [text for ax in canvas.axes for text in ax.texts]:
        if text.get_text() in LOOKS and text.get_transform() is not None:
            expected = to_hex(ink(LOOKS[text.get_text()].colour))
            assert to_hex(text.get_color()) in (expected, "#000000"), text


# ---- Styles ----


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "id", "style", "width_mm"),
    [
        ("waiting", "6", "single", 88),
        ("waiting", "6", "double", 180),
        ("waiting", "4", "single", 88),  # of six names in a legend four fit in a row
        ("hgsp", "utilisation", "single", 180),  # names would lie on one another
        ("thesis", "5.3", "single", 88),
        ("thesis", "5.6", "single", 88),
        # a diagram
        ("thesis", "5.2", "single", 180),
        # four in a row
        ("thesis", "5.5", "single", 180),
        ("waiting", "15", "single", 180),
    ],
)
def test_a_journal_s_figure_is_as_wide_as_a_column_that_holds_it(
    module, id, style, width_mm
):
    canvas = canvas_of(module, id, style)
    assert 25.4 * canvas.get_size_inches()[0] == pytest.approx(width_mm)
    assert 25.4 * canvas.get_size_inches()[1] < 247  # a page of A4 with margins
    sizes = [
        text.get_fontsize()
        for text in canvas.findobj(Text)
        if text.get_text() and text.get_visible()
    ]
    assert min(sizes) >= 7
    assert max(sizes) <= 9.6
    frame = canvas.bbox
    for text in (text for legend in canvas.legends for text in legend.get_texts()):
        box = text.get_window_extent()
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1


@pytest.mark.slow
def test_a_journal_s_files_are_vectors_too_and_the_same_each_time(tmp_path):
    figure = GALLERIES["waiting"]["6"]
    rows = figure.read(path_of("waiting", "6").read_text(encoding="utf-8"))
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        paths = figure.write(tmp_path / folder, rows, "single")
        assert [path.suffix for path in paths] == [".csv", ".png", ".svg", ".pdf"]
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), (
            path.name
        )
    pdf = (tmp_path / "one" / f"{figure.stem}.pdf").read_bytes()
    assert b"/Type3" not in pdf  # letters are letters
    width_pt = float(re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", pdf)[1])
    assert width_pt / 72 * 25.4 == pytest.approx(88, abs=0.1)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in FEW else pytest.mark.long)
        for name in PREFIXES
    ],
)
def test_a_document_as_in_the_how_to_holds_every_figure(name, tmp_path, capsys):
    """As PDF, and as PGF in its own fonts, at the width of a page."""
    committed = [path for path in FOLDER.rglob(f"{name}*.csv") if path.stem != "advice"]
    files = [str(shutil.copy(path, tmp_path)) for path in committed]
    assert main(["redraw", *files, "--style", "width=160,pgf=yes"]) == 0
    capsys.readouterr()
    how_to = (FOLDER.parent / "docs" / "howto" / "figures.md").read_text(
        encoding="utf-8"
    )
    [shown] = re.findall(r"^```latex\n(.*?)^```", how_to, re.M | re.S)
    preamble = shown.partition(r"\begin{document}")[0]
    for line in re.findall(r"\\in\w+{pictures/.*}", shown):
        included = [
            line.replace("pictures/figure_5_6", path.stem) for path in committed
        ]
        page = (
            r"\usepackage[textwidth=160mm,textheight=250mm]{geometry}"
            r"\begin{document}\noindent"
        )
        text = "\n\n\\noindent".join([preamble + page, *included, r"\end{document}"])
        (tmp_path / "all.tex").write_text(text, encoding="utf-8")
        latex = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"]
        done = subprocess.run(latex, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
        assert "Overfull" not in done.stdout
    measured = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.pgf")]
    assert len(measured) == len(committed) and "DejaVu" not in "".join(measured)


def test_the_command_lists_every_style():
    assert tuple(STYLE) == STYLES
    assert [STYLE[name]["font.size"] for name in COLUMNS_MM] == [8, 8]


def test_a_ring_of_a_published_value_is_seen_around_our_mark():
    hollow, own = cg.plots.marks.hollow(LOOKS["spt"]), cg.plots.marks.dots(LOOKS["spt"])
    assert hollow["markerfacecolor"] == "none"
    assert hollow["markersize"] > 1.4 * own["markersize"]
