"""Configuration of the site, which consists of the pages in this folder and of pages
generated from the package, its lectures, scenarios and figures.

`python -m sphinx -W --keep-going -j auto docs build/site` builds it.
"""

import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import made  # noqa: E402
import terms  # noqa: E402
from docutils import nodes  # noqa: E402
from latex2mathml.converter import convert  # noqa: E402

import cgrsp_simpy  # noqa: E402

project = "cgrsp_simpy"
author = copyright = "The cgrsp_simpy authors"
release = version = cgrsp_simpy.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
]
exclude_patterns = ["templates", "made/.executed", "made/parts"]
html_math_renderer = "mathml"
html_title = "cgrsp_simpy"
html_extra_path = ["llms.txt"]
html_static_path, html_css_files = ["static"], ["site.css"]
templates_path = ["templates"]
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    # not on the pages of papers, whose tables are wide
    "secondary_sidebar_items": {
        f"{folder}/**": ["page-toc"]
        for folder in ("tutorial", "howto", "reference", "explanation", "made")
    },
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
html_sidebars = {"index": []}
html_show_sphinx = False

default_role = "py:obj"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
toc_object_entries = False

myst_enable_extensions = ["dollarmath", "attrs_inline", "colon_fence"]
myst_heading_anchors = 3
# the code of lectures and scenarios runs while the site is built, if it has changed
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "made" / ".executed" / made.code_hash())
nb_execution_in_temp = True
nb_execution_timeout = 3600
nb_execution_raise_on_error = True
# without execution (-D nb_execution_mode=off) no kernel specifies a cell's language
suppress_warnings = ["myst-nb.lexer"]
nb_output_stderr = "show"
nb_merge_streams = True
os.environ.setdefault("OMP_NUM_THREADS", "1")
# of a child of the kernel, and of one that is not installed
os.environ["PYTHONPATH"] = os.pathsep.join(
    [
        str(HERE.parent),
        str(HERE.parent / "scenarios"),  # whose scripts import one another
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
)

made.pages(HERE / "made")


def as_prose(*given):
    """Convert the plain prose of docstrings, before numpydoc reads their sections."""
    given[-1][:] = made.plain(given[-1])


def link_made_pages(app, page, source):
    """Show the code of equations, and link to the pages generated from files."""
    path = Path(app.env.doc2path(page))
    if path.suffix == ".md" and "made" not in path.parts:
        source[0] = made.linked(made.with_code(source[0]), path)


def back_to_the_reference(app, page, template, context, tree):
    """Link the source to the reference.

    The reference lists many names under a shorter path than that of their definition.
    """
    if not page.startswith("_modules/"):
        return
    if page == "_modules/index":  # lists what has no source, too
        sources = app.env._viewcode_modules
        context["body"] = re.sub(
            r'<li><a href="([^"]*)\.html">.*?</li>',
            lambda item: item[0] if sources.get(item[1].replace("/", ".")) else "",
            context["body"],
        )
    known = app.env.domaindata["py"]["objects"]
    module = page.removeprefix("_modules/").replace("/", ".")

    def link(found):
        guessed = found.group(2)
        for package in (module, *(module.rsplit(".", cut)[0] for cut in range(1, 4))):
            for words in range(1, guessed.count(".") + 1):
                name = f"{package}.{'.'.join(guessed.split('.')[-words:])}"
                if name in known:
                    target = app.builder.get_relative_uri(page, known[name].docname)
                    return f'{found.group(1)}"{target}#{known[name].node_id}"'
        return f'{found.group(1)}"#"'

    context["body"] = re.sub(
        r'(<a class="viewcode-back" href=)"[^"#]*#([^"]*)"',
        link,
        context.get("body", ""),
    )


def label_toggles(app, page, template, context, tree):
    """Label the theme's buttons that open a part of the side bar."""
    contents = context["generate_toctree_html"]

    def labelled(*args, **options):
        return str(contents(*args, **options)).replace(
            "<summary>", '<summary aria-label="Pages of this part">'
        )

    context["generate_toctree_html"] = labelled


def inline(translator, node):
    """Write an inline formula as MathML, which needs no network."""
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed(translator, node):
    """Write a displayed formula as MathML."""
    # a formula that is wider than the page can also be scrolled by keys
    style = "overflow: auto hidden; padding: 0.3em 0; margin: 0 0 1em 2em"
    formula = convert(node.astext(), display="block")
    translator.body.append(f'<div style="{style}" tabindex="0">{formula}</div>')
    raise nodes.SkipNode


def live(app, error):
    """Add the lectures that run in the reader's browser."""
    if error is None:
        made.live(Path(app.outdir) / "lite")


def setup(app):
    """Register the functions that Sphinx calls."""
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.add_post_transform(terms.TermLinks)
    app.connect("source-read", link_made_pages)
    app.connect("autodoc-process-docstring", as_prose, priority=100)
    app.connect("html-page-context", back_to_the_reference)
    app.connect("html-page-context", label_toggles, priority=600)  # after the theme
    app.connect("build-finished", live)
