"""The site: equations name places that exist, the gallery shows every figure, every
page is in a table of contents, and every public name has its page.
"""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from support import process

ROOT = Path(__file__).parents[2]
DOCS, FIGURES = ROOT / "docs", ROOT / "figures"
EQUATIONS = (DOCS / "equations.md").read_text(encoding="utf-8")
PLACES = re.findall(r"```{literalinclude} \.\./(\S+)\n:pyobject: (\S+)\n", EQUATIONS)


def places_in(body, before=""):
    """The names of the classes and functions of a module, methods with their class."""
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield before + node.name
        if isinstance(node, ast.ClassDef):
            yield from places_in(node.body, f"{before}{node.name}.")


def test_the_equations_are_many():
    assert len(PLACES) > 30
    for number in ("3.1", "3.12", "4.5"):
        assert f"### Equation {number}\n" in EQUATIONS


@pytest.mark.parametrize(("file", "place"), PLACES)
def test_an_equation_names_a_place_in_the_code(file, place):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    assert place in set(places_in(tree.body))


def test_every_figure_is_in_the_gallery_with_its_command():
    single = (DOCS / "made.py").read_text(encoding="utf-8")
    for picture in FIGURES.rglob("*.png"):
        readme = picture.parent / "README.md"
        told = readme.read_text(encoding="utf-8") if readme.is_file() else ""
        if f"({picture.name})" in told:
            _, after = told.split(f"({picture.name})", 1)
            assert "`cgrsp " in after.split("\n## ")[0], picture.name
        else:
            place = picture.relative_to(FIGURES)
            names = (place.stem, place.parent.as_posix())
            assert any(f'"{name}": ' in single for name in names), picture.name


@pytest.mark.slow
def test_a_dollar_in_the_gallery_is_a_price_and_begins_no_formula(monkeypatch):
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(DOCS)
    pages = dict(importlib.import_module("made")._figures())
    assert r"RTX 3090, \$0.46/h" in pages["figures/thesis.md"]
    for name, text in pages.items():
        assert not re.search(r"(?<!\\)\$", text), name


@pytest.mark.slow
def test_a_link_to_a_script_has_the_ending_of_its_page(monkeypatch):
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(DOCS)
    made = importlib.import_module("made")
    links = {
        (page.name, name)
        for page in DOCS.rglob("*.md")
        if "made" not in page.relative_to(DOCS).parts
        for name in re.findall(r"made/scenarios/([\w.]+)\)", page.read_text("utf-8"))
    }
    folders = made.SCENARIOS, made.SCENARIOS / "research"
    scripts = [script for folder in folders for script in folder.glob("*.py")]
    pages = {made._page(script) for script in scripts}
    assert len(links) > 10
    assert {link for link in links if link[1] not in pages | {"index.md"}} == set()


@pytest.mark.slow
def test_of_every_constant_something_is_said(monkeypatch):
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(DOCS)
    made = importlib.import_module("made")
    names = [
        each
        for found in made.public().values()
        for each in found
        if made.is_constant(each)
    ]
    homes = {
        each.full: made._home(importlib.import_module(each.module), each.name)
        for each in names
    }
    assert len(homes) > 30
    assert [name for name, home in homes.items() if not made.comment(*home)] == []
    assert made.comment("cgrsp_simpy.rental.terms", "PARTS").startswith(
        "Parts of the cost"
    )
    assert (
        made.comment("cgrsp_simpy.plots.style", "IDLE") == "Colour of an idle resource."
    )
    assert made.comment("cgrsp_simpy.plots.style", "__all__") == ""


@pytest.mark.slow
def test_the_reference_has_what_scripts_and_pages_import(monkeypatch):
    """Names that a package lists stand with it; of other modules those that are
    used.
    """
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(DOCS)
    made = importlib.import_module("made")
    public = made.public()
    homes = {
        made._home(importlib.import_module(m), each.name)
        for m in public
        for each in public[m]
    }
    used = made.shown_by_use()
    assert len(used) > 15
    for module, names in used.items():
        loaded = importlib.import_module(module)
        for name in names:
            value = getattr(loaded, name)
            assert inspect.ismodule(value) or made._home(loaded, name) in homes, (
                module,
                name,
            )


@pytest.mark.parametrize("folder", ["howto", "howto/models", "papers"])
def test_every_page_is_in_the_contents(folder):
    listed = (
        (DOCS / folder / "index.md").read_text(encoding="utf-8").split(":::")[1].split()
    )
    pages = {path.stem for path in (DOCS / folder).glob("*.md")} - {"index"}
    assert pages <= set(listed)


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_whole(tmp_path):
    """Its text alone: its code runs in .ci/docs."""
    for package in (
        "sphinx",
        "myst_nb",
        "jupytext",
        "numpydoc",
        "pydata_sphinx_theme",
        "latex2mathml",
        "jupyterlite_pyodide_kernel",
        "jupyter_server",
    ):
        pytest.importorskip(package)
    site = tmp_path / "site"
    options = ["-D", "nb_execution_mode=off", "-D", "suppress_warnings=myst-nb.lexer"]
    built = process(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            *options,
            "docs",
            str(site),
        ],
        ROOT,
        timeout=900,
    )
    assert (built.returncode, built.stderr) == (0, "")
    checked = process([sys.executable, "docs/check.py", str(site)], ROOT, timeout=300)
    assert checked.returncode == 0, checked.stdout
    scripts = (ROOT / "scenarios/lectures").glob("*.py")
    notebooks = (site / "lite/files").glob("*.ipynb")
    assert {path.stem for path in notebooks} == {path.stem for path in scripts}
