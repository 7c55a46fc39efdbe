"""A comparison in a results directory, and how it is refused."""

import pytest

import cgrsp_simpy as cg

quiet = cg.day("quiet")


def compared(
    out=None, scenario=quiet, policies=("fifo", "spt"), seeds=range(5), **more
):
    return cg.compare(scenario, policies, seeds, out=out, **more)


def refused(study, *words):
    """The study is refused with one line that holds the words."""
    with pytest.raises(cg.InputError) as caught:
        study()
    line = str(caught.value)
    assert "\n" not in line
    assert not [word for word in words if word not in line], line
    return line
