"""A comparison in a results directory, its files and its errors."""

from support import check_refused

import cgrsp_simpy as cg

quiet = cg.day("quiet")


def compared(
    out=None, scenario=quiet, policies=("fifo", "spt"), seeds=range(5), **more
):
    return cg.compare(scenario, policies, seeds, out=out, **more)


def refused(study, *words):
    """The study is rejected with one line that contains the words."""
    return check_refused(study, words)


def files(folder):
    """Return the content of every file of a folder by name."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
