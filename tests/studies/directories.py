"""A comparison in a results directory, its files, and how it is refused."""

from support import check_refused

import cgrsp_simpy as cg

quiet = cg.day("quiet")


def compared(
    out=None, scenario=quiet, policies=("fifo", "spt"), seeds=range(5), **more
):
    return cg.compare(scenario, policies, seeds, out=out, **more)


def refused(study, *words):
    """The study is refused with one line that holds the words."""
    return check_refused(study, words)


def files(folder):
    """Every file of a folder: its name, and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
