"""Results directories that are checked by running a sample of their tasks again."""

import json

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.cli import main
from cgrsp_simpy.studies import store
from cgrsp_simpy.studies.store import verifying


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A directory of a command, of several tasks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cgrsp_simpy.studies.replicate.JOBS_PER_TASK", 20)
    line = "compare --day quiet --policies fifo,rh --seeds 9 --out out"
    monkeypatch.setattr("sys.argv", ["cgrsp", *line.split()])
    assert main(line.split()) == 0
    return tmp_path / "out"


def altered(folder, number):
    """Change an outcome, with a checksum that fits."""
    path = folder / "chunks" / f"{number:06}.json"
    found = json.loads(path.read_text())
    found["outcomes"][0][0][4] += 1e-9
    there = store.Store.__new__(store.Store)
    there._study = store.digest(
        json.dumps(json.loads((folder / "configuration.json").read_text())).encode()
    )
    found["sha256"] = there._sum(number, found["outcomes"])
    path.write_text(json.dumps(found))


def files(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


def test_a_sound_directory_is_told_so_and_stays_as_it_is(made, capsys):
    before = files(made)
    assert len(before) > 5
    assert main(["verify", "out", "--sample", "2"]) == 0
    assert capsys.readouterr().out.endswith(
        "out: 2 tasks run again, all as they are kept, to the bit\n"
    )
    assert files(made) == before


def test_an_outcome_that_was_altered_is_found_although_its_checksum_fits(made, capsys):
    altered(made, 1)
    assert main(["verify", "out", "--sample", "100"]) == 1
    assert "task 1 came out otherwise (1 of " in capsys.readouterr().out


def test_an_unfinished_directory_is_not_called_altered(made, capsys):
    (made / "chunks" / "000001.json").unlink()
    assert main(["verify", "out", "--sample", "1"]) == 2
    assert "is not finished" in capsys.readouterr().err


def test_a_study_of_a_script_is_checked_there(tmp_path):
    def study():
        return cg.compare(cg.day("quiet"), ["fifo"], range(3), out=tmp_path / "a")

    study()
    with verifying(5) as found:
        study()
    assert (found.tasks, found.differing) == ([0], [])


@pytest.mark.parametrize("name", ["none", "."])
def test_another_directory_is_one_line(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    assert main(["verify", name]) == 2
    assert capsys.readouterr().err.count("\n") == 1
