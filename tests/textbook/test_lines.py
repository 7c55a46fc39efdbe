"""A model under `@cg.model` is no longer than the same model in bare SimPy."""

import pytest
from textbook.models import BARE, NAMES, SCENARIOS, bare, program_lines, script


@pytest.mark.parametrize("name", NAMES)
def test_a_model_takes_about_as_many_lines_as_bare_simpy(name):
    lines = program_lines(getattr(script(name), name))
    assert 10 < lines <= 1.1 * program_lines(bare(name))


def test_every_textbook_scenario_has_its_program_in_bare_simpy():
    scripts = {path.stem for path in SCENARIOS.glob("*.py")}
    assert scripts == set(NAMES) == {path.stem for path in BARE.glob("*.py")}
