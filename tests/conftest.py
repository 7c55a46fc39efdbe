"""One thread of linear algebra a test process; property tests with the same examples each time, or
with fresh ones.

Tests run on all cores at once, and threads of each would wait for each other. Property tests try
the same examples in every run; with `-m long`, or `-m "long and hypothesis"` for nothing else, they
try fresh ones, and tell how to repeat one that fails.
"""

import json
import os

import pytest
from hypothesis import HealthCheck, settings

for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"):
    # before NumPy is imported, here and by the commands that tests run
    os.environ.setdefault(name, "1")

UNTIMED = settings(
    deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.register_profile("repeatable", UNTIMED, derandomize=True)
settings.register_profile("fresh", UNTIMED, derandomize=False)


@pytest.fixture
def file(tmp_path):
    """Makes a file of a text, of bytes, or of a JSON value."""

    def make(content, name="log"):
        path = tmp_path / name
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return make


@pytest.fixture
def printed(capsys):
    """Run a command that must succeed and say nothing on stderr; what it prints."""
    from cgrsp_simpy.cli import main  # NumPy, after the settings above

    def run(line):
        assert main(line.split()) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run


def wants_fresh(config):
    return config.option.markexpr.startswith("long")


def pytest_configure(config):
    settings.load_profile("fresh" if wants_fresh(config) else "repeatable")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """With the long tests come the property tests."""
    for item in items if wants_fresh(config) else []:
        if hasattr(getattr(item, "obj", None), "hypothesis"):
            item.add_marker("long")
            item.add_marker("hypothesis")  # Hypothesis's own comes after the selection
