"""One thread of linear algebra per test process; the three tiers of tests; property
tests with the same examples each time, or with fresh ones; no sum of floats whose last
bits hang on the Python.

Tests run on all cores at once, and threads of each would wait for each other. Every
test is in one tier: quick, `slow` or `long`. Property tests are in all three: the quick
tier tries an eighth of their examples, the same in every run; `-m slow` all of them,
again the same; with `-m long`, or `-m "long and hypothesis"` for nothing else, they are
new, and the report shows how to repeat a failure.
"""

import builtins
import gc
import json
import os
import re
import signal
import sys
from collections import Counter
from functools import partial
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    # before NumPy is imported, here and by the commands that tests run
    os.environ.setdefault(name, "1")

# jsonschema would build 38 grammars, which takes seconds; no schema here needs them
sys.modules["rfc3987_syntax"] = None

# where tests run in the background, a shell has them ignore it, and so the commands
# that they run
signal.signal(signal.SIGINT, signal.default_int_handler)

UNTIMED = settings(
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.register_profile("repeatable", UNTIMED, derandomize=True)
settings.register_profile("fresh", UNTIMED, derandomize=False)
# where Hypothesis's own plugin finds them
SETTINGS = "_hypothesis_internal_use_settings"
QUICK_SHARE = 8  # one in so many examples


def sum_of_counts(values, /, start=0, *, plain=sum):
    """Return the sum, and count calls from the package: Python 3.12 rounds floats
    differently.
    """
    terms, caller = list(values), sys._getframe(1).f_globals.get("__name__", "")
    floats = len(terms) > 2 and float in map(type, terms)
    assert not (floats and caller.startswith("cgrsp_simpy.")), (
        f"{caller}: floats are `summed`"
    )
    return plain(terms, start)


builtins.sum = sum_of_counts


@pytest.fixture
def file(tmp_path):
    """Create a file from a text, from bytes or from a JSON value."""

    def make(content, name="log"):
        path = tmp_path / name
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


class Part(dict):
    """A notebook or a cell: its entries are also its attributes."""

    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def new_cell(kind, source, id="", title=""):
    return Part(
        cell_type=kind,
        source=source.strip(),
        id=id,
        metadata=Part(title=title) if title else Part(),
    )


def read_script(script, fmt):
    """Return what jupytext reads from a script in the format py:percent."""
    first, *others = re.split(r"^# %% ?(.*)\n", script, flags=re.MULTILINE)
    cells = [new_cell("code", first)] * bool(first.strip()) + [
        new_cell("markdown", re.sub("^# ?", "", text, flags=re.MULTILINE))
        if title == "[markdown]"
        else new_cell("code", text, title=title)
        for title, text in zip(others[::2], others[1::2], strict=True)
    ]
    return Part(cells=cells, metadata=Part(), nbformat=4)


def exporter(config, template_name):
    """Return the output of nbconvert for a notebook: its text and visible code."""
    removed = config["TagRemovePreprocessor"]
    tags = {*removed["remove_input_tags"]} if removed["enabled"] else set()
    form = {"markdown": "{}", "code": "<pre>{}\n</pre>"}
    return SimpleNamespace(
        from_notebook_node=lambda notebook: [
            "\n".join(
                form[each.cell_type].format(each.source)
                for each in notebook.cells
                if not tags & {*each.metadata.get("tags", ())}
            )
        ]
    )


STAND_INS = {  # module -> its substitute in the quick tests
    "jupytext": SimpleNamespace(reads=read_script),
    "nbformat": SimpleNamespace(
        v4=SimpleNamespace(
            new_code_cell=partial(new_cell, "code"),
            new_markdown_cell=partial(new_cell, "markdown"),
        ),
        writes=json.dumps,
        reads=lambda text, as_version: json.loads(text, object_hook=Part),
        read=lambda path, as_version: json.loads(path.read_text(), object_hook=Part),
        validate=lambda notebook: None,
    ),
    "nbconvert": SimpleNamespace(HTMLExporter=exporter),
    "traitlets.config": SimpleNamespace(Config=dict),
    "pygments.formatters": SimpleNamespace(
        HtmlFormatter=lambda: SimpleNamespace(get_style_defs="{} .k {{}}".format)
    ),
}


@pytest.fixture(params=["stand-ins", pytest.param("packages", marks=pytest.mark.slow)])
def notebooks(request, monkeypatch):
    """jupytext, nbformat and nbconvert, or their small substitutes."""
    for name, module in STAND_INS.items():
        if request.param == "packages":
            pytest.importorskip(name)
        else:
            monkeypatch.setitem(sys.modules, name, module)


@pytest.fixture(scope="session")
def teach():
    """The packages of the extra of this name."""
    for package in (
        *("jupytext", "nbconvert", "ipykernel", "nbgrader", "jupyter_server"),
        "jupyterlite_pyodide_kernel",
    ):
        pytest.importorskip(package)


def tier(config):
    """The requested tier, or None if tests are chosen in another way."""
    chosen = config.option.markexpr
    names = {"not slow and not long": "quick", "slow": "slow", "long": "long"}
    return next(
        (name for words, name in names.items() if chosen.startswith(words)), None
    )


def pytest_configure(config):
    settings.load_profile("fresh" if tier(config) == "long" else "repeatable")
    if tier(config) == "quick":  # compiling takes minutes
        os.environ.setdefault("NUMBA_DISABLE_JIT", "1")


@given(none())
def no_property(_):
    """Hypothesis creates its generator, then looks for it among unfrozen objects."""


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Disable garbage collection, which took a third of the time; tests leave no
    garbage.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        no_property()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Put each test into one tier; the slow and the long tier include the property
    tests.
    """
    cases = Counter()
    for item in items:
        marks = {mark.name: mark for mark in item.iter_markers()}
        if {"slow", "long"} <= marks.keys():
            raise pytest.UsageError(f"{item.nodeid} is both slow and long")
        if "quick_cases" in marks and not {"slow", "long"} & marks.keys():
            cases[item.obj] += 1
            if cases[item.obj] > marks["quick_cases"].args[0]:
                item.add_marker("slow")
        if "compiled" in marks and "long" not in marks:
            item.add_marker("slow")
    properties = [
        item for item in items if hasattr(getattr(item, "obj", None), "hypothesis")
    ]
    if tier(config) == "quick":
        for test in {item.obj for item in properties}:
            own = getattr(test, SETTINGS)
            setattr(
                test,
                SETTINGS,
                settings(own, max_examples=-(-own.max_examples // QUICK_SHARE)),
            )
    if tier(config) in ("slow", "long"):
        for item in properties:
            item.add_marker(tier(config))
            item.add_marker("hypothesis")  # Hypothesis's own comes after the selection
