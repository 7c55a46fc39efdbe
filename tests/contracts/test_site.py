"""The site: equations name places that exist, the gallery shows every figure, every
page is in a table of contents, and every public name has its page.
"""

import ast
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import pytest
from support import process

ROOT = Path(__file__).parents[2]
DOCS, FIGURES = ROOT / "docs", ROOT / "figures"
EQUATIONS = (DOCS / "reference/equations.md").read_text(encoding="utf-8")
PLACES = re.findall(r"^\[`\S+:(\S+)`\]\(\.\./\.\./(\S+)\)$", EQUATIONS, re.M)

GLOSSARY = (DOCS / "reference/glossary.md").read_text(encoding="utf-8")
ENTRIES, LINKS = GLOSSARY.split("```{glossary}\n")[1].split("\n```\n")
TERMS = re.findall(r"^\S.*", ENTRIES, re.M)
# of textbooks: a reader types them into the search
TEXTBOOK = """
entity; attribute; activity; delay; event; event notice; future event list;
system state; simulation clock; interarrival time; service time; queue discipline;
utilisation; Little's law; steady state; terminating simulation; transient; warm-up;
initialisation bias; replication; batch means; Welch's procedure; MSER; confidence
interval; half width; reneging; balking; jockeying; preemption; verification;
validation; conceptual model; Turing test; random number generator; random number
stream; seed; inversion; acceptance-rejection; thinning; nonhomogeneous Poisson process;
goodness of fit; Q-Q plot; input modelling; common random numbers; antithetic variates;
control variates; importance sampling; splitting; ranking and selection; factor;
response; main effect; interaction; metamodel; design of experiments; M/M/1; Kendall
notation; Pollaczek-Khinchine; insensitivity; makespan; tardiness"""
TEXTBOOK = [" ".join(term.split()) for term in TEXTBOOK.split(";")]


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


def test_the_label_of_an_equation_names_its_code():
    labels = re.findall(r"^\[`(\S+):(\S+)`\]", EQUATIONS, re.M)
    assert [(place, f"cgrsp_simpy/{file}") for file, place in labels] == PLACES


def test_an_equation_names_a_place_in_the_code():
    for file in {file for _, file in PLACES}:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert {place for place, of in PLACES if of == file} <= {*places_in(tree.body)}


def test_every_figure_is_in_the_gallery_with_its_command():
    single = (DOCS / "made.py").read_text(encoding="utf-8")
    for picture in FIGURES.rglob("*.png"):
        readme = picture.parent / "README.md"
        text = readme.read_text(encoding="utf-8") if readme.is_file() else ""
        if f"({picture.name})" in text:
            _, after = text.split(f"({picture.name})", 1)
            assert "`cgrsp " in after.split("\n## ")[0], picture.name
        else:
            place = picture.relative_to(FIGURES)
            names = (place.stem, place.parent.as_posix())
            assert any(f'"{name}": ' in single for name in names), picture.name


def test_the_glossary_has_textbook_and_package_terms():
    assert len(TERMS) == len({term.lower() for term in TERMS}) >= 100
    package = (
        "slot; dispatcher; policy; view; provisioning delay; tight deadline;"
        " loose deadline; deadline miss; stock; changeover; gang scheduling;"
        " backfilling; triage; waiting policy"
    )
    assert {*TEXTBOOK, *package.split("; ")} <= set(TERMS)


def test_every_entry_of_the_glossary_leads_to_a_page():
    pages = dict(re.findall(r"^\[(.*)\]: (.*)$", LINKS, re.M))
    lectures = {path.stem for path in (ROOT / "scenarios/lectures").glob("*.py")}
    for entry in ENTRIES.split("\n\n"):
        name, page = re.search(r"\[([^]]*)\](?:\((.*)\))?$", entry).groups()
        page = Path(page or pages[name])
        assert page.stem in lectures or (DOCS / "reference" / page).is_file(), entry


@pytest.mark.slow
def test_a_term_is_found_in_plural_with_capitals_and_over_a_line_break(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS)
    terms = importlib.import_module("terms")
    assert set(terms.AMBIGUOUS) <= set(TERMS)
    names = sorted(TERMS, key=len, reverse=True)
    text = (
        "Entities wait for event\nlists; steady-state policies, Little\u2019s law,"
        " the warm-up, half widths. At ten o\u2019clock a non-event in events-by-time."
    )
    results = [
        (names[use.lastindex - 1], use[0])
        for use in terms.pattern(names).finditer(text)
    ]
    assert results == [
        ("entity", "Entities"),
        ("event list", "event\nlists"),
        ("steady state", "steady-state"),
        ("policy", "policies"),
        ("Little's law", "Little\u2019s law"),
        ("warm-up", "warm-up"),
        ("half width", "half widths"),
    ]


@pytest.mark.slow
def test_prose_has_no_code_links_and_summaries(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(DOCS)
    terms = importlib.import_module("terms")
    nodes = importlib.import_module("docutils.nodes")

    def raw(tag):
        return nodes.raw("", tag, format="html")

    paragraph = nodes.paragraph("", "", nodes.Text("a service"), nodes.Text("\ntime "))
    paragraph += [
        nodes.literal("", "clock"),
        nodes.reference("", "seed"),
        nodes.strong("", "", nodes.Text("slot")),
        raw("<summary>"),
        nodes.Text("view"),
        raw("</summary>"),
        nodes.Text("policy"),
    ]
    terms.join_lines(paragraph)
    assert [*terms.prose(paragraph)] == ["a service\ntime ", "slot", "policy"]


@pytest.mark.slow
def test_all_pages_are_generated_and_a_dollar_in_the_gallery_is_a_price(
    monkeypatch, tmp_path
):
    """A dollar begins a formula unless a backslash precedes it."""
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(DOCS)
    importlib.import_module("made").pages(tmp_path)
    assert r"RTX 3090, \$0.46/h" in (tmp_path / "figures/thesis.md").read_text("utf-8")
    for path in (tmp_path / "figures").glob("*.md"):
        assert not re.search(r"(?<!\\)\$", path.read_text(encoding="utf-8")), path.name


@pytest.mark.slow
def test_on_the_site_links_to_files_lead_to_their_pages(monkeypatch):
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(DOCS)
    made = importlib.import_module("made")
    page = DOCS / "howto" / "studies.md"
    for link, target in (
        ("../../scenarios/tiles.py", "../made/scenarios/tiles.md"),
        ("../../scenarios/research/tune.py", "../made/scenarios/tune.ipynb"),
        ("../../figures/dag/README.md", "../made/figures/dag.md"),
        ("../../figures/README.md#x", "../made/figures/thesis.md#x"),
        ("../../scenarios/lectures", "../made/lectures/index.md"),
        ("../../cgrsp_simpy/dag/policies.py", "../made/reference/cgrsp_simpy.dag.rst"),
        ("policy.md", "policy.md"),
        ("https://simpy.readthedocs.io", "https://simpy.readthedocs.io"),
    ):
        assert made.linked(f"[a]({link})\n[b]: {link}\n", page) == (
            f"[a]({target})\n[b]: {target}\n"
        )


@pytest.mark.slow
def test_a_script_with_a_long_run_time_shows_its_recorded_output(monkeypatch):
    for package in ("jupytext", "nbformat"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend(str(DOCS))
    made = importlib.import_module("made")
    long = [
        script
        for script in (ROOT / "scenarios").rglob("*.py")
        if "Run time: "
        in (ast.get_docstring(ast.parse(script.read_text("utf-8"))) or "")
    ]
    assert [made._page(script) for script in long] == ["savings_by_the_hour.md"]


@pytest.mark.slow
def test_every_constant_is_described(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    api = importlib.import_module("api")
    names = [
        each
        for result in api.public().values()
        for each in result
        if api.is_constant(each)
    ]
    homes = {
        each.full: api.home(importlib.import_module(each.module), each.name)
        for each in names
    }
    assert len(homes) > 30
    assert [name for name, home in homes.items() if not api.comment(*home)] == []
    assert api.comment("cgrsp_simpy.rental.terms", "PARTS").startswith(
        "Parts of the cost"
    )
    assert (
        api.comment("cgrsp_simpy.plots.style", "IDLE") == "Colour of an idle resource."
    )
    assert api.comment("cgrsp_simpy.plots.style", "__all__") == ""


@pytest.mark.slow
def test_the_reference_has_what_scripts_and_pages_import(monkeypatch):
    """Names that a package lists belong to it; of other modules those that are
    used.
    """
    monkeypatch.syspath_prepend(DOCS)
    api = importlib.import_module("api")
    public = api.public()
    homes = {
        api.home(importlib.import_module(m), each.name)
        for m in public
        for each in public[m]
    }
    used = api.shown_by_use()
    assert len(used) > 15
    for module, names in used.items():
        loaded = importlib.import_module(module)
        for name in names:
            value = getattr(loaded, name)
            assert inspect.ismodule(value) or api.home(loaded, name) in homes, (
                module,
                name,
            )


@pytest.mark.slow
@pytest.mark.parametrize("name", ["reference/api.md", "llms.txt"])
def test_a_generated_page_equals_the_output_of_the_package(monkeypatch, name):
    """After a change of names or docstrings: python docs/api.py."""
    monkeypatch.syspath_prepend(DOCS)
    page = importlib.import_module("api").PAGES[name]()
    assert (DOCS / name).read_text(encoding="utf-8") == page
    assert ":`" not in page, "a role of Sphinx"


def anchors(page):
    """Return the anchors of the headings of a page, as GitHub makes them."""
    text = re.sub(
        r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


def dead_links(page):
    """Return the relative links of a page that lead nowhere in a clone."""
    text = re.sub(
        r"^```(?!{glossary}).*?^```",
        "",
        page.read_text(encoding="utf-8"),
        flags=re.M | re.S,
    )
    for link in re.findall(r"\]\(([^)\s]+)\)|^\[[^]]+\]: (\S+)$", text, re.M):
        path, _, anchor = "".join(link).partition("#")
        if "://" in path:
            continue
        target = (page.parent / path).resolve() if path else page
        result = target.exists() and DOCS / "made" not in target.parents
        if not result or (anchor and anchor not in anchors(target)):
            yield "".join(link)


def test_no_relative_link_is_dead_in_a_clone():
    pages = [
        path
        for path in (
            *ROOT.glob("*.md"),
            *(
                p
                for name in ("docs", "figures", "scenarios")
                for p in (ROOT / name).rglob("*.md")
            ),
        )
        if DOCS / "made" not in path.parents
    ]
    assert len(pages) > 60
    dead = {str(page.relative_to(ROOT)): [*dead_links(page)] for page in pages}
    assert {page: links for page, links in dead.items() if links} == {}


@pytest.mark.parametrize(
    "folder",
    ["tutorial", "howto", "howto/models", "reference", "explanation", "papers"],
)
def test_every_page_is_in_the_contents(folder):
    listed = (
        (DOCS / folder / "index.md").read_text(encoding="utf-8").split(":::")[1].split()
    )
    pages = {path.stem for path in (DOCS / folder).glob("*.md")} - {"index"}
    assert pages <= set(listed)


def faults_of_headings(site):
    """The pages that do not have exactly one heading of the first level."""
    others = {"_static", "lite"}  # pages of packages
    pages = [path for path in site.rglob("*.html") if not others & {*path.parts}]
    texts = {path: path.read_text(encoding="utf-8") for path in pages}
    return [path for path, text in texts.items() if text.count("<h1") != 1]


def found_by_search(site):
    """The terms for which the search of the site lists an entry of the glossary."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    page = index["docnames"].index("reference/glossary")
    return {
        term
        for term, places in index["indexentries"].items()
        if any(number == page and main for number, _, main in places)
    }


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
    assert {term.lower() for term in TEXTBOOK} <= found_by_search(site)
    assert faults_of_headings(site) == []
    for page, term in [
        ("made/lectures/01_event_list", "future-event-list"),
        ("made/lectures/09_output_analysis", "warm-up"),
        ("made/lectures/15_interrupts", "balking"),
        ("howto/policy", "view"),
        ("explanation/triage", "stock"),
    ]:
        text = (site / f"{page}.html").read_text(encoding="utf-8")
        assert text.count(f'glossary.html#term-{term}"') == 1, (page, term)
    studies = (site / "howto/studies.html").read_text(encoding="utf-8")
    assert "<summary>" not in studies and '<summary aria-label="' in studies
    search = re.search("<button[^>]*search-button-field.*?</button>", studies, re.S)[0]
    shown = re.sub('<[^>]*aria-hidden="true">[^<]*</span>|<[^>]*>', "", search)
    assert "aria-label" not in search  # the label is the text: with the keys
    assert shown.split() == ["Search", "Ctrl+K"]
