"""Fixtures of the tests of thesis."""

import pytest

from cgrsp_simpy.papers.thesis.report import make_report


@pytest.fixture(scope="module")
def small():
    """Two tables and the findings' neighbours, on few seeds."""
    return make_report(("4.1", "5.9"), 3)
