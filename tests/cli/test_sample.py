"""The log that comes with the package.

`PYTHONPATH=tests python tests/cli/test_sample.py` writes it anew.

It is generated: a studio's two days, with more jobs by day than by night, three
customers whose jobs differ in length, and none of anybody's data.
"""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from support import check_bad_input, outcome, output

import cgrsp_simpy as cg

LOG = Path(cg.__file__).parent / "data" / "studio.csv"
SEED, JOBS = 2026, 600
START = datetime(2026, 3, 2)  # a Monday
JOBS_BY_HOUR = [4] * 8 + [20] * 10 + [8] * 6  # in proportion
# share, median s
CUSTOMERS = {"adler": (0.5, 240), "birke": (0.3, 360), "cedar": (0.2, 900)}


def generated():
    draw = np.random.default_rng(SEED)
    weights = np.array(JOBS_BY_HOUR * 2) / sum(JOBS_BY_HOUR * 2)
    submit_s = np.sort((draw.choice(48, JOBS, p=weights) + draw.random(JOBS)) * 3600)
    names = draw.choice(
        list(CUSTOMERS), JOBS, p=[share for share, _ in CUSTOMERS.values()]
    )
    lines = ["job,timestamp,service_s,customer"]
    for job, (at_s, name) in enumerate(zip(submit_s, names), 1):
        service_s = CUSTOMERS[name][1] * np.exp(0.6 * draw.standard_normal())
        time = START + timedelta(seconds=int(at_s))
        lines.append(f"{job},{time:%Y-%m-%d %H:%M:%S},{service_s:.0f},{name}")
    return "\n".join(lines) + "\n"


def test_the_log_is_the_one_that_is_generated():
    assert LOG.read_text(encoding="utf-8") == generated()


def test_the_command_writes_it_once(tmp_path, capsys):
    file = tmp_path / "mine.csv"
    assert "600 generated jobs" in output(capsys, "sample", file)
    assert file.read_bytes() == LOG.read_bytes()
    first = file.stat().st_mtime_ns
    # as in the README and a how-to
    assert "600 generated jobs" in output(capsys, "sample", file)
    assert file.stat().st_mtime_ns == first
    file.write_text("mine")
    check_bad_input(outcome(capsys, "sample", file), ["mine.csv", "not there yet"])
    assert file.read_text() == "mine"


def test_it_is_read_as_any_log():
    log = cg.trace(LOG)
    assert log.jobs == JOBS
    assert 0.3 < log.known().offered_load < 0.9
    assert [row["customer"] for row in cg.simulate(log, "fifo").by("customer")] == list(
        CUSTOMERS
    )


if __name__ == "__main__":
    LOG.write_text(generated(), encoding="utf-8")
