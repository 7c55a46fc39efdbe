"""A forgotten `yield` in a user's process is refused before the run."""

from textwrap import indent

import pytest
from support import check_refused

import cgrsp_simpy as cg
from cgrsp_simpy.base.policy import from_file

SHOP = """\
from contextlib import contextmanager
import simpy
import cgrsp_simpy as cg
import parts_of_shop as parts

def served(env, desk):
    with desk.request() as turn:
        yield turn
        yield env.timeout(1)

class Clinic:
    def __init__(self, env):
        self.env = env
        self.patient()

    def patient(self):
        yield self.env.timeout(1)

@cg.model
def shop(env, seed):
    desk = simpy.Resource(env)

    def work():
        yield env.timeout(1)

    def process():
{body}

    env.process(process())
    env.run()
    return dict(end=env.now)

class Factory(cg.Model):
    def resources(self):
        return cg.slots(1, "bench")

    def job_process(self, run, job):
        run.timeout(1)
        yield run.timeout(2)
"""
PARTS = """\
class Ward:
    beds = 2

def part(env):
    yield env.timeout(1)

def parts_of(beds):
    def faulty(env):
        env.timeout(1)
        yield env.timeout(beds)

    def recursive(env):
        yield from recursive(env)

    def both(env):
        yield from faulty(env)
        yield from recursive(env)

    return both

ward, both = Ward(), parts_of(2)

def walk(env):
    return env.timeout(1)

def timeout(beds):
    return beds

class Nurse:
    def __init__(self, env):
        self.env = env

    def walk(self):
        walk(self.env)
        self.request(1)
        timeout(1)
        yield self.env.timeout(1)

    def request(self, beds):
        self.beds = beds

class Doctor(Nurse):
    def start(self):
        self.walk()

class Porter:
    @staticmethod
    def rest(env):
        env.timeout(4)
        yield env.timeout(1)
"""
WAIT = "\nyield env.timeout(1)"
REQUESTS = [
    "desk.request()" + WAIT,
    "with desk.request():\n    yield env.timeout(1)",
    "with desk.request() as turn:\n    turn\n    yield env.timeout(1)",
    "with desk.request() as turn:\n    yield env.timeout(1)\nprint(turn)",
    f"turn = desk.request(){WAIT}\ndesk.release(turn)",
    f"turn = desk.request(){WAIT}\nturn.cancel()",
]


def shop(tmp_path, body, name="shop"):
    text = SHOP.format(body=indent(body, " " * 8))
    (tmp_path / "shop.py").write_text(text)
    (tmp_path / "parts_of_shop.py").write_text(PARTS)
    return from_file("scenario", f"{tmp_path / 'shop.py'}:{name}")


@pytest.mark.parametrize(
    "body, message",
    [
        *((body, "27: no `yield` waits for `desk.request()`") for body in REQUESTS),
        ("late = env.timeout(2)" + WAIT, "27: no `yield` waits for `env.timeout(2)` ("),
        ("store.get()" + WAIT, "27: no `yield` waits for `store.get()` (`_ = "),
        (WAIT + "\nenv.timeout(2)", "29: no `yield` waits for `env.timeout(2)`"),
        ("if env.now:\n    work()" + WAIT, "28: `work()` runs nothing: use `env.proc"),
        ("served(env, desk)" + WAIT, "27: `served(env, desk)` runs nothing"),
        ("parts.part(env)" + WAIT, "27: `parts.part(env)` runs nothing"),
        (
            "Clinic(env)" + WAIT,
            "14: `self.patient()` runs nothing: use `env.process(self.patient())`",
        ),
        # after a function that refers to itself
        ("yield from parts.both(env)", "9: no `yield` waits for `env.timeout(1)`"),
        # in a method of a base class, a static method, and a class in a function
        ("parts.Doctor(env).start()" + WAIT, "44: `self.walk()` runs nothing"),
        ("yield from parts.Porter.rest(env)", "49: no `yield` waits for `env.time"),
        (
            "class Bed:\n    def make(self):\n        yield from self.wash()"
            "\n    def wash(self):\n        yield from ()"
            "\n    def clean(self):\n        self.wash()" + WAIT,
            "33: `self.wash()` runs nothing",
        ),
    ],
)
def test_a_forgotten_yield_is_refused(body, message, tmp_path):
    check_refused(lambda: cg.simulate(shop(tmp_path, body)), f"shop.py, line {message}")


def test_a_forgotten_yield_of_a_model_class_is_refused(tmp_path):
    check_refused(
        lambda: cg.simulate(shop(tmp_path, "yield", "Factory")()),
        "no `yield` waits for `run.timeout(1)`",
    )


@pytest.mark.parametrize(
    "body",
    [
        "yield env.process(served(env, desk))",
        "yield from served(env, desk)",
        "turn = desk.request()\nyield turn | env.timeout(2)\nturn.cancel()",
        "desk.turn = desk.request()" + WAIT,
        "_ = desk.request()" + WAIT,
        "first = last = desk.request()\nyield last",
        "turns = [desk.request()]\nyield turns[0]",
        "with desk.request() as turn, desk.request() as other:\n    yield turn | other",
        "late = env.timeout(1)\nyield desk.request() & late",
        "def ends(event=env.timeout(2)):\n    return event\nyield ends()",
        "desk.request().cancel()" + WAIT,
        "late = vars(parts).get('late')" + WAIT,
        "global late\nlate = env.timeout(1)\nyield env.timeout(2)",
        f"@contextmanager\ndef busy():\n    yield\nwith busy():\n    pass{WAIT}",
        "with desk.request():\n    env.now" + WAIT,
        "yield env.timeout(parts.ward.beds)",
        "def count():\n    return env.now\ncount()" + WAIT,
        # functions and methods of the user with the name of a process or an event
        "parts.timeout(1)\nyield env.process(parts.Nurse(env).walk())",
        f"class Bed:\n    def rest(self):\n        yield\nrest = len\nrest([]){WAIT}",
    ],
)
def test_what_a_process_waits_for_in_another_way_is_accepted(body, tmp_path):
    assert "end" in cg.simulate(shop(tmp_path, body)).summary()
