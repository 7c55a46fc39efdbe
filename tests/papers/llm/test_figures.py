"""The figures of LLM inference: the plotted data are those of the runs."""

import cgrsp_simpy as cg
from cgrsp_simpy.papers.llm import figures as llm


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
    assert (
        "AzureLLMInferenceTrace_code (Azure Public Dataset, CC BY 4.0)"
        in gpus.sentence(rows)
    )
    assert gpus.options(runs) == " trace=FILE"
    assert gpus.options(llm.Runs()) == ""
