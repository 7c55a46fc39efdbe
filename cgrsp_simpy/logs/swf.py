"""Jobs as text in the Standard Workload Format, version 2.2 (Parallel Workloads Archive)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cgrsp_simpy.logs.fields import Array
from cgrsp_simpy.logs.formats import SWF_FIELDS


def swf_text(columns: Mapping[str, Array], ids: Sequence[str], told: Mapping[str, object]) -> str:
    """The text of a log in the Standard Workload Format.

    columns: name of the format's field -> numbers, of shape (jobs,); -1 is written for all that is
    not given. ids: of the jobs; they are the job numbers where all are whole numbers that differ.
    Else jobs are numbered from 1, and a comment for each tells its id. told: name -> value of
    comments for the header. Result: the comments, then a line a job.
    """
    jobs = len(columns["submit time"])
    own = (
        len(ids) == jobs
        and all(text.isascii() and text.isdecimal() for text in ids)
        and len(set(map(int, ids))) == jobs
    )
    numbers = [int(text) for text in ids] if own else list(range(1, jobs + 1))
    notes = (
        []
        if own
        else [
            f"; Note: job {number} is {' '.join(text.split())}"
            for number, text in zip(numbers, ids)
        ]
    )
    header = {"Version": "2.2", **told, "MaxJobs": jobs, "MaxRecords": jobs}
    missing = np.full(jobs, -1)
    cells = [numbers, *(columns.get(name, missing).tolist() for name in SWF_FIELDS[1:])]
    lines = [" ".join(map(_text, row)) for row in zip(*cells)]
    return "\n".join(
        [*(f"; {name}: {value}" for name, value in header.items()), *notes, *lines, ""]
    )


def _text(value: float) -> str:
    """A number in full, a whole one without a point."""
    return str(int(value)) if value == int(value) else repr(value)
