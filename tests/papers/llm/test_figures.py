"""The figures of LLM inference: what is plotted is what the runs say."""

import csv

import pytest

import cgrsp_simpy as cg
from cgrsp_simpy.papers.llm import figures as llm
from cgrsp_simpy.papers.llm.table import table_two

FEW = cg.llm.Offered(60, rate_per_s=6.0, output_tokens=20)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("figures")
    llm.draw_figures(made, source=FEW)
    return made


def rows_of(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


@pytest.mark.slow
def test_both_are_drawn_with_an_index(folder):
    index = (folder / "README.md").read_text(encoding="utf-8")
    row = "| wsrpt | yes | weighted_response | reproduced | 108.040 | 108.040 |"
    assert row in index
    assert "6 of 6 printed figures are reproduced" in index
    assert "those of WSRPT are 102 and 1.5 s" in index
    for row, own in zip(rows_of(folder / "llm_table2.csv"), table_two(), strict=True):
        assert row == {name: str(value) for name, value in own.items()}


def test_the_log_of_the_figure_is_named_with_its_licence():
    runs = llm.Runs(
        cg.llm.RequestList([0], [9], [9], [1], "AzureLLMInferenceTrace_code")
    )
    gpus = llm.FIGURES["gpus"]
    rows = [
        {
            "source": runs.source.name,
            "model": "70B",
            "tensor_parallel": 2,
            "gpus": 2,
            "e2e_s": 1,
        }
    ]
    assert "AzureLLMInferenceTrace_code (Azure Public Dataset, CC BY 4.0)" in gpus.seen(
        rows
    )
    assert gpus.options(runs) == " trace=FILE"
    assert gpus.options(llm.Runs()) == ""
