"""Fixtures of the tests of thesis."""

import pytest

from cgrsp_simpy.papers.thesis.printed import judged_cells, run_tables


@pytest.fixture(scope="session")
def small():
    """Figures of Table 5.9, on few seeds."""
    return [*judged_cells(run_tables(("5.9",), 3)[0], ("5.9",))]
