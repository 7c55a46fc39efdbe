"""Recorded values, not proven ones: the output of commands, one row of commands.json
per command. To add a command, add its row with an empty list: `python
tests/pins/test_commands.py` rewrites all rows.
"""

import io
import json
import logging
import os
import re
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main

PINS = Path(__file__).with_name("commands.json")
LOG = logging.getLogger("cgrsp_simpy")
NUMBER = re.compile(r"\d+\.?\d*(?:e[-+]?\d+)?")
ALIKE = """job_id,submit_s,start_s,service_s,gpus
a,0,0,1000,1
b,10,{},1000,1
c,20,{},1000,1
"""
SHOP = """
from typing import Literal
import cgrsp_simpy as cg

def shop(env, draw, servers: int = 2, rate: float = 0.5,
         closed: bool = False, mode: str | None = None, until_s=900.0,
         rule: Literal["a", "b"] | None = "a"):
    desk = cg.PriorityResource(env, servers, name="desk")
    lane = cg.Container(env, 9.3, init=3.1, name="lane")
    def customer(n):
        with desk.request(priority=n % 3) as turn:
            left = yield turn | env.timeout(20)
            if turn in left:
                yield lane.put(0.3)
                yield env.timeout(draw("work").exponential(4 / (1 + closed)))
                yield lane.get(0.3)
    def arrivals():
        for n in range(10**6):
            yield env.timeout(draw("gaps").exponential(1 / rate))
            env.process(customer(n))
    env.process(arrivals())
    cg.warm_up(env, 60)
    env.run(until_s)
"""


def write_files(folder):
    """Write the files that the commands read."""
    rng = np.random.default_rng(0)
    submit_s = np.sort(rng.integers(0, 15 * 86_400, 200)) + 5000
    jobs = list(
        zip(
            submit_s.tolist(),
            rng.integers(0, 900, 200).tolist(),
            rng.integers(60, 30_000, 200).tolist(),
            rng.integers(1, 9, 200).tolist(),
        )
    )
    swf = "{} {} {} {} {} -1 -1 {} {} -1 1 {} 1 1 -1 -1 -1 -1\n"
    late = "submit_s,service_s\n" + "".join(f"{90_000 + n},30\n" for n in range(9))
    statuses = ("low", "medium", "high")
    polls = "".join(
        f"{600 * n},{kind},{statuses[rng.integers(3)]},{price}\n"
        for n in range(900)
        for kind, price in (("RTX 3090", 0.46), ("RTX A4000", 0.25))
    )
    times = [n + sum(range(n)) * 3 for n in range(40)]
    day = cg.simulate(cg.day("hectic"), "fifo", seed=1).state(1800)
    nodes = cg.cluster.Scenario(cg.cluster.Offered(jobs=60, warm_up=10))
    texts = {
        "shop.py": SHOP,
        "bank.py": "def bank(env, tellers=2):\n    return {'share': 1 / tellers}\n",
        "late.csv": late,
        "alike.csv": ALIKE.format(1000, 2000),
        "idle.csv": ALIKE.format(4600, 9200),
        "ready.csv": ALIKE.format(10, 20),
        "soon.csv": ALIKE.format(11, 20),
        "wide.csv": "submit_s,service_s,gpus\n0,60,1\n5,60,1000\n",
        "one.csv": "submit_s,service_s\n0,60\n",
        "once.csv": "submit_s,service_s\n7,30\n7,60\n",
        "market.csv": "time,type,status,price\n" + polls,
        "log.swf": "".join(
            swf.format(n, at, wait, run, cores, cores, 2 * run, n % 5)
            for n, (at, wait, run, cores) in enumerate(jobs, 1)
        ),
        "head.swf": "; MaxNodes: 4\n; MaxProcs: 16\n" + swf.format(*[1] * 8),
        "chain.csv": "job_id,submit_s,start_s,service_s,gpus,user,after,think_s\n"
        + "".join(
            f"{n},{9 * n},{9 * n + 40 * (n % 3)},{90 + at % 200},{1 + at % 4},{n % 3},"
            f"{n - n % 4 if n % 4 else ''},{at % 50 if n % 4 else ''}\n"
            for n, at in enumerate(times)
        ),
        "lab.toml": "".join(
            f"[[gpu]]\nserver = '{server}'\ntflops = {tflops}\nmemory_gb = {gb}\n"
            "count = 2\n"
            for server, tflops, gb in (("a", 9, 40), ("b", 15, 24))
        )
        + "".join(
            f"[[link]]\none_end = '{one}'\nother_end = '{other}'\n"
            f"gb_per_s = {speed}\nlatency_s = 0.1\n"
            for one, other, speed in (("a", "a", 30), ("a", "b", 4), ("b", "b", 9))
        ),
        **{
            f"zone{number}.json": json.dumps(
                {
                    "metadata": {"gap_seconds": 600},
                    "data": [int(k * k % period < period / 2) for k in range(400)],
                }
            )
            for number, period in enumerate((7, 37, 101))
        },
        "gpus.csv": "name,memory_gb,speed\na,24,30\nb,80,90.5\n",
        "sizes.csv": "name,cores,memory_gb,price_per_h,boot_s,minimum_s,spot_per_h,"
        "interruptions_per_h,reserved_1y_per_h\nsmall,4,16,0.2,60,300,0.08,0.1,0.1\n"
        "large,16,64,0.75,90,60,0.3,0.2,0.35\n",
        "short.csv": "submit_s,service_s,user\n"
        + "".join(f"{at},{20 + at % 90},{'abc'[at % 3]}\n" for at in times),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    replace(day, scenario="hectic").to_json(folder / "state.json")
    replace(day, scenario="hectic", running=day.running[:3]).to_json(
        folder / "freed.json"
    )
    state = cg.simulate(nodes, "easy", seed=1).state(90_000)
    replace(state, scenario="cluster").to_json(folder / "nodes.json")


def printed(line):
    """Return status and lines that a command prints, without descriptions."""
    text = io.StringIO()
    handler = logging.StreamHandler(text)
    handler.addFilter(lambda record: "compil" not in record.msg)  # with Numba, once
    LOG.addHandler(handler)
    try:
        with redirect_stdout(text), redirect_stderr(text):
            status = main(line.split())
    except SystemExit as left:
        status = left.code
    finally:
        LOG.removeHandler(handler)
    described = line.startswith(("parameters", "policies"))
    lines = text.getvalue().splitlines()
    return [status, *(row for row in lines if not described or row[:1].strip())]


def parts(lines):
    """Return the text between the numbers, and the numbers."""
    text = "\n".join(map(str, lines))
    return NUMBER.split(text), list(map(float, NUMBER.findall(text)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("commands")
    write_files(path)
    return path


@pytest.mark.parametrize("line", json.loads(PINS.read_text(encoding="utf-8")))
def test_commands_print_the_pinned_lines(line, folder, monkeypatch, caplog):
    caplog.set_level(logging.INFO, LOG.name)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "80")
    text, numbers = parts(printed(line))
    expected, values = parts(json.loads(PINS.read_text(encoding="utf-8"))[line])
    assert text == expected
    assert "csv" in line or not re.search(r"\bnan\b", " ".join(text)), "a reader's nan"
    assert numbers == pytest.approx(values, rel=1e-7)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)
        os.environ["COLUMNS"] = "80"
        logging.basicConfig(handlers=[logging.NullHandler()], level=logging.INFO)
        write_files(Path(made))
        lines = json.loads(PINS.read_text(encoding="utf-8"))
        rows = (f"{json.dumps(line)}: {json.dumps(printed(line))}" for line in lines)
        PINS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
