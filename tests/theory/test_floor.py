"""Days written by hand in SimPy have times and costs bit-identical to the package's."""

import pytest
from benchmarks.floor import FLOORS, check


@pytest.mark.parametrize("day", ["hectic", "surge"])
@pytest.mark.parametrize("policy", FLOORS)
def test_a_hand_written_day_has_the_records_of_the_package(day, policy):
    check(day, policy, 3)
